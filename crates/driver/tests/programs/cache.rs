//! Outcomes of evaluations and checks that passed, kept from run to run.
//!
//! The key of an outcome is a hash of the evaluator's source, the text of the IR, the call's
//! arguments and the options of the evaluation, so nothing has to be invalidated. Each program has
//! one file below `target/evaluations`, with the outcomes that its last run used. A file that
//! cannot be read is treated as empty.
//!
//! A check of a back end is skipped if it passed with the same code, calls and expectations, back
//! ends ([`back_ends`]) and processor: its entry is an outcome without values.

use crate::outcome::Outcome;
use crate::selection::Selection;
use harness::evaluate::{EVALUATOR, Failure};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use value::Reader;

/// The hash that identifies an evaluation.
pub type Key = [u8; 32];

/// The outcomes of a program's evaluations.
pub struct Cache {
    file: PathBuf,
    before: BTreeMap<Key, Vec<u8>>,
    used: Mutex<BTreeMap<Key, Vec<u8>>>,
}

impl Cache {
    /// The outcomes of the last run of the program with this name.
    pub fn of(program: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("evaluations");
        let file = folder.join(program.replace('/', "-"));
        let before = if Selection::get().no_cache {
            BTreeMap::new()
        } else {
            std::fs::read(&file).map(|bytes| entries(&bytes)).unwrap_or_default()
        };
        Self { file, before, used: Mutex::default() }
    }

    /// The outcome with this key: a known one, or that of `evaluate`.
    pub fn outcome(&self, key: Key, evaluate: impl FnOnce() -> Outcome) -> Outcome {
        let known = || self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let earlier = known().get(&key).or_else(|| self.before.get(&key)).cloned();
        if let Some(bytes) = earlier
            && let Some(outcome) = decode(&bytes)
        {
            known().insert(key, bytes);
            return outcome;
        }
        let outcome = evaluate();
        known().insert(key, encode(&outcome));
        outcome
    }

    /// The problems found by `check`; none without running it if it passed before with this key.
    pub fn unless_passed(&self, key: Key, check: impl FnOnce() -> Vec<String>) -> Vec<String> {
        let used = || self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = encode(&Ok(Vec::new()));
        if self.before.get(&key) == Some(&passed) {
            used().insert(key, passed);
            return Vec::new();
        }
        let problems = check();
        if problems.is_empty() {
            used().insert(key, passed);
        }
        problems
    }

    /// Writes the outcomes used by this run. A failure to write costs only time in the next run.
    pub fn save(&self) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if !Selection::get().is_whole() {
            // The next run may select other checks.
            self.before.iter().for_each(|(key, outcome)| {
                used.entry(*key).or_insert_with(|| outcome.clone());
            });
        }
        if used.len() == self.before.len() && used.keys().all(|key| self.before.contains_key(key)) {
            return;
        }
        let mut bytes = Vec::new();
        for (key, outcome) in used.iter() {
            bytes.extend_from_slice(key);
            bytes.extend_from_slice(&(outcome.len() as u64).to_le_bytes());
            bytes.extend_from_slice(outcome);
        }
        let folder = self.file.parent().unwrap_or(Path::new("."));
        let written = std::fs::create_dir_all(folder)
            .and_then(|()| tempfile::NamedTempFile::new_in(folder))
            .and_then(|file| std::fs::write(file.path(), &bytes).map(|()| file));
        if let Ok(file) = written {
            let _ = file.persist(&self.file);
        }
    }
}

/// A hash of the source of the back ends, of this test, and of the processor's features.
pub fn back_ends() -> &'static Key {
    static HASH: OnceLock<Key> = OnceLock::new();
    HASH.get_or_init(|| {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let names = ["driver", "imp", "ir", "kernelc", "llvm", "runtime", "target", "value", "workers"];
        let mut files: Vec<PathBuf> = Vec::new();
        names.iter().for_each(|name| list(&crates.join(name).join("src"), &mut files));
        list(&crates.join("driver/tests/programs"), &mut files);
        files.extend([crates.join("../Cargo.lock"), PathBuf::from("/proc/cpuinfo")]);
        files.sort();
        let mut hasher = blake3::Hasher::new();
        for file in files {
            let text = std::fs::read(&file).unwrap_or_default();
            // Lines of `cpuinfo` such as the clock rate change all the time.
            let features = |line: &&[u8]| line.starts_with(b"flags") || line.starts_with(b"model");
            let text = match file.file_name() {
                Some(name) if name == "cpuinfo" => {
                    text.split(|byte| *byte == b'\n').filter(features).take(3).collect::<Vec<_>>().concat()
                }
                _ => text,
            };
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(&text);
        }
        *hasher.finalize().as_bytes()
    })
}

/// Appends the files below a folder.
fn list(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            list(&path, files);
        } else {
            files.push(path);
        }
    }
}

/// The key of an evaluation: the parts are hashed with their lengths.
pub fn key(parts: &[&[u8]]) -> Key {
    let mut hasher = blake3::Hasher::new();
    for part in [EVALUATOR.as_bytes()].iter().chain(parts) {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    *hasher.finalize().as_bytes()
}

/// The entries of a file; those of its readable beginning.
fn entries(mut bytes: &[u8]) -> BTreeMap<Key, Vec<u8>> {
    let mut found = BTreeMap::new();
    while let Some((key, rest)) = bytes.split_first_chunk::<32>()
        && let Some((count, rest)) = rest.split_first_chunk::<8>()
        && let Ok(count) = usize::try_from(u64::from_le_bytes(*count))
        && let Some((outcome, rest)) = rest.split_at_checked(count)
    {
        found.insert(*key, outcome.to_vec());
        bytes = rest;
    }
    found
}

fn encode(outcome: &Outcome) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (tag, message) = match outcome {
        Ok(values) => {
            bytes.push(0);
            for value in values {
                value::write_binary(&mut bytes, value).expect("a vector takes all bytes");
            }
            return bytes;
        }
        Err(Failure::Program(message)) => (1, message),
        Err(Failure::Argument(message)) => (2, message),
        Err(Failure::Limit(message)) => (3, message),
        Err(Failure::Evaluator(message)) => (4, message),
    };
    bytes.push(tag);
    bytes.extend_from_slice(message.as_bytes());
    bytes
}

fn decode(bytes: &[u8]) -> Option<Outcome> {
    let (tag, rest) = bytes.split_first()?;
    let message = || String::from_utf8(rest.to_vec()).ok();
    Some(match tag {
        0 => {
            let mut reader = Reader::from_slice(rest);
            let mut values = Vec::new();
            while let Some(value) = reader.read_any().ok()? {
                values.push(value);
            }
            Ok(values)
        }
        1 => Err(Failure::Program(message()?)),
        2 => Err(Failure::Argument(message()?)),
        3 => Err(Failure::Limit(message()?)),
        4 => Err(Failure::Evaluator(message()?)),
        _ => return None,
    })
}
