//! What can be wrong with a test block.

use std::fmt;

/// A test block that cannot be read, or data of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpecError {
    /// Line in the program, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

impl SpecError {
    /// The error at a line.
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
