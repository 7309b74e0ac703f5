//! Diagnostics: collected while checking, filtered at the end.
//!
//! A type that exceeds the limits is reported once for each definition, and later errors of that
//! definition are dropped: they would be about types that the program does not have.

use crate::infer::{InferTables, MAX_DEPTH, MAX_PARTS};
use rustc_hash::{FxHashMap, FxHashSet};
use syntax::ast::Pat;
use syntax::diag::{Diagnostic, Label};
use syntax::span::{FileId, SourceMap, Span};

/// The maximum number of diagnostics collected.
const MAX_COLLECTED: usize = 1000;

/// The maximum number of errors, and of warnings, shown to the user.
const MAX_ERRORS: usize = 30;

/// The maximum number of additional labels of an unknown name.
const MAX_LOCATIONS: usize = 4;

/// The diagnostics found so far.
pub(crate) struct Diagnostics<'a> {
    sources: &'a SourceMap,
    /// The errors.
    diags: Vec<Diagnostic>,
    /// The warnings, which do not stop compilation.
    warnings: Vec<Diagnostic>,
    /// The error about a type that exceeds the limits, in the declaration being checked.
    too_large: Option<Diagnostic>,
}

impl<'a> Diagnostics<'a> {
    /// Starts with errors that were found before.
    pub(crate) const fn new(sources: &'a SourceMap, diags: Vec<Diagnostic>) -> Self {
        Self { sources, diags, warnings: Vec::new(), too_large: None }
    }

    /// Records an error, unless one about a type that exceeds the limits is pending.
    pub(crate) fn report(&mut self, diag: Diagnostic) {
        if self.diags.len() < MAX_COLLECTED && self.too_large.is_none() {
            self.diags.push(diag);
        }
    }

    /// Records an error, unless others were recorded since there were `problems`.
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

    /// The number of errors.
    pub(crate) const fn error_count(&self) -> usize {
        self.diags.len()
    }

    /// Removes and returns the errors recorded since there were this many.
    pub(crate) fn take_errors_since(&mut self, problems: usize) -> Vec<Diagnostic> {
        self.diags.split_off(problems)
    }

    /// Replaces the errors recorded since there were this many.
    pub(crate) fn replace_errors_since(&mut self, problems: usize, found: Vec<Diagnostic>) {
        self.diags.truncate(problems);
        self.diags.extend(found);
    }

    /// The diagnostics to be shown: the errors, or the warnings if there are none.
    pub(crate) fn all(self) -> Vec<Diagnostic> {
        let mut found = self.diags;
        if found.is_empty() {
            // Warnings may follow from errors.
            found = self.warnings;
        }
        deduplicate(found)
    }

    /// The span of a file's text.
    pub(crate) fn whole_file(&self, file: FileId) -> Span {
        Span::new(file, 0, self.sources.get(file).map_or(0, |file| file.text().len() as u32))
    }

    /// The source text of a span.
    pub(crate) fn snippet(&self, span: Span) -> &'a str {
        self.sources.snippet(span)
    }

    /// The start of the source text of a span, on one line.
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

    /// Returns true if no error was recorded since there were this many. Always false when the
    /// collection is full.
    pub(crate) const fn no_errors_since(&self, problems: usize) -> bool {
        self.diags.len() == problems && problems < MAX_COLLECTED
    }

    /// Returns true if an error was found within a span, but not at exactly that span.
    pub(crate) fn has_error_within(&self, span: Span) -> bool {
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

    /// Records that a type at a span exceeds the limits.
    pub(crate) fn record_too_large(&mut self, tables: &InferTables, span: Span) {
        tables.too_large.set(true);
        self.set_span_too_large(tables, span);
    }

    /// Records the span, if a type was found to exceed the limits since the last report.
    pub(crate) fn set_span_too_large(&mut self, tables: &InferTables, span: Span) {
        if tables.too_large.get() && self.too_large.is_none() {
            self.too_large = Some(
                Diagnostic::error("type-too-large", "the type here is too large")
                    .at(span, "")
                    .note(format!(
                        "types may have {MAX_PARTS} parts and nest {MAX_DEPTH} levels deep; each \
                         parameter of a function is a level"
                    ))
                    .hint("use arrays instead of tuples, and records instead of many parameters"),
            );
        }
    }

    /// The parameters of a function; if there are too many, the rest is reported and left out.
    pub(crate) fn params<'p>(&mut self, params: &'p [Pat]) -> &'p [Pat] {
        let limit = MAX_DEPTH as usize - 1;
        let Some((kept, more)) = params.split_at_checked(limit) else {
            return params;
        };
        if let (Some(first), None) = (more.first(), &self.too_large) {
            let message = format!("this function has {} parameters", params.len());
            self.too_large = Some(
                Diagnostic::error("too-many-parameters", message)
                    .at(first.span, "first parameter beyond the limit")
                    .note(format!("a function takes at most {limit} parameters"))
                    .hint("put several parameters into a tuple, a record or an array"),
            );
        }
        kept
    }

    /// Reports, at the end of a declaration, that one of its types exceeds the limits.
    pub(crate) fn report_too_large(&mut self, tables: &InferTables, span: Span) {
        self.set_span_too_large(tables, span);
        tables.too_large.set(false);
        if let Some(diag) = self.too_large.take() {
            self.report(diag);
        }
    }
}

/// Removes duplicates, merges errors about the same unknown name, and limits the number.
fn deduplicate(diags: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut seen: FxHashSet<(&'static str, String, Option<Span>)> = FxHashSet::default();
    let mut names: FxHashMap<(String, Option<FileId>), (usize, usize)> = FxHashMap::default();
    let mut out: Vec<Diagnostic> = Vec::new();
    for diag in diags {
        let span = diag.primary.as_ref().map(|label| label.span);
        // Errors of a parametric module recur at each application.
        if !seen.insert((diag.id, diag.message.clone(), span)) {
            continue;
        }
        if !diag.id.starts_with("unknown-") {
            out.push(diag);
            continue;
        }
        let key = (diag.message.clone(), span.map(|span| span.file));
        let (first, uses) = names.entry(key).or_insert((out.len(), 0));
        *uses += 1;
        match (out.get_mut(*first), span) {
            (Some(first), Some(span)) if *uses <= MAX_LOCATIONS => {
                first.secondary.push(Label { span, text: "here too".to_owned() });
            }
            (Some(_), _) => {}
            (None, _) => out.push(diag),
        }
    }
    for (first, uses) in names.into_values() {
        if uses > MAX_LOCATIONS
            && let Some(diag) = out.get_mut(first)
        {
            let more = uses - MAX_LOCATIONS;
            diag.notes.push(format!("and {more} more locations"));
        }
    }
    limit(out)
}

/// Keeps the first errors and warnings, and appends the number of those left out.
fn limit(mut diags: Vec<Diagnostic>) -> Vec<Diagnostic> {
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
