//! Lookup-table precomputation: values that a combinator inside of a map computes from its own
//! index alone are computed once, into a table, for all iterations of the map.
//!
//! ```text
//! let zs = map n (y <- ys) {               let ts = map m (x <- xs) { in (cos x) }
//!   let r = redomap m (x <- xs) {          let zs = map n (y <- ys) {
//!     let t = cos x                  =>      let r = redomap m (x <- xs, t <- ts) {
//!     let z = f t y                            let z = f t y
//!     in (z)                                   in (z)
//!   } ..                                     } ..
//! ```
//!
//! This undoes a fusion, or hoists code of the program: a value is stored if it is much more
//! expensive to compute than to read. Only computations that cannot fail are moved, and only out of
//! combinators that every iteration of the map executes, so the table's elements would be computed
//! anyway unless the map is empty. If it is empty, the combinator's size may not be a valid size: a
//! table computed from indices alone then has no elements, and is read by index. The table is
//! placed as far outside as its operands allow; counted loops may lie in between, branches may not.
//!
//! ```text
//! let size = if n <= 0 then 0 else m
//! let ts = map size (i <- iota size) { in (cos (conv i)) }
//! let zs = map n (y <- ys) { redomap m (i <- iota m) { let t = ts[i] .. } .. }
//! ```
//!
//! Runs after fusion, which would fuse the table into its reader again. Needs unique names.
//! Guarantees that all values are bit-identical.

mod hoist;

use crate::sink::is_arithmetic;
use analysis::alias::Aliases;
use analysis::signatures::Signatures;
use analysis::{cost, thresholds};
use ir::remark::RemarkKind;
use ir::soac::{Screma, Soac};
use ir::syntax::{Atom, Aux, BasicOp, Body, DimIndex, Exp, Function, Lambda, LoopForm, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::{
    Substitution, binders, free_names, refresh_lambda, stm_names, sub_bodies, sub_bodies_mut,
    substitute_body, used_names, with_stack,
};
use ir::{Context, Fuel, Name, NameTable, PassError, Prov, Soacs, TypeEnv};
use prim::{BinOp, CmpOp, PrimType, Scalar, ScalarOp};
use rustc_hash::{FxHashMap, FxHashSet};

/// The largest number of tables of one combinator: each is an array of its size.
const MAX_TABLES: usize = 4;
/// A body with more candidate values is left as it is, which bounds the time of the analysis.
const MAX_CANDIDATES: usize = 64;

/// Precomputes tables wherever that pays.
pub(crate) fn precompute(
    mut function: Function<Soacs>,
    signatures: &Signatures,
    context: &mut Context,
) -> Result<Function<Soacs>, PassError> {
    let types = TypeEnv::of_function(&function);
    let params = function.params.iter().map(|param| (param.param.name, 0));
    let mut pass = LookupTables {
        levels: Vec::new(),
        enclosing: Vec::new(),
        outermost: 0,
        known: params.collect(),
        iotas: FxHashMap::default(),
        made: Vec::new(),
        aliases: Aliases::of(&function, &types, signatures),
        types,
        names: &mut function.names,
        fuel: &mut context.fuel,
    };
    let stms = std::mem::take(&mut function.body.stms);
    function.body.stms = pass.statements(stms);
    for prov in pass.made {
        let spans = function.provs.stack(prov);
        context.remark(&function.name.0, spans, RemarkKind::Hoisted);
    }
    Ok(function)
}

/// A combinator or a counted loop whose body is a level.
#[derive(Clone, Copy)]
struct EnclosingBody {
    level: usize,
    /// The type and number of its body's iterations.
    trip_count: (PrimType, Atom),
    is_map: bool,
}

/// The pass, with the stack of enclosing bodies. A level is a position in it: 0 is the function's
/// body.
struct LookupTables<'a> {
    /// The statements of each enclosing body so far.
    levels: Vec<Vec<Stm<Soacs>>>,
    /// The enclosing bodies that belong to combinators and counted loops.
    enclosing: Vec<EnclosingBody>,
    /// The outermost level for tables: the body of the innermost enclosing branch, `while` loop or
    /// operation other than a map.
    outermost: usize,
    /// The level at which each name is bound.
    known: FxHashMap<Name, usize>,
    /// The iotas among possible inputs, by name.
    iotas: FxHashMap<Name, Stm<Soacs>>,
    /// The provenance of values that got a table.
    made: Vec<Prov>,
    aliases: Aliases,
    types: TypeEnv,
    names: &'a mut NameTable,
    fuel: &'a mut Fuel,
}

