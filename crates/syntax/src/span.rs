//! Source files and spans.
//!
//! A [`Span`] is a file id and a half-open range of byte offsets, twelve bytes in all. The
//! [`SourceMap`] owns the text of every file and turns offsets into lines and columns. Text enters
//! the map as bytes, and only valid UTF-8 below 4 GiB is accepted, so every offset fits a `u32` and
//! every span made by the lexer lies on character boundaries.

use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::diag::Diagnostic;

prim::dense_ids! {
    /// The id of a file of a [`SourceMap`].
    pub struct FileId;
}

/// A range of bytes `start..end` in one file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

impl Span {
    /// The span of the bytes `start..end` of `file`.
    pub const fn new(file: FileId, start: u32, end: u32) -> Self {
        Self { file, start, end }
    }

    /// The smallest span that covers both, which must be of the same file.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        Self { file: self.file, start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// The empty span at the start of this one.
    #[must_use]
    pub const fn at_start(self) -> Self {
        Self { end: self.start, ..self }
    }

    /// The empty span at the end of this one.
    #[must_use]
    pub const fn at_end(self) -> Self {
        Self { start: self.end, ..self }
    }

    /// The range as indices into the text.
    pub const fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}..{}", self.file.0, self.start, self.end)
    }
}

/// A line and a column, both counted from one; columns count characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineCol {
    /// Line, from one.
    pub line: usize,
    /// Column in characters, from one.
    pub column: usize,
}

/// One source file: the name shown in messages, and the text.
#[derive(Debug)]
pub struct SourceFile {
    name: String,
    text: Arc<str>,
    line_starts: OnceLock<Vec<u32>>,
}

impl SourceFile {
    /// The name as given when the file was added, usually a path.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text; cloning the `Arc` is cheap.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    fn line_starts(&self) -> &[u32] {
        self.line_starts.get_or_init(|| {
            std::iter::once(0)
                .chain(memchr::memchr_iter(b'\n', self.text.as_bytes()).map(|i| i as u32 + 1))
                .collect()
        })
    }

    /// The line, counted from zero, that contains the byte at `offset`.
    fn line_index(&self, offset: u32) -> usize {
        self.line_starts().partition_point(|&start| start <= offset).saturating_sub(1)
    }

    /// Byte range of the line, counted from zero, without its line break.
    pub(crate) fn line_range(&self, line: usize) -> std::ops::Range<usize> {
        let starts = self.line_starts();
        let len = self.text.len();
        let start = starts.get(line).map_or(len, |&s| s as usize);
        let end = starts.get(line + 1).map_or(len, |&s| s as usize - 1);
        start..end.max(start)
    }

    /// Line and column of the byte at `offset` (clamped to the text).
    pub fn line_col(&self, offset: u32) -> LineCol {
        let mut offset = (offset as usize).min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.line_index(offset as u32);
        let start = self.line_range(line).start;
        let column = self.text.get(start..offset).map_or(0, |text| text.chars().count());
        LineCol { line: line + 1, column: column + 1 }
    }
}

/// All source files of a compilation.
#[derive(Debug, Default)]
pub struct SourceMap {
    files: Vec<SourceFile>,
}

impl SourceMap {
    /// An empty map.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file.
    ///
    /// # Errors
    /// If there are 2^32 files already or the text has 4 GiB or more.
    pub fn add(
        &mut self,
        name: impl Into<String>,
        text: impl Into<Arc<str>>,
    ) -> Result<FileId, Box<Diagnostic>> {
        let (name, text) = (name.into(), text.into());
        let Ok(id) = u32::try_from(self.files.len()) else {
            return Err(Box::new(Diagnostic::error("too-many-files", "too many source files")));
        };
        if u32::try_from(text.len()).is_err() {
            return Err(Box::new(Diagnostic::error(
                "file-too-large",
                format!("`{name}` has {} bytes; source files must be smaller than 4 GiB", text.len()),
            )));
        }
        self.files.push(SourceFile { name, text, line_starts: OnceLock::new() });
        Ok(FileId(id))
    }

    /// Adds a file, given as its bytes.
    ///
    /// # Errors
    /// As for [`SourceMap::add`], and if the bytes are not UTF-8; the message has the position of
    /// the first invalid byte.
    pub fn add_bytes(&mut self, name: impl Into<String>, bytes: Vec<u8>) -> Result<FileId, Box<Diagnostic>> {
        let name = name.into();
        match String::from_utf8(bytes) {
            Ok(text) => self.add(name, text),
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                let bytes = error.into_bytes();
                let line = 1 + memchr::memchr_iter(b'\n', &bytes[..at]).count();
                let byte = bytes.get(at).copied().unwrap_or(0);
                Err(Box::new(
                    Diagnostic::error(
                        "invalid-utf8",
                        format!("`{name}` is not valid UTF-8: byte {byte:#04x} at offset {at}, line {line}"),
                    )
                    .hint("source files must be UTF-8 text"),
                ))
            }
        }
    }

    /// The file, or `None` for an id of another map.
    pub fn get(&self, file: FileId) -> Option<&SourceFile> {
        self.files.get(file.index())
    }

    /// The text of a span; empty if the span's file is not in this map.
    pub fn snippet(&self, span: Span) -> &str {
        self.get(span.file).and_then(|file| file.text.get(span.range())).unwrap_or("")
    }

    /// The ids of all files, in the order in which they were added.
    pub fn ids(&self) -> impl Iterator<Item = FileId> + use<> {
        (0..self.files.len() as u32).map(FileId)
    }

    /// `file:line:column` of the start of a span.
    pub fn location(&self, span: Span) -> String {
        self.get(span.file).map_or_else(
            || "unknown source".to_owned(),
            |file| {
                let LineCol { line, column } = file.line_col(span.start);
                format!("{}:{line}:{column}", file.name)
            },
        )
    }
}
