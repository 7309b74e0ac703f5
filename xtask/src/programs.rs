//! Programs with test blocks, for the tasks that run them: what executables read,
//! and holding a process's end against a test block.

use harness::process::Finished;
use harness::programs::{Outcome, judge};
use harness::{Case, Data};
use std::path::{Path, PathBuf};

/// The compiler: `$BINDRUNE`, or `build/bindrune`.
pub fn compiler(root: &Path) -> String {
    std::env::var("BINDRUNE").unwrap_or_else(|_| root.join("build/bindrune").to_string_lossy().into_owned())
}

/// Keeps the programs whose paths have one of these parts; all if there is none.
pub fn keep_wanted(programs: &mut Vec<PathBuf>, wanted: &[String]) {
    programs.retain(|path| {
        let name = path.to_string_lossy();
        wanted.is_empty() || wanted.iter().any(|part| name.contains(part))
    });
}

/// What a case's executable reads; `None` where this is not supported yet.
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

/// Holds what an executable did against what the test block says.
pub fn verdict(case: &Case, finished: Finished, folder: &Path) -> Result<(), String> {
    let outcome = Outcome::of(finished, true);
    judge(case, &outcome, folder, || Ok(None)).map(|_| ())
}
