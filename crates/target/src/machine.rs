//! The processor that code is generated for, as far as decisions depend on it: its instructions and
//! their costs. A processor counts as one of a few microarchitectures with equal costs;
//! [`processors`](crate::processors) has the names for each.
//!
//! Costs are reciprocal throughputs in cycles for a lane of the widest register. They were measured
//! by `bench/machine` ([`Microarchitecture::ZEN5`]) or by microbenchmark loops ([`Microarchitecture::ZEN4`]), or are from the
//! tables of uops.info ([`Microarchitecture::INTEL`]: Skylake to Golden Cove). `bench/machine/machine.py`
//! compares the machine at hand with this table.

/// The instructions of a processor and their costs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Machine {
    /// The size of a vector register in bytes: 16, 32 or 64.
    pub bytes: u32,
    /// True if it has an instruction for `x * y + z` with one rounding.
    pub fma: bool,
    /// The costs of its microarchitecture.
    pub uarch: Microarchitecture,
}

/// The costs of operations that differ between microarchitectures.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Microarchitecture {
    /// Products of doubles, and all other operations of the multipliers.
    pub product_f64: f64,
    /// Quotients of doubles.
    pub quotient_f64: f64,
    /// Quotients of singles.
    pub quotient_f32: f64,
    /// Square roots of doubles.
    pub root_f64: f64,
    /// Square roots of singles.
    pub root_f32: f64,
    /// Gathered doubles.
    pub gather_f64: f64,
}

impl Microarchitecture {
    /// AMD up to Zen 4, which splits 64-byte operations in two. Gathers cost somewhat more than the
    /// loads of their lanes.
    pub const ZEN4: Self = Self {
        product_f64: 1.0 / 8.0,
        quotient_f64: 9.0 / 8.0,
        quotient_f32: 0.6,
        root_f64: 16.0 / 8.0,
        root_f32: 0.8,
        gather_f64: 3.0,
    };
    /// AMD Zen 5, which does not split them.
    pub const ZEN5: Self = Self {
        product_f64: 0.5 / 8.0,
        quotient_f64: 4.0 / 8.0,
        quotient_f32: 2.5 / 16.0,
        root_f64: 7.5 / 8.0,
        root_f32: 4.5 / 16.0,
        gather_f64: 7.1 / 8.0,
    };
    /// Intel since Skylake: the divider, as fast as that of Zen 4, takes half of a register at a
    /// time; gathers cost little more than the loads.
    pub const INTEL: Self = Self {
        product_f64: 0.5 / 8.0,
        quotient_f64: 16.0 / 8.0,
        quotient_f32: 10.0 / 16.0,
        root_f64: 24.0 / 8.0,
        root_f32: 12.0 / 16.0,
        gather_f64: 5.3 / 8.0,
    };

    /// Returns true if a gather is faster than a load per lane.
    pub fn gathers(self) -> bool {
        self.gather_f64 < 0.75
    }
}

impl Machine {
    /// A typical processor with vector registers of this size.
    pub const fn of(bytes: u32) -> Self {
        Self { bytes, fma: bytes >= 32, uarch: Microarchitecture::ZEN4 }
    }

    /// The number of iterations whose reductions are jammed, on machines where that is worthwhile: the accumulators
    /// of all stay in registers, of which machines with 64-byte vectors have twice as many.
    pub const fn jam_factor(self) -> Option<i64> {
        match self.bytes {
            64 => Some(4),
            32 => Some(2),
            _ => None,
        }
    }

    /// Returns true if masked gathers and scatters are worth their instructions, for elements of
    /// this size.
    pub fn masked_gathers(self, bytes: u64) -> bool {
        self.has_masks() && self.uarch.gathers() && bytes >= 4
    }

    /// Returns true if the processor has mask registers, and estimates of square roots (AVX-512).
    pub const fn has_masks(self) -> bool {
        self.bytes >= 64
    }
}
