//! Tunes one program.
//!
//! The forest of a program's versions, and the sizes that it compares with parameters, determine
//! which settings differ. Each path is run once on each data set, and the best setting follows
//! (crate `tune`). Data sets come from test blocks, the result goes to a tuning file beside the
//! program, and the measurements to a record beside that, for tuning reports.

mod executables;
mod file;
mod journal;
mod program;
mod report;
mod runner;

use crate::executable::NO_LIMIT;
use crate::setup::{Log, Setup};
use driver::tuning::{options, record_extension, tuning_file};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use tune::tuner::Failure;

/// How programs are tuned.
pub struct Tuning<'a> {
    /// The programs and data sets, and how they run.
    pub setup: Setup,
    /// The value of `--backend`.
    pub backend_name: &'a str,
    /// The minimum number of runs of a path whose time is close to that of another.
    pub runs: usize,
    /// The cost function.
    pub cost: &'a str,
    /// Weights of data sets.
    pub weights: &'a [(String, f64)],
    /// True if all combinations of paths are run, false if each path of each tree is run by itself.
    pub joint: bool,
    /// True if the sizes of chunks and thread blocks are not tuned.
    pub thresholds_only: bool,
    /// The time limit of a program's tuning.
    pub budget: Option<Duration>,
    /// The factor by which a path may take longer than the one it is compared with.
    pub cut_off: f64,
    /// The time limit of the default on a data set.
    pub timeout: Option<Duration>,
    /// True if an interrupted run is continued.
    pub resume: bool,
    /// The file of test blocks, without comment signs, if it is not the program.
    pub spec_file: Option<PathBuf>,
    /// True if each run and its time are reported.
    pub verbose: bool,
    /// The folder of executables and temporary files.
    pub work: &'a Path,
    /// Set when the user interrupts tuning.
    pub stop: Arc<AtomicBool>,
    /// The receiver of messages.
    pub log: &'a dyn Log,
}

/// The most runs of a path with a close competitor, as a multiple of `--runs`.
const MAX_REPEAT_FACTOR: usize = 16;
/// The relative difference between times that does not matter.
const RELATIVE_TOLERANCE: f64 = 0.01;

impl Tuning<'_> {
    /// Tunes a program. Returns the report and the JSON value; `None` if there is nothing to tune
    /// in a program that is not `named` by the user.
    ///
    /// # Errors
    /// The program or its tuning file has errors, fails by default, or tuning was interrupted early.
    pub fn program(&self, file: &Path, named: bool) -> Result<Option<(String, Value)>, String> {
        let start = Instant::now();
        let Some(spec) = program::spec(self, file, named)? else {
            return Ok(None);
        };
        let names = spec.names();
        let cost = tune::cost::Cost::parse(self.cost, &names, self.weights)?;
        // Invalid files are reported before anything is run.
        let tuning = file::TuningFile::read(file, &self.setup.tuning)?;
        let journal = journal::Journal::open(file, &self.setup.tuning.extension, self.resume)?;
        self.log.begin(&format!("compiling {}", file.display()));
        let prepared = program::prepare(self, file, &spec)?;
        if prepared.parameters.is_empty() {
            journal.remove();
            let text = format!("{}: there is nothing to tune\n", file.display());
            return Ok(named.then(|| (text, Value::Object(Map::new()))));
        }
        let mut runner = runner::ProcessRunner::new(self, file, &prepared, journal, start)?;
        let (_, unknown) = options(&prepared.listed, &tuning.given);
        unknown.iter().for_each(|line| self.log.note(line));
        let earlier = prepared.earlier(&tuning.given);
        let task = tune::tuner::Task {
            forest: &prepared.forest,
            data_sets: prepared.data_sets.len(),
            cost: &cost,
            options: tune::tuner::Options {
                joint: self.joint,
                runs: self.runs.max(1),
                max_runs: self.runs.max(1).saturating_mul(MAX_REPEAT_FACTOR),
                tolerance: RELATIVE_TOLERANCE,
            },
            earlier: earlier.as_deref(),
        };
        let tuned = tune::tuner::tune(&task, &mut runner);
        let journal = runner.journal.resumable_path();
        let journal = journal.as_deref();
        let failure = runner.failure.take();
        let tuned = tuned.map_err(|failed| {
            let what = match failed {
                Failure::Fails(data) => {
                    let why = failure.clone().unwrap_or_default();
                    format!("data set {}: {why}", names[data])
                }
                Failure::Stopped => failure.clone().unwrap_or_else(|| {
                    "tuning ended before each data set had run once; nothing was written".to_owned()
                }),
                Failure::TooManyCombinations => {
                    "the cost function leaves too many combinations of run times".to_owned()
                }
            };
            what + &report::resume(journal)
        })?;
        let report = report::TuningReport {
            file,
            names: &names,
            prepared: &prepared,
            tuned: &tuned,
            cost: &cost,
            cost_name: self.cost,
            backend: self.backend_name,
            calls: runner.calls,
            seconds: start.elapsed().as_secs_f64(),
        };
        let with_resume = |why: String| why + &report::resume(journal);
        let written = tuning.write(&report.settings(), &report.removed_parameters());
        let written = written.map_err(with_resume)?;
        let data = report.json();
        let record = tuning_file(file, &record_extension(&self.setup.tuning.extension));
        file::write_atomically(&record, &format!("{data}\n")).map_err(with_resume)?;
        if let Some(why) = failure {
            return Err(with_resume(format!("{why}; {written} has the best values so far")));
        }
        if tuned.complete {
            runner.journal.remove();
        }
        Ok(Some((report.text(&written, journal), data)))
    }

    /// The time limit of a run with the default values.
    fn default_time_limit(&self) -> Duration {
        self.timeout.unwrap_or(NO_LIMIT)
    }
}
