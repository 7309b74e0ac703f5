//! `repl`: lines in, values and messages out.

use crate::process::{Finished, Folder, bindrune};

/// What comes of lines, entered one after the other.
fn enter(lines: &[&str]) -> Finished {
    let input = lines.join("\n") + "\n";
    let done = bindrune(&["repl"], &input);
    assert_eq!(done.code, 0, "{done:?}");
    assert!(!done.stderr.contains("panicked"), "{}", done.stderr);
    done
}

#[test]
fn expressions_are_evaluated_and_declarations_kept() {
    let done = enter(&[
        "1 + 2",
        "def twice (x: i32) = 2 * x",
        "map twice [1, 2, 3]",
        "def n = length (filter (> 1) [1, 2, 3])",
        "type pair = (i64, {a: bool})",
        "((n, {a = true}): pair)",
        "#some 3u8 : #none | #some u8",
        "\"ab\"",
        "[[]: [0]i32]",
        "filter (> 1) [1, 2, 3]",
    ]);
    let expected = "3i32\n[2i32, 4i32, 6i32]\n(2i64, {a = true})\n#some 3u8\n[97u8, 98u8]\n\
                    empty([1][0]i32)\n[2i32, 3i32]\n";
    assert_eq!((done.text(), done.stderr.as_str()), (expected, ""));
}

#[test]
fn input_goes_on_over_several_lines() {
    let done = enter(&[
        "def f (x: i32) =",
        "  let y = x + 1",
        "  in y * y",
        "f (",
        "2",
        ")",
        "let z = 3 in",
        "z",
    ]);
    assert_eq!(done.text(), "9i32\n3i32\n", "{}", done.stderr);
}

#[test]
fn types_of_expressions_and_modules() {
    let done = enter(&[
        ":type 1 + 2",
        ":t map",
        ":type \\x -> x && true",
        "module m = { type t = i32 def f (x: t) : t = x module inner = { def one = 1i8 } }",
        ":mtype m",
        "module type S = { type t val x : t }",
        ":mtype (m : { type t val f : t -> t })",
        "map",
    ]);
    let text = done.text();
    for part in [
        "1 + 2 : i32\n",
        "map : [",
        "x && true : bool -> bool\n",
        "type t = i32\n",
        "val f : ",
        "module inner : {\n    val one : i8\n  }\n",
        "  type t\n  val f : t -> t\n",
        "a function of type",
    ] {
        assert!(text.contains(part), "{part}:\n{text}\n{}", done.stderr);
    }
}

#[test]
fn errors_are_explained_and_change_nothing() {
    let done = enter(&[
        "def x = 1i32",
        "def x = true + 1",
        "x",
        "y",
        "[1, 2][x + 1]",
        "1 / (x - 1)",
        ")",
        ":nothing",
        ":load",
        ":load absent.fut",
        ":load absent",
        ":type y",
        ":mtype y",
        "trace x",
    ]);
    assert_eq!(done.text(), "1i32\n1i32\n");
    for part in [
        "unknown",
        "Index [2] out of bounds for array of shape [2].",
        "division by zero",
        "there is no command `:nothing`",
        "which program?",
        "cannot read absent.fut",
        "its name does not end in `.fut`",
        "Trace",
    ] {
        assert!(done.stderr.contains(part), "{part}:\n{}", done.stderr);
    }
}

#[test]
fn programs_are_loaded_with_their_imports() {
    let folder = Folder::new();
    folder.file("library.fut", "def seven = 7i32\n");
    let program = folder.file("p.fut", "import \"library\"\ndef eight = seven + 1\n");
    let wrong = folder.file("wrong.fut", "def f = absent\n");
    let input = format!("eight\n:load {wrong}\neight\n:reload\n:quit\neight\n");
    let done = bindrune(&["repl", &program], &input);
    assert_eq!((done.code, done.text()), (0, "8i32\n8i32\n"), "{done:?}");
    assert!(done.stderr.contains("absent"), "{}", done.stderr);
}
