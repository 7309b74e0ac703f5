//! `bindrune explain --tuning`: selected versions, speedups, and the versions with the defaults.
//! Times come from records written by the tests.

use crate::process::{Folder, bindrune};
use serde_json::{Value, json};

/// A map of reductions: V0 is sequential, V1 runs as tasks in tasks.
const ROWS: &str = "\
-- comment
entry main [n][m] (xss: [n][m]i64) : [n]i64 =
  map (\\xs -> i64.sum (map (\\x -> x * x % 7) xs)) xss
";
const OUTER: &str = "main.suff_outer_par_0";
const INTRA: &str = "main.suff_intra_par_0";

/// A data set of a shape, with the times of the default and of the other version.
fn set(number: u64, (n, m): (i64, i64), other: i64, times: [u64; 2]) -> Value {
    let met = |param: &str, size: i64, holds: bool| json!({ "parameter": param, "size": size, "holds": holds, "times": 1 });
    let run = |setting: Value, outer: bool, intra: bool, micros: u64| {
        let mut compared = vec![met(OUTER, n, outer)];
        if !outer {
            compared.push(met(INTRA, n * m, intra));
        }
        json!({ "setting": setting, "runtimes": [micros, micros], "cut": null, "compared": compared })
    };
    let outer = n >= 16;
    let runs = [
        run(json!({}), outer, !outer && n * m >= 102_400, times[0]),
        run(json!({ OUTER: n + 1, INTRA: other }), false, other <= n * m, times[1]),
    ];
    json!({
        "number": number, "entry": "main", "default": times[0], "tuned": times[0],
        "runs": runs, "rivals": [[0, 1]],
    })
}

fn record() -> Value {
    json!({
        "version": 1, "cost": "sum", "before": 600, "after": 300, "complete": true,
        "defaults": { OUTER: 16, INTRA: 102_400 },
        "tried": [],
        "datasets": {
            // The default is V1 for the first data set, V0 for the second and third.
            "few": set(0, (4, 100_000), i64::MAX, [100, 250]),
            "many": set(1, (50, 1000), 50_000, [400, 100]),
            "other": set(2, (60, 10), 0, [30, 60]),
        },
    })
}

struct Setup {
    folder: Folder,
    program: String,
}

impl Setup {
    /// Creates the program with this tuning file.
    fn new(tuning: &str) -> Self {
        let folder = Folder::new();
        let program = folder.file("rows.fut", ROWS);
        folder.file("rows.fut.tuning", tuning);
        folder.file("rows.fut.tuning.json", record().to_string());
        Self { folder, program }
    }

    fn text(&self) -> String {
        let done = bindrune(&["explain", "--tuning", &self.program], "").quiet();
        done.text().to_owned()
    }
}

#[test]
fn paths_are_reported_with_speedups_and_defaults() {
    // 51 rows suffice for V0, 50,000 elements in total for V1.
    let setup = Setup::new(&format!("{OUTER}=51\n{INTRA}=50000\n"));
    let text = setup.text();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    for line in [
        "3 |   map (\\xs -> i64.sum (map (\\x -> x * x % 7) xs)) xss",
        "n_0 >= main.suff_outer_par_0 (16, tuned 51)?",
        "n_0 * n_1 >= main.suff_intra_par_0 (102400, tuned 50000)?",
        ". few    V1, 100 us; 2.50x faster than V0, 250 us; the same by default",
        "+ many   V1, 100 us; 4.00x faster than V0, 400 us; by default V0, 400 us",
        ". other  V0, 30 us; 2.00x faster than V1, 60 us; the same by default",
    ] {
        assert!(lines.contains(&line), "{line}:\n{text}");
    }
    // Other values select other versions, including slower ones.
    setup.folder.file("rows.fut.tuning", format!("{OUTER}=1\n"));
    let text = setup.text();
    let slower = "! few    V0, 250 us; 2.50x slower than V1, 100 us; by default V1, 100 us";
    assert!(text.contains(slower), "{text}");
}

