//! Fused multiply-add on processors without the instruction, with the same results: inline vector
//! code for the common case, a call of a helper function for the rest.
//!
//! # Single precision
//! The product of two singles is exact as a double. The sum `s` of that product and the third
//! operand, rounded to a double and then to a single, equals the once-rounded sum unless `s` lies
//! in the middle of two singles. For normal singles the middle is recognised by the last bits of
//! `s`; tiny results are not examined further here. The helper function rounds `s` to odd, from
//! which the second rounding gives the correct result (Boldo and Melquiond 2008).
//!
//! # Double precision
//! The product is `p + e`: Dekker's algorithm, which splits the operands into halves by their bits.
//! The sum of `p` and `z` is `s + t` (Knuth's `TwoSum`). So the result is `s + (t + e)`, rounded
//! once. With `w = t + e`, rounded, `r = s + w` is rounded correctly unless that sum lies in the
//! middle of two doubles: then the part `d` of it that the rounding of `r` drops, multiplied by the
//! least factor above 1, changes `r` when it is added. Infinities, NaNs and overflows make `r` a
//! NaN, which compares unequal to everything. Where `p` is so small that `e` need not be a double,
//! and `s` is small too, `r` is not trusted either. (Such a `p` does not change a large `s`;
//! factors of 0 are common.) `t`, `e` and `w` are computed negated: a zero among them is then 0.0,
//! and `s - 0.0` is `s` also if that is -0.0.
//!
//! The helper function handles zero factors, infinities and NaNs, sums without rounding error (`w`
//! exact), and products too small to count; the remaining cases go to the C library, lane by lane.

use super::Ops;
use super::instructions::{float_like, int_like, lanes_of};
use crate::emit::{Effects, call_value};
use crate::error::{Error, Res};
use crate::types::{Value, int};
use inkwell::attributes::AttributeLoc;
use inkwell::types::BasicType;
use inkwell::values::FunctionValue;
use inkwell::{FloatPredicate, IntPredicate};
use prim::PrimType;

/// The bits of a double that a Dekker split clears.
const LOW_BITS: u64 = (1 << 27) - 1;
/// `r` is trusted if `p` or `s` is at least this large. All smaller numbers lack the leading bits
/// of the exponent, and so does the bitwise or of two of them.
const TRUSTED: f64 = f64::from_bits(256 << 52);
/// Products of doubles of at least this size are exactly `p + e`.
const LEAST_PRODUCT: f64 = f64::from_bits((1023 - 968) << 52);
/// Products below `LEAST_PRODUCT` do not change addends of at least this size.
const LARGE: f64 = f64::from_bits((1023 - 850) << 52);
/// The least double above 1.
const ABOVE_ONE: f64 = 1.0 + f64::EPSILON;
/// The low bits of a double that a single lacks, and their value in the middle of two singles.
const DROPPED: u64 = (1 << 29) - 1;
const MIDDLE: u64 = 1 << 28;
/// Singles whose bits, without the sign, are less than this are tiny.
const TINY: u64 = (127 - 125) << 23;

/// Double-precision vectors of more lanes are passed to a function.
const MOST_LANES: u32 = 8;

/// The intermediate values of a double-precision multiply-add.
struct Terms<'c> {
    p: Value<'c>,
    s: Value<'c>,
    /// `-t` and `-e`.
    t: Value<'c>,
    e: Value<'c>,
    /// `-w`.
    w: Value<'c>,
    r: Value<'c>,
    /// True if `r` is not in the middle of two doubles.
    not_tie: Value<'c>,
}

