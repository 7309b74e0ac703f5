//! Generated programs: deep, long, recursive; and memory limits of the compiler.

use crate::process::{Folder, bindrune};
use std::fmt::Write;

/// A chain of `count` `else if` branches with different results.
fn chain(count: usize) -> String {
    let mut text = "entry main (x: i32) (y: i32) : i32 = ".to_owned();
    for i in 0..count {
        let _ = write!(text, "if x == {} then y + {} else ", i * 7, i * 3 % 1000);
    }
    text + "-1\n"
}

/// A `match` of `count` cases with different results.
fn cases(count: usize) -> String {
    let mut text = "entry main (x: i32) (y: i32) : i32 =\n  match x\n".to_owned();
    for i in 0..count {
        let _ = writeln!(text, "  case {} -> y + {}", i * 7, i * 3 % 1000);
    }
    text + "  case _ -> -1\n"
}

/// Tests that only `make test-all` runs.
mod all_tier {
    use super::*;

    #[test]
    fn thousands_of_branches_run_on_both_backends() {
        for text in [chain(5000), cases(5000)] {
            let folder = Folder::new();
            let file = folder.file("long.fut", text);
            for (input, output) in
                [("0 5", "5i32\n"), ("21000 5", "5i32\n"), ("34993 -7", "990i32\n"), ("3 5", "-1i32\n")]
            {
                assert_eq!(bindrune(&["run", &file], input).quiet().text(), output);
                let interpreted = bindrune(&["run", "--backend", "interp", &file], input);
                assert_eq!(interpreted.quiet().text(), output);
            }
            bindrune(&["dev", "--verify", "--stage", "split", &file], "").quiet();
        }
    }

    #[test]
    fn nesting_of_a_hundred_thousand_levels_compiles() {
        let n = 100_000;
        let folder = Folder::new();
        for (name, text) in [
            ("parens", format!("entry main (x: i32) : i32 = {}x{}\n", "(".repeat(n), ")".repeat(n))),
            ("sum", format!("entry main (x: i32) : i32 = x{}\n", " + x".repeat(n))),
            ("lets", format!("entry main (x: i32) : i32 = {}x{}\n", "let y = ".repeat(n), " in y".repeat(n))),
            ("else", chain(n)),
            ("types", format!("type t = {}i32{}\nentry main (x: t) : t = x\n", "(".repeat(n), ")".repeat(n))),
        ] {
            let file = folder.file(&format!("{name}.fut"), text);
            bindrune(&["check", &file], "").quiet();
            let input = if name == "else" { "699993 1" } else { "2" };
            let interpreted = bindrune(&["run", "--backend", "interp", &file], input).quiet();
            let wanted = match name {
                "sum" => "200002i32\n",
                "else" => "998i32\n",
                _ => "2i32\n",
            };
            assert_eq!(interpreted.text(), wanted, "{name}");
            if name != "else" {
                assert_eq!(bindrune(&["run", &file], input).quiet().text(), wanted, "{name}");
            }
        }
    }
}

#[test]
fn tail_recursion_of_millions_of_calls_runs() {
    let folder = Folder::new();
    let text = "def sum (n: i64) (s: i64) : i64 = if n == 0 then s else sum (n - 1) (s + n)\n\
                def fill [n] (xs: *[n]i64) (i: i64) : *[n]i64 =\n  \
                if i == n then xs else fill (xs with [i] = i) (i + 1)\n\
                entry main (n: i64) = (sum n 0, last (fill (replicate n 0) 0))\n";
    let file = folder.file("last.fut", text);
    for backend in ["cpu", "interp"] {
        let finished = bindrune(&["run", "--backend", backend, &file], "1000000");
        assert_eq!(finished.quiet().text(), "500000500000i64\n999999i64\n");
    }
}

#[test]
fn infinite_recursion_reports_its_calls() {
    let folder = Folder::new();
    let text = "def f (n: i64) : i64 = if n == 0 then 0 else\n  1 + f (n - 1)\n\
                entry main (n: i64) = f n\n";
    let file = folder.file("deep.fut", text);
    assert_eq!(bindrune(&["run", &file], "1000").quiet().text(), "1000i64\n");
    let wanted =
        ["stack overflow: the recursion is too deep.", "-> #0  ", "deep.fut:2:7-", "   #7  ", "more calls"];
    bindrune(&["run", &file], "1000000000").fails(&wanted);
    let program = folder.path("deep");
    bindrune(&["build", &file, "-o", &program], "").quiet();
    let mut run = std::process::Command::new(&program);
    crate::process::finish(&mut run, b"1000000000").fails(&wanted);
    let interpreted = bindrune(&["run", "--backend", "interp", &file], "1000000000");
    interpreted.fails(&["the recursion is too deep", "deep.fut:2:7-"]);
}

#[test]
fn compiler_out_of_memory_is_an_error() {
    let folder = Folder::new();
    let file = folder.file("large.fut", chain(60_000));
    let output = folder.path("large");
    let limit = ["--compiler-memory", "150000000"];
    let wanted = ["the compiler ran out of memory", "the limit is 143 MiB", "large.fut"];
    bindrune(&["check", limit[0], limit[1], &file], "").fails(&wanted);
    bindrune(&["build", limit[0], limit[1], &file, "-o", &output], "").fails(&wanted);
    bindrune(&["run", limit[0], limit[1], &file], "1 1").fails(&wanted);
    assert!(!std::path::Path::new(&output).exists());
    // The address space is limited, so the system refuses requests.
    let shell = format!("ulimit -v 400000; exec {} check {file}", env!("CARGO_BIN_EXE_bindrune"));
    let mut run = std::process::Command::new("sh");
    let finished = crate::process::finish(run.args(["-c", &shell]), b"");
    assert_eq!(finished.code, 1, "{finished:?}");
    assert!(
        ["ran out of memory", "nested too deeply"].iter().any(|text| finished.stderr.contains(text)),
        "{finished:?}"
    );
}
