//! The target machine of the generated code.

use crate::error::{Error, Res};
use ::target::processors::{Features, PROCESSORS, SSE2, named};
use ::target::{Machine, Microarchitecture};
use inkwell::OptimizationLevel;
use inkwell::targets::{CodeModel, InitializationConfig, RelocMode, Target, TargetMachine};

/// The AVX-512 features that a processor must have to count as 64 bytes wide.
const WIDE: &[&str] = &["+avx512f", "+avx512bw", "+avx512dq", "+avx512vl"];

/// A processor as LLVM describes it, with the facts used by this crate.
pub struct Processor {
    name: String,
    features: String,
    /// The instruction sets that it has.
    pub has: Features,
    /// The speed of its gathers.
    make: Microarchitecture,
}

impl Processor {
    /// Looks a processor up by name: `native` is the host with all its features, `generic` the
    /// x86-64 baseline.
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
                let here = Features { vector_bytes: bytes, fma: has("+fma"), rounding: has("+sse4.1") };
                let name = TargetMachine::get_host_cpu_name().to_string();
                let make = named(&name).map_or(Microarchitecture::ZEN4, |(.., make)| *make);
                (name, features, here, make)
            }
            "generic" => ("x86-64".to_owned(), String::new(), SSE2, Microarchitecture::ZEN4),
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
        // Where gathers are slower than separate loads, elements move between 128-bit lanes of a
        // register by one table-driven permutation, which LLVM assumes to be slower than two fixed
        // shuffles.
        if !make.gathers() && has.vector_bytes == 64 {
            let comma = if features.is_empty() { "" } else { "," };
            let tuning = "+prefer-no-gather,+prefer-no-scatter,+fast-variable-crosslane-shuffle";
            features = format!("{features}{comma}{tuning}");
        }
        // By default LLVM uses only 256 bits of a register on Intel processors, because the first
        // ones with AVX-512 reduce their clock rate at full width. Vector loops use the full width
        // anyway.
        if has.vector_bytes == 64 {
            let comma = if features.is_empty() { "" } else { "," };
            features = format!("{features}{comma}-prefer-256-bit");
        }
        Ok(Self { name, features, has, make })
    }
}

impl Processor {
    /// The machine description on which earlier compiler stages base their choices.
    pub fn machine(&self) -> Machine {
        Machine { bytes: self.has.vector_bytes, fma: self.has.fma, uarch: self.make }
    }

    /// Returns true if the processor has mask registers.
    pub fn has_masks(&self) -> bool {
        self.machine().has_masks()
    }
}

/// The machine description for a processor named as in [`Options::cpu`](crate::Options::cpu).
///
/// # Errors
/// [`Error::Usage`] for an unknown processor.
pub fn describe(cpu: &str) -> Res<Machine> {
    Ok(Processor::new(cpu)?.machine())
}

/// LLVM's target machine for a processor. Code is position-independent.
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
        .create_target_machine(&triple, name, features, level, RelocMode::PIC, CodeModel::Default)
        .ok_or_else(|| Error::bug(format_args!("LLVM has no target machine for {name}")))
}
