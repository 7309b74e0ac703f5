//! Scripts, expected outputs and properties, on a program in the interpreter.

use check::Loader;
use harness::oracle::Oracle;
use harness::programs::Outcome;
use harness::{Case, Data, Expected, property};
use std::sync::Arc;
use std::time::Duration;
use syntax::span::SourceMap;
use syntax::symbol::Interner;
use value::Value;

const PROGRAM: &str = "\
type point = {x: i32, y: f64}
entry point (x: i32) (y: f64) : point = {x, y}
entry points (n: i64) : []point = tabulate n (\\i -> {x = i32.i64 i, y = 0.5})
entry sum (ps: []point) : f64 = f64.sum (map (\\p -> f64.i32 p.x + p.y) ps)
entry norm (p: point) : f64 = f64.i32 p.x * p.y
entry pair (n: i64) : (i64, []i32) = (n, map i32.i64 (iota n))
entry second (n: i64) (xs: []i32) : i32 = xs[1] + i32.i64 n
entry bytes (xs: []u8) : i64 = length xs
entry half (x: f32) : f32 = x / 2
entry both (p: (i64, f32)) (q: {xs: []i64, y: (u8, f64)}) : f64 =
  f64.i64 (p.0 + i64.sum q.xs) + f64.f32 p.1 + f64.u8 q.y.0 + q.y.1
entry grid (n: i64) (m: i64) : [][]i32 = tabulate_2d n m (\\i j -> i32.i64 (10 * i + j))

#[prop]
entry sorted (xs: []i32) : bool = length xs < 3
#[prop(gen(evens),shrink(less))]
entry even (x: i64) : bool = x % 2 == 0
entry evens (size: i64) (seed: u64) : i64 = 2 * (i64.u64 seed % size)
#[prop(gen(numbers),shrink(less))]
entry small (x: i64) : bool = x < 10
entry numbers (size: i64) (_: u64) : i64 = size
entry less (x: i64) (_: u64) : i64 = x - 1
#[prop(gen(grid))]
entry unfit (x: i64) : bool = x == x
#[prop(gen(numbers))]
entry misfit (x: i32) : bool = x == x
#[prop]
entry fine (x: i32, ys: []bool) : bool = x == x && length ys >= 0
";

struct Text;

impl Loader for Text {
    fn load(&mut self, _: &str) -> Result<Vec<u8>, String> {
        Ok(PROGRAM.as_bytes().to_vec())
    }
}

