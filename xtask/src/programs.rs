//! Programs with test blocks, for the tasks that run them: what executables read,
//! and holding a process's end against a test block.

use harness::process::{End, Finished};
use harness::programs::{Outcome, judge, results};
use harness::{Case, Data};
use std::path::Path;

/// The compiler: `$BINDRUNE`, or `build/bindrune`.
pub fn compiler(root: &Path) -> String {
    std::env::var("BINDRUNE")
        .unwrap_or_else(|_| root.join("build/bindrune").to_string_lossy().into_owned())
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
pub fn verdict(case: &Case, finished: &Finished, folder: &Path) -> Result<(), String> {
    let outcome = match finished.end {
        End::Timeout => Outcome::Broken("it does not end".to_owned()),
        End::Signal(signal) => Outcome::Broken(format!("it crashes: signal {signal}")),
        End::Code(0) => Outcome::Values(results(&finished.stdout)?),
        End::Code(1) => Outcome::Failure(finished.stderr.clone()),
        End::Code(code) => Outcome::Broken(format!("exit code {code}")),
    };
    judge(case, &outcome, folder, || Ok(None)).map(|_| ())
}
