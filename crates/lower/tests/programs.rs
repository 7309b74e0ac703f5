//! Runs programs through checker, lowering and verifier, and compares their results with the values
//! in their test blocks; and tests of the structure of core programs.

use check::{Loader, check_program};
use harness::{Expected, compare_all, evaluate, parse_blocks};
use ir::soac::Soac;
use ir::syntax::{BasicOp, FunKind};
use ir::walk::Visit;
use ir::{Exp, Program, Soacs};
use std::path::{Path, PathBuf};
use syntax::span::SourceMap;
use syntax::symbol::Interner;

/// A loader with one source text for every path.
struct Text(String);

impl Loader for Text {
    fn load(&mut self, _: &str) -> Result<Vec<u8>, String> {
        Ok(self.0.clone().into_bytes())
    }
}

/// The verified core program of a source text.
///
/// # Errors
/// The messages of the first stage that fails.
fn compile(text: &str) -> Result<Program<Soacs>, String> {
    let mut sources = SourceMap::new();
    let interner = Interner::new();
    let mut loader = Text(text.to_owned());
    let checked = check_program(&mut sources, &interner, &mut loader, "test.fut");
    let messages = |all: &[syntax::diag::Diagnostic]| {
        let shown = all.iter().map(|d| syntax::render::render(d, &sources, false));
        shown.collect::<Vec<_>>().join("\n")
    };
    let Some(typed) = checked.program else {
        return Err(messages(&checked.diagnostics));
    };
    let program =
        lower::lower(&typed, &sources, lower::Options::default()).map_err(|errors| messages(&errors))?;
    ir::verify::verify(&program).map_err(|errors| ir::verify::listing(&program, &errors))?;
    Ok(program)
}

fn compiled(text: &str) -> Program<Soacs> {
    compile(text).unwrap_or_else(|message| panic!("{message}"))
}

/// Every `.fut` file in `tests/files`, with its path.
fn files() -> Vec<(PathBuf, String)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files");
    let mut files: Vec<(PathBuf, String)> = std::fs::read_dir(dir)
        .expect("cannot read the directory")
        .map(|entry| entry.expect("cannot read a directory entry").path())
        .map(|path| (path.clone(), std::fs::read_to_string(path).expect("cannot read the file")))
        .collect();
    files.sort();
    files
}

#[test]
fn programs_compute_their_expected_values() {
    for (path, text) in files() {
        let program = compiled(&text);
        let spec = parse_blocks(&text).expect("well-formed test blocks");
        assert!(!spec.cases.is_empty(), "{}", path.display());
        for case in &spec.cases {
            for entry in case.entries.iter() {
                let at = format!("{}:{} {entry}", path.display(), case.line);
                let args = case.input.values(Path::new(".")).expect("arguments");
                let result = evaluate::call(&program, entry, &args);
                match (&case.expected, result) {
                    (Expected::Values(data), Ok(actual)) => {
                        let expected = data.values(Path::new(".")).expect("expected values");
                        if let Err(difference) = compare_all(&expected, &actual) {
                            panic!("{at}: {difference}");
                        }
                    }
                    (Expected::Error(pattern), Err(failure)) => {
                        let message = failure.to_string();
                        assert_eq!(pattern.matches(&message), Ok(true), "{at}: {message}");
                    }
                    (Expected::Success, Ok(_)) => {}
                    (_, result) => panic!("{at}: {result:?}"),
                }
            }
        }
    }
}

/// The combinators and loops of a program, each with its attributes.
#[derive(Default)]
struct Operations(Vec<(Exp<Soacs>, String)>);

impl Visit<Soacs> for Operations {
    fn stm(&mut self, stm: &ir::Stm<Soacs>) {
        if let Exp::Op(_) | Exp::Loop { .. } = &stm.exp {
            let attrs: Vec<String> = stm.aux.attrs.iter().map(ToString::to_string).collect();
            self.0.push((stm.exp.clone(), attrs.join(" ")));
        }
        self.walk_stm(stm);
    }
}

fn operations(program: &Program<Soacs>) -> Vec<(Exp<Soacs>, String)> {
    let mut operations = Operations::default();
    program.functions.iter().for_each(|function| operations.walk_function(function));
    operations.0
}

/// The numbers of some constructs in a program.
#[derive(Default)]
struct Counts {
    calls: usize,
    copies: usize,
    checks: usize,
    coercions: usize,
}

