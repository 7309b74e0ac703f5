//! Failures of evaluations.

use std::fmt::Write as _;
use syntax::span::{SourceMap, Span};

/// The maximum length of a backtrace.
const MAX_BACKTRACE: usize = 100;

/// The message for an allocation that cannot be satisfied.
pub const OUT_OF_MEMORY: &str = "out of memory";

/// The classes of failures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// The program fails, as its compiled form does.
    Program,
    /// The call is wrong: entry point, number or types of arguments.
    Usage,
    /// An unsupported feature.
    Unsupported,
    /// The deadline has passed.
    Timeout,
    /// The evaluation was cancelled.
    Interrupted,
    /// An invariant of an earlier stage or of the evaluator is broken.
    Bug,
    /// The shape of a value contradicts its type, when sizes are checked: the checker is wrong.
    Unsound,
    /// An unknown size was used; never visible from outside.
    Unbound,
}

/// The failure of an evaluation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The class of the failure.
    pub class: Class,
    /// The message, worded as in compiled programs.
    pub message: String,
    /// Additional notes with their source spans.
    pub notes: Vec<(String, Span)>,
    /// The backtrace: the innermost source span first, then the calls that led there.
    pub backtrace: Vec<Span>,
}

/// A value or a failure.
pub type Res<T> = Result<T, Box<Failure>>;

impl Failure {
    /// A failure of a class.
    pub fn new(class: Class, message: impl Into<String>) -> Box<Self> {
        Box::new(Self { class, message: message.into(), notes: Vec::new(), backtrace: Vec::new() })
    }

    /// A failure of the program at a source span.
    pub fn at(span: Span, message: impl Into<String>) -> Box<Self> {
        Self::new(Class::Program, message).with_caller(span)
    }

    /// A broken invariant.
    pub fn bug(what: impl std::fmt::Display) -> Box<Self> {
        Self::new(Class::Bug, format!("compiler bug (please report it): evaluation: {what}"))
    }

    /// A value whose shape contradicts its type.
    pub fn unsound(what: impl std::fmt::Display) -> Box<Self> {
        Self::new(Class::Unsound, format!("compiler bug (please report it): wrong size in a type: {what}"))
    }

    /// Appends a call at this span to the backtrace.
    #[must_use]
    pub fn with_caller(mut self: Box<Self>, span: Span) -> Box<Self> {
        if self.backtrace.len() < MAX_BACKTRACE && span != crate::machine::NO_SPAN {
            self.backtrace.push(span);
        }
        self
    }

    /// Returns true if the program required more memory than is available.
    pub fn is_out_of_memory(&self) -> bool {
        self.class == Class::Program && self.message == OUT_OF_MEMORY
    }

    /// The message with its backtrace, as compiled programs print it.
    pub fn render(&self, sources: &SourceMap) -> String {
        let mut out = match self.class {
            Class::Program => format!("Error: {}", self.message),
            _ => self.message.clone(),
        };
        for (text, span) in &self.notes {
            // Writing to a string cannot fail.
            let _ = write!(out, "\n  {text} at {}", source_location(*span, sources));
        }
        for (i, span) in self.backtrace.iter().enumerate() {
            if i == 0 {
                out.push_str("\n\nBacktrace:");
            }
            let arrow = if i == 0 { "->" } else { "  " };
            let number = format!("#{i}");
            // Writing to a string cannot fail.
            let _ = write!(out, "\n{arrow} {number:<3} {}", source_location(*span, sources));
        }
        out
    }
}

/// A source span as `file:line:column-column`, or with two lines if it extends over several.
pub fn source_location(span: Span, sources: &SourceMap) -> String {
    let Some(file) = sources.get(span.file) else {
        return sources.location(span);
    };
    let (start, end) = (file.line_col(span.start), file.line_col(span.end));
    let name = file.name();
    // The end is the column of the last character.
    let last = end.column.saturating_sub(1).max(1);
    if start.line == end.line {
        format!("{name}:{}:{}-{last}", start.line, start.column)
    } else {
        format!("{name}:{}:{}-{}:{last}", start.line, start.column, end.line)
    }
}
