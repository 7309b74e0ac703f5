//! Built executables: options, arguments and results.

use crate::process::{Finished, Folder, bindrune, finish, sample, sample_command};
use std::process::{Command, Stdio};
use value::Reader;

#[test]
fn text_values_are_read_and_written() {
    assert_eq!(sample(&[], "[1, 2, 3]").quiet().text(), "6i32\n");
    assert_eq!(sample(&["-e", "dot"], "[1f64, 2f64] [0.5, 4]").quiet().text(), "8.5f64\n");
    assert_eq!(sample(&["--entry-point=both"], "1 3").quiet().text(), "2i32\n1.5f32\n");
    assert_eq!(sample(&["-e", "squares"], "0i64").quiet().text(), "empty([0]i64)\n");
    assert_eq!(sample(&["-e", "flags"], "[true, false]").quiet().text(), "[false, true]\n");
    assert_eq!(sample(&["-e", "nothing"], "1").quiet().text(), "()\n");
    sample(&["-e", "record"], "1").fails(&["{a: i32, b: f32}", "no text"]);
    sample(&["-e", "record", "-b"], "1").fails(&["{a: i32, b: f32}", "no text"]);
    assert_eq!(sample(&["-e", "record", "-n"], "1").quiet().text(), "");
}

#[test]
fn binary_values_are_read_and_written() {
    let out = sample(&["-e", "squares", "-b"], "5").quiet();
    let mut reader = Reader::from_slice(&out.stdout);
    let value = reader.read_any().expect("a value").expect("a value");
    assert_eq!(value.elements::<i64>(), Some(&[0, 1, 4, 9, 16][..]));
    let more = sample(
        &["-e", "gather"],
        [&b"[7, 8, 9] "[..], &{
            let mut bytes = Vec::new();
            let indexes = value::Value::from_slice(&[2], &[2i64, 0]).expect("a value");
            value::write_binary(&mut bytes, &indexes).expect("memory takes everything");
            bytes
        }]
        .concat(),
    );
    assert_eq!(more.quiet().text(), "[9i32, 7i32]\n");
}

#[test]
fn runs_are_counted_and_timed() {
    let folder = Folder::new();
    let times = folder.path("times");
    let args = ["-e", "consume", "-r", "7", "-t", &times];
    // Each run gets the original argument.
    assert_eq!(sample(&args, "[1, 2]").quiet().text(), "[2i32, 2i32]\n");
    let written = std::fs::read_to_string(&times).expect("the times were written");
    let lines: Vec<&str> = written.lines().collect();
    assert_eq!(lines.len(), 7);
    assert!(lines.iter().all(|line| line.parse::<u64>().is_ok()), "{written}");
    assert_eq!(sample(&["-n", "-t", &times], "[1]").quiet().text(), "");
    let written = std::fs::read_to_string(&times).expect("the times were written");
    assert_eq!(written.lines().count(), 1);
}

#[test]
fn debug_report_has_counters_and_no_leaks() {
    let finished = sample(&["-D", "-e", "squares", "--num-threads=2"], "1000");
    assert_eq!(finished.code, 0);
    for part in ["2 threads", "took", "peak memory"] {
        assert!(finished.stderr.contains(part), "{}", finished.stderr);
    }
    assert!(!finished.stderr.contains("leaked"), "{}", finished.stderr);
    // The result alone takes 8,000 bytes.
    let peak = finished
        .stderr
        .lines()
        .find_map(|line| line.strip_prefix("peak memory: "))
        .and_then(|rest| rest.split(' ').next()?.parse::<u64>().ok());
    assert!(peak.is_some_and(|bytes| (8_000..100_000).contains(&bytes)), "{}", finished.stderr);
}

