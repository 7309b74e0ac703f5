//! `bindrune run`: compile and run in this process, or interpret.

use crate::common::{self, Compiler};
use crate::interpret;
use crate::memory::{self, Stages};
use crate::portable;
use crate::tuning;
use driver::on_large_stack;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `run`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    compiler: Compiler,
    /// What evaluates the program: compiled code, portable C, kernels on a device of
    /// OpenCL's, or the interpreter.
    #[arg(long, default_value = "cpu", value_parser = ["cpu", "c", "opencl", "cuda", "hip", "interp"])]
    backend: String,
    /// The program.
    file: PathBuf,
    #[command(flatten)]
    tuning: tuning::Files,
    /// Options that the program's executable would take: `-e ENTRY`, `-t FILE`,
    /// `-r RUNS`, `-b`, `-n`, `-D`, `--num-threads N`, `--help`, ...
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGS"
    )]
    options: Vec<OsString>,
}

/// Runs the program.
pub fn run(args: Args) -> ExitCode {
    if args.backend == "interp" {
        return on_large_stack(|| interpret::run(&args.file, args.options));
    }
    if args.backend == "c" {
        let text = on_large_stack(|| portable::text(&args.file, &args.compiler, &args.tuning));
        return match text {
            Ok(text) => portable::run(&text, &args.compiler.cpu, &args.file, &args.options),
            Err(code) => code,
        };
    }
    let image = on_large_stack(|| {
        let _watch = memory::watch(&args.file, args.compiler.memory);
        let compiler = &args.compiler;
        let options = compiler.tuned_options(&args.backend, false, &args.tuning, &args.file)?;
        let (mut session, ir) = common::open(&args.file, options);
        let ir = ir.and_then(|ir| args.tuning.apply(&args.file, &mut session, ir));
        let image = ir.and_then(|ir| session.image(ir, &mut Stages::new()));
        common::report(&session, image)
    });
    let image = match image {
        Ok(image) => image,
        Err(code) => return code,
    };
    let stdin = match value::Reader::stdin() {
        Ok(stdin) => stdin,
        Err(error) => return common::fail(format_args!("cannot read standard input: {error}")),
    };
    let name = args.file.as_os_str().to_owned();
    let streams = runtime::exe::Streams {
        stdin,
        stdout: &mut std::io::stdout(),
        stderr: &mut std::io::stderr(),
    };
    let code = runtime::exe::run(image, std::iter::once(name).chain(args.options), streams);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
