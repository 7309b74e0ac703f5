//! The same source and options give the same bytes: compiles each program of
//! `examples/`, `tests/programs/` and `bench/programs/` twice with
//! `build/bindrune` and compares the executables.
//!
//! Programs that the compiler refuses have to be refused with the same words.

use crate::Outcome;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the programs lie.
const FOLDERS: [&str; 3] = ["examples", "tests/programs", "bench/programs"];

/// Compiles everything twice.
pub fn run(root: &Path) -> Outcome {
    let mut programs = Vec::new();
    for folder in FOLDERS {
        find(&root.join(folder), &mut programs)?;
    }
    programs.sort();
    let folder = root.join("build/determinism");
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut different = Vec::new();
    let mut refused = 0;
    for program in &programs {
        let name = program.strip_prefix(root).unwrap_or(program).display();
        let first = compile(root, program, &folder.join("first"))?;
        let second = compile(root, program, &folder.join("second"))?;
        if first != second {
            different.push(format!("{name}: two runs of the compiler differ"));
        }
        refused += usize::from(first.executable.is_none());
    }
    if programs.is_empty() || refused == programs.len() {
        return Err(format!("none of {} programs compiles", programs.len()));
    }
    if different.is_empty() {
        println!(
            "determinism: {} programs, {refused} of them refused",
            programs.len()
        );
        return Ok(());
    }
    Err(different.join("\n"))
}

/// What came of a program.
#[derive(PartialEq, Eq)]
struct Compiled {
    executable: Option<Vec<u8>>,
    messages: Vec<u8>,
}

/// Compiles `program` with a fresh process.
fn compile(root: &Path, program: &Path, to: &Path) -> Result<Compiled, String> {
    let compiler = root.join("build/bindrune");
    let finished = Command::new(&compiler)
        .arg("build")
        .arg(program)
        .arg("-o")
        .arg(to)
        .output()
        .map_err(|e| format!("{}: {e}", compiler.display()))?;
    let executable = if finished.status.success() {
        Some(std::fs::read(to).map_err(|e| format!("{}: {e}", to.display()))?)
    } else {
        None
    };
    Ok(Compiled {
        executable,
        messages: finished.stderr,
    })
}

/// Adds the Futhark programs below `folder`.
fn find(folder: &Path, programs: &mut Vec<PathBuf>) -> Outcome {
    let problem = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in std::fs::read_dir(folder).map_err(problem)? {
        let path = entry.map_err(problem)?.path();
        if path.is_dir() {
            find(&path, programs)?;
        } else if path.extension().is_some_and(|ext| ext == "fut") {
            programs.push(path);
        }
    }
    Ok(())
}
