//! Derivatives of functions: each language construct, both modes, nested, with known values.

use check::Loader;
use interp::{Class, Failure, Interp};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use syntax::render::render;
use syntax::span::SourceMap;
use syntax::symbol::Interner;
use value::Value;

struct Text(String);

impl Loader for Text {
    fn load(&mut self, _: &str) -> Result<Vec<u8>, String> {
        Ok(self.0.as_bytes().to_vec())
    }
}

fn interp(text: &str) -> Interp {
    let (mut sources, interner) = (SourceMap::new(), Interner::new());
    let checked = check::check_program(&mut sources, &interner, &mut Text(text.to_owned()), "p.fut");
    let errors = checked.diagnostics.iter().filter(|d| d.is_error());
    let errors: Vec<String> = errors.map(|d| render(d, &sources, false)).collect();
    assert!(errors.is_empty(), "{}\n{text}", errors.join("\n"));
    let interp = Interp::new(Arc::new(checked.program.expect("a program without errors")));
    interp.set_check_sizes(true);
    interp
}

fn run(interp: &Interp, args: &str) -> Result<String, Failure> {
    let entry = interp.entry("main").expect("the entry point exists");
    Ok(text(&interp.call_values(entry, &values(args))?))
}

fn values(text: &str) -> Vec<Value> {
    harness::programs::results(text.as_bytes()).expect("readable values")
}

fn text(values: &[Value]) -> String {
    let values: Vec<String> = values.iter().map(Value::to_string).collect();
    values.join(" ")
}

/// Checks the result of a program's `main`.
fn check(program: &str, args: &str, expected: &str) {
    let found = run(&interp(program), args).map_err(|failure| failure.message);
    assert_eq!(found, Ok(text(&values(expected))), "{program}");
}

/// Checks the message of the failure of a program's `main`.
fn fails(text: &str, args: &str, class: Class, message: &str) {
    let failure = run(&interp(text), args).expect_err(text);
    assert_eq!((failure.class, failure.message.as_str()), (class, message), "{text}");
    assert!(!failure.backtrace.is_empty(), "{text}");
}

/// Checks both modes for a function of one `f64` with one `f64` as result.
fn derivative(fun: &str, at: &str, expected: &str) {
    for mode in ["jvp", "vjp"] {
        check(&format!("{fun}\nentry main (x: f64) = {mode} f x 1"), at, expected);
    }
}

/// Checks both modes for a function of a `[3]f64`, the product with `[1, 10, 100]` in reverse mode.
fn jacobian(fun: &str, at: &str, forward: &str, reverse: &str) {
    check(&format!("{fun}\nentry main (x: [3]f64) = jvp f x [1, 10, 100]"), at, forward);
    check(&format!("{fun}\nentry main (x: [3]f64) = vjp f x [1, 10, 100]"), at, reverse);
}

// ---------------------------------------------------------------- scalars

#[test]
fn scalar_operations() {
    derivative("def f (x: f64) = x * x * x", "2.0f64", "12.0f64");
    derivative("def f (x: f64) = 1 / x - x", "2.0f64", "-1.25f64");
    derivative("def f (x: f64) = f64.max x 3 * f64.min x 3", "2.0f64", "3.0f64");
    derivative("def f (x: f64) = f64.abs x", "-2.0f64", "-1.0f64");
    derivative("def f (x: f64) = f64.exp (f64.log x)", "2.0f64", "1.0f64");
    derivative("def f (x: f64) = f64.fma x x x", "2.0f64", "5.0f64");
    derivative("def f (x: f64) = x ** 3", "2.0f64", "12.0f64");
    derivative("def f (x: f64) = f64.f32 (f32.f64 x * 3)", "2.0f64", "3.0f64");
    derivative("def f (x: f64) = f64.i32 (i32.f64 x * 3)", "2.0f64", "3.0f64");
    derivative("def f (x: f64) = f64.floor x", "2.5f64", "0.0f64");
    derivative("def f (_: f64): f64 = 7", "2.5f64", "0.0f64");
}

#[test]
fn integers_and_truth_values() {
    check("entry main (x: i32) = vjp (\\x -> x * x + 7) x 1", "5i32", "10i32");
    check("entry main (x: u8) = jvp (\\x -> x * 100) x 3", "5u8", "44u8");
    check(
        "entry main (x: bool) = (vjp (\\x -> !x) x true, vjp (\\x -> x && x) x true)",
        "true",
        "true false",
    );
    check(
        "entry main (x: i32) (b: bool) = vjp (\\(x, b) -> if b then x else 1) (x, b) 1",
        "5 true",
        "1i32 false",
    );
}

