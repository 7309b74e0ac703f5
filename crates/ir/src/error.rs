//! What a pass can fail with. The user's mistakes are found before any pass
//! runs, so these are the two other kinds: a limitation and a bug.

use crate::name::SrcLoc;
use std::fmt;

/// Why a pass could not do its work.
#[derive(Clone, PartialEq, Debug)]
pub enum PassError {
    /// Something that the compiler cannot do yet.
    Unsupported {
        /// What, as a noun phrase.
        what: String,
        /// Where, innermost first; empty if nowhere in particular.
        stack: Vec<SrcLoc>,
    },
    /// A broken promise of an earlier pass or of this one.
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
