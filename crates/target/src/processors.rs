//! Processors by name: their instructions, and their microarchitectures.

use crate::Microarchitecture;

/// The instructions of a processor, as far as code depends on them.
#[derive(Clone, Copy)]
pub struct Features {
    /// The width of the vector registers in bytes, at least 16.
    pub vector_bytes: u32,
    /// True if it has fused multiply-adds.
    pub fma: bool,
    /// True if it rounds floats to integers (SSE4.1).
    pub rounding: bool,
}

/// Any 64-bit processor.
pub const SSE2: Features = Features { vector_bytes: 16, fma: false, rounding: false };
const SSE4: Features = Features { rounding: true, ..SSE2 };
const FMA: Features = Features { fma: true, ..SSE4 };
const AVX2: Features = Features { vector_bytes: 32, ..FMA };
const AVX512: Features = Features { vector_bytes: 64, ..FMA };

/// The processors that can be selected by name, besides `native` and `generic`, with their
/// instructions and costs. A name that covers several microarchitectures must not be bad for any of
/// them: its gathers are those of the slowest.
pub const PROCESSORS: &[(&str, Features, Microarchitecture)] = &[
    ("x86-64", SSE2, Microarchitecture::ZEN4),
    ("x86-64-v2", SSE4, Microarchitecture::ZEN4),
    ("x86-64-v3", AVX2, Microarchitecture::ZEN4),
    ("x86-64-v4", AVX512, Microarchitecture::ZEN4),
    ("nehalem", SSE4, Microarchitecture::ZEN4),
    ("westmere", SSE4, Microarchitecture::ZEN4),
    ("sandybridge", SSE4, Microarchitecture::ZEN4),
    ("ivybridge", SSE4, Microarchitecture::ZEN4),
    ("haswell", AVX2, Microarchitecture::INTEL),
    ("broadwell", AVX2, Microarchitecture::INTEL),
    ("skylake", AVX2, Microarchitecture::INTEL),
    ("skylake-avx512", AVX512, Microarchitecture::INTEL),
    ("cascadelake", AVX512, Microarchitecture::INTEL),
    ("cooperlake", AVX512, Microarchitecture::INTEL),
    ("cannonlake", AVX512, Microarchitecture::INTEL),
    ("icelake-client", AVX512, Microarchitecture::INTEL),
    ("icelake-server", AVX512, Microarchitecture::INTEL),
    ("tigerlake", AVX512, Microarchitecture::INTEL),
    ("rocketlake", AVX512, Microarchitecture::INTEL),
    ("alderlake", AVX2, Microarchitecture::INTEL),
    ("raptorlake", AVX2, Microarchitecture::INTEL),
    ("meteorlake", AVX2, Microarchitecture::INTEL),
    ("arrowlake", AVX2, Microarchitecture::INTEL),
    ("lunarlake", AVX2, Microarchitecture::INTEL),
    ("sapphirerapids", AVX512, Microarchitecture::INTEL),
    ("emeraldrapids", AVX512, Microarchitecture::INTEL),
    ("graniterapids", AVX512, Microarchitecture::INTEL),
    ("gracemont", AVX2, Microarchitecture::ZEN4),
    ("sierraforest", AVX2, Microarchitecture::ZEN4),
    ("grandridge", AVX2, Microarchitecture::ZEN4),
    ("btver1", SSE2, Microarchitecture::ZEN4),
    ("btver2", SSE4, Microarchitecture::ZEN4),
    ("bdver1", SSE4, Microarchitecture::ZEN4),
    ("bdver2", FMA, Microarchitecture::ZEN4),
    ("bdver3", FMA, Microarchitecture::ZEN4),
    ("bdver4", AVX2, Microarchitecture::ZEN4),
    ("znver1", AVX2, Microarchitecture::ZEN4),
    ("znver2", AVX2, Microarchitecture::ZEN4),
    ("znver3", AVX2, Microarchitecture::ZEN4),
    ("znver4", AVX512, Microarchitecture::ZEN4),
    ("znver5", AVX512, Microarchitecture::ZEN5),
];

/// The processor of this name, if it is known.
pub fn named(name: &str) -> Option<&'static (&'static str, Features, Microarchitecture)> {
    PROCESSORS.iter().find(|(known, ..)| *known == name)
}
