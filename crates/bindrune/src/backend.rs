//! Backends of the commands that run many programs, and executables that are built and called in
//! processes of their own.

use crate::panics;
use crate::tuning::random_thresholds;
use driver::{DeviceTarget, tuning};
use harness::process::{End, Finished, run, run_until};
use harness::programs::{Outcome, first_line};
use runtime::tuning_params::Assignment;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// An execution backend.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Backend {
    /// The interpreter.
    Interp,
    /// Compiled code on all cores.
    Cpu,
    /// Portable C, on one core.
    C,
    /// Kernels on a device.
    Device(DeviceTarget),
}

impl Backend {
    /// The names that the command line accepts, including those of the reference compiler.
    pub const NAMES: [&'static str; 8] =
        ["cpu", "multicore", "c", "opencl", "cuda", "hip", "interp", "interpreter"];

    /// Returns the backend of a name in [`Self::NAMES`]; unknown names select [`Self::Cpu`].
    pub fn from_name(name: &str) -> Self {
        match name {
            "interp" | "interpreter" => Self::Interp,
            "c" => Self::C,
            _ => {
                let target = DeviceTarget::ALL.into_iter().find(|it| it.name() == name);
                target.map_or(Self::Cpu, Self::Device)
            }
        }
    }

    /// Returns the tags that exclude programs and cases from this backend.
    pub fn excluded(self, name: &str) -> Vec<String> {
        let names: &[&str] = match self {
            Self::Interp => &["no_interp", "compiled"],
            Self::Cpu => &["no_cpu", "no_multicore"],
            Self::C => &["no_c"],
            // Only `no_<name>`, added below.
            Self::Device(_) => &[],
        };
        let by_name = format!("no_{name}");
        let all = names.iter().map(|name| (*name).to_owned());
        all.chain([by_name]).collect()
    }

    /// Returns the compiler options for a program with this tuning file: `options`, and the file's
    /// thread-block size unless `options` set one.
    ///
    /// # Errors
    /// The file sets an invalid thread-block size.
    pub fn options_for_tuning(self, given: &[Assignment], options: &[String]) -> Result<Vec<String>, String> {
        let mut options = options.to_vec();
        if self.tunes_tblock_size(&options)
            && let Some(block) = tuning::tblock_size(given)?
        {
            options.push(tblock_size_option(block));
        }
        Ok(options)
    }

    /// Returns true if the backend has thread blocks whose size these compiler options leave open.
    pub fn tunes_tblock_size(self, options: &[String]) -> bool {
        let is_set = options.iter().any(|it| it.starts_with(TBLOCK_SIZE_OPTION));
        matches!(self, Self::Device(_)) && !is_set
    }

    /// The compiler options that select the backend.
    fn options(self) -> &'static [&'static str] {
        match self {
            Self::C => &["--backend=c"],
            Self::Device(DeviceTarget::OpenCl) => &["--backend=opencl"],
            Self::Device(DeviceTarget::Cuda) => &["--backend=cuda"],
            Self::Device(DeviceTarget::Hip) => &["--backend=hip"],
            Self::Interp | Self::Cpu => &[],
        }
    }
}

/// The time limit of calls that have none.
pub const NO_LIMIT: Duration = Duration::from_secs(u32::MAX as u64);

/// The compiler option that sets the number of threads per block.
const TBLOCK_SIZE_OPTION: &str = "--tblock-size";

/// Returns the compiler option for blocks of `block` threads.
pub fn tblock_size_option(block: i64) -> String {
    format!("{TBLOCK_SIZE_OPTION}={block}")
}

/// A compiled program.
pub struct Executable {
    path: PathBuf,
    backend: Backend,
    /// Options that set tuning parameters in every call.
    tuning: Vec<String>,
}

impl Executable {
    /// Builds `source` into `path` with the running `bindrune` binary and these options. The error
    /// holds the compiler's message.
    pub fn build(
        source: &Path,
        path: PathBuf,
        backend: Backend,
        options: &[String],
        limit: Duration,
    ) -> Result<Self, String> {
        let compiler = std::env::current_exe().map_err(|e| e.to_string())?;
        let (compiler, name) = (compiler.to_string_lossy(), source.to_string_lossy());
        let output = path.to_string_lossy();
        // Tuning parameters are set when the executable is called.
        let mut command = vec![&*compiler, "build", "--no-tuning", &*name, "-o", &*output];
        command.extend(backend.options());
        command.extend(options.iter().map(String::as_str));
        let finished = run(&command, b"", limit)?;
        match finished.end {
            End::Code(0) => Ok(Self { path, backend, tuning: Vec::new() }),
            End::Timeout => Err("compilation exceeded the time limit".to_owned()),
            End::OutputLimit => Err("the compiler printed more than 2 GiB".to_owned()),
            End::Signal(signal) => {
                Err(format!("the compiler crashed: signal {signal}: {}", first_line(&finished.stderr)))
            }
            End::Code(panics::EXIT_CODE) => {
                Err(format!("the compiler panicked: {}", first_line(&finished.stderr)))
            }
            End::Code(_) => {
                let errors = finished.stderr.lines().find(|line| line.starts_with("error"));
                Err(first_line(errors.unwrap_or(&finished.stderr)))
            }
        }
    }

