//! Invalid programs: errors with positions, excerpts and hints, and adversarial inputs.

use crate::process::{Finished, Folder, bindrune};
use std::time::{Duration, Instant};

#[track_caller]
fn check(text: impl AsRef<[u8]>) -> Finished {
    let folder = Folder::new();
    bindrune(&["check", &folder.file("wrong.fut", text)], "")
}

/// Checks that the compiler accepts or rejects the text without a crash.
#[track_caller]
fn survives(command: &str, text: impl AsRef<[u8]>) -> Finished {
    let folder = Folder::new();
    let file = folder.file("strange.fut", text);
    let start = Instant::now();
    let finished = bindrune(&[command, &file], "");
    assert!(finished.code == 0 || finished.code == 1, "{finished:?}");
    assert!(!finished.stderr.contains("panicked"), "{}", finished.stderr);
    assert!(!finished.stderr.contains("compiler bug"), "{}", finished.stderr);
    assert!(finished.stderr.len() < 20_000, "{} bytes of messages", finished.stderr.len());
    assert!(start.elapsed() < Duration::from_mins(1), "took {:?}", start.elapsed());
    finished
}

#[test]
fn several_errors_are_reported_with_locations_and_excerpts() {
    let finished = check(
        "entry main (x: i32) : i32 =\n  let y = x + 1.5\n  in lenght [y]\n\n\
         entry other (xs: []i32) : bool = xs[true]\n",
    )
    .fails(&["wrong.fut:2:", "wrong.fut:3:6", "wrong.fut:5:", "lenght [y]", "^", "length"]);
    assert!(finished.stderr.matches("error").count() >= 3, "{}", finished.stderr);
}

#[test]
fn several_syntax_errors_are_reported_in_one_run() {
    check("def f = (1 + \n\ndef g (x: i32 = x\n\ndef h = [1, 2\n\nentry main = f\n").fails(&[
        "wrong.fut:3:1",
        "wrong.fut:3:15",
        "wrong.fut:7:1",
        "expected",
    ]);
}

#[test]
fn import_errors_are_reported_at_the_import() {
    check("import \"missing/file\"\nentry main = 1\n").fails(&["wrong.fut:1:", "missing/file"]);
    let folder = Folder::new();
    folder.file("a.fut", "import \"b\"\ndef x = 1\n");
    let b = folder.file("b.fut", "import \"a\"\ndef y = 1\n");
    bindrune(&["check", &b], "").fails(&["a.fut:1:", "import"]);
}

#[test]
fn inputs_that_are_not_programs_are_rejected() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("folder.fut")).expect("a folder can be made");
    for command in ["check", "run", "build"] {
        bindrune(&[command, &folder.path("none.fut")], "").fails(&["none.fut"]);
        bindrune(&[command, &folder.path("folder.fut")], "").fails(&["folder.fut"]);
        let bytes = folder.file("bytes.fut", b"entry main = 1\nentry x = \xff\xfe 2\n");
        bindrune(&[command, &bytes], "").fails(&["bytes.fut", "UTF-8", "line 2"]);
    }
    let other = folder.file("program.txt", "entry main = 1\n");
    bindrune(&["run", &other], "").fails(&["program.txt", ".fut"]);
    bindrune(&["dev", &folder.path("none.ir")], "").fails(&["none.ir"]);
}

#[test]
fn empty_programs_are_handled() {
    for text in ["", "\n", "-- nothing\n", "\u{feff}"] {
        survives("check", text);
        let folder = Folder::new();
        bindrune(&["run", &folder.file("empty.fut", text)], "").fails(&["empty.fut"]);
    }
    survives("check", "\0");
}

