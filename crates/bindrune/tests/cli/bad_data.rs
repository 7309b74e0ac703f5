//! Wrong arguments, and programs that fail on their arguments.

use crate::process::{Folder, SAMPLE, bindrune, sample, sample_command};

#[test]
fn invalid_arguments_are_errors_with_expected_and_actual_types() {
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

/// A value in the binary format: type, dimensions, elements.
fn binary(version: u8, ty: &str, dims: &[i64], elements: &[u8]) -> Vec<u8> {
    let mut bytes = vec![b'b', version, dims.len() as u8];
    bytes.extend_from_slice(ty.as_bytes());
    bytes.extend(dims.iter().flat_map(|dim| dim.to_le_bytes()));
    bytes.extend_from_slice(elements);
    bytes
}

#[test]
fn corrupt_or_truncated_binary_data_is_an_error() {
    let one = [1, 0, 0, 0];
    let good = binary(2, " i32", &[1], &one);
    assert_eq!(sample(&[], &good).quiet().text(), "1i32\n");
    for length in 0..good.len() {
        sample(&[], &good[..length]).fails(&["argument 1", "`xs`", "[]i32"]);
    }
    let main = |bytes: &[u8], parts: &[&str]| {
        let all = [&["argument 1", "`xs`", "[]i32"], parts].concat();
        sample(&[], bytes).fails(&all);
    };
    for version in [0, 1, 3, 255] {
        main(&binary(version, " i32", &[1], &one), &["version"]);
    }
    for ty in ["i32 ", " i33", "\0\0\0\0", "    ", "[]i3"] {
        main(&binary(2, ty, &[1], &one), &["type"]);
    }
    main(&binary(2, " i64", &[1], &[0; 8]), &["[]i64"]);
    main(&binary(2, " i32", &[], &one), &["i32"]);
    main(&binary(2, " i32", &[1, 1], &one), &["[][]i32"]);
    main(&binary(2, " i32", &[1; 255], &one), &["[][][]"]);
    for size in [-1, i64::MIN] {
        main(&binary(2, " i32", &[size], &one), &["invalid size"]);
    }
    // The header announces more elements than there are, than fit in memory, than a 64-bit size can
    // hold.
    for size in [2, 1 << 20, 1 << 40, 1 << 61, 1 << 62, i64::MAX] {
        main(&binary(2, " i32", &[size], &one), &[]);
    }
    // The length of a pipe is unknown in advance; that of a file is known.
    let folder = Folder::new();
    for size in [2, 1 << 40, i64::MAX] {
        let file = folder.file("data", binary(2, " i32", &[size], &one));
        let mut command = sample_command(&[]);
        let status = command
            .stdin(std::fs::File::open(file).expect("the file is there"))
            .output()
            .expect("the process starts");
        assert_eq!(status.status.code(), Some(1), "{status:?}");
        let message = String::from_utf8_lossy(&status.stderr);
        assert!(message.contains("argument 1"), "{message}");
    }
    // Products of sizes that overflow to small numbers.
    let program = folder.file("p.fut", "entry main (xss: [][]i32) = map (reduce (+) 0) xss\n");
    for dims in
        [[1 << 32, 1 << 32], [1 << 62, 4], [i64::MAX, i64::MAX], [-1, -1], [-2, 2], [1 << 33, (1 << 31) + 1]]
    {
        bindrune(&["run", &program], binary(2, " i32", &dims, &one)).fails(&["argument 1", "xss"]);
    }
    // An array without elements needs no memory, however large its other size is.
    let none = binary(2, " i32", &[0, i64::MAX], &[]);
    assert_eq!(bindrune(&["run", &program], none).quiet().text(), "empty([0]i32)\n");
    sample(&["-e", "flags"], binary(2, "bool", &[1], &[2])).fails(&["argument 1", "bool"]);
}

/// The line number of the sample's line with this prefix.
fn line(start: &str) -> usize {
    1 + SAMPLE.lines().position(|line| line.starts_with(start)).expect("the line is there")
}

#[test]
fn failures_in_tasks_have_a_message_and_location() {
    let many = |f: fn(i64) -> i64, count: i64| {
        let all: Vec<String> = (0..count).map(|i| f(i).to_string()).collect();
        format!("[{}]", all.join(", "))
    };
    let at = |start: &str, offset: usize| format!(".fut:{}:", line(start) + offset);
    for threads in ["1", "4"] {
        let run = |entry, stdin: &str| sample(&["--num-threads", threads, "-e", entry], stdin);
        let indexes = many(|i| if i == 77_777 { 123 } else { i % 3 }, 100_000);
        run("gather", &format!("[1, 2, 3] {indexes}"))
            .fails(&["Index [123] out of bounds for array of shape [3]", &at("entry gather", 1)]);
        run("divide", "100000 99999").fails(&["division by zero", &at("entry divide", 0)]);
        let numbers = many(|i| 99_998 - i, 100_000);
        run("positive", &numbers).fails(&["ssert", &at("entry positive", 0)]);
        run("fit", "[1, 2, 3] [1, 2]").fails(&["3", "2", &at("entry fit", 0)]);
        run("fill", "-5 1").fails(&["-5", &at("entry fill", 0)]);
    }
}

#[test]
fn out_of_memory_reports_request_and_limit() {
    sample(&["-e", "fill", "--memory-limit", "1M"], "1000000 7").fails(&["8000000", "1048576"]);
    // More than the memory of any machine, and more than a 64-bit size.
    sample(&["-e", "fill"], "1000000000000000 7").fails(&["memory", "8000000000000000"]);
    sample(&["-e", "fill"], "9223372036854775807 7").fails(&["does not fit"]);
    sample(&["-e", "table"], "4294967296 4294967296").fails(&["does not fit"]);
    sample(&["--memory-limit", "1K"], format!("[{}1]", "1, ".repeat(1000))).fails(&["argument 1", "memory"]);
}

#[test]
fn run_and_dev_fail_with_the_messages_of_executables() {
    let folder = Folder::new();
    let program = folder.file("sample.fut", SAMPLE);
    let location = format!("sample.fut:{}:", line("entry gather") + 1);
    let parts = ["Index [3] out of bounds for array of shape [2]", &location];
    bindrune(&["run", &program, "-e", "gather"], "[1, 2] [0, 3]").fails(&parts);
    bindrune(&["dev", &program, "--stage", "segs", "--run", "-e", "gather"], "[1, 2] [0, 3]")
        .fails(&["out of bounds", &location]);
}
