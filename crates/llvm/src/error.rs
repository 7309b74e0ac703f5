//! Errors of this crate: an unsupported feature, an invalid request, or a compiler bug.

use std::fmt;

/// An error of this crate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// A feature that is not supported yet.
    Unsupported(String),
    /// An invalid request, for example an unknown processor.
    Usage(String),
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
            Self::Usage(what) => f.write_str(what),
            Self::Bug(what) => {
                write!(f, "{what}; this is a compiler bug, please report it")
            }
        }
    }
}

impl std::error::Error for Error {}

impl From<inkwell::builder::BuilderError> for Error {
    fn from(error: inkwell::builder::BuilderError) -> Self {
        Self::bug(format_args!("LLVM cannot build an instruction: {error}"))
    }
}

/// The result type of this crate.
pub(crate) type Res<T> = Result<T, Error>;
