//! Tuning parameters as users set them: executables, `run`, `dev`, `test`, `bench`.
//!
//! The programs have a map of reductions and a map of scans. From a threshold of rows on, the rows
//! are tasks, and vector lanes share long rows. With fewer rows each row is partitioned into tasks,
//! if there is enough work.

use crate::process::{Finished, Folder, bindrune, finish};
use std::process::{Command, Stdio};

/// A program with two entry points, each with several parameters.
const ROWS: &str = "\
-- ==
-- entry: squares
-- input { [[1f32, 2f32, 3f32]] } output { [14f32] }
entry squares [n][m] (xss: [n][m]f32) : [n]f32 =
  map (\\xs -> f32.sum (map (\\x -> x * x) xs)) xss
entry running [n][m] (xss: [n][m]f32) : [n][m]f32 = map (scan (+) 0) xss
";
const INPUT: &str = "[[1f32, 2f32, 3f32], [4f32, 5f32, 6f32]]";
const SQUARES: &str = "[14f32, 77f32]\n";
/// A threshold that the input's rows reach.
const ENOUGH: &str = "--param=squares.suff_outer_par_0=2";
const IS_ENOUGH: &str = "\
Compared squares.suff_outer_par_0 <= 2: true; the parameter is 2.
Compared squares.suff_intra_par_0 <= 6: false; the parameter is 512000.
";

fn executable(folder: &Folder) -> impl Fn(&[&str], &str) -> Finished + use<> {
    let program = folder.file("rows.fut", ROWS);
    let path = folder.path("rows");
    bindrune(&["build", &program, "-o", &path], "").quiet();
    move |args, stdin| {
        let mut command = Command::new(&path);
        command.args(args).stdout(Stdio::piped());
        finish(&mut command, stdin.as_bytes())
    }
}

/// The lines of a log that report comparisons.
fn compared(log: &str) -> String {
    let lines = log.split_inclusive('\n');
    lines.filter(|line| !line.starts_with("Divided ")).collect()
}

#[test]
fn executables_list_accept_and_log_parameters() {
    let folder = Folder::new();
    let rows = executable(&folder);
    let listed = rows(&["--print-params"], "").quiet();
    let (first, second) = ("running.inner_lanes_0", "squares.inner_lanes_0");
    let mut lines: Vec<&str> = listed.text().lines().collect();
    lines.sort_unstable();
    let thresholds = [
        first,
        "running.suff_intra_par_0",
        "running.suff_outer_par_0",
        second,
        "squares.suff_intra_par_0",
        "squares.suff_outer_par_0",
    ];
    // Each nest has tasks of rows, with and without shared lanes, and tasks in tasks.
    let sizes = ["running", "squares"]
        .into_iter()
        .flat_map(|entry| (0..4).map(move |at| format!("{entry}.grain_size_{at}")));
    let sizes: Vec<String> = sizes.collect();
    let mut listed: Vec<String> = sizes.iter().map(|name| format!("{name} (size)")).collect();
    listed.extend(thresholds.map(|name| format!("{name} (threshold)")));
    listed.sort_unstable();
    assert_eq!(lines, listed);
    let all = thresholds.into_iter().chain(sizes.iter().map(String::as_str));
    let all: Vec<&str> = all.collect();

    // The printed values form a tuning file.
    let values = rows(&["--print-values", "--param", &format!("{first}=5")], "").quiet();
    assert_eq!(values.text().lines().count(), all.len());
    assert!(values.text().contains(&format!("{first}=5\n")));
    let file = folder.file("values", values.text());
    let again = rows(&["--tuning", &file, "--print-values"], "").quiet();
    assert_eq!(again.text(), values.text());

    // One line per comparison: name, size, outcome, value.
    let logged = |args: &[&str]| {
        let args = [&["-e", "squares", "--log-versions"], args].concat();
        let done = rows(&args, INPUT);
        assert_eq!((done.code, done.text()), (0, SQUARES), "{done:?}");
        compared(&done.stderr)
    };
    let few_but_long = "\
Compared squares.suff_outer_par_0 <= 2: false; the parameter is 16.
Compared squares.suff_intra_par_0 <= 6: true; the parameter is 6.
";
    assert_eq!(logged(&["--param=squares.suff_intra_par_0=6"]), few_but_long);
    let logged = |args: &[&str]| logged(&[&[ENOUGH], args].concat());
    let line =
        |holds, least| format!("{IS_ENOUGH}Compared {second} <= 3: {holds}; the parameter is {least}.\n");
    assert_eq!(logged(&[]), line(false, 64));
    assert_eq!(logged(&["--param", &format!("{second}=3")]), line(true, 3));
    assert_eq!(logged(&[&format!("--param={first}=1")]), line(false, 64));
    let tuning = folder.file("a.tuning", format!("-- found\n\n{first}=7\n{second} = 2\n"));
    assert_eq!(logged(&["--tuning", &tuning]), line(true, 2));
    let both = ["--tuning", &tuning, "--param", &format!("{second}=-1")];
    assert_eq!(logged(&both), line(true, -1));

    // The partition of an index space is logged once per parameter.
    let param = format!("--param={}=7", sizes[5]);
    let done = rows(&["-e", "squares", "--log-versions", ENOUGH, &param], INPUT);
    let line = "Divided 2 iterations by squares.grain_size_1; the parameter is 7.\n";
    assert_eq!(done.stderr.matches("Divided ").count(), 1, "{done:?}");
    assert!(done.stderr.contains(line), "{done:?}");

    // The results of exact sums do not depend on parameters.
    for value in ["-9223372036854775808", "0", "1", "9223372036854775807"] {
        for name in &all {
            let param = format!("--param={name}={value}");
            let done = rows(&["-e", "squares", &param], INPUT).quiet();
            assert_eq!(done.text(), SQUARES);
            rows(&["-e", "squares", &param], "empty([2][0]f32)").quiet();
            let done = rows(&["-e", "running", &param], INPUT).quiet();
            assert_eq!(done.text(), "[[1f32, 3f32, 6f32], [4f32, 9f32, 15f32]]\n");
        }
    }
}

