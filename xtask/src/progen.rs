//! Tests random programs: builds the crate `progen` and runs it with the task's arguments. It is a
//! separate executable, so that the other tasks build without LLVM.

use crate::Outcome;
use std::path::Path;
use std::process::Command;

/// Runs the task; findings are written to `build/progen/`.
pub fn task(root: &Path) -> Outcome {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let build = ["run", "--release", "--quiet", "--locked", "--package", "progen", "--"];
    let status = Command::new(cargo)
        .args(build)
        .args(std::env::args_os().skip(2))
        .current_dir(root)
        .status()
        .map_err(|e| format!("cargo: {e}"))?;
    if status.success() {
        return Ok(());
    }
    Err("progen: it found problems or failed to start".to_owned())
}
