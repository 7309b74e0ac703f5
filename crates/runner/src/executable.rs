//! Executables that are built by the compiler's command and called in processes of their own.

use crate::Backend;
use driver::tuning;
use harness::process::{End, Finished, run, run_until};
use harness::programs::{Outcome, first_line};
use ir::tunable::Class;
use runtime::tuning_params::Assignment;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The time limit of calls that have none.
pub const NO_LIMIT: Duration = Duration::from_secs(u32::MAX as u64);

/// The compiler's exit code after an internal error.
pub const COMPILER_BUG: i32 = 3;

/// The compiler option that sets the number of threads per block.
pub(crate) const TBLOCK_SIZE_OPTION: &str = "--tblock-size";

/// Returns the compiler option for blocks of `block` threads.
pub(crate) fn tblock_size_option(block: i64) -> String {
    format!("{TBLOCK_SIZE_OPTION}={block}")
}

/// A compiled program.
#[derive(Clone)]
pub struct Executable {
    path: PathBuf,
    /// Options that set tuning parameters in every call.
    tuning: Vec<String>,
}

impl Executable {
    /// Builds `source` into `path` with the command `compiler` and these options. The error holds
    /// the compiler's message.
    pub fn build(
        compiler: &Path,
        source: &Path,
        path: PathBuf,
        backend: Backend,
        options: &[String],
        limit: Duration,
    ) -> Result<Self, String> {
        let (compiler, name) = (compiler.to_string_lossy(), source.to_string_lossy());
        let output = path.to_string_lossy();
        // Tuning parameters are set when the executable is called.
        let mut command = vec![&*compiler, "build", "--no-tuning", &*name, "-o", &*output];
        command.extend(backend.build_name().iter().flat_map(|name| ["--backend", name]));
        command.extend(options.iter().map(String::as_str));
        let finished = run(&command, b"", limit)?;
        match finished.end {
            End::Code(0) => Ok(Self { path, tuning: Vec::new() }),
            End::Timeout => Err("compilation exceeded the time limit".to_owned()),
            End::OutputLimit => Err("the compiler printed more than 2 GiB".to_owned()),
            End::Signal(signal) => {
                Err(format!("the compiler crashed: signal {signal}: {}", first_line(&finished.stderr)))
            }
            End::Code(COMPILER_BUG) => {
                Err(format!("the compiler panicked: {}", first_line(&finished.stderr)))
            }
            End::Code(_) => {
                let errors = finished.stderr.lines().find(|line| line.starts_with("error"));
                Err(first_line(errors.unwrap_or(&finished.stderr)))
            }
        }
    }

    /// Returns the existing executable beside a program.
    ///
    /// # Errors
    /// There is no such executable.
    pub fn existing(source: &Path) -> Result<Self, String> {
        let path = source.with_extension("");
        if !path.is_file() {
            return Err(format!(
                "there is no executable {}, which --skip-compilation requires",
                path.display()
            ));
        }
        Ok(Self { path: std::path::absolute(&path).map_err(|e| e.to_string())?, tuning: Vec::new() })
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

/// The run times in microseconds that an executable wrote to a file.
pub(crate) fn read_times(file: &Path) -> Result<Vec<u64>, String> {
    let text = std::fs::read_to_string(file).map_err(|e| e.to_string())?;
    let micros: Result<Vec<u64>, _> = text.lines().map(|line| line.trim().parse()).collect();
    micros.map_err(|_| "the executable wrote run times that are not numbers".to_owned())
}

/// Returns options for an executable with these parameters that set each threshold and size
/// parameter to 0, a power of two, or `i64::MAX`, as a hash of the seed and the name determines.
fn random_thresholds(params: &str, seed: u64) -> Vec<String> {
    /// The number of powers of two that are drawn: 2^0 to 2^23.
    const POWERS: u64 = 24;
    let classes = [Class::Threshold, Class::Size].map(|class| format!(" ({})", class.name()));
    let drawn = params.lines().filter_map(|line| classes.iter().find_map(|class| line.strip_suffix(class)));
    let option = |name: &str| {
        let mut hasher = FxHasher::default();
        (seed, name).hash(&mut hasher);
        let value = match (hasher.finish() >> 32) % (POWERS + 2) {
            0 => 0,
            power @ 1..=POWERS => 1 << (power - 1),
            _ => i64::MAX,
        };
        format!("--param={name}={value}")
    };
    drawn.map(option).collect()
}

#[cfg(test)]
mod tests {
    use super::random_thresholds;
    use std::collections::BTreeSet;

    #[test]
    fn random_thresholds_leave_custom_parameters_alone() {
        let params = "f.a_0 (threshold)\nsize (user)\n<=.c_1 (threshold)\n";
        let values = |seed| -> Vec<i64> {
            let options = random_thresholds(params, seed);
            assert_eq!(options.len(), 2);
            let value = |(option, name): (&String, &str)| {
                let value = option.strip_prefix(&format!("--param={name}="));
                value.expect("the option names the parameter").parse().expect("a number")
            };
            options.iter().zip(["f.a_0", "<=.c_1"]).map(value).collect()
        };
        assert_eq!(values(1), values(1));
        let all: BTreeSet<i64> = (0..1000).flat_map(values).collect();
        assert_eq!(all.len(), 26);
        assert_eq!((all.first(), all.last()), (Some(&0), Some(&i64::MAX)));
    }
}
