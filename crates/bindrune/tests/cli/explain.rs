//! `explain`: each kind of remark is reported at the right line, in each format.

mod page;

use crate::process::{Finished, Folder, bindrune};
use serde_json::Value;

/// The target is fixed, so that the remarks are the same on any machine.
const CPU: [&str; 3] = ["explain", "--cpu", "x86-64-v3"];

/// Runs `explain` on a program with these options.
fn explain(folder: &Folder, program: &str, options: &[&str]) -> Finished {
    let file = folder.file("program.fut", program);
    bindrune(&[&CPU, options, &[&file]].concat(), "")
}

/// An expected remark: its kind, a part of its source line, and parts of its text.
type ExpectedRemark = (&'static str, &'static str, &'static [&'static str]);

/// The remarks in JSON output, each with the text of its line.
fn entries(report: &Value) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    let list = |value: &Value, key: &str| value[key].as_array().expect("a list").clone();
    for function in list(report, "functions") {
        for line in list(&function, "lines") {
            for entry in list(&line, "entries") {
                found.push((line["text"].as_str().expect("text").to_owned(), entry));
            }
        }
    }
    found
}

/// Checks that these remarks on a program are reported.
#[track_caller]
fn assert_remarks(program: &str, options: &[&str], expected: &[ExpectedRemark]) {
    let folder = Folder::new();
    let done = explain(&folder, program, &[&["--json"], options].concat());
    assert_eq!((done.code, done.stderr.as_str()), (0, ""));
    let report: Value = serde_json::from_str(done.text()).expect("the output is JSON");
    let entries = entries(&report);
    for (kind, line, parts) in expected {
        let fits = |(text, entry): &&(String, Value)| {
            let said = entry["text"].as_str().expect("text");
            entry["kind"] == *kind && text.contains(line) && parts.iter().all(|part| said.contains(part))
        };
        assert!(
            entries.iter().any(|entry| fits(&entry)),
            "{kind} of `{line}` with {parts:?} is missing in\n{entries:#?}"
        );
    }
}

#[test]
fn fusion_remarks() {
    assert_remarks(
        "entry main (n: i64) (xs: [n]i32): (i32, i32, i32, [n]i32) =
  let doubled = map (* 2) xs
  let turned = map (\\i -> doubled[(7 * i) % n]) (iota n)
  let low = i32.minimum xs
  let high = i32.maximum xs
  let sum = i32.sum turned
  in (low, high, sum, doubled)
",
        &[],
        &[
            (
                "not-fused",
                "let doubled",
                &["`map (\\i -> doubled", "(line 3)", "elements of other iterations"],
            ),
            ("fused", "let turned", &["fused into `i32.sum turned` (line 6)"]),
            ("computed-together", "let low", &["`i32.maximum xs` (line 5)"]),
            ("tasks", "let sum", &["lines 3 and 6 fused", "runs as at most"]),
        ],
    );
    assert_remarks(
        "entry main (n: i64) (xs: [n]i32): ([n]i32, [n]i32) =
  let doubled = map (* 2) xs
  let sums = scan (+) 0 doubled
  in (sums, map (\\x -> x + sums[n - 1]) doubled)
",
        &[],
        &[("computed-again", "let sums", &["(line 4)", "not stored"])],
    );
    assert_remarks(
        "entry main (n: i64) (k: i64) (xs: [n]f32): [n]f32 =
  loop ys = xs for i < k do
    map (\\y -> y * f32.i64 i + 1) ys
",
        &[],
        &[("turned-inside", "loop ys", &["each element runs all iterations"])],
    );
    assert_remarks(
        "entry main (n: i64) (xs: [n]i32) = i32.sum (map (* 2) xs)\n",
        &["--fuse", "off"],
        &[("tasks", "entry main", &["`map (* 2) xs`: map runs as at most"])],
    );
}

