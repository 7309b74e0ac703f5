//! `bindrune run`: compiles and runs a program in this process, or interprets it.

use crate::build;
use crate::common::{self, Compiler};
use crate::interpret;
use crate::source::SourceOptions;
use crate::tuning::TuningFileOptions;
use driver::on_large_stack;
use runtime::exe::options::{self, Command};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `run`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    compiler: Compiler,
    /// The backend that runs the program: compiled code (`cpu` or `multicore`), portable C (`c`),
    /// kernels on a device (`opencl`, `cuda`, `hip`), or the interpreter (`interp`).
    #[arg(long, default_value = "cpu", value_parser = ["cpu", "multicore", "c", "opencl", "cuda", "hip", "interp"])]
    backend: String,
    /// With the interpreter: check all values against the sizes in their types, to find bugs of the
    /// type checker.
    #[arg(long)]
    check_sizes: bool,
    /// The program.
    file: PathBuf,
    #[command(flatten)]
    source: SourceOptions,
    #[command(flatten)]
    tuning: TuningFileOptions,
    /// Options of the program's executable: `-e ENTRY`, `-t FILE`, `-r RUNS`, `-b`, `-n`, `-D`,
    /// `--num-threads N`, `--help`, ...
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    options: Vec<OsString>,
}

/// Runs the program.
pub fn run(args: Args) -> ExitCode {
    if args.backend == "interp" {
        return on_large_stack(|| interpret::run(&args.file, &args.source, args.check_sizes, args.options));
    }
    if args.check_sizes {
        return common::report_error("`--check-sizes` needs `--backend interp`");
    }
    let request = build::Request {
        file: &args.file,
        backend: &args.backend,
        compiler: &args.compiler,
        source: &args.source,
        entry_points: &[],
        only_entry: only_entry(&args),
        tuning: args.tuning.files(),
    };
    if args.backend == "c" {
        return match on_large_stack(|| build::portable_c(&request)) {
            Ok(text) => match link::c::run(&text, &args.compiler.cpu, &args.file, &args.options) {
                Ok(status) => {
                    let code = status.code().and_then(|code| u8::try_from(code).ok());
                    code.map_or(ExitCode::FAILURE, ExitCode::from)
                }
                Err(message) => common::report_error(message),
            },
            Err(code) => code,
        };
    }
    let image = on_large_stack(|| {
        let (file, compiler) = (request.file, request.compiler);
        let options = compiler.tuned_options(request.backend, false, &request.tuning, file)?;
        build::compile_with(&request, options, |session, ir, stages| session.image(ir, stages))
    });
    let image = match image {
        Ok(image) => image,
        Err(code) => return code,
    };
    let stdin = match value::Reader::stdin() {
        Ok(stdin) => stdin,
        Err(error) => return common::report_error(format_args!("cannot read standard input: {error}")),
    };
    let name = args.file.as_os_str().to_owned();
    let streams =
        runtime::exe::Streams { stdin, stdout: &mut std::io::stdout(), stderr: &mut std::io::stderr() };
    let code = runtime::exe::run(image, std::iter::once(name).chain(args.options), streams);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

/// The entry point that the executable's options call. `None` if they or a tuning file concern
/// parameters, which belong to the whole program, or are not options of a run.
fn only_entry(args: &Args) -> Option<String> {
    let Ok(Command::Run(options)) = options::parse(args.options.iter().cloned()) else {
        return None;
    };
    let whole =
        args.tuning.files().has_file(&args.file) || !options.params.is_empty() || options.print_values;
    (!whole).then_some(options.entry)
}