/// The counts in the rows of a profile, by the kind of nest: times, operations on f32, f64 and i32, bytes read and
/// written.
fn counts_of_nests(report: &str) -> Vec<(String, Vec<String>)> {
    let rows = report.lines().skip_while(|line| !line.ends_with("parallel nest")).skip(1);
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let counts = [0, 3, 4, 5, 6, 7].map(|at| words[at].to_owned());
        (words[8].split('#').next().unwrap_or_default().to_owned(), counts.to_vec())
    };
    rows.map(row).collect()
}

#[test]
fn profile_counts_operations_and_bytes_of_nests() {
    let folder = Folder::new();
    let program = folder.file(
        "nests.fut",
        "entry product [n][m][k] (xs: [n][k]f32) (ys: [k][m]f32): [n][m]f32 =\n\
           map (\\x -> map (\\y -> f32.sum (map2 (*) x y)) (transpose ys)) xs\n\
         entry powers [n] (k: i32) (xs: [n]f64): [n]f64 =\n\
           loop xs = copy xs for _i < k do map (\\x -> x * x + 1) (rotate 1 xs)\n\
         entry halves [n] (xs: [n]i32): [n]i32 =\n\
           map (\\x -> (loop (x, steps) = (x, 0i32) while x > 0 do (x / 2, steps + 1)).1) xs\n",
    );
    let counts = |entry: &str, input: &str| {
        let done = bindrune(&["run", "--profile", &program, "-n", "-P", "-r", "2", "-e", entry], input);
        assert_eq!(done.code, 0, "{}", done.stderr);
        let mut rows = counts_of_nests(&done.stderr);
        let calls = rows.pop().expect("a row for all calls");
        assert_eq!((calls.0.as_str(), calls.1[0].as_str()), ("all", "2"));
        rows.retain(|(name, _)| name.ends_with("segmap"));
        rows
    };
    let row =
        |entry: &str, counts: [&str; 6]| (format!("{entry}.segmap"), counts.map(str::to_owned).to_vec());
    // Of two runs: 2 * 2 * 4 * 3 operations, 2 * 3 and 3 * 4 elements, and 2 * 4 results.
    let product =
        counts("product", "[[1f32, 2, 3], [4, 5, 6]] [[1f32, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]");
    assert_eq!(product, [row("product", ["2", "96", "0", "0", "144", "64"])]);
    // A fused multiply-add per element.
    let powers = counts("powers", "3i32 [1f64, 2, 3, 4, 5]");
    assert_eq!(powers, [row("powers", ["6", "0", "60", "0", "240", "240"])]);
    // A comparison, and an iteration with a quotient, a sum and a comparison, for each element.
    let halves = counts("halves", "[1i32, 100]");
    assert_eq!(halves, [row("halves", ["2", ">=0", ">=0", ">=76", "16", "16"])]);
    // Without the option there are no rows.
    let done = bindrune(&["run", &program, "-n", "-P", "-e", "halves"], "[1i32]");
    assert_eq!(counts_of_nests(&done.stderr), []);
}

#[test]
fn out_of_memory_reports_the_location() {
    let folder = Folder::new();
    let program = folder.file(
        "large.fut",
        "entry main (n: i64) = map (+ 1i64) (iota n)\n\
         entry wide (n: i64) = replicate n (replicate n 1i64)\n",
    );
    let run = |entry: &str, stdin: &str| bindrune(&["run", &program, "-e", entry], stdin);
    run("main", "1000000000000")
        .fails(&["out of memory: cannot allocate 8000000000000 bytes", "large.fut:1:23-"]);
    run("wide", "4000000000")
        .fails(&["the size of an array in bytes does not fit into 63 bits", "large.fut:2:23-"]);
}

#[test]
fn excess_input_reports_the_number_of_arguments() {
    sample(&["-e", "squares"], "4 5").fails(&["more input after the 1 argument of `squares`"]);
    sample(&["-e", "dot"], "[1] [2] 3").fails(&["more input after the 2 arguments of `dot`"]);
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let input: String = (0..200_000).fold("[0.1f64".to_owned(), |mut text, i| {
        text.push_str(if i % 3 == 0 { ", 1e-3" } else { ", 7.77" });
        text
    }) + "]";
    let run = |threads: &str| {
        sample(&["-e", "dot", "--num-threads", threads], format!("{input}{input}")).quiet().text().to_owned()
    };
    let one = run("1");
    assert_eq!((run("2"), run("4"), run("3")), (one.clone(), one.clone(), one));
}