    /// Returns the existing executable beside a program (`--skip-compilation`).
    ///
    /// # Errors
    /// There is no such executable.
    pub fn existing(source: &Path, backend: Backend) -> Result<Self, String> {
        let path = source.with_extension("");
        if !path.is_file() {
            return Err(format!(
                "there is no executable {}, which --skip-compilation requires",
                path.display()
            ));
        }
        Ok(Self { path: std::path::absolute(&path).map_err(|e| e.to_string())?, backend, tuning: Vec::new() })
    }

    /// Lists the tuning parameters, one per line: the name, and its class in parentheses.
    ///
    /// # Errors
    /// The call of the executable fails.
    pub fn params(&self, limit: Duration) -> Result<String, String> {
        self.list_output(&["--print-params".to_owned()], limit)
    }

    /// Returns the values of the tuning parameters when called with these options.
    ///
    /// # Errors
    /// The call fails, or its output does not parse.
    pub fn values(&self, options: &[String], limit: Duration) -> Result<Vec<Assignment>, String> {
        let options = [options, &["--print-values".to_owned()]].concat();
        let text = self.list_output(&options, limit)?;
        let values = text.lines().map(Assignment::parse);
        values.collect::<Result<_, _>>().map_err(str::to_owned)
    }

    /// Returns the standard output of a call that lists tuning parameters.
    fn list_output(&self, options: &[String], limit: Duration) -> Result<String, String> {
        let path = self.path.to_string_lossy();
        let mut command = vec![&*path];
        command.extend(options.iter().map(String::as_str));
        let finished = run(&command, b"", limit)?;
        if finished.end != End::Code(0) {
            return Err(format!(
                "the executable cannot list its tuning parameters: {}",
                first_line(&finished.stderr)
            ));
        }
        Ok(String::from_utf8_lossy(&finished.stdout).into_owned())
    }

    /// Sets tuning parameters for all calls. Returns warnings about parameters that the program
    /// does not have.
    ///
    /// # Errors
    /// The executable's parameters cannot be listed.
    pub fn tune(&mut self, given: &[Assignment], limit: Duration) -> Result<Vec<String>, String> {
        if given.is_empty() {
            return Ok(Vec::new());
        }
        let (options, unknown) = tuning::options(&self.params(limit)?, given);
        self.tuning.extend(options);
        Ok(unknown)
    }

    /// Sets all thresholds and size parameters, for all calls, to values drawn from a seed. Options
    /// given later override them.
    ///
    /// # Errors
    /// The executable's parameters cannot be listed.
    pub fn draw_thresholds(&mut self, seed: u64, limit: Duration) -> Result<(), String> {
        let options = random_thresholds(&self.params(limit)?, seed);
        self.tuning.extend(options);
        Ok(())
    }

    /// Returns the same executable with the default values of all parameters.
    pub fn untuned(&self) -> Self {
        Self { path: self.path.clone(), backend: self.backend, tuning: Vec::new() }
    }

    /// Calls an entry point. The results are read back if `call.results` is set.
    pub fn call(&self, entry: &str, input: &[u8], call: &CallOptions<'_>) -> Outcome {
        match self.run(entry, input, call, &AtomicBool::new(false)) {
            Ok(finished) => Outcome::of(finished, call.results),
            Err(why) => Outcome::Abnormal(why),
        }
    }

    /// Calls an entry point. Setting `stop` ends the call early.
    ///
    /// # Errors
    /// The executable does not start.
    pub fn run(
        &self,
        entry: &str,
        input: &[u8],
        call: &CallOptions<'_>,
        stop: &AtomicBool,
    ) -> Result<Finished, String> {
        let path = self.path.to_string_lossy();
        let mut args = vec![&*path, "-e", entry];
        args.extend(self.tuning.iter().map(String::as_str));
        args.extend(call.options.iter().map(String::as_str));
        args.push(if call.results { "-b" } else { "-n" });
        run_until(&args, input, call.limit, stop)
    }
}

/// The parameters of a call.
pub struct CallOptions<'a> {
    /// Further options.
    pub options: &'a [String],
    /// True if the results are read back.
    pub results: bool,
    /// The time limit.
    pub limit: Duration,
}

/// Creates a temporary directory for executables, removed on drop.
pub fn work_folder() -> Result<tempfile::TempDir, ExitCode> {
    crate::link::work_folder().map_err(crate::common::report_error)
}
