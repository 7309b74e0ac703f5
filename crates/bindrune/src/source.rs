//! The options of compiling commands for warnings and checks, spelled as in the reference compiler.

use crate::common;
use crate::memory::PassTracker;
use driver::{Failure, Options, Session};
use std::process::ExitCode;

/// Options about warnings and checks.
#[derive(clap::Args)]
pub struct SourceOptions {
    /// Suppress warnings.
    #[arg(short = 'w', visible_short_alias = 'W')]
    quiet: bool,
    /// Treat warnings as errors; nothing is written then.
    #[arg(long = "Werror")]
    werror: bool,
    /// Ignore `#[unsafe]`: make all checks.
    #[arg(long)]
    safe: bool,
    /// Print each pass and its time to standard error.
    #[arg(short, long)]
    verbose: bool,
}

impl SourceOptions {
    /// Applies the options to those of a session.
    #[must_use]
    pub fn options(&self, options: Options) -> Options {
        Options { safe: self.safe, ..options }
    }

    /// Returns an observer of the passes.
    pub fn stages(&self) -> PassTracker {
        PassTracker::with_times(self.verbose)
    }

    /// Prints warnings and, on failure, the errors; the exit code is the error value. With
    /// `--Werror`, warnings are a failure.
    pub fn report<T>(&self, session: &mut Session, result: Result<T, Failure>) -> Result<T, ExitCode> {
        if self.quiet {
            session.warnings.clear();
        }
        let made = common::report(session, result)?;
        if self.werror && !session.warnings.is_empty() {
            return Err(common::report_error(WERROR_MESSAGE));
        }
        Ok(made)
    }
}

/// The message if warnings count as errors.
pub const WERROR_MESSAGE: &str = "the warnings above count as errors because of --Werror";
