//! `bindrune c`, `multicore`, `opencl`, `cuda` and `hip`: the reference compiler's spelling of
//! `build --backend`.

use crate::build::{self, Program};
use crate::common;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Arguments of these commands.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    program: Program,
    /// The executable; the default is the program's name without `.fut`. `bindrune c` also writes
    /// the C, to a file of this name with `.c` appended.
    #[arg(short = 'o', long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Build an executable; this is the default.
    #[arg(long, conflicts_with_all = ["library", "server"])]
    executable: bool,
    /// Build a library.
    #[arg(long, conflicts_with = "server")]
    library: bool,
    /// Build a server executable.
    #[arg(long)]
    server: bool,
}

/// Builds the executable for a backend of `build`.
pub fn command(args: Args, backend: &str) -> ExitCode {
    run(args, backend).err().unwrap_or(ExitCode::SUCCESS)
}

fn run(args: Args, backend: &str) -> Result<(), ExitCode> {
    if args.library || args.server {
        let what = if args.library { "libraries" } else { "servers" };
        return Err(common::report_error(format_args!("not supported yet: {what} of `bindrune {backend}`")));
    }
    let request = args.program.request(backend);
    let output = build::output(args.output, request.file)?;
    if backend != "c" {
        return build::executable(&request, &output);
    }
    let text = build::portable_c(&request)?;
    let mut c_file = output.clone().into_os_string();
    c_file.push(".c");
    common::write_file(Path::new(&c_file), &text)?;
    build::portable_executable(&request, &text, &output)
}