#[test]
fn invalid_parameters_are_errors() {
    let folder = Folder::new();
    let rows = executable(&folder);
    let fails = |args: &[&str], parts: &[&str]| {
        rows(&[&["-e", "squares"], args].concat(), INPUT).fails(parts);
    };
    fails(
        &["--param", "squares.inner_lane_0=1"],
        &["no tuning parameter `squares.inner_lane_0`; did you mean `squares.inner_lanes_0`?"],
    );
    fails(&["--param", "tile=1"], &["`tile`", "--print-params"]);
    for wrong in ["squares.inner_lanes_0", "x=", "x=1.5", "x=99999999999999999999"] {
        fails(&["--param", wrong], &["must be of the form NAME=N"]);
    }
    let tuning = folder.file("a.tuning", "squares.inner_lanes_0=1\nnobody=2\n");
    fails(&["--tuning", &tuning], &["a.tuning, line 2: there is no tuning parameter `nobody`"]);
    let tuning = folder.file("b.tuning", "squares.inner_lanes_0: 1\n");
    fails(&["--tuning", &tuning], &["b.tuning, line 1: must be of the form NAME=N"]);
    fails(&["--tuning", &folder.path("none")], &["cannot read tuning file", "none"]);
    fails(&["--tuning", "/dev/zero"], &["larger than 16 MiB"]);
    let plain = folder.file("plain.fut", "entry main (x: i32) = x + 1\n");
    let run = |args: &[&str]| bindrune(&[&["run", &*plain], args].concat(), "1");
    assert_eq!(run(&["--print-params"]).quiet().text(), "");
    run(&["--param=x=1"]).fails(&["no tuning parameter `x`; the program has none"]);
    let interpreted = ["run", "--backend", "interp", &plain, "--param=x=1"];
    bindrune(&interpreted, "1").fails(&["no tuning parameter `x`"]);
}

#[test]
fn run_and_dev_accept_parameters() {
    let folder = Folder::new();
    let program = folder.file("rows.fut", ROWS);
    let tuning = folder.file("a.tuning", "squares.inner_lanes_0=2\n");
    let line = &*format!("{IS_ENOUGH}Compared squares.inner_lanes_0 <= 3: true; the parameter is 2.\n");
    let options = ["-e", "squares", "--tuning", &*tuning, ENOUGH, "--log-versions"];
    let run = bindrune(&[&["run", &*program], &options[..]].concat(), INPUT);
    assert_eq!((run.text(), &*compared(&run.stderr)), (SQUARES, line));
    for stage in ["segs", "mems", "imp", "lanes", "split"] {
        let dev = ["dev", &*program, "--stage", stage];
        let done = bindrune(&[&dev[..], &["--run"], &options].concat(), INPUT);
        assert_eq!((done.text(), done.stderr.as_str()), (SQUARES, line), "{stage}");
        let names = bindrune(&[&dev[..], &["--print-params"]].concat(), "").quiet();
        assert!(names.text().contains("squares.inner_lanes_0 (threshold)\n"));
        let wrong = [&dev[..], &["--run", "-e", "squares", "--param=x=1"]].concat();
        bindrune(&wrong, INPUT).fails(&["no tuning parameter `x`"]);
    }
    let lower = ["dev", &*program, "--stage", "lower", "--print-params"];
    assert_eq!(bindrune(&lower, "").quiet().text(), "");
    bindrune(&["dev", &program, "--stage", "asm", "--print-params"], "").fails(&["only stages"]);
}

