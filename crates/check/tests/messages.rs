//! Complete rendered messages: each program of `messages.md` is under a heading and is followed by
//! all its diagnostics. `UPDATE_EXPECT=1` rewrites the file.

mod common;

use check::{Loader, check_program};
use common::check_answers;
use syntax::render::render;
use syntax::span::SourceMap;
use syntax::symbol::Interner;

struct Text<'t>(&'t str);

impl Loader for Text<'_> {
    fn load(&mut self, path: &str) -> Result<Vec<u8>, String> {
        match path {
            "test.fut" => Ok(self.0.as_bytes().to_vec()),
            _ => Err("no such file".to_owned()),
        }
    }
}

/// The rendered diagnostics of a program.
fn answer(program: &str) -> String {
    let mut sources = SourceMap::new();
    let names = Interner::new();
    let checked = check_program(&mut sources, &names, &mut Text(program), "test.fut");
    let mut out = String::new();
    for diag in &checked.diagnostics {
        let text = render(diag, &sources, false);
        out += text.trim_end();
        out.push('\n');
    }
    out
}

#[test]
fn messages() {
    assert!(check_answers("messages.md", |program, _| answer(program)) > 20);
}
