//! Programs that are wrong: with positions, excerpts and hints for those who
//! made a mistake, and with patience for those who made it on purpose.

use crate::process::{Finished, Folder, bindrune};
use std::time::{Duration, Instant};

/// Checks a program.
#[track_caller]
fn check(text: impl AsRef<[u8]>) -> Finished {
    let folder = Folder::new();
    bindrune(&["check", &folder.file("wrong.fut", text)], "")
}

/// Checks that the compiler gives an answer, either answer, soon and briefly.
#[track_caller]
fn survives(command: &str, text: impl AsRef<[u8]>) -> Finished {
    let folder = Folder::new();
    let file = folder.file("strange.fut", text);
    let start = Instant::now();
    let finished = bindrune(&[command, &file], "");
    assert!(finished.code == 0 || finished.code == 1, "{finished:?}");
    assert!(!finished.stderr.contains("panicked"), "{}", finished.stderr);
    assert!(
        !finished.stderr.contains("bug of the compiler"),
        "{}",
        finished.stderr
    );
    assert!(
        finished.stderr.len() < 20_000,
        "{} bytes of messages",
        finished.stderr.len()
    );
    assert!(
        start.elapsed() < Duration::from_mins(1),
        "took {:?}",
        start.elapsed()
    );
    finished
}

#[test]
fn several_errors_each_with_place_and_excerpt() {
    let finished = check(
        "entry main (x: i32) : i32 =\n  let y = x + 1.5\n  in lenght [y]\n\n\
         entry other (xs: []i32) : bool = xs[true]\n",
    )
    .fails(&[
        "wrong.fut:2:",
        "wrong.fut:3:6",
        "wrong.fut:5:",
        "lenght [y]",
        "^",
        "length",
    ]);
    assert!(
        finished.stderr.matches("error").count() >= 3,
        "{}",
        finished.stderr
    );
}

#[test]
fn several_syntax_errors_in_one_run() {
    check("def f = (1 + \n\ndef g (x: i32 = x\n\ndef h = [1, 2\n\nentry main = f\n").fails(&[
        "wrong.fut:3:1",
        "wrong.fut:3:15",
        "wrong.fut:7:1",
        "expected",
    ]);
}

#[test]
fn wrong_imports_are_shown_where_they_stand() {
    check("import \"missing/file\"\nentry main = 1\n").fails(&["wrong.fut:1:", "missing/file"]);
    let folder = Folder::new();
    folder.file("a.fut", "import \"b\"\ndef x = 1\n");
    let b = folder.file("b.fut", "import \"a\"\ndef y = 1\n");
    bindrune(&["check", &b], "").fails(&["a.fut:1:", "import"]);
}

#[test]
fn what_is_not_a_program() {
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
fn empty_programs() {
    for text in ["", "\n", "-- nothing\n", "\u{feff}"] {
        survives("check", text);
        let folder = Folder::new();
        bindrune(&["run", &folder.file("empty.fut", text)], "").fails(&["empty.fut"]);
    }
    survives("check", "\0");
}

#[test]
fn depth() {
    let deep = |open: &str, middle: &str, close: &str, n: usize| {
        format!(
            "entry main = {}{middle}{}\n",
            open.repeat(n),
            close.repeat(n)
        )
    };
    for n in [1_000, 100_000] {
        survives("build", deep("(", "1", ")", n));
        survives("build", deep("[", "1", "]", n));
        survives("check", deep("(", "", "", n));
        survives("check", deep("", "1", ")", n));
        survives("check", deep("(\\x -> ", "x", ")", n));
        survives("check", deep("if true then 1 else ", "2", "", n));
        survives("check", deep("let x = 1 in ", "x", "", n));
        survives("check", deep("1 + ", "1", "", n));
        survives("check", deep("! ", "true", "", n));
        survives("check", format!("def f (x: {}i32) = x\n", "[]".repeat(n)));
        survives(
            "check",
            format!("type t = {}i32{}\n", "(".repeat(n), ")".repeat(n)),
        );
    }
}

#[test]
fn long_lines() {
    let ones = "1, ".repeat(300_000);
    survives("check", format!("entry main = reduce (+) 0 [{ones}1]\n"));
    survives(
        "check",
        format!("entry main = 1 {} \n", "+ 1 ".repeat(300_000)),
    );
    survives(
        "check",
        format!("-- {}\nentry main = 1\n", "x".repeat(2_000_000)),
    );
    survives("check", format!("def {} = 1\n", "x".repeat(1_000_000)));
    survives(
        "check",
        format!("entry main = \"{}\"\n", "x".repeat(1_000_000)),
    );
    survives("check", format!("entry main = {}\n", "9".repeat(1_000_000)));
    // The place of an error in such a line is shown without the line.
    survives("check", format!("entry main = [{ones}true]\n")).fails(&["strange.fut:1:", "true"]);
    survives("check", format!("entry main = [{ones}(]\n")).fails(&["strange.fut:1:"]);
}
