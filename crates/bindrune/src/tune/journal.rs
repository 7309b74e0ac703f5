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
    /// Calls that were not asked for yet, and where in the file each line ends.
    before: VecDeque<(Value, u64)>,
    /// How many bytes of the file count.
    length: u64,
    /// Whether it has a call.
    used: bool,
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
            let bytes = std::fs::read(&path).map_err(|e| format!("cannot read {shown}: {e}"))?;
            let mut end = 0;
            // The last line may have been cut off.
            for line in bytes.split_inclusive(|byte| *byte == b'\n') {
                end += line.len() as u64;
                match serde_json::from_slice(line) {
                    Ok(value) if line.ends_with(b"\n") => before.push_back((value, end)),
                    Ok(_) | Err(_) => break,
                }
            }
        }
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(&path)
            .map_err(|e| format!("cannot write {shown}: {e}"))?;
        Ok(Self { path, file, before, length: 0, used: false })
    }

    /// Begins with what tells the program from others; what is there of another one is
    /// not used.
    pub fn begin(&mut self, mark: &str) -> Result<(), String> {
        let mark = json!({ "program": mark });
        match self.before.pop_front() {
            Some((known, end)) if known == mark => {
                self.length = end;
                Ok(())
            }
            Some(_) | None => {
                self.before.clear();
                (self.length, self.used) = (0, false);
                self.put(&mark)
            }
        }
    }

    /// The outcome of a call, if it was made before.
    pub fn known(&mut self, call: &Value) -> Option<Value> {
        let (mut known, end) = self.before.pop_front()?;
        if known["call"] != *call {
            self.before.clear();
            return None;
        }
        (self.length, self.used) = (end, true);
        Some(known["outcome"].take())
    }

    /// Notes the outcome of a call.
    pub fn note(&mut self, call: &Value, outcome: &Value) -> Result<(), String> {
        self.put(&json!({ "call": call, "outcome": outcome }))?;
        self.used = true;
        Ok(())
    }

    /// Writes a line behind all that counts. One that was written in part does not.
    fn put(&mut self, line: &Value) -> Result<(), String> {
        let line = format!("{line}\n");
        let written = self.file.set_len(self.length);
        let written = written.and_then(|()| self.file.write_all(line.as_bytes()));
        written.map_err(|e| format!("cannot write {}: {e}", self.path.display()))?;
        self.length += line.len() as u64;
        Ok(())
    }

    /// Takes it away: nothing is to be resumed.
    pub fn remove(&self) {
        // Where it stays, it is in nobody's way.
        let _ = std::fs::remove_file(&self.path);
    }

    /// Its name if there is something to be resumed.
    pub fn shown(&self) -> Option<String> {
        self.used.then(|| self.path.display().to_string())
    }
}

impl Drop for Journal {
    /// Takes away what no call was noted in, but nothing of an earlier run that this one did
    /// not come to.
    fn drop(&mut self) {
        let empty = self.file.metadata().is_ok_and(|file| file.len() == 0);
        let unused = self.length > 0 && !self.used && self.before.is_empty();
        if empty || unused {
            self.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(program: &Path, resume: bool) -> Journal {
        let mut journal = Journal::open(program, OsStr::new("t"), resume).expect("it opens");
        journal.begin("p").expect("it can be written");
        journal
    }

    #[test]
    fn what_was_noted_is_known_until_something_else_is_asked() {
        let folder = tempfile::tempdir().expect("a folder");
        let (program, file) = (folder.path().join("p"), folder.path().join("p.t.part"));
        let calls = ["a", "b", "c"].map(Value::from);
        let mut journal = open(&program, false);
        for (call, outcome) in calls.iter().zip(0..) {
            assert_eq!(journal.known(call), None);
            journal.note(call, &json!(outcome)).expect("it can be written");
        }
        drop(journal);
        let text = std::fs::read(&file).expect("it is there");
        // A line that was cut off, and a reader that asks for nothing, lose nothing.
        std::fs::write(&file, [&text, &b"{\"call\": 7"[..]].concat()).expect("written");
        drop(open(&program, true));
        let mut journal = open(&program, true);
        assert_eq!(journal.known(&calls[0]), Some(json!(0)));
        assert_eq!(journal.known(&calls[1]), Some(json!(1)));
        assert_eq!(journal.known(&json!("d")), None);
        assert_eq!(journal.known(&calls[2]), None);
        journal.note(&json!("d"), &json!(3)).expect("it can be written");
        drop(journal);
        let mut journal = open(&program, true);
        for (call, outcome) in [("a", 0), ("b", 1), ("d", 3)] {
            assert_eq!(journal.known(&json!(call)), Some(json!(outcome)));
        }
        // Another program has other calls, and so has one that does not go on.
        journal.begin("q").expect("it can be written");
        drop(journal);
        assert_eq!(open(&program, true).known(&calls[0]), None);
        drop(open(&program, false));
        assert!(!file.exists());
    }
}
