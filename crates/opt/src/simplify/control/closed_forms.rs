//! Loop parameters whose values are known without running the loop.
//!
//! - A parameter whose next value is a selection between itself and its initial value keeps its
//!   value.
//! - Two parameters with equal initial and next values are merged.
//! - The result of a counted loop that adds a loop-invariant value, or assigns one, in each
//!   iteration has a closed form. The parameter stays as long as the body reads it.
//!
//! Float sums have no closed form: they round in each iteration.

use crate::dce::retain;
use crate::level::OptLevel;
use crate::simplify::Simplifier;
use crate::simplify::control::mentioned;
use ir::Name;
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, LoopForm, LoopParam, Param};
use ir::types::Type;
use ir::walk::{Substitution, substitute_stm, substitute_type};
use prim::{BinOp, CmpOp, ConvOp, PrimType, Scalar, ScalarOp};
use rustc_hash::FxHashMap;

/// The recurrence of a loop parameter, or of a combinator over one value
/// ([`uniform_scans`](crate::simplify::combinators::uniform_scans)).
pub(crate) enum Closed {
    /// Each iteration assigns this value, which does not depend on the parameter.
    Constant(Atom),
    /// Each iteration adds (or subtracts) this value.
    Sum(BinOp, PrimType, Atom),
    /// Each iteration combines the parameter with this value by an idempotent operator.
    Idempotent(BinOp, PrimType, Atom),
}

