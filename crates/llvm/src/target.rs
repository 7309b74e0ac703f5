//! The machine that code is made for.

use crate::error::{Error, Res};
use imp::Machine;
use inkwell::OptimizationLevel;
use inkwell::targets::{CodeModel, InitializationConfig, RelocMode, Target, TargetMachine};

/// The processors that can be asked for by name, besides `native` and `generic`,
/// with the width of their vector registers in bytes and whether they have fused
/// multiply-adds.
const PROCESSORS: &[(&str, u32, bool)] = &[
    ("x86-64", 16, false),
    ("x86-64-v2", 16, false),
    ("x86-64-v3", 32, true),
    ("x86-64-v4", 64, true),
    ("nehalem", 16, false),
    ("westmere", 16, false),
    ("sandybridge", 16, false),
    ("ivybridge", 16, false),
    ("haswell", 32, true),
    ("broadwell", 32, true),
    ("skylake", 32, true),
    ("skylake-avx512", 64, true),
    ("cascadelake", 64, true),
    ("cooperlake", 64, true),
    ("cannonlake", 64, true),
    ("icelake-client", 64, true),
    ("icelake-server", 64, true),
    ("tigerlake", 64, true),
    ("rocketlake", 64, true),
    ("alderlake", 32, true),
    ("raptorlake", 32, true),
    ("meteorlake", 32, true),
    ("arrowlake", 32, true),
    ("lunarlake", 32, true),
    ("sapphirerapids", 64, true),
    ("emeraldrapids", 64, true),
    ("graniterapids", 64, true),
    ("gracemont", 32, true),
    ("sierraforest", 32, true),
    ("grandridge", 32, true),
    ("btver1", 16, false),
    ("btver2", 16, false),
    ("bdver1", 16, false),
    ("bdver2", 16, true),
    ("bdver3", 16, true),
    ("bdver4", 32, true),
    ("znver1", 32, true),
    ("znver2", 32, true),
    ("znver3", 32, true),
    ("znver4", 64, true),
];

/// What AVX-512 must have to count as 64 bytes wide.
const WIDE: &[&str] = &["+avx512f", "+avx512bw", "+avx512dq", "+avx512vl"];

/// A processor as LLVM takes it, and what is known of it here.
pub struct Processor {
    name: String,
    features: String,
    /// Width of the vector registers in bytes, 16 at least.
    pub vector_bytes: u32,
    /// Whether there is an instruction for fused multiply-adds.
    pub fma: bool,
    /// Whether gathers and scatters that leave out lanes are worth their
    /// instructions.
    pub gathers: bool,
}

impl Processor {
    /// A processor by its name: `native` is this machine with all that it can
    /// do, `generic` any 64-bit one.
    pub fn new(cpu: &str) -> Res<Self> {
        let (name, mut features, vector_bytes, fma) = match cpu {
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
                let fma = has("+fma");
                let name = TargetMachine::get_host_cpu_name().to_string();
                (name, features, bytes, fma)
            }
            "generic" => ("x86-64".to_owned(), String::new(), 16, false),
            _ => match PROCESSORS.iter().find(|(name, ..)| *name == cpu) {
                Some((name, bytes, fma)) => ((*name).to_owned(), String::new(), *bytes, *fma),
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
        if slow && vector_bytes == 64 {
            let comma = if features.is_empty() { "" } else { "," };
            let tuning = "+prefer-no-gather,+prefer-no-scatter,+fast-variable-crosslane-shuffle";
            features = format!("{features}{comma}{tuning}");
        }
        Ok(Self {
            name,
            features,
            vector_bytes,
            fma,
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

/// What choices before machine code depend on, for a processor named as in
/// [`Options::cpu`](crate::Options::cpu).
///
/// # Errors
/// [`Error::Usage`] for an unknown processor.
pub fn describe(cpu: &str) -> Res<Machine> {
    let processor = Processor::new(cpu)?;
    Ok(Machine {
        bytes: processor.vector_bytes,
        fma: processor.fma,
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
