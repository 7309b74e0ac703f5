//! The machine that code is made for.

use crate::error::{Error, Res};
use imp::{Machine, Make};
use inkwell::OptimizationLevel;
use inkwell::targets::{CodeModel, InitializationConfig, RelocMode, Target, TargetMachine};

/// What instructions a processor has, as far as code differs.
#[derive(Clone, Copy)]
pub struct Has {
    /// Width of the vector registers in bytes, 16 at least.
    pub vector_bytes: u32,
    /// Fused multiply-adds.
    pub fma: bool,
    /// Rounding of floats to integers (SSE4.1).
    pub rounding: bool,
}

const SSE2: Has = Has {
    vector_bytes: 16,
    fma: false,
    rounding: false,
};
const SSE4: Has = Has {
    rounding: true,
    ..SSE2
};
const FMA: Has = Has { fma: true, ..SSE4 };
const AVX2: Has = Has {
    vector_bytes: 32,
    ..FMA
};
const AVX512: Has = Has {
    vector_bytes: 64,
    ..FMA
};

/// The processors that can be asked for by name, besides `native` and `generic`,
/// what they have, and what their operations cost. A name that may stand for any
/// make must not do badly on one of them: gathers are those of the slowest.
const PROCESSORS: &[(&str, Has, Make)] = &[
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

/// What AVX-512 must have to count as 64 bytes wide.
const WIDE: &[&str] = &["+avx512f", "+avx512bw", "+avx512dq", "+avx512vl"];

fn named(name: &str) -> Option<&'static (&'static str, Has, Make)> {
    PROCESSORS.iter().find(|(known, ..)| *known == name)
}

/// A processor as LLVM takes it, and what is known of it here.
pub struct Processor {
    name: String,
    features: String,
    /// Its instructions.
    pub has: Has,
    /// How fast it is.
    make: Make,
}

impl Processor {
    /// A processor by its name: `native` is this machine with all that it can
    /// do, `generic` any 64-bit one.
    pub fn new(cpu: &str) -> Res<Self> {
        let (name, mut features, has, make) = match cpu {
            "native" => {
                let features = TargetMachine::get_host_cpu_features().to_string();
                let has = |wanted: &str| features.split(',').any(|feature| feature == wanted);
                let bytes = if WIDE.iter().all(|feature| has(feature)) {
                    64
                } else if has("+avx2") {
                    32
                } else {
                    16
                };
                let here = Has {
                    vector_bytes: bytes,
                    fma: has("+fma"),
                    rounding: has("+sse4.1"),
                };
                let name = TargetMachine::get_host_cpu_name().to_string();
                let make = named(&name).map_or(Make::ZEN4, |(.., make)| *make);
                (name, features, here, make)
            }
            "generic" => ("x86-64".to_owned(), String::new(), SSE2, Make::ZEN4),
            _ => match named(cpu) {
                Some((name, has, make)) => ((*name).to_owned(), String::new(), *has, *make),
                None => {
                    let names: Vec<_> = PROCESSORS.iter().map(|(name, ..)| *name).collect();
                    return Err(Error::Usage(format!(
                        "unknown processor '{cpu}'; known are native, generic, {}",
                        names.join(", ")
                    )));
                }
            },
        };
        // Where gathers take longer than as many loads, elements move between parts
        // of a vector by a table in one step, which LLVM takes for slower than two
        // steps without.
        if !make.gathers() && has.vector_bytes == 64 {
            let comma = if features.is_empty() { "" } else { "," };
            let tuning = "+prefer-no-gather,+prefer-no-scatter,+fast-variable-crosslane-shuffle";
            features = format!("{features}{comma}{tuning}");
        }
        // LLVM would keep to half of a register on Intel's processors, as the first
        // ones that had AVX-512 slow down while they use all of it. Code in lanes
        // uses it anyway.
        if has.vector_bytes == 64 {
            let comma = if features.is_empty() { "" } else { "," };
            features = format!("{features}{comma}-prefer-256-bit");
        }
        Ok(Self {
            name,
            features,
            has,
            make,
        })
    }
}

impl Processor {
    /// What choices depend on.
    pub fn machine(&self) -> Machine {
        Machine {
            bytes: self.has.vector_bytes,
            fma: self.has.fma,
            make: self.make,
        }
    }

    /// Whether masks have registers of their own.
    pub fn has_masks(&self) -> bool {
        self.machine().masks()
    }
}

/// What choices before machine code depend on, for a processor named as in
/// [`Options::cpu`](crate::Options::cpu).
///
/// # Errors
/// [`Error::Usage`] for an unknown processor.
pub fn describe(cpu: &str) -> Res<Machine> {
    Ok(Processor::new(cpu)?.machine())
}

/// The target machine for a processor. Code is position independent.
pub fn machine(processor: &Processor, level: OptimizationLevel) -> Res<TargetMachine> {
    Target::initialize_x86(&InitializationConfig::default());
    let triple = TargetMachine::get_default_triple();
    let name = triple.as_str().to_string_lossy().into_owned();
    if !name.starts_with("x86_64") {
        return Err(Error::Unsupported(format!("code for {name}")));
    }
    let Processor { name, features, .. } = processor;
    let target = Target::from_triple(&triple).map_err(Error::bug)?;
    target
        .create_target_machine(
            &triple,
            name,
            features,
            level,
            RelocMode::PIC,
            CodeModel::Default,
        )
        .ok_or_else(|| Error::bug(format_args!("LLVM makes no target machine for {name}")))
}
