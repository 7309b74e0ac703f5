//! `bindrune test`: runs the tests in programs' test blocks ([`runner::test`]).

use crate::common;
use crate::progress::Progress;
use crate::tuning;
use driver::on_large_stack;
use harness::programs::{find_all, parallel_map_with};
use runner::test::{LastStep, Options, Report, json, summary, test};
use runner::{Backend, Log, Setup};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Arguments of `test`.
#[derive(clap::Args)]
#[allow(clippy::struct_excessive_bools, reason = "command-line switches")]
pub struct Args {
    /// Programs, or folders to search for programs.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// The backend: `cpu` (or `multicore`), `c` (one core), `opencl`, `cuda`, `hip` or `interp`.
    #[arg(long, default_value = "cpu", value_parser = Backend::NAMES)]
    backend: String,
    /// Run compiled code; this is the default.
    #[arg(short = 'c', conflicts_with = "interpreted")]
    compiled: bool,
    /// Run in the interpreter.
    #[arg(short = 'i')]
    interpreted: bool,
    /// In the interpreter, also where it computes expected values: check all values against the
    /// sizes in their types.
    #[arg(long)]
    check_sizes: bool,
    /// Compile the programs, but do not run them.
    #[arg(short = 'C')]
    compile_only: bool,
    /// Type-check the programs, but neither compile nor run them.
    #[arg(short = 't', short_alias = 'I')]
    check_only: bool,
    /// Compare optimised programs with their `structure` blocks, but run nothing.
    #[arg(short = 's', long, conflicts_with_all = ["compile_only", "check_only"])]
    structure: bool,
    /// Exclude programs and cases with this tag.
    #[arg(long, value_name = "TAG")]
    exclude: Vec<String>,
    /// Run only the entry point of this name.
    #[arg(long, value_name = "NAME")]
    entry_point: Option<String>,
    /// The number of programs tested at a time; the default is that of processors.
    #[arg(long, value_name = "N")]
    concurrency: Option<usize>,
    /// Write the outcome and the failures of each program to a JSON file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// The time limit of each compilation and of each call, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    timeout: u64,
    /// An option for executables, such as `--num-threads=2`.
    #[arg(long, value_name = "OPT", allow_hyphen_values = true)]
    pass_option: Vec<String>,
    #[command(flatten)]
    tuning: tuning::TuningFileOptions,
    /// An option for the compiler, such as `--fp=strict`.
    #[arg(long, value_name = "OPT", allow_hyphen_values = true)]
    pass_compiler_option: Vec<String>,
    /// The seed of property tests.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Set each program's thresholds to values drawn from this seed, to run versions that the sizes
    /// would not select.
    #[arg(long, value_name = "SEED")]
    random_thresholds: Option<u64>,
    /// Show no progress bar, even on a terminal.
    #[arg(long)]
    no_terminal: bool,
}

/// Tests the programs.
pub fn run(args: Args) -> ExitCode {
    match go(&args) {
        Ok(code) | Err(code) => code,
    }
}

fn go(args: &Args) -> Result<ExitCode, ExitCode> {
    let files = find_all(&args.paths).map_err(common::report_error)?;
    let name = if args.interpreted { "interp" } else { &args.backend };
    let mut setup = Setup::new(common::compiler()?, name, args.tuning.files(), &["disable", "notest"]);
    setup.excluded.extend(args.exclude.iter().cloned());
    setup.entry.clone_from(&args.entry_point);
    setup.pass.clone_from(&args.pass_option);
    setup.pass_compiler.clone_from(&args.pass_compiler_option);
    let options = Options {
        setup,
        depth: match (args.check_only, args.structure, args.compile_only) {
            (true, ..) => LastStep::Check,
            (_, true, _) => LastStep::Structure,
            (.., true) => LastStep::Compile,
            (false, false, false) => LastStep::Run,
        },
        limit: Duration::from_secs(args.timeout.max(1)),
        seed: args.seed,
        check_sizes: args.check_sizes,
        thresholds: args.random_thresholds,
    };
    let work = link::work_folder().map_err(common::report_error)?;
    let start = Instant::now();
    let progress = Progress::new(files.len(), args.no_terminal);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let workers = args.concurrency.unwrap_or(cores).max(1);
    let reports: Vec<Report> = parallel_map_with(workers, &files, |worker, file| {
        progress.begin(&file.to_string_lossy());
        let executable = work.path().join(format!("program-{worker}"));
        let report = on_large_stack(|| test(file, executable, &options));
        progress.end(!report.failures.is_empty(), &report.lines());
        report
    });
    progress.finish();
    if let Some(file) = &args.json {
        let text = json(&reports, name);
        common::write_file(file, &text)?;
    }
    common::write_stdout(&summary(&reports, &options, start.elapsed()))?;
    let failed = reports.iter().any(|report| !report.failures.is_empty());
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
