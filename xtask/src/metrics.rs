//! `cargo xtask metrics [--record] [--no-callgrind]`: prints metrics of the compiler; with
//! `--record` also writes them to `docs/metrics.csv`, in place of the rows of the same version.
//!
//! | metric | subject | unit |
//! |---|---|---|
//! | `code`, `test code` | a crate, C preludes, or `total` | lines with code ([`lines`]) |
//! | `check`, `middle end` | a program | instructions ([`instructions`]) |
//! | `binary` | `bindrune` | bytes |
//! | `test time` | a tier of tests | seconds of its last run, from `target/tests.json` |
//!
//! The version is the workspace's. `cargo xtask figures` draws the recorded versions ([`records`]).

mod instructions;
mod lines;
pub mod records;

use crate::Outcome;
use crate::programs::compiler;
use records::{Record, Row};
use std::path::Path;
use std::process::Command;

const USAGE: &str = "usage: cargo xtask metrics [OPTIONS]
  --record        also write the rows of this version to docs/metrics.csv
  --no-callgrind  without counts of instructions
$BINDRUNE is the compiler (build/bindrune).";

/// The recorded metrics.
const FILE: &str = "docs/metrics.csv";
/// The tiers of tests.
const TIERS: [&str; 3] = ["check", "test", "all"];
/// The subject of sums over all crates.
pub const TOTAL: &str = "total";

/// A value without its version: metric, subject, value, unit. The value is `None` if it was not
/// measured.
type Metric = (&'static str, String, Option<u64>, &'static str);

/// Runs the task.
pub fn task(root: &Path) -> Outcome {
    let (mut record, mut callgrind) = (false, true);
    for arg in std::env::args().skip(2) {
        match &*arg {
            "--record" => record = true,
            "--no-callgrind" => callgrind = false,
            "--help" | "-h" => {
                println!("{USAGE}");
                return Ok(());
            }
            _ => return Err(format!("unexpected argument `{arg}`\n{USAGE}")),
        }
    }
    let binary = compiler(root);
    let size = std::fs::metadata(&binary).map_err(|e| {
        format!("{binary}: {e}; build it with `make build`, or set $BINDRUNE to a release binary")
    })?;
    let mut metrics = code(root)?;
    metrics.extend(instructions(root, &binary, callgrind)?);
    metrics.push(("binary", "bindrune".to_owned(), Some(size.len()), "bytes"));
    metrics.extend(test_times(root));
    print!("{}", table(&metrics));
    if record {
        let rows = rows(root, metrics)?;
        write(&root.join(FILE), rows)?;
        println!("{FILE}; draw it with `cargo xtask figures`");
    }
    Ok(())
}

/// Counts lines of code and of tests.
fn code(root: &Path) -> Result<Vec<Metric>, String> {
    let crates = lines::by_crate(root)?;
    let mut metrics = Vec::new();
    for (name, lines) in &crates {
        metrics.push(("code", name.clone(), Some(lines.code), "lines"));
        if lines.c > 0 {
            metrics.push(("code", format!("{name} C preludes"), Some(lines.c), "lines"));
        }
    }
    let code = crates.iter().map(|(_, lines)| lines.code + lines.c).sum();
    metrics.push(("code", TOTAL.to_owned(), Some(code), "lines"));
    for (name, lines) in &crates {
        metrics.push(("test code", name.clone(), Some(lines.tests), "lines"));
    }
    let tests = crates.iter().map(|(_, lines)| lines.tests).sum();
    metrics.push(("test code", TOTAL.to_owned(), Some(tests), "lines"));
    Ok(metrics)
}

/// Counts instructions with valgrind, if `callgrind` is set.
fn instructions(root: &Path, binary: &str, callgrind: bool) -> Result<Vec<Metric>, String> {
    let counts: Vec<_> = if callgrind {
        instructions::count(root, binary)?.into_iter().map(Some).collect()
    } else {
        vec![None; instructions::PROGRAMS.len()]
    };
    let programs = || instructions::PROGRAMS.iter().zip(&counts);
    let metric = |name, program: &str, count| (name, program.to_owned(), count, "instructions");
    let mut metrics = Vec::new();
    for (program, counts) in programs() {
        metrics.push(metric("check", program, counts.as_ref().map(|counts| counts.check)));
    }
    for (program, counts) in programs() {
        metrics.push(metric("middle end", program, counts.as_ref().map(|counts| counts.middle_end)));
    }
    Ok(metrics)
}

