//! Outcomes of evaluations, kept from run to run.
//!
//! The key of an outcome is a hash of the evaluator's source, the text of the IR, the call's
//! arguments and the options of the evaluation, so nothing has to be invalidated. Each program has
//! one file below `target/evaluations`, with the outcomes that its last run used. A file that
//! cannot be read is treated as empty.

use crate::outcome::Outcome;
use crate::selection::Selection;
use harness::evaluate::{EVALUATOR, Failure};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
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

    /// Writes the outcomes used by this run. A failure to write costs only time in the next run.
    pub fn save(&self) {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
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