/// Nested forms: prefix, opening part, core, closing part, suffix.
const NESTS: [(&str, &str, &str, &str, &str); 44] = [
    ("entry main = ", "(", "1", ")", ""),
    ("entry main = ", "[", "1", "]", ""),
    ("entry main = ", "(", "", "", ""),
    ("entry main = ", "", "1", ")", ""),
    ("entry main = ", "(\\x -> ", "x", ")", ""),
    ("entry main = ", "if true then 1 else ", "2", "", ""),
    ("entry main = ", "if ", "true", " then true else false", ""),
    ("entry main = ", "let x = 1 in ", "x", "", ""),
    ("entry main = ", "let x = ", "1", " in x", ""),
    ("entry main = ", "let f (x: i32) = ", "1", " in f 1", ""),
    ("entry main = ", "1 + ", "1", "", ""),
    ("entry main (x: i32) = ", "x + (", "x", ")", ""),
    ("entry main (x: i32) = ", "- ", "x", "", ""),
    ("entry main (x: i32) = ", "-", "x", "", ""),
    ("entry main = ", "! ", "true", "", ""),
    ("entry main = ", "(", "1", ", 2)", ""),
    ("entry main = ", "{a = ", "1", "}", ""),
    ("entry main (x: i32) = ", "match x case _ -> ", "1", "", ""),
    ("entry main (x: i32) = ", "loop x = ", "x", " for i < 2 do x", ""),
    ("entry main (x: i32) = ", "loop x = x while x > 2 do ", "x", "", ""),
    ("entry main (xs: []i64) = ", "xs[", "0", "]", ""),
    ("entry main (xs: []i64) = xs", "[0]", "", "", ""),
    ("entry main (x: i32) = x", ".0", "", "", ""),
    ("entry main (xs: *[]i32) = xs", " with [0] = 1", "", "", ""),
    ("entry main = 1", " : i32", "", "", ""),
    ("entry main = 1", " |> i32.abs", "", "", ""),
    ("entry main = i32.abs (", "i32.abs (", "1", ")", ")"),
    ("entry main = ", "#[a] ", "1", "", ""),
    ("", "#[a] ", "entry main = 1", "", ""),
    ("type t = ", "(", "i32", ")", ""),
    ("type t = ", "(", "i32", ", i32)", ""),
    ("type t = ", "{a: ", "i32", "}", ""),
    ("type t = ", "#a (", "i32", ")", ""),
    ("type^ t = ", "i32 -> ", "i32", "", ""),
    ("def f (x: ", "[]", "i32", "", ") = x"),
    ("def f (x: [", "(", "1", ")", "]i32) = x"),
    ("def f ", "(", "x", ")", " = 1"),
    ("def f ", "(", "x", ", _)", " = 1"),
    ("def f ", "{a = ", "x", "}", " = 1"),
    ("def f x = match x case ", "#a (", "_", ")", " -> 1"),
    ("", "module m = { ", "def x = 1", " }", ""),
    ("module m = ", "(", "{}", ")", ""),
    ("module m = ", "\\(x: {}) -> ", "{}", "", ""),
    ("module type t = ", "{ module m: ", "{}", " }", ""),
];

/// Each nest with this many levels.
fn nests(levels: usize) -> impl Iterator<Item = String> {
    NESTS.iter().map(move |(start, open, core, close, end)| {
        format!("{start}{}{core}{}{end}\n", open.repeat(levels), close.repeat(levels))
    })
}

/// Tests that only `make test-all` runs.
mod all_tier {
    use super::*;

    #[test]
    fn very_deep_nesting_does_not_exhaust_the_stack() {
        nests(10_000).for_each(|text| drop(survives("check", text)));
        for (text, small) in nests(1_000).zip(nests(200)) {
            if survives("check", text).code == 0 {
                survives("build", small);
            }
        }
    }
}

#[test]
fn deep_nesting_does_not_exhaust_the_stack() {
    nests(1_000).for_each(|text| drop(survives("check", text)));
    survives("check", format!("entry main = {}\n", "(".repeat(1_000_000)))
        .fails(&["nesting-too-deep", "250000 levels"]);
    for start in ["entry main = 1", "def f x = x\nentry main = f"] {
        survives("build", format!("{start}{}\n", " + 1".repeat(50_000)));
    }
}

#[test]
fn long_lines_are_handled() {
    let ones = "1, ".repeat(300_000);
    survives("check", format!("entry main = reduce (+) 0 [{ones}1]\n"));
    survives("check", format!("entry main = 1 {} \n", "+ 1 ".repeat(300_000)));
    survives("check", format!("-- {}\nentry main = 1\n", "x".repeat(2_000_000)));
    survives("check", format!("def {} = 1\n", "x".repeat(1_000_000)));
    survives("check", format!("entry main = \"{}\"\n", "x".repeat(1_000_000)));
    for (before, digit, after) in [
        ("", "9", ""),
        ("0x", "f", ""),
        ("0b", "1", "u8"),
        ("1.", "3", "f64"),
        ("0x1.", "f", "p3f64"),
        ("1e", "9", "f32"),
        ("1e-", "9", "f32"),
        ("1", "_", ""),
        ("\'", "x", "\'"),
    ] {
        let number = format!("{before}{}{after}", digit.repeat(1_000_000));
        survives("build", format!("entry main = {number}\n"));
    }
    // An error in such a line is reported without the excerpt.
    survives("check", format!("entry main = [{ones}true]\n")).fails(&["strange.fut:1:", "true"]);
    survives("check", format!("entry main = [{ones}(]\n")).fails(&["strange.fut:1:"]);
}

#[test]
fn compiler_panic_asks_for_a_report() {
    let folder = Folder::new();
    let file = folder.file("fine.fut", "entry main (x: i32) = x + 1");
    let broken = bindrune(&["dev", "--panic-after", "flatten", &file], "");
    assert_eq!(broken.code, 3);
    assert!(broken.stdout.is_empty());
    let said = &broken.stderr;
    for part in [
        "compiler bug: requested by --panic-after",
        "fine.fut, pass prune-versions)",
        "please report it",
        env!("CARGO_PKG_VERSION"),
    ] {
        assert!(said.contains(part), "{part} is missing: {said}");
    }
}
