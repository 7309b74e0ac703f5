//! The core function that is being made: names with their types, scopes of statements, aliases and
//! ownership, and the `i64` arithmetic that has been emitted.
//!
//! - Bodies nest ([`FunctionBuilder::enter`], [`FunctionBuilder::leave`]). A name's *level* is the
//!   number of bodies around its binding: a name may be mentioned outside of a body only if its
//!   level is smaller than the body's.
//! - A name's *iteration* is the number of loops and lambdas around its binding. An array bound in
//!   an outer iteration may not be updated in place, nor may parameters that are only lent
//!   ([`FunctionBuilder::owned_or_copied`] copies these).
//! - Arithmetic on `i64` returns the same name for the same operands within a scope, so that equal
//!   sizes are equal names where that is easily seen.

mod certs;

use analysis::total::is_unchecked;
use ir::name::{Prov, SrcLoc};
use ir::soac::Soac;
use ir::syntax::{Attrs, MsgPart};
use ir::typing::{basic_type, exp_types};
use ir::walk::LevelOp as _;
use ir::{Atom, Aux, BasicOp, Body, Dim, Exp, Name, NameTable, Param, ProvTable, Soacs, Stm, Type};
use prim::{BinOp, PrimType, Scalar, ScalarOp};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::sync::Arc;

/// Properties of a name in addition to its type.
#[derive(Clone, Default)]
struct Info {
    level: u32,
    iteration: u32,
    /// True if it is only lent: it may not be updated.
    lent: bool,
    /// True for the size of a parameter, which is never negative.
    size: bool,
    /// The names whose memory it may share; empty for a fresh array.
    roots: SmallVec<[Name; 1]>,
}

/// An open body.
#[derive(Default)]
pub(crate) struct Scope {
    stms: Vec<Stm<Soacs>>,
    arithmetic: FxHashMap<(BinOp, Atom, Atom), Atom>,
    certs: SmallVec<[Name; 2]>,
    attrs: Attrs,
    iteration: u32,
}

/// A core function under construction.
pub(crate) struct FunctionBuilder {
    hints: Vec<Arc<str>>,
    types: Vec<Type>,
    infos: Vec<Info>,
    /// The number of names that mathematical functions stand for.
    more_names: usize,
    /// Provenance stacks.
    pub(crate) provs: ProvTable,
    /// The stack of the inlined calls that are being evaluated.
    pub(crate) calls: Prov,
    /// The source location of the expression that is being evaluated.
    pub(crate) location: SrcLoc,
    prov: Option<(SrcLoc, Prov, Prov)>,
    scopes: Vec<Scope>,
    prologue: Vec<Stm<Soacs>>,
    /// True if checks are omitted.
    pub(crate) omit_checks: bool,
    /// True if remaining checks are to be reported as warnings.
    pub(crate) warn_checks: bool,
    /// Names whose memory has been consumed.
    pub(crate) consumed: FxHashSet<Name>,
    needs: certs::Needs,
}

/// The location of code without a source location.
pub(crate) const NO_LOCATION: SrcLoc = SrcLoc { file: 0, line: 0, col: 0, end_line: 0, end_col: 0 };

impl FunctionBuilder {
    pub(crate) fn new() -> Self {
        Self {
            hints: Vec::new(),
            types: Vec::new(),
            infos: Vec::new(),
            more_names: 0,
            provs: ProvTable::new(),
            calls: Prov::NONE,
            location: NO_LOCATION,
            prov: None,
            scopes: vec![Scope::default()],
            prologue: Vec::new(),
            omit_checks: false,
            warn_checks: false,
            consumed: FxHashSet::default(),
            needs: certs::Needs::default(),
        }
    }

    /// The finished body and the tables of names and provenances.
    pub(crate) fn finish(mut self, result: Vec<Atom>) -> (Body<Soacs>, NameTable, ProvTable) {
        let mut stms = self.prologue;
        if let Some(scope) = self.scopes.pop() {
            stms.extend(scope.stms);
        }
        let mut names = NameTable::new();
        for hint in self.hints {
            names.fresh_shared(hint);
        }
        (Body { stms, result }, names, self.provs)
    }

