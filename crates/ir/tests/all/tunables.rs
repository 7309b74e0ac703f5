//! Tuning parameters: their names, text and values.

use ir::eval::{EvalValue, Options, eval_entry_with};
use ir::tunable::{Comparison, Settings, used};
use ir::{Program, Segs, TunableId, text, verify};
use prim::Scalar;
use std::cell::RefCell;

const TEXT: &str = "segs
file \"a.fut\"
opaque#0 \"(bool, bool)\" = record (\"0\": bool, \"1\": bool)
entry \"main\" = main (\"n\": \"i64\" as i64) -> (\"\": \"(bool, bool)\" as opaque#0)

fun main(n_0: i64) : (bool, bool)
tunable#0 inner_lanes 0 threshold 64
tunable#1 inner_lanes 3 threshold -5
tunable#2 inner_lanes 2 threshold 9223372036854775807
{
  let a_1: bool = size_at_least n_0 tunable#0
  let b_2: bool = size_at_least n_0 tunable#2
  in (a_1, b_2)
}
";

fn program() -> Program<Segs> {
    let program = text::parse::<Segs>(TEXT).expect("the text is valid");
    assert_eq!(verify::verify(&program), Ok(()));
    program
}

#[test]
fn text_form_round_trips() {
    assert_eq!(text::print(&program()), TEXT);
    let wrong = |from: &str, to: &str| {
        let text = TEXT.replace(from, to);
        text::parse::<Segs>(&text).expect_err("the text is invalid").to_string()
    };
    let message = wrong("tunable#1 inner_lanes", "tunable#3 inner_lanes");
    assert!(message.contains("numbered consecutively from 0"), "{message}");
    let message = wrong("inner_lanes 3", "inner_lines 3");
    assert!(message.contains("unknown rule `inner_lines`"), "{message}");
    let message = wrong("threshold -5", "bound -5");
    assert!(message.contains("unknown parameter class"), "{message}");
    let message = wrong("9223372036854775807", "9223372036854775808");
    assert!(message.starts_with("9:35"), "{message}");
}

#[test]
fn names_consist_of_function_rule_and_ordinal() {
    let program = program();
    let main = &program.functions[0];
    let names = main.tunables.iter().map(|t| t.full_name(&main.name));
    assert_eq!(names.collect::<Vec<_>>(), ["main.inner_lanes_0", "main.inner_lanes_3", "main.inner_lanes_2"]);
    assert_eq!(used(main), [true, false, true]);
    assert_eq!(main.tunables[TunableId(1).index()].default, -5);
}

thread_local! {
    static SEEN: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

fn note(Comparison { name, size, threshold: least }: Comparison<'_>) {
    SEEN.with_borrow_mut(|seen| seen.push(format!("{name} {size} {least}")));
}

#[test]
fn comparisons_use_the_set_value() {
    let program = program();
    let run = |n: i64, given: &[(&str, i64)]| {
        let given = given.iter().map(|(name, n)| ((*name).to_owned(), *n));
        let options =
            Options { settings: Settings(given.collect()), listener: Some(note), ..Options::default() };
        let args = vec![EvalValue::Scalar(Scalar::I64(n))];
        let results = eval_entry_with(&program, "main", args, &options).expect("the program runs");
        results.into_iter().map(|result| match result {
            EvalValue::Scalar(Scalar::Bool(holds)) => holds,
            other => panic!("{other:?}"),
        })
    };
    let results = |n, given: &[_]| run(n, given).collect::<Vec<_>>();
    assert_eq!(results(64, &[]), [true, false]);
    assert_eq!(results(63, &[]), [false, false]);
    assert_eq!(results(i64::MAX, &[]), [true, true]);
    SEEN.take();
    let given = [("main.inner_lanes_2", i64::MIN), ("main.inner_lanes_0", 8)];
    assert_eq!(results(7, &given), [false, true]);
    assert_eq!(
        SEEN.take(),
        ["main.inner_lanes_0 7 8".to_owned(), format!("main.inner_lanes_2 7 {}", i64::MIN)]
    );
}

/// Sums 2^53, 0, 1 and 1.
const SUM: &str = "segs
file \"a.fut\"
entry \"main\" = main (\"n\": \"i64\" as i64) -> (\"\": \"f64\" as f64)

fun main(n_0: i64) : (f64)
tunable#0 grain_size 0 size 4
{
  let sum_1: f64 = segred tasks (i_2 < n_0) chunks (4, 512, 1, 1) grain_size tunable#0 : (f64) -> {
    let first_3: bool = eq.i64 i_2 0i64
    let last_4: bool = sle.i64 2i64 i_2
    let small_5: f64 = select.f64 last_4 1.0f64 0.0f64
    let x_6: f64 = select.f64 first_3 9007199254740992.0f64 small_5
    in (x_6)
  }
    reduce \\(a_7: f64, b_8: f64) : (f64) -> {
      let c_9: f64 = fadd.f64 a_7 b_8
      in (c_9)
    } neutral (0.0f64)
  in (sum_1)
}
";

#[test]
fn grain_size_parameter_sets_chunk_sizes() {
    let program = text::parse::<Segs>(SUM).expect("the text is valid");
    assert_eq!(verify::verify(&program), Ok(()));
    assert_eq!(text::print(&program), SUM);
    assert_eq!(used(&program.functions[0]), [true]);
    let sum = |given: &[i64]| {
        let given = given.iter().map(|n| ("main.grain_size_0".to_owned(), *n));
        let options = Options { settings: Settings(given.collect()), ..Options::default() };
        let args = vec![EvalValue::Scalar(Scalar::I64(4))];
        let results = eval_entry_with(&program, "main", args, &options).expect("the program runs");
        match results.as_slice() {
            [EvalValue::Scalar(Scalar::F64(sum))] => *sum,
            other => panic!("{other:?}"),
        }
    };
    // Sequentially: 2^53 + 1 is 2^53, twice. By halves: 1 + 1 is 2.
    let (alone, halves) = (9_007_199_254_740_992.0, 9_007_199_254_740_994.0);
    assert_eq!(sum(&[]), alone);
    assert_eq!(sum(&[2]), halves);
    assert_eq!(sum(&[i64::MAX]), alone);
    // Values below 1 count as 1: each element is a chunk, combined from the left.
    for least in [1, 0, -7, i64::MIN] {
        assert_eq!(sum(&[least]), alone, "{least}");
    }

    let wrong = SUM.replace("grain_size tunable#0", "grain_size tunable#1");
    let program = text::parse::<Segs>(&wrong).expect("the text is valid");
    let errors = verify::verify(&program).expect_err("the tuning parameter does not exist");
    let said = |error: &verify::VerifyError| error.to_string().contains("no tuning parameter 1");
    assert!(errors.iter().any(said), "{errors:?}");
}