#[test]
fn function_remarks() {
    assert_remarks(
        "#[noinline]
def collatz (x: i32) = if x % 2 == 0 then x / 2 else 3 * x + 1
def twice 'a (f: a -> a) (x: a): a = f (f x)
def sum (xs: []f64): f64 = let s = f64.sum xs let c = f64.i64 (length xs) in s * c + s / c - c
def f' (x: f64): f64 = let y = f64.sqrt x let z = y * y + x * y - x let w = z / y in w * w - z
def rec (n: i32): i32 = if n < 2 then n else rec (n - 1) + rec (n - 2)
entry main (xs: []i32) (ys: []f64): ([]i32, f64, i32) =
  (map (twice collatz) xs,
   sum ys + f' 2,
   rec 5)
",
        &["--all"],
        &[
            ("in-place", "map (twice collatz)", &["`twice` inlined during lowering"]),
            ("instance", "def twice", &["`collatz` specialised for these types"]),
            ("shared-instance", "def twice", &["uses the specialisation made for another call"]),
            ("called", "def twice", &["call of `collatz` not inlined", "marked `noinline`"]),
            ("inlined", "sum ys", &["call of `sum` inlined"]),
            ("inlined", "sum ys + f'", &["call of `f'` inlined"]),
            ("called", "rec 5", &["call of `rec` not inlined", "recursive"]),
        ],
    );
}

#[test]
fn higher_order_functions_are_shared_beyond_the_copy_budget() {
    assert_remarks(
        "def thrice 'a (f: a -> a) (x: a): a = f (f (f x))
entry main (x: i32): i32 =
  thrice (+ 1) x
  + thrice (* x) x
  + thrice (* x) (x - 1)
",
        &["--copies", "0", "--all"],
        &[
            ("instance", "  + thrice (* x) x", &["for these types and functions"]),
            ("in-place", "  thrice (+ 1) x", &["`thrice` inlined during lowering"]),
            ("inlined", "  + thrice (* x) x", &["call of `thrice`"]),
        ],
    );
}

#[test]
fn parallelism_and_lane_remarks() {
    assert_remarks(
        "entry rows (n: i64) (m: i64) (xss: [n][m]f32): [n]f32 =
  map (\\xs -> f32.sum xs) xss
entry inner (n: i64) (m: i64) (xss: [n][m]i32): [n][m]i32 =
  map (\\xs -> scatter (copy xs) [0] [1] |> map (\\x -> i32.sum xs + x)) xss
entry ordered (n: i64) (xs: [n]f32): [n]f32 =
  #[sequential] map (\\x -> x + 1) xs
entry arrays (n: i64) (m: i64) (xss: [n][m]f32): [m]f32 =
  reduce (\\xs ys -> map (\\i -> ys[i % m] + f32.sum xs) (iota m)) (replicate m 0) xss
entry running (n: i64) (xs: [n]f64): [n]f64 =
  scan (\\x y -> if x > y then x else y + x) 0 xs
entry counts (n: i64) (is: [n]i64): [10]i32 =
  reduce_by_index (replicate 10 0) (+) 0 is (replicate n 1)
entry nested (n: i64) (xss: [n][n]i32): [n][n]i32 =
  map (map (+ 1)) xss
entry steps (n: i64) (xs: [n]f64): [n]f64 =
  map (\\x -> loop y = x while y > 2 do f64.sqrt y) xs
",
        &[],
        &[
            ("tasks", "f32.sum xs) xss", &["map runs as at most", "two versions"]),
            ("shared-by-lanes", "f32.sum xs) xss", &["`f32.sum xs`", "of line 2"]),
            ("sequential", "scatter (copy xs)", &["inside the parallel loop of line 4"]),
            ("sequential", "#[sequential]", &["required by an attribute"]),
            ("sequential", "reduce (\\xs ys", &["its operator works on arrays"]),
            ("tasks", "scan (\\x y", &["scan runs as at most"]),
            ("tasks", "reduce_by_index", &["histogram runs as at most"]),
            ("lanes", "while y > 2", &["lanes: about"]),
            ("no-lanes", "map (map (+ 1)) xss", &["not vectorised: not profitable"]),
        ],
    );
}

#[test]
fn reductions_vectorised_by_llvm_are_reported() {
    let left: &[&str] = &["vectorised by LLVM"];
    assert_remarks(
        "entry sum (xs: []i32): i32 = reduce (+) 0 xs
entry most (xs: []u8): u8 = reduce u8.max 0 (map (+ 1) xs)
entry any (xs: []i32): bool = or (map (> 3) xs)
entry divided (xs: []i64): i64 = i64.sum (map (/ 7) xs)
entry picked (xs: []i32) (is: []i64): i32 = i32.sum (map (\\i -> xs[i]) is)
",
        &[],
        &[
            ("no-lanes", "entry sum", left),
            ("no-lanes", "entry most", left),
            ("no-lanes", "entry any", left),
            ("no-lanes", "entry divided", &["if the processor has"]),
            ("no-lanes", "entry picked", &["is carried from one iteration to the next"]),
        ],
    );
}

