//! The text form: every file in `files/text` is printed unchanged after parsing. The verifier:
//! every file in `files/verify` is the listing of its own errors; with `BLESS` set, these files are
//! rewritten.

use ir::text::{self, MAX_DEPTH, TextLevel};
use ir::verify::{self, VerifyLevel};
use ir::{Mems, Segs, Soacs};
use std::path::PathBuf;

fn files(folder: &str) -> Vec<(PathBuf, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/files").join(folder);
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), std::fs::read_to_string(path).unwrap())).collect()
}

fn round_trip<L: TextLevel>(text: &str) -> Result<(), String> {
    let program = text::parse::<L>(text).map_err(|e| e.to_string())?;
    let printed = text::print(&program);
    if let Some((want, got)) = text.lines().zip(printed.lines()).find(|(a, b)| a != b) {
        return Err(format!("differs:\n  {want}\n  {got}"));
    }
    if text != printed {
        return Err(format!("printed text differs in length:\n{printed}"));
    }
    if text::parse::<L>(&printed).as_ref() != Ok(&program) {
        return Err("parsing the printed text gives another program".to_owned());
    }
    Ok(())
}

#[test]
fn every_level_round_trips() {
    for (path, content) in files("text") {
        let result = match text::level_of(&content) {
            Some("soacs") => round_trip::<Soacs>(&content),
            Some("segs") => round_trip::<Segs>(&content),
            Some("mems") => round_trip::<Mems>(&content),
            other => Err(format!("level {other:?}")),
        };
        if let Err(message) = result {
            panic!("{}: {message}", path.display());
        }
    }
}

#[test]
fn syntax_errors_have_positions() {
    let error = |text: &str| text::parse::<Soacs>(text).unwrap_err().to_string();
    assert_eq!(error(""), "1:1: expected the level `soacs`");
    assert_eq!(error("soacs\nfun f() : () { in (x_1"), "2:23: expected `,` or `)`");
    assert_eq!(
        error("soacs fun f(x_1: i32, y_1: i32) : () { in () }"),
        "1:23: name 1 already has the hint `x`"
    );
    assert!(error("soacs fun f(x_4000000000: i32) : () { in () }").contains("below the length"));
    assert_eq!(error("soacs\n  §"), "2:3: unexpected character");
    assert!(error("soacs fun f() : () { in (300i8) }").contains("in range"));
    assert!(error("soacs file \"abc").contains("unterminated"));
    let call = "soacs\nfun f() : () { let a_1: i64 = call g () in () }";
    assert_eq!(error(call), "2:36: function g does not exist");
    let provs = |text: &str| error(&format!("soacs fun f() : () {{ in () }}\n{text}"));
    let three = "where ^1 = 0:1:1-1:2\nwhere ^2 = 0:2:1-2:2\nwhere ^3 = ^1, ^2\n";
    for wrong in ["where ^1 = ^1", "where ^1 = ^0", "where ^1 = ^7, ^8"] {
        assert!(provs(wrong).contains("only contain earlier"), "{wrong}");
    }
    for wrong in ["where ^4 = ^1", "where ^4 = ^1, ^2", "where ^5 = ^2, ^1"] {
        let error = provs(&format!("{three}{wrong}"));
        assert!(error.contains("must be distinct"), "{wrong}: {error}");
    }
    assert!(provs(&format!("{three}where ^4 = ^3, ^1")).contains("only contain earlier"));
    assert!(provs(&format!("{three}where ^4 = 0:1:1-1:2 in ^3")).contains("only be nested in"));
    let many = format!("{three}where ^4 = ^1{}", ", ^2".repeat(8));
    assert!(provs(&many).contains("at most 8"));
}

#[test]
fn deep_nesting_is_an_error() {
    let nest = |depth: usize| {
        let open = "{ let x_1: i32 = if true then ".repeat(depth);
        let close = " else { in () } in () }".repeat(depth);
        format!("soacs fun f() : () {open}{{ in () }}{close}")
    };
    assert!(text::parse::<Soacs>(&nest(MAX_DEPTH - 1)).is_ok());
    let error = text::parse::<Soacs>(&nest(100_000)).unwrap_err();
    assert!(error.message.contains("nested"), "{error}");
}

fn check_listing<L: TextLevel + VerifyLevel>(text: &str) -> Result<String, String> {
    let program = text::parse::<L>(text).map_err(|e| e.to_string())?;
    let errors = verify::verify(&program).err().unwrap_or_default();
    Ok(verify::listing(&program, &errors))
}

#[test]
fn verifier_errors_are_listed_at_their_statements() {
    for (path, content) in files("verify") {
        let listing = match text::level_of(&content) {
            Some("soacs") => check_listing::<Soacs>(&content),
            Some("segs") => check_listing::<Segs>(&content),
            Some("mems") => check_listing::<Mems>(&content),
            other => Err(format!("level {other:?}")),
        };
        let listing = listing.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, &listing).unwrap();
        }
        assert_eq!(content, listing, "{}", path.display());
    }
}
