//! Float operators. Half precision is computed in single precision and rounded back: binary32
//! carries `2p + 2` bits of binary16, so rounding twice equals rounding once. Where more bits can
//! arise (conversion from double precision, fused multiply-add), the step through single precision
//! rounds to odd, which keeps all that the second rounding needs.

use super::instructions::{float_like, int_like, lanes_of};
use super::{Ops, no_operator};
use crate::error::Res;
use crate::types::Value;
use inkwell::FloatPredicate;
use prim::{BinOp, PrimType, UnClass, UnOp};

impl<'c> Ops<'_, '_, 'c> {
    /// A float in its type of computation: half precision in single precision.
    pub(super) fn widened(&self, ty: PrimType, x: Value<'c>) -> Res<Value<'c>> {
        if ty != PrimType::F16 {
            return Ok(x);
        }
        let half = self.bits_as(x, self.emit.types.half)?;
        let wide = self.float_resize(half, self.emit.types.f32)?;
        if lanes_of(x).is_none() {
            return Ok(wide);
        }
        // LLVM would compare and round halves as such, lane by lane.
        self.intrinsic("llvm.arithmetic.fence", &[wide])
    }

    /// A computed float in its representation in registers: half precision as its bits.
    pub(super) fn narrowed(&self, ty: PrimType, x: Value<'c>) -> Res<Value<'c>> {
        if ty != PrimType::F16 {
            return Ok(x);
        }
        let half = self.float_resize(x, self.emit.types.half)?;
        self.bits_as(half, self.emit.types.i16)
    }

    pub(super) fn half_binary(&self, op: BinOp, x: Value<'c>, y: Value<'c>) -> Res<Value<'c>> {
        let ty = PrimType::F16;
        let (wide_x, wide_y) = (self.widened(ty, x)?, self.widened(ty, y)?);
        let wide = self.float_binary(op, PrimType::F32, wide_x, wide_y)?;
        self.narrowed(ty, wide)
    }

    pub(super) fn float_binary(&self, op: BinOp, ty: PrimType, x: Value<'c>, y: Value<'c>) -> Res<Value<'c>> {
        match op {
            BinOp::FAdd => self.float_add(x, y),
            BinOp::FSub => self.float_sub(x, y),
            BinOp::FMul => self.float_mul(x, y),
            BinOp::FDiv => self.float_div(x, y),
            BinOp::FMod => self.float_rem(x, y),
            BinOp::FMin => self.min_or_max(ty, x, y, true),
            BinOp::FMax => self.min_or_max(ty, x, y, false),
            prim::int_binary!() | prim::bits_binary!() => Err(no_operator(op.name(), ty)),
        }
    }

