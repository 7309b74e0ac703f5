//! Processors by name: their instructions, and their microarchitectures.

use crate::Make;

/// The instructions of a processor, as far as code depends on them.
#[derive(Clone, Copy)]
pub struct Has {
    /// The width of the vector registers in bytes, at least 16.
    pub vector_bytes: u32,
    /// True if it has fused multiply-adds.
    pub fma: bool,
    /// True if it rounds floats to integers (SSE4.1).
    pub rounding: bool,
}

/// Any 64-bit processor.
pub const SSE2: Has = Has { vector_bytes: 16, fma: false, rounding: false };
const SSE4: Has = Has { rounding: true, ..SSE2 };
const FMA: Has = Has { fma: true, ..SSE4 };
const AVX2: Has = Has { vector_bytes: 32, ..FMA };
const AVX512: Has = Has { vector_bytes: 64, ..FMA };

/// The processors that can be selected by name, besides `native` and `generic`, with their
/// instructions and costs. A name that covers several microarchitectures must not be bad for any of
/// them: its gathers are those of the slowest.
pub const PROCESSORS: &[(&str, Has, Make)] = &[
    ("x86-64", SSE2, Make::ZEN4),
    ("x86-64-v2", SSE4, Make::ZEN4),
    ("x86-64-v3", AVX2, Make::ZEN4),
    ("x86-64-v4", AVX512, Make::ZEN4),
    ("nehalem", SSE4, Make::ZEN4),
    ("westmere", SSE4, Make::ZEN4),
    ("sandybridge", SSE4, Make::ZEN4),
    ("ivybridge", SSE4, Make::ZEN4),
    ("haswell", AVX2, Make::INTEL),
    ("broadwell", AVX2, Make::INTEL),
    ("skylake", AVX2, Make::INTEL),
    ("skylake-avx512", AVX512, Make::INTEL),
    ("cascadelake", AVX512, Make::INTEL),
    ("cooperlake", AVX512, Make::INTEL),
    ("cannonlake", AVX512, Make::INTEL),
    ("icelake-client", AVX512, Make::INTEL),
    ("icelake-server", AVX512, Make::INTEL),
    ("tigerlake", AVX512, Make::INTEL),
    ("rocketlake", AVX512, Make::INTEL),
    ("alderlake", AVX2, Make::INTEL),
    ("raptorlake", AVX2, Make::INTEL),
    ("meteorlake", AVX2, Make::INTEL),
    ("arrowlake", AVX2, Make::INTEL),
    ("lunarlake", AVX2, Make::INTEL),
    ("sapphirerapids", AVX512, Make::INTEL),
    ("emeraldrapids", AVX512, Make::INTEL),
    ("graniterapids", AVX512, Make::INTEL),
    ("gracemont", AVX2, Make::ZEN4),
    ("sierraforest", AVX2, Make::ZEN4),
    ("grandridge", AVX2, Make::ZEN4),
    ("btver1", SSE2, Make::ZEN4),
    ("btver2", SSE4, Make::ZEN4),
    ("bdver1", SSE4, Make::ZEN4),
    ("bdver2", FMA, Make::ZEN4),
    ("bdver3", FMA, Make::ZEN4),
    ("bdver4", AVX2, Make::ZEN4),
    ("znver1", AVX2, Make::ZEN4),
    ("znver2", AVX2, Make::ZEN4),
    ("znver3", AVX2, Make::ZEN4),
    ("znver4", AVX512, Make::ZEN4),
    ("znver5", AVX512, Make::ZEN5),
];

/// The processor of this name, if it is known.
pub fn named(name: &str) -> Option<&'static (&'static str, Has, Make)> {
    PROCESSORS.iter().find(|(known, ..)| *known == name)
}
