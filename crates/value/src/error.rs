//! Errors of reading values.

use std::fmt;
use std::io;

/// A position in the input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position {
    /// The offset in bytes.
    pub offset: u64,
    /// Line and column, from 1; columns count bytes. `None` after binary data, where lines have no
    /// meaning.
    pub line_column: Option<(u64, u64)>,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line_column {
            Some((line, column)) => {
                write!(f, "line {line}, column {column} (byte {})", self.offset)
            }
            None => write!(f, "byte {}", self.offset),
        }
    }
}

/// The kind of a [`ReadError`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorKind {
    /// The input ended early.
    End,
    /// Text that is not a value, or an irregular array.
    Malformed,
    /// A value of another type than the one expected.
    Type,
    /// A number outside the range of its type, or an invalid size.
    Range,
    /// Not enough memory for the value.
    Memory,
    /// The input could not be read.
    Io,
}

/// An error with its position.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadError {
    /// The kind of error.
    pub kind: ErrorKind,
    /// The start of the offending text or data.
    pub position: Position,
    /// The expected and the actual input, without the position.
    pub message: String,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.position, self.message)
    }
}

impl std::error::Error for ReadError {}

impl From<ReadError> for io::Error {
    fn from(e: ReadError) -> Self {
        Self::new(io::ErrorKind::InvalidData, e)
    }
}
