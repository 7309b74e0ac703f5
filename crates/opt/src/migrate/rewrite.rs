//! Moves statements to the device according to the plan, in one walk over the host's statements.
//!
//! A device scalar gets *storage*, an array of one element, when a statement outside of its group
//! needs it. Kernels and groups read the storage where they use the scalar; branches and loops pass
//! storage instead of the scalar. A scalar that the host needs too is read back after its group.
//! Names that belong to the host are unchanged.

use super::groups::{GroupResult, OPEN, START, Scope, Site, basic, param, read, reshaped};
use super::partition::{Plan, is_literal};
use analysis::alias::Aliases;
use analysis::signatures::Signatures;
use ir::seg::SegOp;
use ir::syntax::{Atom, BasicOp, Body, DimIndex, Exp, Function, LoopForm, LoopParam, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::{Substitution, consumed_by, stm_names, substitute_stm, with_stack};
use ir::{Name, NameTable, Prov, Segs, TypeEnv};
use rustc_hash::{FxHashMap, FxHashSet};
use target::levels::LevelId;

/// Moves the statements chosen by the plan to one-iteration segmaps at a level.
pub(super) fn rewrite(
    mut function: Function<Segs>,
    signatures: &Signatures,
    plan: &Plan,
    level: LevelId,
) -> Function<Segs> {
    let types = TypeEnv::of_function(&function);
    let aliases = Aliases::of(&function, &types, signatures);
    let mut rewrite = Rewrite {
        names: &mut function.names,
        types,
        aliases,
        signatures,
        plan,
        level,
        scopes: Vec::new(),
        sites: FxHashMap::default(),
        storage: FxHashMap::default(),
        on_device: FxHashSet::default(),
        checks: FxHashMap::default(),
    };
    let body = std::mem::replace(&mut function.body, Body { stms: Vec::new(), result: Vec::new() });
    function.body = rewrite.body(body, false, &[], &[]);
    function
}

/// The rewriting of a function's statements.
pub(super) struct Rewrite<'a> {
    pub(super) names: &'a mut NameTable,
    pub(super) types: TypeEnv,
    pub(super) aliases: Aliases,
    signatures: &'a Signatures,
    pub(super) plan: &'a Plan,
    level: LevelId,
    /// The enclosing bodies, the outermost first.
    pub(super) scopes: Vec<Scope>,
    /// The binding sites of names, except for parameters of the function and names bound in
    /// kernels.
    pub(super) sites: FxHashMap<Name, Site>,
    /// The storage of device scalars.
    pub(super) storage: FxHashMap<Name, Name>,
    /// Scalars and certificates that are computed on the device.
    pub(super) on_device: FxHashSet<Name>,
    /// The checks that have moved, by their certificates.
    pub(super) checks: FxHashMap<Name, Stm<Segs>>,
}

/// A loop parameter that became storage: the scalar that it replaces, and the new parameter.
type Stored = (Name, Param<Segs>);

