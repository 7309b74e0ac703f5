//! Reverse mode: reductions by addition, multiplication, minimum and maximum.

use crate::state::{Ad, zero};
use ir::Name;
use ir::build::Builder;
use ir::soac::{Operator, Soacs};
use ir::syntax::{Atom, BasicOp, Exp, Param};
use ir::types::{Dim, Type};
use prim::{BinClass, BinOp, CmpOp, PrimType, Scalar, ScalarOp};

/// Returns the operator of a reduction of scalars that applies one operator to its operands.
pub(super) fn scalar_operator(op: &Operator<Soacs>) -> Option<(BinOp, PrimType)> {
    let [x, y] = op.op.params.as_slice() else {
        return None;
    };
    let ([stm], [result]) = (op.op.body.stms.as_slice(), op.op.body.result.as_slice()) else {
        return None;
    };
    let Exp::Basic(BasicOp::Scalar(ScalarOp::Binary(bin, ty, a, b))) = &stm.exp else {
        return None;
    };
    let operands = [*a, *b];
    let own = [Atom::Var(x.name), Atom::Var(y.name)];
    let applies = operands == own || bin.is_commutative() && operands == [own[1], own[0]];
    let returned = stm.pat.first().is_some_and(|param| *result == Atom::Var(param.name));
    (applies && returned).then_some((*bin, *ty))
}

impl Ad<'_> {
    /// Adds the contributions of a reduction with a rule of its own; returns false for others.
    pub(super) fn reverse_special_reduce(
        &mut self,
        (width, inputs): (Dim, &[Name]),
        op: &Operator<Soacs>,
        pat: &[Param<Soacs>],
        adjoints: &[Option<Atom>],
    ) -> bool {
        let (Some((bin, ty)), [xs], [result], [Some(adjoint)]) = (scalar_operator(op), inputs, pat, adjoints)
        else {
            return false;
        };
        match bin.class() {
            BinClass::Sum if bin.is_commutative() => {
                let same = self.b.replicate("adj", &[width], *adjoint);
                self.add((*xs).into(), same.into());
            }
            // The quotient's derivative is not that of the product of the others at a zero.
            BinClass::Product if ty.is_float() && !self.calls.options.is_repeated => {
                self.reverse_product((width, *xs), ty, result.name, *adjoint);
            }
            BinClass::Min(_) | BinClass::Max(_) => {
                self.reverse_extremum((width, *xs), ty, result.name, *adjoint);
            }
            BinClass::Sum
            | BinClass::Product
            | BinClass::Quotient
            | BinClass::Remainder
            | BinClass::Power
            | BinClass::Shift
            | BinClass::Bitwise => return false,
        }
        true
    }

    /// The first element that equals the result has its adjoint.
    fn reverse_extremum(&mut self, (width, xs): (Dim, Name), ty: PrimType, result: Name, adjoint: Atom) {
        let size = width.atom().unwrap_or(Atom::i64(0));
        let is = self.b.iota(width);
        let positions = self.b.map("position", width, &[is, xs], |b, x| {
            let equal = b.compare(CmpOp::Eq, ty, x[1].into(), result.into());
            vec![b.select(PrimType::I64, equal.into(), x[0].into(), size).into()]
        });
        let least = self.b.binary_lambda(BinOp::SMin, PrimType::I64);
        let neutral = vec![Atom::i64(i64::MAX)];
        let first = self.b.reduce("first", width, &positions, Operator { op: least, neutral, comm: true })[0];
        let is = self.b.iota(width);
        let own = self.b.map("adj", width, &[is], |b, x| {
            let hit = b.compare(CmpOp::Eq, PrimType::I64, x[0].into(), first.into());
            vec![b.select(ty, hit.into(), adjoint, zero(ty)).into()]
        });
        self.single_elements.insert(own[0], (first, adjoint));
        self.add(xs.into(), own[0].into());
    }

    /// The product of all other elements: the quotient where there is no zero, the product of the
    /// others at the only zero, otherwise zero.
    fn reverse_product(&mut self, (width, xs): (Dim, Name), ty: PrimType, result: Name, adjoint: Atom) {
        let one = super::basic::one(ty);
        let parts = self.b.map("x", width, &[xs], |b, x| zero_parts(b, ty, x[0]));
        let mul = self.b.binary_lambda(BinOp::FMul, ty);
        let nonzero = self.b.reduce(
            "nonzero",
            width,
            &parts[..1],
            Operator { op: mul, neutral: vec![one], comm: true },
        )[0];
        let count_op = self.addition(&[Type::I64]);
        let zeros = self.b.reduce("zeros", width, &parts[1..], count_op)[0];
        let none = self.b.compare(CmpOp::Eq, PrimType::I64, zeros.into(), Atom::i64(0));
        let single = self.b.compare(CmpOp::Eq, PrimType::I64, zeros.into(), Atom::i64(1));
        let own = self.b.map("adj", width, &[xs], |b, x| {
            let is_zero = b.compare(CmpOp::Eq, ty, x[0].into(), zero(ty));
            let at_zero = b.binary(BinOp::And, PrimType::Bool, is_zero.into(), single.into());
            let quotient = b.binary(BinOp::FDiv, ty, result.into(), x[0].into());
            let at_zero = b.select(ty, at_zero.into(), nonzero.into(), zero(ty));
            let others = b.select(ty, none.into(), quotient.into(), at_zero.into());
            vec![b.binary(BinOp::FMul, ty, others.into(), adjoint).into()]
        });
        self.add(xs.into(), own[0].into());
    }
}

/// A factor without its zero: one in place of it, and the number of zeros.
pub(super) fn zero_parts(b: &mut Builder<'_, Soacs>, ty: PrimType, x: Name) -> Vec<Atom> {
    let is_zero = b.compare(CmpOp::Eq, ty, x.into(), zero(ty));
    let other = b.select(ty, is_zero.into(), super::basic::one(ty), x.into());
    let count = b.select(PrimType::I64, is_zero.into(), Atom::i64(1), Atom::i64(0));
    vec![other.into(), count.into()]
}

/// A truth value.
pub(super) const fn truth(value: bool) -> Atom {
    Atom::Const(Scalar::Bool(value))
}
