//! A window over the byte stream that is being read.
//!
//! The scanner works on a window of bytes in memory. At the end of the window, [`Input::refill`]
//! drops the consumed bytes and reads more. Nothing is read ahead of need, so interactive input is
//! processed as soon as it is complete. Newlines are counted when bytes are dropped, which gives
//! line and column without a cost per scanned byte.

use crate::error::{ErrorKind, Position, ReadError};
use crate::{Buffer, OutOfMemory};
use std::io::{self, Read};

const WINDOW: usize = 256 * 1024;

/// The maximum length of a number or word, in bytes.
pub const LONGEST_TOKEN: usize = 1 << 20;

pub struct Input<R> {
    source: R,
    window: Vec<u8>,
    /// The next byte to read, within `window[..end]`.
    pub pos: usize,
    end: usize,
    ended: bool,
    /// The stream offset of `window[0]`.
    base: u64,
    /// The number of newlines before `window[0]`; `line_start` is the offset just after the last of
    /// them.
    lines: u64,
    line_start: u64,
    only_text: bool,
    /// The length of the whole stream, if known.
    total: Option<u64>,
}

/// Returns true if `c` is white space, as defined by C's `isspace`.
pub const fn is_space(c: u8) -> bool {
    matches!(c, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

/// Returns true if `c` can be part of a number or word.
pub const fn is_token_char(c: u8) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, b'.' | b'-' | b'+' | b'_')
}

impl<R: Read> Input<R> {
    pub fn new(source: R, total: Option<u64>) -> Self {
        Self {
            source,
            window: Vec::new(),
            pos: 0,
            end: 0,
            ended: false,
            base: 0,
            lines: 0,
            line_start: 0,
            only_text: true,
            total,
        }
    }

    /// The bytes of the window from the current position on.
    #[inline]
    pub fn rest(&self) -> &[u8] {
        self.window.get(self.pos..self.end).unwrap_or_default()
    }

    /// The next byte; `None` at the end of the input.
    #[inline]
    pub fn peek(&mut self) -> Result<Option<u8>, ReadError> {
        loop {
            if let Some(&c) = self.rest().first() {
                return Ok(Some(c));
            }
            if !self.refill()? {
                return Ok(None);
            }
        }
    }

