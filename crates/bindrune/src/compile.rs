//! `bindrune c`, `multicore`, `opencl`, `cuda` and `hip`: the reference compiler's spelling of
//! `build --backend`.

use crate::build::{self, Program};
use crate::common;
use crate::link;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Arguments of these commands.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    program: Program,
    /// The executable; the program's name without `.fut` if not given. `bindrune c` writes the
    /// C beside it, into a file of this name with `.c`.
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
    let asked = args.program.request(backend);
    let output = link::output(args.output, asked.file).map_err(common::report_error)?;
    if backend != "c" {
        return build::executable(&asked, &output);
    }
    let text = build::portable_c(&asked)?;
    let mut beside = output.clone().into_os_string();
    beside.push(".c");
    link::write(Path::new(&beside), text.as_bytes()).map_err(common::report_error)?;
    build::portable_executable(&asked, &text, &output)
}
