//! Hoists whole expensive combinators that are invariant in the map around them, with the arrays
//! and branches computed from their results.
//!
//! ```text
//!                                          let size = if n <= 0 then 0 else m
//!                                          let ts = if n <= 0 then scratch [size] else
//! let zs = map n (y <- ys) {                 map size (x <- iota size) { in (cos (conv x)) }
//!   let ts = map m (x <- iota m) {   =>    let zs = map n (y <- ys) {
//!     in (cos (conv x)) }                    let ts = coerce [m] ts
//!   ..                                       ..
//! ```
//!
//! `simplify` hoists such combinators where they certainly run, or may run in any case. Here a
//! branch is put around them, so that they run exactly if the map has an iteration, as before.
//! Sizes that no array outside proves valid may be invalid where the map is empty, and are 0 then.
//!
//! Statements that can fail stay, as do results that are consumed or that an iteration returns.

use super::{LookupTables, drop_unused};
use crate::simplify::sharing::cse::makes_array;
use crate::simplify::sharing::licm::MAX_DEPTH;
use crate::sink::is_arithmetic;
use analysis::{cost, thresholds};
use ir::soac::Soac;
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, Param, ReshapeKind, Stm};
use ir::types::{Dim, Type};
use ir::walk::{
    Substitution, free_names, free_names_exp, refresh_body, stm_names, sub_bodies, substitute_type,
    with_stack,
};
use ir::{Name, Prov, Soacs};
use prim::{PrimType, Scalar};
use rustc_hash::{FxHashMap, FxHashSet};

/// The statements of a map's body that are invariant in the map.
struct Hoistable {
    /// The level that each of these statements needs, by its position.
    levels: FxHashMap<usize, usize>,
    /// The statements to hoist: expensive ones, and those computed from their results.
    hoisted: FxHashSet<usize>,
    /// The other statements of the body that these depend on.
    needed: FxHashSet<usize>,
    /// The results of hoisted statements that the rest of the body reads.
    results: Vec<(Name, Type)>,
}

impl LookupTables<'_> {
    /// Hoists invariant, expensive statements out of the body of the map at level `map`.
    pub(super) fn hoist(&mut self, body: &mut Body<Soacs>, map: usize) {
        if map <= self.outermost || map > MAX_DEPTH {
            return;
        }
        let Some(same) = Hoistable::of(self, body, map) else {
            return;
        };
        let all: FxHashSet<usize> = same.hoisted.union(&same.needed).copied().collect();
        let level = all.iter().map(|at| same.levels[at]).fold(self.outermost, usize::max);
        let Some(to) = self.target_level(level, map).filter(|_| self.fuel.take()) else {
            return;
        };
        let stms = body.stms.iter().enumerate();
        let stms = stms.filter(|(at, _)| all.contains(at)).map(|(_, stm)| stm.clone());
        let made = Body {
            stms: stms.collect(),
            result: same.results.iter().map(|(name, _)| (*name).into()).collect(),
        };
        let none = self.emptiness(to);
        let mut sizes = self.sizes(&same.results, &made, none, to);
        let cond = none.unwrap_or(Atom::Const(Scalar::Bool(false)));
        self.made.extend(same.hoisted.iter().map(|at| body.stms[*at].aux.prov));
        let mut then_body = Body { stms: Vec::new(), result: Vec::new() };
        let (mut pat, mut reads) = (Vec::new(), Vec::new());
        for (name, ty) in &same.results {
            let mut table = self.param(*name, ty.clone());
            substitute_type(&mut table.ty, &sizes);
            self.known.insert(table.name, to);
            let read = match (&table.ty, ty) {
                (Type::Array { elem, shape }, Type::Array { shape: known, .. }) => {
                    let nothing = self.param(*name, table.ty.clone());
                    then_body.result.push(nothing.name.into());
                    let (elem, shape) = (*elem, shape.clone());
                    then_body.stms.push(basic(nothing, BasicOp::Scratch { elem, shape }));
                    BasicOp::Reshape { kind: ReshapeKind::Coerce, shape: known.clone(), array: table.name }
                }
                (ty, _) => {
                    let zero = Scalar::zero(ty.elem().unwrap_or(PrimType::Bool));
                    then_body.result.push(Atom::Const(zero));
                    BasicOp::Atom(table.name.into())
                }
            };
            let param = Param { name: *name, ty: ty.clone(), ann: () };
            reads.push(basic(param, read));
            pat.push(table);
        }
        let else_body = refresh_body(&made, self.names, &mut sizes);
        self.levels[to].push(Stm {
            pat,
            aux: Aux::at(Prov::NONE),
            exp: Exp::If { cond, then_body, else_body },
        });
        let left = |at: &usize| !same.hoisted.contains(at);
        let others = (0..body.stms.len()).filter(left).enumerate();
        let needed = others.filter(|(_, before)| same.needed.contains(before));
        let needed = needed.map(|(now, _)| now).collect();
        let mut at = 0..;
        body.stms.retain(|_| at.next().is_some_and(|at| left(&at)));
        drop_unused(body, &needed);
        body.stms.splice(0..0, reads);
    }

    /// Emits replacements for the sizes of results that may be invalid where an enclosing map is
    /// empty, and returns the substitution.
    fn sizes(
        &mut self,
        results: &[(Name, Type)],
        made: &Body<Soacs>,
        none: Option<Atom>,
        to: usize,
    ) -> Substitution {
        let mut sure = FxHashSet::default();
        for name in free_names(made) {
            let dims = self.types.get(name).into_iter().flat_map(Type::shape);
            sure.extend(dims.copied());
        }
        let mut sizes = Substitution::default();
        for dim in results.iter().flat_map(|(_, ty)| ty.shape()) {
            if let (Dim::Var(name), false) = (dim, sure.contains(dim))
                && !sizes.contains_key(name)
            {
                let size = self.size_unless_empty(*dim, none, to);
                sizes.extend(size.atom().map(|size| (*name, size)));
            }
        }
        sizes
    }
}

