//! Renders diagnostics as text.
//!
//! [`render`] shows source excerpts with the labelled spans underlined, then notes and hints;
//! [`render_line`] prints one line, for editors and scripts. Both show only a window of very long
//! lines, and only the first line of a label that spans several.

use std::ops::Range;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Element, Level, Origin, Renderer, Snippet};

use crate::diag::{Diagnostic, Label, Severity};
use crate::span::{FileId, LineCol, SourceFile, SourceMap};

/// The length, in bytes, above which a line is cut to a window.
const LONG_LINE: usize = 240;
/// The window of a long line: bytes shown before and after the start of a label.
const LONG_LINE_WINDOW: (usize, usize) = (60, 120);
/// The maximum distance, in lines, from the first label at which a label shares its excerpt.
const MAX_EXCERPT_DISTANCE: usize = 30;

/// A label's span, clipped to one line.
struct LabelSpan<'a> {
    label: &'a Label,
    kind: AnnotationKind,
    /// Counted from zero.
    line: usize,
    line_range: Range<usize>,
    range: Range<usize>,
}

/// Renders a multi-line report that ends with a newline, with colours if `colour`.
pub fn render(diagnostic: &Diagnostic, sources: &SourceMap, colour: bool) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let mut elements: Vec<Element<'_>> = Vec::new();
    let mut files: Vec<FileId> = Vec::new();
    let labels = || diagnostic.primary.iter().chain(&diagnostic.secondary);
    for label in labels() {
        if !files.contains(&label.span.file) {
            files.push(label.span.file);
        }
    }
    for id in files {
        let Some(file) = sources.get(id) else {
            continue;
        };
        let labels = labels()
            .enumerate()
            .filter(|(_, label)| label.span.file == id)
            .map(|(i, label)| {
                let primary = i == 0 && diagnostic.primary.is_some();
                clip(file, label, primary)
            })
            .collect();
        excerpts(file, labels, &mut elements);
    }
    for note in &diagnostic.notes {
        elements.push(Level::NOTE.message(note.as_str()).into());
    }
    for hint in &diagnostic.hints {
        elements.push(Level::HELP.message(hint.as_str()).into());
    }
    let title = level.primary_title(diagnostic.message.as_str()).id(diagnostic.id);
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let mut text = renderer.decor_style(DecorStyle::Ascii).render(&[title.elements(elements)]);
    text.push('\n');
    text
}

/// Renders `file:line:column: error: message [id]`, without a newline.
pub fn render_line(diagnostic: &Diagnostic, sources: &SourceMap) -> String {
    let level = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let location = diagnostic
        .primary
        .as_ref()
        .map(|label| format!("{}: ", sources.location(label.span)))
        .unwrap_or_default();
    let message = diagnostic.message.replace('\n', " ");
    format!("{location}{level}: {message} [{}]", diagnostic.id)
}

fn clip<'a>(file: &SourceFile, label: &'a Label, primary: bool) -> LabelSpan<'a> {
    let LineCol { line, .. } = file.line_col(label.span.start);
    let line = line - 1;
    let line_range = file.line_range(line);
    let span = label.span.range();
    let start = span.start.clamp(line_range.start, line_range.end);
    LabelSpan {
        label,
        kind: if primary { AnnotationKind::Primary } else { AnnotationKind::Context },
        line,
        range: start..span.end.clamp(start, line_range.end),
        line_range,
    }
}

/// Adds excerpts of the source lines around the labels: one for the labels near the first, one for
/// each of the others.
fn excerpts<'a>(file: &'a SourceFile, labels: Vec<LabelSpan<'a>>, elements: &mut Vec<Element<'a>>) {
    let Some(first) = labels.first() else {
        return;
    };
    let first_line = first.line;
    let near = |label: &LabelSpan<'_>| {
        label.line.abs_diff(first_line) <= MAX_EXCERPT_DISTANCE && label.line_range.len() <= LONG_LINE
    };
    let (near, far): (Vec<_>, Vec<_>) = labels.into_iter().partition(near);
    let lines = near.iter().map(|label| label.line);
    if let (Some(low), Some(high)) = (lines.clone().min(), lines.max()) {
        let range = file.line_range(low).start..file.line_range(high).end;
        let source = file.text().get(range.clone()).unwrap_or("");
        let annotations = near.iter().map(|label| {
            label
                .kind
                .span(label.range.start - range.start..label.range.end - range.start)
                .label(text_of(label))
        });
        let snippet = Snippet::source(source).line_start(low + 1).path(file.name()).annotations(annotations);
        elements.push(snippet.into());
    }
    for label in far {
        if label.line_range.len() <= LONG_LINE {
            let source = file.text().get(label.line_range.clone()).unwrap_or("");
            let start = label.line_range.start;
            let annotation =
                label.kind.span(label.range.start - start..label.range.end - start).label(text_of(&label));
            let snippet =
                Snippet::source(source).line_start(label.line + 1).path(file.name()).annotation(annotation);
            elements.push(snippet.into());
        } else {
            long_line(file, &label, elements);
        }
    }
}

fn text_of<'a>(label: &LabelSpan<'a>) -> Option<&'a str> {
    Some(label.label.text.as_str()).filter(|text| !text.is_empty())
}

/// Adds a window of a long line.
fn long_line<'a>(file: &'a SourceFile, label: &LabelSpan<'a>, elements: &mut Vec<Element<'a>>) {
    let text = file.text();
    let mut from = label.range.start.saturating_sub(LONG_LINE_WINDOW.0).max(label.line_range.start);
    while !text.is_char_boundary(from) {
        from -= 1;
    }
    let mut to = (label.range.start + LONG_LINE_WINDOW.1).min(label.line_range.end);
    while !text.is_char_boundary(to) {
        to += 1;
    }
    let before = if from > label.line_range.start { "..." } else { "" };
    let after = if to < label.line_range.end { "..." } else { "" };
    let window = text.get(from..to).unwrap_or("");
    let start = before.len() + label.range.start - from;
    let end = before.len() + label.range.end.min(to) - from;
    let position = file.line_col(label.range.start as u32);
    elements.push(
        Snippet::source(format!("{before}{window}{after}"))
            .line_start(label.line + 1)
            .annotation(label.kind.span(start..end).label(text_of(label)))
            .into(),
    );
    elements.push(Origin::path(file.name()).line(position.line).char_column(position.column).into());
}
