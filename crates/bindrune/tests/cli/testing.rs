//! `run --backend interp` and `test`: the interpreter as users run it, and the tests in programs'
//! test blocks.

use crate::process::{Folder, SAMPLE, bindrune};

#[test]
fn interpreter_and_compiled_code_agree() {
    let folder = Folder::new();
    let program = folder.file("sample.fut", SAMPLE);
    let both = |entry: &str, stdin: &str| {
        let run = |options: &[&str]| {
            let args = [&["run"], options, &[&program, "-e", entry]].concat();
            bindrune(&args, stdin)
        };
        let interpreted = run(&["--backend=interp", "--check-sizes"]);
        let compiled = run(&["--backend=cpu"]);
        assert_eq!(
            (interpreted.code, interpreted.text(), &interpreted.stderr),
            (compiled.code, compiled.text(), &compiled.stderr),
            "{entry}"
        );
        interpreted
    };
    let done = both("main", "[1, 2, 3]").quiet();
    assert_eq!(done.text(), "6i32\n");
    both("both", "1 3").quiet();
    both("nothing", "1").quiet();
    both("squares", "4").quiet();
    both("dot", "[1, 2] [3, 4]").quiet();
    both("dot", "[1, 2] [3]").fails(&[
        "entry point arguments have invalid sizes: \"ys\" of shape [1] cannot match shape of type \"[2]f64\".",
    ]);
    both("gather", "[1, 2] [0, 2]").fails(&["Index [2] out of bounds", "Backtrace"]);
    both("divide", "3 1").fails(&["division by zero"]);
    both("positive", "[1, 0]").fails(&["Assertion is false: (x > 0)"]);
    both("fit", "[1, 2] [3]").fails(&["cannot match shape of type \"[2]i32\""]);
    both("fill", "-1 2").fails(&["Negative size"]);
    both("record", "1").fails(&["no text or binary form"]);
    both("main", "[1, 2").fails(&["argument 1"]);
    both("main", "[1] 2").fails(&["more input"]);
    both("absent", "").fails(&["no entry point `absent`"]);
    let compiled = bindrune(&["run", "--check-sizes", &program], "[1]");
    compiled.fails(&["`--check-sizes` needs `--backend interp`"]);
}

#[test]
fn interpreter_runs_programs_that_are_not_supported_by_the_compiler() {
    let folder = Folder::new();
    let program = folder.file(
        "p.fut",
        "entry accs (n: i64) : []i64 =\n  \
         let put (acc: *intrinsics.acc ([n]i64)) (i: i64) = intrinsics.acc_write acc i (i * i)\n  \
         in intrinsics.scatter_stream (replicate n 0) put (iota (n - 1))\n\
         entry view (xs: []i32) : [][]i32 = intrinsics.flat_index_2d xs 1 2 2 2 1\n\
         entry traced (x: i32) : i32 = trace (x + 1)\n\
         entry derived (x: f32) : f32 = jvp (\\y -> y * y) x 1\n",
    );
    let run = |entry: &str, stdin: &str| {
        let args = ["run", "--backend", "interp", &program, "-e", entry];
        bindrune(&args, stdin)
    };
    let done = run("accs", "4").quiet();
    assert_eq!(done.text(), "[0i64, 1i64, 4i64, 0i64]\n");
    let done = run("view", "[0, 1, 2, 3, 4]").quiet();
    assert_eq!(done.text(), "[[1i32, 2i32], [3i32, 4i32]]\n");
    run("view", "[0, 1, 2]").fails(&["out of bounds for array of shape [3]"]);
    let traced = run("traced", "41");
    assert_eq!((traced.code, traced.text()), (0, "42i32\n"));
    assert!(traced.stderr.contains("42i32"), "{}", traced.stderr);
    assert_eq!(run("derived", "3").quiet().text(), "6f32\n");
}

const TESTED: &str = "\
-- A sum.
-- ==
-- entry: sum
-- input { [1, 2, 3] } output { 6 }
-- random input { [100]i32 } auto output
-- script input { numbers 4i64 } output { 6 }
-- input @ numbers.in output { 10 }
entry sum (xs: []i32) : i32 = reduce (+) 0 xs
entry numbers (n: i64) : []i32 = map i32.i64 (iota n)
-- ==
-- entry: nth
-- input { [1, 2, 3] 3i64 } error: out of bounds
-- compiled input { [1, 2, 3] 2i64 } output { 3 }
entry nth (xs: []i32) (i: i64) : i32 = xs[i]
";

