//! The files that the checks read.
//!
//! Only the project's own directories are read, so the checks work in a checkout and in an unpacked
//! archive, without git.

use super::scan;
use std::path::Path;

/// The directories of the root that hold the project's own files.
const FOLDERS: [&str; 11] =
    [".cargo", ".ci", ".config", "bench", "crates", "docs", "examples", "fuzz", "prelude", "tests", "xtask"];

/// Directories of generated files.
const GENERATED_DIRECTORIES: [&str; 5] = ["target", "build", "book", "corpus", "__pycache__"];

/// The size in bytes above which a file counts as data.
const MOST_BYTES: u64 = 4 << 20;

/// A text file; its path is relative to the root, with `/` as separator.
pub struct File {
    pub path: String,
    pub text: String,
}

impl File {
    /// Returns the text without comments and contents of literals, if this is a Rust file. Line
    /// numbers are unchanged.
    pub fn code(&self) -> Option<String> {
        self.is("rs").then(|| scan::code_only(&self.text))
    }

    /// Returns true if the file has this extension.
    pub fn is(&self, ext: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|found| found == ext)
    }

    /// Returns the crate below `crates/` that contains this file.
    pub fn in_crate(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split('/').next()
    }
}

/// All text files of the project, sorted by path.
pub struct Tree {
    pub files: Vec<File>,
}

impl Tree {
    /// Reads the repository at `root`. The error names the unreadable file or directory.
    pub fn read(root: &Path) -> Result<Self, String> {
        let mut tree = Self { files: Vec::new() };
        tree.add_folder(root, "", |name, is_folder| {
            name != ".git" && (!is_folder || FOLDERS.contains(&name))
        })?;
        tree.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(tree)
    }

    /// Creates a tree of the given paths and texts.
    #[cfg(test)]
    pub fn of(files: &[(&str, &str)]) -> Self {
        let file = |(path, text): &(&str, &str)| File { path: (*path).to_owned(), text: (*text).to_owned() };
        Self { files: files.iter().map(file).collect() }
    }

    /// Returns the file at `path`.
    pub fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Returns the Rust files.
    pub fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.is("rs"))
    }

    /// Returns the names of the crates below `crates/` with their manifests.
    pub fn crates(&self) -> impl Iterator<Item = (&str, &File)> {
        self.files.iter().filter_map(|file| {
            let name = file.path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?;
            (!name.contains('/')).then_some((name, file))
        })
    }

    /// Adds the text files below `folder`. `wanted` filters the entries of `folder` itself by name
    /// and by the fact that they are directories.
    fn add_folder(
        &mut self,
        root: &Path,
        folder: &str,
        wanted: fn(&str, bool) -> bool,
    ) -> Result<(), String> {
        let problem = |error: std::io::Error| format!("{folder}: {error}");
        for entry in std::fs::read_dir(root.join(folder)).map_err(problem)? {
            let entry = entry.map_err(problem)?;
            let kind = entry.file_type().map_err(problem)?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                return Err(format!("{folder}/{}: a name that is not UTF-8", name.display()));
            };
            if !wanted(name, kind.is_dir()) {
                continue;
            }
            let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
            if kind.is_dir() {
                // `crates/target` is a crate, not a build directory.
                if !GENERATED_DIRECTORIES.contains(&name) || path == "crates/target" {
                    self.add_folder(root, &path, |_, _| true)?;
                }
            } else if kind.is_file() && entry.metadata().map_err(problem)?.len() <= MOST_BYTES {
                let bytes = std::fs::read(entry.path()).map_err(problem)?;
                if let Ok(text) = String::from_utf8(bytes) {
                    self.files.push(File { path, text });
                }
            }
        }
        Ok(())
    }
}
