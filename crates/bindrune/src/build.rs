//! `bindrune build`: compile to an executable.

use crate::common::{self, Compiler};
use crate::link;
use crate::memory::{self, Stages};
use crate::portable;
use crate::tuning;
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `build`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    compiler: Compiler,
    /// The program.
    file: PathBuf,
    /// The executable; the program's name without `.fut` if not given.
    #[arg(short = 'o', long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// What the code runs on: `cpu`, or whatever the C compiler makes code for (`c`).
    #[arg(long, default_value = "cpu", value_parser = ["cpu", "c"])]
    backend: String,
    #[command(flatten)]
    tuning: tuning::Files,
}

/// Builds the executable.
pub fn run(args: Args) -> ExitCode {
    let output = match link::output(args.output, &args.file) {
        Ok(output) => output,
        Err(message) => return common::fail(message),
    };
    if args.backend == "c" {
        let text = match portable::text(&args.file, &args.compiler, &args.tuning) {
            Ok(text) => text,
            Err(code) => return code,
        };
        return match portable::executable(&text, &args.compiler.cpu, &output) {
            Ok(()) => ExitCode::SUCCESS,
            Err(message) => common::fail(message),
        };
    }
    let watch = memory::watch(&args.file, args.compiler.memory);
    let (mut session, ir) = common::open(&args.file, args.compiler.options(true));
    let ir = ir.and_then(|ir| args.tuning.apply(&args.file, &mut session, ir));
    let objects = ir.and_then(|ir| session.objects(ir, &mut Stages::new()));
    let objects = match common::report(&session, objects) {
        Ok(objects) => objects,
        Err(code) => return code,
    };
    drop(watch);
    match link::executable(&objects, &output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => common::fail(message),
    }
}
