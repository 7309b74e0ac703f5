//! Instructions of the compiler on fixed programs, counted by callgrind.
//!
//! The code of the middle end is for a fixed processor and is compiled by one thread. Counts
//! differ by about 0.1 % between runs, because keys of hash maps are random.

use harness::process::{End, run_unlimited};
use harness::programs::parallel_map;
use std::path::Path;
use std::time::Duration;

/// The programs: scalar code, features, nests, a library of small functions, and a benchmark.
pub const PROGRAMS: [&str; 5] = [
    "bench/programs/mini.fut",
    "bench/programs/nests/heston.fut",
    "tests/programs/classic/sorting.fut",
    "tests/programs/features/packed_scatters.fut",
    "tests/programs/prelude/libm_f16.fut",
];

/// The time limit of a run.
const LIMIT: Duration = Duration::from_mins(10);

/// The instructions of the compiler on a program.
#[derive(Clone)]
pub struct Counts {
    /// `bindrune check`.
    pub check: u64,
    /// From `lower` to `imp`, with printing: `bindrune dev --stage imp` without `check`.
    pub middle_end: u64,
}

/// Counts the instructions on [`PROGRAMS`].
pub fn count(root: &Path, compiler: &str) -> Result<Vec<Counts>, String> {
    let version = run_unlimited(&["valgrind", "--version"], b"", LIMIT);
    if !version.is_ok_and(|finished| finished.end == End::Code(0)) {
        return Err("valgrind does not run; install it, or use `--no-callgrind`".to_owned());
    }
    let counts = parallel_map(&PROGRAMS, |_, program| {
        let path = root.join(program).to_string_lossy().into_owned();
        let check = run(&[compiler, "check", &path])?;
        let stages = ["dev", "--stage", "imp", "--threads", "1", "--cpu", "x86-64-v3"];
        let all = run(&[&[compiler], &stages[..], &[&*path]].concat())?;
        Ok(Counts { check, middle_end: all.saturating_sub(check) })
    });
    counts.into_iter().collect()
}

/// Runs a command under callgrind. Returns its number of instructions.
fn run(command: &[&str]) -> Result<u64, String> {
    let callgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"];
    let finished = run_unlimited(&[&callgrind, command].concat(), b"", LIMIT)?;
    let problem = |what: &str| format!("{}: {what}\n{}", command.join(" "), finished.stderr.trim_end());
    if finished.end != End::Code(0) {
        return Err(problem(&format!("{:?} under callgrind", finished.end)));
    }
    collected(&finished.stderr).ok_or_else(|| problem("callgrind reports no count"))
}

/// The count in callgrind's report.
fn collected(report: &str) -> Option<u64> {
    let mut lines = report.lines().filter(|line| line.starts_with("=="));
    lines.find_map(|line| line.split_once("Collected :")?.1.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_exist() {
        for program in PROGRAMS {
            assert!(crate::root().join(program).is_file(), "{program}");
        }
    }

    #[test]
    fn counts_are_read_from_reports() {
        let report = "warning: Collected : 3\n==7== Events    : Ir\n==7== Collected : 71959808\n==7== \n";
        assert_eq!(collected(report), Some(71959808));
        assert_eq!(collected("==7== Collected : none\n"), None);
    }
}
