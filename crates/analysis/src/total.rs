//! Total scalar operations: operations that have a value for all operands, and so may be executed
//! speculatively.

use ir::syntax::{Atom, BasicOp};
use prim::{BinOp, PrimType, Scalar, ScalarOp};

/// Returns true for integer powers, which have no value for negative exponents.
pub fn is_integer_power(op: BinOp, ty: PrimType) -> bool {
    op == BinOp::Pow && ty != PrimType::Bool && ty.is_int()
}

/// Returns true if the operator has a value for every first operand; not valid for integer powers.
pub fn never_fails(op: BinOp, y: Atom) -> bool {
    !op.is_division() || y.constant().and_then(Scalar::as_i64).is_some_and(|y| y != 0 && y != -1)
}

/// Returns true if it is a scalar operation that has a value for all operands.
pub fn is_total(op: &BasicOp) -> bool {
    if let BasicOp::Scalar(ScalarOp::Binary(op, ty, _, y)) = op {
        return never_fails(*op, *y) && !is_integer_power(*op, *ty);
    }
    op.is_scalar() && !matches!(op, BasicOp::SizeAtLeast { .. })
}

/// Returns true if it is a scalar instruction whose operands programs do not check.
pub fn is_unchecked(op: &BasicOp) -> bool {
    if let BasicOp::Scalar(ScalarOp::Binary(op, ..)) = op {
        return !op.is_checked();
    }
    op.is_scalar() && !matches!(op, BasicOp::Scalar(ScalarOp::Math(..)) | BasicOp::SizeAtLeast { .. })
}
