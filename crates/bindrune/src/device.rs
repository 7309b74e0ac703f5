//! `bindrune opencl`, `cuda` and `hip`: the reference compiler's spelling of `build --backend`.

use crate::build;
use crate::common::{self, Compiler};
use crate::link;
use crate::tuning;
use driver::DeviceTarget;
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of these commands.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    compiler: Compiler,
    /// The program.
    file: PathBuf,
    /// The executable; the program's name without `.fut` if not given.
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

/// Builds the executable.
pub fn command(args: Args, target: DeviceTarget) -> ExitCode {
    if args.library || args.server {
        let what = if args.library { "libraries" } else { "servers" };
        return common::fail(format_args!(
            "not supported yet: {what} that run on a device"
        ));
    }
    let output = match link::output(args.output, &args.file) {
        Ok(output) => output,
        Err(message) => return common::fail(message),
    };
    let made = build::executable(
        &args.file,
        target.name(),
        &args.compiler,
        &args.tuning,
        &output,
    );
    made.err().unwrap_or(ExitCode::SUCCESS)
}