impl LookupTables<'_> {
    /// Processes a body and returns its statements, with the tables placed among them.
    fn statements(&mut self, stms: Vec<Stm<Soacs>>) -> Vec<Stm<Soacs>> {
        with_stack(|| {
            let level = self.levels.len();
            self.levels.push(Vec::with_capacity(stms.len()));
            for mut stm in stms {
                self.inside(&mut stm.exp, level);
                if let Exp::Op(Soac::Screma(screma)) = &mut stm.exp {
                    self.split(screma);
                }
                self.known.extend(stm.pat.iter().map(|param| (param.name, level)));
                if let (Exp::Basic(BasicOp::Iota { .. }), [param]) = (&stm.exp, stm.pat.as_slice()) {
                    self.iotas.insert(param.name, stm.clone());
                }
                self.levels[level].push(stm);
            }
            self.levels.pop().unwrap_or_default()
        })
    }

    /// Processes the bodies of a statement at a level.
    fn inside(&mut self, exp: &mut Exp<Soacs>, level: usize) {
        let (below, floor, outside) = (level + 1, self.outermost, self.enclosing.len());
        let mut enter = |trip_count, is_map| {
            self.enclosing.push(EnclosingBody { level: below, trip_count, is_map });
        };
        match exp {
            Exp::Op(Soac::Screma(screma)) => {
                if let Some(width) = screma.width.atom() {
                    enter((PrimType::I64, width), true);
                }
                let params = screma.map.params.iter();
                self.known.extend(params.map(|param| (param.name, below)));
                let body = &mut screma.map.body;
                body.stms = self.statements(std::mem::take(&mut body.stms));
                if self.enclosing.len() > outside {
                    self.hoist(body, below);
                }
                self.enclosing.truncate(outside);
                return;
            }
            Exp::Loop { params, form, .. } => {
                if let LoopForm::For { var, ty, bound } = form {
                    enter((*ty, *bound), false);
                    self.known.insert(*var, below);
                } else {
                    self.outermost = below;
                }
                let params = params.iter().map(|it| it.param.name);
                self.known.extend(params.map(|name| (name, below)));
            }
            Exp::Basic(_) | Exp::If { .. } | Exp::Apply { .. } | Exp::Op(_) => self.outermost = below,
        }
        sub_bodies_mut(exp, |body| {
            body.stms = self.statements(std::mem::take(&mut body.stms));
        });
        self.outermost = floor;
        self.enclosing.truncate(outside);
    }

    /// Moves values of a combinator to tables where that pays.
    fn split(&mut self, screma: &mut Screma) {
        let map = self.enclosing.iter().rfind(|around| around.is_map);
        let Some(map) = map.map(|map| map.level).filter(|map| *map > self.outermost) else {
            return;
        };
        let Some(free) = Invariants::of(self, screma, map) else {
            return;
        };
        let expensive = free.expensive(&screma.map.body);
        if expensive.is_empty() || expensive.len() > MAX_TABLES {
            return;
        }
        let wanted = free.slice(&expensive);
        let Some(to) = self.target_level(free.level_of(&expensive), map) else {
            return;
        };
        let stms = screma.map.body.stms.iter().enumerate();
        let stms = stms.filter(|(at, _)| wanted.contains(at));
        let body = Body {
            stms: stms.map(|(_, stm)| stm.clone()).collect(),
            result: expensive.iter().map(|name| Atom::Var(*name)).collect(),
        };
        let used: FxHashSet<Name> = free_names(&body).into_iter().collect();
        let inputs = screma.map.params.iter().zip(&screma.inputs);
        let inputs: Vec<(Param<Soacs>, Name)> = inputs
            .filter(|(param, _)| used.contains(&param.name))
            .map(|(param, input)| (param.clone(), *input))
            .collect();
        // True if an input array bound outside shows that the width is a valid size.
        let sized = inputs.iter().any(|(_, input)| !self.iotas.contains_key(input));
        let index = inputs.iter().find(|(_, input)| self.is_index_iota(*input));
        let index = index.map(|(param, _)| param.name);
        if !sized && index.is_none() || !self.fuel.take() {
            return;
        }
        let width = if sized {
            screma.width
        } else {
            let varies = matches!(screma.width, Dim::Var(_));
            let none = varies.then(|| self.emptiness(to)).flatten();
            self.size_unless_empty(screma.width, none, to)
        };
        let (params, inputs) = self.inputs_of(inputs, width, to);
        let bound = |name: &Name| {
            let stm = &screma.map.body.stms[free.bound[name]];
            let param = stm.pat.iter().find(|param| param.name == *name);
            (stm.aux.prov, param.map(|param| param.ty.clone()))
        };
        let (provs, ret): (Vec<Prov>, Vec<Option<Type>>) = expensive.iter().map(bound).unzip();
        let ret: Vec<Type> = ret.into_iter().flatten().collect();
        let lambda = Lambda { params, body, ret };
        let lambda = refresh_lambda(&lambda, self.names, &mut Substitution::default());
        let mut pat = Vec::with_capacity(expensive.len());
        let mut reads = Vec::new();
        let mut own = Substitution::default();
        for ((name, ty), prov) in expensive.iter().zip(&lambda.ret).zip(&provs) {
            let table = self.param(*name, ty.array_of(width));
            self.known.insert(table.name, to);
            let element = self.param(*name, ty.clone());
            own.insert(*name, element.name.into());
            if let (false, Some(index)) = (sized, index) {
                let array = table.name;
                let slice = vec![DimIndex::Fix(index.into())];
                reads.push(Stm {
                    pat: vec![element],
                    aux: Aux::at(*prov),
                    exp: Exp::Basic(BasicOp::Index { array, slice }),
                });
            } else {
                screma.inputs.push(table.name);
                screma.map.params.push(element);
            }
            pat.push(table);
        }
        self.levels[to].push(Stm {
            pat,
            aux: Aux::at(provs.first().copied().unwrap_or(Prov::NONE)),
            exp: Exp::Op(Soac::Screma(Screma::map(width, inputs, lambda))),
        });
        self.made.extend(provs);
        let body = &mut screma.map.body;
        substitute_body(body, &own);
        drop_unused(body, &wanted);
        body.stms.splice(0..0, reads);
    }

    fn param(&mut self, like: Name, ty: Type) -> Param<Soacs> {
        Param { name: self.names.fresh_like(like), ty, ann: () }
    }

    /// Returns the level for a table that needs level `to`: outside of the map, and where the trip
    /// counts of all bodies that it leaves are bound. `None` if there is no such level.
    fn target_level(&self, mut to: usize, map: usize) -> Option<usize> {
        for around in self.enclosing.iter().rev() {
            if around.level <= to {
                break;
            }
            to = match around.trip_count.1 {
                Atom::Var(name) => to.max(*self.known.get(&name)?),
                Atom::Const(_) => to,
            };
        }
        (to < map).then_some(to)
    }

    /// Returns true if an array is `iota` from 0 with stride 1.
    fn is_index_iota(&self, array: Name) -> bool {
        let iota = self.iotas.get(&array).map(|stm| &stm.exp);
        matches!(iota, Some(Exp::Basic(op)) if op.as_indices().is_some())
    }

    /// Emits, at a level, the condition that one of the enclosing bodies below it has no
    /// iterations. `None` if that cannot happen.
    fn emptiness(&mut self, level: usize) -> Option<Atom> {
        let below = self.enclosing.iter().filter(|around| around.level > level);
        let trip_counts: Vec<(PrimType, Atom)> = below.map(|around| around.trip_count).collect();
        let mut none: Option<Atom> = None;
        for (ty, trip_count) in trip_counts {
            if trip_count.constant().is_some_and(|count| count.as_i64() > Some(0)) {
                continue;
            }
            let here = BasicOp::compare(CmpOp::SLe, ty, trip_count, Atom::Const(Scalar::int(ty, 0)));
            let here = self.scalar(level, "none", PrimType::Bool, here);
            none = Some(match none {
                None => here,
                Some(none) => {
                    let either = BasicOp::binary(BinOp::Or, PrimType::Bool, none, here);
                    self.scalar(level, "none", PrimType::Bool, either)
                }
            });
        }
        none
    }

    /// Emits, at a level, a size that is 0 if the condition `none` holds.
    fn size_unless_empty(&mut self, size: Dim, none: Option<Atom>, level: usize) -> Dim {
        let (Some(cond), Some(if_false @ Atom::Var(_))) = (none, size.atom()) else {
            return size;
        };
        let any = BasicOp::select(PrimType::I64, cond, Atom::i64(0), if_false);
        let size = self.scalar(level, "size", PrimType::I64, any);
        size.var().map_or(Dim::Const(0), Dim::Var)
    }

    /// Emits a scalar at a level.
    fn scalar(&mut self, level: usize, hint: &str, ty: PrimType, op: BasicOp) -> Atom {
        let name = self.names.fresh(hint);
        self.known.insert(name, level);
        let param = Param { name, ty: Type::Prim(ty), ann: () };
        self.levels[level].push(hoist::basic(param, op));
        name.into()
    }

    /// Returns a table's parameters and inputs, after emitting iotas of the table's size at a
    /// level.
    fn inputs_of(
        &mut self,
        from: Vec<(Param<Soacs>, Name)>,
        width: Dim,
        to: usize,
    ) -> (Vec<Param<Soacs>>, Vec<Name>) {
        let mut inputs = Vec::with_capacity(from.len());
        let mut params = Vec::with_capacity(from.len());
        for (param, input) in from {
            params.push(param);
            let Some(mut iota) = self.iotas.get(&input).cloned() else {
                inputs.push(input);
                continue;
            };
            let own = self.names.fresh_like(input);
            self.known.insert(own, to);
            for param in &mut iota.pat {
                param.name = own;
                param.ty = Type::array(param.ty.elem().unwrap_or(PrimType::I64), [width]);
            }
            if let Exp::Basic(BasicOp::Iota { count, .. }) = &mut iota.exp {
                *count = width;
            }
            self.levels[to].push(iota);
            inputs.push(own);
        }
        (params, inputs)
    }
}

