//! Shared parts of subcommands: compiler options, reading sources, reporting errors.

use clap::Args;
use driver::device::Device;
use driver::tuning::{self, TuningFiles, tblock_size_range};
use driver::{CopyLimits, DeviceTarget, Failure, Flatten, Options, Session, VectorLanes};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use syntax::diag::Diagnostic;
use syntax::render;

/// Options of every command that compiles.
#[derive(Args, Clone)]
pub struct Compiler {
    /// The processor: `native`, `generic`, `portable` (the executable contains code for x86-64-v2,
    /// -v3 and -v4 and selects the best at start), one of these three levels, or an LLVM name.
    #[arg(long, default_value = "native", value_name = "CPU")]
    pub cpu: String,
    /// Floating point: with `fused`, `a * b + c` may round once; with `strict`, each operation
    /// rounds.
    #[arg(long, default_value = "fused", value_parser = ["fused", "strict"])]
    pub fp: String,
    /// Fusion of combinators; `off` shows what it gains.
    #[arg(long, default_value = "on", value_parser = ["on", "off"])]
    pub fuse: String,
    /// The bytes of a loop's states up to which its reverse derivative saves all of them; beyond it, some, and
    /// iterations run again.
    #[arg(long, default_value_t = ir::Options::TAPE_LIMIT, value_name = "BYTES")]
    pub tape_limit: u64,
    /// Vector lanes of parallel loops: `auto`, `off`, or a power of two from 2 to 64 for every loop
    /// that can be vectorised.
    #[arg(long, default_value = "auto", value_name = "LANES", value_parser = lanes)]
    pub lanes: VectorLanes,
    /// Flattening of nested parallelism: `none` (only the outermost level is parallel), `moderate`
    /// (one version, by heuristics), `incremental` (several versions, selected by sizes at run
    /// time), or `full` (one version, all levels are parallel).
    #[arg(long, default_value = "incremental", value_name = "MODE", value_parser = flatten)]
    pub flatten: Flatten,
    /// The number of threads per block on devices, a power of two from 32 to 1024. The default is
    /// the value in the tuning file beside the program (`default_tblock_size`), or 256. Sums of
    /// floats may be rounded differently with another number.
    #[arg(long, value_name = "N", value_parser = tblock_size)]
    pub tblock_size: Option<i64>,
    /// Measure parallel nests: the executable's option `-P` then prints the time, operations and bytes of each.
    #[arg(long)]
    pub profile: bool,
    /// The number of rewrites that the optimiser may make, to find a wrong one by bisection.
    #[arg(long, value_name = "N")]
    pub fuel: Option<u64>,
    /// The number of names that copies of functions may add; beyond it, large functions are shared
    /// between calls. With 0, all functions are shared where possible.
    #[arg(long, value_name = "N")]
    pub copies: Option<usize>,
    /// LLVM's optimisation level; 0 shows what LLVM contributes.
    #[arg(long, default_value_t = 3, value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(0..=3))]
    pub llvm_level: u8,
    /// The compiler's memory limit; the default is that of the machine or the container.
    #[arg(long = "compiler-memory", value_name = "BYTES", hide = true)]
    pub memory: Option<u64>,
    /// Verify the IR after every pass.
    #[arg(long)]
    pub verify: bool,
    /// The maximum number of compiler threads; the default is that of processors. The output does
    /// not depend on it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
}

impl Compiler {
    /// [`Self::options_for`] with the thread-block size of the program's tuning file, unless the
    /// command line sets one.
    ///
    /// # Errors
    /// The tuning file is invalid; the message has been printed.
    pub fn tuned_options(
        &self,
        backend: &str,
        executable: bool,
        tuning: &TuningFiles,
        file: &Path,
    ) -> Result<Options, ExitCode> {
        let mut options = self.options_for(backend, executable);
        if options.stack.has_device() && self.tblock_size.is_none() {
            let given = tuning.of(file);
            let size = given.and_then(|given| tuning::tblock_size(&given)).map_err(report_error)?;
            options.device = size.map_or(options.device, |n| options.device.with_block(n));
        }
        Ok(options)
    }

    /// The session's options for a backend that compiles host code to machine code.
    pub fn options_for(&self, backend: &str, executable: bool) -> Options {
        let options = self.options(executable);
        let target = DeviceTarget::ALL.into_iter().find(|it| it.name() == backend);
        match target {
            Some(target) => options.on_device(target),
            None => options,
        }
    }

