//! Conventions for programs and documents.

use super::Problem;
use super::tree::{File, Tree};
use crate::measurements::{DOCUMENT, FOLDER, outdated, render};

/// The list of unsupported features.
const LIMITATIONS: &str = "docs/limitations.md";

/// Prefixes of paths that exist on one machine only. They are written in halves, because this file
/// is checked too.
const MACHINE_PATHS: [&str; 5] = [
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/wo", "rk/"),
    concat!("/Use", "rs/"),
    concat!(":\\Use", "rs\\"),
];

/// Each Futhark program in `tests/programs` and `examples` has a test block.
pub fn test_blocks(tree: &Tree) -> Vec<Problem> {
    let programs = tree.files.iter().filter(|file| {
        file.is("fut") && (file.path.starts_with("tests/programs/") || file.path.starts_with("examples/"))
    });
    programs
        .filter(|file| !file.text.lines().any(|line| line.trim_end() == "-- =="))
        .map(|file| format!("{}: no test block", file.path))
        .collect()
}

/// No file contains a path of one machine.
pub fn machine_paths(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in &tree.files {
        for (number, line) in (1..).zip(file.text.lines()) {
            for pattern in MACHINE_PATHS {
                // After these characters the pattern is part of a relative path.
                let goes_on = |c: char| c.is_alphanumeric() || "._-$})*".contains(c);
                if line.match_indices(pattern).any(|(at, _)| !line[..at].ends_with(goes_on)) {
                    problems.push(format!("{}:{number}: contains `{pattern}`", file.path));
                }
            }
        }
    }
    problems
}

/// The list of limitations has tables with four non-empty cells per row.
pub fn limitations(tree: &Tree) -> Vec<Problem> {
    let text = tree.file(LIMITATIONS).map_or("", |file| &file.text);
    let mut problems = Vec::new();
    let mut rows = 0;
    for (number, line) in (1..).zip(text.lines()) {
        let Some(row) = line.strip_prefix('|') else {
            continue;
        };
        rows += 1;
        let cells: Vec<&str> = row.trim_end().trim_end_matches('|').split('|').collect();
        if cells.len() != 4 || cells.iter().any(|cell| cell.trim().is_empty()) {
            problems.push(format!(
                "{LIMITATIONS}:{number}: expected four cells: limitation, what happens, what lifts it, test"
            ));
        }
    }
    if rows == 0 {
        problems.push(format!("{LIMITATIONS}: no table of limitations"));
    }
    problems
}

/// Messages about unsupported features in the sources are listed verbatim.
pub fn unsupported_messages(tree: &Tree) -> Vec<Problem> {
    let list = tree.file(LIMITATIONS).map_or("", |file| &file.text);
    let mut problems = Vec::new();
    for file in tree.rust().filter(|file| file.in_crate().is_some()) {
        for after in file.text.split("unsupported(").skip(1) {
            let after = after.trim_start();
            let after = after.strip_prefix("format!(").unwrap_or(after).trim_start();
            let Some((words, _)) = after.strip_prefix('"').and_then(|text| text.split_once('"')) else {
                continue;
            };
            // Messages are searched by their longest part without placeholders.
            let parts = words.split(['{', '}', '`', '(', ')']).map(str::trim);
            let longest = parts.max_by_key(|part| part.len()).unwrap_or_default();
            if !list.contains(longest) {
                problems.push(format!("{}: \"{words}\" is not listed", file.path));
            }
        }
    }
    problems
}

/// Links between documents have existing targets.
pub fn links(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    // Markdown files below `crates/` are tests, not documents.
    let is_document = |file: &&File| file.is("md") && file.in_crate().is_none();
    for file in tree.files.iter().filter(is_document) {
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (number, line) in (1..).zip(file.text.lines()) {
            for link in line.split("](").skip(1) {
                let target = link.split([')', '#']).next().unwrap_or_default();
                if target.is_empty() || target.contains("://") {
                    continue;
                }
                let path = resolve(folder, target);
                let inside = format!("{path}/");
                if !tree.files.iter().any(|f| f.path == path || f.path.starts_with(&inside)) {
                    problems.push(format!("{}:{number}: {path} does not exist", file.path));
                }
            }
        }
    }
    problems
}

/// The document of measurements is the rendering of the data, if there are any.
pub fn measurements(tree: &Tree) -> Vec<Problem> {
    let data = tree.files.iter().filter(|file| file.path.starts_with(FOLDER) && file.is("json"));
    let data: Vec<(String, String)> = data.map(|file| (file.path.clone(), file.text.clone())).collect();
    if data.is_empty() {
        return Vec::new();
    }
    match render(&data) {
        Ok(text) if tree.file(DOCUMENT).is_some_and(|file| file.text == text) => Vec::new(),
        Ok(_) => vec![outdated()],
        Err(problem) => vec![problem],
    }
}

/// Resolves `target` relative to `folder`.
fn resolve(folder: &str, target: &str) -> String {
    let mut names: Vec<&str> = folder.split('/').filter(|name| !name.is_empty()).collect();
    for name in target.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()),
            _ => names.push(name),
        }
    }
    names.join("/")
}
