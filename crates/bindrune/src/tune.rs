//! `bindrune tune`: finds the values of tuning parameters with the least cost on a program's data
//! sets ([`runner::tuning`]).

use crate::common;
use crate::progress::Progress;
use crate::tuning;
use harness::programs::find_all;
use runner::Setup;
use runner::tuning::Tuning;
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

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

/// Tunes the programs.
pub fn run(args: Args) -> ExitCode {
    match go(&args) {
        Ok(code) | Err(code) => code,
    }
}

fn go(args: &Args) -> Result<ExitCode, ExitCode> {
    let files = find_all(&args.paths).map_err(common::report_error)?;
    let tuning = tuning::files(&args.tuning);
    let mut setup = Setup::new(common::compiler()?, &args.backend, tuning, &["disable", "notune"]);
    setup.excluded.extend(args.exclude_case.iter().cloned());
    setup.entry.clone_from(&args.entry_point);
    setup.pass.clone_from(&args.pass_option);
    setup.pass_compiler.clone_from(&args.pass_compiler_option);
    setup.skip_compilation = args.skip_compilation;
    let (work, stop) = (link::work_folder().map_err(common::report_error)?, Arc::new(AtomicBool::new(false)));
    common::handle_ctrl_c(&stop)?;
    common::ignore_file_size_signal()?;
    // Programs with nothing to tune are skipped in folders, but not if they are named on the command
    // line.
    let named = |file: &PathBuf| args.paths.contains(file);
    let (mut json, mut failed) = (Map::new(), false);
    for file in &files {
        let progress = Progress::spinner();
        let tuning = Tuning {
            setup: setup.clone(),
            backend_name: &args.backend,
            runs: args.runs,
            cost: &args.cost,
            weights: &args.weight,
            joint: args.search == "paths",
            thresholds_only: args.thresholds_only,
            budget: args.budget.map(Duration::from_secs),
            cut_off: args.cut_off,
            timeout: u64::try_from(args.timeout).ok().map(Duration::from_secs),
            resume: args.resume,
            spec_file: args.spec_file.clone(),
            verbose: args.verbose > 0,
            work: work.path(),
            stop: stop.clone(),
            log: &progress,
        };
        let tuned = tuning.program(file, named(file));
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
        if stop.load(Ordering::Relaxed) {
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
