//! `bindrune check`: errors and warnings, nothing else.

use crate::common::{self, Files};
use driver::{Options, Session};
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `check`.
#[derive(clap::Args)]
pub struct Args {
    /// The program.
    file: PathBuf,
}

/// Checks the program.
pub fn run(args: Args) -> ExitCode {
    let name = args.file.to_string_lossy();
    let mut session = Session::new(name.as_ref(), Options::default());
    let result = session.check(&mut Files);
    match common::report(&session, result) {
        Ok(_) => ExitCode::SUCCESS,
        Err(code) => code,
    }
}