/// Functions that are values, and operators as arguments.
#[test]
fn function_values() {
    derivative(
        "def twice f x = f (f x)\ndef f (x: f64) = twice (x *) 3 + twice (\\y -> y * y) x",
        "2.0f64",
        "44.0f64",
    );
    derivative("def f (x: f64) = let (g, _) = ((x *), 1) in g 3", "2.0f64", "3.0f64");
}

#[test]
fn results_without_dependence() {
    check("entry main (x: f64) = jvp (\\x -> (x, 1f64, true, 3i32)) x 1", "2.0", "1.0f64 0.0f64 false 0i32");
    check("entry main (x: f64) (y: f64) = vjp (\\(x, _: f64) -> x) (x, y) 5", "2.0 3.0", "5.0f64 0.0f64");
}

// ------------------------------------------------------------ control flow

#[test]
fn branches_loops_and_recursion() {
    derivative("def f (x: f64) = if x > 1 then x * x else 5", "2.0f64", "4.0f64");
    derivative("def f (x: f64) = loop y = 1 for _i < 4i32 do y * x", "2.0f64", "32.0f64");
    derivative("def f (x: f64) = loop y = x while y < 100 do y * y", "2.0f64", "1024.0f64");
    derivative("def f (x: f64) = loop y = 0 for z in [x, 2 * x, 3] do y * x + z", "2.0f64", "20.0f64");
    derivative("def f (x: f64) = match x case 2 -> x * 3 case _ -> x", "2.0f64", "3.0f64");
}

/// A dependent value as a size, index and loop bound.
#[test]
fn sizes_and_indices() {
    check(
        "def f (n: i64, x: f64) = let xs = replicate n x with [n - 1] = x * x in loop y = 0 for i < n do y + xs[i]\n\
         entry main (n: i64) (x: f64) = vjp f (n, x) 1",
        "3i64 5.0",
        "0i64 12.0f64",
    );
}

// ------------------------------------------------------------------ arrays

#[test]
fn combinators() {
    jacobian(
        "def f (x: [3]f64) = map (\\x -> x * x) x",
        "[1.0, 2.0, 3.0]",
        "[2.0f64, 40.0f64, 600.0f64]",
        "[2.0f64, 40.0f64, 600.0f64]",
    );
    jacobian(
        "def f (x: [3]f64) = scan (+) 0 x",
        "[1.0, 2.0, 3.0]",
        "[1.0f64, 11.0f64, 111.0f64]",
        "[111.0f64, 110.0f64, 100.0f64]",
    );
    jacobian(
        "def f (x: [3]f64) = replicate 3 (f64.product x)",
        "[1.0, 2.0, 3.0]",
        "[236.0f64, 236.0f64, 236.0f64]",
        "[666.0f64, 333.0f64, 222.0f64]",
    );
    jacobian(
        "def f (x: [3]f64) = rotate 1 (reverse x)",
        "[1.0, 2.0, 3.0]",
        "[10.0f64, 1.0f64, 100.0f64]",
        "[10.0f64, 1.0f64, 100.0f64]",
    );
    jacobian(
        "def f (x: [3]f64) = map (\\row -> row[0] * row[1]) (transpose [x, map (2 *) x])",
        "[1.0, 2.0, 3.0]",
        "[4.0f64, 80.0f64, 1200.0f64]",
        "[4.0f64, 80.0f64, 1200.0f64]",
    );
    jacobian(
        "def f (x: [3]f64) = let (xs, ys) = unzip (map (\\x -> (x, x * x)) x) in map2 (+) xs ys",
        "[1.0, 2.0, 3.0]",
        "[3.0f64, 50.0f64, 700.0f64]",
        "[3.0f64, 50.0f64, 700.0f64]",
    );
    jacobian(
        "def f (x: [3]f64) = (filter (> 1.5) x ++ [7.0]) :> [3]f64",
        "[1.0, 2.0, 3.0]",
        "[10.0f64, 100.0f64, 0.0f64]",
        "[0.0f64, 1.0f64, 10.0f64]",
    );
    jacobian(
        "def f (x: [3]f64) = let (a, b) = partition (> 1.5) x in (a ++ b) :> [3]f64",
        "[1.0, 2.0, 3.0]",
        "[10.0f64, 100.0f64, 1.0f64]",
        "[100.0f64, 1.0f64, 10.0f64]",
    );
}

