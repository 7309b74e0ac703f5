//! Float operators. Half precision is computed in single precision and rounded
//! back: binary32 carries `2p + 2` bits of binary16, so two roundings round as
//! one; where more bits can arise (conversion from double precision, fused
//! multiply-add) the step through single precision rounds to odd, which loses
//! nothing that the second rounding needs.

use super::{Scalars, no_operator};
use crate::error::Res;
use crate::types::{Value, float, int};
use inkwell::FloatPredicate;
use inkwell::values::{FloatValue, IntValue};
use prim::{BinOp, PrimType, UnOp};

impl<'c> Scalars<'_, '_, 'c> {
    /// A float as it is computed: half precision in single precision.
    pub(super) fn widened(&self, ty: PrimType, x: Value<'c>) -> Res<FloatValue<'c>> {
        if ty != PrimType::F16 {
            return float(x);
        }
        let half = self.builder.build_bit_cast(x, self.emit.types.half, "")?;
        Ok(self
            .builder
            .build_float_ext(float(half)?, self.emit.types.f32, "")?)
    }

    /// A computed float as it is kept.
    pub(super) fn narrowed(&self, ty: PrimType, x: FloatValue<'c>) -> Res<Value<'c>> {
        if ty != PrimType::F16 {
            return Ok(x.into());
        }
        let half = self
            .builder
            .build_float_trunc(x, self.emit.types.half, "")?;
        Ok(self.builder.build_bit_cast(half, self.emit.types.i16, "")?)
    }

    pub(super) fn half_binary(&self, op: BinOp, x: Value<'c>, y: Value<'c>) -> Res<Value<'c>> {
        let ty = PrimType::F16;
        let (wide_x, wide_y) = (self.widened(ty, x)?, self.widened(ty, y)?);
        let wide = self.float_binary(op, PrimType::F32, wide_x, wide_y)?;
        self.narrowed(ty, wide)
    }

    pub(super) fn float_binary(
        &self,
        op: BinOp,
        ty: PrimType,
        x: FloatValue<'c>,
        y: FloatValue<'c>,
    ) -> Res<FloatValue<'c>> {
        let b = self.builder;
        Ok(match op {
            BinOp::FAdd => b.build_float_add(x, y, "")?,
            BinOp::FSub => b.build_float_sub(x, y, "")?,
            BinOp::FMul => b.build_float_mul(x, y, "")?,
            BinOp::FDiv => b.build_float_div(x, y, "")?,
            BinOp::FMod => b.build_float_rem(x, y, "")?,
            BinOp::FMin => self.min_or_max(ty, x, y, true)?,
            BinOp::FMax => self.min_or_max(ty, x, y, false)?,
            _ => return Err(no_operator(op.name(), ty)),
        })
    }