    /// The number of names.
    pub(crate) fn n_names(&self) -> usize {
        self.hints.len()
    }

    /// The number of names, plus those of the definitions of mathematical functions.
    pub(crate) fn size(&self) -> usize {
        self.hints.len() + self.more_names
    }

    /// Adds the number of names that an operation stands for.
    pub(crate) fn add_size(&mut self, names: usize) {
        self.more_names += names;
    }

    /// A fresh name with its type, bound in the current body.
    pub(crate) fn fresh(&mut self, hint: &str, ty: Type) -> Name {
        let name = Name::new(self.hints.len());
        self.hints.push(Arc::from(hint));
        self.types.push(ty);
        self.infos.push(Info {
            level: self.level(),
            iteration: self.iteration(),
            lent: false,
            size: false,
            roots: SmallVec::new(),
        });
        name
    }

    /// A fresh parameter.
    pub(crate) fn param(&mut self, hint: &str, ty: Type) -> Param<Soacs> {
        Param { name: self.fresh(hint, ty.clone()), ty, ann: () }
    }

    /// A fresh size of parameters.
    pub(crate) fn fresh_size(&mut self) -> Name {
        let name = self.fresh("n", Type::I64);
        self.infos[name.index()].size = true;
        name
    }

    /// Returns true if the operand is the size of a parameter (or a constant that is not negative).
    pub(crate) fn is_size(&self, atom: Atom) -> bool {
        match atom {
            Atom::Var(name) => self.infos[name.index()].size,
            Atom::Const(value) => value.as_i64().is_some_and(|n| n >= 0),
        }
    }

    /// Changes the hint of a name.
    pub(crate) fn rename(&mut self, name: Name, hint: &Arc<str>) {
        if let Some(old) = self.hints.get_mut(name.index()) {
            *old = Arc::clone(hint);
        }
    }

    /// A name's hint.
    pub(crate) fn hint(&self, name: Name) -> Arc<str> {
        Arc::clone(&self.hints[name.index()])
    }

    /// A name's type; every name has one.
    pub(crate) fn type_of(&self, name: Name) -> &Type {
        &self.types[name.index()]
    }

    /// Returns true if the size can be mentioned in bodies around the current one.
    pub(crate) fn is_outer(&self, dim: Dim) -> bool {
        match dim {
            Dim::Const(_) => true,
            Dim::Var(name) => self.infos[name.index()].level < self.level(),
            Dim::Ext(_) => false,
        }
    }

    /// Returns true if the size can be mentioned in the current body.
    pub(crate) fn is_outer_of(&self, dim: Dim) -> bool {
        match dim {
            Dim::Const(_) => true,
            Dim::Var(name) => self.infos[name.index()].level <= self.level(),
            Dim::Ext(_) => false,
        }
    }

    /// The names whose memory this one may share; the name itself if it is fresh.
    pub(crate) fn roots(&self, name: Name) -> SmallVec<[Name; 1]> {
        let roots = &self.infos[name.index()].roots;
        if roots.is_empty() { SmallVec::from_slice(&[name]) } else { roots.clone() }
    }

    /// Records that a name may share the memory of others.
    pub(crate) fn alias(&mut self, name: Name, of: impl IntoIterator<Item = Name>) {
        let mut roots: SmallVec<[Name; 1]> = of.into_iter().flat_map(|n| self.roots(n)).collect();
        roots.sort_unstable();
        roots.dedup();
        self.infos[name.index()].roots = roots;
    }

