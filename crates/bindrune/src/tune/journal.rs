//! What was run so far, kept beside the program while it is tuned, so that an interrupted
//! run can be resumed: a line of JSON for each call, in the order of the calls.
//!
//! The search asks for the same calls in the same order if they have the same outcomes.
//! So resuming is answering from the journal until it is at its end, or something else is asked.

use crate::tuning::beside;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A journal.
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Calls that were not asked for yet.
    before: VecDeque<Value>,
}

impl Journal {
    /// Begins a journal beside a program, or goes on with the one that is there. Where this
    /// fails, a tuning file could not be written either.
    pub fn open(program: &Path, extension: &OsStr, resume: bool) -> Result<Self, String> {
        let mut extension = extension.to_owned();
        extension.push(".part");
        let path = beside(program, &extension);
        let shown = path.display();
        let mut before = VecDeque::new();
        if resume && path.exists() {
            let text = std::fs::read_to_string(&path);
            let text = text.map_err(|e| format!("cannot read {shown}: {e}"))?;
            // The last line may have been cut off.
            let lines = text.lines().map(serde_json::from_str::<Value>);
            before.extend(lines.map_while(Result::ok));
        }
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(&path)
            .map_err(|e| format!("cannot write {shown}: {e}"))?;
        Ok(Self { path, file, before })
    }

    /// Begins with what tells the program from others; what is there of another one is
    /// not used.
    pub fn begin(&mut self, mark: &str) -> Result<(), String> {
        let mark = json!({ "program": mark });
        if self.before.pop_front() != Some(mark.clone()) {
            self.before.clear();
        }
        let emptied = self.file.set_len(0);
        emptied.map_err(|e| format!("cannot write {}: {e}", self.path.display()))?;
        self.put(&mark)
    }

    /// The outcome of a call, if it was made before.
    pub fn known(&mut self, call: &Value) -> Result<Option<Value>, String> {
        let Some(known) = self.before.pop_front() else {
            return Ok(None);
        };
        if known["call"] != *call {
            self.before.clear();
            return Ok(None);
        }
        self.put(&known)?;
        Ok(Some(known["outcome"].clone()))
    }

    /// Notes the outcome of a call.
    pub fn note(&mut self, call: &Value, outcome: &Value) -> Result<(), String> {
        self.put(&json!({ "call": call, "outcome": outcome }))
    }

    fn put(&mut self, line: &Value) -> Result<(), String> {
        let written = writeln!(self.file, "{line}");
        written.map_err(|e| format!("cannot write {}: {e}", self.path.display()))
    }

    /// Takes away what nothing was written to.
    fn remove_empty(&self) {
        if self.file.metadata().is_ok_and(|file| file.len() == 0) {
            self.remove();
        }
    }

    /// Takes it away: nothing is to be resumed.
    pub fn remove(&self) {
        // Where it stays, it is in nobody's way.
        let _ = std::fs::remove_file(&self.path);
    }

    /// Its name.
    pub fn shown(&self) -> String {
        self.path.display().to_string()
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.remove_empty();
    }
}
