//! Commands and options in the reference compiler's spelling.

use crate::process::{Finished, Folder, bindrune, finish};
use std::process::{Command, Stdio};

/// Runs an executable with arguments and input.
fn say(executable: &str, args: &[&str], stdin: &str) -> Finished {
    let mut command = Command::new(executable);
    finish(command.args(args).stdout(Stdio::piped()), stdin.as_bytes())
}

#[test]
fn multicore_builds_for_the_cpu() {
    let folder = Folder::new();
    let program = folder.file("sum.fut", "entry main (xs: []i64) = reduce (+) 0 xs\n");
    let out = folder.path("out");
    let spelled = [
        &["multicore", &program, "-o", &out][..],
        &["multicore", "--executable", &program, "-o", &out],
        &["build", "--backend", "multicore", &program, "-o", &out],
    ];
    for args in spelled {
        bindrune(args, "").quiet();
        let sum = say(&out, &["--num-threads", "2"], "[1, 2, 3]").quiet();
        assert_eq!(sum.text(), "6i64\n");
        std::fs::remove_file(&out).expect("the executable exists");
    }
    for wanted in ["--library", "--server"] {
        bindrune(&["multicore", wanted, &program], "").fails(&["not supported yet", "`bindrune multicore`"]);
    }
}

#[test]
fn warnings_are_suppressed_or_count_as_errors() {
    let folder = Folder::new();
    let odd = folder.file("odd.fut", "entry main (x: i32) (y: i32) : i32 = x\n");
    let out = folder.path("odd");
    let run = &["run", "--backend=multicore"][..];
    for command in [&["build"][..], &["c"], &["multicore"], &["opencl"], run] {
        let compile = |more: &[&str]| {
            let args = [command, more, &[&odd]].concat();
            bindrune(&args, if command == run { "1 2" } else { "" })
        };
        let strict = compile(&["--Werror"]);
        strict.fails(&["Unused name \"y\"", "--Werror"]);
        assert!(!std::path::Path::new(&out).exists(), "{command:?}");
        compile(&["-w", "--Werror"]).quiet();
        compile(&["-W"]).quiet();
        let _ = std::fs::remove_file(&out);
    }
    bindrune(&["run", "--backend=interp", "-w", &odd], "1 2").quiet();
    bindrune(&["run", "--backend=interp", "--Werror", &odd], "1 2").fails(&["--Werror"]);
}

#[test]
fn safe_option_ignores_unsafe_attributes() {
    let folder = Folder::new();
    let program = folder.file(
        "p.fut",
        "#[unsafe]\ndef third (xs: []i32) = xs[2]\n
entry at (xs: []i32) (i: i64) = #[unsafe] xs[i]
entry end (xs: []i32) = #[unsafe] third xs
entry each (xs: []i32) (is: []i64) = map (\\i -> #[unsafe] xs[i]) is\n",
    );
    let out = folder.path("out");
    for command in ["multicore", "c"] {
        bindrune(&[command, &program, "-o", &out], "").quiet();
        assert_eq!(say(&out, &["-e", "at"], "[7, 8] 1").quiet().text(), "8i32\n");
        bindrune(&[command, "--safe", &program, "-o", &out], "").quiet();
        assert_eq!(say(&out, &["-e", "at"], "[7, 8] 1").quiet().text(), "8i32\n");
        say(&out, &["-e", "at"], "[7, 8] 2").fails(&["[2]", "out of bounds", "p.fut:4"]);
        say(&out, &["-e", "end"], "[7, 8]").fails(&["[2]", "out of bounds", "p.fut:2"]);
        say(&out, &["-e", "each"], "[7, 8] [1, 5]").fails(&["[5]", "out of bounds", "p.fut:6"]);
    }
    let run = ["run", "--safe", &program, "-e", "at"];
    bindrune(&run, "[7, 8] -1").fails(&["[-1]", "out of bounds"]);
}

#[test]
fn entry_point_option_adds_entry_points() {
    let folder = Folder::new();
    folder.file("other.fut", "def triple (x: i32) = 3 * x\n");
    let program = folder.file(
        "p.fut",
        "open import \"other\"
module m = { def inner (x: i32) = x }
def twice (x: i32) = 2 * x
def generic 'a (x: a) = x
entry main (x: i32) = twice x + 1\n",
    );
    let out = folder.path("out");
    let build = |name: &str| {
        let args = ["build", &program, "-o", &out, "--entry-point", name];
        bindrune(&args, "")
    };
    build("twice").quiet();
    assert_eq!(say(&out, &["-e", "twice"], "21").quiet().text(), "42i32\n");
    assert_eq!(say(&out, &[], "21").quiet().text(), "43i32\n");
    build("main").quiet();
    say(&out, &["-e", "twice"], "21").fails(&["no entry point `twice`"]);
    for name in ["thrice", "inner", "m.inner", "triple"] {
        build(name).fails(&[&format!("no top-level function `{name}`"), "p.fut"]);
    }
    build("generic").fails(&["generic", "p.fut:4"]);
}

#[test]
fn verbose_lists_passes_and_commands_print_versions() {
    let folder = Folder::new();
    let program = folder.file("p.fut", "entry main (x: i32) = x + 1\n");
    let out = folder.path("out");
    for option in ["-v", "--verbose"] {
        let done = bindrune(&["multicore", option, &program, "-o", &out], "");
        assert_eq!(done.code, 0, "{}", done.stderr);
        let line = |name: &str| {
            let mut lines = done.stderr.lines();
            lines.any(|line| line.starts_with(name) && line.ends_with(" ms"))
        };
        assert!(line("flatten") && line("imp"), "{}", done.stderr);
    }
    for command in ["c", "multicore", "opencl", "cuda", "hip", "run", "test", "bench"] {
        let version = bindrune(&[command, "-V"], "").quiet();
        assert!(version.text().contains("0."), "{}", version.text());
    }
}