    /// The smaller or greater of two floats: -0.0 lies below 0.0, and one
    /// operand is the result if the other is a NaN.
    fn min_or_max(
        &self,
        ty: PrimType,
        x: FloatValue<'c>,
        y: FloatValue<'c>,
        least: bool,
    ) -> Res<FloatValue<'c>> {
        let (b, bits) = (self.builder, self.emit.types.int(ty));
        let predicate = if least {
            FloatPredicate::OLT
        } else {
            FloatPredicate::OGT
        };
        let first = b.build_float_compare(predicate, x, y, "")?;
        let ordered = self.select(first, x.into(), y.into())?;
        // Equal floats differ in the sign of zero at most.
        let equal = b.build_float_compare(FloatPredicate::OEQ, x, y, "")?;
        let x_bits = int(b.build_bit_cast(x, bits, "")?)?;
        let y_bits = int(b.build_bit_cast(y, bits, "")?)?;
        let both = if least {
            b.build_or(x_bits, y_bits, "")?
        } else {
            b.build_and(x_bits, y_bits, "")?
        };
        let both = b.build_bit_cast(both, x.get_type(), "")?;
        let number = self.select(equal, both, ordered)?;
        let y_is_nan = b.build_float_compare(FloatPredicate::UNO, y, y, "")?;
        float(self.select(y_is_nan, x.into(), number)?)
    }

    pub(super) fn half_unary(&self, op: UnOp, x: Value<'c>) -> Res<Value<'c>> {
        let (b, bits) = (self.builder, self.emit.types.i16);
        match op {
            UnOp::FNeg => Ok(b
                .build_xor(int(x)?, bits.const_int(0x8000, false), "")?
                .into()),
            UnOp::FAbs => Ok(b
                .build_and(int(x)?, bits.const_int(0x7fff, false), "")?
                .into()),
            _ => {
                let wide = self.widened(PrimType::F16, x)?;
                self.narrowed(PrimType::F16, self.float_unary(op, PrimType::F32, wide)?)
            }
        }
    }

    pub(super) fn float_unary(
        &self,
        op: UnOp,
        ty: PrimType,
        x: FloatValue<'c>,
    ) -> Res<FloatValue<'c>> {
        let intrinsic = match op {
            UnOp::FNeg => return Ok(self.builder.build_float_neg(x, "")?),
            UnOp::FSignum => return self.float_signum(ty, x),
            UnOp::FAbs => "llvm.fabs",
            UnOp::FSqrt => "llvm.sqrt",
            UnOp::FFloor => "llvm.floor",
            UnOp::FCeil => "llvm.ceil",
            UnOp::FRound => "llvm.rint",
            UnOp::FTrunc => "llvm.trunc",
            UnOp::Neg
            | UnOp::Not
            | UnOp::Abs
            | UnOp::SSignum
            | UnOp::USignum
            | UnOp::Clz
            | UnOp::Ctz
            | UnOp::Popc => return Err(no_operator(op.name(), ty)),
        };
        float(self.intrinsic(intrinsic, ty, &[x.into()])?)
    }

    fn float_signum(&self, ty: PrimType, x: FloatValue<'c>) -> Res<FloatValue<'c>> {
        let (b, t) = (self.builder, x.get_type());
        let (zero, one) = (t.const_zero(), t.const_float(1.0));
        let signed = self.intrinsic("llvm.copysign", ty, &[one.into(), x.into()])?;
        let is_zero = b.build_float_compare(FloatPredicate::OEQ, x, zero, "")?;
        let number = self.select(is_zero, zero.into(), signed)?;
        let is_nan = b.build_float_compare(FloatPredicate::UNO, x, x, "")?;
        float(self.select(is_nan, x.into(), number)?)
    }

    pub(super) fn float_to_float(
        &self,
        from: PrimType,
        to: PrimType,
        x: Value<'c>,
    ) -> Res<Value<'c>> {
        let (b, types) = (self.builder, &self.emit.types);
        match (from, to) {
            _ if from == to => Ok(x),
            (PrimType::F64, PrimType::F16) => {
                let wide = self.rounded_to_odd(float(x)?)?;
                self.narrowed(to, wide)
            }
            (PrimType::F64, _) => Ok(b.build_float_trunc(float(x)?, types.f32, "")?.into()),
            (_, PrimType::F64) => Ok(b
                .build_float_ext(self.widened(from, x)?, types.f64, "")?
                .into()),
            _ => {
                let wide = self.widened(from, x)?;
                self.narrowed(to, wide)
            }
        }
    }

    /// A double as a single: exact, or of the two singles around it the one
    /// with an odd last bit.
    fn rounded_to_odd(&self, x: FloatValue<'c>) -> Res<FloatValue<'c>> {
        let (b, types) = (self.builder, &self.emit.types);
        let near = b.build_float_trunc(x, types.f32, "")?;
        let back = b.build_float_ext(near, types.f64, "")?;
        let absolute = |v: FloatValue<'c>| -> Res<FloatValue<'c>> {
            float(self.intrinsic("llvm.fabs", PrimType::F64, &[v.into()])?)
        };
        let inexact = b.build_float_compare(FloatPredicate::ONE, back, x, "")?;
        let beyond = self.is_less(absolute(x)?, absolute(back)?)?;
        let bits = int(b.build_bit_cast(near, types.i32, "")?)?;
        let towards_zero =
            b.build_int_sub(bits, b.build_int_z_extend(beyond, types.i32, "")?, "")?;
        let sticky: IntValue<'c> = b.build_int_z_extend(inexact, types.i32, "")?;
        let odd = b.build_or(towards_zero, sticky, "")?;
        float(b.build_bit_cast(odd, types.f32, "")?)
    }

    /// `x * y + z` with one rounding.
    pub fn fma(&self, ty: PrimType, x: Value<'c>, y: Value<'c>, z: Value<'c>) -> Res<Value<'c>> {
        if ty != PrimType::F16 {
            return self.intrinsic("llvm.fma", ty, &[x, y, z]);
        }
        // The double result is exact but for bits that no half can see.
        let wide = |v: Value<'c>| self.float_to_float(ty, PrimType::F64, v);
        let fused = self.intrinsic("llvm.fma", PrimType::F64, &[wide(x)?, wide(y)?, wide(z)?])?;
        self.float_to_float(PrimType::F64, ty, fused)
    }
}
