//! `data`, `bench` and `benchcmp`.

use crate::process::{Folder, bindrune};
use serde_json::Value;

#[test]
fn data_generates_values_of_given_types_and_bounds() {
    let done =
        bindrune(&["data", "--i32-bounds=-3:3", "-g", "[5]i32", "-g", "[2][0]f64", "-g", "7u8"], "").quiet();
    let lines: Vec<&str> = done.text().lines().collect();
    let [numbers, empty, literal] = lines.as_slice() else {
        panic!("{lines:?}");
    };
    let numbers: Vec<i32> = numbers
        .trim_matches(['[', ']'])
        .split(", ")
        .map(|x| x.trim_end_matches("i32").parse().expect("a number"))
        .collect();
    assert!(numbers.len() == 5 && numbers.iter().all(|x| (-3..=3).contains(x)));
    assert_eq!((*empty, *literal), ("empty([2][0]f64)", "7u8"));
    // A seed determines the values.
    let with = |seed: &str| bindrune(&["data", "-s", seed, "-g", "[9]i64"], "").quiet().stdout;
    assert_eq!(with("1"), bindrune(&["data", "-g", "[9]i64"], "").quiet().stdout);
    assert_ne!(with("1"), with("2"));
    bindrune(&["data", "-g", "[x]i32"], "").fails(&["`[x]i32` is neither a type nor a value"]);
    bindrune(&["data", "--u8-bounds=3:1", "-g", "u8"], "").fails(&["lower bound above upper bound"]);
}

#[test]
fn data_converts_formats_and_prints_types() {
    let folder = Folder::new();
    let binary = bindrune(&["data", "-b"], "[1, 2] 3.5 true").quiet().stdout;
    let file = folder.file("values", &binary);
    let program =
        folder.file("p.fut", "entry main (xs: []i32) (y: f64) (b: bool) = (xs[0], if b then y else 0)\n");
    assert_eq!(std::fs::read(&file).expect("the file was written"), binary);
    let form = bindrune(&["data", "-t", "-g", "[3]f32", "--text", "-g", "1i8"], "").quiet();
    assert_eq!(form.text(), "[3]f32\n1i8\n");
    let wrong = bindrune(&["data"], "[1, 2");
    wrong.fails(&["bindrune: "]);
    let done = bindrune(&["run", &program], "[1, 2] 3.5 true").quiet();
    assert_eq!(done.text(), "1i32\n3.5f64\n");
}

#[test]
fn bench_measures_every_data_set_and_benchcmp_compares() {
    let folder = Folder::new();
    let program = folder.file(
        "p.fut",
        "-- ==\n-- \"small\" input { 10i64 } output { 45i64 }\n-- random input { 5000i64 }\n\
         -- nobench input { 1i64 }\n-- input { -1i64 } error: .*\n\
         entry main (n: i64) : i64 = reduce (+) 0 (iota n)\n\
         -- ==\n-- entry: twice\n-- \"wrong\" input { 1 } output { 3 }\nentry twice (x: i32) = 2 * x\n",
    );
    let (first, second) = (folder.path("a.json"), folder.path("b.json"));
    let bench = |backend: &str, json: &str| {
        bindrune(
            &[
                "bench",
                "--no-convergence-phase",
                "--runs",
                "5",
                "--backend",
                backend,
                "--json",
                json,
                &program,
            ],
            "",
        )
    };
    for (backend, json) in [("interp", &first), ("cpu", &second)] {
        let done = bench(backend, json);
        assert_eq!(done.code, 1, "{done:?}");
        let text = done.text();
        for part in ["small ", "5000i64 ", "us (95 % between", "5 runs", "wrong  failed: result 0"] {
            assert!(text.contains(part), "{part}:\n{text}");
        }
        let json = std::fs::read_to_string(json).expect("the file was written");
        let json: Value = serde_json::from_str(&json).expect("the file is JSON");
        let datasets = json[&program]["datasets"].as_object().expect("data sets");
        assert_eq!(datasets.keys().collect::<Vec<_>>(), ["small", "5000i64"]);
        let runtimes = datasets["small"]["runtimes"].as_array().expect("run times");
        assert!(runtimes.len() == 5 && runtimes.iter().all(Value::is_u64));
        assert!(json[format!("{program}:twice")]["datasets"]["wrong"].is_string());
    }
    let done = bindrune(&["benchcmp", &first, &second], "").quiet();
    assert!(done.text().contains("small") && done.text().contains("x\n"), "{}", done.text());
    bindrune(&["benchcmp", &first, &program], "").fails(&["p.fut"]);
    // Existing executables are used; a missing one is an error.
    let skip = ["bench", "-r1", "--skip-compilation", "--no-convergence-phase", &program];
    let done = bindrune(&skip, "");
    assert!(done.code == 1 && done.text().contains("there is no executable"), "{done:?}");
    bindrune(&["build", &program, "-o", &folder.path("p")], "").quiet();
    folder.file("p.fut", "-- ==\n-- input { 4i64 } output { 6i64 }\nentry main (n: i64) : i64 = n\n");
    let done = bindrune(&skip, "").quiet();
    assert!(done.text().contains("1 runs"), "{done:?}");
}

