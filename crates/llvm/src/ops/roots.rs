//! Square roots of doubles shared out between the divider and the multipliers,
//! where the code says so (`imp::divider`).
//!
//! Of two vector registers of arguments the divider takes the first. For the
//! second, with x the argument and y the machine's estimate of 1 / sqrt x, wrong
//! by no more than 2^-14 of itself, g = x y and h = y / 2 come near sqrt x and
//! 1 / (2 sqrt x), and two steps
//!
//! ```text
//! r = 1/2 - g h;  g = g + g r;  h = h + h r
//! ```
//!
//! leave both wrong by no more than 2^-51 (the errors are squared, what is left
//! are roundings). Then g + (x - g^2) h, where the difference is rounded once and
//! the sum once more, is sqrt x but for 2^-102 of it before that last rounding.
//! So it is rounded as sqrt x is unless sqrt x lies so near the middle between
//! two doubles that (2 m + 1)^2, the middle's square as an integer, differs from a
//! multiple of 2^54 by less than 128. There are some dozens of such x between
//! 1 and 4, to which all others are powers of 4 away; the tests try each of them.
//!
//! This holds where nothing over- or underflows; if any lane's argument is not
//! between 2^-256 and 2^256, the divider takes the second register too.

use super::Ops;
use super::build::{float_like, int_like};
use crate::emit::call_value;
use crate::error::Res;
use crate::types::{Value, vector};
use inkwell::IntPredicate;

/// Lanes of doubles in the registers that have an instruction for the estimate.
const LANES: u32 = imp::ROOT_LANES / 2;
/// The bits of 2^-256.
const LEAST: u64 = (1023 - 256) << 52;
/// What the bits of arguments have above these at most.
const RANGE: u64 = 512 << 52;

impl<'c> Ops<'_, '_, 'c> {
    /// Square roots of two registers of doubles, the second one's without the
    /// divider, if the processor has the instruction.
    pub fn shared_roots(&self, x: Value<'c>) -> Res<Value<'c>> {
        if !self.emit.processor.has_masks() {
            return self.intrinsic("llvm.sqrt", &[x]);
        }
        let both = vector(x)?;
        let half = |from: u32| {
            let places: Vec<_> = (from..from + LANES).map(Some).collect();
            self.shuffle(both, both.get_type().get_poison(), &places)
        };
        let first = self.intrinsic("llvm.sqrt", &[half(0)?.into()])?;
        let second = self.root_by_products(half(LANES)?.into())?;
        let places: Vec<_> = (0..2 * LANES).map(Some).collect();
        Ok(self.shuffle(vector(first)?, vector(second)?, &places)?.into())
    }

    /// Square roots of one register of doubles without the divider, unless an
    /// argument is far from 1.
    fn root_by_products(&self, x: Value<'c>) -> Res<Value<'c>> {
        let bits = self.bits_as(x, self.emit.types.i64)?;
        let above = self.sub(bits, int_like(bits, LEAST)?)?;
        let near = self.int_compare(IntPredicate::ULT, above, int_like(bits, RANGE)?)?;
        let plain = || self.intrinsic("llvm.sqrt", &[x]);
        self.usually(self.all(near)?, "root", || self.newton(x), plain)
    }

    /// The steps of the module's header.
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

    /// 1 over the square root of each lane, wrong by 2^-14 of it at most.
    fn estimate(&self, x: Value<'c>) -> Res<Value<'c>> {
        let function = self.emit.intrinsic("llvm.x86.avx512.rsqrt14.pd.512", &[])?;
        let none = vector(x)?.get_type().get_poison().into();
        let all = self.emit.types.i8.const_all_ones().into();
        call_value(self.builder, function, &[x, none, all])
    }
}
