//! `bindrune explain`: optimisation remarks by source line, or with `--tuning` the versions that a
//! tuning file selects (crate [`explain`]).

use crate::common::{self, Compiler};
use crate::memory;
use crate::tuning::files;
use driver::tuning::{record_extension, tuning_file};
use explain::tuning::{Record, Request};
use explain::{Filter, RemarkCollector};
use runtime::tuning_params::Assignment;
use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Arguments of `explain`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    compiler: Compiler,
    /// The target: `cpu`, OpenCL devices (`opencl`), NVIDIA GPUs (`cuda`) or AMD GPUs (`hip`).
    /// The default is `cpu`; with `--tuning`, the backend that the program was tuned for.
    #[arg(long, value_parser = ["cpu", "opencl", "cuda", "hip"])]
    backend: Option<String>,
    /// The program (`.fut`).
    file: PathBuf,
    /// Report on this function only.
    #[arg(short = 'e', long, value_name = "NAME")]
    function: Option<String>,
    /// Report all remarks, including overridden ones and those inside library functions.
    #[arg(long)]
    all: bool,
    /// Write JSON to standard output.
    #[arg(long, conflicts_with = "html")]
    json: bool,
    /// Report instead which versions the tuning file beside the program selects on each data set
    /// of its tuning, and their speedups.
    #[arg(
        long,
        value_name = "EXTENSION",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "tuning",
        conflicts_with_all = ["html", "all"]
    )]
    tuning: Option<OsString>,
    /// Write an HTML page that shows the source beside its remarks to this file.
    #[arg(long, value_name = "PAGE")]
    html: Option<PathBuf>,
}

/// Prints the remarks.
pub fn run(args: Args) -> ExitCode {
    match go(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(code) => code,
    }
}

fn go(args: &Args) -> Result<(), ExitCode> {
    let tuned = match &args.tuning {
        Some(extension) => Some((extension, record(&args.file, extension)?)),
        None => None,
    };
    let backend = args.backend.as_deref();
    let backend = backend.or_else(|| tuned.as_ref()?.1.backend.as_deref()).unwrap_or("cpu");
    let _watch = memory::watch_memory(&args.file, args.compiler.memory);
    let mut options = match &args.tuning {
        Some(extension) => args.compiler.tuned_options(backend, false, &files(extension), &args.file)?,
        None => args.compiler.options_for(backend, false),
    };
    options.remarks = true;
    let (mut session, checked) = driver::check(&args.file, options);
    let collected =
        checked.and_then(|program| Ok((RemarkCollector::collect(&mut session, &program)?, program)));
    let (collector, program) = common::report(&session, collected)?;
    let colour = std::io::stdout().is_terminal();
    let function = args.function.as_deref();
    if let Some((extension, record)) = &tuned {
        let given = given(&args.file, extension)?;
        let request = Request {
            program: args.file.display().to_string(),
            record,
            record_name: record_file(&args.file, extension).display().to_string(),
            given: &given,
            on_device: session.options.stack.has_device(),
            function,
            json: args.json,
            colour,
        };
        let report = explain::tuning::explain(request, &collector, &program, &session.sources);
        let (text, warnings) = report.map_err(common::report_error)?;
        warnings.iter().for_each(|line| common::note(line));
        return common::write_stdout(&text);
    }
    let filter = Filter { function, all: args.all };
    let name = args.file.to_string_lossy();
    let remarks = collector.remarks(&program, &session.sources, &name, &filter);
    let remarks = remarks.map_err(common::report_error)?;
    if let Some(file) = &args.html {
        return common::write_file(file, &explain::page(&remarks));
    }
    if args.json {
        return common::write_stdout(&explain::json(&remarks));
    }
    common::write_stdout(&explain::text(&remarks, colour))
}

/// The path of the record beside a program's tuning file with this extension.
fn record_file(file: &Path, extension: &OsStr) -> PathBuf {
    tuning_file(file, &record_extension(extension))
}

/// Reads the record beside a program's tuning file.
fn record(file: &Path, extension: &OsStr) -> Result<Record, ExitCode> {
    let path = record_file(file, extension);
    let name = path.display().to_string();
    if !path.exists() {
        return Err(common::report_error(format_args!(
            "there is no tuning record {name}; `bindrune tune {}` writes one",
            file.display()
        )));
    }
    let text = std::fs::read_to_string(&path).map_err(|e| format!("cannot read {name}: {e}"));
    text.and_then(|text| Record::parse(&text, &name)).map_err(common::report_error)
}

/// The values in a program's tuning file.
fn given(file: &Path, extension: &OsStr) -> Result<Vec<Assignment>, ExitCode> {
    let path = tuning_file(file, extension);
    if !path.exists() {
        common::note(&format!(
            "warning: there is no tuning file {}; the report shows the defaults",
            path.display()
        ));
        return Ok(Vec::new());
    }
    files(extension).read(&path).map_err(common::report_error)
}