impl Hoistable {
    /// Analyses the body of the map at level `map`. `None` if it has no expensive invariant
    /// statement, or if a hoisted array may not leave.
    fn of(tables: &LookupTables<'_>, body: &Body<Soacs>, map: usize) -> Option<Self> {
        let mut same = Self {
            levels: FxHashMap::default(),
            hoisted: FxHashSet::default(),
            needed: FxHashSet::default(),
            results: Vec::new(),
        };
        // The binding statement of each invariant name, and the statements that each one uses.
        let mut bound: FxHashMap<Name, usize> = FxHashMap::default();
        let mut uses: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
        for (at, stm) in body.stms.iter().enumerate() {
            let mut of = Vec::new();
            let mut level = Some(0);
            for name in names_of(stm) {
                let needs = match (bound.get(&name), tables.known.get(&name)) {
                    (Some(at), _) => {
                        of.push(*at);
                        same.levels.get(at).copied()
                    }
                    (None, Some(known)) => Some(*known).filter(|known| *known < map),
                    (None, None) => None,
                };
                level = level.zip(needs).map(|(level, needs): (usize, usize)| level.max(needs));
            }
            let (Some(level), true) = (level, may_hoist(stm)) else {
                continue;
            };
            let makes = matches!(&stm.exp, Exp::Op(_) | Exp::If { .. })
                || matches!(&stm.exp, Exp::Basic(op) if makes_array(op));
            let follows = makes && of.iter().any(|at| same.hoisted.contains(at));
            if follows || is_expensive(stm) {
                same.hoisted.insert(at);
            }
            same.levels.insert(at, level);
            bound.extend(stm.pat.iter().map(|param| (param.name, at)));
            uses.insert(at, of);
        }
        if same.hoisted.is_empty() {
            return None;
        }
        let mut open: Vec<usize> = same.hoisted.iter().copied().collect();
        while let Some(at) = open.pop() {
            for of in &uses[&at] {
                if !same.hoisted.contains(of) && same.needed.insert(*of) {
                    open.push(*of);
                }
            }
        }
        let mut read: FxHashSet<Name> = body.result.iter().filter_map(|it| it.var()).collect();
        let classes = read.iter().map(|name| tables.aliases.class(*name));
        let classes: FxHashSet<usize> = classes.collect();
        for (at, stm) in body.stms.iter().enumerate() {
            if !same.hoisted.contains(&at) {
                stm_names(stm, |name| {
                    read.insert(name);
                });
            }
        }
        for (_, stm) in body.stms.iter().enumerate().filter(|(at, _)| same.hoisted.contains(at)) {
            for param in &stm.pat {
                let aliases = &tables.aliases;
                let own = aliases.consumed(param.name) || classes.contains(&aliases.class(param.name));
                if param.ty.is_array() && own {
                    return None;
                }
                if read.contains(&param.name) {
                    // A size bound in the body is not in scope outside of the map.
                    let mut sizes = param.ty.shape().iter().filter_map(|dim| dim.atom()?.var());
                    if sizes.any(|size| bound.contains_key(&size)) {
                        return None;
                    }
                    same.results.push((param.name, param.ty.clone()));
                }
            }
        }
        (!same.results.is_empty()).then_some(same)
    }
}

/// All names that a statement depends on: operands, certificates and sizes in its types.
fn names_of(stm: &Stm<Soacs>) -> Vec<Name> {
    let own: FxHashSet<Name> = stm.pat.iter().map(|param| param.name).collect();
    let mut names = free_names_exp(&stm.exp);
    names.extend(stm.aux.certs.iter().copied());
    for dim in stm.pat.iter().flat_map(|param| param.ty.shape()) {
        names.extend(dim.atom().and_then(Atom::var));
    }
    names.retain(|name| !own.contains(name));
    names
}

/// Returns true if a statement may run once before the map: it can be neither skipped nor repeated
/// with an effect.
fn may_hoist(stm: &Stm<Soacs>) -> bool {
    let values = |ty: &Type| ty.is_prim() || ty.is_array();
    if !stm.pat.iter().all(|param| values(&param.ty)) {
        return false;
    }
    let mut may = match &stm.exp {
        Exp::Basic(BasicOp::Scratch { .. }) => false,
        Exp::Basic(op) => is_arithmetic(op) || makes_array(op) || is_view(op),
        Exp::Op(Soac::Screma(_)) | Exp::If { .. } => true,
        Exp::Loop { params, .. } => params.iter().all(|param| !param.consumed),
        Exp::Apply { .. } | Exp::Op(_) => false,
    };
    with_stack(|| sub_bodies(&stm.exp, |body| may &= body.stms.iter().all(may_hoist)));
    may
}

/// Returns true if an operation reads an array or creates a view of it.
const fn is_view(op: &BasicOp) -> bool {
    matches!(op, BasicOp::Index { .. } | ir::view_op!())
}

/// Returns true if a statement is a combinator that is much more expensive than reading its
/// results.
fn is_expensive(stm: &Stm<Soacs>) -> bool {
    matches!(&stm.exp, Exp::Op(op) if cost::per_element(op) >= thresholds::TABLE)
}

pub(super) fn basic(param: Param<Soacs>, op: BasicOp) -> Stm<Soacs> {
    Stm { pat: vec![param], aux: Aux::at(Prov::NONE), exp: Exp::Basic(op) }
}
