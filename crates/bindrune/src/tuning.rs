//! Tuning parameters on the command line: values for evaluated programs, and the tuning files
//! beside programs that are compiled, tested or measured.

use crate::common;
use crate::memory::PassTracker;
use driver::device::{Device, MAX_BLOCK, MAX_SUBGROUP};
use driver::{Failure, Ir, Session, Stage};
use ir::tunable::{Class, Comparison, Listener, Settings};
use runtime::tuning_params::{self, Assignment};
use rustc_hash::FxHasher;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
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
        let known = names(ir);
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

/// A program's parameters and their classes, one per line, as executables print them.
pub fn list(ir: &Ir) -> String {
    let mut text = String::new();
    for (name, class) in names(ir) {
        let written = writeln!(text, "{name} ({class})");
        debug_assert!(written.is_ok(), "writing to a string does not fail");
    }
    text
}

/// The names and classes of a program's parameters.
fn names(ir: &Ir) -> Vec<(String, &'static str)> {
    fn level<L: ir::Level>(program: &ir::Program<L>) -> Vec<(String, &'static str)> {
        let named = ir::tunable::named(program).into_iter();
        let named = named.map(|(name, tunable)| (name, tunable.class.name()));
        let user = ir::tunable::user_params(program).into_iter();
        named.chain(user.map(|name| (name.to_string(), Class::User.name()))).collect()
    }
    match ir {
        Ir::Soacs(program) => level(program),
        Ir::Segs(program) => level(program),
        Ir::Mems(program) => level(program),
        Ir::Imp(program) => (program.tunables.iter())
            .map(|tunable| (tunable.name.to_string(), tunable.class.name()))
            .collect(),
    }
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
        let given = self.of(file);
        let given = given.map_err(|why| Failure::message("tuning-file", why))?;
        if given.is_empty() {
            return Ok(ir);
        }
        let stage = Stage::from_name("imp").ok_or_else(|| Failure::bug("there is no stage `imp`"))?;
        let mut ir = session.run_passes(ir, stage, stages)?;
        let (_, unknown) = options(&list(&ir), &given);
        for line in unknown {
            let _ = writeln!(std::io::stderr(), "{line}");
        }
        if let Ir::Imp(program) = &mut ir {
            for tunable in &mut program.tunables {
                let last = given.iter().rev().find(|given| given.name == *tunable.name);
                tunable.default = last.map_or(tunable.default, |given| given.value);
            }
        }
        Ok(ir)
    }
}

/// Warns about parameters that are given by a former name.
pub fn warn_of_former_names(given: &[Assignment]) {
    for warning in given.iter().filter_map(Assignment::warning) {
        common::note(&format!("warning: {warning}"));
    }
}

/// The description of valid thread-block sizes.
pub fn tblock_size_range() -> String {
    format!("a power of two from {MAX_SUBGROUP} to {MAX_BLOCK}")
}

/// Returns the thread-block size, if it is given.
///
/// # Errors
/// The size is invalid.
pub fn tblock_size(given: &[Assignment]) -> Result<Option<i64>, String> {
    let is_block = |given: &&Assignment| given.name == tuning_params::THREAD_BLOCK_SIZE;
    match given.iter().rev().find(is_block) {
        Some(Assignment { name, value, source, .. }) if !Device::is_block(*value) => {
            Err(format!("{source}{name} must be {}", tblock_size_range()))
        }
        last => Ok(last.map(|given| given.value)),
    }
}

/// The path of a program's tuning file with this extension.
pub fn tuning_file(program: &Path, extension: &OsStr) -> PathBuf {
    let mut file = program.as_os_str().to_owned();
    file.push(".");
    file.push(extension);
    PathBuf::from(file)
}

/// The extension of the record beside a tuning file, which holds the measurements.
pub fn record_extension(tuning: &OsStr) -> OsString {
    let mut extension = tuning.to_owned();
    extension.push(".json");
    extension
}

/// Returns the options that pass assignments to an executable with these parameters, and warnings
/// about other assignments: the file may be for another compiler or machine.
pub fn options(params: &str, given: &[Assignment]) -> (Vec<String>, Vec<String>) {
    let known: BTreeSet<&str> =
        params.lines().map(|line| line.rsplit_once(" (").map_or(line, |(name, _)| name)).collect();
    let given_known = given.iter().filter(|one| known.contains(one.name.as_str()));
    let options = given_known.map(|Assignment { name, value, .. }| format!("--param={name}={value}"));
    (options.collect(), warnings(&known, given))
}

/// Returns warnings about assignments to unknown parameters.
pub fn warnings(known: &BTreeSet<&str>, given: &[Assignment]) -> Vec<String> {
    let is_known = |name: &str| known.contains(name) || tuning_params::is_general(name);
    let unknown = given.iter().filter(|one| !is_known(&one.name));
    let warning = |Assignment { name, source, .. }: &Assignment| {
        let near = tuning_params::nearest(known.iter().copied(), name);
        let advice = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        format!("warning: {source}the program has no tuning parameter `{name}`{advice}")
    };
    unknown.map(warning).collect()
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
    use super::*;

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

    #[test]
    fn unknown_parameters_become_warnings() {
        let given = ["f.a_0=3", "g.b_1=4", "f.a_10=5"]
            .map(|text| Assignment::parse(text).expect("a valid assignment"));
        let (options, unknown) = options("f.a_0 (threshold)\n", &given);
        assert_eq!(options, ["--param=f.a_0=3"]);
        assert_eq!(
            unknown,
            [
                "warning: the program has no tuning parameter `g.b_1`; did you mean `f.a_0`?",
                "warning: the program has no tuning parameter `f.a_10`; did you mean `f.a_0`?"
            ]
        );
    }
}