    /// The minimum or maximum of two floats: -0.0 lies below 0.0; if one operand is a NaN, the
    /// result is the other.
    fn min_or_max(&self, ty: PrimType, x: Value<'c>, y: Value<'c>, least: bool) -> Res<Value<'c>> {
        let types = &self.emit.types;
        let predicate = if least { FloatPredicate::OLT } else { FloatPredicate::OGT };
        let first = self.float_compare(predicate, x, y)?;
        let ordered = self.select(first, x, y)?;
        // Equal floats can differ only in the sign of zero.
        let equal = self.float_compare(FloatPredicate::OEQ, x, y)?;
        let x_bits = self.bits_as(x, types.int(ty))?;
        let y_bits = self.bits_as(y, types.int(ty))?;
        let both = if least { self.or(x_bits, y_bits)? } else { self.and(x_bits, y_bits)? };
        let both = self.bits_as(both, types.float(ty))?;
        let number = self.select(equal, both, ordered)?;
        let y_is_nan = self.float_compare(FloatPredicate::UNO, y, y)?;
        self.select(y_is_nan, x, number)
    }

    pub(super) fn half_unary(&self, op: UnOp, x: Value<'c>) -> Res<Value<'c>> {
        match op {
            UnOp::FNeg => self.xor(x, int_like(x, 0x8000)?),
            UnOp::FAbs => self.and(x, int_like(x, 0x7fff)?),
            prim::int_unary!() | prim::bits_unary!() | prim::float_unary!() => {
                let wide = self.widened(PrimType::F16, x)?;
                self.narrowed(PrimType::F16, self.float_unary(op, PrimType::F32, wide)?)
            }
        }
    }

    pub(super) fn float_unary(&self, op: UnOp, ty: PrimType, x: Value<'c>) -> Res<Value<'c>> {
        let intrinsic = match op {
            UnOp::FNeg => return self.float_neg(x),
            UnOp::FSignum => return self.float_signum(x),
            UnOp::FExp2Eighths => return self.exp2_eighths(x),
            UnOp::FAbs => "llvm.fabs",
            UnOp::FSqrt => "llvm.sqrt",
            UnOp::FFloor => "llvm.floor",
            UnOp::FCeil => "llvm.ceil",
            UnOp::FRound => "llvm.rint",
            UnOp::FTrunc => "llvm.trunc",
            prim::int_unary!() | prim::bits_unary!() => return Err(no_operator(op.name(), ty)),
        };
        if op.class() == UnClass::Rounding && !self.emit.processor.has.rounding {
            return self.emulated_rounding(op, ty, x);
        }
        self.intrinsic(intrinsic, &[x])
    }

    /// Rounds a float to an integer (to nearest, down, up or towards 0) without an instruction for
    /// it: adding a number so large that all floats of its size are integers rounds the sum.
    fn emulated_rounding(&self, op: UnOp, ty: PrimType, x: Value<'c>) -> Res<Value<'c>> {
        let power = if ty == PrimType::F64 { 52 } else { 23 };
        let large = float_like(x, f64::from(power).exp2())?;
        let size = self.intrinsic("llvm.fabs", &[x])?;
        let near = self.float_sub(self.float_add(size, large)?, large)?;
        let is_whole = self.not(self.is_less(size, large)?)?;
        let signed = |near| self.intrinsic("llvm.copysign", &[near, x]);
        let one = float_like(x, 1.0)?;
        let rounded = match op {
            UnOp::FRound => signed(near)?,
            UnOp::FTrunc => {
                let less = self.float_sub(near, one)?;
                signed(self.select(self.is_less(size, near)?, less, near)?)?
            }
            UnOp::FFloor | UnOp::FCeil => {
                let near = signed(near)?;
                let (beyond, other) = if op == UnOp::FFloor {
                    (self.is_less(x, near)?, self.float_sub(near, one)?)
                } else {
                    (self.is_less(near, x)?, self.float_add(near, one)?)
                };
                signed(self.select(beyond, other, near)?)?
            }
            prim::int_unary!() | prim::bits_unary!() | prim::float_unary!() => {
                return Err(no_operator(op.name(), ty));
            }
        };
        self.select(is_whole, x, rounded)
    }

    fn float_signum(&self, x: Value<'c>) -> Res<Value<'c>> {
        let (zero, one) = (float_like(x, 0.0)?, float_like(x, 1.0)?);
        let signed = self.intrinsic("llvm.copysign", &[one, x])?;
        let is_zero = self.float_compare(FloatPredicate::OEQ, x, zero)?;
        let number = self.select(is_zero, zero, signed)?;
        let is_nan = self.float_compare(FloatPredicate::UNO, x, x)?;
        self.select(is_nan, x, number)
    }

    pub(super) fn float_to_float(&self, from: PrimType, to: PrimType, x: Value<'c>) -> Res<Value<'c>> {
        let types = &self.emit.types;
        match (from, to) {
            _ if from == to => Ok(x),
            (PrimType::F64, PrimType::F16) => {
                let wide = self.rounded_to_odd(x)?;
                self.narrowed(to, wide)
            }
            (PrimType::F64, _) => self.float_resize(x, types.f32),
            (_, PrimType::F64) => self.float_resize(self.widened(from, x)?, types.f64),
            _ => {
                let wide = self.widened(from, x)?;
                self.narrowed(to, wide)
            }
        }
    }

    /// A double as a single, rounded to odd: if inexact, the one of the two neighbouring singles
    /// whose last bit is odd.
    fn rounded_to_odd(&self, x: Value<'c>) -> Res<Value<'c>> {
        let types = &self.emit.types;
        let near = self.float_resize(x, types.f32)?;
        let back = self.float_resize(near, types.f64)?;
        let absolute = |v| self.intrinsic("llvm.fabs", &[v]);
        let inexact = self.float_compare(FloatPredicate::ONE, back, x)?;
        let beyond = self.is_less(absolute(x)?, absolute(back)?)?;
        let bits = self.bits_as(near, types.i32)?;
        let towards_zero = self.sub(bits, self.resize(beyond, types.i32, false)?)?;
        let sticky = self.resize(inexact, types.i32, false)?;
        self.bits_as(self.or(towards_zero, sticky)?, types.f32)
    }

    /// `x * y + z` with one rounding.
    pub fn fma(&self, ty: PrimType, x: Value<'c>, y: Value<'c>, z: Value<'c>) -> Res<Value<'c>> {
        if ty == PrimType::F16 {
            // The product of two halves is exact as a double, and so is the sum but for bits that
            // do not affect the rounding to a half.
            let wide = |v: Value<'c>| self.float_to_float(ty, PrimType::F64, v);
            let sum = self.float_add(self.float_mul(wide(x)?, wide(y)?)?, wide(z)?)?;
            return self.float_to_float(PrimType::F64, ty, sum);
        }
        if self.emit.processor.has.fma {
            return self.intrinsic("llvm.fma", &[x, y, z]);
        }
        self.emulated_fma(ty, x, y, z)
    }
}
