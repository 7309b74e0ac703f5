//! The limitations in `docs/limitations.md`: each row names programs in `tests/limitations` that show
//! it, and each program does what its leading comments say.
//!
//! These comments (`-- `, in IR text `// `) are directives:
//!
//! | directive | meaning |
//! |---|---|
//! | `run: ARGUMENTS` | arguments of `bindrune`; `FILE` is the program's path |
//! | `input: LINE` | a line of standard input |
//! | `exit: CODE` | the exit code; 0 if absent |
//! | `prints: TEXT` | standard output and standard error contain this text |
//! | `not: TEXT` | they do not contain this text |

use crate::process::{Folder, command, finish};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the repository is there")
}

/// The paths of all programs, sorted.
fn programs() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join("tests/limitations")).expect("the folder is there");
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.expect("the folder can be read").path()).collect();
    paths.sort();
    paths
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The directives of a program.
#[derive(Default)]
struct Directives {
    run: Vec<String>,
    input: String,
    exit: i32,
    prints: Vec<String>,
    not: Vec<String>,
}

impl Directives {
    fn parse(text: &str, comment: &str) -> Result<Self, String> {
        let mut parsed = Self::default();
        for line in text.lines().map_while(|line| line.strip_prefix(comment)) {
            let (name, value) = line.split_once(':').ok_or_else(|| format!("no directive: {line}"))?;
            let value = value.trim();
            match name.trim() {
                "run" => parsed.run = value.split_whitespace().map(str::to_owned).collect(),
                "input" => parsed.input.extend([value, "\n"]),
                "exit" => parsed.exit = value.parse().map_err(|_| format!("no exit code: {value}"))?,
                "prints" => parsed.prints.push(value.to_owned()),
                "not" => parsed.not.push(value.to_owned()),
                other => return Err(format!("no directive: {other}")),
            }
        }
        if parsed.run.is_empty() || parsed.prints.is_empty() {
            return Err("a program needs the directives `run` and `prints`".to_owned());
        }
        Ok(parsed)
    }
}

/// Runs a program in an empty directory; returns a description of what differs from its directives.
fn differences(path: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let comment = if path.extension().is_some_and(|it| it == "ir") { "//" } else { "--" };
    let expected = Directives::parse(&text, comment)?;
    let file = path.to_string_lossy();
    let args: Vec<&str> =
        expected.run.iter().map(|arg| if arg == "FILE" { &*file } else { &**arg }).collect();
    let folder = Folder::new();
    let mut run = command(&args);
    let done = finish(run.current_dir(folder.path("")), expected.input.as_bytes());
    let output = format!("{}{}", String::from_utf8_lossy(&done.stdout), done.stderr);
    let mut found = String::new();
    // Writing to a string cannot fail.
    if done.code != expected.exit {
        let _ = writeln!(found, "exit code {}, not {}", done.code, expected.exit);
    }
    for text in expected.prints.iter().filter(|text| !output.contains(text.as_str())) {
        let _ = writeln!(found, "not printed: {text}");
    }
    for text in expected.not.iter().filter(|text| output.contains(text.as_str())) {
        let _ = writeln!(found, "printed: {text}");
    }
    if found.is_empty() { Ok(()) } else { Err(format!("{found}{output}")) }
}

/// The rows of the tables: the first cell, and the names of programs in the last cell.
fn rows(text: &str) -> Vec<(&str, Vec<&str>)> {
    let mut rows = Vec::new();
    for line in text.lines() {
        let Some(row) = line.strip_prefix("| ").filter(|row| !row.starts_with("Limitation ")) else {
            continue;
        };
        let cells: Vec<&str> = row.trim_end().trim_end_matches('|').split(" | ").collect();
        let (Some(first), Some(last)) = (cells.first(), cells.last()) else {
            continue;
        };
        let is_program =
            |part: &&str| matches!(Path::new(part).extension(), Some(e) if e == "fut" || e == "ir");
        rows.push((*first, last.split('`').filter(is_program).collect()));
    }
    rows
}

#[test]
fn programs_show_the_limitations() {
    let paths = programs();
    let (left, right) = paths.split_at(paths.len() / 2);
    let check = |paths: &[PathBuf]| {
        let failed = paths.iter().filter_map(|path| {
            let difference = differences(path).err()?;
            Some(format!("tests/limitations/{}:\n{difference}\n", file_name(path)))
        });
        failed.collect::<String>()
    };
    let failures = std::thread::scope(|scope| {
        let other = scope.spawn(|| check(right));
        let own = check(left);
        own + &other.join().expect("the checks end")
    });
    assert!(failures.is_empty(), "{failures}");
}

#[test]
fn rows_and_programs_correspond() {
    let text = std::fs::read_to_string(root().join("docs/limitations.md")).expect("the list is there");
    let rows = rows(&text);
    assert!(!rows.is_empty(), "docs/limitations.md has no rows");
    let mut named = BTreeSet::new();
    for (limitation, programs) in rows {
        assert!(!programs.is_empty(), "no program shows: {limitation}");
        for program in programs {
            assert!(named.insert(program.to_owned()), "tests/limitations/{program}: named by two rows");
        }
    }
    let present: BTreeSet<String> = programs().iter().map(|path| file_name(path)).collect();
    let missing: Vec<&String> = named.difference(&present).collect();
    assert!(missing.is_empty(), "named by rows, but not in tests/limitations: {missing:?}");
    let unnamed: Vec<&String> = present.difference(&named).collect();
    assert!(unnamed.is_empty(), "in tests/limitations, but not named by a row: {unnamed:?}");
}
