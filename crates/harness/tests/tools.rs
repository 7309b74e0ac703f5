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
    let folder = tempfile::tempdir().expect("a folder can be made");
    std::fs::write(folder.path().join("data.in"), "3i64 [4, 5, 6]").expect("it can be written");
    let limit = Duration::from_mins(1);
    let oracle = Oracle::new(Arc::new(program), &sources, folder.path(), limit);
    oracle.set_check_sizes(true);
    test(&oracle);
}

/// Returns the result of an entry point called with a script's value.
fn call(oracle: &Oracle<'_>, entry: &str, script: &str) -> Result<String, String> {
    let point = oracle.entry(entry)?;
    let args = oracle.arguments(&Data::Script(script.to_owned()), point)?;
    match oracle.call(point, args) {
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
fn wrong_scripts_are_explained() {
    with_oracle(|oracle| {
        for (entry, script, message) in [
            ("sum", "absent 3", "there is no entry point `absent`"),
            ("sum", "points 3i64 4", "`points` takes 1 arguments, not 2"),
            ("sum", "points true", "a value of type i64 was expected, found one of type bool"),
            ("sum", "(points 3", "`,` was expected, found `the end`"),
            ("sum", "3 )", "`)` was not expected"),
            ("half", "1.5f64", "a value of type f32 was expected"),
            ("second", "(1, 2, 3)", "takes 2 arguments"),
            ("half", "$loadimg \"data.in\"", "not supported yet: the script function `$loadimg`"),
            ("half", "$loaddata \"absent\"", "absent"),
            ("second", "let (a, b) = 3 in a", "a tuple pattern for another value"),
            ("half", "let g = grid 2 2 in g[2, 0]", "an index out of bounds"),
            ("half", "let x = 3 x", "`in` was expected, found `the end`"),
            ("half", "let x = 3 let", "a name was expected"),
            ("half", "let let = 3 in 3", "a name was expected, found `let`"),
            ("half", "let half = 3 in half 1", "`half` is a variable"),
            ("norm", "{x = 1, x = 2}", "the field `x` is there twice"),
            (
                "both",
                "((1, true), {xs = [1], y = (1, 1)})",
                "a value of type (i64, f32) was expected, found one of type (i32, bool)",
            ),
            ("second", "(1, [2, 3.5])", "an array of values that differ"),
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
        let point = oracle.entry("half").expect("it is there");
        let values = oracle.auto(&case, point).expect("it has values");
        let values = values.expect("they are small");
        assert_eq!(values.len(), 1);
        assert_eq!(values[0].to_string(), "1.5f32");
    });
}

#[test]
fn properties_that_do_not_hold_get_a_small_counterexample() {
    with_oracle(|oracle| {
        assert_eq!(property::check_property(oracle, "even", 1), Ok(()));
        assert_eq!(property::check_property(oracle, "fine", 1), Ok(()));
        let what = property::check_property(oracle, "sorted", 1).expect_err("it does not hold");
        assert!(what.starts_with("it does not hold for [0i32, 0i32, 0i32]"), "{what}");
        let what = property::check_property(oracle, "small", 1).expect_err("it does not hold");
        assert!(what.starts_with("it does not hold for 10i64"), "{what}");
        for (name, message) in [
            ("unfit", "`grid` has to take a value of type u64, not i64"),
            ("misfit", "`numbers` has to give a value of type i32"),
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
        let point = oracle.entry("second").expect("it is there");
        let script = Data::Script("pair 2".to_owned());
        let args = oracle.arguments(&script, point).expect("it has values");
        let bytes = oracle.encode(point, &args).expect("they have a form");
        let values = harness::programs::results(&bytes).expect("it can be read");
        assert_eq!(values[1].to_string(), "[0i32, 1i32]");
        let point = oracle.entry("norm").expect("it is there");
        let script = Data::Script("point 1 2".to_owned());
        let args = oracle.arguments(&script, point).expect("it has values");
        assert!(oracle.encode(point, &args).is_err());
    });
}
