//! Quotients of 64-bit integers in vectors: products with the reciprocal as a double
//! ([`quotients`](super::quotients)) where all lanes are near 0, else lane by lane.
//!
//! Operands from -2^50 to 2^50 are doubles themselves; for them the proof for narrow integers holds: the dividend times
//! 5u is below 1, where u is 2^-53. They are indices and sizes. A quotient is a call of a function without effects, so
//! that LLVM computes it once for a quotient and a remainder, before it inlines the function and hoists a
//! loop-invariant reciprocal.

use super::Ops;
use super::instructions::{float_like, int_like};
use crate::emit::{Effects, call_value};
use crate::error::Res;
use crate::types::{Value, vector};
use inkwell::IntPredicate;
use inkwell::attributes::AttributeLoc;
use inkwell::values::FunctionValue;

/// Operands are near 0 if they are at most this far from it; a power of two.
const NEAR: u64 = 1 << 50;
/// 2^52 + 2^51 as a double, and its bits: added to a small integer, they yield the double with that integer in its
/// lowest bits.
const ANCHOR: f64 = 6_755_399_441_055_744.0;
const ANCHOR_BITS: u64 = 0x4338_0000_0000_0000;
/// The vector registers of processors on which quotients are products.
const MIN_BYTES: u32 = 32;

impl<'c> Ops<'_, '_, 'c> {
    /// Returns true if 64-bit quotients in vectors are products where operands are near 0.
    pub(super) fn has_wide_reciprocals(&self) -> bool {
        self.emit.processor.machine().bytes >= MIN_BYTES
    }

    /// `x / y` truncated towards 0, where `y` is not 0; overflow wraps around.
    pub(super) fn wide_quotient(&self, x: Value<'c>, y: Value<'c>, signed: bool) -> Res<Value<'c>> {
        let function = self.wide_quotient_function(vector(x)?.get_type().get_size(), signed)?;
        call_value(self.builder, function, &[x, y])
    }

    fn wide_quotient_function(&self, lanes: u32, signed: bool) -> Res<FunctionValue<'c>> {
        let emit = self.emit;
        if let Some(known) = emit.wide_quotients.borrow().get(&(lanes, signed)) {
            return Ok(*known);
        }
        let ty = emit.types.i64.vec_type(lanes);
        let sign = if signed { "s" } else { "u" };
        let make = |kind: &str, inline: &str| {
            let function = emit.helper(&format!("quotient.{sign}{lanes}{kind}"), &[ty.into(), ty.into()], ty);
            for attribute in ["willreturn", "mustprogress", inline] {
                emit.attribute(function, AttributeLoc::Function, attribute, 0);
            }
            emit.effects(function, Effects::None);
            let builder = emit.context.create_builder();
            builder.position_at_end(emit.context.append_basic_block(function, "entry"));
            let [x, y] =
                [0, 1].map(|at| function.get_nth_param(at).unwrap_or_else(|| ty.get_poison().into()));
            (function, builder, x, y)
        };
        let (far, builder, x, y) = make(".far", "noinline");
        let ops = Ops { emit, builder: &builder };
        let y = if signed { ops.safe_divisor(x, y)? } else { y };
        let quotient = if signed { ops.signed_div(x, y)? } else { ops.unsigned_div(x, y)? };
        builder.build_return(Some(&quotient))?;
        let (function, builder, x, y) = make("", "alwaysinline");
        let ops = Ops { emit, builder: &builder };
        let product = || ops.near_quotient(x, y);
        let near = ops.all_near(x, y, signed)?;
        let quotient =
            ops.select_by_likely_branch(near, "quotient", product, || call_value(&builder, far, &[x, y]))?;
        builder.build_return(Some(&quotient))?;
        emit.wide_quotients.borrow_mut().insert((lanes, signed), function);
        Ok(function)
    }

    /// Returns true if all operands are near 0.
    fn all_near(&self, x: Value<'c>, y: Value<'c>, signed: bool) -> Res<Value<'c>> {
        let most = if signed { 2 * NEAR } else { NEAR };
        let shifted = |x| if signed { self.add(x, int_like(x, NEAR)?) } else { Ok(x) };
        let both = self.or(shifted(x)?, shifted(y)?)?;
        self.all(self.int_compare(IntPredicate::ULT, both, int_like(both, most)?)?)
    }

    /// The quotient of operands that are near 0.
    fn near_quotient(&self, x: Value<'c>, y: Value<'c>) -> Res<Value<'c>> {
        let types = &self.emit.types;
        let divisor = self.near_to_float(y)?;
        let rounded = self.bits_as(self.float_div(float_like(divisor, 1.0)?, divisor)?, types.i64)?;
        let reciprocal = self.bits_as(self.add(rounded, int_like(rounded, 1)?)?, types.f64)?;
        let product = self.float_mul(self.near_to_float(x)?, reciprocal)?;
        if self.emit.processor.has_masks() {
            return self.float_to_int(product, types.i64, true);
        }
        let whole = self.intrinsic("llvm.trunc", &[product])?;
        let anchored = self.bits_as(self.float_add(whole, float_like(whole, ANCHOR)?)?, types.i64)?;
        self.sub(anchored, int_like(anchored, ANCHOR_BITS)?)
    }

    /// An integer that is near 0 as a double.
    fn near_to_float(&self, x: Value<'c>) -> Res<Value<'c>> {
        let types = &self.emit.types;
        if self.emit.processor.has_masks() {
            return self.int_to_float(x, types.f64, true);
        }
        let anchored = self.bits_as(self.add(x, int_like(x, ANCHOR_BITS)?)?, types.f64)?;
        self.float_sub(anchored, float_like(anchored, ANCHOR)?)
    }
}
