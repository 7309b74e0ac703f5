//! Tests in Markdown: each program is under a heading and is followed by the expected result. A
//! `types` block lists some of its definitions with their types; an `errors` block lists all its
//! errors, as line, column and id.

use check::{Loader, check_program};
use std::fmt::Write;
use syntax::span::SourceMap;
use syntax::symbol::Interner;

struct Text<'t>(&'t str);

impl Loader for Text<'_> {
    fn load(&mut self, path: &str) -> Result<Vec<u8>, String> {
        match path {
            "test.fut" => Ok(self.0.as_bytes().to_vec()),
            "cycle.fut" => Ok(b"import \"cycle\"".to_vec()),
            _ => Err("no such file".to_owned()),
        }
    }
}

/// The checker's result, in the form of the block.
fn checker_output(program: &str, kind: &str, expected: &str) -> String {
    let mut sources = SourceMap::new();
    let interner = Interner::new();
    let checked = check_program(&mut sources, &interner, &mut Text(program), "test.fut");
    let mut out = String::new();
    if kind == "errors" || checked.program.is_none() {
        for diag in &checked.diagnostics {
            let location = diag.primary.as_ref().and_then(|label| {
                let at = sources.get(label.span.file)?.line_col(label.span.start);
                Some(format!("{}:{}", at.line, at.column))
            });
            let _ = writeln!(out, "{} {}", location.unwrap_or_else(|| "-".to_owned()), diag.id);
        }
        return out;
    }
    let Some(program) = checked.program else {
        return out;
    };
    for line in expected.lines() {
        let name = line.split([' ', ':']).next().unwrap_or("");
        let def = program.defs.iter().rev().find(|d| program.name(d.var) == name);
        let shown = def.map_or_else(|| format!("{name} is not defined"), |d| program.show_def(d));
        let _ = writeln!(out, "{shown}");
    }
    out
}

fn run(file: &str, text: &str) {
    let (mut heading, mut program) = (String::new(), String::new());
    let mut failures = String::new();
    let mut tests = 0;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(title) = line.strip_prefix("## ") {
            title.clone_into(&mut heading);
        } else if let Some(kind) = line.strip_prefix("```") {
            let mut block = String::new();
            for line in lines.by_ref().take_while(|l| *l != "```") {
                block += line;
                block.push('\n');
            }
            if kind == "futhark" {
                program = block;
                continue;
            }
            tests += 1;
            let got = checker_output(&program, kind, &block);
            if got != block {
                let _ = writeln!(failures, "{file}: {heading}\nexpected:\n{block}got:\n{got}");
            }
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
    assert!(tests > 0);
}

#[test]
fn types() {
    run("types.md", include_str!("types.md"));
}

#[test]
fn errors() {
    run("errors.md", include_str!("errors.md"));
}
