//! `bindrune explain`: optimisation remarks, by source line.
//!
//! The passes record decisions with their source locations ([`driver::decision`]). This module
//! turns them into remarks ([`account`]) and prints these as text, JSON or an HTML page. [`tuning`]
//! reports the versions that a tuning file selects.

use crate::common::{self, Compiler};
use crate::memory;
use crate::tuning::TuningFileOptions;
use account::{Filter, RemarkCollector};
use check::tast::Program;
use driver::{Failure, Session, Stage};
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

mod account;
mod entry;
mod html;
mod json;
mod lines;
mod names;
mod settle;
mod text;
mod tuning;

/// Arguments of `explain`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    compiler: Compiler,
    /// What the code runs on: `cpu`, or a device of OpenCL's (`opencl`), NVIDIA's (`cuda`) or
    /// AMD's (`hip`). With `--tuning`, what the program was tuned for if not given, else `cpu`.
    #[arg(long, value_parser = ["cpu", "opencl", "cuda", "hip"])]
    backend: Option<String>,
    /// A program (`.fut`).
    file: PathBuf,
    /// Tell of this function only.
    #[arg(short = 'e', long, value_name = "NAME")]
    function: Option<String>,
    /// Tell all that is known, of library functions' insides, too.
    #[arg(long)]
    all: bool,
    /// Write data for other programs to standard output.
    #[arg(long, conflicts_with = "html")]
    json: bool,
    /// Tell instead which versions the tuning file beside the program chooses on each data set
    /// of its tuning, and by how much these are faster.
    #[arg(
        long,
        value_name = "EXTENSION",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "tuning",
        conflicts_with_all = ["html", "all"]
    )]
    tuning: Option<OsString>,
    /// Write a page that shows the source beside its fate to this file.
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
    let Compiled { session, program, ledger } = &compiled;
    let function = args.function.as_deref();
    if let Some((extension, record)) = &tuned {
        let asked = tuning::Request {
            file: &args.file,
            extension,
            record,
            on_device: session.options.stack.has_device(),
            function,
            json: args.json,
            colour,
        };
        let text = tuning::explain(&asked, ledger, program, &session.sources);
        return common::write_stdout(&text.map_err(common::report_error)?);
    }
    let wanted = Filter { function, all: args.all };
    let name = args.file.to_string_lossy();
    let account = ledger.remarks(program, &session.sources, &name, &wanted);
    let account = account.map_err(common::report_error)?;
    if let Some(file) = &args.html {
        let page = html::page(&account);
        return std::fs::write(file, page)
            .map_err(|e| common::report_error(format_args!("cannot write {}: {e}", file.display())));
    }
    if args.json {
        return common::write_stdout(&json::json(&account));
    }
    common::write_stdout(&text::text(&account, colour))
}

/// A compiled program and the recorded decisions.
struct Compiled {
    session: Session,
    program: Program,
    ledger: RemarkCollector,
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
    let mut ledger = RemarkCollector::default();
    let told = checked.and_then(|program| {
        let (ir, decisions) = session.lower_with_remarks(&program)?;
        ledger.decisions = decisions;
        let last = Stage::from_name("lanes").ok_or_else(|| Failure::bug("no pass is `lanes`"))?;
        session.run_passes(ir, last, &mut ledger)?;
        Ok(program)
    });
    let program = common::report(&session, told)?;
    Ok(Compiled { session, program, ledger })
}
