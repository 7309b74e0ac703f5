//! The machine that code is made for.

use crate::error::{Error, Res};
use inkwell::OptimizationLevel;
use inkwell::targets::{CodeModel, InitializationConfig, RelocMode, Target, TargetMachine};

/// The processors that can be asked for by name, besides `native` and `generic`,
/// with the width of their vector registers in bytes.
const PROCESSORS: &[(&str, u32)] = &[
    ("x86-64", 16),
    ("x86-64-v2", 16),
    ("x86-64-v3", 32),
    ("x86-64-v4", 64),
    ("nehalem", 16),
    ("westmere", 16),
    ("sandybridge", 16),
    ("ivybridge", 16),
    ("haswell", 32),
    ("broadwell", 32),
    ("skylake", 32),
    ("skylake-avx512", 64),
    ("cascadelake", 64),
    ("cooperlake", 64),
    ("cannonlake", 64),
    ("icelake-client", 64),
    ("icelake-server", 64),
    ("tigerlake", 64),
    ("rocketlake", 64),
    ("alderlake", 32),
    ("raptorlake", 32),
    ("meteorlake", 32),
    ("arrowlake", 32),
    ("lunarlake", 32),
    ("sapphirerapids", 64),
    ("emeraldrapids", 64),
    ("graniterapids", 64),
    ("gracemont", 32),
    ("sierraforest", 32),
    ("grandridge", 32),
    ("btver1", 16),
    ("btver2", 16),
    ("bdver1", 16),
    ("bdver2", 16),
    ("bdver3", 16),
    ("bdver4", 32),
    ("znver1", 32),
    ("znver2", 32),
    ("znver3", 32),
    ("znver4", 64),
];

/// What AVX-512 must have to count as 64 bytes wide.
const WIDE: &[&str] = &["+avx512f", "+avx512bw", "+avx512dq", "+avx512vl"];

/// A processor as LLVM takes it, and what is known of it here.
pub struct Processor {
    name: String,
    features: String,
    /// Width of the vector registers in bytes, 16 at least.
    pub vector_bytes: u32,
    /// Whether gathers and scatters that leave out lanes are worth their
    /// instructions.
    pub gathers: bool,
}

impl Processor {
    /// A processor by its name: `native` is this machine with all that it can
    /// do, `generic` any 64-bit one.
    pub fn new(cpu: &str) -> Res<Self> {
        let (name, mut features, vector_bytes) = match cpu {
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
                let name = TargetMachine::get_host_cpu_name().to_string();
                (name, features, bytes)
            }
            "generic" => ("x86-64".to_owned(), String::new(), 16),
            _ => match PROCESSORS.iter().find(|(name, _)| *name == cpu) {
                Some((name, bytes)) => ((*name).to_owned(), String::new(), *bytes),
                None => {
                    let names: Vec<_> = PROCESSORS.iter().map(|(name, _)| *name).collect();
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
        if slow && vector_bytes == 64 {
            let comma = if features.is_empty() { "" } else { "," };
            let tuning = "+prefer-no-gather,+prefer-no-scatter,+fast-variable-crosslane-shuffle";
            features = format!("{features}{comma}{tuning}");
        }
        Ok(Self {
            name,
            features,
            vector_bytes,
            gathers: vector_bytes == 64 && !slow,
        })
    }
}

impl Processor {
    /// Whether masks have registers of their own.
    pub fn has_masks(&self) -> bool {
        self.vector_bytes == 64
    }
}

/// The width in bytes of the vector registers that code for a processor uses,
/// the processor named as in [`Options::cpu`](crate::Options::cpu).
///
/// # Errors
/// [`Error::Usage`] for an unknown processor.
pub fn vector_bytes(cpu: &str) -> Res<u32> {
    Ok(Processor::new(cpu)?.vector_bytes)
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