#[test]
fn all_forms_of_test_blocks_pass_on_all_backends() {
    let folder = Folder::new();
    let program = folder.file("p.fut", TESTED);
    folder.file("numbers.in", "[1, 2, 3, 4]\n");
    let wrong = folder.file("wrong.fut", "-- ==\n-- error: nothing is called\nentry main (x: i32) = y\n");
    let done = bindrune(&["test", "-i", &program], "").quiet();
    assert!(done.text().contains("calls              5 of 5"), "{}", done.text());
    for backend in ["cpu", "c"] {
        let done = bindrune(&["test", "--backend", backend, &program], "").quiet();
        assert!(done.text().contains("calls              6 of 6"), "{}", done.text());
    }
    let done = bindrune(&["test", "-C", &program], "").quiet();
    assert!(done.text().contains("compiled           1 of 1"), "{}", done.text());
    let failed = bindrune(&["test", "-t", &program, &wrong], "");
    failed.fails(&["wrong.fut: rejected with another message than `nothing is called`"]);
}

#[test]
fn script_records_are_supported_by_the_interpreter_only() {
    let folder = Folder::new();
    let program = folder.file(
        "p.fut",
        "-- ==\n-- entry: sum\n-- script input { let n = 3 let r = make n in r } output { 6 }\n\
         -- script input { {x = 1, ys = [2, 3]} } output { 6 }\n\
         type~ t = {x: i64, ys: []i32}\n\
         entry make (x: i64) : t = {x, ys = map i32.i64 (iota x)}\n\
         entry sum (r: t) : i32 = i32.i64 r.x + i32.sum r.ys\n",
    );
    bindrune(&["test", "-i", &program], "").quiet();
    for backend in ["cpu", "c"] {
        bindrune(&["test", "--backend", backend, &program], "").fails(&[
            "line 3, sum: not supported yet: script inputs for compiled programs that are \
             records, tuples or other opaque values: values of type `{x: i64, ys: []i32}`",
            "line 4, sum: not supported yet: script inputs",
        ]);
    }
}

#[test]
fn failures_are_shown_counted_and_written_as_json() {
    let folder = Folder::new();
    folder.file(
        "p.fut",
        "-- ==\n-- input { 1 } output { 2 }\n-- input { 2 } output { 4 }\n\
         -- input { 3 } error: never\nentry main (x: i32) = x + 1\n\
         -- ==\n-- property: small\n#[prop]\nentry small (xs: []i32) = all (< 20) xs\n",
    );
    folder.file("skipped.fut", "-- ==\n-- tags { slow }\n-- input { 1 }\nentry main (x: i32) = x\n");
    let report = folder.path("report.json");
    let all = folder.path(".");
    let done = bindrune(&["test", "-i", "--exclude", "slow", "--json", &report, &all], "");
    assert_eq!(done.code, 1, "{done:?}");
    for part in [
        "line 3, main: result 0: expected 4i32, got 3i32",
        "line 4, main: expected a run-time error, but the call succeeded",
        "property small: does not hold for [20i32]",
    ] {
        assert!(done.stderr.contains(part), "{part}:\n{}", done.stderr);
    }
    assert!(
        done.text().starts_with("2 programs in ") && done.text().contains("0 passed, 1 failed, 1 left out"),
        "{}",
        done.text()
    );
    let json = std::fs::read_to_string(&report).expect("the report was written");
    let json: serde_json::Value = serde_json::from_str(&json).expect("the report is JSON");
    assert_eq!(json["programs"][0]["calls"], 4);
    assert_eq!(json["programs"][0]["passed"], 1);
    assert_eq!(json["programs"][1]["outcome"], "left out");
    bindrune(&["test", &folder.path("absent")], "").fails(&["absent"]);
}

#[test]
fn structure_blocks_count_operations_of_the_optimised_program() {
    let folder = Folder::new();
    let program = folder.file(
        "p.fut",
        "-- ==\n-- structure { Screma 1 /Screma 1 Screma/Screma 0 /Screma/BinOp 3 BinOp 3 }\n\n\
         -- ==\n-- structure gpu { SegRed 1 SegMap 100 }\n\n\
         -- ==\n-- entry: main\n-- structure soacs { Screma 2 Loop 0 }\n\n\
         entry main (xs: []i32) = map (* 2) xs |> map (+ 1) |> reduce (+) 0\n",
    );
    let done = bindrune(&["test", "-s", "--no-terminal", &program], "");
    assert_eq!(done.code, 1);
    let text = done.text();
    assert!(text.contains("structures         1 of 3 (33.3 %)"), "{text}");
    assert!(done.stderr.contains("line 9, structure: 1 of Screma, expected 2"), "{}", done.stderr);
}
