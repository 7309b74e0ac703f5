//! Scalar operators, bit for bit as `prim::eval` defines them: dispatch by type,
//! truth values, comparisons, conversions. Integers and floats have files of
//! their own beside this one.

mod float;
mod int;

use crate::emit::{Emit, call_value};
use crate::error::{Error, Res};
use crate::types::{Value, float, int};
use inkwell::builder::Builder;
use inkwell::values::{FloatValue, IntValue};
use inkwell::{FloatPredicate, IntPredicate};
use prim::{BinOp, CmpOp, ConvOp, MathFun, PrimType, Scalar, UnOp};

/// Emits operators where a builder stands.
#[derive(Clone, Copy)]
pub struct Scalars<'e, 'p, 'c> {
    pub emit: &'e Emit<'p, 'c>,
    pub builder: &'e Builder<'c>,
}

fn no_operator(name: &str, ty: PrimType) -> Error {
    Error::bug(format_args!("{name} is not an operator on {ty}"))
}

impl<'c> Scalars<'_, '_, 'c> {
    /// A constant.
    pub fn constant(&self, x: Scalar) -> Res<Value<'c>> {
        self.emit.types.constant(self.builder, x)
    }

    fn intrinsic(&self, name: &str, ty: PrimType, args: &[Value<'c>]) -> Res<Value<'c>> {
        let f = self.emit.intrinsic(name, &[self.emit.types.register(ty)])?;
        call_value(self.builder, f, args)
    }

    /// `yes` where the condition holds, else `no`.
    pub fn select(&self, c: IntValue<'c>, yes: Value<'c>, no: Value<'c>) -> Res<Value<'c>> {
        Ok(self.builder.build_select(c, yes, no, "")?)
    }

    /// A binary operator.
    pub fn binary(&self, op: BinOp, ty: PrimType, x: Value<'c>, y: Value<'c>) -> Res<Value<'c>> {
        match ty {
            PrimType::Bool => self.bits(op, ty, int(x)?, int(y)?).map(Into::into),
            PrimType::F16 => self.half_binary(op, x, y),
            PrimType::F32 | PrimType::F64 => self
                .float_binary(op, ty, float(x)?, float(y)?)
                .map(Into::into),
            PrimType::I8 | PrimType::I16 | PrimType::I32 | PrimType::I64 => {
                self.int_binary(op, ty, int(x)?, int(y)?).map(Into::into)
            }
        }
    }

    fn bits(&self, op: BinOp, ty: PrimType, x: IntValue<'c>, y: IntValue<'c>) -> Res<IntValue<'c>> {
        Ok(match op {
            BinOp::And => self.builder.build_and(x, y, "")?,
            BinOp::Or => self.builder.build_or(x, y, "")?,
            BinOp::Xor => self.builder.build_xor(x, y, "")?,
            _ => return Err(no_operator(op.name(), ty)),
        })
    }

    /// A unary operator.
    pub fn unary(&self, op: UnOp, ty: PrimType, x: Value<'c>) -> Res<Value<'c>> {
        match ty {
            PrimType::Bool if op == UnOp::Not => Ok(self.builder.build_not(int(x)?, "")?.into()),
            PrimType::Bool => Err(no_operator(op.name(), ty)),
            PrimType::F16 => self.half_unary(op, x),
            PrimType::F32 | PrimType::F64 => self.float_unary(op, ty, float(x)?).map(Into::into),
            PrimType::I8 | PrimType::I16 | PrimType::I32 | PrimType::I64 => {
                self.int_unary(op, ty, int(x)?).map(Into::into)
            }
        }
    }

    /// A comparison, as an `i1`.
    pub fn compare(
        &self,
        op: CmpOp,
        ty: PrimType,
        x: Value<'c>,
        y: Value<'c>,
    ) -> Res<IntValue<'c>> {
        if ty.is_float() {
            let predicate = match op {
                CmpOp::Eq => FloatPredicate::OEQ,
                CmpOp::FLt => FloatPredicate::OLT,
                CmpOp::FLe => FloatPredicate::OLE,
                _ => return Err(no_operator(op.name(), ty)),
            };
            let (x, y) = (self.widened(ty, x)?, self.widened(ty, y)?);
            return Ok(self.builder.build_float_compare(predicate, x, y, "")?);
        }
        let predicate = match op {
            CmpOp::Eq => IntPredicate::EQ,
            CmpOp::SLt => IntPredicate::SLT,
            CmpOp::SLe => IntPredicate::SLE,
            CmpOp::ULt | CmpOp::BLt => IntPredicate::ULT,
            CmpOp::ULe | CmpOp::BLe => IntPredicate::ULE,
            CmpOp::FLt | CmpOp::FLe => return Err(no_operator(op.name(), ty)),
        };
        Ok(self
            .builder
            .build_int_compare(predicate, int(x)?, int(y)?, "")?)
    }

    /// A conversion.
    pub fn convert(
        &self,
        op: ConvOp,
        from: PrimType,
        to: PrimType,
        x: Value<'c>,
    ) -> Res<Value<'c>> {
        let (b, types) = (self.builder, &self.emit.types);
        Ok(match op {
            ConvOp::SExt => b
                .build_int_cast_sign_flag(int(x)?, types.int(to), true, "")?
                .into(),
            ConvOp::ZExt => b
                .build_int_cast_sign_flag(int(x)?, types.int(to), false, "")?
                .into(),
            // A half-precision result goes through single precision: integers
            // that are not exact there are beyond every half.
            ConvOp::SToF => {
                let wide = b.build_signed_int_to_float(int(x)?, types.float(to), "")?;
                self.narrowed(to, wide)?
            }
            ConvOp::UToF | ConvOp::BToF => {
                let wide = b.build_unsigned_int_to_float(int(x)?, types.float(to), "")?;
                self.narrowed(to, wide)?
            }
            ConvOp::FToS => {
                let x = self.finite_or_zero(from, x)?;
                self.saturating("llvm.fptosi.sat", to, x)?
            }
            ConvOp::FToU => {
                let x = self.finite_or_zero(from, x)?;
                let signed = self.saturating("llvm.fptosi.sat", to, x)?;
                let unsigned = self.saturating("llvm.fptoui.sat", to, x)?;
                self.select(
                    self.is_less(x, x.get_type().const_zero())?,
                    signed,
                    unsigned,
                )?
            }
            ConvOp::FConv => self.float_to_float(from, to, x)?,
            ConvOp::BToI => b.build_int_z_extend(int(x)?, types.int(to), "")?.into(),
            ConvOp::IToB => {
                let zero = types.int(from).const_zero();
                b.build_int_compare(IntPredicate::NE, int(x)?, zero, "")?
                    .into()
            }
            ConvOp::FToB => {
                let zero = types.float(from).const_zero();
                let x = self.widened(from, x)?;
                b.build_float_compare(FloatPredicate::UNE, x, zero, "")?
                    .into()
            }
            ConvOp::ToBits | ConvOp::FromBits if from == PrimType::F16 || to == PrimType::F16 => x,
            ConvOp::ToBits | ConvOp::FromBits => b.build_bit_cast(x, types.register(to), "")?,
        })
    }

    /// A float in the type of computation, 0 in place of an infinity.
    fn finite_or_zero(&self, ty: PrimType, x: Value<'c>) -> Res<FloatValue<'c>> {
        let x = self.widened(ty, x)?;
        let types = [x.get_type().into()];
        let absolute = self.emit.intrinsic("llvm.fabs", &types)?;
        let absolute = float(call_value(self.builder, absolute, &[x.into()])?)?;
        let infinity = x.get_type().const_float(f64::INFINITY);
        let infinite =
            self.builder
                .build_float_compare(FloatPredicate::OEQ, absolute, infinity, "")?;
        float(self.select(infinite, x.get_type().const_zero().into(), x.into())?)
    }

    fn saturating(&self, name: &str, to: PrimType, x: FloatValue<'c>) -> Res<Value<'c>> {
        let types = [self.emit.types.int(to).into(), x.get_type().into()];
        let f = self.emit.intrinsic(name, &types)?;
        call_value(self.builder, f, &[x.into()])
    }

    /// A call of a library function.
    pub fn math(&self, fun: MathFun, ty: PrimType, args: &[Value<'c>]) -> Res<Value<'c>> {
        call_value(self.builder, self.emit.math(fun, ty), args)
    }

    fn is_less(&self, x: FloatValue<'c>, y: FloatValue<'c>) -> Res<IntValue<'c>> {
        Ok(self
            .builder
            .build_float_compare(FloatPredicate::OLT, x, y, "")?)
    }
}
