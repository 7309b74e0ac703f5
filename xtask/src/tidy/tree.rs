//! The files that the checks read.
//!
//! Needs nothing but the folder: it works in a checkout and in an unpacked
//! archive alike, so it looks only where the project keeps its files.

use super::scan;
use std::path::Path;

/// Folders of the root that hold the project's own files.
const FOLDERS: [&str; 11] =
    [".cargo", ".ci", ".config", "bench", "crates", "docs", "examples", "fuzz", "prelude", "tests", "xtask"];

/// Folders that tools leave behind.
const LEFT_BEHIND: [&str; 5] = ["target", "build", "book", "corpus", "__pycache__"];

/// Larger files hold data.
const MOST_BYTES: u64 = 4 << 20;

/// A text file, its path relative to the root with `/` between names.
pub struct File {
    pub path: String,
    pub text: String,
}

impl File {
    /// The text without comments and the contents of literals, if this is Rust.
    /// Lines stay where they are.
    pub fn code(&self) -> Option<String> {
        self.is("rs").then(|| scan::code_only(&self.text))
    }

    /// Whether the name ends in `.ext`.
    pub fn is(&self, ext: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|found| found == ext)
    }

    /// The crate below `crates/` that this file belongs to.
    pub fn in_crate(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split('/').next()
    }
}

/// All text files of the project, sorted by path.
pub struct Tree {
    pub files: Vec<File>,
}

impl Tree {
    /// Reads the repository at `root`. The error names what could not be read.
    pub fn read(root: &Path) -> Result<Self, String> {
        let mut tree = Self { files: Vec::new() };
        tree.add_folder(root, "", |name, is_folder| {
            name != ".git" && (!is_folder || FOLDERS.contains(&name))
        })?;
        tree.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(tree)
    }

    /// A tree of the given paths and texts.
    #[cfg(test)]
    pub fn of(files: &[(&str, &str)]) -> Self {
        let file = |(path, text): &(&str, &str)| File { path: (*path).to_owned(), text: (*text).to_owned() };
        Self { files: files.iter().map(file).collect() }
    }

    /// The file at `path`.
    pub fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// The Rust files.
    pub fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.is("rs"))
    }

    /// The names of the crates below `crates/` and their manifests.
    pub fn crates(&self) -> impl Iterator<Item = (&str, &File)> {
        self.files.iter().filter_map(|file| {
            let name = file.path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?;
            (!name.contains('/')).then_some((name, file))
        })
    }

    /// Adds the files below `folder` that are text; `wanted` chooses among its
    /// own entries by name and whether it is a folder.
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
                // The crate of that name is the project's own.
                if !LEFT_BEHIND.contains(&name) || path == "crates/target" {
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