#[test]
fn remarks_on_the_work_of_nests() {
    assert_remarks(
        "entry main [n][m][k] (xs: [n][k]f64) (ys: [k][m]f64): [n][m]f64 =
  map (\\x -> map (\\y -> f64.sum (map2 (*) x y)) (transpose ys)) xs
entry sum [n] (xs: [n]f32): f32 =
  reduce (+) 0 xs
",
        &[],
        &[
            (
                "nest-work",
                "map (\\x",
                &[
                    "2*n*k*m f64 operations; reads 8*n*k + 8*k*m bytes, writes 8*n*m; limited by arithmetic if sizes",
                ],
            ),
            ("nest-work", "reduce", &["n f32 operations; reads 4*n bytes, writes 0; limited by memory"]),
        ],
    );
}

#[test]
fn check_remarks() {
    assert_remarks(
        "entry main (n: i64) (xs: [n]i32) (is: [n]i64) (k: i64): ([n]i32, [n]i32, i32, i32, [n]i32) =
  let gathered = map (\\i -> xs[i]) is
  let shifted = map (\\x -> x + xs[k]) xs
  let walked = loop s = 0 for i < n do s + xs[is[i] - 1]
  let first = xs[k + 1]
  let divided = map (\\x -> 7 / x) xs
  in (gathered, shifted, walked, first, divided)
entry asserted (xs: []f32) = map (\\x -> assert (x > 0) (f32.sqrt x)) xs
entry sizes (n: i64) (xs: []i32) = map (+ 1) (xs :> [n]i32)
entry raised (xs: []i32) (e: i32) = map (\\x -> x ** e) xs
entry ranges (xs: []i64) = map (\\x -> i64.sum (1...x)) xs
entry indices (n: i64) = map (* 2) (iota (i64.max 0 n))
",
        &["--all"],
        &[
            ("check-in-parallel-loop", "let gathered", &["`xs[i]`: bounds check", "line 2"]),
            ("check-moved", "let shifted", &["`xs[k]`: bounds check hoisted out"]),
            ("check-in-loop", "let walked", &["`xs[is[i] - 1]`", "sequential loop of line 4"]),
            ("check-removed", "let walked", &["`is[i]`: bounds check removed: it cannot fail"]),
            ("check-once", "let first", &["`xs[k + 1]`", "outside loops"]),
            ("check-in-parallel-loop", "let divided", &["divisor check"]),
            ("check-in-parallel-loop", "entry asserted", &["assertion remains"]),
            ("check-once", "entry sizes", &["size check"]),
            ("check-moved", "entry raised", &["exponent check hoisted"]),
            ("check-in-parallel-loop", "entry ranges", &["range check"]),
            ("check-removed", "entry indices", &["range check"]),
        ],
    );
    assert_remarks(
        "entry main (k: i32) (n: i32) = (k / n, k % n)\n",
        &["--all"],
        &[("check-removed", "entry main", &["another check implies it"])],
    );
}