#[test]
fn benchcmp_marks_significant_changes_and_sorts() {
    let folder = Folder::new();
    let before = folder.file(
        "before.json",
        r#"{"a.fut": {"datasets": {"x": {"runtimes": [100, 100, 100], "bytes": {}}, "y": "failed"}},
            "b.fut": {"datasets": {"x": {"runtimes": [100, 101, 99], "bytes": {}}}},
            "c.fut": {"datasets": {}}}"#,
    );
    let after = folder.file(
        "after.json",
        r#"{"a.fut": {"datasets": {"x": {"runtimes": [50, 50, 50], "bytes": {}}, "y": "failed"}},
            "b.fut": {"datasets": {"x": {"runtimes": [200, 202, 198], "bytes": {}}}}}"#,
    );
    let done = bindrune(&["benchcmp", &before, &after], "").quiet();
    let text = done.text();
    assert!(text.contains("2.00x +") && text.contains("0.50x -"), "{text}");
    assert!(text.contains("c.fut: only before"), "{text}");
    assert!(text.find("a.fut") < text.find("b.fut"), "{text}");
    let sorted = bindrune(&["benchcmp", "--sort-by", "geomean-all", &before, &after], "").quiet();
    let text = sorted.text();
    assert!(text.find("b.fut") < text.find("a.fut"), "{text}");
}

#[test]
fn memory_misuse_in_ir_is_reported() {
    let folder = Folder::new();
    let racing = folder.file(
        "racing.ir",
        "imp file \"a.fut\"
        entry \"main\" = main (\"n\": \"i64\" as i64) -> (\"\": \"i64\" as i64)
        fun main(n_0: i64) -> (r_1: i64) {
          owned a_2
          a_2 = alloc 8
          for i_3: i64 in 0 .. n_0 tasks#0 \"main.map\" at \"\" cost 1 owned () locals () captures (a_2) distinct () scattered (a_2) {
            a_2[i64: 0] = i_3
          }
          r_1: i64 = a_2[i64: 0]
        }",
    );
    let run = |args: &[&str]| bindrune(&[&["dev", &racing, "--run"], args].concat(), "3");
    let first = run(&[]).quiet().text().to_owned();
    assert_eq!(run(&["--seed", "1"]).quiet().text(), first);
    let seeds = ["2", "3", "4", "5"];
    let others = seeds.map(|seed| run(&["--seed", seed]).quiet().text().to_owned());
    assert!(others.iter().any(|other| *other != first), "{others:?}");
    let text = std::fs::read_to_string(&racing).expect("the file was written");
    let unmarked = folder.file("unmarked.ir", text.replace(" scattered (a_2)", ""));
    bindrune(&["dev", &unmarked, "--run"], "3").fails(&[
        "of tasks#0 \"main.map\" meet in byte 0 of block a_2",
        "one writes it and the other writes it",
    ]);
    let read = text.replace("a_2[i64: 0] = i_3", "a_2[i64: 0] = i_3 r_4: i64 = a_2[i64: 0]");
    let racing = folder.file("read.ir", read.replace("locals ()", "locals (r_4)"));
    bindrune(&["dev", &racing, "--run"], "3")
        .fails(&["of tasks#0 \"main.map\" meet in byte 0 of block a_2", "in main: a_2[i64: 0] = i_3"]);
}
