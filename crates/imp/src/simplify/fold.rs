//! Folding of constants in expressions.

use crate::generate::expr::{add, mul, sub};
use crate::syntax::Expr;
use prim::{BinOp, PrimType, Scalar};

/// Replaces an expression whose operands are simplified by a simpler one of the same value.
pub(super) fn fold(e: &mut Expr) {
    let simpler = if let Expr::Unary(op, _, x) = e {
        constant(x).and_then(|x| prim::eval::unary(*op, x)).map(Expr::Const)
    } else if let Expr::Binary(op, ty, x, y) = e {
        match (constant(x), constant(y)) {
            (Some(x), Some(y)) => prim::eval::binary(*op, x, y).map(Expr::Const),
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => identity(*op, *ty, x, y),
        }
    } else if let Expr::Compare(op, _, x, y) = e {
        let operands = constant(x).zip(constant(y));
        operands
            .and_then(|(x, y)| prim::eval::compare(*op, x, y))
            .map(|holds| Expr::Const(Scalar::Bool(holds)))
    } else if let Expr::Convert(op, _, to, x) = e {
        constant(x).and_then(|x| prim::eval::convert(*op, x, *to)).map(Expr::Const)
    } else if let Expr::Select(_, cond, yes, no) = e
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

fn constant(e: &Expr) -> Option<Scalar> {
    if let Expr::Const(x) = e { Some(*x) } else { None }
}

fn take(e: &mut Expr) -> Expr {
    std::mem::replace(e, Expr::i64(0))
}

/// The value of an operation with one constant operand that it leaves unchanged or ignores.
fn identity(op: BinOp, ty: PrimType, x: &mut Expr, y: &mut Expr) -> Option<Expr> {
    if ty == PrimType::Bool && matches!(op, BinOp::And | BinOp::Or) {
        let (known, other) = match (constant(x), constant(y)) {
            (Some(Scalar::Bool(known)), _) => (known, y),
            (_, Some(Scalar::Bool(known))) => (known, x),
            _ => return None,
        };
        let is_neutral = known == (op == BinOp::And);
        return Some(if is_neutral { take(other) } else { Expr::Const(Scalar::Bool(known)) });
    }
    let simplified: fn(Expr, Expr) -> Expr = if ty != PrimType::I64 {
        return None;
    } else if op == BinOp::Add {
        add
    } else if op == BinOp::Sub {
        sub
    } else if op == BinOp::Mul {
        mul
    } else {
        return None;
    };
    Some(simplified(take(x), take(y)))
}
