//! A program's files, lines and functions, and the source names of operations.

use crate::remarks::{File, Function};
use check::tast::Program;
use driver::Remark;
use driver::remark::{FusionOperand, RemarkKind, RemarkNames};
use ir::SrcLoc;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use syntax::span::SourceMap;

/// The length in characters to which an operation's text is truncated.
const MAX_SNIPPET: usize = 44;

/// The files of a program and the definitions in them.
pub struct UserSource<'a> {
    files: Vec<Text<'a>>,
    /// Names of definitions by file and line.
    defs: BTreeMap<(u32, u32), &'a str>,
}

struct Text<'a> {
    name: &'a str,
    lines: Vec<&'a str>,
    /// True for the prelude and the intrinsics.
    library: bool,
}

impl<'a> UserSource<'a> {
    /// Collects the files and definitions of a program.
    pub fn new(program: &'a Program, sources: &'a SourceMap) -> Self {
        let text = |id| {
            let file = sources.get(id)?;
            let name = file.name();
            Some(Text {
                name,
                lines: file.text().lines().collect(),
                library: name.starts_with("/prelude/") || name == "/intrinsics.fut",
            })
        };
        let files: Vec<Text<'_>> = sources.ids().filter_map(text).collect();
        let mut defs = BTreeMap::new();
        for def in &program.defs {
            if let Some(file) = sources.get(def.span.file) {
                let line = file.line_col(def.span.start).line;
                let at = (def.span.file.0, u32::try_from(line).unwrap_or(u32::MAX));
                defs.entry(at).or_insert_with(|| program.name(def.var));
            }
        }
        Self { files, defs }
    }

    /// Checks that a user file defines the function, if one is given.
    ///
    /// # Errors
    /// None does.
    pub fn require(&self, function: Option<&str>) -> Result<(), String> {
        match function.filter(|name| self.definition(name).is_none()) {
            Some(name) => Err(format!("the program has no function `{name}`")),
            None => Ok(()),
        }
    }

    /// Returns the definition that contains a line, and the line of its name.
    pub fn function_at(&self, file: u32, line: u32) -> (&'a str, u32) {
        let before = self.defs.range((file, 0)..=(file, line)).next_back();
        before.map_or(("", 0), |((_, line), name)| (*name, *line))
    }

    /// The location of a definition in a user file.
    fn definition(&self, name: &str) -> Option<SrcLoc> {
        let mut definitions = self.defs.iter();
        let found = definitions.find(|((file, _), def)| !self.is_library(*file) && **def == name);
        found.map(|((file, line), _)| SrcLoc {
            file: *file,
            line: *line,
            col: 1,
            end_line: *line,
            end_col: 1,
        })
    }

    /// The text of a line.
    pub fn line(&self, file: u32, line: u32) -> &'a str {
        let text = self.files.get(file as usize);
        let line = text.and_then(|text| text.lines.get((line as usize).checked_sub(1)?));
        line.copied().unwrap_or("")
    }

    /// The name of a file.
    pub fn file_name(&self, file: u32) -> &'a str {
        self.files.get(file as usize).map_or("", |file| file.name)
    }

    fn is_library(&self, file: u32) -> bool {
        self.files.get(file as usize).is_none_or(|file| file.library)
    }

    /// The user files that have remarks, and the program's own file.
    pub fn files(&self, program: &str, functions: &[Function]) -> Vec<File> {
        let has_remarks = |id| functions.iter().any(|function| function.file == id);
        let files = self.files.iter().zip(0u32..);
        let files = files.filter(|(file, id)| has_remarks(*id) || file.name == program);
        files
            .map(|(file, id)| File {
                id,
                name: file.name.to_owned(),
                lines: file.lines.iter().map(|line| (*line).to_owned()).collect(),
            })
            .collect()
    }

    /// Returns the innermost location in a user file; `stack` is innermost first.
    pub fn innermost_user_span(&self, stack: &[SrcLoc]) -> Option<SrcLoc> {
        let innermost = stack.iter().find(|loc| !self.is_library(loc.file));
        innermost.copied().filter(|loc| loc.line > 0)
    }

    /// Returns the library function, called from user code, that contains the location; `None` if
    /// the location is the call itself.
    pub fn enclosing_library_function(&self, stack: &[SrcLoc]) -> Option<&'a str> {
        let inner = stack.iter().take_while(|loc| self.is_library(loc.file));
        let mut names = inner.filter_map(|loc| {
            let (name, _) = self.function_at(loc.file, loc.line);
            name.starts_with(|c: char| c.is_alphabetic()).then_some(name)
        });
        // Innermost first. A single name is the called function itself.
        names.next()?;
        names.last()
    }

    /// The text at a location as one line, truncated if it is long.
    pub fn snippet(&self, loc: SrcLoc) -> String {
        let line = self.line(loc.file, loc.line);
        let start = (loc.col as usize).saturating_sub(1);
        let text: String = if loc.end_line == loc.line {
            let length = loc.end_col.saturating_sub(loc.col) as usize;
            line.chars().skip(start).take(length).collect()
        } else {
            line.chars().skip(start).chain(" ...".chars()).collect()
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        let mut text = words.join(" ");
        // A location may begin behind the parenthesis around an operand.
        let count = |what: char| text.chars().filter(|c| *c == what).count();
        let before = line.chars().take(start).collect::<String>();
        if count(')') == count('(') + 1 && before.ends_with('(') {
            text.insert(0, '(');
        }
        if text.chars().count() <= MAX_SNIPPET {
            return text;
        }
        let start: String = text.chars().take(MAX_SNIPPET - 4).collect();
        format!("{} ...", start.trim_end())
    }
}

