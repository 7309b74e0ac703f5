//! What can go wrong while a value is read.

use std::fmt;
use std::io;

/// A place in the input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position {
    /// Bytes before the place.
    pub offset: u64,
    /// Line and column of the place, from 1, columns in bytes. Absent after
    /// binary data, where lines mean nothing.
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

/// The sort of a [`ReadError`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorKind {
    /// The input ended where more was needed.
    End,
    /// What stands there is no value, or an irregular array.
    Malformed,
    /// A value of another type than the one expected.
    Type,
    /// A number outside the range of its type, or a size that cannot be.
    Range,
    /// Not enough memory for the value.
    Memory,
    /// The input could not be read.
    Io,
}

/// One error, with its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadError {
    /// The sort of error.
    pub kind: ErrorKind,
    /// Where the offending text or data starts.
    pub position: Position,
    /// What was expected and what came, without the position.
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
