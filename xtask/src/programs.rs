//! Programs with test blocks, for the tasks that run them: finding them, working
//! on several at a time, and holding a process's end against a test block.

use crate::process::{End, Finished};
use harness::{Case, Data, Expected, compare_all};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use value::{Reader, Value};

/// The compiler: `$BINDRUNE`, or `build/bindrune`.
pub fn compiler(root: &Path) -> String {
    std::env::var("BINDRUNE")
        .unwrap_or_else(|_| root.join("build/bindrune").to_string_lossy().into_owned())
}

/// The programs below `folder`, sorted.
pub fn find(folder: &Path) -> Result<Vec<PathBuf>, String> {
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

/// Does `work` on all items, as many at a time as there are processors; the
/// results in the order of the items.
pub fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(usize, &T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(items.len()));
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for worker in 0..workers {
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

/// What a case's executable reads; `None` where this is not supported yet.
pub fn input(case: &Case, folder: &Path) -> Option<Result<Vec<u8>, String>> {
    match &case.input {
        Data::Text(text, _) => Some(Ok(text.clone().into_bytes())),
        Data::File(path) if path.extension().is_none_or(|ext| ext != "gz") => {
            let path = folder.join(path);
            Some(std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display())))
        }
        Data::File(_) | Data::Random(_) | Data::Script(_) | Data::ScriptFile(_) => None,
    }
}

/// Holds what an executable did against what the test block says.
pub fn verdict(case: &Case, finished: &Finished, folder: &Path) -> Result<(), String> {
    let message = || first_line(&finished.stderr);
    match (finished.end, &case.expected) {
        (End::Timeout, _) => Err("it does not end".to_owned()),
        (End::Signal(signal), _) => Err(format!("it crashes: signal {signal}")),
        (End::Code(0), Expected::Error(_)) => Err("it should fail, but does not".to_owned()),
        (End::Code(0), Expected::Success | Expected::Auto) => Ok(()),
        (End::Code(0), Expected::Values(data)) => {
            let expected = data.values(folder).map_err(|e| e.to_string())?;
            compare_all(&expected, &results(&finished.stdout)?)
        }
        (End::Code(1), Expected::Error(pattern)) => match pattern.matches(&finished.stderr) {
            Ok(true) => Ok(()),
            Ok(false) => Err(format!("another failure than expected: {}", message())),
            Err(e) => Err(e.to_string()),
        },
        (End::Code(1), _) => Err(format!("it fails: {}", message())),
        (End::Code(code), _) => Err(format!("exit code {code}: {}", message())),
    }
}

/// The values that an executable printed.
fn results(stdout: &[u8]) -> Result<Vec<Value>, String> {
    let mut reader = Reader::from_slice(stdout);
    let mut values = Vec::new();
    loop {
        if reader.skip_unit().map_err(|e| e.to_string())? {
            continue;
        }
        match reader
            .read_any()
            .map_err(|e| format!("unreadable results: {e}"))?
        {
            Some(value) => values.push(value),
            None => return Ok(values),
        }
    }
}

/// The first line that says something, cut to a readable length.
pub fn first_line(text: &str) -> String {
    let line = text
        .lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or("no message");
    line.chars().take(160).collect()
}
