//! Checks every program below a folder against what its test block wants, and
//! counts: `check_corpus FOLDER [--list]`. A program whose test block has
//! `error:` on a line of its own must be rejected, any other accepted.

use check::{Loader, check_program};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
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

/// Whether the test block wants the program rejected: `error:` stands in it
/// before any input (after an input it is a failing run).
fn wants_error(text: &str) -> bool {
    let mut in_block = false;
    for line in text.lines() {
        let Some(line) = line.trim_start().strip_prefix("--") else {
            in_block = false;
            continue;
        };
        let line = line.trim();
        if line == "==" {
            in_block = true;
        } else if in_block && line.starts_with("error:") {
            return true;
        } else if in_block && (line.contains("input") || line.starts_with("entry:")) {
            in_block = false;
        }
    }
    false
}

fn main() {
    let mut args = std::env::args().skip(1);
    let folder = args.next().unwrap_or_else(|| ".".to_owned());
    let list = args.next().is_some_and(|a| a == "--list");
    let mut files = Vec::new();
    collect(Path::new(&folder), &mut files);
    files.sort();
    let (mut accepted, mut wrongly_rejected, mut rejected, mut wrongly_accepted) = (0, 0, 0, 0);
    let mut causes: BTreeMap<&'static str, usize> = BTreeMap::new();
    let start = std::time::Instant::now();
    for file in &files {
        let Ok(text) = std::fs::read_to_string(file) else {
            continue;
        };
        let wants_error = wants_error(&text);
        let mut sources = SourceMap::new();
        let interner = Interner::new();
        let path = file.to_string_lossy();
        let checked = check_program(&mut sources, &interner, &mut Disk, &path);
        match (wants_error, checked.program.is_some()) {
            (false, true) => accepted += 1,
            (true, false) => rejected += 1,
            (true, true) => {
                wrongly_accepted += 1;
                if list {
                    let wanted = text.lines().find(|l| l.contains("error:")).unwrap_or("");
                    println!("ACCEPTED {path}: {wanted}");
                }
            }
            (false, false) => {
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
         rejected {rejected}, wrongly accepted {wrongly_accepted}",
        files.len(),
        start.elapsed()
    );
}
