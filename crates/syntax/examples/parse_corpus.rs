//! Parses every `.fut` file under the given directories: `parse_corpus DIR...`.
//!
//! Prints the files with errors, each with the `-- error:` line by which it declares its expected
//! error, and the parsing speed. With `--errors` it prints full messages.

use std::path::{Path, PathBuf};
use std::time::Instant;

use syntax::render::{render, render_line};
use syntax::span::SourceMap;
use syntax::symbol::Interner;

fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_dir() {
        let mut entries: Vec<_> = std::fs::read_dir(path)
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .collect();
        entries.sort();
        for entry in entries {
            collect(&entry, files);
        }
    } else if path.extension().is_some_and(|ext| ext == "fut") {
        files.push(path.to_owned());
    }
}

fn main() {
    let (flags, dirs): (Vec<_>, Vec<_>) = std::env::args().skip(1).partition(|arg| arg.starts_with("--"));
    let verbose = flags.iter().any(|flag| flag == "--errors");
    let mut paths = Vec::new();
    for dir in &dirs {
        collect(Path::new(dir), &mut paths);
    }
    let mut sources = SourceMap::new();
    let mut ids = Vec::new();
    let mut failures = Vec::new();
    for path in &paths {
        let name = path.display().to_string();
        let bytes = std::fs::read(path).unwrap_or_default();
        match sources.add_bytes(name, bytes) {
            Ok(id) => ids.push(id),
            Err(error) => failures.push((None, vec![*error])),
        }
    }
    let names = Interner::new();
    let mut lines = 0;
    let mut bytes = 0;
    let rounds = 10;
    let start = Instant::now();
    for round in 0..rounds {
        for &id in &ids {
            let Some(file) = sources.get(id) else {
                continue;
            };
            let parse = syntax::parse(file.text(), id, &names);
            if round == 0 {
                lines += file.text().lines().count();
                bytes += file.text().len();
                if !parse.errors.is_empty() {
                    failures.push((Some(id), parse.errors));
                }
            }
        }
    }
    let seconds = start.elapsed().as_secs_f64() / f64::from(rounds);
    for (id, errors) in &failures {
        let declared = id
            .and_then(|id| sources.get(id))
            .and_then(|file| file.text().lines().find(|line| line.starts_with("-- error:")))
            .unwrap_or("-- no error declared");
        println!("{declared}");
        for error in errors {
            if verbose {
                print!("{}", render(error, &sources, false));
            } else {
                println!("    {}", render_line(error, &sources));
            }
        }
    }
    println!(
        "{} files, {lines} lines, {bytes} bytes, {} with errors; {:.0} lines/s, {:.1} MB/s",
        paths.len(),
        failures.len(),
        lines as f64 / seconds,
        bytes as f64 / seconds / 1e6,
    );
}
