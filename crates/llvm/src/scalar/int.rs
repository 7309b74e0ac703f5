//! Integer operators. Every operand has a value, also where the operator has
//! none (division by zero gives some number): checks stand before the operators,
//! but LLVM and the vectoriser may evaluate them early.

use super::{Scalars, no_operator};
use crate::emit::{Effects, call_value};
use crate::error::Res;
use crate::types::int;
use inkwell::IntPredicate;
use inkwell::attributes::AttributeLoc;
use inkwell::values::{FunctionValue, IntValue};
use prim::{BinOp, PrimType, UnOp};

impl<'c> Scalars<'_, '_, 'c> {
    pub(super) fn int_binary(
        &self,
        op: BinOp,
        ty: PrimType,
        x: IntValue<'c>,
        y: IntValue<'c>,
    ) -> Res<IntValue<'c>> {
        let b = self.builder;
        Ok(match op {
            BinOp::Add => b.build_int_add(x, y, "")?,
            BinOp::Sub => b.build_int_sub(x, y, "")?,
            BinOp::Mul => b.build_int_mul(x, y, "")?,
            BinOp::SQuot => b.build_int_signed_div(x, self.safe_divisor(x, y)?, "")?,
            BinOp::SRem => b.build_int_signed_rem(x, self.safe_divisor(x, y)?, "")?,
            BinOp::UDiv => b.build_int_unsigned_div(x, self.nonzero(y)?, "")?,
            BinOp::UMod => b.build_int_unsigned_rem(x, self.nonzero(y)?, "")?,
            BinOp::SDiv => {
                let y = self.safe_divisor(x, y)?;
                let quotient = b.build_int_signed_div(x, y, "")?;
                let below = self.rounds_down(b.build_int_signed_rem(x, y, "")?, y)?;
                // -1 where the exact quotient lies below the truncated one.
                let step = b.build_int_s_extend(below, x.get_type(), "")?;
                b.build_int_add(quotient, step, "")?
            }
            BinOp::SMod => {
                let y = self.safe_divisor(x, y)?;
                let rest = b.build_int_signed_rem(x, y, "")?;
                let zero = y.get_type().const_zero();
                let step = self.select(self.rounds_down(rest, y)?, y.into(), zero.into())?;
                b.build_int_add(rest, int(step)?, "")?
            }
            BinOp::SMin => self.int_intrinsic("llvm.smin", ty, x, y)?,
            BinOp::UMin => self.int_intrinsic("llvm.umin", ty, x, y)?,
            BinOp::SMax => self.int_intrinsic("llvm.smax", ty, x, y)?,
            BinOp::UMax => self.int_intrinsic("llvm.umax", ty, x, y)?,
            BinOp::Shl => self.bounded_shift(b.build_left_shift(x, y, "")?, y)?,
            BinOp::LShr => self.bounded_shift(b.build_right_shift(x, y, false, "")?, y)?,
            BinOp::AShr => {
                let most = y.get_type().const_int(u64::from(ty.bits()) - 1, false);
                let amount = self.int_intrinsic("llvm.umin", ty, y, most)?;
                b.build_right_shift(x, amount, true, "")?
            }
            BinOp::And | BinOp::Or | BinOp::Xor => self.bits(op, ty, x, y)?,
            BinOp::Pow => int(call_value(
                b,
                self.power_function(ty)?,
                &[x.into(), y.into()],
            )?)?,
            BinOp::FAdd
            | BinOp::FSub
            | BinOp::FMul
            | BinOp::FDiv
            | BinOp::FMod
            | BinOp::FMin
            | BinOp::FMax => return Err(no_operator(op.name(), ty)),
        })
    }

    fn int_intrinsic(
        &self,
        name: &str,
        ty: PrimType,
        x: IntValue<'c>,
        y: IntValue<'c>,
    ) -> Res<IntValue<'c>> {
        int(self.intrinsic(name, ty, &[x.into(), y.into()])?)
    }

    /// The divisor, or 1 in place of 0.
    fn nonzero(&self, y: IntValue<'c>) -> Res<IntValue<'c>> {
        let (zero, one) = (y.get_type().const_zero(), y.get_type().const_int(1, false));
        let bad = self
            .builder
            .build_int_compare(IntPredicate::EQ, y, zero, "")?;
        int(self.select(bad, one.into(), y.into())?)
    }

    /// The divisor, or 1 in place of 0 and of the -1 that overflows (where
    /// dividing by 1 gives what wraps around).
    fn safe_divisor(&self, x: IntValue<'c>, y: IntValue<'c>) -> Res<IntValue<'c>> {
        let (b, ty) = (self.builder, y.get_type());
        let lowest = ty.const_int(1 << (ty.get_bit_width() - 1), false);
        let is_lowest = b.build_int_compare(IntPredicate::EQ, x, lowest, "")?;
        let minus_one = b.build_int_compare(IntPredicate::EQ, y, ty.const_all_ones(), "")?;
        let zero = b.build_int_compare(IntPredicate::EQ, y, ty.const_zero(), "")?;
        let overflows = b.build_and(is_lowest, minus_one, "")?;
        let bad = b.build_or(overflows, zero, "")?;
        int(self.select(bad, ty.const_int(1, false).into(), y.into())?)
    }

    /// Whether a remainder and the divisor have opposite signs.
    fn rounds_down(&self, rest: IntValue<'c>, y: IntValue<'c>) -> Res<IntValue<'c>> {
        let (b, zero) = (self.builder, y.get_type().const_zero());
        let some = b.build_int_compare(IntPredicate::NE, rest, zero, "")?;
        let signs = b.build_xor(rest, y, "")?;
        let opposite = b.build_int_compare(IntPredicate::SLT, signs, zero, "")?;
        Ok(b.build_and(some, opposite, "")?)
    }

    /// A shifted value, or 0 where the amount is the width or more.
    fn bounded_shift(&self, shifted: IntValue<'c>, amount: IntValue<'c>) -> Res<IntValue<'c>> {
        let ty = amount.get_type();
        let width = ty.const_int(u64::from(ty.get_bit_width()), false);
        let fits = self
            .builder
            .build_int_compare(IntPredicate::ULT, amount, width, "")?;
        int(self.select(fits, shifted.into(), ty.const_zero().into())?)
    }

    pub(super) fn int_unary(&self, op: UnOp, ty: PrimType, x: IntValue<'c>) -> Res<IntValue<'c>> {
        let (b, zero) = (self.builder, x.get_type().const_zero());
        let no: inkwell::values::BasicValueEnum<'c> = self.emit.types.i1.const_zero().into();
        Ok(match op {
            UnOp::Neg => b.build_int_neg(x, "")?,
            UnOp::Not => b.build_not(x, "")?,
            UnOp::Abs => int(self.intrinsic("llvm.abs", ty, &[x.into(), no])?)?,
            UnOp::SSignum => {
                let positive = b.build_int_compare(IntPredicate::SGT, x, zero, "")?;
                let positive = b.build_int_z_extend(positive, x.get_type(), "")?;
                let negative = b.build_int_compare(IntPredicate::SLT, x, zero, "")?;
                let negative = b.build_int_s_extend(negative, x.get_type(), "")?;
                b.build_or(positive, negative, "")?
            }
            UnOp::USignum => {
                let some = b.build_int_compare(IntPredicate::NE, x, zero, "")?;
                b.build_int_z_extend(some, x.get_type(), "")?
            }
            UnOp::Clz => int(self.intrinsic("llvm.ctlz", ty, &[x.into(), no])?)?,
            UnOp::Ctz => int(self.intrinsic("llvm.cttz", ty, &[x.into(), no])?)?,
            UnOp::Popc => int(self.intrinsic("llvm.ctpop", ty, &[x.into()])?)?,
            UnOp::FNeg
            | UnOp::FAbs
            | UnOp::FSignum
            | UnOp::FSqrt
            | UnOp::FFloor
            | UnOp::FCeil
            | UnOp::FRound
            | UnOp::FTrunc => {
                return Err(no_operator(op.name(), ty));
            }
        })
    }

    /// `x` to a small constant power, by multiplications.
    pub fn constant_power(&self, x: IntValue<'c>, mut exponent: u32) -> Res<IntValue<'c>> {
        let mut power = x.get_type().const_int(1, false);
        let mut base = x;
        while exponent > 0 {
            if exponent & 1 == 1 {
                power = self.builder.build_int_mul(power, base, "")?;
            }
            exponent >>= 1;
            if exponent > 0 {
                base = self.builder.build_int_mul(base, base, "")?;
            }
        }
        Ok(power)
    }

    /// The function that raises integers of a type to a power.
    fn power_function(&self, ty: PrimType) -> Res<FunctionValue<'c>> {
        let emit = self.emit;
        if let Some(known) = emit.powers.borrow().get(&ty) {
            return Ok(*known);
        }
        let t = emit.types.int(ty);
        let f = emit.helper(&format!("pow.{ty}"), &[t.into(), t.into()], t);
        for attribute in ["willreturn", "mustprogress"] {
            emit.attribute(f, AttributeLoc::Function, attribute, 0);
        }
        emit.effects(f, Effects::None);
        let [x, y] = f.get_params()[..] else {
            return Err(no_operator("pow", ty));
        };
        let (x, y, zero, one) = (int(x)?, int(y)?, t.const_zero(), t.const_int(1, false));
        let b = emit.context.create_builder();
        let block = |name| emit.context.append_basic_block(f, name);
        let (entry, head, body, done) =
            (block("entry"), block("head"), block("body"), block("done"));
        b.position_at_end(entry);
        b.build_unconditional_branch(head)?;
        b.position_at_end(head);
        let (power, base, exponent) = (
            b.build_phi(t, "power")?,
            b.build_phi(t, "base")?,
            b.build_phi(t, "exponent")?,
        );
        let left = int(exponent.as_basic_value())?;
        let more = b.build_int_compare(IntPredicate::NE, left, zero, "")?;
        b.build_conditional_branch(more, body, done)?;
        b.position_at_end(body);
        let (current, factor) = (int(power.as_basic_value())?, int(base.as_basic_value())?);
        let odd = b.build_int_compare(IntPredicate::NE, b.build_and(left, one, "")?, zero, "")?;
        let next = b.build_select(odd, b.build_int_mul(current, factor, "")?, current, "")?;
        let square = b.build_int_mul(factor, factor, "")?;
        let half = b.build_right_shift(left, one, false, "")?;
        b.build_unconditional_branch(head)?;
        power.add_incoming(&[(&one, entry), (&next, body)]);
        base.add_incoming(&[(&x, entry), (&square, body)]);
        exponent.add_incoming(&[(&y, entry), (&half, body)]);
        b.position_at_end(done);
        b.build_return(Some(&current))?;
        emit.powers.borrow_mut().insert(ty, f);
        Ok(f)
    }
}
