//! Every program of the repository through the whole compiler. Each program is one test, which
//! compiles every stage once and runs all [`checks`] of the tier on it; a problem names the check.
//!
//! Environment: `BINDRUNE_TESTS=all` adds the checks that only `make test-all` runs,
//! `BINDRUNE_CHECKS=NAME,...` selects checks, `BINDRUNE_CHANGED=CRATE,...` evaluates after every
//! pass of these crates, `BINDRUNE_NO_CACHE=1` evaluates everything again (see [`cache`]).

mod cache;
mod checks;
mod outcome;
mod program;
mod selection;
mod unchanged;

use libtest_mimic::{Arguments, Failed, Trial};
use program::Program;
use selection::Selection;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// The stack of a test: passes recurse over bodies, which takes much in unoptimised builds.
const STACK: usize = 64 << 20;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let files = harness::programs::project_programs(&root).expect("the programs are found");
    let mut trials: Vec<Trial> = files.iter().map(|file| trial(&root, file)).collect();
    trials.push(Trial::test("programs_have_test_blocks", move || programs_have_test_blocks(&root, &files)));
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The test of a program, named by its path without the extension.
fn trial(root: &Path, file: &Path) -> Trial {
    let name = file.strip_prefix(root).unwrap_or(file).with_extension("");
    let (root, file) = (root.to_owned(), file.to_owned());
    Trial::test(name.display().to_string(), move || {
        let run = move || run_checks(&Program::read(&root, file)?);
        let thread = std::thread::Builder::new().stack_size(STACK).spawn(run)?;
        thread.join().map_err(|_| "the test panicked")?
    })
}

/// Runs the selected checks on a program; fails with all problems.
fn run_checks(program: &Program) -> Result<(), Failed> {
    let mut problems = Vec::new();
    for check in Selection::get().checks() {
        let start = Instant::now();
        let found = catch_unwind(AssertUnwindSafe(|| (check.run)(program)));
        let found = found.unwrap_or_else(|_| vec!["the compiler panicked".to_owned()]);
        println!("{} {}: {} ms", program.name, check.name, start.elapsed().as_millis());
        problems.extend(found.into_iter().map(|problem| format!("{}: {problem}", check.name)));
    }
    program.save_evaluations();
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n").into()) }
}

/// Checks that programs are found, and that each has test blocks.
fn programs_have_test_blocks(root: &Path, files: &[PathBuf]) -> Result<(), Failed> {
    let mut total = 0;
    for file in files {
        let program = Program::read(root, file.clone())?;
        let count = program.spec.cases.len();
        if count == 0 && program.spec.compile_error.is_none() {
            return Err(format!("{} has no test blocks", program.name).into());
        }
        total += count;
    }
    if total > 500 { Ok(()) } else { Err(format!("only {total} cases were found").into()) }
}
