//! Quotients of narrow integers in vectors, for which there are no instructions: products with the
//! reciprocal as a float, which is hoisted out of loops if the divisor is loop-invariant.
//!
//! Let d be the divisor, n the dividend, at most 2^32 with doubles and 2^16 with 32-bit floats, and
//! r the neighbour, away from 0, of the rounded 1 / d. Then r = (1 + e) / d with 0 < e < 3u, where
//! u is 2^-53 (or 2^-24), and n r is rounded once. If n / d is an integer, it is a float itself,
//! and n r is not rounded across it. Otherwise n / d is at least 1 / |d| below, in magnitude, the
//! next integer away from 0, and n r exceeds it by at most |n / d| times 5u; as |n| times 5u is
//! below 1, both have the same integer part.

use super::Ops;
use super::instructions::{float_like, int_like};
use crate::error::Res;
use crate::types::Value;
use inkwell::FloatPredicate;
use prim::PrimType;

/// 2^31: the only signed 32-bit quotient that overflows.
const BEYOND: f64 = 2_147_483_648.0;

impl<'c> Ops<'_, '_, 'c> {
    /// Returns true if division by `y` is done by multiplication.
    pub(super) fn uses_reciprocal(&self, ty: PrimType, y: Value<'_>) -> bool {
        (ty.bits() <= 32 || self.has_wide_reciprocals())
            && matches!(y, Value::VectorValue(divisors) if !divisors.is_const())
    }

    /// `x / y` truncated towards 0, where `y` is not 0; overflow wraps around.
    pub(super) fn quotient_by_reciprocal(
        &self,
        ty: PrimType,
        x: Value<'c>,
        y: Value<'c>,
        signed: bool,
    ) -> Res<Value<'c>> {
        if ty.bits() > 32 {
            return self.wide_quotient(x, y, signed);
        }
        let types = &self.emit.types;
        let narrow = ty.bits() < 32;
        let (float, bits) = if narrow { (types.f32, types.i32) } else { (types.f64, types.i64) };
        let divisor = self.int_to_float(y, float, signed)?;
        let rounded = self.float_div(float_like(divisor, 1.0)?, divisor)?;
        let rounded = self.bits_as(rounded, bits)?;
        let above = self.add(rounded, int_like(rounded, 1)?)?;
        let reciprocal = self.bits_as(above, float)?;
        let mut product = self.float_mul(self.int_to_float(x, float, signed)?, reciprocal)?;
        if signed && !narrow {
            let beyond = float_like(product, BEYOND)?;
            let wraps = self.float_compare(FloatPredicate::OGE, product, beyond)?;
            product = self.select(wraps, float_like(product, -BEYOND)?, product)?;
        }
        // Every narrow unsigned quotient fits in a signed 32-bit integer.
        let signed = signed || narrow;
        self.resize(self.float_to_int(product, types.i32, signed)?, types.int(ty), signed)
    }
}
