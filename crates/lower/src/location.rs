//! Source locations of spans, in the form of the core IR.

use ir::name::SrcLoc;
use syntax::span::{FileId, SourceMap, Span};

/// Translates spans into lines and columns, at a cost that is independent of the length of lines if
/// the file is ASCII.
pub(crate) struct SpanLocations<'a> {
    sources: &'a SourceMap,
    files: Vec<Option<Lines>>,
    last: Option<(Span, SrcLoc)>,
}

struct Lines {
    starts: Vec<u32>,
    ascii: bool,
}

impl<'a> SpanLocations<'a> {
    pub(crate) fn new(sources: &'a SourceMap) -> Self {
        Self { sources, files: Vec::new(), last: None }
    }

    /// The source location of a span; line 1, column 1 for a span of an unknown file.
    pub(crate) fn location(&mut self, span: Span) -> SrcLoc {
        if let Some((last, location)) = self.last
            && last == span
        {
            return location;
        }
        let (line, col) = self.line_col(span.file, span.start);
        let (end_line, end_col) = self.line_col(span.file, span.end);
        let location = SrcLoc { file: span.file.0, line, col, end_line, end_col };
        self.last = Some((span, location));
        location
    }

    /// Returns true if the span is in a file that is part of the compiler.
    pub(crate) fn is_prelude(&self, span: Span) -> bool {
        let file = self.sources.get(span.file);
        file.is_none_or(|file| file.name().starts_with("/prelude/") || file.name() == "/intrinsics.fut")
    }

    fn line_col(&mut self, id: FileId, offset: u32) -> (u32, u32) {
        let Some(file) = self.sources.get(id) else {
            return (1, 1);
        };
        let slot = id.index();
        if self.files.len() <= slot {
            self.files.resize_with(slot + 1, || None);
        }
        let lines = self.files[slot].get_or_insert_with(|| {
            let text = file.text();
            let after = text.bytes().zip(1u32..).filter(|(c, _)| *c == b'\n').map(|(_, i)| i);
            Lines { starts: std::iter::once(0).chain(after).collect(), ascii: text.is_ascii() }
        });
        let line = lines.starts.partition_point(|start| *start <= offset);
        let start = lines.starts.get(line.saturating_sub(1)).copied().unwrap_or(0);
        let col = if lines.ascii {
            offset.saturating_sub(start) + 1
        } else {
            u32::try_from(file.line_col(offset).column).unwrap_or(u32::MAX)
        };
        (u32::try_from(line).unwrap_or(u32::MAX), col)
    }
}
