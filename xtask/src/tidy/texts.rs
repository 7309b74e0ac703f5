//! Conventions for programs and documents.

use super::Problem;
use super::tree::{File, Tree};

/// Where what is not supported yet is listed.
const LIMITATIONS: &str = "docs/limitations.md";

/// How paths begin that exist on one machine only. Spelt in halves, since this
/// file is searched, too.
const MACHINE_PATHS: [&str; 5] = [
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/wo", "rk/"),
    concat!("/Use", "rs/"),
    concat!(":\\Use", "rs\\"),
];

/// Each Futhark program among the tests has a test block.
pub fn test_blocks(tree: &Tree) -> Vec<Problem> {
    let programs = tree.files.iter().filter(|file| {
        file.is("fut") && (file.path.starts_with("tests/programs/") || file.path.starts_with("examples/"))
    });
    programs
        .filter(|file| !file.text.lines().any(|line| line.trim_end() == "-- =="))
        .map(|file| format!("{}: no test block", file.path))
        .collect()
}

/// No file names a home or a folder of one machine.
pub fn machine_paths(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in &tree.files {
        for (number, line) in (1..).zip(file.text.lines()) {
            for pattern in MACHINE_PATHS {
                // A path goes on before `/name/` if it is a relative one.
                let goes_on = |c: char| c.is_alphanumeric() || "._-$})*".contains(c);
                if line.match_indices(pattern).any(|(at, _)| !line[..at].ends_with(goes_on)) {
                    problems.push(format!("{}:{number}: names `{pattern}`", file.path));
                }
            }
        }
    }
    problems
}

/// The tables of limitations have rows, and no cell of them is empty.
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
        if cells.len() != 3 || cells.iter().any(|cell| cell.trim().is_empty()) {
            problems.push(format!(
                "{LIMITATIONS}:{number}: expected what is missing, its message and what lifts it"
            ));
        }
    }
    if rows == 0 {
        problems.push(format!("{LIMITATIONS}: no table of limitations"));
    }
    problems
}

/// What the compiler's sources refuse as not supported is listed, in the same words.
pub fn refusals(tree: &Tree) -> Vec<Problem> {
    let list = tree.file(LIMITATIONS).map_or("", |file| &file.text);
    let mut problems = Vec::new();
    for file in tree.rust().filter(|file| file.in_crate().is_some()) {
        for after in file.text.split("unsupported(").skip(1) {
            let after = after.trim_start();
            let after = after.strip_prefix("format!(").unwrap_or(after).trim_start();
            let Some((words, _)) = after.strip_prefix('"').and_then(|text| text.split_once('"')) else {
                continue;
            };
            // Around what the program fills in, the longest piece tells.
            let pieces = words.split(['{', '}', '`', '(', ')']).map(str::trim);
            let piece = pieces.max_by_key(|piece| piece.len()).unwrap_or_default();
            if !list.contains(piece) {
                problems.push(format!("{}: \"{words}\" is not listed", file.path));
            }
        }
    }
    problems
}

/// Links between documents lead somewhere.
pub fn links(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    // Below `crates/`, Markdown files are tests.
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
                    problems.push(format!("{}:{number}: there is no {path}", file.path));
                }
            }
        }
    }
    problems
}

/// The path that `target` names in `folder`.
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