/// The computations of a combinator that are invariant in the map around it.
struct Invariants {
    /// The outermost level at which each value can be computed.
    levels: FxHashMap<Name, usize>,
    /// The statement that binds each value. Parameters have none.
    bound: FxHashMap<Name, usize>,
    /// For each of these statements, the others that it uses and its cost.
    stms: FxHashMap<usize, (Vec<usize>, i64)>,
    /// The level at which the width is bound.
    width: usize,
}

impl Invariants {
    /// Analyses a combinator for the map whose body is level `map`. `None` if the width varies in
    /// the map, or if there are no invariant values.
    fn of(tables: &LookupTables<'_>, screma: &Screma, map: usize) -> Option<Self> {
        let level = |name: &Name| tables.known.get(name).copied().filter(|it| *it < map);
        let width = match screma.width {
            Dim::Const(_) => 0,
            Dim::Var(name) => level(&name)?,
            Dim::Ext(_) => return None,
        };
        let mut free = Self {
            levels: FxHashMap::default(),
            bound: FxHashMap::default(),
            stms: FxHashMap::default(),
            width: width.max(tables.outermost),
        };
        for (param, input) in screma.map.params.iter().zip(&screma.inputs) {
            let indices = tables.iotas.get(input);
            let needs = level(input).or_else(|| needs(indices?, |name| level(&name)));
            if let (Some(needs), true) = (needs, param.ty.is_prim()) {
                free.levels.insert(param.name, needs);
            }
        }
        let own: FxHashSet<Name> = (screma.map.body.stms.iter().flat_map(|stm| &stm.pat))
            .chain(&screma.map.params)
            .map(|param| param.name)
            .collect();
        for (at, stm) in screma.map.body.stms.iter().enumerate() {
            let known = |name: Name| {
                if own.contains(&name) { free.levels.get(&name).copied() } else { level(&name) }
            };
            if let (true, Some(level)) = (is_movable(stm), needs(stm, known)) {
                let mut of = Vec::new();
                used_names(&stm.exp, |name| of.extend(free.bound.get(&name)));
                let cost = cost::statements(std::slice::from_ref(stm)).total();
                free.stms.insert(at, (of, cost));
                for param in &stm.pat {
                    free.levels.insert(param.name, level);
                    free.bound.insert(param.name, at);
                }
            }
        }
        (!free.bound.is_empty()).then_some(free)
    }