    /// Drops the consumed bytes and reads more. Returns false at the end.
    #[cold]
    pub fn refill(&mut self) -> Result<bool, ReadError> {
        if self.ended {
            return Ok(false);
        }
        self.drop_consumed();
        if self.window.len() - self.end < WINDOW / 2 {
            self.window.resize((self.window.len() * 2).max(WINDOW), 0);
        }
        loop {
            let spare = self.window.get_mut(self.end..).unwrap_or_default();
            match self.source.read(spare) {
                Ok(0) => {
                    self.ended = true;
                    return Ok(false);
                }
                Ok(n) => {
                    self.end += n.min(spare.len());
                    return Ok(true);
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(self.io_error(&e)),
            }
        }
    }

    fn drop_consumed(&mut self) {
        let gone = self.window.get(..self.pos).unwrap_or_default();
        if let Some(last) = memchr::memrchr(b'\n', gone) {
            self.lines += memchr::memchr_iter(b'\n', gone).count() as u64;
            self.line_start = self.base + last as u64 + 1;
        }
        self.window.copy_within(self.pos..self.end, 0);
        self.base += self.pos as u64;
        self.end -= self.pos;
        self.pos = 0;
    }

    /// Skips white space and comments, which run from `--` to the line's end.
    pub fn skip_whitespace(&mut self) -> Result<(), ReadError> {
        loop {
            let Some(c) = self.peek()? else { return Ok(()) };
            if is_space(c) {
                self.pos += 1;
            } else if c == b'-' {
                if self.rest().len() < 2 && self.refill()? {
                    continue;
                }
                if self.rest().get(1) != Some(&b'-') {
                    return Ok(());
                }
                self.skip_line()?;
            } else {
                return Ok(());
            }
        }
    }

    fn skip_line(&mut self) -> Result<(), ReadError> {
        while self.peek()?.is_some() {
            if let Some(n) = memchr::memchr(b'\n', self.rest()) {
                self.pos += n + 1;
                return Ok(());
            }
            self.pos = self.end;
        }
        Ok(())
    }

    /// The length of the number or word at the current position, which is in the window as a whole
    /// on return; 0 at another character or the end of the input.
    pub fn token_len(&mut self) -> Result<usize, ReadError> {
        let mut n = 0;
        loop {
            let rest = self.rest();
            n += rest.get(n..).unwrap_or_default().iter().take_while(|&&c| is_token_char(c)).count();
            if n > LONGEST_TOKEN {
                return Err(self.error(
                    ErrorKind::Malformed,
                    format!("a literal of more than {LONGEST_TOKEN} characters"),
                ));
            }
            if n < rest.len() || !self.refill()? {
                return Ok(n);
            }
        }
    }

    /// Marks the following input as binary data: lines are no longer counted.
    pub fn start_binary(&mut self) {
        self.only_text = false;
    }

    /// The number of bytes not yet consumed, if the length of the stream is known.
    pub fn remaining(&self) -> Option<u64> {
        let here = self.base + self.pos as u64;
        self.total.map(|total| total.saturating_sub(here))
    }

    /// Consumes the next `N` bytes; `None` if the input ends before.
    pub fn take<const N: usize>(&mut self) -> Result<Option<[u8; N]>, ReadError> {
        loop {
            if let Some(&bytes) = self.rest().first_chunk::<N>() {
                self.pos += N;
                return Ok(Some(bytes));
            }
            if !self.refill()? {
                return Ok(None);
            }
        }
    }

    /// Consumes the next `count` bytes into a buffer: bytes in the window are copied, the others
    /// are read directly into the buffer. Shorter if the input ends.
    pub fn take_buffer(&mut self, count: usize) -> Result<Buffer, ReadError> {
        let have = self.rest().len().min(count);
        let trusted = self.remaining().is_some_and(|n| count as u64 <= n);
        let mut buffer = Buffer::new();
        let first = if trusted { count } else { have };
        buffer.reserve(first).map_err(|e| self.memory_error(e))?;
        let in_window = self.rest().get(..have).unwrap_or_default();
        buffer.extend(in_window).map_err(|e| self.memory_error(e))?;
        if have < count
            && let Err(e) = buffer.fill_from(&mut self.source, count - have, trusted)
        {
            return Err(self.io_error(&e));
        }
        self.pos += have;
        let beyond = buffer.len() - have;
        if beyond > 0 || buffer.len() < count {
            // The window is used up; the other bytes were read past it.
            self.drop_consumed();
            self.base += beyond as u64;
        }
        Ok(buffer)
    }

    /// The current position.
    pub fn position(&self) -> Position {
        let offset = self.base + self.pos as u64;
        let line_column = self.only_text.then(|| {
            let before = self.window.get(..self.pos).unwrap_or_default();
            let lines = memchr::memchr_iter(b'\n', before).count() as u64;
            let start = memchr::memrchr(b'\n', before).map_or(self.line_start, |i| self.base + i as u64 + 1);
            (self.lines + lines + 1, offset - start + 1)
        });
        Position { offset, line_column }
    }

    /// An error at the current position.
    #[cold]
    pub fn error(&self, kind: ErrorKind, message: String) -> ReadError {
        ReadError { kind, position: self.position(), message }
    }

    #[cold]
    pub fn memory_error(&self, e: OutOfMemory) -> ReadError {
        self.error(ErrorKind::Memory, e.to_string())
    }

    #[cold]
    fn io_error(&self, e: &io::Error) -> ReadError {
        if e.kind() == io::ErrorKind::OutOfMemory {
            return self.error(ErrorKind::Memory, e.to_string());
        }
        self.error(ErrorKind::Io, format!("cannot read the input: {e}"))
    }

    /// The text at the current position, for a message.
    pub fn found(&mut self) -> String {
        const LONGEST: usize = 40;
        let n = self.token_len().unwrap_or(0);
        let rest = self.rest();
        if rest.is_empty() {
            return "the end of the input".to_owned();
        }
        let shown = rest.get(..n.clamp(1, LONGEST)).unwrap_or_default();
        let text = shown.escape_ascii();
        if n > LONGEST { format!("`{text}...`") } else { format!("`{text}`") }
    }
}
