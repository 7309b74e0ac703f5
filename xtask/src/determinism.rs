//! Checks that compilation is deterministic: compiles each program of `examples/`,
//! `tests/programs/` and `bench/programs/` twice with `build/bindrune` and compares the
//! executables.
//!
//! Programs that the compiler rejects must be rejected with the same messages.

use crate::Outcome;
use harness::programs::project_programs;
use std::path::Path;
use std::process::Command;

/// Compiles each program twice.
pub fn run(root: &Path) -> Outcome {
    let programs = project_programs(root)?;
    let folder = root.join("build/determinism");
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut different = Vec::new();
    let mut rejected = 0;
    for program in &programs {
        let name = program.strip_prefix(root).unwrap_or(program).display();
        let first = compile(root, program, &folder.join("first"))?;
        let second = compile(root, program, &folder.join("second"))?;
        if first != second {
            different.push(format!("{name}: two runs of the compiler differ"));
        }
        rejected += usize::from(first.executable.is_none());
    }
    if programs.is_empty() || rejected == programs.len() {
        return Err(format!("none of {} programs compiles", programs.len()));
    }
    if different.is_empty() {
        println!("determinism: {} programs, {rejected} of them rejected", programs.len());
        return Ok(());
    }
    Err(different.join("\n"))
}

/// The result of a compilation.
#[derive(PartialEq, Eq)]
struct Compiled {
    executable: Option<Vec<u8>>,
    messages: Vec<u8>,
}

/// Compiles `program` in a new process.
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
    Ok(Compiled { executable, messages: finished.stderr })
}