#[test]
fn parameter_names_are_stable_under_edits_elsewhere() {
    let folder = Folder::new();
    let names = |name: &str, source: String| {
        let program = folder.file(name, source);
        bindrune(&["run", &program, "--print-params"], "").quiet().text().to_owned()
    };
    let before = names("before.fut", ROWS.to_owned());
    let more = "entry before [n][m] (xss: [n][m]f64) : [n]f64 = map f64.sum xss\n";
    let after = names("after.fut", format!("{more}{ROWS}{}", more.replace("before", "behind")));
    let mut lines: Vec<&str> = after.lines().collect();
    lines.retain(|line| !line.starts_with("be"));
    assert_eq!(lines, before.lines().collect::<Vec<_>>());
    assert_eq!(after.lines().count(), before.lines().count() + 14, "{after}");
}

#[test]
fn former_names_are_accepted_with_a_warning() {
    let folder = Folder::new();
    let program = folder.file("rows.fut", ROWS);
    let former = bindrune(&["dev", &program, "--stage", "join"], "");
    let present = bindrune(&["dev", &program, "--stage", "fuse-loops"], "");
    assert!(former.code == 0 && former.text() == present.text(), "{former:?}");
    assert!(former.stderr.contains("the stage `join` is named `fuse-loops` now"), "{former:?}");
    folder.file("rows.fut.tuning", "squares.lanes_share_0=30\n");
    let warning = "the tuning parameter `squares.lanes_share_0` is named `squares.inner_lanes_0` now";
    let done = bindrune(&["run", &program, "-e", "squares", "--log-versions"], INPUT);
    assert!(done.stderr.contains(&format!("rows.fut.tuning, line 1: {warning}")), "{done:?}");
    assert!(done.stderr.contains("squares.inner_lanes_0 <= 3: false; the parameter is 30."), "{done:?}");
    let given = "--param=squares.lanes_share_0=5";
    let done = bindrune(&["run", "--no-tuning", &program, "-e", "squares", "--log-versions", given], INPUT);
    assert!(done.stderr.contains(warning) && done.stderr.contains("the parameter is 5."), "{done:?}");
}