impl Visit<Soacs> for Counts {
    fn exp(&mut self, exp: &Exp<Soacs>) {
        match exp {
            Exp::Apply { .. } => self.calls += 1,
            Exp::Basic(BasicOp::Copy(_)) => self.copies += 1,
            Exp::Basic(BasicOp::Assert { .. }) => self.checks += 1,
            Exp::Basic(BasicOp::Reshape { .. }) => self.coercions += 1,
            _ => {}
        }
        self.walk_exp(exp);
    }
}

fn counts(program: &Program<Soacs>) -> Counts {
    let mut counts = Counts::default();
    for function in &program.functions {
        counts.walk_function(function);
    }
    counts
}

#[test]
fn instances_are_shared_by_structure() {
    let program = compiled(
        "#[noinline] def f 'a [n] (xs: [n]a) (k: i64): a = xs[k % n]
         entry main (xs: []i32) (ys: [][]f32) (zs: []i32) =
           (f xs 1, f zs 2, f ys 3, f (zip xs zs) 4)",
    );
    let named = |kind| program.functions.iter().filter(move |f| f.kind == kind).count();
    // One for arrays of `i32`, one for arrays of arrays, one for pairs.
    assert_eq!(named(FunKind::Function), 4);
    assert_eq!(counts(&program).calls, 4);
}

#[test]
fn constants_are_computed_once() {
    let program = compiled(
        "def squares = map (\\x -> x * x) (iota 100)
         def two = 2i64
         entry a (i: i64) = squares[i] + two
         entry b (i: i64) = squares[i] * length squares",
    );
    let constants = program.functions.iter().filter(|f| f.kind == FunKind::Constant);
    assert_eq!(constants.count(), 1);
}

#[test]
fn equal_sizes_need_no_checks() {
    // The sizes of the two parameters are compared, in one check; no other sizes are.
    let program = compiled(
        "entry main [n] [m] (a: [n][m]f32) (b: [m][n]f32): [n][n]f32 =
           map (\\row -> map (\\col -> f32.sum (map2 (*) row col)) (transpose b))
               (unflatten (flatten a))",
    );
    let counts = counts(&program);
    assert_eq!((counts.checks, counts.coercions), (1, 3));
}

#[test]
fn updates_copy_only_arrays_with_other_uses() {
    let in_place = compiled("entry main (xs: *[]i32) = loop xs for i < 10 do xs with [i] = 1");
    assert_eq!(counts(&in_place).copies, 0);
    let copied = compiled(
        "entry main [n] (xs: [n]i32) =
           let zs = zip xs (iota n)
           in (zs with [0] = (1, 2), xs)",
    );
    assert_eq!(counts(&copied).copies, 2);
}

#[test]
fn failure_messages_list_the_enclosing_calls() {
    let program = compiled("def third (xs: []i32) = head (drop 2 xs)\nentry main (xs: []i32) =\n  third xs");
    let short = value::Value::from_slice(&[2], &[1i32, 2]).expect("a value");
    let failure = evaluate::call(&program, "main", &[short]).expect_err("out of bounds");
    let message = failure.to_string();
    assert!(message.contains("Index [0] out of bounds for array of shape [0]."), "{message}");
    let positions: Vec<usize> = ["/prelude/array.fut", "test.fut:1:", "test.fut:3:"]
        .iter()
        .map(|span| message.find(span).unwrap_or_else(|| panic!("no {span} in {message}")))
        .collect();
    assert!(positions.is_sorted(), "{message}");
}

#[test]
fn closures_with_the_same_code_share_a_recursive_function() {
    // The closures of the first two calls have the same code; the numbers that they capture differ.
    let program = compiled(
        "def f (n: i64) (g: i64 -> i64) (x: i64): i64 =
           if n == 0 then x else f (n - 1) g (g x)
         #[inline]
         def add (k: i64) (n: i64) = f n (\\x -> x + k) 0
         entry main (n: i64) = add 1 n + add n 2 + f n (\\x -> x * n) n",
    );
    let made = program.functions.iter().filter(|f| f.name.0.starts_with("f_"));
    assert_eq!(made.count(), 2);
}