impl Rewrite<'_> {
    pub(super) fn at(&self) -> usize {
        self.scopes.len().saturating_sub(1)
    }

    pub(super) fn scalar_of(&self, name: Name) -> Type {
        self.types.get(name).cloned().unwrap_or(Type::I64)
    }

    pub(super) fn fresh(&mut self, like: Name, ty: Type) -> Param<Segs> {
        let name = self.names.fresh_like(like);
        self.types.set(name, ty.clone());
        param(name, ty)
    }

    /// Creates storage for a scalar.
    pub(super) fn fresh_storage(&mut self, of: Name) -> Param<Segs> {
        let ty = self.scalar_of(of).array_of(Dim::Const(1));
        self.fresh(of, ty)
    }

    /// Rewrites a body that the host runs. `device` flags the results to return as storage.
    fn body(&mut self, body: Body<Segs>, is_loop: bool, stored: &[Stored], device: &[bool]) -> Body<Segs> {
        with_stack(|| {
            self.scopes.push(Scope::new(is_loop));
            for (of, storage) in stored {
                let site = Site { scope: self.at(), item: START };
                self.register_storage(*of, storage.name, site);
                self.read_if_needed(*of, storage.name);
            }
            for stm in body.stms {
                self.stm(stm);
            }
            let mut result = body.result;
            for (i, atom) in result.iter_mut().enumerate() {
                if device.get(i) == Some(&true) {
                    *atom = Atom::Var(self.storage_of_atom(*atom));
                } else if let Atom::Var(name) = atom
                    && let Some(read) = self.read_now(*name)
                {
                    *name = read;
                }
                if let Atom::Var(name) = atom {
                    self.require_on_host(*name);
                }
            }
            self.place_open();
            let scope = self.scopes.pop();
            let stms = scope.map(|scope| scope.finish(self.level, self.names));
            Body { stms: stms.unwrap_or_default(), result }
        })
    }

    fn stm(&mut self, mut stm: Stm<Segs>) {
        if self.plan.moves_whole(&stm) {
            self.add_to_group(self.at(), stm);
            return;
        }
        match &mut stm.exp {
            Exp::Basic(op) => {
                if is_literal(op) {
                    self.literal(stm);
                } else {
                    self.basic(stm);
                }
            }
            Exp::If { .. } => self.branch(stm),
            Exp::Loop { .. } => self.loop_(stm),
            Exp::Apply { .. } => self.push(stm),
            Exp::Op(SegOp::Seg(_)) => self.segop(stm),
            Exp::Op(SegOp::WithAcc { inputs, lambda }) => {
                let mut touched = Vec::new();
                for op in inputs.iter_mut().filter_map(|input| input.op.as_mut()) {
                    self.in_lambda(&mut op.op, &mut touched);
                }
                for name in touched {
                    self.require_on_host(name);
                }
                let names = lambda.params.iter().map(|param| param.name).collect::<Vec<_>>();
                self.bind_inside(&names);
                let body = take(&mut lambda.body);
                lambda.body = self.body(body, false, &[], &[]);
                self.push(stm);
            }
        }
    }

    /// Registers names bound at the start of the next inner body.
    fn bind_inside(&mut self, names: &[Name]) {
        let site = Site { scope: self.scopes.len(), item: START };
        for name in names {
            self.sites.insert(*name, site);
        }
    }

    fn branch(&mut self, mut stm: Stm<Segs>) {
        let device = self.device(&stm.pat);
        if let Exp::If { then_body, else_body, .. } = &mut stm.exp {
            for body in [then_body, else_body] {
                let old = take(body);
                *body = self.body(old, false, &[], &device);
            }
        }
        self.push_stored(stm, &device);
    }

    fn loop_(&mut self, mut stm: Stm<Segs>) {
        let mut device = Vec::new();
        if let Exp::Loop { params, form, body } = &mut stm.exp {
            let named: Vec<Param<Segs>> = params.iter().map(|it| it.param.clone()).collect();
            device = self.device(&named);
            if let LoopForm::While { cond } = form {
                for (param, device) in named.iter().zip(&mut device) {
                    *device &= param.name != *cond;
                }
            }
            let mut stored = Vec::new();
            for (it, device) in params.iter_mut().zip(&device) {
                if *device {
                    let LoopParam { param, init, .. } = it;
                    *init = Atom::Var(self.storage_of_atom(*init));
                    let storage = self.fresh_storage(param.name);
                    let scalar = std::mem::replace(param, storage.clone());
                    stored.push((scalar.name, storage));
                }
            }
            let mut inside: Vec<Name> = params.iter().map(|it| it.param.name).collect();
            if let LoopForm::For { var, .. } = form {
                inside.push(*var);
            }
            self.bind_inside(&inside);
            let old = take(body);
            *body = self.body(old, true, &stored, &device);
        }
        self.push_stored(stm, &device);
    }

    /// Flags the scalars that become storage.
    fn device(&self, pat: &[Param<Segs>]) -> Vec<bool> {
        let each = pat.iter().map(|param| {
            param.ty.is_prim() && !self.plan.is_size(param.name) && self.plan.computed_on_device(param.name)
        });
        each.collect()
    }

    /// Appends a statement, turning its flagged results into storage.
    pub(super) fn push_stored(&mut self, mut stm: Stm<Segs>, device: &[bool]) {
        let mut stored = Vec::new();
        for (param, device) in stm.pat.iter_mut().zip(device) {
            if *device {
                let storage = self.fresh_storage(param.name);
                stored.push((param.name, storage.name));
                *param = storage;
            }
        }
        self.push(stm);
        for (of, storage) in stored {
            if let Some(site) = self.sites.get(&storage) {
                self.register_storage(of, storage, *site);
                self.read_if_needed(of, storage);
            }
        }
    }

    /// Registers the storage of a device scalar.
    fn register_storage(&mut self, of: Name, storage: Name, site: Site) {
        self.on_device.insert(of);
        self.storage.insert(of, storage);
        self.sites.insert(storage, site);
    }

    /// Reads back a scalar that the host needs.
    fn read_if_needed(&mut self, of: Name, storage: Name) {
        if !self.plan.only_on_device(of) {
            let param = param(of, self.scalar_of(of));
            self.push(read(storage, param, Prov::NONE));
        }
    }

    /// Appends a host statement after its operands.
    pub(super) fn push(&mut self, mut stm: Stm<Segs>) {
        let mut names = Vec::new();
        match &stm.exp {
            // The bodies inside are rewritten already.
            Exp::If { cond, .. } => names.extend(cond.var()),
            Exp::Loop { params, form, .. } => {
                names.extend(params.iter().filter_map(|it| it.init.var()));
                if let LoopForm::For { bound, .. } = form {
                    names.extend(bound.var());
                }
            }
            Exp::Op(SegOp::WithAcc { inputs, .. }) => {
                for input in inputs {
                    names.extend(&input.arrays);
                    let neutral = input.op.iter().flat_map(|op| &op.neutral);
                    names.extend(neutral.filter_map(|atom| atom.var()));
                }
            }
            Exp::Basic(_) | Exp::Apply { .. } | Exp::Op(SegOp::Seg(_)) => {
                stm_names(&stm, |name| names.push(name));
            }
        }
        names.extend(&stm.aux.certs);
        let params: &[LoopParam<Segs>] = match &stm.exp {
            Exp::Loop { params, .. } => params,
            Exp::Basic(_) | Exp::If { .. } | Exp::Apply { .. } | Exp::Op(_) => &[],
        };
        for param in params.iter().map(|it| &it.param).chain(&stm.pat) {
            names.extend(param.ty.shape().iter().filter_map(|dim| match dim {
                Dim::Var(size) => Some(*size),
                Dim::Const(_) | Dim::Ext(_) => None,
            }));
        }
        let mut instead = Substitution::default();
        for name in &names {
            if !instead.contains_key(name)
                && let Some(read) = self.read_now(*name)
            {
                instead.insert(*name, Atom::Var(read));
            }
        }
        substitute_stm(&mut stm, &instead);
        for name in names {
            self.require_on_host(name);
        }
        for name in consumed_by(&stm.exp, |fun, i| self.signatures.consumes(fun, i)) {
            self.consume(name);
        }
        let at = self.at();
        if self.scopes[at].must_place_open {
            self.place_open();
        }
        let bound: Vec<Name> = stm.pat.iter().map(|param| param.name).collect();
        let item = self.scopes[at].push(stm);
        for name in bound {
            self.sites.insert(name, Site { scope: at, item });
        }
    }

    /// Records that the host needs a name: the group that binds it must be placed before.
    pub(super) fn require_on_host(&mut self, name: Name) {
        if let Some(Site { scope, item: OPEN }) = self.sites.get(&name).copied() {
            self.scopes[scope].must_place_open = true;
        }
    }

    /// Reads back a scalar that only the device has, though the plan does not require a read, and
    /// returns its new name.
    fn read_now(&mut self, name: Name) -> Option<Name> {
        if !self.on_device.contains(&name)
            || !self.plan.only_on_device(name)
            || !self.scalar_of(name).is_prim()
        {
            return None;
        }
        let storage = self.storage_of(name);
        let ty = self.scalar_of(name);
        let scalar = self.fresh(name, ty);
        let own = scalar.name;
        self.push(read(storage, scalar, Prov::NONE));
        Some(own)
    }

    /// Records that an array is consumed: groups that read it must be placed before.
    fn consume(&mut self, array: Name) {
        let class = self.aliases.class(array);
        for scope in &mut self.scopes {
            scope.must_place_open |= scope.open.arrays.contains(&class);
        }
    }

    /// Places the open group.
    fn place_open(&mut self) {
        let at = self.at();
        let Some((item, bound, reads)) = self.scopes[at].place_open_group() else {
            return;
        };
        for name in bound {
            self.sites.insert(name, Site { scope: at, item });
        }
        for scalar in reads {
            if let Some(storage) = self.storage.get(&scalar.name) {
                self.push(read(*storage, scalar, Prov::NONE));
            }
        }
    }

    /// Rewrites a host operation, one operand of which may be replaced by storage.
    fn basic(&mut self, mut stm: Stm<Segs>) {
        if let Exp::Basic(BasicOp::Update { slice, value, .. }) = &mut stm.exp
            && let Some(name) = value.var().filter(|name| self.has_storage(*name))
            && slice.iter().all(|at| matches!(at, DimIndex::Fix(_)))
            && let Some(last) = slice.last_mut()
            && let DimIndex::Fix(start) = *last
        {
            *value = Atom::Var(self.storage_of(name));
            *last = DimIndex::Slice { start, count: Dim::Const(1), stride: Atom::i64(1) };
        }
        if let (Exp::Basic(BasicOp::Replicate { shape, value }), [bound]) = (&mut stm.exp, &mut stm.pat[..])
            && let Some(name) = value.var().filter(|name| self.has_storage(*name))
            && let Some(elem) = bound.ty.elem()
        {
            let prov = stm.aux.prov;
            if shape[..] == [Dim::Const(1)] {
                let bound = bound.clone();
                return self.single(bound, name, prov);
            }
            *value = Atom::Var(self.storage_of(name));
            let dims = bound.ty.shape().iter().copied().chain([Dim::Const(1)]);
            let repeated = self.fresh(bound.name, Type::array(elem, dims));
            let view = reshaped(repeated.name, bound.clone(), prov);
            *bound = repeated;
            self.push(stm);
            return self.push(view);
        }
        self.push(stm);
    }

    /// Returns true if the name is a device scalar, so that its storage must be used.
    pub(super) fn has_storage(&self, name: Name) -> bool {
        self.on_device.contains(&name) && self.scalar_of(name).is_prim()
    }

    /// Rewrites a literal of scalars: a device thread writes its elements.
    fn literal(&mut self, stm: Stm<Segs>) {
        if let (Exp::Basic(BasicOp::ArrayLit { elems, .. }), [bound]) = (&stm.exp, &stm.pat[..])
            && let [Atom::Var(element)] = elems[..]
        {
            if !self.has_storage(element) {
                return self.push(stm);
            }
            let bound = bound.clone();
            return self.single(bound, element, stm.aux.prov);
        }
        self.add_to_group(self.at(), stm);
    }

    /// Builds an array of one element, with a scalar's value.
    fn single(&mut self, bound: Param<Segs>, element: Name, prov: Prov) {
        let ty = self.scalar_of(element);
        let copy = self.fresh(element, ty);
        let inner = copy.name;
        let (at, item) = self.add_to_group(self.at(), basic(copy, BasicOp::Atom(element.into()), prov));
        let name = bound.name;
        self.add_result(at, item, inner, bound);
        self.sites.insert(name, Site { scope: at, item });
    }

    /// Adds a scalar to a group's results, under an outer name.
    pub(super) fn add_result(&mut self, at: usize, item: usize, inner: Name, outer: Param<Segs>) {
        let group = self.scopes[at].group(item);
        let inner = match group.inner.get(&inner) {
            Some(Atom::Var(own)) => *own,
            Some(Atom::Const(_)) | None => inner,
        };
        group.bound.push(outer.name);
        group.results.push(GroupResult { inner, scalar: true, outer });
    }
}

fn take(body: &mut Body<Segs>) -> Body<Segs> {
    Body { stms: std::mem::take(&mut body.stms), result: std::mem::take(&mut body.result) }
}