    /// The values that the rest of the body reads and that are expensive enough for a table.
    fn expensive(&self, body: &Body<Soacs>) -> Vec<Name> {
        let mut read: Vec<Name> = Vec::new();
        let mut seen = FxHashSet::default();
        let mut note = |name: Name| {
            if self.bound.contains_key(&name) && seen.insert(name) {
                read.push(name);
            }
        };
        for (at, stm) in body.stms.iter().enumerate() {
            if !self.stms.contains_key(&at) {
                stm_names(stm, &mut note);
            }
        }
        body.result.iter().filter_map(|it| it.var()).for_each(note);
        if read.len() > MAX_CANDIDATES {
            return Vec::new();
        }
        read.retain(|name| {
            let all = self.slice(&[*name]);
            all.iter().map(|at| self.stms[at].1).sum::<i64>() >= thresholds::TABLE
        });
        read
    }

    /// The backward slice of values: the statements that compute them.
    fn slice(&self, names: &[Name]) -> FxHashSet<usize> {
        let mut open: Vec<usize> = names.iter().map(|name| self.bound[name]).collect();
        let mut found = FxHashSet::default();
        while let Some(at) = open.pop() {
            if found.insert(at) {
                open.extend(&self.stms[&at].0);
            }
        }
        found
    }

    /// The level that tables of these values need.
    fn level_of(&self, names: &[Name]) -> usize {
        let levels = names.iter().map(|name| self.levels[name]);
        levels.fold(self.width, usize::max)
    }
}