#[test]
fn derivatives_are_operations_on_components() {
    let text = |name: &str, seed: &str| {
        format!(
            "def f [n] (a: f32, b: [n](f32, i32)): (f32, [n]f32) =
               (a + 1, map (\\(x, k) -> a * x + f32.i32 k) b)
             entry main [n] [d] (a: f32) (b: [n](f32, i32)) {seed} = {name} f (a, b)"
        )
    };
    let x = "(a': f32) (b': [n](f32, i32))";
    let xs = "(a': [d]f32) (b': [d][n](f32, i32))";
    let (y, ys) = ("(a': f32) (b': [n]f32)", "(a': [d]f32) (b': [d][n]f32)");
    for (text, expected) in [
        (text("jvp2", x) + "(a', b')", ("jvp", 3, false)),
        (text("vjp2", y) + "(a', b')", ("vjp", 2, false)),
        (text("jmp2", xs) + "(zip a' b')", ("jvp", 3, true)),
        (text("mjp2", ys) + "(zip a' b')", ("vjp", 2, true)),
    ] {
        let program = compiled(&text.replace("[d] (a: f32)", "[d] (_: [d]i8) (a: f32)"));
        let found = operations(&program).into_iter().find_map(|(exp, _)| match exp {
            Exp::Op(Soac::Jvp { args, seeds, directions, lambda }) => {
                Some(("jvp", args, seeds, directions, lambda))
            }
            Exp::Op(Soac::Vjp { args, seeds, directions, lambda }) => {
                Some(("vjp", args, seeds, directions, lambda))
            }
            _ => None,
        });
        let (kind, args, seeds, directions, lambda) = found.expect("a derivative");
        assert_eq!((kind, seeds.len(), directions.is_some()), expected);
        assert_eq!((args.len(), lambda.params.len(), lambda.ret.len()), (3, 3, 2));
    }
}

#[test]
fn functions_with_derivatives_keep_both_functions() {
    let program = compiled(
        "def f (x: f64, y: f64): f64 = x * y
         entry main (x: f64) (y: f64) = with_vjp f (\\_ a -> (a, a)) (x, y)",
    );
    let found = operations(&program).into_iter().find_map(|(exp, _)| match exp {
        Exp::Op(Soac::WithVjp { args, lambda, adjoint }) => Some((args, lambda, adjoint)),
        _ => None,
    });
    let (args, lambda, adjoint) = found.expect("a function with a derivative");
    assert_eq!((args.len(), lambda.ret.len()), (2, 1));
    assert_eq!((adjoint.params.len(), adjoint.ret.len()), (2, 2));
}

#[test]
fn functions_that_are_not_inlined_are_called_in_derivatives() {
    let program = compiled(
        "def power (n: i64) (x: f64): f64 = if n == 0 then 1 else x * power (n - 1) x
         #[noinline] def third (x: f64) = x / 3
         entry main (n: i64) (x: f64) = vjp (\\x -> power n (third x)) x 1",
    );
    let calls = operations(&program).into_iter().find_map(|(exp, _)| match exp {
        Exp::Op(Soac::Vjp { lambda, .. }) => {
            let mut counts = Counts::default();
            counts.lambda(&lambda);
            Some(counts.calls)
        }
        _ => None,
    });
    assert_eq!(calls, Some(2));
}

#[test]
fn seeds_have_the_sizes_of_what_they_belong_to() {
    // One check of the entry point's arguments, and one of the result where its size is computed.
    let checks = |text: &str| counts(&compiled(text)).checks;
    assert_eq!(checks("entry main [n] (x: [n]f64) (y: [n]f64) = jvp (map (* 2)) x y"), 1);
    let computed = "entry main [n] [m] (x: [n]f64) (y: [m]f64) =
       vjp (\\x -> (x ++ map (* 2) x) :> [m]f64) x y";
    assert_eq!(checks(computed), 1);
}