    /// The session's options for the CPU backend.
    pub fn options(&self, executable: bool) -> Options {
        let defaults = Options::default();
        Options {
            cpu: self.cpu.clone(),
            strict_floats: self.fp == "strict",
            fuse: self.fuse == "on",
            tape_limit: self.tape_limit,
            fuel: self.fuel,
            llvm_level: self.llvm_level,
            lanes: self.lanes,
            stack: defaults.stack,
            kernels: defaults.kernels,
            device: (self.tblock_size).map_or(defaults.device, |n| defaults.device.with_block(n)),
            flatten: self.flatten,
            verify: self.verify || defaults.verify,
            executable,
            remarks: false,
            profile: self.profile,
            entry_points: defaults.entry_points,
            only_entry: defaults.only_entry,
            safe: defaults.safe,
            copies: self.copies.map_or(defaults.copies, |copied| CopyLimits {
                copied,
                heavy: copied.min(defaults.copies.heavy),
            }),
            threads: self.threads.map_or(defaults.threads, usize::from),
        }
    }
}

fn flatten(text: &str) -> Result<Flatten, String> {
    let mode = Flatten::ALL.into_iter().find(|mode| mode.name() == text);
    mode.ok_or_else(|| "expected `none`, `moderate`, `incremental` or `full`".to_owned())
}

fn tblock_size(text: &str) -> Result<i64, String> {
    let size = text.parse().ok().filter(|size| Device::is_block(*size));
    size.ok_or_else(|| format!("expected {}", tblock_size_range()))
}

fn lanes(text: &str) -> Result<VectorLanes, String> {
    match (text, text.parse::<u32>()) {
        ("auto", _) => Ok(VectorLanes::Auto),
        ("off", _) => Ok(VectorLanes::Off),
        (_, Ok(lanes)) if (2..=64).contains(&lanes) && lanes.is_power_of_two() => {
            Ok(VectorLanes::Width(lanes))
        }
        _ => Err("expected `auto`, `off` or a power of two from 2 to 64".to_owned()),
    }
}

/// Prints warnings and, on failure, the errors; the exit code is the error value.
pub fn report<T>(session: &Session, result: Result<T, Failure>) -> Result<T, ExitCode> {
    show(session, &session.warnings);
    result.map_err(|Failure(errors)| {
        show(session, &errors);
        ExitCode::FAILURE
    })
}

/// Prints diagnostics.
pub fn show(session: &Session, diagnostics: &[Diagnostic]) {
    let stderr = std::io::stderr();
    let colour = stderr.is_terminal();
    let mut stderr = stderr.lock();
    for diagnostic in diagnostics {
        let text = render::render(diagnostic, &session.sources, colour);
        // If standard error is closed, the exit code alone reports the failure.
        let _ = writeln!(stderr, "{}", text.trim_end());
    }
}

/// Prints an error that has no position in the program text.
pub fn report_error(message: impl std::fmt::Display) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "bindrune: {message}");
    ExitCode::FAILURE
}

/// Prints a line to standard error; write errors are ignored.
pub fn note(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Makes Ctrl-C set the flag, and end the process if the flag is already set.
pub fn handle_ctrl_c(interrupt: &Arc<AtomicBool>) -> Result<(), ExitCode> {
    use signal_hook::consts::SIGINT;
    use signal_hook::flag::{register, register_conditional_shutdown};
    let (first, second) = (Arc::clone(interrupt), Arc::clone(interrupt));
    register_conditional_shutdown(SIGINT, 128 + SIGINT, first)
        .and_then(|_| register(SIGINT, second))
        .map(|_| ())
        .map_err(|e| report_error(format_args!("cannot handle Ctrl-C: {e}")))
}

/// Ignores SIGXFSZ, so that exceeding the file size limit is a write error and does not kill the
/// process.
pub fn ignore_file_size_signal() -> Result<(), ExitCode> {
    let unread = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::signal::SIGXFSZ, unread)
        .map(|_| ())
        .map_err(|e| report_error(format_args!("cannot ignore SIGXFSZ: {e}")))
}

/// Writes text to standard output. A closed pipe fails without a message.
pub fn write_stdout(text: &str) -> Result<(), ExitCode> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Err(ExitCode::FAILURE),
        Err(error) => Err(report_error(format_args!("cannot write to standard output: {error}"))),
    }
}

/// The path of this program, which builds other programs.
pub fn compiler() -> Result<PathBuf, ExitCode> {
    std::env::current_exe().map_err(report_error)
}

/// Writes a file.
pub fn write_file(file: &Path, text: &str) -> Result<(), ExitCode> {
    std::fs::write(file, text).map_err(|e| report_error(format_args!("cannot write {}: {e}", file.display())))
}

/// Reads a file as text.
pub fn read_text(file: &PathBuf) -> Result<String, ExitCode> {
    let bytes = std::fs::read(file)
        .map_err(|error| report_error(format_args!("cannot read {}: {error}", file.display())))?;
    String::from_utf8(bytes)
        .map_err(|_| report_error(format_args!("{} is not valid UTF-8 text", file.display())))
}
