//! Errors of this crate: an unsupported feature, or a compiler bug.

use std::fmt;

/// An error of this crate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// A feature that is not supported yet.
    Unsupported(String),
    /// A compiler bug.
    Bug(String),
}

impl Error {
    /// Creates an error for a compiler bug.
    pub(crate) fn bug(what: impl fmt::Display) -> Self {
        Self::Bug(what.to_string())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported(what) => write!(f, "not supported yet: {what}"),
            Self::Bug(what) => {
                write!(f, "{what}; this is a compiler bug, please report it")
            }
        }
    }
}

impl std::error::Error for Error {}

/// The result type of this crate.
pub(crate) type Res<T> = Result<T, Error>;
