//! The machine that code is made for.

use crate::error::{Error, Res};
use imp::Machine;
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
/// and what they have.
const PROCESSORS: &[(&str, Has)] = &[
    ("x86-64", SSE2),
    ("x86-64-v2", SSE4),
    ("x86-64-v3", AVX2),
    ("x86-64-v4", AVX512),
    ("nehalem", SSE4),
    ("westmere", SSE4),
    ("sandybridge", SSE4),
    ("ivybridge", SSE4),
    ("haswell", AVX2),
    ("broadwell", AVX2),
    ("skylake", AVX2),
    ("skylake-avx512", AVX512),
    ("cascadelake", AVX512),
    ("cooperlake", AVX512),
    ("cannonlake", AVX512),
    ("icelake-client", AVX512),
    ("icelake-server", AVX512),
    ("tigerlake", AVX512),
    ("rocketlake", AVX512),
    ("alderlake", AVX2),
    ("raptorlake", AVX2),
    ("meteorlake", AVX2),
    ("arrowlake", AVX2),
    ("lunarlake", AVX2),
    ("sapphirerapids", AVX512),
    ("emeraldrapids", AVX512),
    ("graniterapids", AVX512),
    ("gracemont", AVX2),
    ("sierraforest", AVX2),
    ("grandridge", AVX2),
    ("btver1", SSE2),
    ("btver2", SSE4),
    ("bdver1", SSE4),
    ("bdver2", FMA),
    ("bdver3", FMA),
    ("bdver4", AVX2),
    ("znver1", AVX2),
    ("znver2", AVX2),
    ("znver3", AVX2),
    ("znver4", AVX512),
];

/// What AVX-512 must have to count as 64 bytes wide.
const WIDE: &[&str] = &["+avx512f", "+avx512bw", "+avx512dq", "+avx512vl"];

/// A processor as LLVM takes it, and what is known of it here.
pub struct Processor {
    name: String,
    features: String,
    /// Its instructions.
    pub has: Has,
    /// Whether gathers and scatters that leave out lanes are worth their
    /// instructions.
    pub gathers: bool,
}

impl Processor {
    /// A processor by its name: `native` is this machine with all that it can
    /// do, `generic` any 64-bit one.
    pub fn new(cpu: &str) -> Res<Self> {
        let (name, mut features, has) = match cpu {
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
                (name, features, here)
            }
            "generic" => ("x86-64".to_owned(), String::new(), SSE2),
            _ => match PROCESSORS.iter().find(|(name, ..)| *name == cpu) {
                Some((name, has)) => ((*name).to_owned(), String::new(), *has),
                None => {
                    let names: Vec<_> = PROCESSORS.iter().map(|(name, ..)| *name).collect();
                    return Err(Error::Usage(format!(
                        "unknown processor '{cpu}'; known are native, generic, {}",
                        names.join(", ")
                    )));
                }
            },
        };
        // AMD's processors take longer for a gather than for as many loads, and
        // a name that may be one of theirs must not do badly there. They move
        // elements between parts of a vector by a table in one step, which LLVM
        // takes for slower than two steps without.
        let slow = name.starts_with("znver") || name == "x86-64-v4";
        if slow && has.vector_bytes == 64 {
            let comma = if features.is_empty() { "" } else { "," };
            let tuning = "+prefer-no-gather,+prefer-no-scatter,+fast-variable-crosslane-shuffle";
            features = format!("{features}{comma}{tuning}");
        }
        Ok(Self {
            name,
            features,
            has,
            gathers: has.vector_bytes == 64 && !slow,
        })
    }
}

impl Processor {
    /// Whether masks have registers of their own.
    pub fn has_masks(&self) -> bool {
        self.has.vector_bytes == 64
    }
}

/// What choices before machine code depend on, for a processor named as in
/// [`Options::cpu`](crate::Options::cpu).
///
/// # Errors
/// [`Error::Usage`] for an unknown processor.
pub fn describe(cpu: &str) -> Res<Machine> {
    let Has {
        vector_bytes, fma, ..
    } = Processor::new(cpu)?.has;
    Ok(Machine {
        bytes: vector_bytes,
        fma,
    })
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
