//! `bindrune bench`: run times of entry points, with `--untuned-vs-tuned` also the gains of tuning
//! files ([`runner::bench`]). `bindrune benchcmp` compares two results.

use crate::common;
use crate::progress::Progress;
use crate::tuning;
use harness::programs::find_all;
use runner::bench::{self, Bench, Gaps, Limits, Order};
use runner::{Backend, Log, Setup};
use serde_json::{Map, Value};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Arguments of `bench`.
#[derive(clap::Args)]
pub struct Args {
    /// Programs, or folders to search for programs.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// The backend: `cpu` (or `multicore`), `c` (one core), `opencl`, `cuda`, `hip` or `interp`.
    #[arg(long, default_value = "cpu", value_parser = Backend::NAMES)]
    backend: String,
    /// The minimum number of runs.
    #[arg(short = 'r', long, value_name = "N", default_value_t = 10)]
    runs: u64,
    /// Write run times to a JSON file in the reference compiler's format.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Run only the entry point of this name.
    #[arg(long, value_name = "NAME")]
    entry_point: Option<String>,
    /// Exclude data sets with this tag.
    #[arg(long, value_name = "TAG")]
    exclude_case: Vec<String>,
    /// Exclude programs whose path matches this regular expression.
    #[arg(long, value_name = "REGEX")]
    ignore_files: Vec<String>,
    /// Make only the number of runs given by `--runs`.
    #[arg(long)]
    no_convergence_phase: bool,
    /// The time limit for further runs, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    convergence_max_seconds: u64,
    /// The time limit of all runs of a data set, in seconds; none if negative.
    #[arg(long, value_name = "SECONDS", default_value_t = -1, allow_hyphen_values = true)]
    timeout: i64,
    /// An option for executables, such as `--num-threads=2`.
    #[arg(long, value_name = "OPT", allow_hyphen_values = true)]
    pass_option: Vec<String>,
    #[command(flatten)]
    tuning: tuning::TuningFileOptions,
    /// Measure programs that have a tuning file beside them, alternately with and without it, and
    /// report its gain.
    #[arg(long, conflicts_with_all = ["no_tuning", "no_convergence_phase"])]
    untuned_vs_tuned: bool,
    /// Use the existing executables beside the programs.
    #[arg(long)]
    skip_compilation: bool,
    /// An option for the compiler, such as `--fp=strict`.
    #[arg(long, value_name = "OPT", allow_hyphen_values = true)]
    pass_compiler_option: Vec<String>,
}

/// Runs the benchmarks.
pub fn run(args: Args) -> ExitCode {
    match go(&args) {
        Ok(code) | Err(code) => code,
    }
}

fn go(args: &Args) -> Result<ExitCode, ExitCode> {
    let ignored = ignored(&args.ignore_files)?;
    let mut files = find_all(&args.paths).map_err(common::report_error)?;
    files.retain(|file| !ignored.iter().any(|regex| regex.is_match(&file.to_string_lossy())));
    let tuning = args.tuning.files();
    let mut setup = Setup::new(common::compiler()?, &args.backend, tuning.clone(), &["disable", "nobench"]);
    setup.excluded.retain(|tag| tag != "compiled");
    setup.excluded.extend(args.exclude_case.iter().cloned());
    setup.entry.clone_from(&args.entry_point);
    setup.pass.clone_from(&args.pass_option);
    setup.pass_compiler.clone_from(&args.pass_compiler_option);
    setup.skip_compilation = args.skip_compilation;
    if args.untuned_vs_tuned && setup.backend == Backend::Interp {
        return Err(common::report_error("the interpreter has nothing to tune"));
    }
    if args.untuned_vs_tuned {
        // An invalid tuning file is reported when its program is measured.
        files.retain(|file| {
            let given = tuning.of(file);
            given.map_or(true, |given| !given.is_empty())
        });
        if files.is_empty() {
            return Err(common::report_error("no program has a tuning file beside it"));
        }
    }
    let (work, progress) =
        (link::work_folder().map_err(common::report_error)?, Progress::new(files.len(), false));
    let bench = Bench {
        setup,
        limits: Limits {
            runs: args.runs.max(1),
            converge: (!args.no_convergence_phase).then(|| Duration::from_secs(args.convergence_max_seconds)),
            timeout: u64::try_from(args.timeout).ok().map(Duration::from_secs),
        },
        gaps: args.untuned_vs_tuned,
        work: work.path(),
        log: &progress,
    };
    let (mut json, mut gaps, mut failed) = (Map::new(), Gaps::default(), false);
    for file in &files {
        progress.begin(&file.to_string_lossy());
        let (lines, wrong) = bench.program(file, &mut json, &mut gaps);
        failed |= wrong;
        progress.pause(|| common::write_stdout(&lines))?;
        progress.end(wrong, &[]);
    }
    progress.finish();
    if let Some(summary) = gaps.summary() {
        common::write_stdout(&format!("untuned over tuned: {summary}\n"))?;
    }
    if let Some(file) = &args.json {
        let text = format!("{:#}\n", Value::Object(json));
        common::write_file(file, &text)?;
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn ignored(patterns: &[String]) -> Result<Vec<regex_lite::Regex>, ExitCode> {
    let compiled = patterns.iter().map(|pattern| {
        regex_lite::Regex::new(pattern)
            .map_err(|e| common::report_error(format_args!("invalid pattern `{pattern}`: {e}")))
    });
    compiled.collect()
}

/// Arguments of `benchcmp`.
#[derive(clap::Args)]
pub struct CompareArgs {
    /// The results before, written by `bench --json`.
    before: PathBuf,
    /// The results after.
    after: PathBuf,
    /// The measure by which programs are sorted.
    #[arg(long, value_parser = ["significant", "geomean-significant", "geomean-all"])]
    sort_by: Option<String>,
    /// The order of programs sorted by the measure.
    #[arg(long, default_value = "worst-first", value_parser = ["worst-first", "best-first"])]
    order: String,
}

/// Prints the comparison.
pub fn compare(args: CompareArgs) -> ExitCode {
    let order = match args.sort_by.as_deref() {
        None => Order::Name,
        Some("significant") => Order::Significant,
        Some(mean) => Order::Mean { significant: mean == "geomean-significant" },
    };
    let (best_first, colour) = (args.order == "best-first", std::io::stdout().is_terminal());
    let compared = read(&args.before)
        .and_then(|before| Ok(bench::compare(&before, &read(&args.after)?, order, best_first, colour)))
        .map_err(common::report_error);
    let printed = compared.and_then(|text| common::write_stdout(&text));
    printed.err().unwrap_or(ExitCode::SUCCESS)
}

fn read(file: &Path) -> Result<Value, String> {
    let shown = file.display();
    let text = std::fs::read_to_string(file).map_err(|e| format!("cannot read {shown}: {e}"))?;
    let json: Value = serde_json::from_str(&text).map_err(|e| format!("{shown}: {e}"))?;
    if json.is_object() { Ok(json) } else { Err(format!("{shown} is not a result of `bench --json`")) }
}
