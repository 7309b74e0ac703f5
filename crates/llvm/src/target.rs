//! The machine that code is made for.

use crate::error::{Error, Res};
use inkwell::OptimizationLevel;
use inkwell::targets::{
    CodeModel, InitializationConfig, RelocMode, Target, TargetMachine, TargetTriple,
};

/// The processors that can be asked for by name, besides `native` and `generic`.
const PROCESSORS: &[&str] = &[
    "x86-64",
    "x86-64-v2",
    "x86-64-v3",
    "x86-64-v4",
    "nehalem",
    "westmere",
    "sandybridge",
    "ivybridge",
    "haswell",
    "broadwell",
    "skylake",
    "skylake-avx512",
    "cascadelake",
    "cooperlake",
    "cannonlake",
    "icelake-client",
    "icelake-server",
    "tigerlake",
    "rocketlake",
    "alderlake",
    "raptorlake",
    "meteorlake",
    "arrowlake",
    "lunarlake",
    "sapphirerapids",
    "emeraldrapids",
    "graniterapids",
    "gracemont",
    "sierraforest",
    "grandridge",
    "btver1",
    "btver2",
    "bdver1",
    "bdver2",
    "bdver3",
    "bdver4",
    "znver1",
    "znver2",
    "znver3",
    "znver4",
];

/// The target machine for a processor's name: `native` is this machine with all
/// that it can do, `generic` any 64-bit one. Code is position independent.
pub fn machine(cpu: &str, level: OptimizationLevel) -> Res<TargetMachine> {
    Target::initialize_x86(&InitializationConfig::default());
    let triple = TargetMachine::get_default_triple();
    let name = triple.as_str().to_string_lossy().into_owned();
    if !name.starts_with("x86_64") {
        return Err(Error::Unsupported(format!("code for {name}")));
    }
    let (cpu, features) = match cpu {
        "native" => (
            TargetMachine::get_host_cpu_name().to_string(),
            TargetMachine::get_host_cpu_features().to_string(),
        ),
        "generic" => ("x86-64".to_owned(), String::new()),
        _ if PROCESSORS.contains(&cpu) => (cpu.to_owned(), String::new()),
        _ => {
            return Err(Error::Usage(format!(
                "unknown processor '{cpu}'; known are native, generic, {}",
                PROCESSORS.join(", ")
            )));
        }
    };
    make(&triple, &cpu, &features, level)
}

fn make(
    triple: &TargetTriple,
    cpu: &str,
    features: &str,
    level: OptimizationLevel,
) -> Res<TargetMachine> {
    let target = Target::from_triple(triple).map_err(Error::bug)?;
    target
        .create_target_machine(
            triple,
            cpu,
            features,
            level,
            RelocMode::PIC,
            CodeModel::Default,
        )
        .ok_or_else(|| Error::bug(format_args!("LLVM makes no target machine for {cpu}")))
}
