//! Portable C from the command line: its executables behave as others do, including all messages.

use crate::process::{Finished, Folder, SAMPLE, bindrune, command, finish, sample_command};
use std::path::Path;
use std::process::{Command, Stdio};

/// Builds the sample as portable C without optimisation.
fn built(folder: &Folder) -> String {
    let (program, output) = (folder.file("sample.fut", SAMPLE), folder.path("sample"));
    let mut build = command(&["build", "--backend=c", &program, "-o", &output]);
    finish(build.env("CFLAGS", "-O0"), b"").quiet();
    output
}

/// A value in the binary format.
fn binary(ty: &str, shape: &[i64], elements: &[u8]) -> Vec<u8> {
    let mut bytes = vec![b'b', 2, shape.len() as u8];
    bytes.extend(format!("{ty:>4}").as_bytes());
    shape.iter().for_each(|dim| bytes.extend(dim.to_le_bytes()));
    bytes.extend(elements);
    bytes
}

/// Exit code, standard output and standard error, without the executable's name.
fn output(finished: &Finished, name: &str) -> (i32, Vec<u8>, String) {
    let stderr = finished.stderr.replace(name, "NAME");
    (finished.code, finished.stdout.clone(), stderr)
}

/// Runs the sample on the CPU and as portable C, and checks that both behave the same.
#[track_caller]
fn same(c: &str, args: &[&str], stdin: &[u8]) {
    let mut for_cpu = sample_command(args);
    let cpu_name = for_cpu.get_program().to_string_lossy().into_owned();
    let cpu = output(&finish(&mut for_cpu, stdin), &cpu_name);
    let mut as_c = Command::new(c);
    let c = output(&finish(as_c.args(args).stdout(Stdio::piped()), stdin), c);
    // The CPU's sample has another file name.
    let location = |stderr: &str| {
        let words = stderr.split_whitespace();
        let words = words.map(|word| word.rsplit_once(".fut:").map_or(word, |(_, location)| location));
        words.collect::<Vec<_>>().join(" ")
    };
    assert_eq!((cpu.0, location(&cpu.2)), (c.0, location(&c.2)), "{args:?}");
    assert_eq!(cpu.1, c.1, "{args:?}");
}