impl<L: OptLevel> Simplifier<'_, L> {
    /// `loop x = a for .. do (if c then a else x)`: the next value is `x`.
    pub(crate) fn kept_by_select(&mut self, params: &[LoopParam<L>], next: &mut [Atom]) {
        for (LoopParam { param, init, .. }, next) in params.iter().zip(next) {
            let own = Atom::Var(param.name);
            let Some(def) = self.known.def_of(*next) else {
                continue;
            };
            let BasicOp::Scalar(ScalarOp::Select { if_true, if_false, .. }) = def.op else {
                continue;
            };
            let is_identity = |atom: Atom| atom == own || atom == *init;
            if def.certs.is_empty() && is_identity(if_true) && is_identity(if_false) && self.rewrite() {
                *next = own;
            }
        }
    }

    /// Merges parameters with equal initial and next values into the first of them. Returns the
    /// results of the others with the name that replaces each: they are bound after the loop's
    /// results are known.
    pub(crate) fn merge_equal_params(
        &mut self,
        pat: &mut Vec<Param<L>>,
        aux: &Aux,
        params: &mut Vec<LoopParam<L>>,
        form: &LoopForm,
        body: &mut Body<L>,
    ) -> Vec<(Param<L>, Name)> {
        let mut same_results = Vec::new();
        let condition = match form {
            LoopForm::While { cond } => Some(*cond),
            LoopForm::For { .. } => None,
        };
        let scalar = |param: &LoopParam<L>| param.param.ty.is_prim() && Some(param.param.name) != condition;
        let mut starts: FxHashMap<Atom, u32> = FxHashMap::default();
        for param in params.iter().filter(|param| scalar(param)) {
            *starts.entry(param.init).or_default() += 1;
        }
        if starts.values().all(|count| *count < 2) || !aux.certs.is_empty() {
            return same_results;
        }
        // The operations that compute the next values, to be compared without the parameter itself.
        let mut steps: FxHashMap<Name, (BinOp, PrimType, Atom, Atom)> = FxHashMap::default();
        let mut order: FxHashMap<Name, usize> = FxHashMap::default();
        for (at, stm) in body.stms.iter().enumerate() {
            if let (Exp::Basic(BasicOp::Scalar(ScalarOp::Binary(op, ty, x, y))), [bound]) =
                (&stm.exp, &stm.pat[..])
                && stm.aux.certs.is_empty()
            {
                steps.insert(bound.name, (*op, *ty, *x, *y));
                order.insert(bound.name, at);
            }
        }
        let mut firsts: FxHashMap<(Atom, Step), usize> = FxHashMap::default();
        let mut keep = vec![true; params.len()];
        let sizes = mentioned(params.iter().map(|param| &param.param));
        let mut next_sizes = Substitution::default();
        for (i, param) in params.iter().enumerate().filter(|(_, param)| scalar(param)) {
            let (own, next) = (Atom::Var(param.param.name), body.result[i]);
            let step = match next.var().and_then(|name| steps.get(&name)) {
                Some((op, ty, x, y)) if *x == own && *y != own => Step::Binary(*op, *ty, None, Some(*y)),
                Some((op, ty, x, y)) if *y == own && *x != own => Step::Binary(*op, *ty, Some(*x), None),
                _ => Step::Value(next),
            };
            let first = *firsts.entry((param.init, step)).or_insert(i);
            if first == i || params[first].param.ty != param.param.ty {
                continue;
            }
            // Types that use this next value get the other's name, which must be bound before.
            let other = body.result[first];
            let renamed =
                (next != other && sizes.contains(&param.param.name)).then(|| next.var().zip(other.var()));
            let before = |(next, other): (Name, Name)| order.get(&other) < order.get(&next);
            if renamed.is_some_and(|pair| !pair.is_some_and(before)) || !self.rewrite() {
                continue;
            }
            next_sizes.extend(renamed.flatten().map(|(next, _)| (next, other)));
            keep[i] = false;
            let same = Atom::Var(params[first].param.name);
            self.bind_atom(param.param.clone(), aux.clone(), same);
            same_results.push((pat[i].clone(), pat[first].name));
        }
        retain(pat, &keep);
        retain(params, &keep);
        retain(&mut body.result, &keep);
        if !next_sizes.is_empty() {
            for stm in &mut body.stms {
                substitute_stm(stm, &next_sizes);
            }
        }
        // Sizes in other results' types use the remaining name, as the others are bound after the
        // loop.
        let names: Substitution =
            same_results.iter().map(|(gone, same)| (gone.name, Atom::Var(*same))).collect();
        for param in pat {
            substitute_type(&mut param.ty, &names);
        }
        same_results
    }

    /// Replaces used results of a counted loop by closed forms. The body is simplified and its
    /// scope has ended.
    pub(crate) fn closed_forms(
        &mut self,
        pat: &mut [Param<L>],
        aux: &Aux,
        params: &[LoopParam<L>],
        form: &LoopForm,
        runs: bool,
        next: &[Atom],
    ) {
        let LoopForm::For { var: _, ty, bound } = form else {
            return;
        };
        let sizes = mentioned(&*pat);
        for i in 0..pat.len() {
            let (bound_to, param) = (pat[i].clone(), &params[i]);
            let Type::Prim(own) = bound_to.ty else {
                continue;
            };
            if !self.known.is_used(bound_to.name) || sizes.contains(&bound_to.name) {
                continue;
            }
            let Some(closed) = self.closed(param.param.name, next[i]) else {
                continue;
            };
            if !self.rewrite() {
                return;
            }
            let op = self.value_after(closed, param.init, own, (*ty, *bound), runs, aux);
            pat[i] = self.fresh("after", bound_to.ty.clone());
            self.use_more(&op);
            self.basic(bound_to, aux.clone(), op);
        }
    }

    /// The recurrence of a parameter, if it has a closed form.
    fn closed(&self, own: Name, next: Atom) -> Option<Closed> {
        if self.known.in_scope(next) {
            return Some(Closed::Constant(next));
        }
        let def = self.known.def_of(next)?;
        let BasicOp::Scalar(ScalarOp::Binary(op, ty, x, y)) = def.op else {
            return None;
        };
        let (by, left) = match (x == Atom::Var(own), y == Atom::Var(own)) {
            (true, false) => (y, true),
            (false, true) => (x, false),
            _ => return None,
        };
        if !def.certs.is_empty() || !self.known.in_scope(by) || !(ty.is_int() || ty == PrimType::Bool) {
            return None;
        }
        if op == BinOp::Add || (op == BinOp::Sub && left) {
            Some(Closed::Sum(op, ty, by))
        } else {
            op.is_idempotent().then_some(Closed::Idempotent(op, ty, by))
        }
    }

    /// Emits the value after a counted loop.
    pub(crate) fn value_after(
        &mut self,
        closed: Closed,
        init: Atom,
        own: PrimType,
        (counter, bound): (PrimType, Atom),
        runs: bool,
        aux: &Aux,
    ) -> BasicOp {
        let zero = Atom::Const(Scalar::int(counter, 0));
        let value = match closed {
            Closed::Sum(op, ty, by) => {
                let trips = if runs {
                    bound
                } else {
                    let most = BasicOp::binary(BinOp::SMax, counter, bound, zero);
                    self.make("trips", aux, most)
                };
                let trips = if counter == ty {
                    trips
                } else {
                    let convert = BasicOp::convert(ConvOp::SExt, counter, ty, trips);
                    self.make("trips", aux, convert)
                };
                let all = self.make("product", aux, BasicOp::binary(BinOp::Mul, ty, trips, by));
                return BasicOp::binary(op, ty, init, all);
            }
            Closed::Constant(value) => value,
            Closed::Idempotent(op, ty, by) => self.make("once", aux, BasicOp::binary(op, ty, init, by)),
        };
        if runs {
            return BasicOp::Atom(value);
        }
        let cond = BasicOp::compare(CmpOp::SLt, counter, zero, bound);
        BasicOp::select(own, self.make("runs", aux, cond), value, init)
    }
}

/// The next value of a parameter, without the parameter's own name.
#[derive(PartialEq, Eq, Hash)]
enum Step {
    /// This value.
    Value(Atom),
    /// This operation of the parameter (the missing operand) and this operand.
    Binary(BinOp, PrimType, Option<Atom>, Option<Atom>),
}