#[test]
fn copy_remarks() {
    assert_remarks(
        "entry kept (n: i64) (xs: [n]i32): [n]i32 =
  copy xs with [0] = 1
entry later (n: i64): ([n]i32, i32) =
  let base = scan (+) 0 (map i32.i64 (iota n))
  let ys = copy base with [0] = 7
  in (ys, base[n - 1])
entry around (k: i64) (n: i64): [k][n]i32 =
  let base = map i32.i64 (iota n)
  in map (\\j -> loop ys = copy base for i < j do ys with [i % n] = 7) (iota k)
entry mine (n: i64) (xs: *[n]i32): [n]i32 =
  copy xs with [0] = 2
entry turned (n: i64) (xss: [n][n]i32): [n][n]i32 =
  transpose xss
entry flat (n: i64) (m: i64) (xss: [n][m]i32) =
  map (+ 1) (scan (+) 0 (flatten (transpose xss)))
entry chosen (b: bool) (n: i64) (xss: [n][n]i32): [n][n]i32 =
  if b then transpose xss else map (map (+ 1)) xss
entry rows (n: i64) (m: i64) (xs: [m]i32): [n][m]i32 =
  map (\\i -> if i > 3 then xs else replicate m (i32.i64 i)) (iota n)
entry swapped (m: i64) (k: i64): [m][4]i32 =
  map (\\j -> let (a, b) = loop (a, b) = (replicate 4 1, replicate 4 (i32.i64 j)) for _i < k do (b, map2 (+) a b)
             in map2 (+) a b)
      (iota m)
#[noinline]
def use [n] (xss: [n][n]i32): i32 = xss[0, 1] + i32.sum xss[1]
entry given (n: i64) (xss: [n][n]i32): i32 =
  use (transpose xss)
",
        &[],
        &[
            (
                "copied",
                "copy xs with [0] = 1",
                &["parameter `xs` is not consumed"],
            ),
            (
                "copied",
                "let ys = copy base",
                &["`base` is used later, in line 6"],
            ),
            (
                "copied",
                "loop ys = copy base",
                &["`base` is defined outside of the loop"],
            ),
            (
                "copied",
                "copy xs with [0] = 2",
                &["no need found"],
            ),
            ("copied", "  transpose xss", &["a function's result is returned row-major"]),
            (
                "copied",
                "flatten (transpose xss)",
                &["the order of the new shape"],
            ),
            (
                "copied",
                "if b then",
                &["share one memory location"],
            ),
            (
                "copied",
                "map (\\i -> if i > 3",
                &["part of a larger result"],
            ),
            ("copied", "for _i < k do", &["would overwrite an array that another result"]),
            (
                "copied",
                "use (transpose xss)",
                &["a function's argument is passed row-major"],
            ),
        ],
    );
}

#[test]
fn hoisting_and_dead_code_remarks() {
    assert_remarks(
        "entry main (n: i64) (xs: [n]f64) (x: f64): [n]f64 =
  let _unused = map (+ 1) xs
  in map (\\y -> y + f64.sqrt (x * 3)) xs
",
        &[],
        &[
            ("removed", "let _unused", &["map removed: its results are not used"]),
            ("hoisted", "f64.sqrt", &["`f64.sqrt (x * 3)` hoisted out of the loop"]),
        ],
    );
}

const PROGRAM: &str = "\
entry main [n] (table: [n]f32) (places: []i64): f32 =
  let found = map (\\i -> table[i]) places
  let doubled = map (* 2) found
  in f32.sum doubled
entry mean (xs: []f64): f64 =
  f64.sum xs / f64.i64 (length xs)
";

#[test]
fn derivative_remarks() {
    assert_remarks(
        "def steps [n] (xs: [n]f64) : f64 =
  loop x = 0 for s in xs do f64.sin x + s
def shift [n] (xs: [n]f64) : [n]f64 =
  loop xs = copy xs for i < n - 1 do xs with [i + 1] = xs[i] * xs[i + 1]
def halve (x: f64) : f64 =
  loop x while x > 1 do x / 2
def second [n] (xs: [n]f64) : [n]f64 =
  tabulate n (\\i -> xs[i] * if i > 0 then xs[i - 1] else 0)
def scatter_like [n] (is: [n]i64) (xs: [n]f64) : f64 =
  f64.sum (map (\\i -> xs[i]) is)
def weights [n] (a: [n][n]f64) (x: [n]f64) : [n]f64 =
  map (\\row -> f64.sum (map2 (*) row x)) a
entry gradients [n] (xs: [n]f64) (is: [n]i64) (a: [n][n]f64) =
  ( vjp steps xs 1, vjp shift xs (replicate n 1), vjp halve xs[0] 1, vjp second xs xs, vjp (scatter_like is) xs 1
  , vjp (weights a) xs xs
  )",
        &[],
        &[
            ("derivative", "for s in xs", &["saves `x` of each iteration: [iterations]f64"]),
            ("derivative", "xs with [i + 1]", &["saves the elements of `xs` that are read: [iterations]f64"]),
            ("derivative", "while x > 1", &["runs the loop once more"]),
            ("derivative", "f64.sum (map2", &["computes inner loops and combinators again"]),
            ("derivative", "a", &["adds to `x` by reductions"]),
            ("derivative", "tabulate n", &["adds by a map of sums"]),
            ("derivative", "f64.sum (map (", &["adds to `x` by updates of single elements"]),
        ],
    );
}