#[test]
fn tuning_files_beside_programs_are_found() {
    let folder = Folder::new();
    let program = folder.file("rows.fut", ROWS);
    folder.file("rows.fut.tuning", "squares.inner_lanes_0=2\nmain.suff_outer_par_0=4\n");
    folder.file("rows.fut.broken", "squares.inner_lanes_0\n");
    let warning = "line 2: the program has no tuning parameter `main.suff_outer_par_0`";
    for command in ["test", "bench"] {
        let log = ["--pass-option=-L"];
        let short: &[&str] = if command == "bench" { &["--runs=1", "--no-convergence-phase"] } else { &[] };
        let base = [&[command, &*program, "--entry-point", "squares"], &log[..], short].concat();
        let done = bindrune(&base, "");
        let said = format!("{}{}", done.text(), done.stderr);
        assert!(done.code == 0 && said.contains(warning), "{done:?}");
        let done = bindrune(&[&base[..], &["--no-tuning"]].concat(), "");
        let said = format!("{}{}", done.text(), done.stderr);
        assert!(done.code == 0 && !said.contains(warning), "{done:?}");
        let done = bindrune(&[&base[..], &["--tuning=none"]].concat(), "");
        assert!(done.code == 0 && !done.stderr.contains(warning), "{done:?}");
        let done = bindrune(&[&base[..], &["--tuning=broken"]].concat(), "");
        let said = format!("{}{}", done.text(), done.stderr);
        let broken = "rows.fut.broken, line 1: must be of the form NAME=N";
        assert!(done.code == 1 && said.contains(broken), "{done:?}");
    }
    // `run` and `build` read the tuning file too; the built executable then needs none.
    let log = ["-e", "squares", "--log-versions"];
    let value = |run: Finished| {
        let line = run.stderr.lines().find(|line| line.contains("outer_par"));
        let value = line.and_then(|line| line.rsplit(' ').next());
        value.map(str::to_owned)
    };
    folder.file("rows.fut.tuning", "squares.suff_outer_par_0=23\n");
    let run = |options: &[&str]| value(bindrune(&[&["run"], options, &[&*program], &log].concat(), INPUT));
    assert_eq!(run(&[]).as_deref(), Some("23."));
    assert_eq!(run(&["--no-tuning"]).as_deref(), Some("16."));
    let built = |options: &[&str]| {
        let path = folder.path("built");
        bindrune(&[&["build"], options, &[&*program, "-o", &path]].concat(), "").quiet();
        let mut command = Command::new(path);
        value(finish(command.args(log).stdout(Stdio::piped()), INPUT.as_bytes()))
    };
    assert_eq!(built(&[]).as_deref(), Some("23."));
    assert_eq!(built(&["--no-tuning"]).as_deref(), Some("16."));
    // Inexact sums reveal if a value was applied: a sequential loop loses the ones that it adds to
    // the large number, and partial sums do not.
    let mut row = ["1f32"; 60];
    (row[0], row[32]) = ("1e8f32", "-1e8f32");
    let row = row.join(", ");
    let program = folder.file(
        "ones.fut",
        format!(
            "-- ==\n-- input {{ [[{row}]] }} output {{ [58f32] }}\n\
             entry main [n][m] (xss: [n][m]f32) : [n]f32 = map f32.sum xss\n"
        ),
    );
    let enough = "main.suff_outer_par_0=1";
    folder.file("ones.fut.tuning", format!("{enough}\nmain.inner_lanes_0=2\n"));
    folder.file("ones.fut.high", format!("{enough}\nmain.inner_lanes_0=1000\n"));
    let enough = format!("--pass-option=--param={enough}");
    for command in ["test", "bench"] {
        let code = |option: &[&str]| bindrune(&[&[command, &*program], option].concat(), "").code;
        assert_eq!(code(&[]), 0, "{command}");
        assert_eq!(code(&["--no-tuning", &enough]), 1, "{command}");
        assert_eq!(code(&["--tuning=high"]), 1, "{command}");
    }
}

/// The values in the tuning file are much worse than the defaults: each of many short rows is
/// partitioned into tasks. The gap is therefore below 1.
#[test]
fn untuned_and_tuned_runs_alternate() {
    let folder = Folder::new();
    let blocks = "-- ==\n-- entry: squares\n-- \"few\" random input { [20000][4]f32 }\n\
                  -- \"wrong\" input { [[2f32]] } output { [5f32] }\n";
    let program = folder.file("rows.fut", format!("{ROWS}{blocks}"));
    folder.file("untuned.fut", "-- ==\n-- input { 1 }\nentry main (x: i32) = x\n");
    let base = ["bench", "--untuned-vs-tuned", "--runs", "3"];
    bindrune(&[&base[..], &[&program]].concat(), "").fails(&["no program has a tuning file"]);
    folder.file("rows.fut.tuning", "squares.suff_outer_par_0=1000000\nsquares.suff_intra_par_0=1\n");
    let interp = [&base[..], &["--backend", "interp", &program]].concat();
    bindrune(&interp, "").fails(&["nothing to tune"]);
    let json = folder.path("gaps.json");
    let parent = folder.path("");
    let done = bindrune(&[&base[..], &["--json", &json, &parent]].concat(), "");
    let text = done.text();
    assert_eq!(done.code, 1, "{done:?}");
    assert!(!text.contains("untuned.fut"), "{text}");
    for part in
        ["rows.fut:squares\n", "few ", "wrong ", "failed: result 0", "untuned over tuned: geometric mean 0."]
    {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    let json = std::fs::read_to_string(json).expect("the file was written");
    let json: serde_json::Value = serde_json::from_str(&json).expect("the file is JSON");
    let (_, datasets) = json.as_object().and_then(|all| all.iter().next()).expect("a program");
    let few = &datasets["datasets"]["few"];
    let runs = |who: &str| few[who].as_array().map_or(0, Vec::len);
    assert!(runs("untuned") >= 15 && runs("untuned") == runs("tuned"), "{few}");
    let gap = few["gap"].as_f64().expect("a number");
    assert!(gap < 0.9, "{few}");
    let all = datasets["datasets"].as_object().expect("data sets");
    assert!(all.len() == 3 && all["wrong"].is_string(), "{datasets}");
}