impl<'c> Ops<'_, '_, 'c> {
    /// `x * y + z` with one rounding, without the instruction, for single or double precision. For
    /// doubles in many registers the whole operation is a function, as the inline code would be too
    /// large.
    pub(super) fn emulated_fma(
        &self,
        ty: PrimType,
        x: Value<'c>,
        y: Value<'c>,
        z: Value<'c>,
    ) -> Res<Value<'c>> {
        if ty == PrimType::F32 || lanes_of(x).unwrap_or(1) <= MOST_LANES {
            return self.fma_in_place(ty, x, y, z);
        }
        let f = self.fma_function("fma.all", ty, x, |ops, [x, y, z]| ops.fma_in_place(ty, x, y, z))?;
        call_value(self.builder, f, &[x, y, z])
    }

    fn fma_in_place(&self, ty: PrimType, x: Value<'c>, y: Value<'c>, z: Value<'c>) -> Res<Value<'c>> {
        let (usual, trusted) = if ty == PrimType::F32 {
            let s = self.double_sum(x, y, z)?;
            let r = self.float_resize(s, self.emit.types.f32)?;
            (r, self.not(self.may_double_round(s, r)?)?)
        } else {
            let parts = self.parts(x, y, z)?;
            let types = &self.emit.types;
            let sizes = self.or(self.bits_as(parts.p, types.i64)?, self.bits_as(parts.s, types.i64)?)?;
            let size = self.intrinsic("llvm.fabs", &[self.bits_as(sizes, types.f64)?])?;
            let small = self.is_less(size, float_like(size, TRUSTED)?)?;
            (parts.r, self.and(parts.not_tie, self.not(small)?)?)
        };
        let trusted = match lanes_of(x) {
            Some(_) => self.all(trusted)?,
            None => trusted,
        };
        let rest = self.fma_function("fma.rare", ty, x, |ops, [x, y, z]| {
            if ty == PrimType::F32 { ops.round_to_odd_f32(x, y, z) } else { ops.slow_path_f64(x, y, z) }
        })?;
        let b = self.builder;
        let (before, rare, after) = (
            b.get_insert_block().ok_or_else(|| Error::bug("the builder is not in a block"))?,
            self.new_block("fma.rare")?,
            self.new_block("fma")?,
        );
        let branch = b.build_conditional_branch(int(trusted)?, after, rare)?;
        self.emit.metadata.set_likely(branch)?;
        b.position_at_end(rare);
        let other = call_value(b, rest, &[x, y, z])?;
        b.build_unconditional_branch(after)?;
        b.position_at_end(after);
        let phi = b.build_phi(usual.get_type(), "fma")?;
        phi.add_incoming(&[(&usual, before), (&other, rare)]);
        Ok(phi.as_basic_value())
    }

    /// `x * y + z` of singles as a double.
    fn double_sum(&self, x: Value<'c>, y: Value<'c>, z: Value<'c>) -> Res<Value<'c>> {
        let wide = |v| self.float_resize(v, self.emit.types.f64);
        self.float_add(self.float_mul(wide(x)?, wide(y)?)?, wide(z)?)
    }

    /// Returns true if the double `s`, with `r` its value as a single, may have been rounded twice.
    fn may_double_round(&self, s: Value<'c>, r: Value<'c>) -> Res<Value<'c>> {
        let types = &self.emit.types;
        let low = self.resize(self.bits_as(s, types.i64)?, types.i32, false)?;
        let dropped = self.and(low, int_like(low, DROPPED)?)?;
        let middle = self.int_compare(IntPredicate::EQ, dropped, int_like(low, MIDDLE)?)?;
        // The sign is shifted out, and zero wraps to the greatest value; compared as signed
        // integers.
        let bits = self.bits_as(r, types.i32)?;
        let size = self.left_shift(bits, int_like(bits, 1)?)?;
        let exponent = self.add(size, int_like(bits, (1 << 31) - 1)?)?;
        let bound = (TINY << 1).wrapping_add((1 << 31) - 1);
        let tiny = self.int_compare(IntPredicate::SLT, exponent, int_like(bits, bound)?)?;
        self.or(middle, tiny)
    }

    /// The intermediate values for doubles; see the module header.
    fn parts(&self, x: Value<'c>, y: Value<'c>, z: Value<'c>) -> Res<Terms<'c>> {
        let p = self.float_mul(x, y)?;
        // 26 of 53 bits are kept. After rounding, the rest takes 26 bits and a sign.
        let bits = self.bits_as(x, self.emit.types.i64)?;
        let rounded = self.add(bits, int_like(bits, LOW_BITS / 2 + 1)?)?;
        let x_high = self.high(rounded)?;
        let x_low = self.float_sub(x, x_high)?;
        let products = if x == y {
            // Both halves have 26 bits.
            let twice = self.float_add(x_low, x_low)?;
            vec![(x_high, x_high), (x_high, twice), (x_low, x_low)]
        } else {
            let y_high = self.high(self.bits_as(y, self.emit.types.i64)?)?;
            let y_low = self.float_sub(y, y_high)?;
            vec![(x_high, y_high), (x_high, y_low), (x_low, y_high), (x_low, y_low)]
        };
        let mut e = p;
        for (x, y) in products {
            e = self.float_sub(e, self.float_mul(x, y)?)?;
        }
        let s = self.float_add(p, z)?;
        let t = self.rounding_error(p, z, s)?;
        let w = self.float_add(t, e)?;
        let r = self.float_sub(s, w)?;
        // Of `s` and `w`, `s` is the larger, or 0.
        let d = self.float_add(w, self.float_sub(r, s)?)?;
        let more = self.float_mul(d, float_like(d, ABOVE_ONE)?)?;
        let clear = self.float_compare(FloatPredicate::OEQ, self.float_sub(r, more)?, r)?;
        Ok(Terms { p, s, t, e, w, r, not_tie: clear })
    }

    /// A double with its low bits cleared.
    fn high(&self, bits: Value<'c>) -> Res<Value<'c>> {
        let high = self.and(bits, int_like(bits, !LOW_BITS)?)?;
        self.bits_as(high, self.emit.types.f64)
    }

    /// The negated rounding error: the rounded sum `s` less the exact `x + y`.
    fn rounding_error(&self, x: Value<'c>, y: Value<'c>, s: Value<'c>) -> Res<Value<'c>> {
        let of_y = self.float_sub(s, x)?;
        let of_x = self.float_sub(s, of_y)?;
        self.float_add(self.float_sub(of_x, x)?, self.float_sub(of_y, y)?)
    }

    /// Returns the helper function `name` for three operands of the type of `like`; `body` emits it
    /// on first use.
    fn fma_function(
        &self,
        name: &str,
        ty: PrimType,
        like: Value<'c>,
        body: impl FnOnce(&Ops<'_, '_, 'c>, [Value<'c>; 3]) -> Res<Value<'c>>,
    ) -> Res<FunctionValue<'c>> {
        let emit = self.emit;
        let name = match lanes_of(like) {
            Some(lanes) => format!("{name}.{lanes}x{ty}"),
            None => format!("{name}.{ty}"),
        };
        if let Some(known) = emit.module.get_function(&name) {
            return Ok(known);
        }
        let t = like.get_type();
        let f = emit.helper(&name, &[t.into(); 3], t.as_basic_type_enum());
        for attribute in ["willreturn", "mustprogress", "noinline"] {
            emit.attribute(f, AttributeLoc::Function, attribute, 0);
        }
        emit.effects(f, Effects::None);
        let [x, y, z] = f.get_params()[..] else {
            return Err(Error::bug("a helper function does not have three parameters"));
        };
        let builder = emit.context.create_builder();
        builder.position_at_end(emit.context.append_basic_block(f, "entry"));
        let ops = Ops { emit, builder: &builder };
        let result = body(&ops, [x, y, z])?;
        builder.build_return(Some(&result))?;
        Ok(f)
    }

    /// The helper's code for any singles: the sum as a double is rounded to odd.
    fn round_to_odd_f32(&self, x: Value<'c>, y: Value<'c>, z: Value<'c>) -> Res<Value<'c>> {
        let types = &self.emit.types;
        let wide = |v| self.float_resize(v, types.f64);
        let (p, z) = (self.float_mul(wide(x)?, wide(y)?)?, wide(z)?);
        let s = self.float_add(p, z)?;
        let lost = self.rounding_error(p, z, s)?;
        let inexact = self.float_compare(FloatPredicate::ONE, lost, float_like(s, 0.0)?)?;
        let bits = self.bits_as(s, types.i64)?;
        let last = self.and(bits, int_like(bits, 1)?)?;
        let even = self.int_compare(IntPredicate::EQ, last, int_like(bits, 0)?)?;
        // The neighbour of `s` away from 0 if `s` is too small, else the one towards 0.
        let signs = self.xor(self.bits_as(lost, types.i64)?, bits)?;
        let less = self.int_compare(IntPredicate::SLT, signs, int_like(bits, 0)?)?;
        let one = int_like(bits, 1)?;
        let odd = self.select(less, self.add(bits, one)?, self.sub(bits, one)?)?;
        let wanted = self.and(inexact, even)?;
        let s = self.bits_as(self.select(wanted, odd, bits)?, types.f64)?;
        self.float_resize(s, types.f32)
    }

    /// The helper's code for any doubles.
    fn slow_path_f64(&self, x: Value<'c>, y: Value<'c>, z: Value<'c>) -> Res<Value<'c>> {
        let parts = self.parts(x, y, z)?;
        let size = |v| self.intrinsic("llvm.fabs", &[v]);
        let is = |predicate, v, constant| self.float_compare(predicate, v, float_like(v, constant)?);
        let endless = |v| is(FloatPredicate::UEQ, size(v)?, f64::INFINITY);
        let endless_product = self.or(endless(x)?, endless(y)?)?;
        let small = is(FloatPredicate::OLT, size(parts.p)?, LEAST_PRODUCT)?;
        let large = is(FloatPredicate::OGE, size(z)?, LARGE)?;
        let plain = self.or(endless_product, self.and(small, large)?)?;
        let endless_z = endless(z)?;
        let value = self.select(endless_z, z, parts.r)?;
        let value = self.select(plain, parts.s, value)?;

        let zero = |v| is(FloatPredicate::OEQ, v, 0.0);
        let nothing = self.or(zero(x)?, zero(y)?)?;
        let whole = self.or(self.not(small)?, nothing)?;
        let exact = zero(self.rounding_error(parts.t, parts.e, parts.w)?)?;
        let right = self.and(whole, self.or(parts.not_tie, exact)?)?;
        let good = self.or(right, self.or(plain, endless_z)?)?;
        let good = match lanes_of(x) {
            Some(_) => self.all(good)?,
            None => good,
        };

        let b = self.builder;
        let (known, other) = (self.new_block("known")?, self.new_block("other")?);
        b.build_conditional_branch(int(good)?, known, other)?;
        b.position_at_end(known);
        b.build_return(Some(&value))?;
        b.position_at_end(other);
        self.intrinsic("llvm.fma", &[x, y, z])
    }
}
