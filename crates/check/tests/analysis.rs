//! Queries of the analysis. In `analysis.md`, each program is under a heading, with markers `§1`,
//! and is followed by queries at its markers with their answers. `UPDATE_EXPECT=1` rewrites the
//! answers.

mod common;

use check::{Analysis, Item, Loader, Position, analyse, check_program};
use common::check_answers;
use std::fmt::Write;
use syntax::render::render;
use syntax::span::{FileId, SourceMap, Span};
use syntax::symbol::Interner;

struct Text<'t>(&'t str);

impl Loader for Text<'_> {
    fn load(&mut self, path: &str) -> Result<Vec<u8>, String> {
        match path {
            "test.fut" => Ok(self.0.as_bytes().to_vec()),
            "lib.fut" => Ok(include_bytes!("lib.fut").to_vec()),
            _ => Err("no such file".to_owned()),
        }
    }
}

/// A program without its markers, and their offsets.
fn without_markers(source: &str) -> (String, Vec<u32>) {
    let mut text = String::new();
    let mut markers = Vec::new();
    for (i, part) in source.split('§').enumerate() {
        if i == 0 {
            text += part;
            continue;
        }
        let (number, rest) = part.split_at(1);
        assert_eq!(number, i.to_string(), "markers are numbered in order");
        markers.push(text.len() as u32);
        text += rest;
    }
    (text, markers)
}

/// An analysed program.
struct Analysed {
    sources: SourceMap,
    analysis: Analysis,
    file: FileId,
}

impl Analysed {
    fn new(text: &str) -> Self {
        let mut sources = SourceMap::new();
        let interner = Interner::new();
        let analysis = analyse(&mut sources, &interner, &mut Text(text), "test.fut");
        let named = |id: &FileId| sources.get(*id).is_some_and(|file| file.name() == "test.fut");
        let file = sources.ids().find(named).expect("the file was read");
        Self { sources, analysis, file }
    }

    /// The answer to a query.
    fn answer(&self, query: &str, offset: u32) -> String {
        let at = Position { file: self.file, offset };
        let analysis = &self.analysis;
        let (query, argument) = query.split_once(' ').unwrap_or((query, ""));
        let answer = match query {
            "name" => analysis.name_at(at).map(|(span, definition)| {
                let item = &definition.item;
                let mut answer = format!("{:?} `{}`", item.kind, analysis.declaration(item));
                if let Some(span) = item.span {
                    let _ = write!(answer, " at {}", self.location(span));
                }
                if let Some(doc) = &definition.doc {
                    let _ = write!(answer, ", \"{doc}\"");
                }
                answer + if analysis.is_punned(span) { ", punned" } else { "" }
            }),
            "occurrences" => analysis.name_at(at).map(|(_, definition)| {
                let spans = analysis.occurrences(definition);
                spans.into_iter().map(|span| self.location(span)).collect::<Vec<_>>().join(", ")
            }),
            "type" => analysis.type_at(at).map(|(span, ty)| {
                let text = self.sources.snippet(span).lines().next().unwrap_or("");
                format!("`{text}` : {}", analysis.show(&ty))
            }),
            "components" => analysis.type_at(at).map(|(_, ty)| self.items(&analysis.components(&ty))),
            "scope" => Some(self.items(&analysis.names_in_scope(at))),
            "members" => {
                let path: Vec<&str> = argument.split('.').collect();
                analysis.members(at, &path).map(|items| self.items(&items))
            }
            other => panic!("unknown query {other}"),
        };
        answer.unwrap_or_else(|| "none".to_owned())
    }

    /// The declarations of items, except for those of the prelude.
    fn items(&self, items: &[Item]) -> String {
        let in_prelude = |item: &&Item| match item.span {
            Some(span) => self.sources.location(span).starts_with("/prelude/"),
            None => item.members.is_some() || self.is_built_in(item),
        };
        let items = items.iter().filter(|item| !in_prelude(item));
        items.map(|item| self.analysis.declaration(item)).collect::<Vec<_>>().join("; ")
    }

    /// Returns true for a type or value without definition.
    fn is_built_in(&self, item: &Item) -> bool {
        let text = self.analysis.declaration(item);
        ["type ", "val ", "module "].iter().any(|start| text.starts_with(start))
    }

    fn location(&self, span: Span) -> String {
        self.sources.location(span).trim_start_matches("test.fut:").to_owned()
    }
}

/// The queries of a program with their answers, and its errors.
fn answers(program: &str, queries: &str) -> String {
    let (text, markers) = without_markers(program);
    let analysed = Analysed::new(&text);
    let mut out = String::new();
    for line in queries.lines().filter(|line| line.starts_with('§')) {
        let (query, _) = line.split_once(": ").expect("the answer follows the query");
        let (marker, asked) = query.trim_start_matches('§').split_once(' ').expect("a query follows");
        let marker: usize = marker.parse().expect("a marker is a number");
        let _ = writeln!(out, "{query}: {}", analysed.answer(asked, markers[marker - 1]));
    }
    for diag in analysed.analysis.diagnostics.iter().filter(|diag| diag.is_error()) {
        let at = diag.primary.as_ref().map_or("-".to_owned(), |label| analysed.location(label.span));
        let _ = writeln!(out, "{at} {}: {}", diag.id, diag.message);
    }
    out
}

#[test]
fn queries() {
    assert!(check_answers("analysis.md", answers) > 10);
}

/// The analysis reports what the checker reports.
#[test]
fn programs_with_errors() {
    let mut programs = 0;
    for file in [include_str!("errors.md"), include_str!("messages.md")] {
        for part in file.split("```futhark\n").skip(1) {
            let (text, _) = part.split_once("```\n").expect("the program ends");
            let mut sources = SourceMap::new();
            let checked = check_program(&mut sources, &Interner::new(), &mut Text(text), "test.fut");
            let analysed = Analysed::new(text);
            let show = |diags: &[syntax::diag::Diagnostic], sources: &SourceMap| {
                diags.iter().map(|diag| render(diag, sources, false)).collect::<String>()
            };
            let expected = show(&checked.diagnostics, &sources);
            assert_eq!(expected, show(&analysed.analysis.diagnostics, &analysed.sources), "{text}");
            programs += 1;
        }
    }
    assert!(programs > 50);
}
