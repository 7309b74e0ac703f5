//! Runs every program of `tests/programs/` on an NVIDIA GPU under compute-sanitizer: out-of-bounds
//! accesses and leaks (memcheck), races in shared memory (racecheck), barriers that not all threads
//! reach (synccheck).
//!
//! `bindrune test --backend cuda` and all executables that it starts run under the sanitizer. An
//! executable with findings exits with a code of its own, and its call counts as failed.

use crate::Outcome;
use crate::programs::compiler;
use std::path::Path;
use std::process::Command;

/// The sanitizer of the CUDA toolkit, unless `$SANITIZER` names another one.
const SANITIZER: &str = "compute-sanitizer";
/// The tools, run one after another.
const TOOLS: [&str; 3] = ["memcheck", "racecheck", "synccheck"];
/// The exit code of an executable with findings.
const ERROR_EXIT_CODE: &str = "86";

/// Runs the task. Arguments select programs or directories.
pub fn task(root: &Path) -> Outcome {
    let sanitizer = std::env::var("SANITIZER").unwrap_or_else(|_| SANITIZER.to_owned());
    let mut wanted: Vec<String> = std::env::args().skip(2).collect();
    if wanted.is_empty() {
        wanted.push(root.join("tests/programs").to_string_lossy().into_owned());
    }
    let mut wrong = Vec::new();
    for tool in TOOLS {
        println!("{tool}:");
        let status = Command::new(&sanitizer)
            .args(["--tool", tool, "--target-processes", "all"])
            .args(["--error-exitcode", ERROR_EXIT_CODE])
            .arg(compiler(root))
            .args(["test", "--backend", "cuda", "--no-terminal"])
            .args(&wanted)
            .status()
            .map_err(|e| {
                format!(
                    "sanitize: cannot start `{sanitizer}` ({e}); it is part of the CUDA toolkit \
                     and needs an NVIDIA GPU"
                )
            })?;
        if !status.success() {
            wrong.push(tool);
        }
    }
    if wrong.is_empty() {
        println!("sanitize: no findings");
        return Ok(());
    }
    Err(format!("sanitize: findings (see above) by {}", wrong.join(", ")))
}
