//! Complete rendered messages: each program of `messages.md` is under a heading and is followed by
//! all its diagnostics. `UPDATE_EXPECT=1` rewrites the file.

use check::{Loader, check_program};
use std::path::Path;
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
    const OPEN: &str = "```futhark\n";
    const ANSWER: &str = "```\n```text\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/messages.md");
    let old = std::fs::read_to_string(&path).expect("the file can be read");
    let mut new = String::new();
    for (i, part) in old.split(OPEN).enumerate() {
        if i == 0 {
            new += part;
            continue;
        }
        let (program, rest) = part.split_once(ANSWER).expect("the diagnostics follow the program");
        let (_, after) = rest.split_once("```\n").expect("the block of diagnostics ends");
        for piece in [OPEN, program, ANSWER, &answer(program), "```\n", after] {
            new += piece;
        }
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &new).expect("the file can be written");
    } else {
        assert_eq!(old, new);
    }
    assert!(new.matches(OPEN).count() > 20);
}
