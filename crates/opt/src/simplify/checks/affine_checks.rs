//! Hoists checks of affine indices out of loops and segops: checking both ends of the index range
//! covers all indices in between.
//!
//! ```text
//! segmap (i < w)                          if 0 < w: assert (b < n), assert (b + a*(w-1) < n)
//!   assert (b + a*i < n)             =>   segmap (i < w)
//! ```
//!
//! Comparisons are unsigned, so that a negative index fails too; `a`, `b`, `w` and `n` are
//! loop-invariant, and `n` is not negative. Index arithmetic wraps. If the first index is in bounds
//! and the exact last index is in bounds, then so are all indices in between. If not, then some
//! iteration fails: the first one whose exact index is out of bounds exceeds them by less than
//! `|a|`, which is too little to wrap back into them. So if `a*(w-1)` cannot wrap, the last index
//! is checked; otherwise the check is that `w-1` steps of `a` fit below the size, which takes a
//! division, or the check stays. For several loop indices all corners are checked.
//!
//! An index computed in 32 bits is out of bounds where the exact one exceeds 32 bits, too.
//!
//! Any of several failing iterations may be reported: the message shows the values of an iteration
//! at one end.
//!
//! Only after flattening, as the loop's body can no longer use the fact that a check establishes.

mod front;

use crate::level::OptLevel;
use crate::simplify::checks::conditions::Guard;
use crate::simplify::{Certs, Simplifier, add_certs};
use analysis::affine;
use ir::Name;
use ir::poly::Poly;
use ir::remark::RemarkKind;
use ir::syntax::{Atom, Aux, BasicOp, MsgPart, Param};
use ir::types::Type;
use prim::{BinOp, CmpOp, ConvOp, PrimType, ScalarOp};
use smallvec::SmallVec;

/// The largest depth of operations through which an index is traced.
const LEVELS: u32 = 8;
/// The largest number of terms of an index.
const TERMS: usize = 6;
/// The largest number of loop indices in one index.
const MANY: usize = 2;

/// A value that is affine in loop indices.
struct Affine {
    poly: Poly,
    /// True if it is computed in 32 bits and then sign-extended.
    narrow: bool,
}

/// The condition to check: an index less than a bound, or at most equal to it.
struct IndexCheck {
    op: CmpOp,
    index: Affine,
    bound: Atom,
}

/// A loop index that is eliminated from a check: its coefficient and its number of values.
struct EliminatedIndex {
    counter: Name,
    by: Poly,
    width: Atom,
}

/// The form of the hoisted check.
enum Form {
    /// At all corners.
    Corners,
    /// At the first index; a division checks that the steps from it fit below the bound.
    Division,
}

/// A check that can be hoisted.
struct HoistedCheck {
    goal: IndexCheck,
    depth: usize,
    guards: Vec<Guard>,
    left: SmallVec<[EliminatedIndex; MANY]>,
    form: Form,
    /// The values in the message that vary with the eliminated indices.
    shown: Vec<Option<(Affine, SmallVec<[EliminatedIndex; MANY]>)>>,
    /// The certificates of the definitions that the check is computed from.
    certs: Certs,
}

