//! Shared parts of tasks that run programs with test blocks: inputs of executables, and comparison
//! of outcomes with test blocks.

use harness::process::Finished;
use harness::programs::{Outcome, compare_outcome};
use harness::{Case, Data};
use std::path::{Path, PathBuf};

/// Returns the path of the compiler: `$BINDRUNE`, or `build/bindrune`.
pub fn compiler(root: &Path) -> String {
    std::env::var("BINDRUNE").unwrap_or_else(|_| root.join("build/bindrune").to_string_lossy().into_owned())
}

/// Keeps the programs whose paths contain one of these parts; all if `wanted` is empty.
pub fn keep_wanted(programs: &mut Vec<PathBuf>, wanted: &[String]) {
    programs.retain(|path| {
        let name = path.to_string_lossy();
        wanted.is_empty() || wanted.iter().any(|part| name.contains(part))
    });
}

/// Returns the standard input of a case's executable; `None` for unsupported forms of data.
pub fn input(case: &Case, folder: &Path) -> Option<Result<Vec<u8>, String>> {
    match &case.input {
        Data::Text(text, _) => Some(Ok(text.clone().into_bytes())),
        Data::File(path) if path.extension().is_none_or(|ext| ext != "gz") => {
            let path = folder.join(path);
            Some(std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display())))
        }
        Data::File(_) | Data::Random(_) | Data::Script(_) | Data::ScriptFile(_) => None,
    }
}

/// Compares an executable's outcome with the one that the test block expects.
pub fn verdict(case: &Case, finished: Finished, folder: &Path) -> Result<(), String> {
    let outcome = Outcome::of(finished, true);
    compare_outcome(case, &outcome, folder, || Ok(None)).map(|_| ())
}
