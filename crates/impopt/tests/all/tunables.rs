//! Tuning parameters: their table, the expressions and statements that name them, and the
//! vectorisation of comparisons.

use imp::eval::{EvalValue, Options, eval_entry_with};
use imp::{Program, parse, print, verify};
use ir::tunable::{Comparison, Settings};
use prim::Scalar;
use std::cell::RefCell;

const TEXT: &str = "imp file \"a.fut\"
tunable#0: threshold = \"f.inner_lanes_0\" 64
tunable#1: threshold = \"main.inner_lanes_1\" -7
entry \"main\" = main (\"n\": \"i64\" as i64) -> (\"\": \"i64\" as i64)

fun main(n_0: i64) -> (r_1: i64) {
  if logging {
    compared tunable#1 with (n_0 + 1)
  }
  r_1: i64 = select.i64(sle.i64(tunable#1, (n_0 + 1)), tunable#0, -1)
}
";

#[test]
fn text_form_round_trips() {
    let program = parse(TEXT).expect("the text is valid");
    assert_eq!(verify(&program), Ok(()));
    assert_eq!(print(&program), TEXT);
    for (from, to, part) in [
        ("tunable#1: threshold", "tunable#2: threshold", "expected the number 1"),
        ("tunable#1: threshold", "tunable#1: tile", "unknown parameter class"),
        ("compared tunable#1 with", "compared tunable#1", "expected `with`"),
        ("compared tunable#1 with", "compared 1 with", "expected `tunable`"),
    ] {
        let error = parse(&TEXT.replace(from, to)).expect_err(part).to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn verifier_checks_the_tuning_parameter_table() {
    for (from, to, part) in [
        ("with (n_0 + 1)", "with true", "a value has type bool, but i64 is required"),
        ("compared tunable#1", "compared tunable#2", "tunable#2 does not exist"),
        (", tunable#0, -1", ", tunable#9, -1", "tunable#9 does not exist"),
        ("if logging", "if tunable#0", "a value has type i64, but bool is required"),
        (
            "\"f.inner_lanes_0\"",
            "\"main.inner_lanes_1\"",
            "two tuning parameters are named main.inner_lanes_1",
        ),
    ] {
        let program = parse(&TEXT.replace(from, to)).expect("the text is valid");
        let errors = verify(&program).expect_err(part);
        let shown: Vec<_> = errors.iter().map(ToString::to_string).collect();
        assert!(shown.iter().any(|e| e.contains(part)), "{part}: {shown:?}");
    }
}

thread_local! {
    static SEEN: RefCell<Vec<(String, i64, i64)>> = const { RefCell::new(Vec::new()) };
}

fn note(Comparison { name, size, threshold: least }: Comparison<'_>) {
    SEEN.with_borrow_mut(|seen| seen.push((name.to_owned(), size, least)));
}

/// The result, and the comparisons if there is a listener.
fn run(program: &Program, n: i64, given: &[(&str, i64)], listens: bool) -> (i64, Vec<(i64, i64)>) {
    SEEN.take();
    let given = given.iter().map(|(name, n)| ((*name).to_owned(), *n));
    let options = Options {
        settings: Settings(given.collect()),
        listener: listens.then_some(note),
        ..Options::default()
    };
    let args = vec![EvalValue::Scalar(Scalar::I64(n))];
    let results = eval_entry_with(program, "main", args, options).expect("the program runs");
    let [EvalValue::Scalar(Scalar::I64(result))] = results.as_slice() else { panic!("{results:?}") };
    let seen = SEEN.take().into_iter();
    let seen = seen.map(|(name, size, least)| {
        assert_eq!(name, "main.inner_lanes_1");
        (size, least)
    });
    (*result, seen.collect())
}

#[test]
fn evaluator_uses_set_values_and_reports_comparisons() {
    let program = parse(TEXT).expect("the text is valid");
    assert_eq!(run(&program, -8, &[], true), (64, vec![(-7, -7)]));
    assert_eq!(run(&program, -9, &[], false), (-1, vec![]));
    let given = [("f.inner_lanes_0", 5), ("main.inner_lanes_1", i64::MAX)];
    assert_eq!(run(&program, 1, &given, true), (-1, vec![(2, i64::MAX)]));
    let given = [("f.inner_lanes_0", 5), ("main.inner_lanes_1", 2)];
    assert_eq!(run(&program, 1, &given, false), (5, vec![]));
}

#[test]
fn vectorised_comparisons_are_reported_per_lane() {
    // The number of n, 2, 2, 3, 3, ... that are at least the parameter.
    let text = "imp file \"a.fut\"
        tunable#0: threshold = \"main.inner_lanes_1\" 3
        entry \"main\" = main (\"n\": \"i64\" as i64) -> (\"\": \"i64\" as i64)
        fun main(n_0: i64) -> (r_1: i64) {
          owned a_2
          a_2 = alloc 160
          for i_3: i64 in 0 .. 20 independent {
            size_4: i64 = select.i64(eq.i64(i_3, 0), n_0, ((i_3 + 3) - lshr.i64((i_3 + 1), 1)))
            if logging {
              compared tunable#0 with size_4
            }
            y_5: i64 = 0
            if sle.i64(tunable#0, size_4) {
              go_6: bool = true
              while go_6 {
                y_5: i64 = (y_5 + 1)
                go_6: bool = slt.i64((y_5 * y_5), size_4)
              }
            }
            a_2[i64: i_3] = y_5
          }
          r_1: i64 = 0
          for j_7: i64 in 0 .. 20 { x_8: i64 = a_2[i64: j_7] r_1: i64 = ((r_1 * 5) + x_8) }
        }";
    let plain = parse(text).expect("the text is valid");
    assert_eq!(verify(&plain), Ok(()));
    let mut context =
        ir::Context::new(None, ir::Options { lanes: ir::VectorLanes::Width(8), ..ir::Options::default() });
    let lanes = impopt::lanes::vectorise(plain.clone(), &mut context);
    assert_eq!(verify(&lanes), Ok(()));
    let shown = print(&lanes);
    assert!(shown.contains("compared tunable#0 with extract("), "{shown}");
    for n in [0, 3, 100] {
        for least in [-1, 0, 3, 9, 50, i64::MAX] {
            let given = [("main.inner_lanes_1", least)];
            let (result, mut seen) = run(&plain, n, &given, true);
            let (with_lanes, mut with_seen) = run(&lanes, n, &given, true);
            assert_eq!(with_lanes, result, "{n} {least}\n{shown}");
            seen.sort_unstable();
            with_seen.sort_unstable();
            assert_eq!((seen.len(), with_seen), (20, seen.clone()), "{n} {least}");
            assert_eq!(run(&lanes, n, &given, false), (result, vec![]));
        }
    }
}
