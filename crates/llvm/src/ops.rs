//! Operators on scalars and vectors, with exactly the results that `prim::eval` defines for
//! scalars: dispatch by type, operators on `bool`, comparisons, conversions.
//!
//! The same code serves both: an operator on vectors is built from the same instructions, which
//! work lane by lane ([`instructions`]). Integers, floats and vector-only operations ([`lanes`],
//! [`roots`]) have files of their own.

mod exp2_eighths;
mod float;
mod fma;
mod instructions;
mod int;
mod lanes;
mod quotients;
mod ranges;
mod reciprocals;
mod roots;
mod wide_quotients;

use crate::emit::{Emit, call_value};
use crate::error::{Error, Res};
use crate::types::Value;
use inkwell::builder::Builder;
use inkwell::{FloatPredicate, IntPredicate};
use instructions::{float_like, int_like, lanes_of};
use prim::{BinOp, CmpOp, ConvOp, PrimType, Scalar, ScalarOp, UnOp};

/// Emits operators at the builder's insertion point.
#[derive(Clone, Copy)]
pub struct Ops<'e, 'p, 'c> {
    pub emit: &'e Emit<'p, 'c>,
    pub builder: &'e Builder<'c>,
}

fn no_operator(name: &str, ty: PrimType) -> Error {
    Error::bug(format_args!("{name} is not defined for {ty}"))
}

