//! Quotients of singles by multiplications, for `Expr::NewtonQuotient` (`impopt::divider`).
//!
//! With x and y the operands and r0 the processor's estimate of 1 / y, with a relative error of at
//! most 2^-14,
//!
//! ```text
//! r1 = r0 + r0 (1 - y r0);  r = r1 + r1 (1 - y r1)
//! q = x r;  x / y = q + (x - q y) r
//! ```
//!
//! where each line but `x r` is two fused multiply-adds. r1 is 1 / y less up to 2^-28 of it,
//! rounded, so one of two numbers. From either, r is 1 / y correctly rounded, unless all bits of
//! y's fraction are set: then a tie may be rounded the wrong way. That completes reciprocals. For
//! quotients, q has an error of at most 1.5 units in the last place, and the added term an error of
//! 2^-22.4 units (the errors of r and of the rounded difference). So the sum is rounded as x / y
//! is, unless x / y lies so near the middle between two singles that X 2^(k+1) - (2 M + 1) Y, with
//! all of them integers of 24 bits, is at most 6 from 0. There are some 47 million such pairs of
//! fractions, and the sum was found to be right for all of them; the tests try those of some
//! divisors.
//!
//! This holds where nothing overflows or underflows; if any lane's operand is not between 2^-60 and
//! 2^60, or has a divisor with all fraction bits set, the divider computes the whole vector.

use super::Ops;
use super::instructions::{float_like, int_like};
use crate::emit::call_value;
use crate::error::Res;
use crate::types::{Value, vector};
use inkwell::IntPredicate;
use inkwell::values::VectorValue;

/// The lanes of the registers for which there is an estimate instruction.
const LANES: u32 = imp::ROOT_LANES;
/// The bits of 2^-60.
const LEAST: u64 = (127 - 60) << 23;
/// The bits of operands in range exceed `LEAST` by less than this.
const RANGE: u64 = 120 << 23;
/// All bits but the sign.
const UNSIGNED: u64 = (1 << 31) - 1;
/// The bits of the fraction.
const FRACTION: u64 = (1 << 23) - 1;

impl<'c> Ops<'_, '_, 'c> {
    /// Quotients of vectors of singles; they avoid the divider if the processor has the estimate
    /// instruction and no operand is out of range.
    pub fn newton_division(&self, x: Value<'c>, y: Value<'c>) -> Res<Value<'c>> {
        if !self.emit.processor.has_masks() {
            return self.float_div(x, y);
        }
        let reciprocals = x == float_like(y, 1.0)?;
        let mut good = self.in_range(y)?;
        good = self.and(good, self.fraction_not_all_ones(y)?)?;
        if !reciprocals {
            good = self.and(good, self.in_range(x)?)?;
        }
        let products = || self.by_newton(x, y, reciprocals);
        self.select_by_likely_branch(self.all(good)?, "quotient", products, || self.float_div(x, y))
    }

    /// The lanes in the range where nothing overflows or underflows.
    fn in_range(&self, x: Value<'c>) -> Res<Value<'c>> {
        let bits = self.bits_as(x, self.emit.types.i32)?;
        let size = self.and(bits, int_like(bits, UNSIGNED)?)?;
        let above = self.sub(size, int_like(bits, LEAST)?)?;
        self.int_compare(IntPredicate::ULT, above, int_like(bits, RANGE)?)
    }

    /// The lanes whose fraction bits are not all set.
    fn fraction_not_all_ones(&self, x: Value<'c>) -> Res<Value<'c>> {
        let bits = self.bits_as(x, self.emit.types.i32)?;
        let next = self.add(bits, int_like(bits, 1)?)?;
        let fraction = self.and(next, int_like(bits, FRACTION)?)?;
        self.int_compare(IntPredicate::NE, fraction, int_like(bits, 0)?)
    }

    /// The Newton steps of the module header.
    fn by_newton(&self, x: Value<'c>, y: Value<'c>, reciprocals: bool) -> Res<Value<'c>> {
        let fma = |x, y, z| self.intrinsic("llvm.fma", &[x, y, z]);
        let (one, minus_y) = (float_like(y, 1.0)?, self.float_neg(y)?);
        let mut r = self.reciprocal_estimates(vector(y)?)?.into();
        for _ in 0..2 {
            r = fma(r, fma(minus_y, r, one)?, r)?;
        }
        if reciprocals {
            return Ok(r);
        }
        let q = self.float_mul(x, r)?;
        fma(fma(minus_y, q, x)?, r, q)
    }

    /// 1 / y for each lane, with a relative error of at most 2^-14.
    fn reciprocal_estimates(&self, y: VectorValue<'c>) -> Res<VectorValue<'c>> {
        let (none, lanes) = (y.get_type().get_poison(), y.get_type().get_size());
        if lanes == LANES {
            let function = self.emit.intrinsic("llvm.x86.avx512.rcp14.ps.512", &[])?;
            let all = self.emit.types.i16.const_all_ones().into();
            return vector(call_value(self.builder, function, &[y.into(), none.into(), all])?);
        }
        let half = |from: u32| {
            let indices: Vec<_> = (from..from + lanes / 2).map(Some).collect();
            self.reciprocal_estimates(self.shuffle(y, none, &indices)?)
        };
        let indices: Vec<_> = (0..lanes).map(Some).collect();
        self.shuffle(half(0)?, half(lanes / 2)?, &indices)
    }
}
