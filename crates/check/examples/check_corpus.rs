//! Checks every program below a folder against its test block and counts the outcomes:
//! `check_corpus FOLDER [--list]`.
//!
//! A program must be rejected if its test block has `error:` on a line of its own before any input,
//! and accepted otherwise. The text after `error:` is a regular expression that a message must
//! match: the text of the message, its labels, notes and hints, and its id, without the source
//! excerpt.

use check::{Loader, check_program};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use syntax::diag::Diagnostic;
use syntax::span::SourceMap;
use syntax::symbol::Interner;

struct Disk;

impl Loader for Disk {
    fn load(&mut self, path: &str) -> Result<Vec<u8>, String> {
        std::fs::read(path).map_err(|error| error.to_string())
    }
}

fn collect(dir: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, out);
        } else if path.extension().is_some_and(|e| e == "fut") {
            out.push(path);
        }
    }
}

/// The pattern for the message, if the test block requires that the program is rejected: an
/// `error:` before any input (after an input, it denotes a failing run).
fn expected_error(text: &str) -> Option<&str> {
    let mut in_block = false;
    for line in text.lines() {
        let Some(line) = line.trim_start().strip_prefix("--") else {
            in_block = false;
            continue;
        };
        let line = line.trim();
        if line == "==" {
            in_block = true;
        } else if in_block && let Some(pattern) = line.strip_prefix("error:") {
            return Some(pattern.trim());
        } else if in_block && (line.contains("input") || line.starts_with("entry:")) {
            in_block = false;
        }
    }
    None
}

/// The text of a diagnostic, with its location and its id.
fn diagnostic_text(diag: &Diagnostic, sources: &SourceMap) -> String {
    let labels = diag.primary.iter().chain(&diag.secondary);
    let location = diag.primary.as_ref().map(|label| sources.location(label.span));
    let mut all: Vec<String> = location.into_iter().collect();
    all.push(diag.message.clone());
    all.extend(labels.map(|label| label.text.clone()));
    all.extend(diag.notes.iter().chain(&diag.hints).cloned());
    all.push(format!("[{}]", diag.id));
    all.join("\n")
}

/// Returns true if a message matches the pattern.
fn is_matched(pattern: &str, diags: &[Diagnostic], sources: &SourceMap) -> bool {
    let regex = regex_lite::RegexBuilder::new(pattern).dot_matches_new_line(true).build();
    let Ok(regex) = regex else {
        println!("cannot read the pattern {pattern}");
        return false;
    };
    diags.iter().any(|diag| regex.is_match(&diagnostic_text(diag, sources)))
}

fn main() {
    let mut args = std::env::args().skip(1);
    let folder = args.next().unwrap_or_else(|| ".".to_owned());
    let list = args.next().is_some_and(|a| a == "--list");
    let mut files = Vec::new();
    collect(Path::new(&folder), &mut files);
    files.sort();
    let (mut accepted, mut wrongly_rejected, mut rejected, mut wrongly_accepted) = (0, 0, 0, 0);
    let mut matched = 0;
    let mut causes: BTreeMap<&'static str, usize> = BTreeMap::new();
    let start = std::time::Instant::now();
    for file in &files {
        let Ok(text) = std::fs::read_to_string(file) else {
            continue;
        };
        let pattern = expected_error(&text);
        let mut sources = SourceMap::new();
        let interner = Interner::new();
        let path = file.to_string_lossy();
        let checked = check_program(&mut sources, &interner, &mut Disk, &path);
        match (pattern, checked.program.is_some()) {
            (None, true) => accepted += 1,
            (Some(pattern), false) => {
                rejected += 1;
                if is_matched(pattern, &checked.diagnostics, &sources) {
                    matched += 1;
                } else if list {
                    println!("MESSAGE {path}: {pattern}");
                    for diag in &checked.diagnostics {
                        println!("    {}", diagnostic_text(diag, &sources).replace('\n', " / "));
                    }
                }
            }
            (Some(pattern), true) => {
                wrongly_accepted += 1;
                if list {
                    println!("ACCEPTED {path}: {pattern}");
                }
            }
            (None, false) => {
                wrongly_rejected += 1;
                let first = checked.diagnostics.iter().find(|d| d.is_error());
                if let Some(diag) = first {
                    *causes.entry(diag.id).or_default() += 1;
                    if list {
                        println!("REJECTED {}", syntax::render::render_line(diag, &sources));
                    }
                }
            }
        }
    }
    for (cause, count) in causes {
        println!("{count:5} {cause}");
    }
    println!(
        "{} files in {:?}: accepted {accepted}, wrongly rejected {wrongly_rejected}, \
         rejected {rejected} ({matched} with the expected message), wrongly accepted {wrongly_accepted}",
        files.len(),
        start.elapsed()
    );
}
