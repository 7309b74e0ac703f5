//! Every program of `tests/programs/` on a GPU of NVIDIA's under compute-sanitizer: accesses
//! outside of memory and leaks (memcheck), races in scratchpad (racecheck), barriers that not
//! all threads come to (synccheck).
//!
//! `bindrune test --backend cuda` runs the test blocks below it, with all executables that
//! it starts; one in which something is found ends with a code of its own, and its call
//! counts as wrong.

use crate::Outcome;
use crate::programs::compiler;
use std::path::Path;
use std::process::Command;

/// The program, which comes with the CUDA toolkit; `$SANITIZER` is another one.
const SANITIZER: &str = "compute-sanitizer";
/// What it looks for, one after the other.
const TOOLS: [&str; 3] = ["memcheck", "racecheck", "synccheck"];
/// The exit code of an executable in which something was found.
const FOUND: &str = "86";

/// Runs everything; arguments: the programs or folders that are wanted.
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
            .args(["--error-exitcode", FOUND])
            .arg(compiler(root))
            .args(["test", "--backend", "cuda", "--no-terminal"])
            .args(&wanted)
            .status()
            .map_err(|e| {
                format!(
                    "sanitize: `{sanitizer}` cannot be started ({e}); it comes with the CUDA \
                     toolkit and needs a GPU of NVIDIA's"
                )
            })?;
        if !status.success() {
            wrong.push(tool);
        }
    }
    if wrong.is_empty() {
        println!("sanitize: nothing was found");
        return Ok(());
    }
    Err(format!("sanitize: see above: {}", wrong.join(", ")))
}
