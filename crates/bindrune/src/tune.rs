//! `bindrune tune`: finds the values of tuning parameters with the least cost on a program's data
//! sets.
//!
//! The forest of a program's versions, and the sizes that it compares with parameters, determine
//! which settings differ. Each path is run once on each data set, and the best setting follows
//! (crate `tune`). This module handles files, processes and the terminal: data sets come from test
//! blocks, the result goes to a tuning file beside the program, and the measurements to a record
//! beside that, for `explain --tuning`.

mod executables;
mod file;
mod journal;
mod program;
mod report;
mod runner;

use crate::backend::{self, Backend};
use crate::common;
use crate::progress::Progress;
use driver::tuning::{options, record_extension, tuning_file};
use harness::programs::find_all;
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tune::tuner::Failure;

/// Arguments of `tune`.
#[derive(clap::Args)]
pub struct Args {
    /// Programs, or folders to search for programs.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// The backend: `cpu` (or `multicore`), `c` (one core), `opencl`, `cuda` or `hip`.
    #[arg(long, default_value = "cpu", value_parser = ["cpu", "multicore", "c", "opencl", "cuda", "hip"])]
    backend: String,
    /// The minimum number of runs of a path whose time is close to that of another.
    #[arg(short = 'r', long, value_name = "N", default_value_t = 10)]
    runs: usize,
    /// The cost to minimise: `sum` of times, `geomean` or `worst` of ratios to the default's times,
    /// or an expression over names of data sets, such as 'max(a, 2 * b)'.
    #[arg(long, value_name = "FUNCTION", default_value = "sum")]
    cost: String,
    /// The weight of a data set in `sum` and `geomean`; 1 by default.
    #[arg(long, value_name = "DATASET=WEIGHT", value_parser = weight)]
    weight: Vec<(String, f64)>,
    /// The runs: each path of each tree by itself (`trees`), or all combinations (`paths`).
    #[arg(long, default_value = "trees", value_parser = ["trees", "paths"])]
    search: String,
    /// Tune only thresholds and the program's own parameters, not the sizes of chunks and thread
    /// blocks.
    #[arg(long)]
    thresholds_only: bool,
    /// The time limit of a program's tuning, in seconds; none by default.
    #[arg(long, value_name = "SECONDS")]
    budget: Option<u64>,
    /// Cut off a path that takes this many times as long as the one it is compared with, plus a
    /// second.
    #[arg(long, value_name = "FACTOR", default_value_t = 3.0, value_parser = factor)]
    cut_off: f64,
    /// The time limit of the default on a data set, in seconds; none if negative.
    #[arg(long, value_name = "SECONDS", default_value_t = 600, allow_hyphen_values = true)]
    timeout: i64,
    /// Write tuning files with this extension.
    #[arg(long, value_name = "EXTENSION", default_value = "tuning")]
    tuning: OsString,
    /// Continue an interrupted run.
    #[arg(long)]
    resume: bool,
    /// Write all runs and the result to a JSON file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Tune for this entry point only.
    #[arg(long, value_name = "NAME")]
    entry_point: Option<String>,
    /// Exclude data sets with this tag.
    #[arg(long, value_name = "TAG")]
    exclude_case: Vec<String>,
    /// Read test blocks, without comment signs, from this file instead of the program.
    #[arg(long, value_name = "FILE")]
    spec_file: Option<PathBuf>,
    /// Use the existing executable beside the program.
    #[arg(long)]
    skip_compilation: bool,
    /// An option for executables, such as `--num-threads=2`.
    #[arg(long, value_name = "OPT", allow_hyphen_values = true)]
    pass_option: Vec<String>,
    /// An option for the compiler, such as `--fp=strict`.
    #[arg(long, value_name = "OPT", allow_hyphen_values = true)]
    pass_compiler_option: Vec<String>,
    /// Print each run and its time.
    #[arg(short = 'v', long, action = clap::ArgAction::Count)]
    verbose: u8,
}

fn weight(text: &str) -> Result<(String, f64), String> {
    let expected = "expected DATASET=WEIGHT, where WEIGHT is a number that is not negative";
    let (name, weight) = text.rsplit_once('=').ok_or(expected)?;
    let weight: f64 = weight.trim().parse().map_err(|_| expected)?;
    if !(0.0..f64::INFINITY).contains(&weight) {
        return Err(expected.to_owned());
    }
    Ok((name.trim().to_owned(), weight))
}

fn factor(text: &str) -> Result<f64, String> {
    let factor = text.parse().ok().filter(|factor: &f64| *factor >= 1.0);
    factor.ok_or_else(|| "expected a number, at least 1".to_owned())
}

