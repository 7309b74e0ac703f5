//! `bindrune build`: compiles a program to an executable.

use crate::common::{self, Compiler};
use crate::link;
use crate::memory::{self, PassTracker};
use crate::portable;
use crate::source::SourceOptions;
use crate::tuning;
use driver::{Failure, Ir, Options, Session};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Arguments of `build`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    program: Program,
    /// The executable; the program's name without `.fut` if not given.
    #[arg(short = 'o', long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// What the code runs on: `cpu` (or `multicore`), whatever the C compiler makes code for
    /// (`c`), or a device of OpenCL's (`opencl`), NVIDIA's (`cuda`) or AMD's (`hip`).
    #[arg(long, default_value = "cpu", value_parser = ["cpu", "multicore", "c", "opencl", "cuda", "hip"])]
    backend: String,
}

/// Arguments of all commands that make executables.
#[derive(clap::Args)]
pub struct Program {
    #[command(flatten)]
    compiler: Compiler,
    #[command(flatten)]
    source: SourceOptions,
    /// Another entry point: a function at the program's top level. It may be given several
    /// times.
    #[arg(long = "entry-point", value_name = "NAME")]
    entry_points: Vec<String>,
    #[command(flatten)]
    tuning: tuning::TuningFileOptions,
    /// The program.
    file: PathBuf,
}

impl Program {
    /// Returns the request to compile this program for a backend of `build`.
    pub fn request<'a>(&'a self, backend: &'a str) -> Request<'a> {
        Request {
            file: &self.file,
            backend,
            compiler: &self.compiler,
            source: &self.source,
            entry_points: &self.entry_points,
            tuning: &self.tuning,
        }
    }
}

/// Builds the executable.
pub fn run(args: Args) -> ExitCode {
    let asked = args.program.request(&args.backend);
    let made = link::output(args.output, asked.file).map_err(common::report_error).and_then(|output| {
        match asked.backend {
            "c" => portable_executable(&asked, &portable_c(&asked)?, &output),
            _ => executable(&asked, &output),
        }
    });
    made.err().unwrap_or(ExitCode::SUCCESS)
}

/// A request to compile a program.
pub struct Request<'a> {
    /// The program.
    pub file: &'a Path,
    /// A value of `build --backend`.
    pub backend: &'a str,
    /// Compiler options.
    pub compiler: &'a Compiler,
    /// Options for warnings and checks.
    pub source: &'a SourceOptions,
    /// Entry points beyond those in the source.
    pub entry_points: &'a [String],
    /// The tuning files that apply.
    pub tuning: &'a tuning::TuningFileOptions,
}

/// Builds an executable of host machine code, including the kernels' source for a device backend.
pub fn executable(asked: &Request<'_>, output: &Path) -> Result<(), ExitCode> {
    let (file, compiler) = (asked.file, asked.compiler);
    let options = compiler.tuned_options(asked.backend, true, asked.tuning, file)?;
    let objects = compile_with(asked, options, |session, ir, stages| session.objects(ir, stages))?;
    link::executable(&objects, output).map_err(common::report_error)
}

/// Builds an executable from a program's portable C with the system's C compiler.
pub fn portable_executable(asked: &Request<'_>, text: &str, output: &Path) -> Result<(), ExitCode> {
    portable::executable(text, &asked.compiler.cpu, output).map_err(common::report_error)
}

/// The portable C text of a program.
pub fn portable_c(asked: &Request<'_>) -> Result<String, ExitCode> {
    let options = asked.compiler.options(true).portable_c();
    compile_with(asked, options, |session, ir, stages| session.portable_c(ir, stages))
}

/// Runs all passes on a program and returns the result of `finish`.
pub fn compile_with<T>(
    asked: &Request<'_>,
    options: Options,
    finish: impl FnOnce(&mut Session, Ir, &mut PassTracker) -> Result<T, Failure>,
) -> Result<T, ExitCode> {
    let _watch = memory::watch_memory(asked.file, asked.compiler.memory);
    let options = Options { entry_points: asked.entry_points.to_vec(), ..asked.source.options(options) };
    let (mut session, ir) = common::open(asked.file, options);
    let mut stages = asked.source.stages();
    let made = ir
        .and_then(|ir| (asked.tuning).apply(asked.file, &mut session, ir, &mut stages))
        .and_then(|ir| finish(&mut session, ir, &mut stages));
    asked.source.report(&mut session, made)
}
