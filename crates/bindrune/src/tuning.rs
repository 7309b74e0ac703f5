//! Tuning parameters on the command line: values for evaluated programs, and the tuning files
//! beside programs that are compiled, tested or measured.

use crate::common;
use crate::memory::PassTracker;
use driver::tuning::{parameters, tuning_file};
use driver::{Failure, Ir, Session};
use ir::tunable::{Class, Comparison, Listener, Settings};
use runtime::tuning_params::{self, Assignment};
use rustc_hash::FxHasher;
use std::ffi::{OsStr, OsString};
use std::hash::{Hash as _, Hasher as _};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `dev --run`.
#[derive(clap::Args)]
pub struct ParameterOptions {
    /// Set a tuning parameter of the evaluated program.
    #[arg(long, value_name = "NAME=N", requires = "run", value_parser = Assignment::parse)]
    param: Vec<Assignment>,
    /// Set tuning parameters from a file of lines NAME=N. `--param` overrides it.
    #[arg(long, value_name = "FILE", requires = "run")]
    tuning: Vec<PathBuf>,
    /// Print the program's tuning parameters at that stage, and their classes.
    #[arg(long)]
    pub print_params: bool,
    /// Log each comparison with a tuning parameter to standard error.
    #[arg(long, requires = "run")]
    log_versions: bool,
}

impl ParameterOptions {
    /// Returns the parameter values for a program.
    pub fn settings(&self, ir: &Ir) -> Result<Settings, ExitCode> {
        let mut given = Vec::new();
        for file in &self.tuning {
            given.extend(tuning_params::read_file(file).map_err(common::report_error)?);
        }
        given.extend(self.param.iter().cloned());
        warn_of_former_names(&given);
        let known = parameters(ir);
        let known: Vec<&str> = known.iter().map(|(name, _)| name.as_str()).collect();
        tuning_params::resolve(&known, &given).map_err(common::report_error)?;
        let pairs = given.into_iter().map(|given| (given.name, given.value));
        Ok(Settings(pairs.collect()))
    }

    /// Returns the listener for comparisons, if they are logged.
    pub fn listener(&self) -> Option<Listener> {
        self.log_versions.then_some(log)
    }
}

fn log(Comparison { name, size, threshold }: Comparison<'_>) {
    // Write errors of standard error are ignored.
    let _ = writeln!(std::io::stderr(), "{}", tuning_params::comparison(name, size, threshold));
}

/// Options of `test`, `bench`, `run` and `build`.
#[derive(clap::Args, Clone)]
pub struct TuningFileOptions {
    /// Read the tuning file with this extension beside each program, if there is one.
    #[arg(long, value_name = "EXTENSION", default_value = "tuning")]
    tuning: OsString,
    /// Ignore tuning files.
    #[arg(long)]
    no_tuning: bool,
}

impl TuningFileOptions {
    /// Tuning files with this extension.
    pub fn with(extension: &OsStr) -> Self {
        Self { tuning: extension.to_owned(), no_tuning: false }
    }

    /// Returns true if a program has a tuning file that is read.
    pub fn has_file(&self, program: &Path) -> bool {
        !self.no_tuning && tuning_file(program, &self.tuning).exists()
    }

    /// Returns the assignments in a program's tuning file; empty if there is none.
    ///
    /// # Errors
    /// The file cannot be read or is invalid.
    pub fn of(&self, program: &Path) -> Result<Vec<Assignment>, String> {
        if !self.has_file(program) {
            return Ok(Vec::new());
        }
        let given = tuning_params::read_file(&tuning_file(program, &self.tuning))?;
        warn_of_former_names(&given);
        Ok(given)
    }

    /// Makes the values in a program's tuning file, if there is one, the defaults of its
    /// parameters. Warns about unknown parameters.
    pub fn apply(
        &self,
        file: &Path,
        session: &mut Session,
        ir: Ir,
        stages: &mut PassTracker,
    ) -> Result<Ir, Failure> {
        let given = self.of(file).map_err(|why| Failure::message("tuning-file", why))?;
        let (ir, unknown) = session.tune(ir, &given, stages)?;
        unknown.iter().for_each(|line| common::note(line));
        Ok(ir)
    }
}

/// Warns about parameters that are given by a former name.
pub fn warn_of_former_names(given: &[Assignment]) {
    for warning in given.iter().filter_map(Assignment::warning) {
        common::note(&format!("warning: {warning}"));
    }
}

/// Returns options for an executable with these parameters that set each threshold and size
/// parameter to 0, a power of two, or `i64::MAX`, as a hash of the seed and the name determines.
pub fn random_thresholds(params: &str, seed: u64) -> Vec<String> {
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
