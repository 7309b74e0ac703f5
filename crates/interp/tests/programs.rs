//! The programs of the repository: every test block has the expected outcome.

use check::Loader;
use harness::programs::{Outcome, compare_outcome, parallel_map_with, project_programs};
use harness::{Case, Data};
use interp::{Class, Interp};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use syntax::render::render;
use syntax::span::SourceMap;
use syntax::symbol::Interner;

/// The time limit of one call.
const LIMIT: Duration = Duration::from_mins(1);

struct Files;

impl Loader for Files {
    fn load(&mut self, path: &str) -> Result<Vec<u8>, String> {
        std::fs::read(path).map_err(|e| e.to_string())
    }
}

#[test]
fn test_blocks_of_programs_pass() {
    run_all(false);
}

/// Tests that only `make test-all` runs.
mod all_tier {
    use super::*;

    #[test]
    fn watched_programs_have_the_same_results() {
        run_all(true);
        let seen = SEEN.load(Ordering::Relaxed);
        assert!(seen > 100, "{seen} variables seen");
    }
}

/// The number of variables shown where evaluations stopped.
static SEEN: AtomicUsize = AtomicUsize::new(0);

fn run_all(watched: bool) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let files = project_programs(&root).expect("the folder of programs");
    assert!(files.len() > 30, "only {} programs found", files.len());
    let problems: Vec<String> = parallel_map_with(2, &files, |_, path| {
        let found = program(path, watched).into_iter();
        found.map(|what| format!("{}: {what}", path.display())).collect::<Vec<_>>()
    })
    .concat();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

fn program(path: &Path, watched: bool) -> Vec<String> {
    let text = std::fs::read_to_string(path).expect("a readable program");
    let spec = harness::parse_blocks(&text).expect("well-formed test blocks");
    let (mut sources, interner) = (SourceMap::new(), Interner::new());
    let name = path.to_string_lossy();
    let checked = check::check_program(&mut sources, &interner, &mut Files, &name);
    let errors = checked.diagnostics.iter().filter(|d| d.is_error());
    let mut errors: Vec<String> = errors.map(|d| render(d, &sources, false)).collect();
    if spec.compile_error.is_some() {
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
    interp.set_check_sizes(true);
    let folder = path.parent().unwrap_or(path);
    let mut problems = Vec::new();
    for case in &spec.cases {
        for entry in case.entries.iter() {
            if watched && let Err(what) = watch(&interp, case, entry, folder) {
                problems.push(format!("line {}, {entry}: {what}", case.line));
            }
            if let Err(what) = call(&interp, &sources, case, entry, folder) {
                problems.push(format!("line {}, {entry}: {what}", case.line));
            }
        }
    }
    problems
}

/// Evaluates a case with stops at new NaNs. Failures are ignored: the evaluation after it, which
/// reuses the code of this one, reports them. The variables shown must have names and types that source programs
/// can use.
fn watch(interp: &Interp, case: &Case, entry: &str, folder: &Path) -> Result<(), String> {
    let entry = interp.entry(entry).ok_or("no such entry point")?;
    if matches!(case.input, Data::Random(_) | Data::Script(_)) {
        return Ok(());
    }
    let args = case.input.values(folder).map_err(|e| e.to_string())?;
    let args = args.iter().map(interp::import).collect();
    let mut invalid = None;
    let mut watcher = |stop: &interp::Stop| {
        for call in &stop.calls {
            SEEN.fetch_add(call.locals.len(), Ordering::Relaxed);
            for local in &call.locals {
                let parameter = format!("def f ({}: {}) = 0i32", local.name, local.ty);
                let text = syntax::parse(&parameter, syntax::span::FileId(0), &Interner::new());
                if !text.errors.is_empty() {
                    invalid = Some(parameter);
                }
            }
        }
        interp::Resume::Continue
    };
    interp.set_deadline(Some(Instant::now() + LIMIT));
    let _ = interp.evaluate_watched(entry.var, args, true, &mut watcher);
    invalid.map_or(Ok(()), |text| Err(format!("not a declaration: {text}")))
}

fn call(interp: &Interp, sources: &SourceMap, case: &Case, entry: &str, folder: &Path) -> Result<(), String> {
    let entry = interp.entry(entry).ok_or("no such entry point")?;
    if matches!(case.input, Data::Random(_) | Data::Script(_)) {
        return Ok(());
    }
    let args = case.input.values(folder).map_err(|e| e.to_string())?;
    interp.set_deadline(Some(Instant::now() + LIMIT));
    let outcome = match interp.call_values(entry, &args) {
        Ok(values) => Outcome::Values(values),
        Err(failure) if failure.class == Class::Program => Outcome::Failure(failure.render(sources)),
        Err(failure) => Outcome::Abnormal(failure.render(sources)),
    };
    compare_outcome(case, &outcome, folder, || Ok(None)).map(|_| ())
}