#[test]
fn text_shows_remarks_below_each_line() {
    let folder = Folder::new();
    let file = folder.file("program.fut", PROGRAM);
    let done = explain(&folder, PROGRAM, &["--lanes", "off", "-e", "main"]).quiet();
    let expected = format!(
        "\
main ({file}:1)
    2 |   let found = map (\\i -> table[i]) places
      `map (\\i -> table[i]) places`
        + fusion: fused into `map (* 2) found` (line 3)
      `table[i]`
        ! checks: bounds check remains in the parallel loop of line 4
    3 |   let doubled = map (* 2) found
      + fusion: fused into `f32.sum doubled` (line 4)
    4 |   in f32.sum doubled
      + parallel: reduction (lines 2, 3 and 4 fused) runs as at most 512 tasks of at least 32000 iterations
      . parallel: 2*(length places) f32 operations; reads 8*(length places) + min(4*n, 4*(length places)) bytes, writes 0; limited by memory

fusion: 2 of 2 pairs of combinators fused
loops: 1 run as tasks, 0 sequentially; 0 vectorised
checks: 1 remain in parallel loops, 0 in other loops; 0 removed
copies: 0
"
    );
    let lines: Vec<&str> = (done.text().lines()).filter(|line| !line.contains(" lanes: ")).collect();
    let text = lines.join("\n") + "\n";
    assert_eq!(text, expected);
    // Without `--function`, both functions are reported.
    let both = explain(&folder, PROGRAM, &[]).quiet();
    assert!(both.text().contains("mean (") && both.text().contains("main ("));
}

#[test]
fn terminal_output_is_coloured() {
    let folder = Folder::new();
    let file = folder.file("program.fut", PROGRAM);
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_bindrune"));
    command.args(CPU).args(["-e", "main", &file]);
    let mut session = rexpect::session::spawn_command(command, Some(60_000)).expect("the process starts");
    for painted in ["\u{1b}[1mmain (", "\u{1b}[33;1m!\u{1b}[0m checks", "\u{1b}[32m+\u{1b}[0m fusion"] {
        session.exp_string(painted).expect("the output is coloured");
    }
    session.exp_eof().expect("the process ends");
}

#[test]
fn json_has_the_documented_keys() {
    let folder = Folder::new();
    let done = explain(&folder, PROGRAM, &["--json"]).quiet();
    let report: Value = serde_json::from_str(done.text()).expect("the output is JSON");
    assert_eq!(report["version"], 2);
    assert_eq!(report["summary"]["fused"], 2);
    assert_eq!(report["summary"]["checks_in_parallel_loops"], 1);
    assert_eq!(report["functions"][0]["name"], "main");
    assert_eq!(report["functions"][1]["name"], "mean");
    assert_eq!(report["functions"][1]["line"], 5);
    let file = report["program"].as_str().expect("text");
    assert!(file.ends_with("program.fut"), "{file}");
    let entries = entries(&report);
    let check = entries.iter().find(|(_, entry)| entry["group"] == "checks");
    let (line, check) = check.expect("a check remark");
    assert_eq!(line, "  let found = map (\\i -> table[i]) places");
    assert_eq!(check["kind"], "check-in-parallel-loop");
    assert_eq!(check["mark"], "left");
    assert_eq!(check["subject"], "table[i]");
    assert_eq!(check["inside"], Value::Null);
    assert_eq!(check["location"]["line"], 2);
    assert_eq!(check["location"]["column"], 26);
    assert_eq!(check["location"]["end_column"], 34);
    assert_eq!(check["others"][0]["line"], 4);
    assert_eq!(check["data"]["check"], "index");
    assert_eq!(check["data"]["inside"], "parallel-loop");
    let fused = entries.iter().find(|(_, entry)| entry["kind"] == "fused");
    let (_, fused) = fused.expect("a fusion remark");
    assert_eq!(fused["others"][0]["line"], 3);
    assert_eq!(fused["others"][0]["file"], report["program"]);
    // The output is deterministic.
    let again = explain(&folder, PROGRAM, &["--json", "--threads", "3"]).quiet();
    assert_eq!(again.stdout, done.stdout);
}

