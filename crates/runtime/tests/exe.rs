//! Tests of executables: options, input, output, exit codes, messages.

#![allow(clippy::cast_ptr_alignment, reason = "environments and blocks are aligned for their types")]

mod programs;

use runtime::exe::{Streams, run};
use std::io::{self, Write};
use value::{Reader, Value, write_binary};

struct Outcome {
    code: i32,
    stdout: Vec<u8>,
    stderr: String,
}

fn exe(args: &[&str], stdin: &[u8]) -> Outcome {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let code = run(
        programs::image(),
        ["./test"].iter().chain(args).map(Into::into),
        Streams { stdin: Reader::new(stdin), stdout: &mut stdout, stderr: &mut stderr },
    );
    let stderr = String::from_utf8(stderr).expect("messages are UTF-8");
    Outcome { code, stdout, stderr }
}

fn good(args: &[&str], stdin: &[u8]) -> Vec<u8> {
    let outcome = exe(args, stdin);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{args:?}");
    outcome.stdout
}

fn bad(args: &[&str], stdin: &[u8]) -> String {
    let outcome = exe(args, stdin);
    assert_eq!(outcome.code, 1, "{args:?}");
    assert!(outcome.stdout.is_empty(), "{args:?}");
    outcome.stderr
}

#[test]
fn text_and_binary_in_and_out() {
    assert_eq!(good(&[], b"-- a comment\n [1, 2, 3i32]\n"), b"106i32\n");
    assert_eq!(good(&[], b"empty([0]i32)"), b"100i32\n");
    assert_eq!(good(&["-e", "swap"], b"1.5 true"), b"true\n1.5f64\n");
    assert_eq!(good(&["-e", "update"], b"[1,2] 1i64 5"), b"[1i32, 7i32]\n");
    let message = bad(&["-e", "pair"], b"");
    assert!(message.contains("`pair` have no text"), "{message}");
    assert_eq!(good(&["-n", "-e", "pair"], b""), b"");
    assert_eq!(good(&["-n", "-e", "pair"], b"()"), b"");
    assert_eq!(good(&["-n"], b"[1]"), b"");

    let ones = Value::from_slice(&[50_000], &vec![1i32; 50_000]).expect("value");
    let mut input = Vec::new();
    write_binary(&mut input, &ones).expect("written");
    for threads in ["1", "2", "4"] {
        let args = ["-b", "--num-threads", threads];
        assert_eq!(good(&args, &input), b"b\x02\x00 i32\xb4\xc3\x00\x00\n");
    }
    input.extend(b" 0 0");
    let output = good(&["-b", "--entry-point=update"], &input);
    assert_eq!(output.len(), 7 + 8 + 200_000 + 1);
}

#[test]
fn runs_are_timed_and_unique_arguments_are_fresh_in_each() {
    let file = std::env::temp_dir().join(format!("bindrune-times-{}", std::process::id()));
    let name = file.to_str().expect("a plain path");
    // Each run adds 5 in place; the last must see the original.
    let output = good(&["-e", "update", "-r", "4", "-t", name], b"[1,2] 0 5");
    assert_eq!(output, b"[6i32, 2i32]\n");
    let times = std::fs::read_to_string(&file).expect("the times were written");
    std::fs::remove_file(&file).expect("the file exists");
    assert_eq!(times.lines().count(), 4);
    assert!(times.lines().all(|line| line.parse::<u64>().is_ok()));
    assert!(bad(&["-t", "/does/not/exist"], b"[1]").contains("/does/not/exist"));
}

#[test]
fn input_errors_name_the_argument() {
    let message = bad(&["-e", "update"], b"[1,2] 1.5 5");
    assert!(message.contains("argument 2 (`i`, of type i64)"), "{message}");
    assert!(message.contains("line 1, column 7"), "{message}");
    let message = bad(&["-e", "update"], b"[1,2] 1");
    assert!(message.contains("argument 3 (`x`, of type i32)"), "{message}");
    let message = bad(&["-e", "update"], b"[[1],[2]] 1 2");
    assert!(message.contains("argument 1 (`xs`, of type *[]i32)"), "{message}");
    let message = bad(&[], b"[1,2] 7");
    assert!(message.contains("more input after the 1 argument of `main`"), "{message}");
    let message = bad(&[], b"b\x02\x01 f32\x01\0\0\0\0\0\0\0\0\0\0\0");
    assert!(message.contains("f32") && message.contains("i32"), "{message}");
    let message = bad(&["-e", "nothing"], b"");
    assert!(message.contains("main, update, swap, big, pair"), "{message}");
}

