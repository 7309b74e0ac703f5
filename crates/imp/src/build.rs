//! Construction of scalar expressions, with enough folding to keep indices readable.

use crate::syntax::Expr;
use prim::{BinOp, CmpOp, PrimType, Scalar};

/// `a + b` on `i64`.
pub fn add(a: Expr, b: Expr) -> Expr {
    match (&a, &b) {
        (Expr::Const(Scalar::I64(0)), _) => b,
        (_, Expr::Const(Scalar::I64(0))) => a,
        (Expr::Const(Scalar::I64(x)), Expr::Const(Scalar::I64(y))) => Expr::i64(x.wrapping_add(*y)),
        _ => binary(BinOp::Add, a, b),
    }
}

/// `a - b` on `i64`.
pub fn sub(a: Expr, b: Expr) -> Expr {
    match (&a, &b) {
        (_, Expr::Const(Scalar::I64(0))) => a,
        (Expr::Const(Scalar::I64(x)), Expr::Const(Scalar::I64(y))) => Expr::i64(x.wrapping_sub(*y)),
        _ => binary(BinOp::Sub, a, b),
    }
}

/// `a * b` on `i64`.
pub fn mul(a: Expr, b: Expr) -> Expr {
    match (&a, &b) {
        (Expr::Const(Scalar::I64(0)), _) | (_, Expr::Const(Scalar::I64(0))) => Expr::i64(0),
        (Expr::Const(Scalar::I64(1)), _) => b,
        (_, Expr::Const(Scalar::I64(1))) => a,
        (Expr::Const(Scalar::I64(x)), Expr::Const(Scalar::I64(y))) => Expr::i64(x.wrapping_mul(*y)),
        _ => binary(BinOp::Mul, a, b),
    }
}

/// A binary operator on `i64`.
pub fn binary(op: BinOp, a: Expr, b: Expr) -> Expr {
    Expr::binary(op, PrimType::I64, a, b)
}

/// `a / b` on `i64` for `b > 0` and `a >= 0`.
pub fn div(a: Expr, b: Expr) -> Expr {
    if b == Expr::i64(1) { a } else { binary(BinOp::UDiv, a, b) }
}

/// The signed minimum on `i64`.
pub fn min(a: Expr, b: Expr) -> Expr {
    binary(BinOp::SMin, a, b)
}

/// The signed maximum on `i64`.
pub fn max(a: Expr, b: Expr) -> Expr {
    binary(BinOp::SMax, a, b)
}

/// A comparison on `i64`.
pub fn compare(op: CmpOp, a: Expr, b: Expr) -> Expr {
    Expr::compare(op, PrimType::I64, a, b)
}

/// `if cond then yes else no` on `i64`.
pub fn select(cond: &Expr, yes: &Expr, no: &Expr) -> Expr {
    Expr::select(PrimType::I64, cond.clone(), yes.clone(), no.clone())
}

/// Logical or.
pub fn or(a: Expr, b: Expr) -> Expr {
    Expr::binary(BinOp::Or, PrimType::Bool, a, b)
}

/// Logical and.
pub fn and(a: Expr, b: Expr) -> Expr {
    if a == Expr::Const(Scalar::Bool(true)) {
        return b;
    }
    Expr::binary(BinOp::And, PrimType::Bool, a, b)
}