#[test]
fn values_equal_those_on_the_cpu() {
    let folder = Folder::new();
    let c = built(&folder);
    for (entry, inputs) in [
        (
            "main",
            &[
                "[1, 2, 3]",
                "-- a comment\n[-2147483648, 0x10, 0b11, 1_000, 0xffffffff, 5i32]",
                "empty([0]i32)",
                "[1, -- one\n 2]",
            ][..],
        ),
        ("dot", &["[1e22, 1e-7] [1, 1]", "[0.1f64] [3]", "[1e16] [1]", "[f64.inf] [0]"]),
        (
            "both",
            &[
                "1 f32.nan",
                "1 -f32.inf",
                "1 0x1.8p3f32",
                "1 1e400",
                "1 .5",
                "1 5.",
                "1 inf",
                "1 1e-45",
                "1 3.4028236e38",
                "1 16777217",
                "1 0.1",
                "1 123456789",
                "1 2e9",
                "1 -0.0",
            ],
        ),
        ("squares", &["0i64", "5"]),
        ("table", &["2 3", "0 3", "3 0"]),
        ("flags", &["[true, false]"]),
        ("nothing", &["1"]),
        ("record", &["1"]),
    ] {
        for input in inputs {
            same(&c, &["-e", entry], input.as_bytes());
            same(&c, &["-b", "-e", entry], input.as_bytes());
        }
    }
    let indexes = binary("i64", &[2], &[2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    same(&c, &["-e", "gather"], &[&b"[7, 8, 9] "[..], &indexes].concat());
}

#[test]
fn failure_messages_equal_those_on_the_cpu() {
    let folder = Folder::new();
    let c = built(&folder);
    for (entry, input) in [
        ("divide", "3 1"),
        ("positive", "[1, -1]"),
        ("fit", "[1, 2] [3]"),
        ("gather", "[1] [5]"),
        ("gather", "[1] [-1]"),
        ("fill", "-1 3"),
        ("dot", "[1] [1, 2]"),
        ("table", "4000000000 4000000000"),
    ] {
        same(&c, &["-e", entry], input.as_bytes());
    }
    let out_of_memory = |args: &[&str]| {
        let mut run = Command::new(&c);
        finish(run.args(args).stdout(Stdio::piped()), b"1000000 1")
    };
    out_of_memory(&["-e", "fill", "--memory-limit=1M"]).fails(&[
        "out of memory: cannot allocate 8000000 bytes",
        "the limit is 1048576 bytes.",
        "sample.fut:11:",
    ]);
}

#[test]
fn input_errors_equal_those_on_the_cpu() {
    let folder = Folder::new();
    let c = built(&folder);
    let text = [
        "",
        "[",
        "[1",
        "[1,",
        "[1 2]",
        "1",
        "[1.5]",
        "[1i64]",
        "[99999999999]",
        "[2147483648]",
        "empty([1]i32)",
        "empty([0]i64)",
        "empty([-1]i32)",
        "empty([0]foo)",
        "empty([0][2]i32)",
        "[[1]]",
        "\"abc\"",
        "[]",
        "[1] 2",
        "\n\n  [1,\n x]",
        "[1,]",
        "[,1]",
        "[1,,2]",
        "[--]",
        "[0x]",
        "[-]",
        "[1'2]",
        "[abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz]",
    ];
    for input in text {
        same(&c, &[], input.as_bytes());
    }
    for (ty, shape, elements) in [
        ("i32", &[2i64][..], &[1u8, 0, 0, 0][..]),
        ("i64", &[1], &[1; 8]),
        ("i32", &[1, 1], &[1; 4]),
        ("i33", &[1], &[]),
        ("i32", &[-1], &[]),
        ("i32", &[1 << 62], &[]),
        ("i32", &[], b"abc"),
        ("i32", &[1], &[1, 0, 0, 0, 9]),
    ] {
        same(&c, &[], &binary(ty, shape, elements));
    }
    for input in [&b"b"[..], b"b\x02", b"b\x01", b"b\x02\x01 i", b"\xff\x00", b"[\x80]"] {
        same(&c, &[], input);
    }
    same(&c, &["-e", "flags"], &binary("bool", &[2], &[1, 2]));
    for input in ["1 1e", "1 1f64", "1 --1", "1 0x", "1 0x1p", "1 f64.nan", "1 +-1"] {
        same(&c, &["-e", "both"], input.as_bytes());
    }
}

#[test]
fn options_equal_those_on_the_cpu() {
    let folder = Folder::new();
    let c = built(&folder);
    let times = folder.path("times");
    for args in [
        &["-q"][..],
        &["--foo"],
        &["--runs=0"],
        &["-r", "x"],
        &["-e"],
        &["--entry-point"],
        &["x"],
        &["--", "x"],
        &["--"],
        &["-b=3"],
        &["--binary-output=3"],
        &["-bn"],
        &["-r2", "-n"],
        &["-r=2"],
        &["--num-threads=-1"],
        &["--num-threads=3"],
        &["--memory-limit=12Q"],
        &["--memory-limit=99999999T"],
        &["--param=x"],
        &["--tuning=/does/not/exist"],
        &["-e", "none"],
        &["-t", "/does/not/exist/x"],
        &["-t", "/dev/full"],
        &["--cache-file=x"],
        &["-e", "consume", "-r", "7", "-t", &times],
    ] {
        same(&c, args, b"[1, 2]");
    }
    let written = std::fs::read_to_string(&times).expect("the times were written");
    assert_eq!(written.lines().count(), 7);
    // A program that runs on one thread has no tuning parameters.
    let run = |args: &[&str]| finish(Command::new(&c).args(args).stdout(Stdio::piped()), b"[1, 2]");
    run(&["--param=x=1"]).fails(&["no tuning parameter `x`; the program has none"]);
    for args in ["--print-params", "--print-values"] {
        assert_eq!(run(&[args]).quiet().text(), "");
    }
    let logged = run(&["--log-versions"]);
    assert_eq!((logged.code, &*logged.stderr), (0, ""), "{logged:?}");
    let mut run = Command::new(&c);
    let help = finish(run.arg("--help").stdout(Stdio::piped()), b"").quiet();
    assert!(help.text().contains("--write-runtime-to=FILE"));
    assert!(help.text().lines().all(|line| line.chars().count() < 120));
    let mut run = Command::new(&c);
    let debug = finish(run.args(["-D", "-e", "squares"]).stdout(Stdio::piped()), b"1000");
    assert_eq!(debug.code, 0);
    for part in ["1 threads", "took", "peak memory"] {
        assert!(debug.stderr.contains(part), "{}", debug.stderr);
    }
    assert!(!debug.stderr.contains("leaked"), "{}", debug.stderr);
}

#[test]
fn write_errors_of_results_are_reported() {
    let folder = Folder::new();
    let c = built(&folder);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
    let mut run = Command::new(&c);
    run.args(["-e", "squares"]).stdout(full.expect("the device is there"));
    finish(&mut run, b"100000").fails(&["cannot write the result", "space"]);
}

#[test]
fn c_file_is_written_beside_the_executable() {
    let folder = Folder::new();
    let program = folder.file("p.fut", "entry main (x: f64) = f64.sqrt x\n");
    bindrune(&["c", &program], "").quiet();
    let mut run = Command::new(folder.path("p"));
    let result = finish(run.stdout(Stdio::piped()), b"2").quiet();
    assert_eq!(result.text(), "1.4142135623730951f64\n");
    // The file needs only a C compiler, without flags.
    let mut compile = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".to_owned()));
    compile.args(["-o", &folder.path("q"), &folder.path("p.c"), "-lm"]);
    finish(&mut compile, b"").quiet();
    let mut run = Command::new(folder.path("q"));
    let result = finish(run.stdout(Stdio::piped()), b"2").quiet();
    assert_eq!(result.text(), "1.4142135623730951f64\n");
    for wanted in ["--library", "--server"] {
        bindrune(&["c", wanted, &program], "").fails(&["not supported yet"]);
    }
}

#[test]
fn run_accepts_the_options_of_executables() {
    let folder = Folder::new();
    let program = folder.file("p.fut", "entry twice (x: i32) = 2 * x\nentry inverse (x: i32) = 1 / x\n");
    let run = ["run", "--backend=c", &program, "-e"];
    let twice = bindrune(&[&run[..], &["twice"]].concat(), "21").quiet();
    assert_eq!(twice.text(), "42i32\n");
    bindrune(&[&run[..], &["inverse"]].concat(), "0").fails(&["division by zero", "p.fut:2:26-30"]);
}

#[test]
fn missing_c_compiler_is_reported_with_advice() {
    let folder = Folder::new();
    let program = folder.file("p.fut", "entry main (x: i32) = x\n");
    let build = || command(&["build", "--backend=c", &program, "-o", &folder.path("p")]);
    finish(build().env("CC", "/does/not/exist"), b"").fails(&[
        "cannot start the C compiler",
        "/does/not/exist",
        "install",
    ]);
    finish(build().env("CC", "false"), b"").fails(&["the C compiler `false` failed"]);
    finish(build().env("CFLAGS", "-fno-such-flag"), b"").fails(&["C compiler", "no-such-flag"]);
    assert!(!Path::new(&folder.path("p")).exists());
    let output = folder.path("no/such/folder/p");
    for how in ["build", "c"] {
        let mut args = vec![how, &program, "-o", &output];
        if how == "build" {
            args.push("--backend=c");
        }
        bindrune(&args, "").fails(&["cannot write", "no/such/folder"]);
    }
}

#[test]
fn too_deep_recursion_is_an_error() {
    let folder = Folder::new();
    let program = folder.file(
        "p.fut",
        "def f (n: i64) (x: i64) : i64 = if n == 0 then x else 1 + f (n - 1) (x ^ n)\n\
         entry main (n: i64) = f n 1\n",
    );
    let run = ["run", "--backend=c", &program];
    // The exclusive or of the numbers up to 1000 is 1000.
    assert_eq!(bindrune(&run, "1000").quiet().text(), "2001i64\n");
    bindrune(&run, "1000000000").fails(&["stack overflow", "p.fut:1:", "more calls"]);
}
