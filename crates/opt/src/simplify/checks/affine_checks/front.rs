//! Builds the hoisted checks of affine indices, and the values for their messages.

use super::{Affine, EliminatedIndex, Form, HoistedCheck};
use crate::level::OptLevel;
use crate::simplify::Simplifier;
use ir::poly::Poly;
use ir::syntax::{Atom, BasicOp};
use ir::types::Type;
use ir::{Name, Prov};
use prim::{BinOp, CmpOp, ConvOp, PrimType, Scalar};

/// One of the iterations that represent all.
struct CheckedIteration {
    /// The indices that are not 0.
    indices: Vec<(Name, Atom)>,
    /// True if the iteration is in bounds.
    ok: Atom,
}

impl<L: OptLevel> Simplifier<'_, L> {
    /// Emits the hoisted condition, and the values that its message shows.
    pub(super) fn emit_bounds_check(&mut self, hoisted: &HoistedCheck, prov: Prov) -> (Atom, Vec<Atom>) {
        let depth = hoisted.depth;
        let mut bound = hoisted.goal.bound;
        if hoisted.goal.index.narrow {
            let most = Atom::i64(1 << 31);
            bound = self.number(BinOp::SMin, bound, most, prov, depth);
        }
        let base = self.base(&hoisted.goal.index, prov, depth);
        let checks = match hoisted.form {
            Form::Corners => self.corners(hoisted, base, bound, prov),
            Form::Division => self.check_by_division(hoisted, base, bound, prov),
        };
        let mut shown = Vec::new();
        for (affine, left) in hoisted.shown.iter().flatten() {
            shown.extend(self.at_failing(affine, left, &checks, prov, depth));
        }
        let all = checks.into_iter().map(|check| check.ok).reduce(|all, ok| {
            let and = BasicOp::binary(BinOp::And, PrimType::Bool, all, ok);
            self.emit_in_outer("both", prov, and, depth)
        });
        (all.unwrap_or(Atom::Const(Scalar::Bool(true))), shown)
    }

    /// Each index is the first or the last.
    fn corners(
        &mut self,
        hoisted: &HoistedCheck,
        base: Atom,
        bound: Atom,
        prov: Prov,
    ) -> Vec<CheckedIteration> {
        let depth = hoisted.depth;
        // The first corner has all indices 0.
        let mut corners: Vec<Vec<(Name, Atom)>> = vec![Vec::new()];
        for left in &hoisted.left {
            let last = self.number(BinOp::Add, left.width, Atom::i64(-1), prov, depth);
            for corner in corners.clone() {
                corners.push([corner, vec![(left.counter, last)]].concat());
            }
        }
        let checks = corners.into_iter().map(|indices| {
            let at = self.at_corner(base, &hoisted.left, &indices, prov, depth);
            let ok = BasicOp::compare(hoisted.goal.op, PrimType::I64, at, bound);
            let ok = self.emit_in_outer("ok", prov, ok, depth);
            CheckedIteration { indices, ok }
        });
        checks.collect()
    }

    /// The first index is in bounds, and all steps from it fit below the bound. If they do not, the
    /// message shows the first iteration out of bounds.
    fn check_by_division(
        &mut self,
        hoisted: &HoistedCheck,
        base: Atom,
        bound: Atom,
        prov: Prov,
    ) -> Vec<CheckedIteration> {
        let (one, depth) = (&hoisted.left[0], hoisted.depth);
        let ok = BasicOp::compare(hoisted.goal.op, PrimType::I64, base, bound);
        let ok = self.emit_in_outer("ok", prov, ok, depth);
        let mut slack = self.number(BinOp::Sub, bound, base, prov, depth);
        if hoisted.goal.op == CmpOp::ULt {
            slack = self.number(BinOp::Add, slack, Atom::i64(-1), prov, depth);
        }
        let by = self.computed(&one.by, prov, depth);
        let positive = self.number(BinOp::SMax, by, Atom::i64(1), prov, depth);
        let steps = self.number(BinOp::SQuot, slack, positive, prov, depth);
        let last = self.number(BinOp::Add, one.width, Atom::i64(-1), prov, depth);
        let enough = BasicOp::compare(CmpOp::SLe, PrimType::I64, last, steps);
        let mut enough = self.emit_in_outer("enough", prov, enough, depth);
        if one.by.as_constant().is_none() {
            let stays = BasicOp::compare(CmpOp::Eq, PrimType::I64, by, Atom::i64(0));
            let stays = self.emit_in_outer("stays", prov, stays, depth);
            enough = self.or(stays, enough, prov, depth);
        }
        let fails = self.number(BinOp::Add, steps, Atom::i64(1), prov, depth);
        let first = CheckedIteration { indices: Vec::new(), ok };
        let last = CheckedIteration { indices: vec![(one.counter, fails)], ok: enough };
        vec![first, last]
    }

    /// A value at the first of the checked indices that is out of bounds.
    fn at_failing(
        &mut self,
        value: &Affine,
        left: &[EliminatedIndex],
        checks: &[CheckedIteration],
        prov: Prov,
        depth: usize,
    ) -> Option<Atom> {
        let base = self.base(value, prov, depth);
        let mut shown: Option<Atom> = None;
        for check in checks.iter().rev() {
            let mut at = self.at_corner(base, left, &check.indices, prov, depth);
            if value.narrow {
                at = self.lowest_bits(at, prov, depth);
            }
            shown = Some(match shown {
                None => at,
                Some(later) => {
                    let choice = BasicOp::select(PrimType::I64, check.ok, later, at);
                    self.emit_in_outer("shown", prov, choice, depth)
                }
            });
        }
        shown
    }

    /// A value where all eliminated indices are 0.
    fn base(&mut self, value: &Affine, prov: Prov, depth: usize) -> Atom {
        let base = value.poly.substitute(|name| {
            if self.known.depth_of(name) <= depth { Poly::var(name) } else { Poly::default() }
        });
        let base = self.computed(&base, prov, depth);
        if value.narrow { self.lowest_bits(base, prov, depth) } else { base }
    }

    /// A value where some of the eliminated indices have these values, and the others are 0.
    fn at_corner(
        &mut self,
        base: Atom,
        left: &[EliminatedIndex],
        corner: &[(Name, Atom)],
        prov: Prov,
        depth: usize,
    ) -> Atom {
        let mut sum = base;
        for left in left {
            let value = corner.iter().find(|(counter, _)| *counter == left.counter);
            let Some((_, value)) = value else {
                continue;
            };
            let by = self.computed(&left.by, prov, depth);
            let step = self.number(BinOp::Mul, by, *value, prov, depth);
            sum = self.number(BinOp::Add, sum, step, prov, depth);
        }
        sum
    }

    /// The lowest 32 bits, sign-extended.
    fn lowest_bits(&mut self, x: Atom, prov: Prov, depth: usize) -> Atom {
        let (wide, narrow) = (PrimType::I64, PrimType::I32);
        let convert = |from, to, arg| BasicOp::convert(ConvOp::SExt, from, to, arg);
        let bits = self.emit_in_outer("bits", prov, convert(wide, narrow, x), depth);
        self.emit_in_outer("wide", prov, convert(narrow, wide, bits), depth)
    }

    /// Emits a polynomial. Its 32-bit names are sign-extended.
    fn computed(&mut self, poly: &Poly, prov: Prov, depth: usize) -> Atom {
        let mut sum: Option<Atom> = None;
        for (monomial, coefficient) in poly.terms() {
            let mut product = Atom::i64(*coefficient);
            for name in monomial {
                let mut factor = Atom::Var(*name);
                if self.known.type_of(*name) == Type::Prim(PrimType::I32) {
                    let extended = BasicOp::convert(ConvOp::SExt, PrimType::I32, PrimType::I64, factor);
                    factor = self.emit_in_outer("wide", prov, extended, depth);
                }
                product = if product == Atom::i64(1) {
                    factor
                } else {
                    self.number(BinOp::Mul, factor, product, prov, depth)
                };
            }
            sum = Some(match sum {
                None => product,
                Some(sum) => self.number(BinOp::Add, sum, product, prov, depth),
            });
        }
        sum.unwrap_or(Atom::i64(0))
    }

    fn number(&mut self, op: BinOp, x: Atom, y: Atom, prov: Prov, depth: usize) -> Atom {
        if let (Atom::Const(x), Atom::Const(y)) = (x, y)
            && let Some(value) = prim::eval::binary(op, x, y)
        {
            return Atom::Const(value);
        }
        let op = BasicOp::binary(op, PrimType::I64, x, y);
        self.emit_in_outer("end", prov, op, depth)
    }
}
