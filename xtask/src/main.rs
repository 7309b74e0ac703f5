//! Build tasks of the project, run by `cargo xtask TASK`.

mod bisect;
mod demo;
mod determinism;
mod figures;
mod forests;
mod measurements;
mod metrics;
mod modes;
mod mutate;
mod progen;
mod programs;
mod sanitize;
mod tidy;
mod valgrind;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The result of a task; the error is printed.
type Outcome = Result<(), String>;

/// A task: name, help text, function of the repository's root.
type Task = (&'static str, &'static str, fn(&Path) -> Outcome);

const TASKS: [Task; 13] = [
    ("bisect", "find the rewrite that breaks a program (--help)", bisect::task),
    ("tidy", "check conventions that the compiler does not check", tidy::run),
    ("demo", "compile and run three examples with build/bindrune", demo::run),
    ("determinism", "compile every program twice and compare the bytes", determinism::run),
    ("figures", "draw the papers' figures from docs/figures/data.json", figures::task),
    ("forests", "compare the tuner with all settings of random forests (--count N)", forests::task),
    ("measurements", "render docs/measurements.md from its data (--check)", measurements::task),
    ("metrics", "print lines, instructions, size of the binary, time of tests (--help)", metrics::task),
    ("modes", "run every program for each processor, with and without lanes", modes::task),
    ("mutate", "run the compiler on mutated programs (--help)", mutate::task),
    ("progen", "run random programs in the interpreter and compiled (--help)", progen::task),
    ("sanitize", "run every program's test blocks on a GPU under compute-sanitizer", sanitize::task),
    ("valgrind", "run every program's test blocks under valgrind", valgrind::task),
];

fn main() -> ExitCode {
    let name = std::env::args().nth(1).unwrap_or_default();
    let Some((_, _, task)) = TASKS.iter().find(|(task, _, _)| *task == name) else {
        eprintln!("usage: cargo xtask TASK");
        for (task, what, _) in TASKS {
            eprintln!("  {task:12} {what}");
        }
        return ExitCode::from(2);
    };
    match task(&root()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

/// The repository's root: the parent directory of this crate.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}