/// The state shared by all programs.
struct Tuning<'a> {
    args: &'a Args,
    backend: Backend,
    /// Tags of excluded data sets.
    excluded: Vec<String>,
    work: tempfile::TempDir,
    /// Set when the user interrupts tuning.
    stop: Arc<AtomicBool>,
}

/// Tunes the programs.
pub fn run(args: Args) -> ExitCode {
    match go(&args) {
        Ok(code) | Err(code) => code,
    }
}

fn go(args: &Args) -> Result<ExitCode, ExitCode> {
    let files = find_all(&args.paths).map_err(common::report_error)?;
    let backend = Backend::from_name(&args.backend);
    let mut excluded = backend.excluded(&args.backend);
    excluded.extend(["disable", "notune"].map(str::to_owned));
    excluded.extend(args.exclude_case.iter().cloned());
    let tuning = Tuning {
        args,
        backend,
        excluded,
        work: backend::work_folder()?,
        stop: Arc::new(AtomicBool::new(false)),
    };
    common::handle_ctrl_c(&tuning.stop)?;
    common::ignore_file_size_signal()?;
    // Programs with nothing to tune are skipped in folders, but not if they are named on the command
    // line.
    let named = |file: &PathBuf| args.paths.contains(file);
    let (mut json, mut failed) = (Map::new(), false);
    for file in &files {
        let progress = Progress::spinner();
        let tuned = tuning.program(file, &progress, named(file));
        progress.finish();
        match tuned {
            Ok(None) => {}
            Ok(Some((text, data))) => {
                common::write_stdout(&text)?;
                json.insert(file.display().to_string(), data);
            }
            Err(why) => {
                failed = true;
                common::report_error(format_args!("{}: {why}", file.display()));
            }
        }
        if tuning.stop.load(Ordering::Relaxed) {
            failed = true;
            break;
        }
    }
    if let Some(file) = &args.json {
        let text = format!("{:#}\n", Value::Object(json));
        common::write_file(file, &text)?;
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The most runs of a path with a close competitor, as a multiple of `--runs`.
const MAX_REPEAT_FACTOR: usize = 16;
/// The relative difference between times that does not matter.
const RELATIVE_TOLERANCE: f64 = 0.01;

impl Tuning<'_> {
    /// Tunes a program. Returns the report and the JSON value; `None` if there is nothing to tune
    /// in a program that is not named on the command line.
    fn program(
        &self,
        file: &std::path::Path,
        progress: &Progress,
        named: bool,
    ) -> Result<Option<(String, Value)>, String> {
        let start = Instant::now();
        let Some(spec) = program::spec(self, file, named)? else {
            return Ok(None);
        };
        let names = spec.names();
        let cost = tune::cost::Cost::parse(&self.args.cost, &names, &self.args.weight)?;
        // Invalid files are reported before anything is run.
        let tuning = file::TuningFile::read(file, &self.args.tuning)?;
        let journal = journal::Journal::open(file, &self.args.tuning, self.args.resume)?;
        progress.begin(&format!("compiling {}", file.display()));
        let prepared = program::prepare(self, file, &spec)?;
        if prepared.parameters.is_empty() {
            journal.remove();
            let text = format!("{}: there is nothing to tune\n", file.display());
            return Ok(named.then(|| (text, Value::Object(Map::new()))));
        }
        let mut runner = runner::ProcessRunner::new(self, file, &prepared, journal, progress, start)?;
        let (_, unknown) = options(&prepared.listed, &tuning.given);
        for line in unknown {
            progress.pause(|| common::note(&line));
        }
        let earlier = prepared.earlier(&tuning.given);
        let task = tune::tuner::Task {
            forest: &prepared.forest,
            data_sets: prepared.data_sets.len(),
            cost: &cost,
            options: tune::tuner::Options {
                joint: self.args.search == "paths",
                runs: self.args.runs.max(1),
                max_runs: self.args.runs.max(1).saturating_mul(MAX_REPEAT_FACTOR),
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
            cost_name: &self.args.cost,
            backend: &self.args.backend,
            calls: runner.calls,
            seconds: start.elapsed().as_secs_f64(),
        };
        let with_resume = |why: String| why + &report::resume(journal);
        let written = tuning.write(&report.settings(), &report.removed_parameters());
        let written = written.map_err(with_resume)?;
        let data = report.json();
        let record = tuning_file(file, &record_extension(&self.args.tuning));
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
        u64::try_from(self.args.timeout).map_or(backend::NO_LIMIT, Duration::from_secs)
    }
}
