//! Problems found: collected while checking, sifted at the end.
//!
//! A type that is too large to be worked with is reported once for each
//! definition, and everything else that is said of the definition after that is
//! dropped: it would be about types that are not the program's.

use crate::infer::{MAX_DEPTH, MAX_PARTS, Tables};
use rustc_hash::{FxHashMap, FxHashSet};
use syntax::ast::Pat;
use syntax::diag::{Diagnostic, Label};
use syntax::span::{FileId, SourceMap, Span};

/// So many problems are collected.
const MAX_COLLECTED: usize = 1000;

/// So many errors, or warnings, are given to the user.
const MAX_ERRORS: usize = 30;

/// So many places are shown where a name is not known.
const MAX_PLACES: usize = 4;

/// The problems found so far.
pub(crate) struct Reports<'a> {
    sources: &'a SourceMap,
    /// The errors.
    diags: Vec<Diagnostic>,
    /// The warnings, which stop nothing.
    warnings: Vec<Diagnostic>,
    /// What is to be said of a type that is too large, in the declaration that is
    /// being checked.
    too_large: Option<Diagnostic>,
}

impl<'a> Reports<'a> {
    /// With problems that were found before.
    pub(crate) const fn new(sources: &'a SourceMap, diags: Vec<Diagnostic>) -> Self {
        Self { sources, diags, warnings: Vec::new(), too_large: None }
    }

    /// Records a problem.
    pub(crate) fn report(&mut self, diag: Diagnostic) {
        if self.diags.len() < MAX_COLLECTED && self.too_large.is_none() {
            self.diags.push(diag);
        }
    }

    /// Records a problem, unless there are others beside the first so many.
    pub(crate) fn report_first(&mut self, problems: usize, diag: Diagnostic) {
        if self.diags.len() == problems {
            self.report(diag);
        }
    }

    /// Records a warning.
    pub(crate) fn warn(&mut self, diag: Diagnostic) {
        if self.warnings.len() < MAX_COLLECTED {
            self.warnings.push(diag);
        }
    }

    /// How many problems were found.
    pub(crate) const fn problems(&self) -> usize {
        self.diags.len()
    }

    /// Takes out the problems found since there were this many.
    pub(crate) fn take_since(&mut self, problems: usize) -> Vec<Diagnostic> {
        self.diags.split_off(problems)
    }

    /// Puts others in place of the problems found since there were this many.
    pub(crate) fn replace_since(&mut self, problems: usize, found: Vec<Diagnostic>) {
        self.diags.truncate(problems);
        self.diags.extend(found);
    }

    /// Everything that is to be told of the program.
    pub(crate) fn all(self) -> Vec<Diagnostic> {
        let mut found = self.diags;
        if found.is_empty() {
            // Beside errors, warnings are noise, and may follow from them.
            found = self.warnings;
        }
        sift(found)
    }

