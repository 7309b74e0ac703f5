//! The journal of calls, kept beside the program while it is tuned, so that an interrupted run can
//! be resumed: one line of JSON per call, in the order of the calls.
//!
//! The search is deterministic given the outcomes of its calls. Resuming therefore replays outcomes
//! from the journal until the journal ends or a call differs.

use driver::tuning::tuning_file;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

pub struct Journal {
    path: PathBuf,
    file: File,
    /// Entries not replayed yet, each with the offset of the end of its line.
    unreplayed: VecDeque<(Value, u64)>,
    /// The number of valid bytes of the file.
    length: u64,
    /// True if it contains a call.
    used: bool,
}

impl Journal {
    /// Opens the journal beside a program; with `resume`, reads its entries. An error here implies
    /// that the tuning file could not be written either.
    pub fn open(program: &Path, extension: &OsStr, resume: bool) -> Result<Self, String> {
        let mut extension = extension.to_owned();
        extension.push(".part");
        let path = tuning_file(program, &extension);
        let shown = path.display();
        let mut unreplayed = VecDeque::new();
        if resume && path.exists() {
            let bytes = std::fs::read(&path).map_err(|e| format!("cannot read {shown}: {e}"))?;
            let mut end = 0;
            // The last line may be incomplete.
            for line in bytes.split_inclusive(|byte| *byte == b'\n') {
                end += line.len() as u64;
                match serde_json::from_slice(line) {
                    Ok(value) if line.ends_with(b"\n") => unreplayed.push_back((value, end)),
                    Ok(_) | Err(_) => break,
                }
            }
        }
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(&path)
            .map_err(|e| format!("cannot write {shown}: {e}"))?;
        Ok(Self { path, file, unreplayed, length: 0, used: false })
    }

    /// Writes or checks the header that identifies the program. Entries of another program are
    /// dropped.
    pub fn begin(&mut self, fingerprint: &str) -> Result<(), String> {
        let header = json!({ "program": fingerprint });
        match self.unreplayed.pop_front() {
            Some((known, end)) if known == header => {
                self.length = end;
                Ok(())
            }
            Some(_) | None => {
                self.unreplayed.clear();
                (self.length, self.used) = (0, false);
                self.append(&header)
            }
        }
    }

    /// Returns the recorded outcome of a call, if it is the next entry.
    pub fn replay(&mut self, call: &Value) -> Option<Value> {
        let (mut known, end) = self.unreplayed.pop_front()?;
        if known["call"] != *call {
            self.unreplayed.clear();
            return None;
        }
        (self.length, self.used) = (end, true);
        Some(known["outcome"].take())
    }

    /// Appends the outcome of a call.
    pub fn record(&mut self, call: &Value, outcome: &Value) -> Result<(), String> {
        self.append(&json!({ "call": call, "outcome": outcome }))?;
        self.used = true;
        Ok(())
    }

    /// Appends a line behind the valid part of the file, overwriting a partial line.
    fn append(&mut self, line: &Value) -> Result<(), String> {
        let line = format!("{line}\n");
        let written = self.file.set_len(self.length);
        let written = written.and_then(|()| self.file.write_all(line.as_bytes()));
        written.map_err(|e| format!("cannot write {}: {e}", self.path.display()))?;
        self.length += line.len() as u64;
        Ok(())
    }

    /// Deletes the file: there is nothing to resume.
    pub fn remove(&self) {
        // A failure to delete it does no harm.
        let _ = std::fs::remove_file(&self.path);
    }

    /// The file's path if there is something to resume.
    pub fn resumable_path(&self) -> Option<String> {
        self.used.then(|| self.path.display().to_string())
    }
}

impl Drop for Journal {
    /// Deletes the file if no call was recorded in it and no unreplayed entries of an earlier run
    /// remain.
    fn drop(&mut self) {
        let empty = self.file.metadata().is_ok_and(|file| file.len() == 0);
        let unused = self.length > 0 && !self.used && self.unreplayed.is_empty();
        if empty || unused {
            self.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(program: &Path, resume: bool) -> Journal {
        let mut journal = Journal::open(program, OsStr::new("t"), resume).expect("the journal opens");
        journal.begin("p").expect("the journal can be written");
        journal
    }

    #[test]
    fn recorded_outcomes_are_replayed_until_a_call_differs() {
        let folder = tempfile::tempdir().expect("a folder");
        let (program, file) = (folder.path().join("p"), folder.path().join("p.t.part"));
        let calls = ["a", "b", "c"].map(Value::from);
        let mut journal = open(&program, false);
        for (call, outcome) in calls.iter().zip(0..) {
            assert_eq!(journal.replay(call), None);
            journal.record(call, &json!(outcome)).expect("the journal can be written");
        }
        drop(journal);
        let text = std::fs::read(&file).expect("the journal exists");
        // An incomplete line, and a run that replays nothing, lose no entries.
        std::fs::write(&file, [&text, &b"{\"call\": 7"[..]].concat()).expect("the journal can be written");
        drop(open(&program, true));
        let mut journal = open(&program, true);
        assert_eq!(journal.replay(&calls[0]), Some(json!(0)));
        assert_eq!(journal.replay(&calls[1]), Some(json!(1)));
        assert_eq!(journal.replay(&json!("d")), None);
        assert_eq!(journal.replay(&calls[2]), None);
        journal.record(&json!("d"), &json!(3)).expect("the journal can be written");
        drop(journal);
        let mut journal = open(&program, true);
        for (call, outcome) in [("a", 0), ("b", 1), ("d", 3)] {
            assert_eq!(journal.replay(&json!(call)), Some(json!(outcome)));
        }
        // The journal of another program is not used, nor that of a run that does not resume.
        journal.begin("q").expect("the journal can be written");
        drop(journal);
        assert_eq!(open(&program, true).replay(&calls[0]), None);
        drop(open(&program, false));
        assert!(!file.exists());
    }
}