#[test]
fn help_lists_options_and_invalid_options_are_errors() {
    let help = sample(&["--help"], "").quiet();
    for option in
        ["-e", "-t", "-r", "-b", "-n", "-D", "--num-threads", "--memory-limit", "--tuning", "--log-versions"]
    {
        assert!(help.text().contains(option), "{}", help.text());
    }
    sample(&["--frobnicate"], "").fails(&["--frobnicate", "--help"]);
    sample(&["-r", "0"], "").fails(&["positive"]);
    sample(&["-e", "none"], "").fails(&["no entry point `none`", "dot", "gather"]);
    sample(&["-t", "/does/not/exist"], "[1]").fails(&["/does/not/exist"]);
}

#[test]
fn executables_depend_on_the_c_library_only() {
    let program = sample_command(&[]).get_program().to_owned();
    let mut ldd = Command::new("ldd");
    let done = finish(ldd.arg(program).stdout(Stdio::piped()), b"");
    let names = done.text().lines().filter_map(|line| line.split_whitespace().next());
    // The kernel's vDSO and the loader are not installed libraries.
    let other = |name: &&str| !name.contains("vdso") && !name.contains("ld-linux");
    let names: Vec<&str> = names.filter(other).collect();
    assert_eq!(names, ["libc.so.6"], "{done:?}");
}

/// Runs a portable executable with these arguments.
fn portable(executable: &str, args: &[&str]) -> Finished {
    let mut command = Command::new(executable);
    command.args(args).stdout(Stdio::piped());
    finish(&mut command, b"100000i64")
}

#[test]
fn portable_executables_select_code_by_cpu_level() {
    let folder = Folder::new();
    let source = "def table = map f64.i64 (iota 10)
entry main (n: i64) : (f64, f64) =
  let terms = map (\\i -> f64.sin (f64.i64 i) * table[i % 10] + f64.exp (-0.001 * f64.i64 i)) (iota n)
  in (reduce (+) 0 terms, f64.maximum terms)
entry fails (n: i64) : []i64 = map (\\i -> 1 / (i - 7)) (iota n)
";
    let program = folder.file("both.fut", source);
    let executable = folder.path("both");
    let args = ["build", "--cpu", "portable", &program, "-o", &executable];
    bindrune(&args, "").quiet();

    let levels = harness::processors::levels();
    let best = portable(&executable, &[]).quiet();
    let native = bindrune(&["run", &program], "100000i64").quiet();
    assert_eq!(best.stdout, native.stdout);
    let here = bindrune(&["run", "--cpu", "portable", &program], "100000i64").quiet();
    assert_eq!(here.stdout, native.stdout);
    let said = portable(&executable, &["-L"]).stderr;
    let last = levels.last().expect("this machine has a level");
    assert!(said.contains(&format!("code for x86-64-{last}")), "{said}");
    for level in ["v2", "v3", "v4"] {
        let option = format!("--cpu-level={level}");
        let finished = portable(&executable, &[&option]);
        if !levels.contains(&level) {
            finished.fails(&["this processor", level]);
            continue;
        }
        assert_eq!(finished.quiet().stdout, native.stdout, "{level}");
        let said = portable(&executable, &[&option, "-L"]).stderr;
        assert!(said.contains(&format!("code for x86-64-{level}")), "{said}");
        portable(&executable, &[&option, "-e", "fails"]).fails(&["division by zero", "both.fut:5"]);
    }
    portable(&executable, &["--cpu-level", "v1"]).fails(&["v2, v3 or v4"]);
    sample(&["--cpu-level=v2"], "[1]").fails(&["--cpu portable"]);
}
