//! Facts implied by conditions and checks where they hold: relations of integers, disjunctions.
//!
//! A disjunction that holds is stored under the names that determine its operands, until a scope
//! says that one of them is false; then the other holds there.

use crate::level::OptLevel;
use crate::simplify::{Certs, Simplifier, add_certs};
use ir::Name;
use ir::syntax::{Atom, BasicOp};
use ir::types::Dim;
use prim::{BinOp, PrimType, Scalar, ScalarOp, UnOp};
use smallvec::SmallVec;

/// The largest number of disjunctions that are stored under a name.
const MANY: usize = 16;

/// The condition under which the body of a scope runs at least once.
#[derive(Clone)]
pub(crate) enum Guard {
    /// Unknown.
    Unknown,
    /// If all these are positive.
    Positive(SmallVec<[(PrimType, Atom); 2]>),
    /// If the operand has this truth value.
    Holds(Atom, bool),
}

impl<L: OptLevel> Simplifier<'_, L> {
    /// Records that a truth value holds (or does not) until the scope with this index ends.
    pub(crate) fn assume(&mut self, cond: Atom, truth: bool, certs: &Certs, depth: usize) {
        self.assume_within(cond, truth, certs, depth, 8);
    }

    fn assume_within(&mut self, cond: Atom, truth: bool, certs: &Certs, depth: usize, fuel: u32) {
        let Some(def) = self.known.def_of(cond).cloned() else {
            if truth
                && fuel > 0
                && let Some((x, y)) = cond.var().and_then(|name| self.conjunctions.get(&name).copied())
            {
                self.assume_within(x, true, certs, depth, fuel - 1);
                self.assume_within(y, true, certs, depth, fuel - 1);
            }
            return;
        };
        if let BasicOp::Scalar(ScalarOp::Compare(op, ty, x, y)) = def.op
            && ty.is_int()
        {
            self.ranges_at(depth, |ranges| ranges.assume(op, x, y, truth, certs));
        } else if let BasicOp::Scalar(ScalarOp::Binary(op, PrimType::Bool, x, y)) = def.op
            && fuel > 0
            && ((op == BinOp::And && truth) || (op == BinOp::Or && !truth))
        {
            self.assume_within(x, truth, certs, depth, fuel - 1);
            self.assume_within(y, truth, certs, depth, fuel - 1);
        } else if let BasicOp::Scalar(ScalarOp::Binary(BinOp::Or, PrimType::Bool, x, y)) = def.op
            && fuel > 0
            && truth
        {
            self.store_disjunction(x, y, certs, depth);
            self.resolve_disjunction(x, y, certs, depth);
        } else if let BasicOp::Scalar(ScalarOp::Unary(UnOp::Not, PrimType::Bool, x)) = def.op
            && fuel > 0
        {
            self.assume_within(x, !truth, certs, depth, fuel - 1);
        }
    }

    /// Records that the innermost scope's body runs if all these sizes are positive. Conditions
    /// checked for that case hold in it.
    pub(crate) fn runs_where_positive(&mut self, sizes: &[Dim]) {
        let atoms: Option<SmallVec<[(PrimType, Atom); 2]>> =
            sizes.iter().map(|dim| Some((PrimType::I64, dim.atom()?))).collect();
        if let Some(atoms) = atoms {
            self.runs_where(Guard::Positive(atoms));
        }
    }

    /// As [`Simplifier::runs_where_positive`], for any guard.
    pub(crate) fn runs_where(&mut self, guard: Guard) {
        let depth = self.known.current();
        let names: SmallVec<[Name; 2]> = match &guard {
            Guard::Unknown => SmallVec::new(),
            Guard::Positive(sizes) => sizes.iter().filter_map(|(_, size)| size.var()).collect(),
            Guard::Holds(cond, _) => cond.var().into_iter().collect(),
        };
        self.scopes[depth].guard = guard;
        for name in names {
            let waiting = self.pending_disjunctions.get(&name).cloned().unwrap_or_default();
            for (x, y, certs) in waiting {
                self.resolve_disjunction(x, y, &certs, depth);
            }
        }
    }

    /// Records that one of two truth values holds: if one is known to be false, the other is true.
    fn resolve_disjunction(&mut self, x: Atom, y: Atom, certs: &Certs, depth: usize) {
        for (x, y) in [(x, y), (y, x)] {
            if let Some(proof) = self.known_false(x) {
                let mut certs = certs.clone();
                add_certs(&mut certs, &proof);
                self.assume(y, true, &certs, depth);
                return;
            }
        }
    }

    /// Stores a checked disjunction until one operand is known to be false.
    fn store_disjunction(&mut self, x: Atom, y: Atom, certs: &Certs, depth: usize) {
        for side in [x, y] {
            let Some(name) = self.guarding(side) else {
                continue;
            };
            let waiting = self.pending_disjunctions.entry(name).or_default();
            if waiting.len() < MANY {
                waiting.push((x, y, certs.clone()));
                self.scopes[depth].waiting.push(name);
            }
        }
    }

    /// The name that determines a guard.
    fn guarding(&self, side: Atom) -> Option<Name> {
        match self.known.def_of(side).map(|def| &def.op) {
            Some(BasicOp::Scalar(ScalarOp::Compare(_, _, Atom::Var(size), Atom::Const(_)))) => Some(*size),
            Some(BasicOp::Scalar(ScalarOp::Compare(_, _, Atom::Const(_), Atom::Var(size)))) => Some(*size),
            Some(BasicOp::Scalar(ScalarOp::Unary(UnOp::Not, _, x))) => x.var(),
            _ => side.var(),
        }
    }

    /// The certificates proving that a truth value is false.
    fn known_false(&self, x: Atom) -> Option<Certs> {
        if let Atom::Const(value) = x {
            return (value == Scalar::Bool(false)).then(Certs::new);
        }
        let known = |x: Atom| {
            let sub = self.subs.get(x.var()?.index())?.as_ref()?;
            let value = sub.atom.constant()?.as_bool()?;
            Some((value, sub.certs.clone()))
        };
        if let Some((false, certs)) = known(x) {
            return Some(certs);
        }
        let op = &self.known.def_of(x)?.op;
        if let BasicOp::Scalar(ScalarOp::Unary(UnOp::Not, _, inner)) = op
            && let Some((true, certs)) = known(*inner)
        {
            return Some(certs);
        }
        if let BasicOp::Scalar(ScalarOp::Compare(op, ty, a, b)) = op
            && ty.is_int()
            && let Some((false, certs)) = self.known.ranges.compare(*op, *a, *b)
        {
            return Some(certs);
        }
        None
    }
}
