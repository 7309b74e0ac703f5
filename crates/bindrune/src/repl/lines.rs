//! Line editing: completeness of input, and Tab completion of commands after a colon, of paths
//! where a command takes one, and of names in scope and in modules elsewhere.

use super::commands::{Action, COMMANDS, find};
use super::session::{Input, Session, classify};
use rustyline::completion::Completer;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper};
use std::cell::RefCell;
use std::path::Path;

/// The line editor's helper.
#[derive(Default)]
pub struct LineHelper {
    session: Session,
    /// The names of the session, computed on the first completion.
    names: RefCell<Option<Vec<String>>>,
}

impl LineHelper {
    /// Completes with the names of this session from now on.
    pub fn set_session(&mut self, session: &Session) {
        if self.session != *session {
            self.session = session.clone();
            self.names.replace(None);
        }
    }

    /// Returns the completions of the text before the cursor, and the position where they start.
    pub fn completions(&self, before: &str) -> (usize, Vec<String>) {
        let indent = before.len() - before.trim_start().len();
        let Some(command) = before[indent..].strip_prefix(':') else {
            return self.names(before);
        };
        let Some((name, _)) = command.split_once(char::is_whitespace) else {
            let names = COMMANDS.iter().map(|c| c.name);
            let matches = names.filter(|name| name.starts_with(command));
            return (indent + 1, matches.map(str::to_owned).collect());
        };
        let rest = before[indent + 1 + name.len()..].trim_start();
        match find(name).map(|command| command.action) {
            Ok(Action::Load) => files(before, rest, "fut"),
            Ok(Action::ChangeFolder) => files(before, rest, "/"),
            Ok(Action::Type | Action::ModuleType | Action::Format | Action::Text) => self.names(before),
            _ => (before.len(), Vec::new()),
        }
    }

    /// Completes the last word; after a dot, with names in modules.
    fn names(&self, before: &str) -> (usize, Vec<String>) {
        let in_word = |c: char| c.is_alphanumeric() || "_'.".contains(c);
        let start = before.trim_end_matches(in_word).len();
        let word = &before[start..];
        if word.is_empty() || word.starts_with(|c: char| c.is_numeric() || c == '.') {
            return (before.len(), Vec::new());
        }
        let mut names = self.names.borrow_mut();
        let names = names.get_or_insert_with(|| self.session.names());
        let dots = |text: &str| text.matches('.').count();
        let matches = names.iter();
        let matches = matches.filter(|name| name.starts_with(word) && dots(name) == dots(word));
        (start, matches.cloned().collect())
    }
}

/// Completes a path: directories, and files with the extension `extension`.
fn files(before: &str, path: &str, extension: &str) -> (usize, Vec<String>) {
    let (folder, start) =
        path.rsplit_once('/').map_or(("", path), |(folder, start)| (&path[..=folder.len()], start));
    let directory = if folder.is_empty() { "." } else { folder };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let hidden = name.starts_with('.') && !start.starts_with('.');
        if !name.starts_with(start) || hidden {
            continue;
        }
        if entry.path().is_dir() {
            found.push(format!("{folder}{name}/"));
        } else if Path::new(&name).extension().is_some_and(|e| e == extension) {
            found.push(format!("{folder}{name}"));
        }
    }
    found.sort_unstable();
    (before.len() - path.len(), found)
}

impl Validator for LineHelper {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let input = context.input();
        let ended = input.contains('\n') && input.ends_with('\n');
        let unfinished = !input.trim_start().starts_with(':')
            && !input.trim().is_empty()
            && classify(input) == Input::Unfinished;
        Ok(if unfinished && !ended { ValidationResult::Incomplete } else { ValidationResult::Valid(None) })
    }
}

impl Completer for LineHelper {
    type Candidate = String;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.completions(line.get(..pos).unwrap_or(line)))
    }
}

impl Hinter for LineHelper {
    type Hint = String;
}
impl Highlighter for LineHelper {}
impl Helper for LineHelper {}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete(lines: &LineHelper, text: &str) -> (usize, Vec<String>) {
        lines.completions(text)
    }

    #[test]
    fn names_commands_and_members_are_completed() {
        let mut session = Session::default();
        for declaration in [
            "def reduplicate (x: i32) = x + x",
            "module m = { module inner = { def deep = 1i32 } def shallow = 2i32 }",
        ] {
            let declared = session.declare(declaration);
            assert_eq!(declared, Ok(String::new()));
        }
        let mut lines = LineHelper::default();
        lines.set_session(&session);
        let one = |text: &str, start: usize, found: &[&str]| {
            let found = found.iter().map(|s| (*s).to_owned()).collect();
            assert_eq!(complete(&lines, text), (start, found), "{text}");
        };
        one("1 + redup", 4, &["reduplicate"]);
        one("f64.sqr", 0, &["f64.sqrt"]);
        one("m.", 0, &["m.inner", "m.shallow"]);
        one("(m.inner.d", 1, &["m.inner.deep"]);
        one(":q", 1, &["quit"]);
        one(":type redup", 6, &["reduplicate"]);
        one("1 + ", 4, &[]);
        one("12", 2, &[]);
        one(":pwd x", 6, &[]);
    }

    #[test]
    fn files_are_completed_for_the_commands_that_take_them() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for name in ["one.fut", "one.txt", "two words.fut"] {
            std::fs::write(folder.path().join(name), "").expect("a file");
        }
        std::fs::create_dir(folder.path().join("onward")).expect("a folder");
        let path = folder.path().to_string_lossy().into_owned();
        let lines = LineHelper::default();
        let names = |text: String| complete(&lines, &text).1;
        let all =
            |names: &[&str]| -> Vec<String> { names.iter().map(|name| format!("{path}/{name}")).collect() };
        assert_eq!(names(format!(":load {path}/on")), all(&["one.fut", "onward/"]));
        assert_eq!(names(format!(":cd {path}/o")), all(&["onward/"]));
        assert_eq!(names(format!(":load {path}/two w")), all(&["two words.fut"]));
    }
}
