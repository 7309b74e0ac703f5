//! `bindrune build`: compiles a program to an executable.

use crate::common::{self, Compiler};
use crate::memory::{self, PassTracker};
use crate::source::SourceOptions;
use crate::tuning::TuningFileOptions;
use driver::tuning::TuningFiles;
use driver::{Failure, Ir, Options, Session};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Arguments of `build`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    program: Program,
    /// The executable; the default is the program's name without `.fut`.
    #[arg(short = 'o', long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// The target: `cpu` (or `multicore`), portable C compiled by the system's C compiler (`c`),
    /// OpenCL devices (`opencl`), NVIDIA GPUs (`cuda`) or AMD GPUs (`hip`).
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
    /// An additional entry point: a function at the program's top level. May be given several
    /// times.
    #[arg(long = "entry-point", value_name = "NAME")]
    entry_points: Vec<String>,
    #[command(flatten)]
    tuning: TuningFileOptions,
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
            only_entry: None,
            tuning: self.tuning.files(),
        }
    }
}

/// Builds the executable.
pub fn run(args: Args) -> ExitCode {
    let request = args.program.request(&args.backend);
    let output = output(args.output, request.file);
    let built = output.and_then(|output| match request.backend {
        "c" => portable_executable(&request, &portable_c(&request)?, &output),
        _ => executable(&request, &output),
    });
    built.err().unwrap_or(ExitCode::SUCCESS)
}

/// Returns the path of a program's executable: the requested one, or that of the source without its
/// extension.
pub fn output(requested: Option<PathBuf>, program: &Path) -> Result<PathBuf, ExitCode> {
    let output = requested.unwrap_or_else(|| program.with_extension(""));
    let file = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    // Imports are not known yet, so no `.fut` file is overwritten.
    let is_source = output.extension().is_some_and(|it| it == "fut");
    if is_source || file(&output) == file(program) {
        return Err(common::report_error(
            "the executable would overwrite the program; choose another name with -o",
        ));
    }
    Ok(output)
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
    /// The only entry point to compile, if the program has it.
    pub only_entry: Option<String>,
    /// The tuning files that apply.
    pub tuning: TuningFiles,
}

/// Builds an executable of host machine code, including the kernels' source for a device backend.
pub fn executable(request: &Request<'_>, output: &Path) -> Result<(), ExitCode> {
    let (file, compiler) = (request.file, request.compiler);
    let options = compiler.tuned_options(request.backend, true, &request.tuning, file)?;
    let objects = compile_with(request, options, |session, ir, stages| session.objects(ir, stages))?;
    link::executable(&objects, output).map_err(common::report_error)
}

/// Builds an executable from a program's portable C with the system's C compiler.
pub fn portable_executable(request: &Request<'_>, text: &str, output: &Path) -> Result<(), ExitCode> {
    link::c::executable(text, &request.compiler.cpu, output).map_err(common::report_error)
}

/// The portable C text of a program.
pub fn portable_c(request: &Request<'_>) -> Result<String, ExitCode> {
    let options = request.compiler.options(true).portable_c();
    compile_with(request, options, |session, ir, stages| session.portable_c(ir, stages))
}

/// Runs all passes on a program and returns the result of `finish`.
pub fn compile_with<T>(
    request: &Request<'_>,
    options: Options,
    finish: impl FnOnce(&mut Session, Ir, &mut PassTracker) -> Result<T, Failure>,
) -> Result<T, ExitCode> {
    let _watch = memory::watch_memory(request.file, request.compiler.memory);
    let options = Options {
        entry_points: request.entry_points.to_vec(),
        only_entry: request.only_entry.clone(),
        ..request.source.options(options)
    };
    let (mut session, ir) = driver::lower(request.file, options);
    let mut stages = request.source.stages();
    let made = ir.and_then(|ir| {
        let given = request.tuning.of(request.file);
        let given = given.map_err(|why| Failure::message("tuning-file", why))?;
        let (ir, unknown) = session.tune(ir, &given, &mut stages)?;
        unknown.iter().for_each(|line| common::note(line));
        finish(&mut session, ir, &mut stages)
    });
    request.source.report(&mut session, made)
}
