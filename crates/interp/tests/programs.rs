//! The programs of the repository: every test block gives what it says.

use check::Loader;
use harness::{Case, Data, Expected, compare_all};
use interp::{Class, Failure, Interp};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use syntax::render::render;
use syntax::span::SourceMap;
use syntax::symbol::Interner;
use value::Value;

/// Where programs with test blocks are.
const FOLDERS: [&str; 3] = ["tests/programs", "examples", "bench/programs"];
/// How long one call may take.
const LIMIT: Duration = Duration::from_mins(1);

struct Files;

impl Loader for Files {
    fn load(&mut self, path: &str) -> Result<Vec<u8>, String> {
        std::fs::read(path).map_err(|e| e.to_string())
    }
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            find(&path, files);
        } else if path.extension().is_some_and(|ext| ext == "fut") {
            files.push(path);
        }
    }
}

#[test]
fn programs_give_the_values_of_their_test_blocks() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for folder in FOLDERS {
        find(&root.join(folder), &mut files);
    }
    files.sort();
    assert!(files.len() > 30, "programs were not found");
    let (next, problems) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(path) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let found = program(path);
                    let mut problems = problems.lock().expect("no thread panics");
                    problems.extend(
                        found
                            .into_iter()
                            .map(|what| format!("{}: {what}", path.display())),
                    );
                }
            });
        }
    });
    let problems = problems.into_inner().expect("no thread panics");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

fn program(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).expect("the program can be read");
    let spec = harness::parse_blocks(&text).expect("the blocks are well-formed");
    let (mut sources, interner) = (SourceMap::new(), Interner::new());
    let name = path.to_string_lossy();
    let checked = check::check_program(&mut sources, &interner, &mut Files, &name);
    let errors = checked.diagnostics.iter().filter(|d| d.is_error());
    let mut errors: Vec<String> = errors.map(|d| render(d, &sources, false)).collect();
    if spec.rejected.is_some() {
        if errors.is_empty() {
            errors.push("should be rejected".to_owned());
        } else {
            errors.clear();
        }
        return errors;
    }
    let Some(program) = checked.program.filter(|_| errors.is_empty()) else {
        return errors;
    };
    let interp = Interp::new(Arc::new(program));
    let folder = path.parent().unwrap_or(path);
    let mut problems = Vec::new();
    for case in &spec.cases {
        for entry in case.entries.iter() {
            if let Err(what) = call(&interp, &sources, case, entry, folder) {
                problems.push(format!("line {}, {entry}: {what}", case.line));
            }
        }
    }
    problems
}

fn call(
    interp: &Interp,
    sources: &SourceMap,
    case: &Case,
    entry: &str,
    folder: &Path,
) -> Result<(), String> {
    let entry = interp.entry(entry).ok_or("no such entry point")?;
    if matches!(case.input, Data::Random(_) | Data::Script(_)) {
        return Ok(());
    }
    let args = case.input.values(folder).map_err(|e| e.to_string())?;
    interp.set_deadline(Some(Instant::now() + LIMIT));
    let outcome: Result<Vec<Value>, Failure> = interp.call_values(entry, &args);
    match (&case.expected, outcome) {
        (Expected::Values(data), Ok(results)) => {
            let expected = data.values(folder).map_err(|e| e.to_string())?;
            compare_all(&expected, &results)
        }
        (Expected::Error(pattern), Err(failure)) if failure.class == Class::Program => {
            let text = failure.render(sources);
            match pattern.matches(&text) {
                Ok(true) => Ok(()),
                Ok(false) => Err(format!("another error: {text}")),
                Err(e) => Err(e.to_string()),
            }
        }
        (Expected::Error(_), Ok(_)) => Err("should fail".to_owned()),
        (_, Err(failure)) => Err(failure.render(sources)),
        (_, Ok(_)) => Ok(()),
    }
}
