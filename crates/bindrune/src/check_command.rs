//! `bindrune check`: reports errors and warnings, and compiles nothing.

use crate::common;
use crate::memory;
use crate::source::WERROR_MESSAGE;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// The reference compiler's exit code if warnings count as errors.
const WARNINGS_AS_ERRORS_EXIT_CODE: u8 = 2;

/// Arguments of `check`.
#[derive(clap::Args)]
pub struct Args {
    /// The programs.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Suppress warnings.
    #[arg(short = 'w', visible_short_alias = 'W')]
    quiet: bool,
    /// Fail, with exit code 2, if there are warnings and no errors.
    #[arg(long = "Werror")]
    strict: bool,
    /// The compiler's memory limit.
    #[arg(long, value_name = "BYTES", hide = true)]
    compiler_memory: Option<u64>,
}

/// Checks the programs one after another.
pub fn run(args: Args) -> ExitCode {
    let (mut failed, mut warned) = (false, false);
    for file in &args.files {
        let _watch = memory::watch_memory(file, args.compiler_memory);
        let (mut session, result) = driver::check(file, driver::Options::default());
        if args.quiet {
            session.warnings.clear();
        }
        warned |= !session.warnings.is_empty();
        failed |= common::report(&session, result).is_err();
    }
    if failed {
        return ExitCode::FAILURE;
    }
    if warned && args.strict {
        // If standard error is closed, the exit code alone reports the failure.
        let _ = writeln!(std::io::stderr(), "bindrune: {WERROR_MESSAGE}");
        return ExitCode::from(WARNINGS_AS_ERRORS_EXIT_CODE);
    }
    ExitCode::SUCCESS
}
