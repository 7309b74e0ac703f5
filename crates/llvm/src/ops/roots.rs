//! Square roots of doubles divided between the divider and the multipliers, for `Expr::SplitSqrt`
//! (`impopt::divider`).
//!
//! Of two vector registers of arguments the divider takes the first. For the second, let x be the
//! argument and y the processor's estimate of 1 / sqrt x, with a relative error of at most 2^-14.
//! Then g = x y and h = y / 2 approximate sqrt x and 1 / (2 sqrt x), and two steps
//!
//! ```text
//! r = 1/2 - g h;  g = g + g r;  h = h + h r
//! ```
//!
//! leave both with a relative error of at most 2^-51 (the errors are squared; rounding errors
//! remain). Then g + (x - g^2) h, where the difference is rounded once and the sum once more, is
//! sqrt x up to a relative error of 2^-102 before that last rounding. So it is rounded as sqrt x
//! is, unless sqrt x lies so near the middle between two doubles that (2 m + 1)^2, the middle's
//! square as an integer, differs from a multiple of 2^54 by less than 128. There are some dozens of
//! such x between 1 and 4, to which all others are reduced by powers of 4; the tests try each of
//! them.
//!
//! This holds where nothing overflows or underflows; if any lane's argument is not between 2^-256
//! and 2^256, the divider takes the second register too.

use super::Ops;
use super::instructions::{float_like, int_like};
use crate::emit::call_value;
use crate::error::Res;
use crate::types::{Value, vector};
use inkwell::IntPredicate;

/// The double lanes of a register for which there is an estimate instruction.
const LANES: u32 = imp::ROOT_LANES / 2;
/// The bits of 2^-256.
const LEAST: u64 = (1023 - 256) << 52;
/// The bits of arguments in range exceed `LEAST` by less than this.
const RANGE: u64 = 512 << 52;

impl<'c> Ops<'_, '_, 'c> {
    /// Square roots of two registers of doubles; the second register avoids the divider if the
    /// processor has the estimate instruction.
    pub fn split_sqrt(&self, x: Value<'c>) -> Res<Value<'c>> {
        if !self.emit.processor.has_masks() {
            return self.intrinsic("llvm.sqrt", &[x]);
        }
        let both = vector(x)?;
        let half = |from: u32| {
            let indices: Vec<_> = (from..from + LANES).map(Some).collect();
            self.shuffle(both, both.get_type().get_poison(), &indices)
        };
        let first = self.intrinsic("llvm.sqrt", &[half(0)?.into()])?;
        let second = self.root_by_products(half(LANES)?.into())?;
        let indices: Vec<_> = (0..2 * LANES).map(Some).collect();
        Ok(self.shuffle(vector(first)?, vector(second)?, &indices)?.into())
    }

    /// Square roots of one register of doubles without the divider, unless an argument is out of
    /// range.
    fn root_by_products(&self, x: Value<'c>) -> Res<Value<'c>> {
        let bits = self.bits_as(x, self.emit.types.i64)?;
        let above = self.sub(bits, int_like(bits, LEAST)?)?;
        let near = self.int_compare(IntPredicate::ULT, above, int_like(bits, RANGE)?)?;
        let plain = || self.intrinsic("llvm.sqrt", &[x]);
        self.select_by_likely_branch(self.all(near)?, "root", || self.newton(x), plain)
    }

    /// The Newton steps of the module header.
    fn newton(&self, x: Value<'c>) -> Res<Value<'c>> {
        let fma = |x, y, z| self.intrinsic("llvm.fma", &[x, y, z]);
        let half = float_like(x, 0.5)?;
        let estimate = self.estimate(x)?;
        let mut g = self.float_mul(x, estimate)?;
        let mut h = self.float_mul(estimate, half)?;
        for _ in 0..2 {
            let r = fma(self.float_neg(g)?, h, half)?;
            g = fma(g, r, g)?;
            h = fma(h, r, h)?;
        }
        let rest = fma(self.float_neg(g)?, g, x)?;
        fma(rest, h, g)
    }

    /// 1 / sqrt x for each lane, with a relative error of at most 2^-14.
    fn estimate(&self, x: Value<'c>) -> Res<Value<'c>> {
        let function = self.emit.intrinsic("llvm.x86.avx512.rsqrt14.pd.512", &[])?;
        let none = vector(x)?.get_type().get_poison().into();
        let all = self.emit.types.i8.const_all_ones().into();
        call_value(self.builder, function, &[x, none, all])
    }
}
