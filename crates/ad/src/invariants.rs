//! Invariant parts of maps: what derivatives in several directions have in common runs once.
//!
//! ```text
//! map d (seed <- seeds) {                        let (ys, cs) = map n (x <- xs) { sin x, cos x }
//!   let (ys, ts) =                               map d (seed <- seeds) {
//!     map n (x <- xs, t <- f seed) {       =>      let ts = map n (c <- cs, t <- f seed) {
//!       sin x, t * cos x } .. ys .. ts ..            t * c } .. ys .. ts ..
//! ```
//!
//! Forward mode computes tangents beside values in one combinator or loop. In a map over seeds the
//! values do not depend on the iteration, the tangents do. So the combinators, counted loops and
//! branches in the map's body are split ([`parts`]) into what varies from iteration to iteration and
//! what does not; the latter moves before the map, with arrays of the values that the former reads and
//! that are expensive to compute ([`analysis::thresholds::TABLE`]). Cheap values are computed again.
//!
//! If the map may be empty, a branch is put around what moves, so that it runs exactly if the map has an
//! iteration. Results are bit-identical.
//!
//! Runs directly after rules of differentiation, before fusion joins the parts of combinators.

mod build;
mod parts;

use crate::calls::Calls;
use crate::state::zero_of;
use ir::build::Builder;
use ir::remark::DerivativeStep;
use ir::soac::{Screma, Soac, Soacs};
use ir::syntax::{Atom, BasicOp, Body, Exp, Function, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::{Substitution, VisitMut, free_names_exp, refresh_body, stm_names, with_stack};
use ir::{Name, Prov, TypeEnv};
use parts::{Part, Splitter};
use prim::{BinOp, CmpOp, PrimType, ScalarOp};
use rustc_hash::FxHashSet;

/// Moves the invariant parts of maps before them.
pub(crate) fn hoist(function: &mut Function<Soacs>, calls: &mut Calls) {
    let mut types = TypeEnv::of_function(function);
    let Function { names, body, provs, .. } = function;
    let mut hoister = Hoister {
        splitter: Splitter { b: Builder::new(names, &mut types), own: FxHashSet::default() },
        hoisted: Vec::new(),
    };
    hoister.body(body);
    if let Some(notes) = &mut calls.notes {
        notes.extend(hoister.hoisted.iter().map(|prov| (provs.stack(*prov), DerivativeStep::Shares)));
    }
}

struct Hoister<'a> {
    splitter: Splitter<'a>,
    /// The maps with invariant parts.
    hoisted: Vec<Prov>,
}

impl VisitMut<Soacs> for Hoister<'_> {
    fn body(&mut self, body: &mut Body<Soacs>) {
        with_stack(|| {
            let outer = self.splitter.b.open();
            for mut stm in std::mem::take(&mut body.stms) {
                self.stm(&mut stm);
                let before = self.before(&mut stm);
                if !before.is_empty() {
                    self.hoisted.push(stm.aux.prov);
                }
                self.splitter.b.put_back(before);
                self.splitter.b.push(stm);
            }
            body.stms = self.splitter.b.close(outer, Vec::new()).stms;
        });
    }
}