    /// Records that a name of the current body may share memory with these operands of closed
    /// bodies, as far as it is memory of names known in the current body.
    pub(crate) fn alias_outer(&mut self, name: Name, of: &[Atom]) {
        let level = self.level();
        let mut roots: SmallVec<[Name; 1]> = of
            .iter()
            .filter_map(|atom| atom.var())
            .filter(|n| self.type_of(*n).is_array())
            .flat_map(|n| self.roots(n))
            .filter(|root| self.infos[root.index()].level <= level)
            .collect();
        roots.sort_unstable();
        roots.dedup();
        self.infos[name.index()].roots = roots;
    }

    /// Records that a name is only lent.
    pub(crate) fn lend(&mut self, name: Name) {
        self.infos[name.index()].lent = true;
    }

    /// Returns true if the name is only lent.
    pub(crate) fn is_lent(&self, name: Name) -> bool {
        self.infos[name.index()].lent
    }

    /// Marks the roots of the arrays as lent or owned; returns the names that have changed.
    pub(crate) fn set_lent(&mut self, arrays: &[Name], lent: bool) -> Vec<Name> {
        let mut changed = Vec::new();
        for array in arrays {
            for root in self.roots(*array) {
                let info = &mut self.infos[root.index()];
                if info.lent != lent {
                    info.lent = lent;
                    changed.push(root);
                }
            }
        }
        changed
    }

    /// Returns true if the array may be updated in place, considering this function's parameters
    /// and scopes.
    pub(crate) fn is_owned(&self, array: Name) -> bool {
        self.roots(array).iter().all(|root| {
            let info = &self.infos[root.index()];
            !info.lent && info.iteration == self.iteration()
        })
    }

    /// The array for a consumer: itself, or a copy if this code does not own it.
    pub(crate) fn owned_or_copied(&mut self, array: Name, shared: bool) -> Name {
        if !shared && self.is_owned(array) {
            self.consumed.insert(array);
            self.consumed.extend(self.infos[array.index()].roots.iter().copied());
            return array;
        }
        self.basic("copy", BasicOp::Copy(array))
    }

    /// The number of enclosing bodies.
    pub(crate) fn level(&self) -> u32 {
        self.scopes.len() as u32
    }

    pub(crate) fn iteration(&self) -> u32 {
        self.scopes.last().map_or(0, |scope| scope.iteration)
    }

    /// Opens a body; `iterates` is true for that of a loop or of a lambda.
    pub(crate) fn enter(&mut self, iterates: bool) {
        let iteration = self.iteration() + u32::from(iterates);
        // A branch inherits the attributes; lambdas and loops set their own.
        let outer = self.scopes.last().filter(|_| !iterates);
        let attrs = outer.map(|scope| scope.attrs.clone()).unwrap_or_default();
        self.scopes.push(Scope { attrs, iteration, ..Scope::default() });
    }

    /// Closes the innermost body and returns its statements.
    pub(crate) fn leave(&mut self) -> Vec<Stm<Soacs>> {
        self.scopes.pop().map(|scope| scope.stms).unwrap_or_default()
    }

    /// Suspends the innermost body.
    pub(crate) fn suspend(&mut self) -> Scope {
        self.scopes.pop().unwrap_or_default()
    }

    /// Resumes a suspended body.
    pub(crate) fn resume(&mut self, scope: Scope) {
        self.scopes.push(scope);
    }

    /// The statements of the innermost body so far.
    pub(crate) fn stms(&self) -> &[Stm<Soacs>] {
        self.scopes.last().map_or(&[], |scope| &scope.stms)
    }

    /// Appends statements of a closed body to the innermost one, as they are.
    pub(crate) fn splice(&mut self, stms: Vec<Stm<Soacs>>) {
        let (level, iteration) = (self.level(), self.iteration());
        for stm in stms {
            for param in &stm.pat {
                let info = &mut self.infos[param.name.index()];
                info.level = level;
                info.iteration = iteration;
            }
            self.push(stm);
        }
    }

