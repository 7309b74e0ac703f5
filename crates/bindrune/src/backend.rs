//! What programs run on, for the commands that run many: names of backends, and
//! executables that are built and called in processes of their own.

use crate::panics;
use crate::tuning;
use driver::DeviceTarget;
use harness::process::{End, Finished, run, run_until};
use harness::programs::{Outcome, first_line};
use runtime::tuning::Assignment;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A backend.
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
    /// The names that a user can give, the reference compiler's among them.
    pub const NAMES: [&'static str; 8] =
        ["cpu", "multicore", "c", "opencl", "cuda", "hip", "interp", "interpreter"];

    /// The backend of one of the names.
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

    /// Tags of programs and cases that are not for this backend.
    pub fn excluded(self, name: &str) -> Vec<String> {
        let names: &[&str] = match self {
            Self::Interp => &["no_interp", "compiled"],
            Self::Cpu => &["no_cpu", "no_multicore"],
            Self::C => &["no_c"],
            // The tag with its own name.
            Self::Device(_) => &[],
        };
        let own = format!("no_{name}");
        let all = names.iter().map(|name| (*name).to_owned());
        all.chain([own]).collect()
    }

    /// Options of the compiler for a program with this tuning file: these, and what kernels'
    /// text has of the file unless they say it.
    ///
    /// # Errors
    /// The file asks for what there cannot be.
    pub fn tuned(self, given: &[Assignment], options: &[String]) -> Result<Vec<String>, String> {
        let mut options = options.to_vec();
        if self.has_blocks(&options)
            && let Some(block) = tuning::block(given)?
        {
            options.push(blocks(block));
        }
        Ok(options)
    }

    /// Whether programs have blocks of threads, as many as these options of the compiler do not
    /// say.
    pub fn has_blocks(self, options: &[String]) -> bool {
        let said = options.iter().any(|it| it.starts_with(BLOCKS));
        matches!(self, Self::Device(_)) && !said
    }

    /// Options of the compiler that make executables what the backend promises.
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

/// Nobody waits longer.
pub const FOREVER: Duration = Duration::from_secs(u32::MAX as u64);

/// The compiler's option for how many threads a block of a device has.
const BLOCKS: &str = "--tblock-size";

/// That option.
pub fn blocks(block: i64) -> String {
    format!("{BLOCKS}={block}")
}

/// An executable made of a program.
pub struct Executable {
    path: PathBuf,
    backend: Backend,
    /// Options that set tuning parameters.
    tuning: Vec<String>,
}

impl Executable {
    /// Builds `source` into `path` with this very program, given these options. The
    /// error says why the compiler fails.
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
        // Values of parameters are given to the executable.
        let mut command = vec![&*compiler, "build", "--no-tuning", &*name, "-o", &*output];
        command.extend(backend.options());
        command.extend(options.iter().map(String::as_str));
        let finished = run(&command, b"", limit)?;
        match finished.end {
            End::Code(0) => Ok(Self { path, backend, tuning: Vec::new() }),
            End::Timeout => Err("compiling does not end in time".to_owned()),
            End::Flood => Err("compiling says more than 2 GiB".to_owned()),
            End::Signal(signal) => {
                Err(format!("the compiler crashes: signal {signal}: {}", first_line(&finished.stderr)))
            }
            End::Code(panics::EXIT_CODE) => {
                Err(format!("the compiler breaks: {}", first_line(&finished.stderr)))
            }
            End::Code(_) => {
                let errors = finished.stderr.lines().find(|line| line.starts_with("error"));
                Err(first_line(errors.unwrap_or(&finished.stderr)))
            }
        }
    }

    /// The executable that lies beside a program already.
    ///
    /// # Errors
    /// That there is none.
    pub fn beside(source: &Path, backend: Backend) -> Result<Self, String> {
        let path = source.with_extension("");
        if !path.is_file() {
            return Err(format!(
                "there is no executable {}, and --skip-compilation wants it",
                path.display()
            ));
        }
        Ok(Self { path: std::path::absolute(&path).map_err(|e| e.to_string())?, backend, tuning: Vec::new() })
    }

    /// Its tuning parameters, a line each: the name, and in parentheses what it is.
    ///
    /// # Errors
    /// Why it does not say which ones it has.
    pub fn params(&self, limit: Duration) -> Result<String, String> {
        self.listed(&["--print-params".to_owned()], limit)
    }

    /// The values that they have where it is called with these options.
    ///
    /// # Errors
    /// Why it does not say them.
    pub fn values(&self, options: &[String], limit: Duration) -> Result<Vec<Assignment>, String> {
        let options = [options, &["--print-values".to_owned()]].concat();
        let text = self.listed(&options, limit)?;
        let values = text.lines().map(Assignment::parse);
        values.collect::<Result<_, _>>().map_err(str::to_owned)
    }

    /// What it says of its tuning parameters.
    fn listed(&self, options: &[String], limit: Duration) -> Result<String, String> {
        let path = self.path.to_string_lossy();
        let mut command = vec![&*path];
        command.extend(options.iter().map(String::as_str));
        let finished = run(&command, b"", limit)?;
        if finished.end != End::Code(0) {
            return Err(format!("its tuning parameters are not listed: {}", first_line(&finished.stderr)));
        }
        Ok(String::from_utf8_lossy(&finished.stdout).into_owned())
    }

    /// Sets tuning parameters for all calls; what is to be said of those that the
    /// program does not have.
    ///
    /// # Errors
    /// Why the executable does not say which ones it has.
    pub fn tune(&mut self, given: &[Assignment], limit: Duration) -> Result<Vec<String>, String> {
        if given.is_empty() {
            return Ok(Vec::new());
        }
        let (options, unknown) = tuning::options(&self.params(limit)?, given);
        self.tuning.extend(options);
        Ok(unknown)
    }

    /// Sets all thresholds to values drawn from a seed, for all calls; what else is said
    /// of them counts more if it is said later.
    ///
    /// # Errors
    /// Why the executable does not say which ones it has.
    pub fn draw_thresholds(&mut self, seed: u64, limit: Duration) -> Result<(), String> {
        let options = tuning::drawn(&self.params(limit)?, seed);
        self.tuning.extend(options);
        Ok(())
    }

    /// The same with the default values of all parameters.
    pub fn untuned(&self) -> Self {
        Self { path: self.path.clone(), backend: self.backend, tuning: Vec::new() }
    }

    /// Calls an entry point; results are read back if that is wanted.
    pub fn call(&self, entry: &str, input: &[u8], call: &Call<'_>) -> Outcome {
        match self.finish(entry, input, call, &AtomicBool::new(false)) {
            Ok(finished) => Outcome::of(finished, call.results),
            Err(why) => Outcome::Broken(why),
        }
    }

    /// Calls an entry point; the call is ended, too, when `stop` is set.
    ///
    /// # Errors
    /// Why the executable does not start.
    pub fn finish(
        &self,
        entry: &str,
        input: &[u8],
        call: &Call<'_>,
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

/// How an executable is called.
pub struct Call<'a> {
    /// Further options.
    pub options: &'a [String],
    /// Whether the results are wanted.
    pub results: bool,
    /// How long it may take.
    pub limit: Duration,
}

/// A folder for executables, removed when it is dropped.
pub fn work_folder() -> Result<tempfile::TempDir, ExitCode> {
    crate::link::work_folder().map_err(crate::common::fail)
}
