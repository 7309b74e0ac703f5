//! Shared helpers: parsing text and printing the result.

use syntax::dump;
use syntax::render::render_line;
use syntax::span::SourceMap;
use syntax::symbol::Interner;

/// Parses every line as an expression; prints the tree, or the errors, of each.
#[allow(dead_code, reason = "not every test file reads expressions")]
pub fn exps(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let names = Interner::new();
        let mut sources = SourceMap::new();
        let file = sources.add("exp", line).expect("the text is below 4 GiB");
        let (exp, errors) = syntax::parse_expr(line, file, &names);
        if errors.is_empty() {
            out += &dump::exp(&exp.expect("without errors there is an expression"), &names);
            out.push('\n');
        }
        for error in errors {
            out += &render_line(&error, &sources);
            out.push('\n');
        }
    }
    out
}

/// Parses a file; prints its tree and then its errors, one a line.
#[allow(dead_code, reason = "not every test file reads files")]
pub fn prog(text: &str) -> String {
    let names = Interner::new();
    let mut sources = SourceMap::new();
    let file = sources.add("test.fut", text).expect("the text is below 4 GiB");
    let parse = syntax::parse(text, file, &names);
    let mut out = dump::prog(&parse.prog, &names);
    for error in &parse.errors {
        out += &render_line(error, &sources);
        out.push('\n');
    }
    out
}