/// Arrays with and without dependence are combined, in both directions.
#[test]
fn updates() {
    jacobian(
        "def f (x: [3]f64) = [1.0, 1.0, 1.0] with [1] = x[0] * 5",
        "[1.0, 2.0, 3.0]",
        "[0.0f64, 5.0f64, 0.0f64]",
        "[50.0f64, 0.0f64, 0.0f64]",
    );
    jacobian(
        "def f (x: [3]f64) = copy x with [1:3] = [4.0, 4.0]",
        "[1.0, 2.0, 3.0]",
        "[1.0f64, 0.0f64, 0.0f64]",
        "[1.0f64, 0.0f64, 0.0f64]",
    );
    jacobian(
        "def f (x: [3]f64) = flatten ([[0.0], [0.0], [0.0]] with [1:3] = [[x[0]], [x[1]]]) :> [3]f64",
        "[1.0, 2.0, 3.0]",
        "[0.0f64, 1.0f64, 10.0f64]",
        "[10.0f64, 100.0f64, 0.0f64]",
    );
    jacobian(
        "def f (x: [3]f64) = scatter [5.0, 5.0, 5.0] [2, 7, 0] x",
        "[1.0, 2.0, 3.0]",
        "[100.0f64, 0.0f64, 1.0f64]",
        "[100.0f64, 0.0f64, 1.0f64]",
    );
    jacobian(
        "def f (x: [3]f64) = reduce_by_index [1.0, 1.0, 1.0] (*) 1 [0, 2, 0] x",
        "[2.0, 3.0, 5.0]",
        "[205.0f64, 0.0f64, 10.0f64]",
        "[5.0f64, 100.0f64, 2.0f64]",
    );
    jacobian(
        "def f (x: [3]f64) = let xs = [x, x, x] with [1] = [1.0, 2.0, 3.0] in map f64.sum xs",
        "[2.0, 3.0, 5.0]",
        "[111.0f64, 0.0f64, 111.0f64]",
        "[101.0f64, 101.0f64, 101.0f64]",
    );
}

/// An empty array of dependent values behaves like any other.
#[test]
fn empty_arrays() {
    jacobian(
        "def f (x: [3]f64) = ((filter (> 9) x) ++ [1.0] ++ take 2 x) :> [3]f64",
        "[2.0, 3.0, 5.0]",
        "[0.0f64, 1.0f64, 10.0f64]",
        "[10.0f64, 100.0f64, 0.0f64]",
    );
    check("entry main (x: []f64) = vjp f64.sum x 1", "empty([0]f64)", "empty([0]f64)");
}

#[test]
fn accumulators() {
    check(
        "type~ acc 't = intrinsics.acc t\n\
         def write (acc: *acc ([3]f64)) (i: i64, x: f64): *acc ([3]f64) = intrinsics.acc_write acc i (x * x)\n\
         def f (xs: [3]f64) = intrinsics.scatter_stream (replicate 3 0) write (zip [2, 1, 9] xs)\n\
         entry main (xs: [3]f64) = vjp f xs [1, 10, 100]",
        "[2.0, 3.0, 5.0]",
        "[400.0f64, 60.0f64, 0.0f64]",
    );
}

// -------------------------------------------------------------- structures

#[test]
fn records_and_sums() {
    check(
        "def f {a: f64, b: [2]f64} = {c = a * b[0], d = b}\n\
         entry main (x: f64) (b: [2]f64) = let r = vjp f {a = x, b} {c = 1, d = [10, 100]} in (r.a, r.b)",
        "3.0 [5.0, 7.0]",
        "5.0f64 [13.0f64, 100.0f64]",
    );
    let area = "type shape = #circle f64 | #box f64 f64\n\
         def area (s: shape) = match s case #circle r -> 3 * r * r case #box a b -> a * b\n\
         def sides (s: shape) = match s case #circle r -> (r, -1) case #box a b -> (a, b)";
    check(
        &format!("{area}\nentry main (a: f64) (b: f64) = sides (vjp area (#box a b) 1)"),
        "2.0 3.0",
        "3.0f64 2.0f64",
    );
    check(&format!("{area}\nentry main (a: f64) = sides (vjp area (#circle a) 1)"), "2.0", "12.0f64 -1.0f64");
    check(
        &format!(
            "{area}\nentry main (a: f64) = jvp (\\s -> (map area s, s[1])) [#circle a, #box 5 a] [#circle 1, #box 10 100] |> \\(x, y) -> (x, sides y)"
        ),
        "2.0",
        "[12.0f64, 520.0f64] 10.0f64 100.0f64",
    );
    fails(
        &format!("{area}\nentry main (a: f64) = jvp area (#circle a) (#box 1 1)"),
        "2.0",
        Class::Program,
        "Value with constructor #box cannot match constructor #circle.",
    );
}

// ------------------------------------------------------------------ nesting

