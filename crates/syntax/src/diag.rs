//! Diagnostics as data.
//!
//! Every stage of the front end reports through [`Diagnostic`]: a stable id (one
//! kebab-case word per kind of problem, for documentation and tests), a message,
//! labelled places in the source, and further prose. Nothing here prints; see
//! [`crate::render`].

use crate::span::Span;

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// Compilation goes on.
    Warning,
    /// No program comes out.
    Error,
}

/// A place in the source and what is to be said about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// Shown beside the underlined text; may be empty.
    pub text: String,
}

/// One problem found in a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// Kind of problem, in kebab case; one id has one meaning for ever.
    pub id: &'static str,
    /// Error or warning.
    pub severity: Severity,
    /// One sentence, without the place and without a full stop.
    pub message: String,
    /// The place at fault; `None` only for problems of a whole file.
    pub primary: Option<Label>,
    /// Other places that help to understand.
    pub secondary: Vec<Label>,
    /// Facts: what was expected, where a rule comes from.
    pub notes: Vec<String>,
    /// Advice: what to write instead.
    pub hints: Vec<String>,
}

impl Diagnostic {
    /// An error without a place yet.
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

    /// A warning without a place yet.
    pub fn warning(id: &'static str, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(id, message) }
    }

    /// Sets the place at fault and the text beside it (may be empty).
    #[must_use]
    pub fn at(mut self, span: Span, text: impl Into<String>) -> Self {
        self.primary = Some(Label { span, text: text.into() });
        self
    }

    /// Adds another place.
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

    /// Whether this stops the compilation.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}
