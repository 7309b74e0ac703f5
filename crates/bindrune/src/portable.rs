//! Compilation of portable C with the system's C compiler.
//!
//! The compiler is `cc`, or that named by `CC`. `CFLAGS` replaces the flags for optimisation level
//! and processor. Flags that results depend on are passed in any case.

use crate::common;
use crate::link;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Compiles C into an executable at `output`. The error message says how to fix the problem.
pub fn executable(text: &str, cpu: &str, output: &Path) -> Result<(), String> {
    let folder = link::work_folder()?;
    let executable = compile_c(text, cpu, folder.path())?;
    link::install(&executable, output)
}

/// Compiles C and runs the executable with the program's options. Returns its exit code.
pub fn run(text: &str, cpu: &str, file: &Path, options: &[OsString]) -> ExitCode {
    let status = link::work_folder().and_then(|folder| {
        let executable = compile_c(text, cpu, folder.path())?;
        let mut command = Command::new(executable);
        std::os::unix::process::CommandExt::arg0(&mut command, file);
        let status = command.args(options).status();
        status.map_err(|e| format!("cannot run the compiled program: {e}"))
    });
    match status {
        Ok(status) => {
            let code = status.code().and_then(|code| u8::try_from(code).ok());
            code.map_or(ExitCode::FAILURE, ExitCode::from)
        }
        Err(message) => common::report_error(message),
    }
}

/// The flags that apply unless `CFLAGS` is set.
fn flags(cpu: &str) -> String {
    match cpu {
        "generic" | driver::PORTABLE => "-O3".to_owned(),
        cpu => format!("-O3 -march={cpu}"),
    }
}

/// Compiles C in a folder and returns the path of the executable.
fn compile_c(text: &str, cpu: &str, folder: &Path) -> Result<PathBuf, String> {
    let (source, executable) = (folder.join("program.c"), folder.join("program"));
    link::write(&source, text.as_bytes())?;
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let flags = std::env::var("CFLAGS").unwrap_or_else(|_| flags(cpu));
    let result = Command::new(&compiler)
        .args(["-std=c11", "-ffp-contract=off", "-fno-math-errno", "-w"])
        .args(flags.split_whitespace())
        .arg("-o")
        .arg(&executable)
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
        return Ok(executable);
    }
    let stderr = String::from_utf8_lossy(&run.stderr);
    Err(format!("the C compiler `{name}` failed ({}):\n{}", run.status, stderr.trim_end()))
}