#[test]
fn nested_derivatives() {
    for (outer, inner) in [("jvp", "jvp"), ("jvp", "vjp"), ("vjp", "jvp"), ("vjp", "vjp")] {
        check(
            &format!(
                "entry main (x: f64) = {outer} (\\x -> {inner} (\\x -> x * x * x * f64.exp (x - 2)) x 1) x 1"
            ),
            "2.0",
            "44.0f64",
        );
        // The inner derivative does not depend on the outer variable by its own.
        check(
            &format!("entry main (x: f64) = {outer} (\\x -> x * {inner} (\\y -> x + y) 1 1) x 1"),
            "2.0",
            "1.0f64",
        );
        check(
            &format!("entry main (x: f64) = {outer} (\\x -> x * {inner} (\\y -> x * y) 3 1) x 1"),
            "2.0",
            "4.0f64",
        );
        // In maps, loops and reductions.
        check(
            &format!(
                "def g (y: f64) (x: f64) = {inner} (\\z -> z * z * y) x 1\n\
                 def f (x: f64) = loop s = 0 for y in map (g x) [x, 2 * x] do s + {inner} (* y) s 1\n\
                 entry main (x: f64) = {outer} f x 1"
            ),
            "3.0",
            "36.0f64",
        );
    }
    derivative(
        "def g (x: f64) = vjp (\\x -> jvp (\\x -> x ** 4) x 1) x 1\ndef f x = jvp g x 1",
        "2.0",
        "24.0f64",
    );
}

#[test]
fn several_seeds() {
    let f = "def f (x: f64, y: f64) = [x * y, x + y, x]";
    check(
        &format!("{f}\nentry main (x: f64) (y: f64) = jmp2 f (x, y) [(1, 0), (0, 1)]"),
        "3.0 5.0",
        "[15.0f64, 8.0f64, 3.0f64] [[5.0f64, 1.0f64, 1.0f64], [3.0f64, 1.0f64, 0.0f64]]",
    );
    check(
        &format!(
            "{f}\nentry main (x: f64) (y: f64) = let (r, d) = mjp2 f (x, y) [[1, 0, 0], [0, 1, 10]] in (r, unzip d)"
        ),
        "3.0 5.0",
        "[15.0f64, 8.0f64, 3.0f64] [5.0f64, 11.0f64] [3.0f64, 1.0f64]",
    );
    check(
        &format!(
            "{f}\nentry main (n: i64) (x: f64) = (jmp f (x, x) (replicate n (1, 0)), unzip (mjp f (x, x) (replicate n [1, 1, 1])))"
        ),
        "0i64 5.0",
        "empty([0][3]f64) empty([0]f64) empty([0]f64)",
    );
    // A Hessian, in both orders.
    let g = "def g (x: [2]f64) = x[0] * x[0] * x[1]\ndef unit () = [[1.0, 0.0], [0.0, 1.0]]";
    for hessian in [
        "jmp (\\x -> vjp g x 1) x (unit ())",
        "mjp (\\x -> vjp g x 1) x (unit ())",
        "mjp (\\x -> jmp g x (unit ())) x (unit ())",
    ] {
        check(
            &format!("{g}\nentry main (x: [2]f64) = {hessian}"),
            "[3.0, 5.0]",
            "[[10.0f64, 6.0f64], [6.0f64, 0.0f64]]",
        );
    }
}

// ------------------------------------------------------------------- with_vjp

#[test]
fn custom_adjoints() {
    let f = "def f (c: f64) (x: f64) = with_vjp (\\x -> c * x * x) (\\y a -> 100 * a + y) x";
    check(&format!("{f}\nentry main (x: f64) = f 2 x"), "3.0", "18.0f64");
    check(&format!("{f}\nentry main (x: f64) = vjp2 (f 2) x 5"), "3.0", "18.0f64 518.0f64");
    check(&format!("{f}\nentry main (x: f64) = jvp (f 2) x 5"), "3.0", "60.0f64");
    // Free variables have no adjoint.
    check(
        &format!("{f}\nentry main (c: f64) (x: f64) = vjp (\\(c, x) -> f c x) (c, x) 1"),
        "2.0 3.0",
        "0.0f64 118.0f64",
    );
    check(&format!("{f}\nentry main (x: f64) = vjp (\\x -> f x x) x 1"), "3.0", "127.0f64");
    // The derivative of the adjoint: 100 + y, of which that of y is 2 c x.
    check(&format!("{f}\nentry main (x: f64) = jvp (\\x -> vjp (f 2) x 1) x 1"), "3.0", "12.0f64");
    check(&format!("{f}\nentry main (x: f64) = vjp (\\x -> vjp (f 2) x 1) x 1"), "3.0", "12.0f64");
}