impl Hoister<'_> {
    /// Removes the invariant parts from a map; returns them as the statements to put before it.
    fn before(&mut self, stm: &mut Stm<Soacs>) -> Vec<Stm<Soacs>> {
        let Exp::Op(Soac::Screma(Screma { width, inputs, map, scan_reduce })) = &mut stm.exp else {
            return Vec::new();
        };
        if !scan_reduce.is_map() || map.params.iter().any(|param| matches!(param.ty, Type::Acc { .. })) {
            return Vec::new();
        }
        let (width, inputs) = (*width, inputs.clone());
        let mut varying: FxHashSet<Name> = map.params.iter().map(|param| param.name).collect();
        let parts = self.splitter.parts(&map.body.stms, &mut varying);
        let moved = moved(&parts);
        if moved.iter().all(|moves| !moves) {
            return Vec::new();
        }
        let (mut before, mut stms) = (Vec::new(), Vec::new());
        for (part, moves) in parts.into_iter().zip(moved) {
            match part {
                Part::Split { invariant, varying, .. } if moves => {
                    before.extend(invariant);
                    stms.extend(varying);
                }
                Part::Invariant(stm) if moves => before.push(stm),
                Part::Invariant(stm) | Part::Varying(stm) | Part::Split { whole: stm, .. } => stms.push(stm),
            }
        }
        let mut used: FxHashSet<Name> = map.body.result.iter().filter_map(|result| result.var()).collect();
        for stm in &stms {
            stm_names(stm, |name| {
                used.insert(name);
            });
        }
        let Some(before) = self.guarded(width, &inputs, before, &used) else {
            return Vec::new();
        };
        map.body.stms = stms;
        before
    }

    /// Statements that run if a map of this width has an iteration, and bind the names that it uses. `None`
    /// if an array may have no valid size otherwise.
    fn guarded(
        &mut self,
        width: Dim,
        inputs: &[Name],
        before: Vec<Stm<Soacs>>,
        used: &FxHashSet<Name>,
    ) -> Option<Vec<Stm<Soacs>>> {
        if let Dim::Const(n) = width {
            return (n > 0).then_some(before);
        }
        let b = &mut self.splitter.b;
        let mut valid: FxHashSet<Dim> = FxHashSet::default();
        let all: FxHashSet<Name> = before.iter().flat_map(|stm| &stm.pat).map(|p| p.name).collect();
        let depends = |exp: &Exp<Soacs>| free_names_exp(exp).iter().any(|name| all.contains(name));
        // The lengths of tapes are sizes of no other arrays.
        let outside = |stm: &Stm<Soacs>| (is_length(stm) || is_other_name(stm)) && !depends(&stm.exp);
        let (outside, before): (Vec<_>, Vec<_>) = before.into_iter().partition(outside);
        let lengths = outside.iter().filter(|stm| is_length(stm)).flat_map(|stm| &stm.pat);
        valid.extend(lengths.map(|param| Dim::Var(param.name)));
        let bound: FxHashSet<Name> = before.iter().flat_map(|stm| &stm.pat).map(|p| p.name).collect();
        let mut arrays: Vec<Name> = inputs.to_vec();
        before.iter().for_each(|stm| arrays.extend(free_names_exp(&stm.exp)));
        for array in arrays {
            if !bound.contains(&array)
                && let Some(Type::Array { shape, .. }) = b.types.get(array)
            {
                valid.extend(shape.iter().copied());
            }
        }
        let read = before.iter().flat_map(|stm| &stm.pat).filter(|param| used.contains(&param.name));
        let read: Vec<Param<Soacs>> = read.cloned().collect();
        let is_valid = |dim: &Dim| matches!(dim, Dim::Const(_)) || valid.contains(dim);
        if !read.iter().all(|param| param.ty.shape().iter().all(is_valid)) {
            return None;
        }
        let outer = b.open();
        b.put_back(outside);
        let n = width.atom().unwrap_or(Atom::i64(0));
        let some = b.compare(CmpOp::SLt, PrimType::I64, Atom::i64(0), n);
        // The names that the map reads are those of the branch's results.
        let then_body = Body { stms: before, result: read.iter().map(|param| param.name.into()).collect() };
        let then_body = refresh_body(&then_body, b.names, &mut Substitution::default());
        b.types.add_body(&then_body);
        let inner = b.open();
        let none = read.iter().map(|param| zero_of(b, &param.ty)).collect();
        let else_body = b.close(inner, none);
        b.let_pat(read, Exp::If { cond: some.into(), then_body, else_body });
        Some(b.close(outer, Vec::new()).stms)
    }
}

/// Returns true for the length of a tape: the greater of a number and zero.
fn is_length(stm: &Stm<Soacs>) -> bool {
    let zero = Atom::i64(0);
    matches!(stm.exp, Exp::Basic(BasicOp::Scalar(ScalarOp::Binary(BinOp::SMax, PrimType::I64, _, y))) if y == zero)
}

/// Returns true for another name of a value.
const fn is_other_name(stm: &Stm<Soacs>) -> bool {
    matches!(stm.exp, Exp::Basic(BasicOp::Atom(_)))
}

/// Which parts move: those with expensive invariant computations, and all that these need.
fn moved(parts: &[Part]) -> Vec<bool> {
    let mut needed: FxHashSet<Name> = FxHashSet::default();
    let mut moved = vec![false; parts.len()];
    for (at, part) in parts.iter().enumerate().rev() {
        let (stms, expensive) = match part {
            Part::Varying(_) => continue,
            Part::Invariant(stm) => (std::slice::from_ref(stm), false),
            Part::Split { invariant, expensive, .. } => (invariant.as_slice(), *expensive),
        };
        let mut made = stms.iter().flat_map(|stm| &stm.pat);
        if expensive || made.any(|param| needed.contains(&param.name)) {
            moved[at] = true;
            for stm in stms {
                stm_names(stm, |name| {
                    needed.insert(name);
                });
            }
        }
    }
    moved
}
