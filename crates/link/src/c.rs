//! Compilation of portable C with the system's C compiler.
//!
//! The compiler is `cc`, or that named by `CC`. `CFLAGS` replaces the flags for optimisation level
//! and processor. Flags that results depend on are passed in any case.

use crate::{install, run_tool, work_folder, write};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

/// Compiles C into an executable at `output`. The error message says how to fix the problem.
pub fn executable(text: &str, cpu: &str, output: &Path) -> Result<(), String> {
    let folder = work_folder()?;
    let executable = compile(text, cpu, folder.path())?;
    install(&executable, output)
}

/// Compiles C and runs the executable with the program's options, under the name `file`.
pub fn run(text: &str, cpu: &str, file: &Path, options: &[OsString]) -> Result<ExitStatus, String> {
    let folder = work_folder()?;
    let executable = compile(text, cpu, folder.path())?;
    let status = Command::new(executable).arg0(file).args(options).status();
    status.map_err(|e| format!("cannot run the compiled program: {e}"))
}

/// The flags that apply unless `CFLAGS` is set.
fn flags(cpu: &str) -> String {
    match cpu {
        "generic" | driver::PORTABLE => "-O3".to_owned(),
        cpu => format!("-O3 -march={cpu}"),
    }
}

/// Compiles C in a folder and returns the path of the executable.
fn compile(text: &str, cpu: &str, folder: &Path) -> Result<PathBuf, String> {
    let (source, executable) = (folder.join("program.c"), folder.join("program"));
    write(&source, text.as_bytes())?;
    let flags = std::env::var("CFLAGS").unwrap_or_else(|_| flags(cpu));
    run_tool("C compiler", "one", |command| {
        command.args(["-std=c11", "-ffp-contract=off", "-fno-math-errno", "-w"]);
        command.args(flags.split_whitespace()).arg("-o").arg(&executable).arg(&source).arg("-lm");
    })?;
    Ok(executable)
}