#[test]
fn sums_in_derivatives_have_the_leaves_of_elements() {
    let program = compiled(
        "type t [n] = #one f64 | #many ([n]f64) | #none
         def f [n] (x: t [n]): t [n] =
           match x case #one a -> #one (a * a) case #many b -> #many (map (* 2) b) case #none -> #none
         entry main [n] (k: i32) (a: f64) (b: [n]f64) =
           let pick k: t [n] = if k == 0 then #one a else if k == 1 then #many b else #none
           let sum (x: t [n]) = match x case #one a -> a case #many b -> f64.sum b case #none -> 0
           let (y, y') = jvp2 f (pick k) (pick (k + 1))
           let (z, x') = vjp2 f (pick k) (pick (k - 1))
           in (sum y, sum y', sum z, sum x')",
    );
    let of = |exp: &Exp<Soacs>| matches!(exp, Exp::Op(Soac::Jvp { .. } | Soac::Vjp { .. }));
    assert_eq!(operations(&program).iter().filter(|(exp, _)| of(exp)).count(), 2);
}

#[test]
fn attributes_of_loops_and_derivatives_are_kept() {
    let program = compiled(
        "entry main [n] (xs: *[n]f64) (k: i64) =
           let f (c: f64) =
             let (ys, s) = #[stripmine(3)] loop (#[true_dep] ys, s) = (copy xs, c) for i < n do
               (loop ys = ys for _j < 3 do ys with [i] = ys[i] * s, s + 1)
             let (_, p) = #[bound(10)] loop (i, p) = (0, 1) while i < k do (i + 1, p * ys[0])
             in p + s
           in #[unroll] jmp f 1 [1, 2]",
    );
    let attrs: Vec<(bool, String)> = operations(&program)
        .into_iter()
        .filter(|(exp, _)| matches!(exp, Exp::Loop { .. } | Exp::Op(Soac::Jvp { .. })))
        .map(|(exp, attrs)| (matches!(exp, Exp::Loop { .. }), attrs))
        .collect();
    let expected = [(false, "unroll"), (true, "stripmine(3) true_dep"), (true, ""), (true, "bound(10)")];
    assert_eq!(attrs, expected.map(|(is_loop, attrs)| (is_loop, attrs.to_owned())));
}

#[test]
fn derivatives_of_functions_on_functions_are_type_errors() {
    for text in [
        "entry main (x: f64) = vjp (\\(y, f) -> f y) (x, \\y -> y * y) 1",
        "entry main (x: f64) = (jvp (\\y -> \\z -> y * z) x 1) 2",
    ] {
        let message = compile(text).expect_err("a function");
        assert!(message.contains("error[functional-type]") && !message.contains("bug"), "{message}");
    }
}

#[test]
fn unsupported_constructs_are_named() {
    for (text, name) in [
        ("entry main (x: f32) = vjp (\\y -> y * y) x 1", ""),
        ("entry main (n: i64) = map (\\i -> i64.sum (iota i)) (iota n)", ""),
        (
            "def f (g: i64 -> i64) (n: i64): i64 = if n == 0 then g n else f g (n - 1)
          entry main (n: i64) = f (+ 1) n",
            "",
        ),
        (
            "type~ acc 't = intrinsics.acc t
             def f [k] (n: i64) (a: *acc ([k]i32)): *acc ([k]i32) =
               if n == 0 then a else f (n - 1) (intrinsics.acc_write a n 1)
             entry main (n: i64) =
               intrinsics.scatter_stream (replicate n 0) (\\(a: *acc ([n]i32)) i -> f i a) (iota n)",
            "recursive functions",
        ),
    ] {
        match compile(text) {
            Ok(_) => assert!(name.is_empty(), "{text}"),
            Err(message) => {
                assert!(!name.is_empty() && message.contains("not supported yet"), "{message}");
                assert!(message.contains(name), "{message}");
            }
        }
    }
}

#[test]
fn unsupported_constructs_are_reported_at_the_user_call() {
    let text = "type~ acc 't = intrinsics.acc t
def f [k] (n: i64) (a: acc ([k]i32)): acc ([k]i32) = if n == 0 then a else a |> f (n - 1)
entry main (n: i64) =
  intrinsics.scatter_stream (replicate n 0) (\\(a: *acc ([n]i32)) i -> f i a) (iota n)";
    let message = compile(text).expect_err("a recursive function on accumulators");
    let at = |span: &str| message.find(span).unwrap_or_else(|| panic!("{message}"));
    assert!(at("test.fut:2:76") < at("/prelude/functional.fut"), "{message}");
}

#[test]
fn deep_programs_do_not_overflow_the_stack() {
    let sum = vec!["x"; 20_000].join(" + ");
    let lets: Vec<String> = (0..5_000).map(|i| format!("let y{} = y{i} + x", i + 1)).collect();
    let lets = lets.join("\n");
    let calls: Vec<String> =
        (0..2_000).map(|i| format!("def f{} (x: i32) : i32 = f{i} x + {i}", i + 1)).collect();
    let calls = calls.join("\n");
    let program = compiled(&format!(
        "entry sum (x: i32) = {sum}\nentry lets (x: i32) = let y0 = x\n{lets}\nin y5000\n\
         def f0 (x: i32) = x\n{calls}\nentry calls (x: i32) = f2000 x"
    ));
    assert_eq!(program.entries.len(), 3);
}
