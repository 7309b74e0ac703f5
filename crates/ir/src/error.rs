//! Errors of passes: limitations and compiler bugs. Errors in the user's program are reported
//! before any pass runs.

use crate::name::SrcLoc;
use std::fmt;

/// An error of a pass.
#[derive(Clone, PartialEq, Debug)]
pub enum PassError {
    /// A construct that the compiler does not support yet.
    Unsupported {
        /// The construct, as a noun phrase.
        what: String,
        /// Source spans, innermost first; empty if unknown.
        stack: Vec<SrcLoc>,
    },
    /// A broken invariant.
    Bug(String),
}

impl PassError {
    /// A limitation.
    pub fn unsupported(what: impl Into<String>, stack: Vec<SrcLoc>) -> Self {
        Self::Unsupported { what: what.into(), stack }
    }

    /// A bug.
    pub fn bug(what: impl Into<String>) -> Self {
        Self::Bug(what.into())
    }
}

impl fmt::Display for PassError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported { what, stack: _ } => write!(f, "not supported yet: {what}"),
            Self::Bug(what) => write!(f, "compiler bug (please report it): {what}"),
        }
    }
}

impl std::error::Error for PassError {}
