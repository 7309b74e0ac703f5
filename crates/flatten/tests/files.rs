//! Every file in `files` is a program of combinators and, below a line
//! `==== after`, of the segops that it becomes. With `BLESS` set, the latter is
//! written anew. That both compute the same is tested on whole programs, by
//! `driver`.

use ir::verify::verify;
use ir::{Segs, Soacs, text};
use std::path::Path;

const AFTER: &str = "==== after\n";

fn flattened(source: &str) -> Result<String, String> {
    let program = text::parse::<Soacs>(source).map_err(|e| e.to_string())?;
    verify(&program).map_err(|e| format!("before: {e:?}"))?;
    let program =
        flatten::flatten(program, &mut ir::Context::default()).map_err(|e| e.to_string())?;
    verify(&program).map_err(|e| format!("after: {e:?}"))?;
    let printed = text::print(&program);
    let parsed = text::parse::<Segs>(&printed).map_err(|e| e.to_string())?;
    assert_eq!(parsed, program, "the text does not parse back");
    Ok(printed)
}

#[test]
fn combinators_become_what_the_files_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let content = std::fs::read_to_string(&path).unwrap();
        let (source, wanted) = content.split_once(AFTER).unwrap_or((&content, ""));
        let got = flattened(source).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, format!("{source}{AFTER}{got}")).unwrap();
        } else {
            assert_eq!(got, wanted, "{}", path.display());
        }
        count += 1;
    }
    assert!(count >= 2, "only {count} files");
}
