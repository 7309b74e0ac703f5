//! Integer operators. Every operator has some result for all operands, also where the language
//! defines none (division by zero): checks precede the operators, but LLVM and the vectoriser may
//! evaluate operators speculatively, or in lanes whose result is not used.

use super::instructions::{int_like, lanes_of, ones_like, width};
use super::{Ops, no_operator};
use crate::emit::{Effects, call_value};
use crate::error::Res;
use crate::types::{Value, int};
use imp::VarType;
use inkwell::IntPredicate;
use inkwell::attributes::AttributeLoc;
use inkwell::values::FunctionValue;
use prim::{BinOp, PrimType, UnOp};

impl<'c> Ops<'_, '_, 'c> {
    pub(super) fn int_binary(&self, op: BinOp, ty: PrimType, x: Value<'c>, y: Value<'c>) -> Res<Value<'c>> {
        match op {
            BinOp::Add => self.add(x, y),
            BinOp::Sub => self.sub(x, y),
            BinOp::Mul => self.mul(x, y),
            BinOp::SQuot => self.quotient(ty, x, self.signed_divisor(ty, x, y)?, true),
            BinOp::SRem => self.remainder(ty, x, self.signed_divisor(ty, x, y)?, true),
            BinOp::UDiv => self.quotient(ty, x, self.nonzero(y)?, false),
            BinOp::UMod => self.remainder(ty, x, self.nonzero(y)?, false),
            BinOp::SDiv => {
                let y = self.signed_divisor(ty, x, y)?;
                let quotient = self.quotient(ty, x, y, true)?;
                let below = self.rounds_down(self.remainder(ty, x, y, true)?, y)?;
                // -1 where the exact quotient is less than the truncated one.
                let step = self.resize(below, self.emit.types.int(ty), true)?;
                self.add(quotient, step)
            }
            BinOp::SMod => {
                let y = self.signed_divisor(ty, x, y)?;
                let rest = self.remainder(ty, x, y, true)?;
                let step = self.select(self.rounds_down(rest, y)?, y, int_like(y, 0)?)?;
                self.add(rest, step)
            }
            BinOp::SMin => self.intrinsic("llvm.smin", &[x, y]),
            BinOp::UMin => self.intrinsic("llvm.umin", &[x, y]),
            BinOp::SMax => self.intrinsic("llvm.smax", &[x, y]),
            BinOp::UMax => self.intrinsic("llvm.umax", &[x, y]),
            BinOp::Shl => self.bounded_shift(self.left_shift(x, y)?, y),
            BinOp::LShr => self.bounded_shift(self.right_shift(x, y)?, y),
            BinOp::AShr => {
                let most = int_like(y, u64::from(ty.bits()) - 1)?;
                let amount = self.intrinsic("llvm.umin", &[y, most])?;
                self.signed_right_shift(x, amount)
            }
            BinOp::And | BinOp::Or | BinOp::Xor => self.bits(op, ty, x, y),
            BinOp::Pow => call_value(self.builder, self.power_function(ty, lanes_of(x))?, &[x, y]),
            prim::float_binary!() => Err(no_operator(op.name(), ty)),
        }
    }

    /// `x / y` truncated towards 0, where that is defined.
    fn quotient(&self, ty: PrimType, x: Value<'c>, y: Value<'c>, signed: bool) -> Res<Value<'c>> {
        if self.uses_reciprocal(ty, y) {
            return self.quotient_by_reciprocal(ty, x, y, signed);
        }
        if signed { self.signed_div(x, y) } else { self.unsigned_div(x, y) }
    }

    /// The remainder of `x / y` truncated towards 0, where that is defined.
    fn remainder(&self, ty: PrimType, x: Value<'c>, y: Value<'c>, signed: bool) -> Res<Value<'c>> {
        if self.uses_reciprocal(ty, y) {
            let quotient = self.quotient(ty, x, y, signed)?;
            return self.sub(x, self.mul(quotient, y)?);
        }
        if signed { self.signed_rem(x, y) } else { self.unsigned_rem(x, y) }
    }

    /// The divisor, or 1 where signed division is undefined.
    fn signed_divisor(&self, ty: PrimType, x: Value<'c>, y: Value<'c>) -> Res<Value<'c>> {
        if self.uses_reciprocal(ty, y) {
            return self.nonzero(y);
        }
        self.safe_divisor(x, y)
    }

    /// The divisor, or 1 in place of 0.
    fn nonzero(&self, y: Value<'c>) -> Res<Value<'c>> {
        let bad = self.int_compare(IntPredicate::EQ, y, int_like(y, 0)?)?;
        self.select(bad, int_like(y, 1)?, y)
    }

    /// The divisor, or 1 in place of 0 and of a -1 that overflows (dividing by 1 gives the wrapped
    /// result).
    pub(super) fn safe_divisor(&self, x: Value<'c>, y: Value<'c>) -> Res<Value<'c>> {
        let lowest = int_like(x, 1 << (width(x)? - 1))?;
        let is_lowest = self.int_compare(IntPredicate::EQ, x, lowest)?;
        let minus_one = self.int_compare(IntPredicate::EQ, y, ones_like(y)?)?;
        let zero = self.int_compare(IntPredicate::EQ, y, int_like(y, 0)?)?;
        let bad = self.or(self.and(is_lowest, minus_one)?, zero)?;
        self.select(bad, int_like(y, 1)?, y)
    }

    /// Returns true if the remainder is not 0 and has the opposite sign of the divisor.
    fn rounds_down(&self, rest: Value<'c>, y: Value<'c>) -> Res<Value<'c>> {
        let zero = int_like(y, 0)?;
        let some = self.int_compare(IntPredicate::NE, rest, zero)?;
        let signs = self.xor(rest, y)?;
        let opposite = self.int_compare(IntPredicate::SLT, signs, zero)?;
        self.and(some, opposite)
    }

    /// The shifted value, or 0 if the amount is the width or more.
    fn bounded_shift(&self, shifted: Value<'c>, amount: Value<'c>) -> Res<Value<'c>> {
        let width = int_like(amount, u64::from(width(amount)?))?;
        let fits = self.int_compare(IntPredicate::ULT, amount, width)?;
        self.select(fits, shifted, int_like(amount, 0)?)
    }

    pub(super) fn int_unary(&self, op: UnOp, ty: PrimType, x: Value<'c>) -> Res<Value<'c>> {
        let (zero, own) = (int_like(x, 0)?, self.emit.types.int(ty));
        let no: Value<'c> = self.emit.types.i1.const_zero().into();
        match op {
            UnOp::Neg => self.neg(x),
            UnOp::Not => self.not(x),
            UnOp::Abs => self.intrinsic("llvm.abs", &[x, no]),
            UnOp::SSignum => {
                let positive = self.int_compare(IntPredicate::SGT, x, zero)?;
                let negative = self.int_compare(IntPredicate::SLT, x, zero)?;
                self.or(self.resize(positive, own, false)?, self.resize(negative, own, true)?)
            }
            UnOp::USignum => {
                let some = self.int_compare(IntPredicate::NE, x, zero)?;
                self.resize(some, own, false)
            }
            UnOp::Clz => self.intrinsic("llvm.ctlz", &[x, no]),
            UnOp::Ctz => self.intrinsic("llvm.cttz", &[x, no]),
            UnOp::Popc => self.intrinsic("llvm.ctpop", &[x]),
            prim::float_unary!() => Err(no_operator(op.name(), ty)),
        }
    }

    /// `x` to a small constant power, by multiplications.
    pub fn constant_power(&self, x: Value<'c>, mut exponent: u32) -> Res<Value<'c>> {
        let mut power = int_like(x, 1)?;
        let mut base = x;
        while exponent > 0 {
            if exponent & 1 == 1 {
                power = self.mul(power, base)?;
            }
            exponent >>= 1;
            if exponent > 0 {
                base = self.mul(base, base)?;
            }
        }
        Ok(power)
    }

    /// The function that raises integers of a type, or vectors of them, to a power. It loops until
    /// the exponents of all lanes are 0.
    fn power_function(&self, ty: PrimType, lanes: Option<u32>) -> Res<FunctionValue<'c>> {
        let emit = self.emit;
        if let Some(known) = emit.powers.borrow().get(&(ty, lanes)) {
            return Ok(*known);
        }
        let of = lanes.map_or(VarType::Scalar(ty), |lanes| VarType::Vector(ty, lanes));
        let t = emit.types.var(of);
        let name = lanes.map_or_else(|| format!("pow.{ty}"), |n| format!("pow.{n}x{ty}"));
        let f = emit.helper(&name, &[t.into(), t.into()], t);
        for attribute in ["willreturn", "mustprogress"] {
            emit.attribute(f, AttributeLoc::Function, attribute, 0);
        }
        emit.effects(f, Effects::None);
        let [x, y] = f.get_params()[..] else {
            return Err(no_operator("pow", ty));
        };
        let (zero, one) = (int_like(x, 0)?, int_like(x, 1)?);
        let builder = emit.context.create_builder();
        let (b, ops) = (&builder, Ops { emit, builder: &builder });
        let block = |name| emit.context.append_basic_block(f, name);
        let (entry, head, body, done) = (block("entry"), block("head"), block("body"), block("done"));
        b.position_at_end(entry);
        b.build_unconditional_branch(head)?;
        b.position_at_end(head);
        let (power, base, exponent) =
            (b.build_phi(t, "power")?, b.build_phi(t, "base")?, b.build_phi(t, "exponent")?);
        let left = exponent.as_basic_value();
        let mut more = ops.int_compare(IntPredicate::NE, left, zero)?;
        if lanes.is_some() {
            more = ops.any(more)?;
        }
        b.build_conditional_branch(int(more)?, body, done)?;
        b.position_at_end(body);
        let (current, factor) = (power.as_basic_value(), base.as_basic_value());
        let odd = ops.int_compare(IntPredicate::NE, ops.and(left, one)?, zero)?;
        let next = ops.select(odd, ops.mul(current, factor)?, current)?;
        let square = ops.mul(factor, factor)?;
        let half = ops.right_shift(left, one)?;
        b.build_unconditional_branch(head)?;
        power.add_incoming(&[(&one, entry), (&next, body)]);
        base.add_incoming(&[(&x, entry), (&square, body)]);
        exponent.add_incoming(&[(&y, entry), (&half, body)]);
        b.position_at_end(done);
        b.build_return(Some(&current))?;
        emit.powers.borrow_mut().insert((ty, lanes), f);
        Ok(f)
    }
}