/// The adjoint's function captures a value of the derivative, which counts as a constant there.
#[test]
fn custom_adjoints_with_captured_values() {
    check(
        "def f (x: f64) = with_vjp (\\y -> y) (\\_ a -> a * x) (2 * x)\nentry main (x: f64) = vjp f x 1",
        "3.0",
        "6.0f64",
    );
    check(
        "def f (x: f64) = with_vjp (\\y -> y) (\\_ _ -> vjp (\\z -> z * x) x 1) (2 * x)\nentry main (x: f64) = vjp f x 1",
        "3.0",
        "6.0f64",
    );
}

#[test]
fn custom_adjoints_of_structures() {
    check(
        "def f (xs: [2]f64, n: i32) = with_vjp (\\(xs, n) -> (map (f64.i32 n *) xs, n)) \
         (\\(ys, n) (a, _) -> (map2 (+) ys a, n + 1)) (xs, n)\n\
         entry main (xs: [2]f64) = vjp (\\(xs, n) -> (f (xs, n)).0) (xs, 3) [1, 10]",
        "[5.0, 7.0]",
        "[16.0f64, 31.0f64] 4i32",
    );
    check(
        "def f (xs: [2]f64) = with_vjp_tape (\\xs -> (f64.sum xs, map (2 *) xs)) (\\(t, a) -> map (t *) a) xs\n\
         entry main (xs: [2]f64) = mjp f xs [[1, 10], [100, 0]]",
        "[5.0, 7.0]",
        "[[12.0f64, 120.0f64], [1200.0f64, 0.0f64]]",
    );
}

// --------------------------------------------------------------------- other

#[test]
fn traces_show_primal_values() {
    let interp = interp("entry main (x: f64) = vjp (\\x -> let y = trace (x, [x * x]) in y.0 * y.1[0]) x 1");
    let seen = Rc::new(RefCell::new(Vec::new()));
    let receiver = Rc::clone(&seen);
    interp.set_tracer(Box::new(move |_, text, _| receiver.borrow_mut().push(text.to_owned())));
    assert_eq!(run(&interp, "3.0").as_deref(), Ok("27f64"));
    assert_eq!(*seen.borrow(), ["(3f64, [9f64])"]);
}

#[test]
fn breakpoints_show_primal_values() {
    let interp =
        interp("entry main (x: f64) = vjp (\\x -> let ys = [x, x * x] in #[break] (ys[0] * ys[1])) x 1");
    let entry = interp.entry("main").expect("the entry point exists");
    let mut seen = Vec::new();
    let args = values("3.0").iter().map(interp::import).collect();
    let mut watcher = |stop: &interp::Stop| {
        let locals = stop.calls.iter().flat_map(|call| &call.locals);
        seen.extend(locals.map(|local| format!("{}: {:?}", local.name, local.value)));
        interp::Resume::Continue
    };
    let result = interp.evaluate_watched(entry.var, args, true, &mut watcher);
    assert_eq!(format!("{result:?}"), "Ok(Scalar(F64(27.0)))");
    assert!(seen.iter().any(|local| local.starts_with("ys: ")), "{seen:?}");
    assert!(!seen.iter().any(|local| local.contains("Active")), "{seen:?}");
}

#[test]
fn failures() {
    fails(
        "def d (f: f64 -> f64) (x: f64) : f64 = jvp f x 1\nentry main (x: f64) = d (d (d (d f64.lgamma))) x",
        "3.0",
        Class::Unsupported,
        "not supported yet: the derivative of `tetragamma`",
    );
    fails("entry main (x: i32) = vjp (\\x -> 7 / x) x 1", "0i32", Class::Program, "division by zero");
    fails("entry main (x: i32) = vjp (\\x -> x ** x) x 1", "-1i32", Class::Program, "negative exponent");
    fails(
        "def f (n: i32) (x: f64): f64 = if n == 0 then x else jvp (f (n - 1)) x 1\nentry main (x: f64) = f 1000 x",
        "3.0",
        Class::Unsupported,
        "not supported: derivatives nested more than 100 times",
    );
    // A failed derivative leaves nothing behind.
    check(
        "def f (x: f64) = #[blank] (vjp (\\x -> assert (x > 9) x) x 1)\nentry main (x: f64) = vjp (\\x -> f x + 2 * x) x 1",
        "3.0",
        "2.0f64",
    );
}

/// A long loop: neither mode recurses over its length.
#[test]
fn long_chains() {
    derivative("def f (x: f64) = loop y = x for _i < 200000i32 do y + x", "2.0f64", "200001.0f64");
}
