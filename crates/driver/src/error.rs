//! Failures of stages, as diagnostics.

use ir::PassError;
use ir::name::SrcLoc;
use std::sync::Arc;
use syntax::diag::Diagnostic;
use syntax::span::{FileId, SourceMap, Span};

/// A failure: at least one error.
#[derive(Clone, Debug)]
pub struct Failure(pub Vec<Diagnostic>);

impl Failure {
    /// One error without a source span.
    pub fn message(id: &'static str, message: impl Into<String>) -> Self {
        Self(vec![Diagnostic::error(id, message)])
    }

    /// A compiler bug.
    pub fn bug(message: impl Into<String>) -> Self {
        Self(vec![
            Diagnostic::error("compiler-bug", message)
                .hint("this is a compiler bug: please report it together with the program"),
        ])
    }

    /// The error of a pass, with its source spans.
    pub(crate) fn from_pass(error: &PassError, pass: &str, files: &[Arc<str>], sources: &SourceMap) -> Self {
        match error {
            PassError::Bug(what) => Self::bug(format!("in pass {pass}: {what}")),
            PassError::Unsupported { what, stack } => {
                let mut diagnostic =
                    Diagnostic::error("not-supported-yet", format!("not supported yet: {what}"));
                let mut spans = stack.iter().filter_map(|&loc| span_of(loc, files, sources));
                if let Some(span) = spans.next() {
                    diagnostic = diagnostic.at(span, "required here");
                }
                for span in spans {
                    diagnostic = diagnostic.also(span, "called from here");
                }
                Self(vec![diagnostic.hint("docs/limitations.md says what will lift this limitation")])
            }
        }
    }
}

impl From<llvm::Error> for Failure {
    fn from(error: llvm::Error) -> Self {
        match &error {
            llvm::Error::Bug(what) => Self::bug(what.clone()),
            llvm::Error::Unsupported(_) => Self::message("not-supported-yet", error.to_string()),
            llvm::Error::Usage(_) => Self::message("usage", error.to_string()),
        }
    }
}

impl From<kernelc::Error> for Failure {
    fn from(error: kernelc::Error) -> Self {
        match &error {
            kernelc::Error::Bug(what) => Self::bug(what.clone()),
            kernelc::Error::Unsupported(_) => Self::message("not-supported-yet", error.to_string()),
        }
    }
}

/// The span of a location in the core IR, if its file is a source of this session.
pub(crate) fn span_of(loc: SrcLoc, files: &[Arc<str>], sources: &SourceMap) -> Option<Span> {
    let name = files.get(loc.file as usize)?;
    let id = sources.ids().find(|&id| sources.get(id).is_some_and(|f| f.name() == &**name))?;
    let text = sources.get(id)?.text().clone();
    let start = offset(&text, loc.line, loc.col)?;
    let end = offset(&text, loc.end_line, loc.end_col)?.max(start);
    Some(Span::new(FileId(id.0), start, end))
}

fn offset(text: &str, line: u32, column: u32) -> Option<u32> {
    let mut start = 0;
    for _ in 1..line {
        start += text.get(start..)?.find('\n')? + 1;
    }
    let rest = text.get(start..)?;
    let within = rest.char_indices().nth(column.checked_sub(1)? as usize).map_or(rest.len(), |c| c.0);
    u32::try_from(start + within).ok()
}
