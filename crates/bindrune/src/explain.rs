//! `bindrune explain`: optimisation remarks, by source line.
//!
//! The passes record decisions with their source locations ([`driver::decision`]). This module
//! turns them into remarks ([`remarks`]) and prints these as text, JSON or an HTML page. [`tuning`]
//! reports the versions that a tuning file selects.

use crate::common::{self, Compiler};
use crate::memory;
use crate::tuning::TuningFileOptions;
use check::tast::Program;
use driver::{Failure, Session, Stage};
use remarks::{Filter, RemarkCollector};
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

mod html;
mod json;
mod lines;
mod merge;
mod names;
mod remark;
mod remarks;
mod text;
mod tuning;

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
        Some(extension) => {
            let record = tuning::record(&args.file, extension).map_err(common::report_error)?;
            Some((extension, record))
        }
        None => None,
    };
    let backend = args.backend.as_deref();
    let backend = backend.or_else(|| tuned.as_ref()?.1.backend.as_deref());
    let compiled = compile(args, backend.unwrap_or("cpu"))?;
    let colour = std::io::stdout().is_terminal();
    let Compiled { session, program, collector } = &compiled;
    let function = args.function.as_deref();
    if let Some((extension, record)) = &tuned {
        let request = tuning::Request {
            file: &args.file,
            extension,
            record,
            on_device: session.options.stack.has_device(),
            function,
            json: args.json,
            colour,
        };
        let text = tuning::explain(&request, collector, program, &session.sources);
        return common::write_stdout(&text.map_err(common::report_error)?);
    }
    let filter = Filter { function, all: args.all };
    let name = args.file.to_string_lossy();
    let remarks = collector.remarks(program, &session.sources, &name, &filter);
    let remarks = remarks.map_err(common::report_error)?;
    if let Some(file) = &args.html {
        let page = html::page(&remarks);
        return std::fs::write(file, page)
            .map_err(|e| common::report_error(format_args!("cannot write {}: {e}", file.display())));
    }
    if args.json {
        return common::write_stdout(&json::json(&remarks));
    }
    common::write_stdout(&text::text(&remarks, colour))
}

/// A compiled program and the recorded decisions.
struct Compiled {
    session: Session,
    program: Program,
    collector: RemarkCollector,
}

/// Compiles up to the last pass that records decisions, and collects them.
fn compile(args: &Args, backend: &str) -> Result<Compiled, ExitCode> {
    let _watch = memory::watch_memory(&args.file, args.compiler.memory);
    let compiler = &args.compiler;
    let mut options = match &args.tuning {
        Some(extension) => {
            let files = TuningFileOptions::with(extension);
            compiler.tuned_options(backend, false, &files, &args.file)?
        }
        None => compiler.options_for(backend, false),
    };
    options.remarks = true;
    let (mut session, checked) = common::check_with(&args.file, options);
    let mut collector = RemarkCollector::default();
    let program = checked.and_then(|program| {
        let (ir, decisions) = session.lower_with_remarks(&program)?;
        collector.decisions = decisions;
        let last = Stage::from_name("lanes").ok_or_else(|| Failure::bug("there is no pass `lanes`"))?;
        session.run_passes(ir, last, &mut collector)?;
        Ok(program)
    });
    let program = common::report(&session, program)?;
    Ok(Compiled { session, program, collector })
}
