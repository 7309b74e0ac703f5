//! Portable C: the text, the C compiler, and `bindrune c`.
//!
//! The C compiler is `cc`, or what `CC` names; `CFLAGS` stands in place of how much it
//! optimises and for which processor. What results depend on is said in any case.

use crate::common::{self, Compiler};
use crate::link;
use crate::memory::{self, Stages};
use crate::tuning;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Arguments of `c`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    compiler: Compiler,
    /// The program.
    file: PathBuf,
    /// The executable; the program's name without `.fut` if not given. The C stands beside
    /// it, in a file of this name with `.c`.
    #[arg(short = 'o', long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Make an executable; this is the default.
    #[arg(long, conflicts_with_all = ["library", "server"])]
    executable: bool,
    /// Make a library.
    #[arg(long, conflicts_with = "server")]
    library: bool,
    /// Make an executable that is a server.
    #[arg(long)]
    server: bool,
    #[command(flatten)]
    tuning: tuning::Files,
}

/// Writes the C and the executable.
pub fn command(args: Args) -> ExitCode {
    if args.library || args.server {
        let what = if args.library {
            "libraries in C"
        } else {
            "servers in C"
        };
        return common::fail(format_args!("not supported yet: {what}"));
    }
    let output = match link::output(args.output, &args.file) {
        Ok(output) => output,
        Err(message) => return common::fail(message),
    };
    let mut source = output.clone().into_os_string();
    source.push(".c");
    let text = match text(&args.file, &args.compiler, &args.tuning) {
        Ok(text) => text,
        Err(code) => return code,
    };
    let written = link::write(Path::new(&source), text.as_bytes());
    match written.and_then(|()| executable(&text, &args.compiler.cpu, &output)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => common::fail(message),
    }
}

/// The C of a program.
pub fn text(file: &Path, compiler: &Compiler, tuning: &tuning::Files) -> Result<String, ExitCode> {
    let _watch = memory::watch(file, compiler.memory);
    let (mut session, ir) = common::open(file, compiler.options(true).portable_c());
    let ir = ir.and_then(|ir| tuning.apply(file, &mut session, ir));
    let text = ir.and_then(|ir| session.portable_c(ir, &mut Stages::new()));
    common::report(&session, text)
}

/// Compiles C into an executable at `output`. The error says what to do.
pub fn executable(text: &str, cpu: &str, output: &Path) -> Result<(), String> {
    let folder = link::work_folder()?;
    let made = compiled(text, cpu, folder.path())?;
    link::place(&made, output)
}

/// Compiles C and runs that with a program's options; the exit code.
pub fn run(text: &str, cpu: &str, file: &Path, options: &[OsString]) -> ExitCode {
    let ran = link::work_folder().and_then(|folder| {
        let made = compiled(text, cpu, folder.path())?;
        let mut command = Command::new(made);
        std::os::unix::process::CommandExt::arg0(&mut command, file);
        let status = command.args(options).status();
        status.map_err(|e| format!("cannot run the compiled program: {e}"))
    });
    match ran {
        Ok(status) => {
            let code = status.code().and_then(|code| u8::try_from(code).ok());
            code.map_or(ExitCode::FAILURE, ExitCode::from)
        }
        Err(message) => common::fail(message),
    }
}

/// What the C compiler is asked for unless `CFLAGS` says it.
fn flags(cpu: &str) -> String {
    match cpu {
        "generic" | driver::PORTABLE => "-O3".to_owned(),
        cpu => format!("-O3 -march={cpu}"),
    }
}

/// The executable that the C compiler makes in a folder.
fn compiled(text: &str, cpu: &str, folder: &Path) -> Result<PathBuf, String> {
    let (source, made) = (folder.join("program.c"), folder.join("program"));
    link::write(&source, text.as_bytes())?;
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let flags = std::env::var("CFLAGS").unwrap_or_else(|_| flags(cpu));
    let result = Command::new(&compiler)
        .args(["-std=c11", "-ffp-contract=off", "-fno-math-errno", "-w"])
        .args(flags.split_whitespace())
        .arg("-o")
        .arg(&made)
        .arg(&source)
        .arg("-lm")
        .output();
    let name = compiler.to_string_lossy();
    let run = result.map_err(|e| {
        format!(
            "cannot start the C compiler `{name}`: {e}; install one (for example the package \
             gcc), or name one in the environment variable CC"
        )
    })?;
    if run.status.success() {
        return Ok(made);
    }
    let said = String::from_utf8_lossy(&run.stderr);
    Err(format!(
        "the C compiler `{name}` failed ({}):\n{}",
        run.status,
        said.trim_end()
    ))
}
