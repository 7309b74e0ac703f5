//! `bindrune tune` as users run it: output, messages on invalid input, and files left by an
//! interruption.

use crate::process::{Folder, bindrune, command, finish};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// A program with two thresholds, and a data set that determines the versions run.
const ROWS: &str = "\
-- ==
-- entry: squares
-- input { [[1i64, 2i64], [3i64, 4i64]] } output { [5i64, 25i64] }
entry squares [n][m] (xss: [n][m]i64) : [n]i64 =
  map (\\xs -> i64.sum (map (\\x -> x * x) xs)) xss
";
const OUTER: &str = "squares.suff_outer_par_0";
const INTRA: &str = "squares.suff_intra_par_0";

fn read(path: impl AsRef<std::path::Path>) -> String {
    std::fs::read_to_string(path).expect("the file exists")
}

/// The names in a directory, sorted.
fn names(folder: &Folder) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path("")).expect("the folder is there");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<String> = names.map(|name| name.to_string_lossy().into()).collect();
    names.sort();
    names
}

#[test]
fn tuning_file_is_written_and_found_by_other_commands() {
    let folder = Folder::new();
    let program = folder.file("rows.fut", ROWS);
    let kept = "-- By hand.\nsquares.suff_outer_pa_0=3\n";
    folder.file("rows.fut.tuning", kept);
    let done = bindrune(&["tune", "--runs", "2", &program], "");
    let (text, said) = (done.text(), &done.stderr);
    assert_eq!(done.code, 0, "{done:?}");
    // An unknown parameter is reported with the nearest known one, and its line is kept.
    let warning = "line 2: the program has no tuning parameter `squares.suff_outer_pa_0`";
    assert!(said.contains(warning) && said.lines().count() == 1, "{said}");
    assert!(said.contains(&format!("did you mean `{OUTER}`?")), "{said}");
    // The run time is below the clock's resolution.
    let is_reported = text.contains("written to") && text.contains("1.00x");
    assert!(is_reported && !text.contains("0.00x"), "{text}");
    let written = read(folder.path("rows.fut.tuning"));
    assert!(written.starts_with(kept), "{written}");
    for name in [OUTER, INTRA] {
        assert!(written.contains(&format!("{name}=")), "{written}");
    }
    let worst = ["tune", "--runs", "2", "--cost", "worst", &program];
    assert_eq!(bindrune(&worst, "").code, 0);
    let files = ["rows.fut", "rows.fut.tuning", "rows.fut.tuning.json"];
    assert_eq!(names(&folder), files);
}

#[test]
fn invalid_input_is_reported_and_keeps_files() {
    let folder = Folder::new();
    let program = folder.file("rows.fut", ROWS);
    bindrune(&["tune", &program, "--cost", "most"], "").fails(&["there is no cost function `most`"]);
    let damaged = "squares.suff_outer_par_0: 1\n";
    let tuning = folder.file("rows.fut.tuning", damaged);
    bindrune(&["tune", &program], "").fails(&["line 1: must be of the form NAME=N"]);
    assert_eq!(read(&tuning), damaged);
    let none = folder.file("none.fut", "entry main (x: i64) = x\n");
    bindrune(&["tune", &none], "").fails(&["the program has no data set"]);
    // An invalid data set does not change the values found on others.
    let second = "-- \"second\" input { [[2i64, 2i64]] } output { [9i64] }\nentry squares";
    let wrong = folder.file("wrong.fut", ROWS.replace("entry squares", second));
    let before = format!("{OUTER}=7\n");
    folder.file("wrong.fut.tuning", &before);
    bindrune(&["tune", &wrong], "").fails(&["data set second: ", "expected 9i64, got 8i64"]);
    assert_eq!(read(folder.path("wrong.fut.tuning")), before);
    // Completed runs are kept in the journal, and failed ones are repeated.
    let left = "wrong.fut.tuning.part";
    assert!(read(folder.path(left)).lines().count() == 2, "{left}");
    folder.file("wrong.fut", read(&wrong).replace("9i64", "8i64"));
    let done = bindrune(&["tune", "--runs", "2", "--resume", &wrong], "").quiet();
    assert!(done.text().contains("written to"), "{done:?}");
    assert!(!names(&folder).contains(&left.to_owned()));
}

