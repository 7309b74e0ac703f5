//! Diagnostics as data.
//!
//! Every stage of the front end reports through [`Diagnostic`]: a stable id (one kebab-case word
//! per kind of problem, for documentation and tests), a message, labelled source spans, notes and
//! hints. Nothing here prints; see [`crate::render`].

use crate::span::Span;

/// The severity of a diagnostic.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// Compilation continues.
    Warning,
    /// Compilation fails.
    Error,
}

/// A source span with the text that explains it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// The source span.
    pub span: Span,
    /// Shown beside the underlined text; may be empty.
    pub text: String,
}

/// One problem found in a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// The kind of problem, in kebab case. An id never changes its meaning.
    pub id: &'static str,
    /// Error or warning.
    pub severity: Severity,
    /// One sentence, without the source location and without a full stop.
    pub message: String,
    /// The span at fault; `None` only for problems of a whole file.
    pub primary: Option<Label>,
    /// Further spans that help to understand the problem.
    pub secondary: Vec<Label>,
    /// Facts: what was expected, or where a rule comes from.
    pub notes: Vec<String>,
    /// Advice: what to write instead.
    pub hints: Vec<String>,
}

impl Diagnostic {
    /// An error without a span.
    pub fn error(id: &'static str, message: impl Into<String>) -> Self {
        Self {
            id,
            severity: Severity::Error,
            message: message.into(),
            primary: None,
            secondary: Vec::new(),
            notes: Vec::new(),
            hints: Vec::new(),
        }
    }

    /// A warning without a span.
    pub fn warning(id: &'static str, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(id, message) }
    }

    /// Sets the span at fault and its label text (may be empty).
    #[must_use]
    pub fn at(mut self, span: Span, text: impl Into<String>) -> Self {
        self.primary = Some(Label { span, text: text.into() });
        self
    }

    /// Adds another labelled span.
    #[must_use]
    pub fn also(mut self, span: Span, text: impl Into<String>) -> Self {
        self.secondary.push(Label { span, text: text.into() });
        self
    }

    /// Adds a fact.
    #[must_use]
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    /// Adds advice.
    #[must_use]
    pub fn hint(mut self, text: impl Into<String>) -> Self {
        self.hints.push(text.into());
        self
    }

    /// Returns true if this is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}
