//! The processor that code is made for, as far as choices depend on it.

/// What a processor can do, and at what price.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Machine {
    /// Bytes of a vector register: 16, 32 or 64.
    pub bytes: u32,
    /// Whether it has an instruction for `x * y + z` with one rounding.
    pub fma: bool,
}

impl Machine {
    /// A usual processor with vector registers of so many bytes.
    pub const fn of(bytes: u32) -> Self {
        Self {
            bytes,
            fma: bytes >= 32,
        }
    }
}