    fn push(&mut self, stm: Stm<Soacs>) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.stms.push(stm);
        }
    }

    /// Hoists the computation of a scalar of the innermost body to the enclosing body, if it is
    /// cheap, cannot fail and depends on nothing in the innermost body.
    pub(crate) fn hoist(&mut self, name: Name) -> bool {
        let mut needed = Vec::new();
        if self.scopes.len() < 2 || !self.hoistable(name, &mut needed) {
            return false;
        }
        needed.sort_unstable();
        needed.dedup();
        let level = self.level();
        let Some(scope) = self.scopes.last_mut() else {
            return false;
        };
        let mut moved = Vec::new();
        let mut remaining = Vec::with_capacity(scope.stms.len());
        for (i, stm) in std::mem::take(&mut scope.stms).into_iter().enumerate() {
            if needed.binary_search(&i).is_ok() {
                moved.push(stm);
            } else {
                remaining.push(stm);
            }
        }
        scope.stms = remaining;
        let outer = self.scopes.len() - 2;
        for stm in moved {
            for param in &stm.pat {
                self.infos[param.name.index()].level = level - 1;
            }
            if let (Exp::Basic(BasicOp::Scalar(ScalarOp::Binary(op, PrimType::I64, x, y))), [param]) =
                (&stm.exp, stm.pat.as_slice())
            {
                self.scopes[outer].arithmetic.insert((*op, *x, *y), param.name.into());
            }
            self.scopes[outer].stms.push(stm);
        }
        true
    }

    fn hoistable(&self, name: Name, needed: &mut Vec<usize>) -> bool {
        if self.infos[name.index()].level < self.level() {
            return true;
        }
        let found = self.stms().iter().position(|stm| stm.pat.iter().any(|p| p.name == name));
        let Some(i) = found else { return false };
        if needed.contains(&i) {
            return true;
        }
        let stm = &self.stms()[i];
        if !stm.aux.certs.is_empty() || !is_speculable(&stm.exp) || needed.len() > 64 {
            return false;
        }
        needed.push(i);
        let mut operands: SmallVec<[Name; 4]> = SmallVec::new();
        ir::walk::used_names(&stm.exp, |name| operands.push(name));
        operands.into_iter().all(|name| self.hoistable(name, needed))
    }

    /// The name of the result of an operation on `i64` operands that has been emitted.
    pub(crate) fn known_arithmetic(&self, op: BinOp, x: Atom, y: Atom) -> Option<Atom> {
        self.scopes.iter().rev().find_map(|scope| scope.arithmetic.get(&(op, x, y)).copied())
    }

    /// Records the name of the result of an operation on `i64` operands.
    pub(crate) fn remember_arithmetic(&mut self, op: BinOp, x: Atom, y: Atom, name: Name) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.arithmetic.insert((op, x, y), name.into());
            if op != BinOp::Sub {
                scope.arithmetic.insert((op, y, x), name.into());
            }
        }
    }

    /// The provenance of the expression that is being evaluated.
    pub(crate) fn prov(&mut self) -> Prov {
        if let Some((location, calls, prov)) = self.prov
            && location == self.location
            && calls == self.calls
        {
            return prov;
        }
        let prov = if self.location == NO_LOCATION {
            self.calls
        } else {
            self.provs.push(self.location, self.calls)
        };
        self.prov = Some((self.location, self.calls, prov));
        prov
    }

    fn aux(&mut self, with_attrs: bool) -> Aux {
        let mut aux = Aux::at(self.prov());
        if let Some(scope) = self.scopes.last() {
            aux.certs.clone_from(&scope.certs);
            if with_attrs {
                aux.attrs = scope.attrs.clone();
            }
        }
        aux
    }

    /// Sets the attributes of operations made directly in the innermost body; returns the previous
    /// ones.
    pub(crate) fn set_attrs(&mut self, attrs: Attrs) -> Attrs {
        self.scopes.last_mut().map(|scope| std::mem::replace(&mut scope.attrs, attrs)).unwrap_or_default()
    }

    /// The attributes of operations made directly in the innermost body.
    pub(crate) fn attrs(&self) -> Attrs {
        self.scopes.last().map(|scope| scope.attrs.clone()).unwrap_or_default()
    }

    /// Appends `let pat = exp` for a finished pattern.
    pub(crate) fn bind_pat(&mut self, pat: Vec<Param<Soacs>>, exp: Exp<Soacs>) {
        let mut aux = self.aux(!matches!(exp, Exp::Basic(_)));
        self.note_checks(&mut aux.attrs, &exp);
        self.note_needs(&pat, &aux.certs, &exp);
        self.push(Stm { pat, aux, exp });
    }

    /// Binds results of the given types; [`Dim::Ext`] is an earlier result.
    pub(crate) fn bind_all(&mut self, hint: &str, types: Vec<Type>, exp: Exp<Soacs>) -> Vec<Name> {
        let mut pat: Vec<Param<Soacs>> = Vec::with_capacity(types.len());
        for ty in types {
            let earlier = |i: u32| pat.get(i as usize).map(|p| Dim::Var(p.name));
            let ty = ir::typing::instantiate(&ty, &earlier);
            pat.push(self.param(hint, ty));
        }
        let names = pat.iter().map(|param| param.name).collect();
        self.bind_pat(pat, exp);
        names
    }

    /// Binds the result of a basic operation.
    pub(crate) fn basic(&mut self, hint: &str, op: BasicOp) -> Name {
        let ty = basic_type(&op, &|name| self.type_of(name).clone());
        let aliased = match &op {
            BasicOp::Index { array, .. }
            | BasicOp::FlatIndex { array, .. }
            | BasicOp::Rearrange { array, .. }
            | BasicOp::Reshape { array, .. } => Some(*array),
            BasicOp::Atom(Atom::Var(name)) | BasicOp::Opaque(Atom::Var(name)) => Some(*name),
            _ => None,
        };
        let is_array = ty.is_array();
        let name = self.fresh(hint, ty.clone());
        self.bind_pat(vec![Param { name, ty, ann: () }], Exp::Basic(op));
        if let (true, Some(array)) = (is_array, aliased) {
            self.alias(name, [array]);
        }
        name
    }

    /// Binds the results of a combinator.
    pub(crate) fn soac(&mut self, hint: &str, op: Soac) -> Vec<Name> {
        let types = op.result_types(&|name| self.type_of(name).clone());
        self.bind_all(hint, types, Exp::Op(op))
    }

    /// Binds the results of a loop.
    pub(crate) fn loop_(&mut self, hints: &[Arc<str>], exp: Exp<Soacs>) -> Vec<Name> {
        let types = exp_types(&exp, &|name| self.type_of(name).clone()).unwrap_or_default();
        let names = self.bind_all("x", types, exp);
        for (name, hint) in names.iter().zip(hints) {
            self.rename(*name, hint);
        }
        names
    }

    /// Binds a statement at the start of the function.
    pub(crate) fn bind_prologue(&mut self, hint: &str, types: Vec<Type>, exp: Exp<Soacs>) -> Vec<Name> {
        let scopes = std::mem::take(&mut self.scopes);
        self.scopes.push(Scope::default());
        let names = self.bind_all(hint, types, exp);
        let stms = self.leave();
        self.prologue.extend(stms);
        self.scopes = scopes;
        names
    }

    /// Emits a check; `None` if it certainly holds or checks are omitted.
    pub(crate) fn assert(&mut self, cond: Atom, msg: Vec<MsgPart>) -> Option<Name> {
        if self.omit_checks || cond.constant() == Some(Scalar::Bool(true)) {
            return None;
        }
        Some(self.basic("cert", BasicOp::Assert { cond, msg }))
    }
}

/// Returns true if the expression may be evaluated speculatively: an instruction that cannot fail.
pub(crate) fn is_speculable(exp: &Exp<Soacs>) -> bool {
    matches!(exp, Exp::Basic(op) if is_unchecked(op))
}
