//! Why no code was made: a limitation with a name, a wrong request, or a bug.

use std::fmt;

/// A failure of this crate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// Something that is not supported yet.
    Unsupported(String),
    /// The request does not make sense, for example an unknown processor.
    Usage(String),
    /// A bug of the compiler.
    Bug(String),
}

impl Error {
    /// A bug, described.
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
                write!(f, "{what}; this is a bug of the compiler, please report it")
            }
        }
    }
}

impl std::error::Error for Error {}

impl From<inkwell::builder::BuilderError> for Error {
    fn from(error: inkwell::builder::BuilderError) -> Self {
        Self::bug(format_args!("LLVM refuses to build an instruction: {error}"))
    }
}

/// The result of making code.
pub(crate) type Res<T> = Result<T, Error>;