impl<'c> Ops<'_, '_, 'c> {
    pub fn constant(&self, x: Scalar) -> Res<Value<'c>> {
        self.emit.types.constant(self.builder, x)
    }

    /// Emits an operation.
    pub fn scalar(&self, op: &ScalarOp<Value<'c>>) -> Res<Value<'c>> {
        match op {
            ScalarOp::Unary(op, ty, x) => self.unary(*op, *ty, *x),
            ScalarOp::Binary(op, ty, x, y) => self.binary(*op, *ty, *x, *y),
            ScalarOp::Compare(op, ty, x, y) => self.compare(*op, *ty, *x, *y),
            ScalarOp::Convert { op, from, to, arg } => self.convert(*op, *from, *to, *arg),
            ScalarOp::Select { ty: _, cond, if_true, if_false } => self.select(*cond, *if_true, *if_false),
            ScalarOp::Fma(ty, x, y, z) => self.fma(*ty, *x, *y, *z),
            ScalarOp::Math(fun, ty, args) => self.math(*fun, *ty, args),
        }
    }

    /// Emits a binary operator.
    pub fn binary(&self, op: BinOp, ty: PrimType, x: Value<'c>, y: Value<'c>) -> Res<Value<'c>> {
        match ty {
            PrimType::Bool => self.bits(op, ty, x, y),
            PrimType::F16 => self.half_binary(op, x, y),
            PrimType::F32 | PrimType::F64 => self.float_binary(op, ty, x, y),
            PrimType::I8 | PrimType::I16 | PrimType::I32 | PrimType::I64 => self.int_binary(op, ty, x, y),
        }
    }

    fn bits(&self, op: BinOp, ty: PrimType, x: Value<'c>, y: Value<'c>) -> Res<Value<'c>> {
        match op {
            BinOp::And => self.and(x, y),
            BinOp::Or => self.or(x, y),
            BinOp::Xor => self.xor(x, y),
            prim::int_binary!() | prim::float_binary!() => Err(no_operator(op.name(), ty)),
        }
    }

    /// Emits a unary operator.
    pub fn unary(&self, op: UnOp, ty: PrimType, x: Value<'c>) -> Res<Value<'c>> {
        match ty {
            PrimType::Bool if op == UnOp::Not => self.not(x),
            PrimType::Bool => Err(no_operator(op.name(), ty)),
            PrimType::F16 => self.half_unary(op, x),
            PrimType::F32 | PrimType::F64 => self.float_unary(op, ty, x),
            PrimType::I8 | PrimType::I16 | PrimType::I32 | PrimType::I64 => self.int_unary(op, ty, x),
        }
    }

    /// Emits a comparison; the result is an `i1`.
    pub fn compare(&self, op: CmpOp, ty: PrimType, x: Value<'c>, y: Value<'c>) -> Res<Value<'c>> {
        if ty.is_float() {
            let predicate = match op {
                CmpOp::Eq => FloatPredicate::OEQ,
                CmpOp::FLt => FloatPredicate::OLT,
                CmpOp::FLe => FloatPredicate::OLE,
                prim::int_compare!() | prim::bool_compare!() => {
                    return Err(no_operator(op.name(), ty));
                }
            };
            return self.float_compare(predicate, self.widened(ty, x)?, self.widened(ty, y)?);
        }
        let predicate = match op {
            CmpOp::Eq => IntPredicate::EQ,
            CmpOp::SLt => IntPredicate::SLT,
            CmpOp::SLe => IntPredicate::SLE,
            CmpOp::ULt | CmpOp::BLt => IntPredicate::ULT,
            CmpOp::ULe | CmpOp::BLe => IntPredicate::ULE,
            CmpOp::FLt | CmpOp::FLe => return Err(no_operator(op.name(), ty)),
        };
        self.int_compare(predicate, x, y)
    }

    /// Emits a conversion.
    pub fn convert(&self, op: ConvOp, from: PrimType, to: PrimType, x: Value<'c>) -> Res<Value<'c>> {
        let types = &self.emit.types;
        match op {
            ConvOp::SExt => self.resize(x, types.int(to), true),
            ConvOp::ZExt | ConvOp::BToI => self.resize(x, types.int(to), false),
            // A half-precision result is rounded through single precision: integers that single
            // precision cannot represent exactly overflow half precision anyway.
            ConvOp::SToF => {
                let wide = self.int_to_float(x, types.float(to), true)?;
                self.narrowed(to, wide)
            }
            ConvOp::UToF | ConvOp::BToF => {
                let wide = self.int_to_float(x, types.float(to), false)?;
                self.narrowed(to, wide)
            }
            ConvOp::FToS => {
                let x = self.finite_or_zero(from, x)?;
                self.saturating(true, to, x)
            }
            ConvOp::FToU => {
                let x = self.finite_or_zero(from, x)?;
                let signed = self.saturating(true, to, x)?;
                let unsigned = self.saturating(false, to, x)?;
                self.select(self.is_less(x, float_like(x, 0.0)?)?, signed, unsigned)
            }
            ConvOp::FConv => self.float_to_float(from, to, x),
            ConvOp::IToB => self.int_compare(IntPredicate::NE, x, int_like(x, 0)?),
            ConvOp::FToB => {
                let x = self.widened(from, x)?;
                self.float_compare(FloatPredicate::UNE, x, float_like(x, 0.0)?)
            }
            ConvOp::ToBits | ConvOp::FromBits if from == PrimType::F16 || to == PrimType::F16 => Ok(x),
            ConvOp::ToBits | ConvOp::FromBits => self.bits_as(x, types.register(to)),
        }
    }

    /// Returns a float in the type of computation, with 0 for an infinity.
    fn finite_or_zero(&self, ty: PrimType, x: Value<'c>) -> Res<Value<'c>> {
        let x = self.widened(ty, x)?;
        let absolute = self.intrinsic("llvm.fabs", &[x])?;
        let infinity = float_like(x, f64::INFINITY)?;
        let infinite = self.float_compare(FloatPredicate::OEQ, absolute, infinity)?;
        self.select(infinite, float_like(x, 0.0)?, x)
    }

    /// The float truncated towards 0 and saturated to the range of `to`; 0 for a NaN.
    fn saturating(&self, signed: bool, to: PrimType, x: Value<'c>) -> Res<Value<'c>> {
        let ty = self.emit.types.int(to);
        if lanes_of(x).is_none() {
            let name = if signed { "llvm.fptosi.sat" } else { "llvm.fptoui.sat" };
            let f = self.emit.intrinsic(name, &[ty.into(), x.get_type()])?;
            return call_value(self.builder, f, &[x]);
        }
        // LLVM would scalarise the intrinsic. The bounds are powers of two (but for 0), hence
        // exact, and `high` is not in range.
        let bits = to.bits() - u32::from(signed);
        let high = float_like(x, 2f64.powi(bits as i32))?;
        let low = float_like(x, if signed { -(2f64.powi(bits as i32)) } else { 0.0 })?;
        let above = self.float_compare(FloatPredicate::OGE, x, high)?;
        let below = self.float_compare(FloatPredicate::OLT, x, low)?;
        let number = self.float_compare(FloatPredicate::ORD, x, x)?;
        let inside = self.and(number, self.not(self.or(above, below)?)?)?;
        let inner = self.select(inside, x, float_like(x, 0.0)?)?;
        let types = &self.emit.types;
        // All integer types narrower than 32 bits lie within signed 32-bit integers.
        let (middle, signed_middle) = match to.bits() {
            64 => (types.i64, signed),
            32 => (types.i32, signed),
            _ => (types.i32, true),
        };
        let inner = self.float_to_int(inner, middle, signed_middle)?;
        let inner = self.resize(inner, ty, true)?;
        let most = u64::MAX >> (64 - bits);
        let least = if signed { !most } else { 0 };
        let ends = self.select(below, int_like(inner, least)?, inner)?;
        self.select(above, int_like(inner, most)?, ends)
    }

    fn is_less(&self, x: Value<'c>, y: Value<'c>) -> Res<Value<'c>> {
        self.float_compare(FloatPredicate::OLT, x, y)
    }
}