/// The level that a statement needs, if all names that it uses have one.
fn needs(stm: &Stm<Soacs>, level: impl Fn(Name) -> Option<usize>) -> Option<usize> {
    let own = bound_inside(&stm.exp);
    let mut most = Some(0);
    stm_names(stm, |name| {
        if !own.contains(&name) {
            most = most.and_then(|most: usize| Some(most.max(level(name)?)));
        }
    });
    most
}

/// The names bound in the branches of a statement.
fn bound_inside(exp: &Exp<Soacs>) -> FxHashSet<Name> {
    let mut names = FxHashSet::default();
    sub_bodies(exp, |body| names.extend(binders(body)));
    names
}

/// Returns true if a statement computes scalars and cannot fail.
fn is_movable(stm: &Stm<Soacs>) -> bool {
    let scalars = stm.pat.iter().all(|param| param.ty.is_prim());
    scalars
        && match &stm.exp {
            Exp::Basic(op) => is_arithmetic(op) && !may_trap(op),
            Exp::If { cond: _, then_body, else_body } => {
                with_stack(|| [then_body, else_body].iter().all(|body| body.stms.iter().all(is_movable)))
            }
            Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => false,
        }
}

/// Returns true if an operation traps for some operands.
fn may_trap(op: &BasicOp) -> bool {
    matches!(op, BasicOp::Scalar(ScalarOp::Binary(op, ..)) if op.is_division())
}

/// Drops the statements among `of` whose values are no longer read.
fn drop_unused(body: &mut Body<Soacs>, of: &FxHashSet<usize>) {
    let mut read: FxHashSet<Name> = body.result.iter().filter_map(|it| it.var()).collect();
    let mut kept = Vec::with_capacity(body.stms.len());
    let stms = std::mem::take(&mut body.stms);
    for (at, stm) in stms.into_iter().enumerate().rev() {
        if of.contains(&at) && !stm.pat.iter().any(|param| read.contains(&param.name)) {
            continue;
        }
        stm_names(&stm, |name| {
            read.insert(name);
        });
        kept.push(stm);
    }
    kept.reverse();
    body.stms = kept;
}
