//! The programs of the repository: every test block gives what it says.

use check::Loader;
use harness::programs::{Outcome, by_workers, judge, ours};
use harness::{Case, Data};
use interp::{Class, Interp};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use syntax::render::render;
use syntax::span::SourceMap;
use syntax::symbol::Interner;

/// How long one call may take.
const LIMIT: Duration = Duration::from_mins(1);

struct Files;

impl Loader for Files {
    fn load(&mut self, path: &str) -> Result<Vec<u8>, String> {
        std::fs::read(path).map_err(|e| e.to_string())
    }
}

#[test]
fn programs_give_the_values_of_their_test_blocks() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let files = ours(&root).expect("the programs are found");
    assert!(files.len() > 30, "programs were not found");
    let problems: Vec<String> = by_workers(2, &files, |_, path| {
        let found = program(path).into_iter();
        found
            .map(|what| format!("{}: {what}", path.display()))
            .collect::<Vec<_>>()
    })
    .concat();
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
    let outcome = match interp.call_values(entry, &args) {
        Ok(values) => Outcome::Values(values),
        Err(failure) if failure.class == Class::Program => {
            Outcome::Failure(failure.render(sources))
        }
        Err(failure) => Outcome::Broken(failure.render(sources)),
    };
    judge(case, &outcome, folder, || Ok(None)).map(|_| ())
}
