//! Folding of constants in expressions.

use crate::syntax::Expr;
use prim::{BinOp, PrimType, Scalar, ScalarOp};

/// Replaces an expression whose operands are simplified by a simpler one of the same value.
pub(super) fn fold(e: &mut Expr) {
    let simpler = if let Expr::Scalar(ScalarOp::Unary(op, _, x)) = e {
        x.as_const().and_then(|x| prim::eval::unary(*op, x)).map(Expr::Const)
    } else if let Expr::Scalar(ScalarOp::Binary(op, ty, x, y)) = e {
        match (x.as_const(), y.as_const()) {
            (Some(x), Some(y)) => prim::eval::binary(*op, x, y).map(Expr::Const),
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => identity(*op, *ty, x, y),
        }
    } else if let Expr::Scalar(ScalarOp::Compare(op, _, x, y)) = e {
        let operands = x.as_const().zip(y.as_const());
        operands
            .and_then(|(x, y)| prim::eval::compare(*op, x, y))
            .map(|holds| Expr::Const(Scalar::Bool(holds)))
    } else if let Expr::Scalar(ScalarOp::Convert { op, from: _, to, arg: x }) = e {
        x.as_const().and_then(|x| prim::eval::convert(*op, x, *to)).map(Expr::Const)
    } else if let Expr::Scalar(ScalarOp::Select { ty: _, cond, if_true: yes, if_false: no }) = e
        && let Expr::Const(Scalar::Bool(cond)) = **cond
    {
        Some(take(if cond { yes } else { no }))
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
