//! Fuzzes the type checker: any program gives either a typed tree or errors, and the errors can be
//! rendered.

#![no_main]

use check::{Loader, check_program};
use libfuzzer_sys::fuzz_target;
use syntax::render::render;
use syntax::span::SourceMap;
use syntax::symbol::Interner;

/// A loader with a single file.
struct OneFile(Vec<u8>);

impl Loader for OneFile {
    fn load(&mut self, path: &str) -> Result<Vec<u8>, String> {
        match path {
            "fuzz.fut" => Ok(self.0.clone()),
            _ => Err("no such file".to_owned()),
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let mut sources = SourceMap::new();
    let interner = Interner::new();
    let mut loader = OneFile(data.to_vec());
    let checked = check_program(&mut sources, &interner, &mut loader, "fuzz.fut");
    let errors = checked.diagnostics.iter().filter(|d| d.is_error()).count();
    assert_eq!(checked.program.is_none(), errors > 0);
    for diagnostic in checked.diagnostics.iter().take(4) {
        assert!(!render(diagnostic, &sources, false).is_empty());
    }
});
