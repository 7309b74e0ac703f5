//! The tuning file beside a program. It is read before tuning and replaced atomically afterwards.
//!
//! The new file keeps all lines that are not replaced: comments, blank lines, and values of
//! parameters that were not tuned. The tuned parameters follow, sorted.

use driver::tuning::{TuningFiles, tuning_file};
use runtime::tuning_params::Assignment;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A tuning file.
pub struct TuningFile {
    path: PathBuf,
    lines: Vec<String>,
    /// The assignments in the lines.
    pub given: Vec<Assignment>,
}

impl TuningFile {
    /// Reads the tuning file of a program; empty if there is none. The error says what is wrong
    /// with it.
    pub fn read(program: &Path, files: &TuningFiles) -> Result<Self, String> {
        let path = tuning_file(program, &files.extension);
        let (mut lines, mut given) = (Vec::new(), Vec::new());
        if path.exists() {
            given = files.read(&path)?;
            let text = std::fs::read_to_string(&path);
            let text = text.map_err(|e| format!("cannot read {}: {e}", path.display()))?;
            lines.extend(text.lines().map(str::to_owned));
        }
        Ok(Self { path, lines, given })
    }

    /// Writes the file with these values and without those of the parameters in `removed`. Returns its
    /// path.
    pub fn write(
        &self,
        values: &BTreeMap<String, i64>,
        removed: &BTreeSet<String>,
    ) -> Result<String, String> {
        let unchanged = self.lines.iter().filter(|line| {
            let comment = line.trim().is_empty() || line.trim().starts_with("--");
            let assignment = Assignment::parse(line.trim());
            let replaced = |name: &String| values.contains_key(name) || removed.contains(name);
            comment || !assignment.is_ok_and(|known| replaced(&known.name))
        });
        let mut text: String = unchanged.flat_map(|line| [line, "\n"]).collect();
        text.extend(values.iter().map(|(name, value)| format!("{name}={value}\n")));
        write_atomically(&self.path, &text)?;
        Ok(self.path.display().to_string())
    }
}

/// Replaces a file atomically.
pub fn write_atomically(path: &Path, text: &str) -> Result<(), String> {
    let write_error = |e: std::io::Error| format!("cannot write {}: {e}", path.display());
    let mut new = link::temporary_beside(path).map_err(write_error)?;
    let file = new.as_file_mut();
    let written = file.write_all(text.as_bytes());
    written.and_then(|()| file.sync_all()).map_err(write_error)?;
    // A temporary file is readable by its owner only; the tuning file keeps the old mode or gets
    // 0644.
    let mode = std::fs::metadata(path).map(|known| known.permissions());
    let mode = mode.unwrap_or_else(|_| std::os::unix::fs::PermissionsExt::from_mode(0o644));
    new.as_file().set_permissions(mode).map_err(write_error)?;
    new.persist(path).map_err(|e| write_error(e.error))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_not_replaced_are_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join("p.fut");
        let file = folder.path().join("p.fut.tuning");
        let before = "-- By hand.\n\nmain.b_0=1\n  main.gone_0 = 7\nblock=8\nmain.a_0=2\nmain.b_0=3\n";
        std::fs::write(&file, before).expect("the file can be written");
        let known = TuningFile::read(&program, &TuningFiles::new("tuning".as_ref(), |_| ()))
            .expect("a valid tuning file");
        let values = [("main.b_0", 40), ("main.a_0", -50)];
        let values = values.map(|(name, value)| (name.to_owned(), value));
        known
            .write(&BTreeMap::from(values), &BTreeSet::from(["block".to_owned()]))
            .expect("the file can be written");
        let after = std::fs::read_to_string(&file).expect("the file can be read");
        let expected = "-- By hand.\n\n  main.gone_0 = 7\nmain.a_0=-50\nmain.b_0=40\n";
        assert_eq!(after, expected);
        assert_eq!(folder.path().read_dir().expect("a folder").count(), 1);
    }
}
