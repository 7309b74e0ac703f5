//! `repl`: input lines, and the values and messages printed.

use crate::process::{Finished, Folder, bindrune};

/// Runs the REPL on lines of input.
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
fn input_continues_over_several_lines() {
    let done =
        enter(&["def f (x: i32) =", "  let y = x + 1", "  in y * y", "f (", "2", ")", "let z = 3 in", "z"]);
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
fn errors_are_reported_and_change_nothing() {
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
        "the command needs an argument: `:load FILE`",
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

#[test]
fn traces_have_source_locations() {
    let done = enter(&["def f (x: i32) = trace (x + 1)", "f 1", "map trace [5i32]", "#[trace(tag)] 3i32"]);
    assert_eq!(done.text(), "2i32\n[5i32]\n3i32\n");
    let lines: Vec<&str> = done.stderr.lines().collect();
    assert_eq!(lines, ["Trace: [prompt].fut:1:18-30: 2i32", "Trace: [prompt].fut:3:1-16: 5i32", "tag: 3i32"]);
}

#[test]
fn breakpoints_open_a_prompt_with_the_variables_of_the_calls() {
    let done = enter(&[
        "def inner [n] (xs: [n]i32) (k: u8) = let s = reduce (+) 0 xs in #[break] (s + i32.u8 k)",
        "def outer (a: i32) = let r = {b = a + 1, t = (true, [1f32])} in inner (replicate 3 r.b) 200",
        "outer 4",
        // At the breakpoint: locals, sizes, values of the session.
        "s",
        "(n, length xs, map2 (\\x i -> x + i32.i64 i) xs (iota n))",
        "k",
        "outer",
        ":type xs",
        ":frame 1",
        "r",
        "a + r.b",
        "s",
        ":frame 7",
        "def late = 1i32",
        "late",
        ":frame 0",
        "s * 2",
        "",
        // The evaluation resumed; declarations at the breakpoint are gone.
        "late",
        "outer 4",
        ":unbreak",
        "outer 5",
    ]);
    let location = "[prompt].fut:1:65-87";
    let text = done.text();
    let parts = [
        "Breakpoint at ",
        "15i32\n(3i64, 3i64, [5i32, 6i32, 7i32])\n200u8\na function of type i32 -> i32\n",
        "xs : [n]i32\n",
        "-> #1 ",
        "{b = 5i32, t = (true, [1f32])}\n9i32\n",
        "1i32\n",
        "30i32\n215i32\n",
        "215i32\n218i32\n",
    ];
    let mut rest = text;
    for part in parts {
        let found = rest.find(part);
        let at = found.unwrap_or_else(|| panic!("{part}:\n{text}\n{}", done.stderr));
        rest = &rest[at + part.len()..];
    }
    assert!(text.contains(location), "{text}");
    assert_eq!(text.matches("Breakpoint").count(), 2, "{text}");
    for part in ["Unknown name \"s\"", "there is no call 7", "Unknown name \"late\""] {
        assert!(done.stderr.contains(part), "{part}:\n{}", done.stderr);
    }
}

#[test]
fn breakpoints_in_lambdas_loops_and_local_functions() {
    let done = enter(&[
        "def f (ys: [2]i64) = let k = 10i64 let g (z: i64) = (#[break] z) + k in map (\\y -> g y) ys",
        "f [1, 2]",
        "(z, k, ys)",
        ":frame 1",
        "y",
        ":quit",
        "def h (n: i32) = loop acc = 0 for i < n do match (i, acc) case (0, _) -> 5 case (j, w) -> break (j + w)",
        "h 3",
        "(j, w, i, acc, n)",
        "",
        "j",
        "",
    ]);
    let text = done.text();
    for part in
        ["(1i64, 10i64, [1i64, 2i64])\n", "1i64\n", "(1i32, 5i32, 1i32, 5i32, 3i32)\n", "2i32\n8i32\n"]
    {
        assert!(text.contains(part), "{part}:\n{text}\n{}", done.stderr);
    }
    assert!(done.stderr.contains("Interrupted."), "{}", done.stderr);
}

#[test]
fn nanbreak_stops_at_new_nans() {
    let done = enter(&[
        ":nanbreak",
        "def root (x: f64) = f64.sqrt (x - 2)",
        "root 1",
        "x",
        "",
        "0f32 / 0f32",
        "",
        "f64.nan + 1",
        ":nanbreak",
        "root 1",
    ]);
    let text = done.text();
    assert_eq!(text.matches("A new NaN at").count(), 2, "{text}");
    assert!(text.contains("1f64\nf64.nan\n"), "{text}");
    assert!(text.ends_with("f64.nan\nEvaluations no longer stop at NaNs.\nf64.nan\n"));
}

#[test]
fn format_string_and_folder_commands() {
    let folder = Folder::new();
    folder.file("p.fut", "def seven = 7i32\n");
    let input = format!(
        ":format {{1 + 1}} and {{{{a = 2i8}}.a}}\n:format {{\n:string \"aαb\"\n:string 3\n\
         :cd {}\n:pwd\n:load p.fut\n:cd /\n:load\nseven\n:cd /no/such\n:f 1\n:frame 1\n:unbreak\n",
        folder.path("")
    );
    let done = bindrune(&["repl"], &input);
    let whole = std::fs::canonicalize(folder.path("")).expect("the folder is there");
    let expected = format!("2i32 and 2i8\naαb\n{}\n7i32\n", whole.display());
    assert_eq!((done.code, done.text()), (0, expected.as_str()), "{done:?}");
    for part in [
        "a `{` without a `}`",
        "the value is not an array of u8: 3i32",
        "cannot change to /no/such",
        "`:f` could be `:format` or `:frame`",
        "no evaluation is stopped",
    ] {
        assert!(done.stderr.contains(part), "{part}:\n{}", done.stderr);
    }
}
