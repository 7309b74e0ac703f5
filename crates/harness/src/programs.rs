//! Programs with test blocks: finding them, processing several in parallel, and comparing outcomes
//! of calls with expected ones.

use crate::blocks::{Case, Expected, Pattern};
use crate::data::compare_all;
use crate::process::{End, Finished};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use value::{Reader, Value};

/// The directories of the project's own programs, relative to its root.
const PROJECT_DIRECTORIES: [&str; 3] = ["tests/programs", "examples", "bench/programs"];

/// Returns the project's own programs, sorted.
pub fn project_programs(root: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    for folder in PROJECT_DIRECTORIES {
        found.extend(find(&root.join(folder))?);
    }
    found.sort();
    Ok(found)
}

/// Returns the programs below `folder`, sorted. If `folder` is a file, returns that.
pub fn find(folder: &Path) -> Result<Vec<PathBuf>, String> {
    if folder.is_file() {
        return Ok(vec![folder.to_owned()]);
    }
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let problem = |e: std::io::Error| format!("{}: {e}", folder.display());
        for entry in std::fs::read_dir(&folder).map_err(problem)? {
            let path = entry.map_err(problem)?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ext| ext == "fut") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Returns the programs in `paths`, and those below directories in `paths`.
pub fn find_all(paths: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    for path in paths {
        found.extend(find(path)?);
    }
    found.dedup();
    Ok(found)
}

/// Applies `work` to all items, with one thread per processor. Returns results in the order of the
/// items. `work` takes the index of its thread.
pub fn parallel_map<T: Sync, R: Send>(items: &[T], work: impl Fn(usize, &T) -> R + Sync) -> Vec<R> {
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    parallel_map_with(workers, items, work)
}

/// Applies `work` to all items, with `workers` threads. Returns results in the order of the items.
/// `work` takes the index of its thread.
pub fn parallel_map_with<T: Sync, R: Send>(
    workers: usize,
    items: &[T],
    work: impl Fn(usize, &T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(items.len()));
    std::thread::scope(|scope| {
        for worker in 0..workers.max(1) {
            let (next, done, work) = (&next, &done, &work);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { break };
                    let result = work(worker, item);
                    if let Ok(mut done) = done.lock() {
                        done.push((index, result));
                    }
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

/// The outcome of a call.
#[derive(PartialEq, Debug)]
pub enum Outcome {
    /// Success with values.
    Values(Vec<Value>),
    /// Success with results that have no external representation; the reason why.
    Opaque(String),
    /// A run-time error of the program with this message.
    Failure(String),
    /// A crash, a timeout or another abnormal end; the description.
    Abnormal(String),
}

impl Outcome {
    /// Returns the outcome of an executable's process. Results are parsed if `parse_results` is set;
    /// otherwise [`Self::Values`] is empty.
    pub fn of(finished: Finished, parse_results: bool) -> Self {
        match finished.end {
            End::Code(0) if parse_results => {
                results(&finished.stdout).map_or_else(Self::Abnormal, Self::Values)
            }
            End::Code(0) => Self::Values(Vec::new()),
            End::Code(1) => Self::Failure(finished.stderr),
            End::Code(code) => Self::Abnormal(format!("unexpected exit code {code}")),
            End::Signal(signal) => Self::Abnormal(format!("crashed with signal {signal}")),
            End::Timeout => Self::Abnormal("timed out".to_owned()),
            End::OutputLimit => Self::Abnormal("wrote more than 2 GiB of output".to_owned()),
        }
    }
}

/// The verdict on an outcome that is not a failure of the test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It is as expected.
    Expected,
    /// The expected results are not known.
    Unknown,
}

/// Compares an outcome with the one that a case expects. `auto` computes the values of an `auto
/// output`, if it can.
pub fn compare_outcome(
    case: &Case,
    outcome: &Outcome,
    folder: &Path,
    auto: impl FnOnce() -> Result<Option<Vec<Value>>, String>,
) -> Result<Verdict, String> {
    if let (Outcome::Values(values), Expected::Auto) = (outcome, &case.expected) {
        return match auto()? {
            Some(expected) => compare_all(&expected, values).map(|()| Verdict::Expected),
            None => Ok(Verdict::Unknown),
        };
    }
    check_outcome(case, outcome, folder).map(|()| Verdict::Expected)
}

fn check_outcome(case: &Case, outcome: &Outcome, folder: &Path) -> Result<(), String> {
    match (outcome, &case.expected) {
        (Outcome::Abnormal(why), _) => Err(why.clone()),
        (Outcome::Failure(message), Expected::Error(pattern)) => check_failure(pattern, message),
        (Outcome::Failure(message), _) => Err(format!("run-time error: {}", first_line(message))),
        (_, Expected::Error(_)) => Err("expected a run-time error, but the call succeeded".to_owned()),
        (_, Expected::Success) | (Outcome::Values(_), Expected::Auto) => Ok(()),
        (Outcome::Opaque(why), _) => Err(why.clone()),
        (Outcome::Values(values), Expected::Values(data)) => {
            let expected = data.values(folder).map_err(|e| e.to_string())?;
            compare_all(&expected, values)
        }
    }
}

fn check_failure(pattern: &Pattern, message: &str) -> Result<(), String> {
    match pattern.matches(message) {
        Ok(true) => Ok(()),
        Ok(false) => {
            Err(format!("the run-time error does not match the expected pattern: {}", first_line(message)))
        }
        Err(e) => Err(e.to_string()),
    }
}

/// Parses the values that an executable printed.
pub fn results(stdout: &[u8]) -> Result<Vec<Value>, String> {
    let mut reader = Reader::from_slice(stdout);
    let mut values = Vec::new();
    loop {
        if reader.skip_unit().map_err(|e| e.to_string())? {
            continue;
        }
        match reader.read_any().map_err(|e| format!("cannot read the results: {e}"))? {
            Some(value) => values.push(value),
            None => return Ok(values),
        }
    }
}

/// Returns the first non-blank line, truncated to 160 characters.
pub fn first_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("no message");
    line.chars().take(160).collect()
}
