//! Conventions for crates: dependencies, lints, and the sections of ARCHITECTURE.md.

use super::Problem;
use super::tree::{File, Tree};

/// The crates in pipeline order; a crate uses only earlier crates.
const ORDER: [&str; 28] = [
    "prim", "target", "workers", "value", "syntax", "check", "interp", "ir", "analysis", "lower", "opt",
    "ad", "flatten", "mem", "imp", "impgen", "impopt", "llvm", "kernelc", "runtime", "driver", "explain",
    "link", "harness", "tune", "runner", "progen", "bindrune",
];

/// All crates that these crates may use; stricter than [`ORDER`].
const ALLOWED_DEPENDENCIES: [(&str, &[&str]); 8] = [
    // Data formats are independent of the compiler.
    ("value", &["prim"]),
    // The oracle shares no code with the stages that it judges.
    ("interp", &["prim", "value", "syntax", "check"]),
    // The core IR is independent of the source syntax.
    ("ir", &["prim", "target", "workers", "value"]),
    ("imp", &["prim", "target", "value", "ir"]),
    ("impopt", &["prim", "target", "ir", "imp"]),
    // Code generators are independent of the core IR.
    ("llvm", &["prim", "target", "workers", "imp"]),
    ("kernelc", &["prim", "imp"]),
    // The runtime is independent of the compiler.
    ("runtime", &["prim", "value"]),
];

/// The document with a section for each crate.
const ARCHITECTURE: &str = "ARCHITECTURE.md";

/// Dependencies follow [`ORDER`] and [`ALLOWED_DEPENDENCIES`]; dev-dependencies are exempt.
pub fn order(tree: &Tree) -> Vec<Problem> {
    let rank = |name: &str| ORDER.iter().position(|other| *other == name);
    let mut problems = Vec::new();
    for (name, manifest) in tree.crates() {
        let Some(position) = rank(name) else {
            problems.push(format!("{}: not in the list of crates", manifest.path));
            continue;
        };
        let narrow = ALLOWED_DEPENDENCIES.iter().find(|(other, _)| *other == name);
        for (line, used) in dependencies(manifest) {
            let Some(used_position) = rank(used) else { continue };
            let allowed = narrow.map_or(used_position < position, |(_, names)| names.contains(&used));
            if !allowed {
                problems.push(format!("{}:{line}: `{name}` may not use `{used}`", manifest.path));
            }
        }
    }
    problems
}

/// Each crate inherits the workspace's lints.
pub fn lints(tree: &Tree) -> Vec<Problem> {
    let has = |manifest: &File| {
        let mut lines = manifest.text.lines().skip_while(|line| line.trim() != "[lints]").skip(1);
        lines.next().is_some_and(|line| line.replace(' ', "") == "workspace=true")
    };
    let without = tree.crates().filter(|(_, manifest)| !has(manifest));
    without.map(|(_, manifest)| format!("{}: no `[lints] workspace = true`", manifest.path)).collect()
}

/// ARCHITECTURE.md has exactly one section for each crate, in pipeline order.
pub fn architecture(tree: &Tree) -> Vec<Problem> {
    let text = tree.file(ARCHITECTURE).map_or("", |file| &file.text);
    let heading =
        |line: &str| -> Option<String> { Some(line.strip_prefix("### `")?.strip_suffix('`')?.to_owned()) };
    let described: Vec<String> = text.lines().filter_map(heading).collect();
    let mut present: Vec<&str> = tree.crates().map(|(name, _)| name).collect();
    present.sort_by_key(|name| ORDER.iter().position(|other| other == name));
    let mut problems = Vec::new();
    for name in &present {
        if !described.iter().any(|other| other == name) {
            problems.push(format!("{ARCHITECTURE}: no section on `{name}`"));
        }
    }
    for name in &described {
        if !present.contains(&name.as_str()) {
            problems.push(format!("{ARCHITECTURE}: there is no crate `{name}`"));
        }
    }
    if problems.is_empty() && described != present {
        problems.push(format!("{ARCHITECTURE}: sections are not in the order of the pipeline"));
    }
    problems
}

/// The names in `[dependencies]` and `[build-dependencies]`, with their line numbers.
fn dependencies(manifest: &File) -> Vec<(usize, &str)> {
    let mut names = Vec::new();
    let mut counts = false;
    for (number, line) in (1..).zip(manifest.text.lines()) {
        let line = line.trim();
        if let Some(table) = line.strip_prefix('[') {
            let table = table.trim_end_matches(']');
            counts = table.ends_with("dependencies") && table != "dev-dependencies";
        } else if counts && let Some((name, _)) = line.split_once(['.', '=', ' ']) {
            names.push((number, name.trim()));
        }
    }
    names
}