#[test]
fn remarks_in_imported_files_are_attributed() {
    let folder = Folder::new();
    folder.file("part.fut", "def gather (xs: []f32) (is: []i64) =\n  map (\\i -> xs[i]) is\n");
    let program = "import \"part\"\nentry main (xs: []f32) (is: []i64) = gather xs is\n";
    let done = explain(&folder, program, &[]).quiet();
    let text = done.text();
    assert!(text.contains("part.fut:1)\n    2 |   map (\\i -> xs[i]) is\n"), "{text}");
    assert!(text.contains("bounds check remains in the parallel loop of line 2"), "{text}");
}

#[test]
fn library_remarks_are_attributed_to_the_call() {
    let folder = Folder::new();
    let program = "entry main (xs: []i32) =\n  filter (> 0) xs\n";
    let brief = explain(&folder, program, &[]).quiet();
    let text = brief.text();
    assert!(text.contains("    2 |   filter (> 0) xs\n"), "{text}");
    assert!(text.contains("`filter (> 0) xs`, inside `filter`"), "{text}");
    assert!(!text.contains("fusion: fused"), "{text}");
    let all = explain(&folder, program, &["--all"]).quiet();
    assert!(all.text().contains("fusion: fused into"), "{}", all.text());
}

#[test]
fn errors_are_reported_once() {
    let folder = Folder::new();
    let unknown = explain(&folder, PROGRAM, &["-e", "other"]);
    unknown.fails(&["bindrune: the program has no function `other`\n"]);
    let wrong = "entry main (x: i32) = x + true\n";
    let file = folder.file("wrong.fut", wrong);
    let checked = bindrune(&["check", &file], "");
    let explained = bindrune(&["explain", &file], "");
    assert_eq!(explained.stderr, checked.stderr);
    explained.fails(&["error", "wrong.fut:1"]);
    bindrune(&["explain", "nothing.fut"], "").fails(&["nothing.fut"]);
    bindrune(&["explain", "nothing.txt"], "").fails(&["not a Futhark program"]);
    let unsupported = "def derivative (f: f64 -> f64) (x: f64): f64 = jvp f x 1
entry main = derivative (derivative (derivative (derivative f64.lgamma)))\n";
    explain(&folder, unsupported, &[]).fails(&["not supported yet: the derivative of `tetragamma`"]);
    let page = folder.path("no/such/folder.html");
    explain(&folder, PROGRAM, &["--html", &page]).fails(&["cannot write", "folder.html"]);
    explain(&folder, PROGRAM, &["--html", &page, "--json"]).fails(&["cannot be used with"]);
}

#[test]
fn device_and_host_remarks() {
    let folder = Folder::new();
    let program = "-- How many numbers below one are met by steps of its length.
def met (n: i64): i64 =
  let marks = loop marks = replicate n 0i64 for i < n do marks with [i * i % n] = i
  in i64.sum (map (\\i -> marks[marks[i]]) (iota n))
entry main [n] (xs: [n]i64) (yss: [n][n]i64): ([n]i64, [n]i64) =
  (map met xs, map i64.sum yss)
";
    for backend in ["opencl", "cuda", "hip"] {
        let options = ["--json", "--backend", backend];
        let done = explain(&folder, program, &options).quiet();
        let report: Value = serde_json::from_str(done.text()).expect("the output is JSON");
        let entries = entries(&report);
        let has = |kind: &str, line: &str| {
            let fits = |(text, entry): &(String, Value)| entry["kind"] == kind && text.contains(line);
            entries.iter().any(fits)
        };
        assert!(has("kernels", "i64.sum yss"), "{entries:#?}");
        assert!(has("on-host", "map met xs"), "{entries:#?}");
        assert!(!has("tasks", "i64.sum yss"), "{entries:#?}");
    }
    let text = explain(&folder, program, &["--backend=cuda"]).quiet();
    let text = text.text();
    assert!(text.contains("run on the device, 1 on the host"), "{text}");
}
