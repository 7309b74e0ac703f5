//! The processor that code is made for, as far as choices depend on it: what it can
//! do, and what that costs. A processor counts as one of a few makes that do the
//! same; `llvm` knows which names stand for which make.
//!
//! Costs are reciprocal throughputs in cycles for a lane of the widest register.
//! They were measured by `bench/machine` ([`Make::ZEN5`]) or by loops of nothing
//! else ([`Make::ZEN4`]), or are from the tables of uops.info ([`Make::INTEL`]:
//! Skylake to Golden Cove). `bench/machine/machine.py` holds a machine at hand
//! against this table.

/// What a processor can do, and at what price.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Machine {
    /// Bytes of a vector register: 16, 32 or 64.
    pub bytes: u32,
    /// Whether it has an instruction for `x * y + z` with one rounding.
    pub fma: bool,
    /// How fast it is.
    pub make: Make,
}

/// What operations cost that makes of processors differ in.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Make {
    /// Products of doubles, and all else that multipliers do.
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

impl Make {
    /// AMD's until Zen 4, which takes two steps for 64 bytes. Gathers are as many
    /// loads and then some.
    pub const ZEN4: Self = Self {
        product_f64: 1.0 / 8.0,
        quotient_f64: 9.0 / 8.0,
        quotient_f32: 0.6,
        root_f64: 16.0 / 8.0,
        root_f32: 0.8,
        gather_f64: 3.0,
    };
    /// AMD's Zen 5, which takes one.
    pub const ZEN5: Self = Self {
        product_f64: 0.5 / 8.0,
        quotient_f64: 4.0 / 8.0,
        quotient_f32: 2.5 / 16.0,
        root_f64: 7.5 / 8.0,
        root_f32: 4.5 / 16.0,
        gather_f64: 7.1 / 8.0,
    };
    /// Intel's since Skylake: half of a register at a time goes to a divider that is
    /// as fast as Zen 4's; gathers are loads and little else.
    pub const INTEL: Self = Self {
        product_f64: 0.5 / 8.0,
        quotient_f64: 16.0 / 8.0,
        quotient_f32: 10.0 / 16.0,
        root_f64: 24.0 / 8.0,
        root_f32: 12.0 / 16.0,
        gather_f64: 5.3 / 8.0,
    };

    /// Whether a gather is worth its instruction, beside as many loads.
    pub fn gathers(self) -> bool {
        self.gather_f64 < 0.75
    }
}

impl Machine {
    /// A usual processor with vector registers of so many bytes.
    pub const fn of(bytes: u32) -> Self {
        Self { bytes, fma: bytes >= 32, make: Make::ZEN4 }
    }

    /// Whether gathers and scatters that leave out lanes are worth their
    /// instructions, for elements of so many bytes.
    pub fn leaves_out(self, bytes: u64) -> bool {
        self.masks() && self.make.gathers() && bytes >= 4
    }

    /// Whether masks have registers of their own, which vector instructions take,
    /// and there are estimates of square roots (AVX-512).
    pub const fn masks(self) -> bool {
        self.bytes >= 64
    }
}