/// Reads the times of the tiers' last runs, which `tests/run.py` writes.
fn test_times(root: &Path) -> Vec<Metric> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    let text = std::fs::read_to_string(target.join("tests.json")).unwrap_or_default();
    times_in(&text)
}

fn times_in(text: &str) -> Vec<Metric> {
    let json: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    let metric = |tier: &str| {
        let seconds = json["seconds"][tier]["whole"].as_f64();
        ("test time", tier.to_owned(), seconds.map(|seconds| seconds.round() as u64), "seconds")
    };
    TIERS.into_iter().map(metric).collect()
}

/// Returns an aligned table.
fn table(metrics: &[Metric]) -> String {
    let lines = metrics.iter().map(|(metric, subject, value, unit)| {
        [(*metric).to_owned(), subject.clone(), value.map_or("-".to_owned(), grouped), (*unit).to_owned()]
    });
    let lines: Vec<_> = lines.collect();
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let (first, second, third) = (width(0), width(1), width(2));
    let line = |[metric, subject, value, unit]: &[String; 4]| {
        format!("{metric:first$}  {subject:second$}  {value:>third$} {unit}\n")
    };
    lines.iter().map(line).collect()
}

/// Formats a number with commas between groups of three digits.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Adds version, date and commit to metrics.
fn rows(root: &Path, metrics: Vec<Metric>) -> Result<Vec<Row>, String> {
    let date = output(root, "date", &["+%Y-%m-%d"]).ok_or("`date` fails")?;
    let commit = commit(root).unwrap_or_default();
    let row = |(metric, subject, value, unit): Metric| Row {
        record: Record {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            date: date.clone(),
            commit: commit.clone(),
        },
        metric: metric.to_owned(),
        subject,
        value,
        unit: unit.to_owned(),
    };
    Ok(metrics.into_iter().map(row).collect())
}

/// Returns the commit, with `+` if sources were changed since; `None` without git.
fn commit(root: &Path) -> Option<String> {
    let commit = output(root, "git", &["rev-parse", "--short=10", "HEAD"])?;
    let changes =
        output(root, "git", &["status", "--porcelain", "--", "Cargo.toml", "crates", "prelude", "xtask"])?;
    Some(if changes.is_empty() { commit } else { commit + "+" })
}

/// Returns the trimmed output of a command; `None` if it fails.
fn output(root: &Path, program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).current_dir(root).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// Replaces the rows of one version in a file, which need not exist.
fn write(path: &Path, rows: Vec<Row>) -> Outcome {
    let problem = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
    let text =
        if path.exists() { std::fs::read_to_string(path).map_err(|e| problem(&e))? } else { String::new() };
    let old = records::read(&text).map_err(|e| problem(&e))?;
    std::fs::write(path, records::show(&records::replaced(old, rows))).map_err(|e| problem(&e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_aligned() {
        let metrics = [
            ("code", "a".to_owned(), Some(1234), "lines"),
            ("test time", "check".to_owned(), None, "seconds"),
        ];
        assert_eq!(table(&metrics), "code       a      1,234 lines\ntest time  check      - seconds\n");
        for (number, expected) in [(0, "0"), (999, "999"), (1000, "1,000"), (1234567, "1,234,567")] {
            assert_eq!(grouped(number), expected);
        }
    }

    #[test]
    fn tiers_without_a_recorded_run_have_no_time() {
        let seconds = |text| times_in(text).into_iter().map(|(_, _, value, _)| value).collect::<Vec<_>>();
        let text = r#"{"seconds": {"check": {"whole": 12}, "all": {"whole": 3.6, "x": 1}}}"#;
        assert_eq!(seconds(text), [Some(12), None, Some(4)]);
        assert_eq!(seconds(""), [None; 3]);
    }
}
