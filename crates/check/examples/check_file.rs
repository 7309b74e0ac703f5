//! Checks the given files and prints their diagnostics, with the checking time of each.

use check::{Loader, check_program};
use std::process::ExitCode;
use syntax::span::SourceMap;
use syntax::symbol::Interner;

struct Disk;

impl Loader for Disk {
    fn load(&mut self, path: &str) -> Result<Vec<u8>, String> {
        std::fs::read(path).map_err(|error| error.to_string())
    }
}

fn main() -> ExitCode {
    let mut failed = false;
    for path in std::env::args().skip(1) {
        let mut sources = SourceMap::new();
        let interner = Interner::new();
        let start = std::time::Instant::now();
        let checked = check_program(&mut sources, &interner, &mut Disk, &path);
        let time = start.elapsed();
        for diag in &checked.diagnostics {
            println!("{}", syntax::render::render(diag, &sources, false));
        }
        failed |= checked.program.is_none();
        if let Some(program) = &checked.program {
            println!(
                "{path}: {} definitions, {} entry points, {time:?}",
                program.defs.len(),
                program.entries.len()
            );
        }
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
