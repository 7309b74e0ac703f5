//! `bindrune build`: compile to an executable.

use crate::common::{self, Compiler};
use crate::link;
use crate::memory::{self, Stages};
use crate::portable;
use crate::tuning;
use std::path::{Path, PathBuf};
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
    /// What the code runs on: `cpu`, whatever the C compiler makes code for (`c`), or a
    /// device of OpenCL's (`opencl`), NVIDIA's (`cuda`) or AMD's (`hip`).
    #[arg(long, default_value = "cpu", value_parser = ["cpu", "c", "opencl", "cuda", "hip"])]
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
    let made = executable(
        &args.file,
        &args.backend,
        &args.compiler,
        &args.tuning,
        &output,
    );
    made.err().unwrap_or(ExitCode::SUCCESS)
}

/// Builds an executable with machine code for a processor, whatever else it runs on.
pub fn executable(
    file: &Path,
    backend: &str,
    compiler: &Compiler,
    tuning: &tuning::Files,
    output: &Path,
) -> Result<(), ExitCode> {
    let options = compiler.tuned_options(backend, true, tuning, file)?;
    let watch = memory::watch(file, compiler.memory);
    let (mut session, ir) = common::open(file, options);
    let ir = ir.and_then(|ir| tuning.apply(file, &mut session, ir));
    let objects = ir.and_then(|ir| session.objects(ir, &mut Stages::new()));
    let objects = common::report(&session, objects)?;
    drop(watch);
    link::executable(&objects, output).map_err(common::fail)
}
