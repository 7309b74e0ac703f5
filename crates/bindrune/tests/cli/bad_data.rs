//! Wrong arguments, and programs that fail on the arguments that they got.

use crate::process::{Folder, SAMPLE, bindrune, sample};

#[test]
fn wrong_arguments_are_named_with_what_was_expected_and_what_came() {
    let main = |stdin: &str, parts: &[&str]| {
        let all = [&["argument 1", "`xs`", "[]i32"], parts].concat();
        sample(&[], stdin).fails(&all);
    };
    main("", &["end of the input"]);
    main("1", &["[]i32", "1"]);
    main("[1.5]", &["1.5"]);
    main("[1f64]", &["1f64"]);
    main("[1, [2]]", &["["]);
    main("[[1], [2]]", &["["]);
    main("[1, 2", &["end of the input"]);
    main("[1, 99999999999]", &["99999999999"]);
    main("empty([0]f32)", &["f32"]);
    main("[1, \u{e9}]", &["\\xc3"]);
    sample(&["-e", "dot"], "[1.0] [1.0, 2.0]").fails(&["size", ".fut:2:7"]);
    sample(&["-e", "dot"], "[1.0]").fails(&["argument 2", "`ys`", "[]f64"]);
    sample(&["-e", "both"], "1 true").fails(&["argument 2", "`y`", "f32", "true"]);
    sample(&[], "[1] 2").fails(&["more input", "1 argument"]);
    sample(&[], b"[1, \xff]").fails(&["argument 1"]);
    // Binary values carry their type.
    let mut binary = Vec::new();
    let value = value::Value::from_slice(&[1], &[1i64]).expect("a value");
    value::write_binary(&mut binary, &value).expect("memory takes everything");
    sample(&[], &binary).fails(&["argument 1", "[]i32", "[]i64"]);
    binary.pop();
    sample(&["-e", "gather"], [b"[1] ", &binary[..]].concat()).fails(&["argument 2", "`is`"]);
    sample(&[], b"b\x02\x7f i32").fails(&["argument 1"]);
}

/// The number of a line of the sample that begins with this text.
fn line(start: &str) -> usize {
    1 + SAMPLE
        .lines()
        .position(|line| line.starts_with(start))
        .expect("the line is there")
}

#[test]
fn failures_in_tasks_say_what_and_where() {
    let many = |f: fn(i64) -> i64, count: i64| {
        let all: Vec<String> = (0..count).map(|i| f(i).to_string()).collect();
        format!("[{}]", all.join(", "))
    };
    let at = |start: &str, offset: usize| format!(".fut:{}:", line(start) + offset);
    for threads in ["1", "4"] {
        let run = |entry, stdin: &str| sample(&["--num-threads", threads, "-e", entry], stdin);
        let indexes = many(|i| if i == 77_777 { 123 } else { i % 3 }, 100_000);
        run("gather", &format!("[1, 2, 3] {indexes}")).fails(&[
            "Index [123] out of bounds for array of shape [3]",
            &at("entry gather", 1),
        ]);
        run("divide", "100000 99999").fails(&["division by zero", &at("entry divide", 0)]);
        let numbers = many(|i| 99_998 - i, 100_000);
        run("positive", &numbers).fails(&["ssert", &at("entry positive", 0)]);
        run("fit", "[1, 2, 3] [1, 2]").fails(&["3", "2", &at("entry fit", 0)]);
        run("fill", "-5 1").fails(&["-5", &at("entry fill", 0)]);
    }
}

#[test]
fn out_of_memory_says_how_much_was_wanted_and_the_limit() {
    sample(&["-e", "fill", "--memory-limit", "1M"], "1000000 7").fails(&["8000000", "1048576"]);
    // More than any machine has, and more than any number says.
    sample(&["-e", "fill"], "1000000000000000 7").fails(&["memory", "8000000000000000"]);
    sample(&["-e", "fill"], "9223372036854775807 7").fails(&["does not fit"]);
    sample(&["-e", "table"], "4294967296 4294967296").fails(&["does not fit"]);
    sample(
        &["--memory-limit", "1K"],
        format!("[{}1]", "1, ".repeat(1000)),
    )
    .fails(&["argument 1", "memory"]);
}

#[test]
fn failures_of_run_and_dev_are_the_same_as_those_of_executables() {
    let folder = Folder::new();
    let program = folder.file("sample.fut", SAMPLE);
    let place = format!("sample.fut:{}:", line("entry gather") + 1);
    let parts = ["Index [3] out of bounds for array of shape [2]", &place];
    bindrune(&["run", &program, "-e", "gather"], "[1, 2] [0, 3]").fails(&parts);
    bindrune(
        &["dev", &program, "--stage", "segs", "--run", "-e", "gather"],
        "[1, 2] [0, 3]",
    )
    .fails(&["out of bounds", &place]);
}
