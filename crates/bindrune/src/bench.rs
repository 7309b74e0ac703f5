//! `bindrune bench`: run times of entry points.
//!
//! Each data set has one warm-up run and at least `--runs` measured ones, which together take at
//! least half a second. While the margin of error of the mean exceeds 1 % (and 1 us), further runs
//! are added, for at most `--convergence-max-seconds`. `--no-convergence-phase` turns off the half
//! second and the further runs. The results of the first runs are compared with those in the test
//! block.
//!
//! With `--untuned-vs-tuned` only programs with a tuning file beside them are measured, with it and
//! without (`gap`).

mod compare;
mod gap;
mod measure;

pub use compare::{Args as CompareArgs, run as compare};

use crate::backend::{self, Backend, Executable, NO_LIMIT};
use crate::common;
use crate::progress::Progress;
use crate::tuning;
use gap::{Gap, Gaps};
use harness::oracle::Oracle;
use harness::programs::find_all;
use harness::{Case, Data};
use measure::{Limits, Measured, Target};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tune::statistics::Statistics;

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
    let backend = Backend::from_name(&args.backend);
    if args.untuned_vs_tuned && backend == Backend::Interp {
        return Err(common::report_error("the interpreter has nothing to tune"));
    }
    if args.untuned_vs_tuned {
        // An invalid tuning file is reported when its program is measured.
        files.retain(|file| {
            let given = args.tuning.of(file);
            given.map_or(true, |given| !given.is_empty())
        });
        if files.is_empty() {
            return Err(common::report_error("no program has a tuning file beside it"));
        }
    }
    let mut excluded = backend.excluded(&args.backend);
    excluded.retain(|tag| tag != "compiled");
    excluded.extend(["disable", "nobench"].map(str::to_owned));
    excluded.extend(args.exclude_case.iter().cloned());
    let bench = Bench {
        backend,
        excluded,
        entry: args.entry_point.as_deref(),
        limits: Limits {
            runs: args.runs.max(1),
            converge: (!args.no_convergence_phase).then(|| Duration::from_secs(args.convergence_max_seconds)),
            timeout: u64::try_from(args.timeout).ok().map(Duration::from_secs),
        },
        pass: &args.pass_option,
        tuning: &args.tuning,
        gaps: args.untuned_vs_tuned,
        skip_compilation: args.skip_compilation,
        pass_compiler: &args.pass_compiler_option,
        work: backend::work_folder()?,
    };
    let progress = Progress::new(files.len(), false);
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

/// The tuned executable, and with `--untuned-vs-tuned` the untuned one.
type TunedAndUntuned = (Executable, Option<Executable>);

struct Bench<'a> {
    backend: Backend,
    excluded: Vec<String>,
    entry: Option<&'a str>,
    limits: Limits,
    pass: &'a [String],
    tuning: &'a tuning::TuningFileOptions,
    /// True if untuned and tuned executables are compared.
    gaps: bool,
    /// True if the executables beside the programs are used.
    skip_compilation: bool,
    /// Options for the compiler.
    pass_compiler: &'a [String],
    work: tempfile::TempDir,
}

impl Bench<'_> {
    /// Returns the executable of a program, set up by its tuning file, the untuned one if gaps are
    /// measured, and warnings about the tuning file.
    fn executables(&self, file: &Path) -> Result<(TunedAndUntuned, Vec<String>), String> {
        let limit = self.limits.timeout.unwrap_or(NO_LIMIT);
        let given = self.tuning.of(file)?;
        let build = |name: &str, options: &[String]| {
            let path = self.work.path().join(name);
            Executable::build(file, path, self.backend, options, NO_LIMIT)
        };
        let options = self.backend.options_for_tuning(&given, self.pass_compiler)?;
        let mut executable = if self.skip_compilation {
            Executable::existing(file, self.backend)?
        } else {
            build("program", &options)?
        };
        let untuned = match self.gaps {
            false => None,
            true if self.skip_compilation || options == self.pass_compiler => Some(executable.untuned()),
            true => Some(build("untuned", self.pass_compiler)?),
        };
        let unknown = executable.tune(&given, limit)?;
        Ok(((executable, untuned), unknown))
    }

    /// Measures a program's data sets. Returns the report and true if anything failed; the gains of
    /// tuning are added to `gaps` if they are measured.
    fn program(&self, file: &Path, json: &mut Map<String, Value>, gaps: &mut Gaps) -> (String, bool) {
        let mut lines: Vec<String> = Vec::new();
        let mut failed = false;
        let name = file.display().to_string();
        let failure = |what: String| (format!("{name}: {what}\n"), true);
        let text = match std::fs::read(file) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(e) => return failure(e.to_string()),
        };
        let spec = match harness::parse_blocks(&text) {
            Ok(spec) => spec,
            Err(e) => return failure(format!("test blocks: {e}")),
        };
        let is_included = |case: &&Case| !case.tags.iter().any(|tag| self.excluded.contains(tag));
        let cases: Vec<(usize, &Case)> = spec
            .cases
            .iter()
            .enumerate()
            .filter(|(_, case)| is_included(case))
            .filter(|(_, case)| !matches!(case.expected, harness::Expected::Error(_)))
            .collect();
        if cases.is_empty() || spec.tags.iter().any(|tag| self.excluded.contains(tag)) {
            return (String::new(), false);
        }
        let (session, program) = driver::check(file, driver::Options::default());
        let program = match common::report(&session, program) {
            Ok(program) => Arc::new(program),
            Err(_) => return failure("the program has errors".to_owned()),
        };
        let folder = file.parent().unwrap_or(file);
        let limit = self.limits.timeout.unwrap_or(NO_LIMIT);
        let oracle = Oracle::new(program, &session.sources, folder, limit);
        let executable = if self.backend == Backend::Interp {
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
        for entry in cases.iter().flat_map(|(_, case)| case.entries.iter()) {
            let is_selected = self.entry.is_none_or(|only| only == entry);
            if is_selected && !entries.contains(&entry.as_str()) {
                entries.push(entry);
            }
        }
        for entry in entries {
            let key = if entry == "main" { name.clone() } else { format!("{name}:{entry}") };
            lines.push(key.clone());
            let mut datasets = Map::new();
            let data_sets = cases.iter().filter(|(_, case)| case.entries.iter().any(|e| e == entry));
            let data_sets: Vec<_> = data_sets.map(|(at, case)| (dataset(*at, case), *case)).collect();
            let width = data_sets.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
            for (dataset, case) in data_sets {
                let target = Target {
                    oracle: &oracle,
                    executable: executable.as_ref(),
                    folder,
                    case,
                    entry,
                    pass: self.pass,
                    work: self.work.path(),
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
                datasets.insert(dataset, value);
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

/// The name of a data set: its own, or one derived from its input. `at` is its index.
pub fn dataset(at: usize, case: &Case) -> String {
    if let Some(name) = &case.name {
        return name.clone();
    }
    match &case.input {
        Data::File(path) | Data::ScriptFile(path) => path.display().to_string(),
        Data::Random(types) | Data::Script(types) => types.split_whitespace().collect::<Vec<_>>().join(" "),
        Data::Text(text, _) => {
            let words: Vec<&str> = text.split_whitespace().collect();
            let words = words.join(" ");
            let mut short: String = words.chars().take(25).collect();
            if short.len() < words.len() {
                short.push_str("...");
            }
            format!("#{at} (\"{short}\")")
        }
    }
}
