//! Conventions for Rust files.

use super::Problem;
use super::tree::{File, Tree};

/// The most lines of a file that is not listed as long.
pub const BUDGET: usize = 600;

/// The largest allowance in the list of long files.
const HARD_BUDGET: usize = 800;

/// The list of long files: path, allowed lines, reason.
const LONG_FILES: &str = "xtask/tidy/long-files.txt";

/// The number of lines by which a long file may shrink before its allowance must be lowered.
const SLACK: usize = 40;

/// The crates that may contain unsafe code: `value` and `runtime` own memory shared with programs,
/// `llvm` calls a C++ library, `driver` passes linked code to the runtime, `bindrune` has the
/// compiler's allocator.
const UNSAFE_CRATES: [&str; 5] = ["value", "llvm", "runtime", "driver", "bindrune"];

/// Each file starts with a `//!` header.
pub fn headers(tree: &Tree) -> Vec<Problem> {
    let without = tree.rust().filter(|file| !file.text.starts_with("//! "));
    without.map(|file| format!("{}:1: no `//!` header", file.path)).collect()
}

/// Files have at most [`BUDGET`] lines; listed long files have at most their allowance, which is
/// lowered as they shrink.
pub fn budget(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    let list = tree.file(LONG_FILES).map_or("", |file| &file.text);
    let mut allowances = Vec::new();
    for (number, line) in (1..).zip(list.lines()) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let allowed = words.get(1).and_then(|lines| lines.parse::<usize>().ok());
        match (words.first(), allowed) {
            (Some(path), Some(lines)) if lines <= HARD_BUDGET && words.len() > 2 => {
                allowances.push((*path, lines));
                if tree.file(path).is_none() {
                    problems.push(format!("{LONG_FILES}:{number}: {path} does not exist; remove its line"));
                }
            }
            _ => problems.push(format!(
                "{LONG_FILES}:{number}: expected a path, at most {HARD_BUDGET} lines and a reason"
            )),
        }
    }
    for file in tree.rust() {
        let path = &file.path;
        let lines = file.text.lines().count();
        let allowance = allowances.iter().find(|(listed, _)| listed == path);
        match allowance {
            None if lines > BUDGET => {
                problems.push(format!("{path}: {lines} lines, the budget is {BUDGET}"));
            }
            Some(_) if lines <= BUDGET => {
                problems.push(format!("{LONG_FILES}: {path} has {lines} lines; remove its line"));
            }
            Some((_, allowed)) if lines > *allowed => {
                problems.push(format!("{path}: {lines} lines, {LONG_FILES} allows {allowed}"));
            }
            Some((_, allowed)) if lines + SLACK < *allowed => {
                problems.push(format!("{LONG_FILES}: {path} has shrunk; allow {lines} lines"));
            }
            _ => {}
        }
    }
    problems
}

/// There are no macros for unwritten code or debugging.
pub fn placeholders(tree: &Tree) -> Vec<Problem> {
    find(tree.rust(), &["todo!", "unimplemented!", "dbg!"], |_| Some("placeholder macro".to_owned()))
}

/// No test is ignored; tests that expect a panic state its message.
pub fn test_attributes(tree: &Tree) -> Vec<Problem> {
    let mut problems = find(tree.rust(), &["#[ignore"], |_| Some("ignored test".to_owned()));
    problems.extend(find(tree.rust(), &["#[should_panic"], |after| {
        let attribute = after.split(']').next().unwrap_or_default();
        (!attribute.contains("expected")).then(|| "no `expected` message".to_owned())
    }));
    problems
}

/// Each `allow` and `expect` attribute has a `reason`.
pub fn lint_reasons(tree: &Tree) -> Vec<Problem> {
    find(tree.rust(), &["[allow(", "[expect("], |after| {
        let attribute = after.split(']').next().unwrap_or_default();
        (!attribute.contains("reason")).then(|| "no `reason`".to_owned())
    })
}

/// Only [`UNSAFE_CRATES`] contain unsafe code.
pub fn unsafe_code(tree: &Tree) -> Vec<Problem> {
    let safe = |file: &&File| !file.in_crate().is_some_and(|name| UNSAFE_CRATES.contains(&name));
    let patterns = ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern"];
    find(tree.rust().filter(safe), &patterns, |_| {
        Some(format!("only {} have unsafe code", UNSAFE_CRATES.join(", ")))
    })
}

/// Reports the occurrences of `patterns` in code for which `judge`, given the text after the
/// pattern, returns a message.
fn find<'a>(
    files: impl Iterator<Item = &'a File>,
    patterns: &[&str],
    judge: impl Fn(&str) -> Option<String>,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in files {
        let code = file.code().unwrap_or_default();
        for pattern in patterns {
            for (at, _) in code.match_indices(pattern) {
                let in_word = code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
                if in_word && !pattern.starts_with(['[', '#']) {
                    continue;
                }
                if let Some(what) = judge(&code[at + pattern.len()..]) {
                    problems.push(format!("{}: `{pattern}`: {what}", file_and_line(file, &code, at)));
                }
            }
        }
    }
    problems
}

/// The file and line of an offset in `code`.
fn file_and_line(file: &File, code: &str, at: usize) -> String {
    format!("{}:{}", file.path, code[..at].matches('\n').count() + 1)
}
