//! Lines of code by crate.
//!
//! Lines that are blank or hold only a comment are not counted. Code is Rust and C in `src`; tests
//! are the files in `tests`, items under `#[cfg(test)]`, and the modules that such items declare.

use crate::tidy::scan::{code_only, without_comments};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The lines of a crate.
#[derive(Default, PartialEq, Eq, Debug)]
pub struct Lines {
    /// Rust, except tests.
    pub code: u64,
    /// C in `src`, which is part of generated programs.
    pub c: u64,
    /// Tests.
    pub tests: u64,
}

/// A source file: path relative to the crate, and text.
type File = (String, String);

/// Counts the lines of the workspace's crates, sorted by name.
pub fn by_crate(root: &Path) -> Result<Vec<(String, Lines)>, String> {
    let folder = root.join("crates");
    let mut crates = entries(&folder)?;
    crates.retain(|path| path.join("Cargo.toml").is_file());
    crates.push(root.join("xtask"));
    let count = |path: PathBuf| {
        let mut files = Vec::new();
        for folder in ["src", "tests"] {
            if path.join(folder).is_dir() {
                read(&path, &path.join(folder), &mut files)?;
            }
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok((name, of_files(&files)))
    };
    crates.into_iter().map(count).collect()
}

/// Reads the Rust and C files below `folder`.
fn read(root: &Path, folder: &Path, files: &mut Vec<File>) -> Result<(), String> {
    for path in entries(folder)? {
        if path.is_dir() {
            read(root, &path, files)?;
        } else if path.extension().is_some_and(|ext| ext == "rs" || ext == "c" || ext == "h") {
            let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            let name = path.strip_prefix(root).unwrap_or(&path);
            files.push((name.to_string_lossy().into_owned(), text));
        }
    }
    Ok(())
}

/// Returns the paths in a directory, sorted.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = std::fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let entries = entries.map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut paths: Vec<_> = entries.iter().map(std::fs::DirEntry::path).collect();
    paths.sort();
    Ok(paths)
}

/// Counts the lines of a crate's files.
fn of_files(files: &[File]) -> Lines {
    let rust = |path: &str| Path::new(path).extension().is_some_and(|ext| ext == "rs");
    let tests: Vec<_> = files.iter().map(|(path, text)| test_items(path, text)).collect();
    let test_modules: Vec<_> = tests.iter().flat_map(|items| &items.modules).collect();
    let mut lines = Lines::default();
    for ((path, text), items) in files.iter().zip(&tests) {
        let is_test =
            path.starts_with("tests/") || test_modules.iter().any(|module| is_module_file(path, module));
        for (number, line) in without_comments(text).lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            if is_test || items.lines.iter().any(|range| range.contains(&number)) {
                lines.tests += 1;
            } else if rust(path) {
                lines.code += 1;
            } else {
                lines.c += 1;
            }
        }
    }
    lines
}

/// Returns true if `path` is a file of the module at `module`, or of one below it.
fn is_module_file(path: &str, module: &str) -> bool {
    path.strip_prefix(module).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

/// The items under `#[cfg(test)]` of a file.
#[derive(Default)]
struct TestItems {
    /// Their lines, counted from 0.
    lines: Vec<Range<usize>>,
    /// The modules that they declare in other files: paths without `.rs`.
    modules: Vec<String>,
}

fn test_items(path: &str, text: &str) -> TestItems {
    const ATTRIBUTE: &str = "#[cfg(test)]";
    let code = code_only(text);
    let mut items = TestItems::default();
    let mut covered = 0;
    for (start, _) in code.match_indices(ATTRIBUTE) {
        if start < covered {
            continue;
        }
        let after = start + ATTRIBUTE.len();
        let end = after + item_length(&code[after..]);
        let line = |at: usize| code[..at].matches('\n').count();
        items.lines.push(line(start)..line(end) + 1);
        let module = code[after..end].strip_suffix(';').and_then(|item| item.rsplit_once("mod "));
        if let Some((_, name)) = module {
            items.modules.push(format!("{}/{}", module_folder(path), name.trim()));
        }
        covered = end;
    }
    items
}

/// The length of the item at the start of `code`, with its attributes: to the first `;` or closing
/// brace outside brackets.
fn item_length(code: &str) -> usize {
    let mut depth = 0;
    for (at, c) in code.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 && (c == ';' || c == '}') {
            return at + 1;
        }
    }
    code.len()
}

/// The directory that holds the modules that a file declares.
fn module_folder(path: &str) -> &str {
    let stem = path.strip_suffix(".rs").unwrap_or(path);
    match stem.rsplit_once('/') {
        Some((folder, "lib" | "main" | "mod")) => folder,
        _ => stem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(files: &[(&str, &str)]) -> Lines {
        let file = |(path, text): &(&str, &str)| ((*path).to_owned(), (*text).to_owned());
        of_files(&files.iter().map(file).collect::<Vec<_>>())
    }

    #[test]
    fn comments_and_blank_lines_are_not_counted() {
        let text = "//! A.\n\nuse b;\n/* c\n d */\nfn f() { // e\n    /* g */ h(\"//\");\n    \"\n// text\n\n\"; \n}\n";
        assert_eq!(count(&[("src/lib.rs", text)]), Lines { code: 7, c: 0, tests: 0 });
        let text = "/* a\n * b */\n#define A '\"' // c\n\n// d\nint b;\n";
        assert_eq!(count(&[("src/prelude/a.h", text)]), Lines { code: 0, c: 2, tests: 0 });
    }

    #[test]
    fn test_items_are_tests() {
        let text = "fn a() {}\n#[cfg(test)]\nfn b(x: &[u8; 2]) -> u8 {\n    1\n}\nfn c() {}\n\n#[cfg(test)]\n\
                    #[allow(d)]\nmod tests {\n    // e\n    const F: &str = \"}\";\n    fn g() { }\n}\n";
        assert_eq!(count(&[("src/a.rs", text)]), Lines { code: 2, c: 0, tests: 10 });
        let text = "// #[cfg(test)]\nfn a() {}\n#[cfg(test)]\nuse b::{c, d};\nconst E: u8 = 1;\n";
        assert_eq!(count(&[("src/a.rs", text)]), Lines { code: 2, c: 0, tests: 2 });
    }

    #[test]
    fn files_of_test_modules_are_tests() {
        let files = [
            ("src/lib.rs", "#[cfg(test)]\nmod tests;\nmod a;\n"),
            ("src/tests.rs", "fn b() {}\n"),
            ("src/tests/c.rs", "fn b() {}\n"),
            ("src/a.rs", "#[cfg(test)]\npub mod fake;\n"),
            ("src/a/fake.rs", "fn b() {}\n"),
            ("src/a/fakes.rs", "fn b() {}\n"),
            ("src/fake.rs", "fn b() {}\n"),
            ("tests/all/d.rs", "fn b() {}\n"),
            ("tests/all/e.c", "int e;\n"),
        ];
        assert_eq!(count(&files), Lines { code: 3, c: 0, tests: 9 });
    }

    #[test]
    fn all_crates_have_code() {
        let crates = by_crate(&crate::root()).expect("the sources are readable");
        assert!(crates.iter().all(|(_, lines)| lines.code > 0));
        let with_c: Vec<&str> =
            crates.iter().filter(|(_, lines)| lines.c > 0).map(|(name, _)| &**name).collect();
        assert_eq!(with_c, ["kernelc"]);
    }
}
