//! Tests of the documentation pages of errors and warnings: each id has a page, whose first program
//! has the error or warning of its title and whose second program has none.

use check::{Loader, check_program};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use syntax::span::SourceMap;
use syntax::symbol::Interner;

/// Pages without examples: limits that only huge programs reach, and errors that no text can show.
const WITHOUT_EXAMPLES: [&str; 10] = [
    "file-too-large",
    "invalid-utf8",
    "nesting-too-deep",
    "too-many-applications",
    "too-many-constructors",
    "too-many-errors",
    "too-many-files",
    "too-many-parameters",
    "too-many-warnings",
    "README",
];

/// Warnings of the optimiser; `driver` tests their pages.
const OPTIMISER_WARNINGS: [&str; 2] = ["safety-check", "unroll"];

struct Text<'t>(&'t str);

impl Loader for Text<'_> {
    fn load(&mut self, path: &str) -> Result<Vec<u8>, String> {
        match path {
            "main.fut" => Ok(self.0.as_bytes().to_vec()),
            "cycle.fut" => Ok(b"import \"cycle\"".to_vec()),
            _ => Err("no such file".to_owned()),
        }
    }
}

fn folder(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The files below a folder, sorted; for a file, itself.
fn files(folder: &Path) -> Vec<PathBuf> {
    if folder.is_file() {
        return vec![folder.to_owned()];
    }
    let mut out = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder exists") {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            out.extend(files(&path));
        } else {
            out.push(path);
        }
    }
    out.sort();
    out
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("the file can be read")
}

/// The ids of the diagnostics of a program.
fn errors(program: &str) -> Vec<&'static str> {
    let mut sources = SourceMap::new();
    let checked = check_program(&mut sources, &Interner::new(), &mut Text(program), "main.fut");
    checked.diagnostics.iter().map(|diag| diag.id).collect()
}

fn programs(page: &str) -> Vec<&str> {
    let blocks = page.split("```futhark\n").skip(1);
    blocks.map(|b| b.split("```").next().unwrap_or("")).collect()
}

#[test]
fn examples_have_the_documented_ids() {
    let mut failures = String::new();
    for path in files(&folder("../../docs/errors")) {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let page = read(&path);
        if WITHOUT_EXAMPLES.contains(&&*name) {
            assert!(programs(&page).is_empty(), "{name}");
            continue;
        }
        assert!(page.starts_with(&format!("# {name}\n\n")), "{name}: title");
        let [wrong, corrected] = programs(&page)[..] else {
            panic!("{name}: the page must have two programs");
        };
        let found = errors(wrong);
        if OPTIMISER_WARNINGS.contains(&&*name) {
            assert!(found.is_empty(), "{name}: {found:?}");
        } else if found.is_empty() || found.iter().any(|id| *id != name) {
            let _ = writeln!(failures, "{name}: the first program has {found:?}");
        }
        let found = errors(corrected);
        if !found.is_empty() {
            let _ = writeln!(failures, "{name}: the corrected program has {found:?}");
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
}

/// The ids of errors and warnings in a source file: the first literal in calls that report, and in
/// the table of reasons for a mismatch.
fn ids(source: &str) -> Vec<&str> {
    const CALLS: [&str; 5] =
        ["Diagnostic::error(", "Diagnostic::warning(", ".error(", ".report(", "Mismatch::"];
    let mut out = Vec::new();
    for call in CALLS {
        for (at, _) in source.match_indices(call) {
            let rest = &source[at + call.len()..];
            let rest = if call == "Mismatch::" {
                let line = rest.lines().next().unwrap_or("");
                line.split_once("=> ").map_or("", |(_, id)| id)
            } else {
                rest.trim_start()
            };
            if let Some((id, _)) = rest.strip_prefix('"').and_then(|rest| rest.split_once('"')) {
                out.push(id);
            }
        }
    }
    out
}

#[test]
fn every_id_has_a_page() {
    let mut found = BTreeSet::new();
    for source in ["src", "../syntax/src", "../driver/src/warnings.rs"] {
        for path in files(&folder(source)) {
            found.extend(ids(&read(&path)).into_iter().map(str::to_owned));
        }
    }
    assert!(found.len() > 80, "{found:?}");
    let pages: BTreeSet<String> = files(&folder("../../docs/errors"))
        .iter()
        .filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned()))
        .filter(|name| name != "README")
        .collect();
    assert_eq!(found, pages);
    let index = read(&folder("../../docs/errors/README.md"));
    for page in pages {
        assert!(index.contains(&format!("[{page}]({page}.md)")), "{page}");
    }
}
