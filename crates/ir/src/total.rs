//! Which scalar operations have a value whatever their operands are, so that they may be
//! computed where it is not known whether anybody needs them.

use crate::syntax::{Atom, BasicOp};
use prim::{BinOp, PrimType, Scalar};

/// Whether the operator is a power of integers, which negative exponents have not.
pub fn is_whole_power(op: BinOp, ty: PrimType) -> bool {
    op == BinOp::Pow && ty != PrimType::Bool && ty.is_int()
}

/// Whether the operator has a value for every first operand, if it is no power of integers.
pub fn never_fails(op: BinOp, y: Atom) -> bool {
    !op.is_division() || y.constant().and_then(Scalar::as_i64).is_some_and(|y| y != 0 && y != -1)
}

/// Whether it is an operation on scalars that has a value for all operands.
pub fn is_total(op: &BasicOp) -> bool {
    if let BasicOp::Binary(op, ty, _, y) = op {
        return never_fails(*op, *y) && !is_whole_power(*op, *ty);
    }
    op.is_scalar() && !matches!(op, BasicOp::SizeAtLeast { .. })
}
