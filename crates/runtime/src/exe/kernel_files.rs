//! A program's kernels on the command line: written to a file, or loaded from one.

use super::options::{DeviceOptions, KernelFile, Options};
use crate::abi::{CLASS_THRESHOLD, DeviceDesc, Program, TARGET_CUDA, TARGET_HIP, TARGET_OPENCL};
use crate::device::{Config, NO_KERNELS, signatures};
use crate::tuning_params::{ALL_THRESHOLDS, Assignment, THREAD_BLOCK_SIZE, is_general};
use std::fs;

/// The kernels of a program, if they are for this target.
fn kernels_for_target<'a>(program: &'a Program, wanted: &KernelFile) -> Result<&'a DeviceDesc, String> {
    let desc = program.device().ok_or(NO_KERNELS)?;
    let target = match desc.target {
        TARGET_OPENCL => "opencl",
        TARGET_CUDA => "cuda",
        TARGET_HIP => "hip",
        _ => "another kind of device",
    };
    if target == wanted.target {
        return Ok(desc);
    }
    Err(format!("the program's kernels are for {target}, not for {}", wanted.target))
}

/// Writes the source of a program's kernels to a file.
pub(super) fn dump(program: &Program, into: &KernelFile) -> Result<(), String> {
    let source = kernels_for_target(program, into)?.source.get();
    let file = &into.file;
    fs::write(file, source).map_err(|e| format!("cannot write {}: {e}", file.display()))
}

/// Kernels from a file.
#[derive(Default)]
struct Loaded {
    source: Option<String>,
    compiled: Option<Vec<u8>>,
}

/// Loads kernels for a program from a file. Those in text form, PTX included, must have the same
/// parameters as the program's.
fn load(desc: &DeviceDesc, from: &KernelFile) -> Result<Loaded, String> {
    let file = from.file.display();
    let cannot = |e| format!("cannot read {file}: {e}");
    let (mut loaded, mut other) = (Loaded::default(), None);
    if from.compiled {
        let code = fs::read(&from.file).map_err(cannot)?;
        if desc.target == TARGET_CUDA {
            other = signatures::find_mismatch(desc, &String::from_utf8_lossy(&code));
        }
        loaded.compiled = Some(code);
    } else {
        let text = fs::read_to_string(&from.file).map_err(cannot)?;
        other = signatures::find_missing(desc, &text);
        loaded.source = Some(text);
    }
    other.map_or(Ok(loaded), |signature| {
        Err(format!("{file} has no kernel `void {signature}`, which the program launches"))
    })
}

/// The device configuration, with kernels from a file if requested. For `--dump-*` options it is
/// that for writing compiled kernels.
pub(super) fn config(program: &Program, options: &Options) -> Result<Config, String> {
    let DeviceOptions { name, platform, build_options, cache_file, load: from, dump, .. } = &options.device;
    let Loaded { source, compiled } = match from {
        Some(from) => load(kernels_for_target(program, from)?, from)?,
        None => Loaded::default(),
    };
    let mut compiled_into = None;
    if let Some(into) = dump {
        kernels_for_target(program, into)?;
        compiled_into = Some(into.file.clone());
    }
    Ok(Config {
        name: name.clone(),
        platform: platform.clone(),
        build_options: build_options.clone(),
        cache_file: cache_file.clone(),
        source,
        compiled,
        compiled_into,
        timed: options.profile,
        debug: options.debug,
        ..Config::default()
    })
}

/// The messages about options and parameters for all kernels that have no effect.
pub(super) fn without_effect(program: &Program, options: &Options) -> Vec<String> {
    let message = "has no effect: the partition of work over threads is fixed at compile time";
    let given = options.device.without_effect.iter();
    let mut lines: Vec<String> = given.map(|idle| format!("--{idle} {message}")).collect();
    let kernels = program.device().map_or(&[][..], DeviceDesc::kernels);
    let largest = kernels.iter().map(|kernel| kernel.threads).max();
    for Assignment { name, value, source, .. } in &options.params {
        let is_block = name == THREAD_BLOCK_SIZE;
        let has_it = is_block && u64::try_from(*value).ok() == largest;
        let is_idle = is_general(name) && name != ALL_THRESHOLDS;
        if largest.is_none() || has_it || !is_idle {
            continue;
        }
        let advice =
            if is_block { format!("; compile it with --tblock-size={value}") } else { String::new() };
        lines.push(format!("{source}{name} {message}{advice}"));
    }
    lines
}

/// The assignments to tuning parameters: first the common value of all thresholds, so that values
/// set by name override it.
pub(super) fn assignments(program: &Program, options: &Options) -> Vec<Assignment> {
    let (general, own): (Vec<_>, Vec<_>) = (options.params.iter()).partition(|given| is_general(&given.name));
    let all = general.iter().rev().find(|it| it.name == ALL_THRESHOLDS);
    let all = options.device.default_threshold.or_else(|| Some(all?.value)).into_iter().flat_map(|value| {
        let thresholds = program.tunables().iter();
        let thresholds = thresholds.filter(|it| it.class.get() == CLASS_THRESHOLD);
        thresholds.map(move |it| Assignment::new(it.name.get().to_owned(), value))
    });
    all.chain(own.into_iter().cloned()).collect()
}