    /// A piece of the program.
    pub(crate) fn snippet(&self, span: Span) -> &'a str {
        self.sources.snippet(span)
    }

    /// The first words of a piece of the program.
    pub(crate) fn excerpt(&self, span: Span) -> String {
        const LENGTH: usize = 40;
        let words: Vec<&str> = self.sources.snippet(span).split_whitespace().take(LENGTH).collect();
        let text = words.join(" ");
        let mut short: String = text.chars().take(LENGTH).collect();
        if short.len() < text.len() {
            short.push_str("...");
        }
        short
    }

    /// Whether nothing was reported since there were this many problems.
    pub(crate) const fn is_sound_since(&self, problems: usize) -> bool {
        self.diags.len() == problems && problems < MAX_COLLECTED
    }

    /// Whether an error was found within a place.
    pub(crate) fn is_known_wrong(&self, span: Span) -> bool {
        self.diags.iter().rev().any(|diag| {
            let found = diag.primary.as_ref().map(|label| label.span);
            found.is_some_and(|found| {
                diag.is_error()
                    && found.file == span.file
                    && found != span
                    && (span.start..=span.end).contains(&found.start)
                    && found.end <= span.end
            })
        })
    }

    /// Remembers that a type at a place is too large.
    pub(crate) fn note_too_large(&mut self, tables: &Tables, span: Span) {
        tables.too_large.set(true);
        self.place_too_large(tables, span);
    }

    /// Remembers the place, if a type was found to be too large since.
    pub(crate) fn place_too_large(&mut self, tables: &Tables, span: Span) {
        if tables.too_large.get() && self.too_large.is_none() {
            self.too_large = Some(
                Diagnostic::error("type-too-large", "the type of this is too large")
                    .at(span, "")
                    .note(format!(
                        "types may have {MAX_PARTS} parts and nest {MAX_DEPTH} levels deep, where \
                         each parameter of a function is a level"
                    ))
                    .hint("use arrays in place of tuples, and records in place of many parameters"),
            );
        }
    }

    /// The parameters of a function; those that are too many are reported and
    /// left out.
    pub(crate) fn params<'p>(&mut self, params: &'p [Pat]) -> &'p [Pat] {
        let limit = MAX_DEPTH as usize - 1;
        let Some((kept, more)) = params.split_at_checked(limit) else {
            return params;
        };
        if let (Some(first), None) = (more.first(), &self.too_large) {
            let message = format!("this function has {} parameters", params.len());
            self.too_large = Some(
                Diagnostic::error("too-many-parameters", message)
                    .at(first.span, "this one is too many")
                    .note(format!("a function takes at most {limit} parameters"))
                    .hint("put several parameters into a tuple, a record or an array"),
            );
        }
        kept
    }

    /// At the end of a declaration: reports that one of its types is too large.
    pub(crate) fn report_too_large(&mut self, tables: &Tables, span: Span) {
        self.place_too_large(tables, span);
        tables.too_large.set(false);
        if let Some(diag) = self.too_large.take() {
            self.report(diag);
        }
    }
}

/// Each problem once, unknown names once with all their places, and not too many.
fn sift(diags: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut seen: FxHashSet<(&'static str, String, Option<Span>)> = FxHashSet::default();
    let mut names: FxHashMap<(String, Option<FileId>), (usize, usize)> = FxHashMap::default();
    let mut out: Vec<Diagnostic> = Vec::new();
    for diag in diags {
        let span = diag.primary.as_ref().map(|label| label.span);
        // A parametric module's own errors come up at each of its applications.
        if !seen.insert((diag.id, diag.message.clone(), span)) {
            continue;
        }
        if !diag.id.starts_with("unknown-") {
            out.push(diag);
            continue;
        }
        let key = (diag.message.clone(), span.map(|span| span.file));
        let (first, places) = names.entry(key).or_insert((out.len(), 0));
        *places += 1;
        match (out.get_mut(*first), span) {
            (Some(first), Some(span)) if *places <= MAX_PLACES => {
                first.secondary.push(Label { span, text: "here too".to_owned() })
            }
            (Some(_), _) => {}
            (None, _) => out.push(diag),
        }
    }
    for (first, places) in names.into_values() {
        if places > MAX_PLACES
            && let Some(diag) = out.get_mut(first)
        {
            let more = places - MAX_PLACES;
            diag.notes.push(format!("and at {more} more places"));
        }
    }
    cap(out)
}

/// The first errors or warnings, and how many more there are.
fn cap(mut diags: Vec<Diagnostic>) -> Vec<Diagnostic> {
    for errors in [true, false] {
        let counts = |diag: &Diagnostic| diag.is_error() == errors;
        let all = diags.iter().filter(|diag| counts(diag)).count();
        if all <= MAX_ERRORS {
            continue;
        }
        let mut kept = 0;
        diags.retain(|diag| {
            kept += usize::from(counts(diag));
            !counts(diag) || kept <= MAX_ERRORS
        });
        let more = all - MAX_ERRORS;
        diags.push(if errors {
            Diagnostic::error("too-many-errors", format!("{more} more errors are not shown"))
        } else {
            Diagnostic::warning("too-many-warnings", format!("{more} more warnings are not shown"))
        });
    }
    diags
}