#[test]
fn changed_grain_sizes_are_reported() {
    let text = Setup::new("main.grain_size_0=3\n").text();
    assert!(text.contains("main.grain_size_0 (size): 3, "), "{text}");
    assert!(text.contains(" by default; 0 tried"), "{text}");
    assert!(!text.contains("main.grain_size_1"), "{text}");
    let setup = Setup::new("main.grain_size_99=3\n");
    let done = bindrune(&["explain", "--tuning", &setup.program], "");
    let warning = "the program has no tuning parameter `main.grain_size_99`";
    assert!(done.stderr.contains(warning), "{done:?}");
}

#[test]
fn json_report() {
    let setup = Setup::new(&format!("{OUTER}=51\n{INTRA}=50000\n"));
    let done = bindrune(&["explain", "--tuning", "--json", &setup.program], "").quiet();
    let data: Value = serde_json::from_slice(&done.stdout).expect("the output is JSON");
    assert_eq!(data["version"], 1);
    let nest = &data["nests"][0];
    assert_eq!((&nest["function"], &nest["location"]["line"]), (&json!("main"), &json!(3)));
    assert_eq!(nest["parameters"][OUTER], json!({ "default": 16, "value": 51, "size": "n_0" }));
    let expected = json!({
        "chosen": { "versions": [1], "micros": 100.0 },
        "default": { "versions": [0], "micros": 400.0 },
        "next": { "versions": [0], "micros": 400.0 },
        "won": 4.0,
    });
    assert_eq!(nest["datasets"]["many"], expected);
}

#[test]
fn mismatched_tuning_files_and_records_are_reported() {
    let setup = Setup::new("main.suff_outer_pa_0=3\n");
    let explain = ["explain", "--tuning", &*setup.program];
    let said = bindrune(&explain, "");
    let near = format!("no tuning parameter `main.suff_outer_pa_0`; did you mean `{OUTER}`?");
    assert!(said.code == 0 && said.stderr.contains(&near), "{said:?}");
    let mut other = record();
    other["defaults"] = json!({ "f.suff_outer_par_0": 16 });
    setup.folder.file("rows.fut.tuning.json", other.to_string());
    let said = bindrune(&explain, "");
    assert!(said.code == 0 && said.stderr.contains("tune again"), "{said:?}");
    for damaged in ["{", "[]", "{\"version\": 1, \"datasets\": {\"a\": {}}}"] {
        setup.folder.file("rows.fut.tuning.json", damaged);
        bindrune(&explain, "").fails(&["rows.fut.tuning.json is not a tuning record"]);
    }
    setup.folder.file("rows.fut.tuning.json", "{\"version\": 2}");
    bindrune(&explain, "").fails(&["was written by another version"]);
    let none = ["explain", "--tuning=other", &setup.program];
    bindrune(&none, "").fails(&["there is no tuning record", "bindrune tune"]);
}

/// The report on a program tuned for a device has the device's versions and defaults.
#[test]
fn report_uses_the_device_of_the_record() {
    let folder = Folder::new();
    let block =
        "-- ==\n-- \"few\" random input { [4][3000]i64 }\n-- \"many\" random input { [2000][5]i64 }\n";
    let program = folder.file("rows.fut", format!("{block}\n{ROWS}"));
    bindrune(&["tune", "--backend=opencl", "--thresholds-only", &program], "").quiet();
    let done = bindrune(&["explain", "--tuning", &program], "").quiet();
    let text = done.text();
    assert!(text.contains("many") && text.contains("segred grid"), "{text}");
    assert!(!text.contains("segred lanes"), "{text}");
    let done = bindrune(&["explain", "--tuning", "--backend=cpu", &program], "");
    assert!(done.stderr.contains("tune again"), "{done:?}");
}

/// `explain` reads the record that `tune` writes.
#[test]
fn explain_reads_the_record_of_tune() {
    let folder = Folder::new();
    let block =
        "-- ==\n-- \"few\" random input { [4][30000]i64 }\n-- \"many\" random input { [20000][5]i64 }\n";
    let program = folder.file("rows.fut", format!("{block}\n{ROWS}"));
    bindrune(&["tune", "--runs", "3", &program], "").quiet();
    let done = bindrune(&["explain", "--tuning", &program], "").quiet();
    let text = done.text();
    for name in ["few", "many"] {
        let is_reported = |line: &str| line.contains(name) && line.contains(" than V");
        assert!(text.lines().any(is_reported), "{text}");
    }
}