#[test]
fn write_errors_are_reported_and_keep_files() {
    let folder = Folder::new();
    let program = folder.file("rows.fut", ROWS);
    let before = format!("{OUTER}=7\n");
    folder.file("rows.fut.tuning", &before);
    let tune = ["tune", "--runs", "2", &*program];
    let full = bindrune(&[&tune[..], &["--json", "/dev/full"]].concat(), "");
    full.fails(&["cannot write /dev/full: No space left on device"]);
    folder.file("rows.fut.tuning", &before);
    // A read-only directory. As root may write anyway, another user runs the command.
    let path = folder.path("");
    let mode = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode));
    mode(0o555).expect("permissions can be set");
    let mut other = command(&tune);
    if std::fs::metadata(&path).expect("the folder").uid() == 0 {
        other.uid(65534);
    }
    finish(&mut other, b"").fails(&["cannot write", "rows.fut.tuning.part: Permission denied"]);
    mode(0o755).expect("permissions can be set");
    assert_eq!(read(folder.path("rows.fut.tuning")), before);
    // With a limit on file sizes, the journal reaches it first.
    let block = |n| format!("-- input {{ [[{n}i64, 2i64]] }}\n");
    let blocks: String = (0..20).map(block).collect();
    let many = ROWS.replace("entry squares", &(blocks + "entry squares"));
    folder.file("rows.fut", many);
    bindrune(&["build", &program, "-o", &folder.path("rows")], "").quiet();
    let skip = [&tune[..], &["--skip-compilation"]].concat();
    let limited = |args: &[&str]| {
        let mut limited = Command::new("sh");
        limited.args(["-c", "ulimit -f 4; exec \"$@\"", "sh"]);
        limited.arg(env!("CARGO_BIN_EXE_bindrune")).args(args);
        finish(limited.stdout(Stdio::piped()), b"")
    };
    let part = "rows.fut.tuning.part";
    limited(&skip).fails(&[part, "File too large", "--resume continues from"]);
    assert_eq!(read(folder.path("rows.fut.tuning")), before);
    let known = read(folder.path(part)).lines().count();
    assert!(known > 1, "{known}");
    let done = bindrune(&[&skip[..], &["--resume"]].concat(), "").quiet();
    assert!(done.text().contains("written to"), "{done:?}");
    assert!(!names(&folder).contains(&part.to_owned()));
}

/// Ctrl-C after all data sets have run once, but before all of their paths have.
#[test]
fn interrupted_run_writes_best_values_and_is_resumed() {
    let folder = Folder::new();
    let program = "\
-- ==
-- \"first\" random input { [300][2000]i64 }
-- \"second\" random input { [200][3000]i64 }
entry main [n][m] (xss: [n][m]i64) : [n]i64 =
  map (\\xs -> i64.sum (map (\\x -> loop x = x for i < 20 do x * x % 1000003 + i) xs)) xss
";
    let program = folder.file("long.fut", program);
    folder.file("long.fut.tuning", "-- By hand.\nmain.other_0=3\n");
    let mut tune = command(&["tune", "-v", "--runs", "3", &program]);
    tune.stdin(Stdio::null()).stderr(Stdio::piped());
    let mut child = tune.spawn().expect("the process starts");
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let defaults = |line: &String| line.ends_with(": defaults");
    let seen: Vec<String> =
        (lines.by_ref().map(|line| line.expect("text"))).filter(defaults).take(2).collect();
    assert!(seen[1].contains("second"), "{seen:?}");
    let id = child.id().to_string();
    let sent = Command::new("kill").args(["-INT", &id]).status();
    assert!(sent.expect("kill starts").success());
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    let mut text = String::new();
    let mut stdout = child.stdout.take().expect("a pipe");
    stdout.read_to_string(&mut text).expect("text");
    let status = child.wait().expect("the process ends");
    assert_eq!(status.code(), Some(1), "{text}{rest:?}");
    let part = "long.fut.tuning.part";
    for said in ["the best values so far are written to", "--resume continues from", part] {
        assert!(text.contains(said), "{text}{rest:?}");
    }
    let tuning = read(folder.path("long.fut.tuning"));
    assert!(tuning.starts_with("-- By hand.\nmain.other_0=3\n"), "{tuning}");
    assert!(tuning.contains("main.suff_outer_par_0=16\n"), "{tuning}");
    assert!(names(&folder).contains(&part.to_owned()));
    let done = bindrune(&["tune", "-v", "--runs", "3", "--resume", &program], "");
    assert_eq!(done.code, 0, "{done:?}");
    let again = done.stderr.lines().filter(|line| line.ends_with(" us: defaults"));
    assert_eq!(again.count(), 0, "{done:?}");
    assert!(!names(&folder).contains(&part.to_owned()));
}

