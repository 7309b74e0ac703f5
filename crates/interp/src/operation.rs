//! Scalar operations on values. All of them are evaluated here, so that none loses a derivative.
//!
//! Operands without derivatives, the common case, are computed directly; others by
//! [`Machine::derived`].

use crate::failure::{Failure, Res};
use crate::machine::Machine;
use crate::tree::Comparison;
use crate::value::RunValue;
use prim::{BinOp, ConvOp, MathFun, PrimType, Scalar, ScalarOp, ScalarType, UnOp};
use smallvec::SmallVec;
use syntax::span::Span;

impl Machine<'_> {
    /// `x op y`, with the operator's run-time checks.
    #[inline]
    pub fn binary(
        &mut self,
        op: BinOp,
        ty: ScalarType,
        x: &RunValue,
        y: &RunValue,
        span: Span,
    ) -> Res<RunValue> {
        match (x, y) {
            (RunValue::Scalar(x), RunValue::Scalar(y)) => binary(op, ty, *x, *y, span).map(RunValue::Scalar),
            _ => self.derived_binary(op, ty, x, y, span),
        }
    }

    #[cold]
    #[inline(never)]
    fn derived_binary(
        &mut self,
        op: BinOp,
        ty: ScalarType,
        x: &RunValue,
        y: &RunValue,
        span: Span,
    ) -> Res<RunValue> {
        binary(op, ty, number(x)?, number(y)?, span)?;
        self.derived(&ScalarOp::Binary(op, ty.prim(), x.clone(), y.clone()))
    }

    /// `op x`.
    pub fn unary(&mut self, op: UnOp, x: &RunValue) -> Res<RunValue> {
        match x {
            RunValue::Scalar(x) => result(op.name(), prim::eval::unary(op, *x)),
            _ => self.derived(&ScalarOp::Unary(op, number(x)?.ty(), x.clone())),
        }
    }

    /// The scalar converted to a type.
    pub fn convert(&mut self, op: ConvOp, x: &RunValue, to: PrimType) -> Res<RunValue> {
        match x {
            RunValue::Scalar(x) => result(op.name(), prim::eval::convert(op, *x, to)),
            _ => self.derived(&ScalarOp::Convert { op, from: number(x)?.ty(), to, arg: x.clone() }),
        }
    }

    /// `x * y + z` with one rounding.
    pub fn fma(&mut self, x: &RunValue, y: &RunValue, z: &RunValue) -> Res<RunValue> {
        match (x, y, z) {
            (RunValue::Scalar(x), RunValue::Scalar(y), RunValue::Scalar(z)) => {
                result("fma", prim::eval::fma(*x, *y, *z))
            }
            _ => self.derived(&ScalarOp::Fma(number(x)?.ty(), x.clone(), y.clone(), z.clone())),
        }
    }

    /// A mathematical function.
    pub fn math(&mut self, fun: MathFun, args: &[RunValue]) -> Res<RunValue> {
        let mut scalars: SmallVec<[Scalar; 2]> = SmallVec::new();
        for arg in args {
            match arg {
                RunValue::Scalar(x) => scalars.push(*x),
                _ => {
                    let ty = number(arg)?.ty();
                    return self.derived(&ScalarOp::Math(fun, ty, args.iter().cloned().collect()));
                }
            }
        }
        result(fun.name(), prim::eval::math(fun, &scalars))
    }
}

fn result(name: &str, value: Option<Scalar>) -> Res<RunValue> {
    value.map(RunValue::Scalar).ok_or_else(|| wrong_types(name))
}

fn wrong_types(name: &str) -> Box<Failure> {
    Failure::bug(format_args!("`{name}` with operands of wrong types"))
}

/// The scalar without its derivatives.
pub fn number(x: &RunValue) -> Res<Scalar> {
    x.as_scalar().ok_or_else(|| Failure::bug("a value that is not a scalar"))
}

/// Evaluates `x op y`, with the operator's run-time checks.
fn binary(op: BinOp, ty: ScalarType, x: Scalar, y: Scalar, span: Span) -> Res<Scalar> {
    let fast = match (op, x, y) {
        (BinOp::Add, Scalar::I64(x), Scalar::I64(y)) => Some(Scalar::I64(x.wrapping_add(y))),
        (BinOp::Sub, Scalar::I64(x), Scalar::I64(y)) => Some(Scalar::I64(x.wrapping_sub(y))),
        (BinOp::Mul, Scalar::I64(x), Scalar::I64(y)) => Some(Scalar::I64(x.wrapping_mul(y))),
        (BinOp::Add, Scalar::I32(x), Scalar::I32(y)) => Some(Scalar::I32(x.wrapping_add(y))),
        (BinOp::Sub, Scalar::I32(x), Scalar::I32(y)) => Some(Scalar::I32(x.wrapping_sub(y))),
        (BinOp::Mul, Scalar::I32(x), Scalar::I32(y)) => Some(Scalar::I32(x.wrapping_mul(y))),
        (BinOp::FAdd, Scalar::F32(x), Scalar::F32(y)) => Some(Scalar::F32(x + y)),
        (BinOp::FMul, Scalar::F32(x), Scalar::F32(y)) => Some(Scalar::F32(x * y)),
        (BinOp::FAdd, Scalar::F64(x), Scalar::F64(y)) => Some(Scalar::F64(x + y)),
        (BinOp::FMul, Scalar::F64(x), Scalar::F64(y)) => Some(Scalar::F64(x * y)),
        (BinOp::Pow, x, y) if ty.is_signed() && y.as_i64().is_some_and(|y| y < 0) => {
            debug_assert_eq!(x.ty(), y.ty(), "operands of one type");
            return Err(Failure::at(span, "negative exponent"));
        }
        _ => prim::eval::binary(op, x, y),
    };
    fast.ok_or_else(|| {
        if op.is_division() { Failure::at(span, "division by zero") } else { wrong_types(op.name()) }
    })
}

/// Evaluates a comparison of two scalars.
pub fn compare(comparison: Comparison, x: Scalar, y: Scalar) -> Res<bool> {
    let (x, y) = if comparison.swap { (y, x) } else { (x, y) };
    match prim::eval::compare(comparison.op, x, y) {
        Some(holds) => Ok(holds != comparison.negate),
        None => Err(Failure::bug("a comparison of operands of wrong types")),
    }
}