fn with_oracle(test: impl FnOnce(&Oracle<'_>)) {
    let (mut sources, interner) = (SourceMap::new(), Interner::new());
    let checked = check::check_program(&mut sources, &interner, &mut Text, "p.fut");
    let program = checked.program.expect("the program is correct");
    let folder = tempfile::tempdir().expect("a temporary directory can be created");
    std::fs::write(folder.path().join("data.in"), "3i64 [4, 5, 6]").expect("the data file can be written");
    let limit = Duration::from_mins(1);
    let oracle = Oracle::new(Arc::new(program), &sources, folder.path(), limit);
    oracle.set_check_sizes(true);
    test(&oracle);
}

/// Returns the result of an entry point called with a script's value.
fn call(oracle: &Oracle<'_>, entry: &str, script: &str) -> Result<String, String> {
    let entry_point = oracle.entry(entry)?;
    let args = oracle.arguments(&Data::Script(script.to_owned()), entry_point)?;
    match oracle.call(entry_point, args) {
        Outcome::Values(values) => {
            let values: Vec<String> = values.iter().map(Value::to_string).collect();
            Ok(values.join(" "))
        }
        Outcome::Opaque(why) | Outcome::Failure(why) | Outcome::Abnormal(why) => Err(why),
    }
}

#[test]
fn scripts_compute_arguments_of_any_type() {
    with_oracle(|oracle| {
        for (entry, script, expected) in [
            ("sum", "points 3i64", "4.5f64"),
            ("norm", "point 3 4.0", "12f64"),
            ("norm", "{y = 0.5, x = 3}", "1.5f64"),
            ("norm", "let p = point 3 4 in {x = 2, y = p.y}", "8f64"),
            ("second", "pair 5", "6i32"),
            ("second", "let (n, xs) = pair 2 in (n, [xs[1], xs[0]])", "2i32"),
            ("second", "$loaddata \"data.in\"", "8i32"),
            ("second", "(1i64, [2, -3]) -- a comment", "-2i32"),
            ("bytes", "$loadbytes \"data.in\"", "14i64"),
            ("bytes", "\"abc\"", "3i64"),
            ("half", "3", "1.5f32"),
            ("half", "let x = 3 let y = x in y", "1.5f32"),
            ("half", "let x = 3 in let y = x in y", "1.5f32"),
            ("both", "((1, 0.5), {xs = [1, 2], y = (3, 4)})", "11.5f64"),
            (
                "both",
                "let p = (10, 0.5f32) let r = {y = (3u8, 4f64), xs = empty([0]i32)} in (p, r)",
                "17.5f64",
            ),
            ("both", "let (p, q) = ((1i32, 1), {y = (1, 1), xs = [1i16, -1]}) in (p, q)", "4f64"),
            ("half", "(let p = (1, {a = (2, 5)}) in p.1).a.1", "2.5f32"),
            ("half", "3f32", "1.5f32"),
            ("second", "(0i64, let g = grid 2 3 in [g[1, 2], g[1][0]])", "10i32"),
        ] {
            assert_eq!(call(oracle, entry, script).as_deref(), Ok(expected), "{script}");
        }
    });
}

#[test]
fn errors_in_scripts_are_reported() {
    with_oracle(|oracle| {
        for (entry, script, message) in [
            ("sum", "absent 3", "there is no entry point `absent`"),
            ("sum", "points 3i64 4", "`points` takes 1 arguments, not 2"),
            ("sum", "points true", "expected a value of type i64, found bool"),
            ("sum", "(points 3", "expected `,`, found `end of script`"),
            ("sum", "3 )", "unexpected `)`"),
            ("half", "1.5f64", "expected a value of type f32"),
            ("second", "(1, 2, 3)", "takes 2 arguments"),
            ("half", "$loadimg \"data.in\"", "not supported yet: the script function `$loadimg`"),
            ("half", "$loaddata \"absent\"", "absent"),
            ("second", "let (a, b) = 3 in a", "tuple pattern does not match the value"),
            ("half", "let g = grid 2 2 in g[2, 0]", "index out of bounds"),
            ("half", "let x = 3 x", "expected `in`, found `end of script`"),
            ("half", "let x = 3 let", "expected a name"),
            ("half", "let let = 3 in 3", "expected a name, found `let`"),
            ("half", "let half = 3 in half 1", "`half` is a variable"),
            ("norm", "{x = 1, x = 2}", "duplicate field `x`"),
            (
                "both",
                "((1, true), {xs = [1], y = (1, 1)})",
                "expected a value of type (i64, f32), found (i32, bool)",
            ),
            ("second", "(1, [2, 3.5])", "array elements differ"),
        ] {
            let failure = call(oracle, entry, script).expect_err(script);
            assert!(failure.contains(message), "{script}: {failure}");
        }
    });
}

#[test]
fn expected_outputs_come_from_the_interpreter() {
    with_oracle(|oracle| {
        let case = Case {
            line: 1,
            entries: Arc::new(["half".to_owned()]),
            name: None,
            tags: Vec::new(),
            input: Data::Text("3".to_owned(), 1),
            expected: Expected::Auto,
        };
        let entry_point = oracle.entry("half").expect("the entry point exists");
        let values = oracle.auto(&case, entry_point).expect("the call succeeds");
        let values = values.expect("the call is within its limits");
        assert_eq!(values.len(), 1);
        assert_eq!(values[0].to_string(), "1.5f32");
    });
}

#[test]
fn counterexamples_of_properties_are_shrunk() {
    with_oracle(|oracle| {
        assert_eq!(property::check_property(oracle, "even", 1), Ok(()));
        assert_eq!(property::check_property(oracle, "fine", 1), Ok(()));
        let what = property::check_property(oracle, "sorted", 1).expect_err("the property does not hold");
        assert!(what.starts_with("does not hold for [0i32, 0i32, 0i32]"), "{what}");
        let what = property::check_property(oracle, "small", 1).expect_err("the property does not hold");
        assert!(what.starts_with("does not hold for 10i64"), "{what}");
        for (name, message) in [
            ("unfit", "`grid` must take a value of type u64, not i64"),
            ("misfit", "`numbers` must return a value of type i32"),
            ("absent", "no entry point"),
        ] {
            let what = property::check_property(oracle, name, 1).expect_err(name);
            assert!(what.contains(message), "{name}: {what}");
        }
        assert!(property::check_property(oracle, "second", 1).is_err());
    });
}

#[test]
fn arguments_are_encoded_for_executables() {
    with_oracle(|oracle| {
        let entry_point = oracle.entry("second").expect("the entry point exists");
        let script = Data::Script("pair 2".to_owned());
        let args = oracle.arguments(&script, entry_point).expect("the script evaluates");
        let bytes = oracle.encode(entry_point, &args).expect("the arguments have an external representation");
        let values = harness::programs::results(&bytes).expect("the encoding can be read");
        assert_eq!(values[1].to_string(), "[0i32, 1i32]");
        let entry_point = oracle.entry("norm").expect("the entry point exists");
        let script = Data::Script("point 1 2".to_owned());
        let args = oracle.arguments(&script, entry_point).expect("the script evaluates");
        assert!(oracle.encode(entry_point, &args).is_err());
    });
}