/// Custom parameters are searched, but values that change results are rejected.
#[test]
fn custom_parameters_are_searched_unless_results_depend_on_them() {
    let folder = Folder::new();
    let program = "\
-- ==
-- random input { [100000]i64 }
entry main [n] (xs: [n]i64) : (i64, i64) =
  let size = #[param(block)] 1
  let more = #[param(more)] 3
  let sum i = i64.sum (map (\\j -> if j < n then xs[j] else 0) (i * size..<(i + 1) * size))
  in (i64.sum (map sum (iota ((n + size - 1) / size))), more)
";
    let program = folder.file("blocks.fut", program);
    folder.file("blocks.fut.tuning", "more=9\n");
    let json = folder.path("json");
    let done = bindrune(&["tune", "--runs", "3", "--json", &json, &program], "").quiet();
    let tuning = read(folder.path("blocks.fut.tuning"));
    // One block per element takes a hundred times as long as large blocks.
    let block = tuning.lines().find_map(|line| line.strip_prefix("block="));
    let block: i64 = block.and_then(|n| n.parse().ok()).expect("a value");
    assert!(block >= 64, "{tuning}");
    assert!(!tuning.contains("more="), "{tuning}{}", done.text());
    let json: serde_json::Value = serde_json::from_str(&read(json)).expect("the file is JSON");
    let tried = json[&program]["tried"].as_array().expect("a list");
    let of = |name: &str| {
        let own = tried.iter().filter(|one| one["parameter"] == name);
        own.collect::<Vec<_>>()
    };
    // Seven values and that of the file; none of them preserves the results.
    assert!(of("more").len() == 8 && of("more").iter().all(|one| one["cost"].is_null()));
    assert!(of("block").iter().any(|one| one["cost"].is_f64()));
    let report = bindrune(&["explain", "--tuning", &program], "").quiet();
    assert!(report.text().contains(&format!("block (custom): {block}; ")), "{report:?}");
    assert!(report.text().contains("more (custom): the program's own value; 8 tried"));
}

/// Grain sizes are tried around their defaults, except with `--thresholds-only`.
#[test]
fn grain_sizes_are_tuned() {
    let folder = Folder::new();
    let program = folder.file("rows.fut", ROWS);
    let json = folder.path("json");
    let tried = |more: &[&str]| {
        let options = ["tune", "--runs", "2", "--json", &json, &program];
        bindrune(&[&options, more].concat(), "").quiet();
        let json: serde_json::Value = serde_json::from_str(&read(&json)).expect("the file is JSON");
        let tried = json[&program]["tried"].as_array().expect("a list");
        let of_size = tried.iter().map(|one| {
            let name = one["parameter"].as_str().expect("a name").to_owned();
            assert!(name.starts_with("squares.grain_"), "{name}");
            let default = json[&program]["defaults"][&name].as_i64();
            let default = default.expect("a default");
            let value = one["value"].as_i64().expect("a value");
            assert!(value == default / 16 || value >= 2 * default, "{one}");
            name
        });
        of_size.collect::<Vec<_>>()
    };
    assert!(tried(&[]).contains(&"squares.grain_size_0".to_owned()));
    std::fs::remove_file(folder.path("rows.fut.tuning")).expect("the file was written");
    assert!(tried(&["--thresholds-only"]).is_empty());
}

/// A value passed to all runs is not taken for the default of a custom parameter.
#[test]
fn custom_parameters_are_searched_when_a_value_is_passed() {
    let folder = Folder::new();
    let program = "-- ==\n-- input { 3i64 } output { 3i64 }\n\
        entry main (x: i64) = x + #[param(block)] 0 * 0\n";
    let program = folder.file("one.fut", program);
    let json = folder.path("json");
    let options = ["tune", "--runs", "2", "--json", &json, &program];
    let passed = [&options[..], &["--pass-option=--param=block=0"]].concat();
    bindrune(&passed, "").quiet();
    let json: serde_json::Value = serde_json::from_str(&read(&json)).expect("the file is JSON");
    assert!(json[&program]["defaults"]["block"].is_null());
    let tried = json[&program]["tried"].as_array().expect("a list");
    assert_eq!(tried.len(), 7);
}
