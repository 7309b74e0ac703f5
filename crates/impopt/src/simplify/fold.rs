//! Folding of constants in expressions.

use imp::Expr;
use prim::{BinOp, PrimType, Scalar, ScalarOp};

/// Replaces an expression whose operands are simplified by a simpler one of the same value.
pub(super) fn fold(e: &mut Expr) {
    let Expr::Scalar(op) = e else {
        return;
    };
    let known = op.as_ref().try_map(|x| x.as_const().ok_or(()));
    let simpler = if let Ok(known) = known {
        known.value(|_, _, _| None).map(Expr::Const)
    } else if let ScalarOp::Binary(op, ty, x, y) = op {
        identity(*op, *ty, x, y)
    } else if let ScalarOp::Select { ty: _, cond, if_true, if_false } = op
        && let Expr::Const(Scalar::Bool(cond)) = **cond
    {
        Some(take(if cond { if_true } else { if_false }))
    } else {
        None
    };
    if let Some(simpler) = simpler {
        *e = simpler;
    }
}

fn take(e: &mut Expr) -> Expr {
    std::mem::replace(e, Expr::i64(0))
}

/// The value of an operation on integers or truth values with one constant operand that it leaves
/// unchanged or ignores.
fn identity(op: BinOp, ty: PrimType, x: &mut Expr, y: &mut Expr) -> Option<Expr> {
    let (known, other, commutes) = match (x.as_const(), y.as_const()) {
        (None, Some(known)) => (known, x, true),
        (Some(known), None) => (known, y, op.is_commutative()),
        (None, None) | (Some(_), Some(_)) => return None,
    };
    if ty.is_float() {
        None
    } else if op.absorbing(ty) == Some(known) {
        Some(Expr::Const(known))
    } else {
        (commutes && op.neutral(ty) == Some(known)).then(|| take(other))
    }
}