impl<L: OptLevel> Simplifier<'_, L> {
    /// Emits a check of an index before the loops in whose indices it is affine, and returns the
    /// scope that it was emitted to.
    pub(crate) fn emit_affine_check(&mut self, param: &Param<L>, aux: &Aux, op: &BasicOp) -> Option<usize> {
        let BasicOp::Assert { cond, msg } = op else {
            return None;
        };
        let hoisted = self.hoisted_check(*cond, aux, msg)?;
        if !self.rewrite() {
            return None;
        }
        self.decide(aux, op, RemarkKind::CheckHoisted);
        let mut aux = aux.clone();
        add_certs(&mut aux.certs, &hoisted.certs);
        let (holds, shown) = self.emit_bounds_check(&hoisted, aux.prov);
        let mut shown = shown.into_iter();
        let msg = msg.iter().zip(&hoisted.shown).map(|(part, poly)| match part {
            MsgPart::Value(ty, _) if poly.is_some() => {
                MsgPart::Value(*ty, shown.next().unwrap_or(Atom::i64(0)))
            }
            MsgPart::Value(..) | MsgPart::Text(_) => part.clone(),
        });
        let msg = msg.collect();
        let cond_outside = self.unless_guarded(holds, &hoisted.guards, aux.prov, hoisted.depth);
        let op = BasicOp::Assert { cond: cond_outside, msg };
        self.emit_at(hoisted.depth, param.clone(), aux, op);
        let certs = Certs::from_slice(&[param.name]);
        self.assume(*cond, true, &certs, self.known.current());
        Some(hoisted.depth)
    }

    fn hoisted_check(&self, cond: Atom, aux: &Aux, msg: &[MsgPart]) -> Option<HoistedCheck> {
        let mut certs = aux.certs.clone();
        let goal = self.goal(cond, &mut certs)?;
        // The scope required by all operands except the loop indices themselves.
        let mut least = goal.bound.var().map_or(0, |name| self.known.depth_of(name));
        let mut shown = Vec::with_capacity(msg.len());
        for part in msg {
            let MsgPart::Value(_, Atom::Var(name)) = *part else {
                shown.push(None);
                continue;
            };
            let mut own = Certs::new();
            let value = self.value(Atom::Var(name), &mut own);
            if !self.changes(&value.poly) {
                least = least.max(self.known.depth_of(name));
                shown.push(None);
            } else if self.known.type_of(name) == Type::I64 {
                add_certs(&mut certs, &own);
                shown.push(Some(value));
            } else {
                return None;
            }
        }
        for cert in &certs {
            least = least.max(self.known.depth_of(*cert));
        }
        let mut widths = Vec::new();
        let values = std::iter::once(&goal.index).chain(shown.iter().flatten());
        for name in values.flat_map(|value| value.poly.names()) {
            match self.counter(name) {
                Some(width) => widths.push((name, width)),
                None => least = least.max(self.known.depth_of(name)),
            }
        }
        let (depth, guards) = self.hoist_depth_with_guards(least, &|at| {
            let here = widths.iter().filter(|(name, _)| self.known.depth_of(*name) == at);
            here.filter_map(|(_, width)| Some(self.known.depth_of(width.var()?))).max().unwrap_or(0)
        })?;
        let left = self.left(&goal.index, depth)?;
        let shown = shown.into_iter().map(|value| match value {
            Some(value) => self.left(&value, depth).map(|left| Some((value, left))),
            None => Some(None),
        });
        let shown = shown.collect::<Option<Vec<_>>>()?;
        let form = self.form(&left, depth)?;
        (!left.is_empty()).then_some(HoistedCheck { goal, depth, guards, left, form, shown, certs })
    }

    /// Returns the condition as an index compared with a non-negative bound, if it has that form.
    fn goal(&self, cond: Atom, certs: &mut Certs) -> Option<IndexCheck> {
        let def = self.known.def_of(cond)?;
        add_certs(certs, &def.certs);
        let BasicOp::Scalar(ScalarOp::Compare(op, PrimType::I64, x, y)) = def.op else {
            return None;
        };
        let natural = |x: Atom| self.known.at_least(PrimType::I64, x, 0);
        let op = match op {
            CmpOp::ULt | CmpOp::ULe => op,
            CmpOp::SLt if natural(x) => CmpOp::ULt,
            CmpOp::SLe if natural(x) => CmpOp::ULe,
            CmpOp::SLt | CmpOp::SLe | CmpOp::Eq | CmpOp::FLt | CmpOp::FLe | CmpOp::BLt | CmpOp::BLe => {
                return None;
            }
        };
        let mut index = self.value(x, certs);
        // `x < n - s` is `x + s < n` if none of them is negative.
        if let Some(rest) = self.known.def_of(y)
            && let BasicOp::Scalar(ScalarOp::Binary(BinOp::Sub, PrimType::I64, n, s)) = rest.op
            && let mut own = rest.certs.clone()
            && let start = self.value(s, &mut own)
            && self.changes(&start.poly)
        {
            add_certs(certs, &own);
            index.poly = index.poly.add(&start.poly);
            let may = !index.narrow && !start.narrow && natural(x) && natural(n) && natural(s);
            return may.then_some(IndexCheck { op, index, bound: n });
        }
        let may = natural(y) && !(index.narrow && op == CmpOp::ULe);
        may.then_some(IndexCheck { op, index, bound: y })
    }

    /// A 64-bit value as an affine expression.
    fn value(&self, x: Atom, certs: &mut Certs) -> Affine {
        if let Some(def) = self.known.def_of(x)
            && let BasicOp::Scalar(ScalarOp::Convert {
                op: ConvOp::SExt,
                from: PrimType::I32,
                to: PrimType::I64,
                arg,
            }) = def.op
        {
            let mut all = def.certs.clone();
            let poly = self.affine(arg, LEVELS, &mut all);
            if self.changes(&poly) {
                add_certs(certs, &all);
                return Affine { poly, narrow: true };
            }
        }
        Affine { poly: self.affine(x, LEVELS, certs), narrow: false }
    }

    /// Returns true if a loop index occurs in the polynomial.
    fn changes(&self, poly: &Poly) -> bool {
        poly.names().any(|name| self.counter(name).is_some())
    }

    /// The number of values of a loop index; `None` for other names.
    fn counter(&self, name: Name) -> Option<Atom> {
        let scope = self.scopes.get(self.known.depth_of(name))?;
        let known = scope.counters.iter().find(|(counter, _)| *counter == name);
        known.map(|(_, width)| *width)
    }

    /// A value as a polynomial in loop indices and names known further out; for a value of 32 bits,
    /// one with the same lowest 32 bits. Adds the certificates of the definitions used.
    fn affine(&self, x: Atom, levels: u32, certs: &mut Certs) -> Poly {
        let Atom::Var(name) = x else {
            return Poly::atom(x);
        };
        let depth = self.known.depth_of(name);
        let traced = levels > 0 && depth > 0 && self.counter(name).is_none();
        let Some(def) = self.known.def(name).filter(|_| traced) else {
            return Poly::var(name);
        };
        let mut all = def.certs.clone();
        let poly = if let BasicOp::Scalar(ScalarOp::Binary(op, PrimType::I64 | PrimType::I32, x, y)) = def.op
        {
            let x = self.affine(x, levels - 1, &mut all);
            let y = self.affine(y, levels - 1, &mut all);
            affine::binary(op, &x, &y)
        } else if let BasicOp::Scalar(ScalarOp::Convert {
            op: ConvOp::SExt,
            from: PrimType::I64,
            to: PrimType::I32,
            arg,
        }) = def.op
        {
            Some(self.affine(arg, levels - 1, &mut all))
        } else {
            None
        };
        let better = |poly: &Poly| {
            let further = |name: Name| self.counter(name).is_some() || self.known.depth_of(name) == 0;
            let outside = poly.names().any(further) || poly.names().all(|n| self.known.depth_of(n) < depth);
            poly.terms().len() <= TERMS
                && if self.known.type_of(name) == Type::I64 { outside } else { self.changes(poly) }
        };
        match poly.filter(better) {
            Some(poly) => {
                add_certs(certs, &all);
                poly
            }
            None => Poly::var(name),
        }
    }

    /// The loop indices in a polynomial that are not in scope at a depth. `None` if the polynomial
    /// is not affine in them, or there are too many.
    fn left(&self, value: &Affine, depth: usize) -> Option<SmallVec<[EliminatedIndex; MANY]>> {
        let mut left: SmallVec<[EliminatedIndex; MANY]> = SmallVec::new();
        for (monomial, coefficient) in value.poly.terms() {
            let mut inside = monomial.iter().filter(|name| self.known.depth_of(**name) > depth);
            let Some(counter) = inside.next().copied() else {
                continue;
            };
            if inside.next().is_some() {
                return None;
            }
            let width = self.counter(counter)?;
            let rest = monomial.iter().copied().filter(|name| *name != counter);
            let by = Poly::from_terms([(rest.collect(), *coefficient)]);
            match left.iter_mut().find(|known| known.counter == counter) {
                Some(known) => known.by = known.by.add(&by),
                None => left.push(EliminatedIndex { counter, by, width }),
            }
        }
        for by in left.iter_mut().filter(|_| value.narrow).map(|left| &mut left.by) {
            // Only the lowest 32 bits of the steps are known.
            match by.as_constant() {
                Some(steps) => *by = Poly::constant(i64::from(steps as i32)),
                None => {
                    let name = single(by)?;
                    if self.known.type_of(name) != Type::Prim(PrimType::I32) {
                        return None;
                    }
                }
            }
        }
        (left.len() <= MANY).then_some(left)
    }

    /// Returns the form in which the ends can be checked.
    fn form(&self, left: &[EliminatedIndex], depth: usize) -> Option<Form> {
        let natural = |x: Atom| self.known.at_least(PrimType::I64, x, 0);
        let fits = |left: &EliminatedIndex| {
            if let Some(by) = left.by.as_constant() {
                let most = i64::MAX / by.checked_abs()?.max(1);
                let proof = self.known.ranges.at_most(left.width, Atom::i64(most), 0);
                return Some(proof.is_some_and(|certs| certs.is_empty()));
            }
            let by = Atom::Var(single(&left.by)?);
            Some(natural(by) && self.known.ranges.fits(by, left.width))
        };
        if left.iter().all(|left| fits(left) == Some(true)) {
            return Some(Form::Corners);
        }
        // A division is expensive if it is executed often.
        let often = self.scopes[1..=depth].iter().any(|scope| scope.parallel);
        let [one] = left else {
            return None;
        };
        let up = match one.by.as_constant() {
            Some(by) => by > 0,
            None => natural(Atom::Var(single(&one.by)?)),
        };
        (up && !often).then_some(Form::Division)
    }
}

/// The name, if the polynomial is a single name.
fn single(poly: &Poly) -> Option<Name> {
    match poly.terms() {
        [(monomial, 1)] if monomial.len() == 1 => monomial.first().copied(),
        _ => None,
    }
}
