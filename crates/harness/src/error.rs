//! Errors in test blocks.

use std::fmt;

/// An error in a test block or its data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpecError {
    /// The line in the program, from 1.
    pub line: usize,
    /// The error message.
    pub message: String,
}

impl SpecError {
    /// Creates an error at a line.
    pub fn new(line: usize, message: impl Into<String>) -> Self {
        Self { line, message: message.into() }
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for SpecError {}
