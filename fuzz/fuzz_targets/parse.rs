//! Fuzzes the parser: any bytes give a tree or errors, and the errors can be rendered.

#![no_main]

use libfuzzer_sys::fuzz_target;
use syntax::render::render;
use syntax::span::SourceMap;
use syntax::symbol::Interner;

fuzz_target!(|data: &[u8]| {
    let mut sources = SourceMap::new();
    let interner = Interner::new();
    let Ok(file) = sources.add_bytes("fuzz.fut", data.to_vec()) else {
        return;
    };
    let text = sources.get(file).map(|f| f.text().clone());
    let parsed = syntax::parse(&text.unwrap_or_default(), file, &interner);
    // Rendering is slow, so only the first errors are rendered.
    for error in parsed.errors.iter().take(4) {
        assert!(!render(error, &sources, false).is_empty());
    }
    if parsed.errors.is_empty() {
        syntax::dump::prog(&parsed.prog, &interner);
    }
});
