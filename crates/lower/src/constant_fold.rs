//! Scalar operations with constant folding and identities. The purpose is not optimisation: equal
//! sizes keep equal names.

use crate::state::FunctionBuilder;
use ir::{Atom, BasicOp};
use prim::{BinClass, BinOp, CmpOp, ConvOp, PrimType, Scalar, ScalarOp, UnOp, eval};

impl FunctionBuilder {
    /// `x op y`, folded if both are constants or one is neutral or absorbing. Equal sums and
    /// products of `i64` are computed once.
    pub(crate) fn binary(&mut self, op: BinOp, ty: PrimType, x: Atom, y: Atom) -> Atom {
        if let (Atom::Const(a), Atom::Const(b)) = (x, y)
            && let Some(value) = eval::binary(op, a, b)
        {
            return Atom::Const(value);
        }
        let is = |atom: Atom, element: Option<Scalar>| element.is_some() && atom.constant() == element;
        let is_size = ty.is_int() && matches!(op.class(), BinClass::Sum | BinClass::Product);
        let is_logic = ty == PrimType::Bool && matches!(op, BinOp::And | BinOp::Or);
        if is_size || is_logic {
            if is(y, op.neutral(ty)) {
                return x;
            }
            if op.is_commutative() && is(x, op.neutral(ty)) {
                return y;
            }
            if op == BinOp::Sub && x == y {
                return Atom::Const(Scalar::zero(ty));
            }
        }
        for atom in [x, y] {
            if is_logic && is(atom, op.absorbing(ty)) {
                return atom;
            }
        }
        let is_sum = is_size && ty == PrimType::I64;
        if is_sum && let Some(known) = self.known_arithmetic(op, x, y) {
            return known;
        }
        let name = self.basic(op.name(), BasicOp::Scalar(ScalarOp::Binary(op, ty, x, y)));
        if is_sum {
            self.remember_arithmetic(op, x, y, name);
        }
        name.into()
    }

    /// `op x`, folded.
    pub(crate) fn unary(&mut self, op: UnOp, ty: PrimType, x: Atom) -> Atom {
        if let Some(value) = x.constant().and_then(|c| eval::unary(op, c)) {
            return Atom::Const(value);
        }
        self.basic(op.name(), BasicOp::Scalar(ScalarOp::Unary(op, ty, x))).into()
    }

    /// The comparison `x op y`, folded.
    pub(crate) fn compare(&mut self, op: CmpOp, ty: PrimType, x: Atom, y: Atom) -> Atom {
        if let (Atom::Const(a), Atom::Const(b)) = (x, y)
            && let Some(value) = eval::compare(op, a, b)
        {
            return Atom::Const(Scalar::Bool(value));
        }
        if x == y && !ty.is_float() {
            return Atom::Const(Scalar::Bool(op.is_reflexive()));
        }
        self.basic(op.name(), BasicOp::Scalar(ScalarOp::Compare(op, ty, x, y))).into()
    }

    /// `x` converted, folded; the same operand for integers of one width.
    pub(crate) fn convert(&mut self, op: ConvOp, from: PrimType, to: PrimType, x: Atom) -> Atom {
        if op.is_identity(from, to) {
            return x;
        }
        if let Some(value) = x.constant().and_then(|c| eval::convert(op, c, to)) {
            return Atom::Const(value);
        }
        self.basic("conv", BasicOp::convert(op, from, to, x)).into()
    }

    /// One of two scalars, folded.
    pub(crate) fn select(&mut self, ty: PrimType, cond: Atom, yes: Atom, no: Atom) -> Atom {
        match cond.constant() {
            Some(Scalar::Bool(true)) => yes,
            Some(Scalar::Bool(false)) => no,
            _ if yes == no => yes,
            _ => {
                let op = BasicOp::select(ty, cond, yes, no);
                self.basic("sel", op).into()
            }
        }
    }

    pub(crate) fn add(&mut self, x: Atom, y: Atom) -> Atom {
        self.binary(BinOp::Add, PrimType::I64, x, y)
    }

    pub(crate) fn sub(&mut self, x: Atom, y: Atom) -> Atom {
        self.binary(BinOp::Sub, PrimType::I64, x, y)
    }

    pub(crate) fn mul(&mut self, x: Atom, y: Atom) -> Atom {
        self.binary(BinOp::Mul, PrimType::I64, x, y)
    }

    pub(crate) fn and(&mut self, x: Atom, y: Atom) -> Atom {
        self.binary(BinOp::And, PrimType::Bool, x, y)
    }

    pub(crate) fn or(&mut self, x: Atom, y: Atom) -> Atom {
        self.binary(BinOp::Or, PrimType::Bool, x, y)
    }

    pub(crate) fn not(&mut self, x: Atom) -> Atom {
        self.unary(UnOp::Not, PrimType::Bool, x)
    }

    /// A comparison of `i64` operands.
    pub(crate) fn cmp(&mut self, op: CmpOp, x: Atom, y: Atom) -> Atom {
        self.compare(op, PrimType::I64, x, y)
    }
}
