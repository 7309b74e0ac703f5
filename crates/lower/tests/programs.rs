//! Runs programs through checker, lowering and verifier, and compares their results with the values
//! in their test blocks; and tests of the structure of core programs.

use check::{Loader, check_program};
use harness::{Expected, compare_all, evaluate, parse_blocks};
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
fn unsupported_constructs_are_named() {
    for (text, name) in [
        ("entry main (x: f32) = vjp (\\y -> y * y) x 1", "automatic differentiation"),
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
    let text = "def slope f (x: f32) =\n  vjp f x 1f32\nentry main (x: f32) = slope (\\y -> y * y) x";
    let message = compile(text).expect_err("no derivatives yet");
    let at = |span: &str| message.find(span).unwrap_or_else(|| panic!("{message}"));
    assert!(at("test.fut:2:3") < at("/prelude/ad.fut"), "{message}");
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
