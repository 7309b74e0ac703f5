//! `bindrune check`: errors and warnings, nothing else.

use crate::common::{self, Files};
use crate::memory;
use driver::{Options, Session};
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `check`.
#[derive(clap::Args)]
pub struct Args {
    /// The program.
    file: PathBuf,
    /// How much memory the compiler may use.
    #[arg(long, value_name = "BYTES", hide = true)]
    compiler_memory: Option<u64>,
}

/// Checks the program.
pub fn run(args: Args) -> ExitCode {
    let _watch = memory::watch(&args.file, args.compiler_memory);
    let name = args.file.to_string_lossy();
    let mut session = Session::new(name.as_ref(), Options::default());
    let result = session.check(&mut Files);
    match common::report(&session, result) {
        Ok(_) => ExitCode::SUCCESS,
        Err(code) => code,
    }
}