#[test]
fn failures_show_message_and_backtrace() {
    assert_eq!(
        bad(&["-e", "update"], b"[1,2] 2 5"),
        "./test: Error: Index [2] out of bounds for array of shape [2].\n\nBacktrace:\n-> #0  test.fut:3:5-12\n   #1  test.fut:9:1-20\n"
    );
    let message = bad(&["-e", "deep"], b"");
    assert!(message.contains("the recursion is too deep"), "{message}");
    let message = bad(&["-e", "big", "--memory-limit=1M"], b"1000000");
    assert!(message.contains("cannot allocate 8000000 bytes"), "{message}");
    assert!(message.contains("the limit is 1048576 bytes"), "{message}");
}

#[test]
fn options_that_print() {
    let text = String::from_utf8(good(&["--help"], b"")).expect("UTF-8");
    assert!(text.contains("--entry-point=NAME") && text.contains("./test"));
    let params = b"deep.inner_lanes_0 (threshold)\nlong.inner_lanes_0 (threshold)\n";
    assert_eq!(good(&["--print-params"], b""), params);
    let outcome = exe(&["-D"], b"[1]");
    assert_eq!(outcome.code, 0);
    assert!(outcome.stderr.contains("peak memory:"), "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("left"), "{}", outcome.stderr);
}

#[test]
fn tuning_parameters() {
    let long = |options: &[&str], n: &str| {
        let args = [&["-e", "long"], options].concat();
        String::from_utf8(good(&args, n.as_bytes())).expect("UTF-8")
    };
    assert_eq!(long(&[], "100"), "100i64\n");
    assert_eq!(long(&[], "99"), "99i64\n");
    let set = "--param=long.inner_lanes_0=-5";
    assert_eq!(long(&[set], "99"), "-5i64\n");
    // The last value counts, and nothing is left for the next context.
    assert_eq!(long(&[set, "--param", "long.inner_lanes_0=7"], "6"), "6i64\n");
    assert_eq!(long(&[], "99"), "99i64\n");
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), "long.inner_lanes_0=12\n").expect("written");
    let tuning = format!("--tuning={}", file.path().display());
    assert_eq!(long(&[&tuning], "12"), "12i64\n");

    let message = bad(&["--param=long.inner_lane_0=1"], b"");
    assert_eq!(
        message,
        "./test: there is no tuning parameter `long.inner_lane_0`; did you mean `long.inner_lanes_0`?\n"
    );
    assert!(bad(&["--param=x"], b"").contains("must be of the form NAME=N"));
    std::fs::write(file.path(), "long.inner_lanes_0=12\n\nnobody=3\n").expect("written");
    let message = bad(&[&tuning], b"");
    assert!(message.contains(", line 3: there is no tuning parameter `nobody`"), "{message}");
}

#[test]
fn comparisons_are_logged() {
    let outcome = exe(&["-e", "long", "--log-versions", "-r", "1"], b"99");
    assert_eq!((outcome.code, outcome.stdout), (0, b"99i64\n".to_vec()));
    let line = "Compared long.inner_lanes_0 <= 99: false; the parameter is 100.\n";
    // The warm-up run is logged too.
    assert_eq!(outcome.stderr, line.repeat(2));
    let set = "--param=long.inner_lanes_0=3";
    let outcome = exe(&["-e", "long", "-L", set], b"99");
    let line = "Compared long.inner_lanes_0 <= 99: true; the parameter is 3.\n";
    assert!(outcome.stderr.contains(line), "{}", outcome.stderr);
}

/// Output that accepts a few bytes and then fails.
struct Full(usize, io::ErrorKind);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = bytes.len().min(self.0);
        self.0 -= n;
        if n == 0 { Err(self.1.into()) } else { Ok(n) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    for (kind, quiet) in [(io::ErrorKind::StorageFull, false), (io::ErrorKind::BrokenPipe, true)] {
        for (entry, stdin, capacity) in
            [("swap", "1.5 true", 0), ("big", "100000", 0), ("big", "100000", 100_000)]
        {
            let mut stderr = Vec::new();
            let code = run(
                programs::image(),
                ["./test", "-e", entry, "-D"].iter().map(Into::into),
                Streams {
                    stdin: Reader::new(stdin.as_bytes()),
                    stdout: &mut Full(capacity, kind),
                    stderr: &mut stderr,
                },
            );
            assert_eq!(code, 1);
            let stderr = String::from_utf8_lossy(&stderr);
            assert_eq!(stderr.contains("cannot write"), !quiet, "{stderr}");
        }
    }
}