/// Translates names of the IR to names of the source.
pub struct SourceNames<'a> {
    /// The source.
    pub source: &'a UserSource<'a>,
    /// The locations of loops, by function and counter.
    counters: BTreeMap<(&'a str, &'a str), &'a [SrcLoc]>,
    /// The source names of the program's functions, by IR name.
    functions: BTreeMap<&'a str, &'a str>,
    /// The original of each specialised version of a function.
    versions: BTreeMap<&'a str, &'a str>,
}

impl<'a> SourceNames<'a> {
    /// Collects the names from decisions.
    pub fn new(source: &'a UserSource<'a>, decisions: &'a [Remark]) -> Self {
        let counters = decisions.iter().filter_map(|decision| {
            let RemarkKind::Loop { counter } = &decision.kind else {
                return None;
            };
            let key = (&*decision.function, &**counter);
            Some((key, decision.spans.as_slice()))
        });
        let functions = decisions.iter().filter_map(|decision| {
            let RemarkKind::Specialised { of, instance, .. } = &decision.kind else {
                return None;
            };
            Some((&**instance, &**of))
        });
        let versions = decisions.iter().filter_map(|decision| {
            let RemarkKind::Version { of } = &decision.kind else {
                return None;
            };
            Some((&*decision.function, &**of))
        });
        Self {
            source,
            counters: counters.collect(),
            functions: functions.collect(),
            versions: versions.collect(),
        }
    }

    /// Returns the source name of a function.
    pub fn function<'n>(&self, name: &'n str) -> &'n str
    where
        'a: 'n,
    {
        let name = self.versions.get(name).copied().unwrap_or(name);
        self.functions.get(name).copied().unwrap_or(name)
    }

    /// Returns a decision with functions by their source names.
    pub fn named(&self, kind: &RemarkKind) -> RemarkKind {
        let name = |core: &str| Arc::from(self.function(core));
        match kind {
            RemarkKind::Inlined(callee) => RemarkKind::Inlined(name(callee)),
            RemarkKind::NotInlined(callee, why) => RemarkKind::NotInlined(name(callee), *why),
            other => other.clone(),
        }
    }

    /// Returns the locations of a decision, innermost first: those of the loop for decisions about
    /// loops of the imperative IR, those of the function where the decision has none.
    pub fn spans(&self, decision: &'a Remark) -> Vec<SrcLoc> {
        match &decision.kind {
            RemarkKind::Vectorised { counter, .. }
            | RemarkKind::Tiled { counter, .. }
            | RemarkKind::NotVectorised { counter, .. } => {
                let key = (&*decision.function, &**counter);
                self.counters.get(&key).map_or(Vec::new(), |at| at.to_vec())
            }
            _ if decision.spans.is_empty() => {
                let name = self.function(&decision.function);
                self.source.definition(name).into_iter().collect()
            }
            _ => decision.spans.clone(),
        }
    }
}

/// The context in which names of a remark are printed.
pub struct RemarkContext<'a> {
    /// The names.
    pub user: &'a SourceNames<'a>,
    /// The function of the program.
    pub function: &'a str,
    /// The remark's location.
    pub span: SrcLoc,
}

impl RemarkNames for RemarkContext<'_> {
    fn party(&self, operand: &FusionOperand) -> String {
        let source = self.user.source;
        let Some(loc) = source.innermost_user_span(&operand.spans) else {
            return format!("a {}", operand.what);
        };
        let what = match source.enclosing_library_function(&operand.spans) {
            Some(function) => format!("the {} inside `{function}`", operand.what),
            None => format!("`{}`", source.snippet(loc)),
        };
        if (loc.file, loc.line) == (self.span.file, self.span.line) {
            what
        } else {
            format!("{what} (line {})", loc.line)
        }
    }

    fn span(&self, spans: &[SrcLoc]) -> String {
        let loc = self.user.source.innermost_user_span(spans);
        loc.map_or_else(|| "a calling function".to_owned(), |loc| format!("line {}", loc.line))
    }

    fn lines(&self, parts: &[Vec<SrcLoc>]) -> Option<String> {
        let spans = parts.iter().filter_map(|part| self.user.source.innermost_user_span(part));
        let lines: BTreeSet<(u32, u32)> = spans.map(|loc| (loc.file, loc.line)).collect();
        let mut lines: Vec<String> = lines.iter().map(|(_, line)| line.to_string()).collect();
        let last = lines.pop()?;
        (!lines.is_empty()).then(|| format!("lines {} and {last}", lines.join(", ")))
    }

    fn variable(&self, name: &str) -> String {
        format!("`{}`", plain(name))
    }

    fn counter(&self, name: &str) -> String {
        let key = (self.function, name);
        let stack = self.user.counters.get(&key).copied().unwrap_or(&[]);
        let loc = self.user.source.innermost_user_span(stack);
        loc.map_or_else(|| "the loop".to_owned(), |loc| format!("the loop of line {}", loc.line))
    }

    fn function(&self, name: &str) -> String {
        format!("`{name}`")
    }
}

/// Removes the number that the compiler appended to a variable's name.
fn plain(name: &str) -> &str {
    match name.rsplit_once('_') {
        Some((start, number))
            if !start.is_empty() && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) =>
        {
            start
        }
        Some(_) | None => name,
    }
}
