//! Measures the entry points of one program.
//!
//! Each data set has one warm-up run and at least [`Limits::runs`] measured ones, which together
//! take at least half a second. While the margin of error of the mean exceeds 1 % (and 1 us),
//! further runs are added until [`Limits::converge`]. The results of the first runs are compared
//! with those in the test block. [`Gaps`] are the gains of tuning files.

mod compare;
mod gap;
mod measure;

use crate::Backend;
use crate::executable::{Executable, NO_LIMIT};
use crate::setup::{Log, Setup, spec};
pub use compare::{Order, compare};
use gap::Gap;
pub use gap::Gaps;
use harness::oracle::Oracle;
pub use measure::Limits;
use measure::{Measured, Target};
use serde_json::{Map, Value, json};
use std::path::Path;
use std::sync::Arc;
use tune::statistics::Statistics;

/// The tuned executable, and with `--untuned-vs-tuned` the untuned one.
type TunedAndUntuned = (Executable, Option<Executable>);

/// The benchmarks of one command.
pub struct Bench<'a> {
    /// The programs, and how they run.
    pub setup: Setup,
    /// Termination criteria.
    pub limits: Limits,
    /// True if untuned and tuned executables are compared.
    pub gaps: bool,
    /// The folder of executables and temporary files.
    pub work: &'a Path,
    /// The receiver of messages.
    pub log: &'a dyn Log,
}

impl Bench<'_> {
    /// Returns the executable of a program, set up by its tuning file, the untuned one if gaps are
    /// measured, and warnings about the tuning file.
    fn executables(&self, file: &Path) -> Result<(TunedAndUntuned, Vec<String>), String> {
        let (setup, limit) = (&self.setup, self.limits.timeout.unwrap_or(NO_LIMIT));
        let given = setup.tuning.of(file)?;
        let build =
            |name: &str, options: &[String]| setup.executable(file, self.work.join(name), options, NO_LIMIT);
        let options = setup.compiler_options(&given)?;
        let mut executable = build("program", &options)?;
        let untuned = match self.gaps {
            false => None,
            true if setup.skip_compilation || options == setup.pass_compiler => Some(executable.clone()),
            true => Some(build("untuned", &setup.pass_compiler)?),
        };
        let unknown = executable.tune(&given, limit)?;
        Ok(((executable, untuned), unknown))
    }

    /// Measures a program's data sets. Returns the report and true if anything failed; the gains of
    /// tuning are added to `gaps` if they are measured.
    pub fn program(&self, file: &Path, json: &mut Map<String, Value>, gaps: &mut Gaps) -> (String, bool) {
        let mut lines: Vec<String> = Vec::new();
        let mut failed = false;
        let name = file.display().to_string();
        let failure = |what: String| (format!("{name}: {what}\n"), true);
        let spec = match spec(file, false) {
            Ok(spec) => spec,
            Err(why) => return failure(why),
        };
        let data_sets = self.setup.data_sets(&spec);
        if data_sets.is_empty() {
            return (String::new(), false);
        }
        let (session, program) = driver::check(file, driver::Options::default());
        self.log.diagnostics(&session, &session.warnings);
        let program = match program {
            Ok(program) => Arc::new(program),
            Err(errors) => {
                self.log.diagnostics(&session, &errors.0);
                return failure("the program has errors".to_owned());
            }
        };
        let folder = file.parent().unwrap_or(file);
        let limit = self.limits.timeout.unwrap_or(NO_LIMIT);
        let oracle = Oracle::new(program, &session.sources, folder, limit);
        let executable = if self.setup.backend == Backend::Interp {
            None
        } else {
            match self.executables(file) {
                Ok((executables, unknown)) => {
                    lines.extend(unknown);
                    Some(executables)
                }
                Err(why) => return failure(why),
            }
        };
        let (executable, untuned) = executable.unzip();
        let untuned = untuned.flatten();
        let mut entries: Vec<&str> = Vec::new();
        for (entry, ..) in &data_sets {
            if !entries.contains(entry) {
                entries.push(entry);
            }
        }
        for entry in entries {
            let key = if entry == "main" { name.clone() } else { format!("{name}:{entry}") };
            lines.push(key.clone());
            let mut datasets = Map::new();
            let data_sets: Vec<_> = data_sets.iter().filter(|(other, ..)| *other == entry).collect();
            let width = data_sets.iter().map(|(_, name, _)| name.chars().count()).max().unwrap_or(0);
            for (_, dataset, case) in data_sets {
                let target = Target {
                    oracle: &oracle,
                    executable: executable.as_ref(),
                    folder,
                    case,
                    entry,
                    pass: &self.setup.pass,
                    work: self.work,
                };
                // The line to print, the value for the JSON file, and the executable's standard
                // error.
                let measured = if self.gaps {
                    let untuned = Target { executable: untuned.as_ref(), ..target };
                    Gap::measure(&untuned, &target, &self.limits).map(|gap| {
                        gaps.add(&gap, format!("{key}, {dataset}"));
                        (gap.shown(), gap.json(), Vec::new())
                    })
                } else {
                    let measured = target.measure(&self.limits);
                    measured.map(|measured| {
                        let stderr = measured.stderr.lines();
                        let stderr = stderr.map(|line| format!("    {line}")).collect();
                        (summary_line(&measured), json_entry(&measured), stderr)
                    })
                };
                failed |= measured.is_err();
                let (line, value, stderr) =
                    measured.unwrap_or_else(|why| (format!("failed: {why}"), json!(why), Vec::new()));
                lines.push(format!("  {dataset:width$}  {line}"));
                lines.extend(stderr);
                datasets.insert(dataset.clone(), value);
            }
            json.insert(key, json!({ "datasets": datasets }));
        }
        lines.push(String::new());
        (lines.join("\n"), failed)
    }
}

/// The mean and its 95 % confidence interval.
fn summary_line(measured: &Measured) -> String {
    let statistics = Statistics::of(&measured.micros);
    format!(
        "{:>12.0} us (95 % between {:.1} and {:.1}; {} runs)",
        statistics.mean,
        statistics.mean - statistics.margin,
        statistics.mean + statistics.margin,
        measured.micros.len()
    )
}

/// A data set's entry in the reference compiler's JSON format.
fn json_entry(measured: &Measured) -> Value {
    json!({ "runtimes": measured.micros, "bytes": {}, "stderr": measured.stderr })
}
