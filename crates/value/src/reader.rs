//! Reads values, one after another, from a stream that may mix text and binary.

use crate::error::{ErrorKind, ReadError};
use crate::input::Input;
use crate::{Value, ValueType, binary, text};
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek};
use std::path::Path;

/// Reads values from a byte stream. Before each value, white space and comments are skipped; a `b`
/// then starts a binary value, anything else a text value.
///
/// After an error the position in the stream is unspecified.
pub struct Reader<R> {
    input: Input<R>,
}

impl<'a> Reader<&'a [u8]> {
    /// A reader of bytes in memory, such as a mapped file.
    pub fn from_slice(bytes: &'a [u8]) -> Self {
        Self::with_length(bytes, bytes.len() as u64)
    }
}

impl Reader<File> {
    /// A reader of the file at `path`.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self::from_file(File::open(path)?))
    }

    /// A reader of an open file, from its current position on. The length of a regular file is used
    /// to reject binary headers that promise more than there is.
    pub fn from_file(mut file: File) -> Self {
        let length = file.metadata().ok().filter(Metadata::is_file).map(|m| m.len());
        let start = if length.is_some() { file.stream_position().ok() } else { None };
        let left = length.zip(start).map(|(length, start)| length.saturating_sub(start));
        Self { input: Input::new(file, left) }
    }

    /// A reader of standard input that bypasses the buffer of [`io::stdin`].
    #[cfg(unix)]
    pub fn stdin() -> io::Result<Self> {
        use std::os::fd::AsFd;
        Ok(Self::from_file(File::from(io::stdin().as_fd().try_clone_to_owned()?)))
    }
}

impl<R: Read> Reader<R> {
    /// A reader of a stream of unknown length.
    pub fn new(source: R) -> Self {
        Self { input: Input::new(source, None) }
    }

    /// A reader of a stream of `length` bytes.
    pub fn with_length(source: R, length: u64) -> Self {
        Self { input: Input::new(source, Some(length)) }
    }

    /// The next value, which must be of type `expected`.
    pub fn read(&mut self, expected: ValueType) -> Result<Value, ReadError> {
        self.input.skip_whitespace()?;
        match self.input.peek()? {
            None => Err(self
                .input
                .error(ErrorKind::End, format!("expected {expected}, found the end of the input"))),
            Some(b'b') => binary::read(&mut self.input, Some(expected)),
            Some(_) => text::read(&mut self.input, Some(expected)),
        }
    }

    /// The next value, of the type that its text or header says; a number without a suffix is an
    /// `i32` or `f64`. `None` at the end of the input.
    pub fn read_any(&mut self) -> Result<Option<Value>, ReadError> {
        self.input.skip_whitespace()?;
        match self.input.peek()? {
            None => Ok(None),
            Some(b'b') => binary::read(&mut self.input, None).map(Some),
            Some(_) => text::read(&mut self.input, None).map(Some),
        }
    }

    /// Reads `()`, the value of type unit.
    pub fn read_unit(&mut self) -> Result<(), ReadError> {
        text::read_unit(&mut self.input)
    }

    /// Reads `()` if it comes next; returns true if so.
    pub fn skip_unit(&mut self) -> Result<bool, ReadError> {
        self.input.skip_whitespace()?;
        if self.input.peek()? != Some(b'(') {
            return Ok(false);
        }
        self.read_unit()?;
        Ok(true)
    }

    /// Skips white space and comments; returns true if nothing else is left.
    pub fn at_end(&mut self) -> Result<bool, ReadError> {
        self.input.skip_whitespace()?;
        Ok(self.input.peek()?.is_none())
    }

    /// Checks that only white space and comments are left.
    pub fn finish(mut self) -> Result<(), ReadError> {
        if self.at_end()? {
            return Ok(());
        }
        let found = self.input.found();
        Err(self.input.error(ErrorKind::Malformed, format!("expected the end of the input, found {found}")))
    }
}
