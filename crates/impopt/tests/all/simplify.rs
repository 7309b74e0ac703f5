//! Simplification of loops and scalars: less text, the same results.

use imp::eval::{EvalValue, eval_entry};
use imp::{Program, parse, print, verify};
use impopt::simplify::simplify;
use prim::Scalar;

fn program(body: &str) -> Program {
    let text = format!(
        "imp file \"a.fut\"
        entry \"main\" = main (\"n\": \"i64\" as i64) -> (\"\": \"i64\" as i64)
        fun main(n_0: i64) -> (r_1: i64) {{
          {body}
        }}"
    );
    let program = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(verify(&program), Ok(()));
    program
}

fn run(program: &Program, n: i64) -> Scalar {
    let values = eval_entry(program, "main", vec![EvalValue::Scalar(Scalar::I64(n))]);
    match values.as_deref() {
        Ok([EvalValue::Scalar(x)]) => *x,
        other => panic!("{other:?}"),
    }
}

/// Simplifies, compares the results, and returns the body's lines.
#[track_caller]
fn simplified(body: &str) -> Vec<String> {
    let before = program(body);
    let after = simplify(before.clone(), &mut ir::Context::default());
    let text = print(&after);
    assert_eq!(verify(&after), Ok(()), "{text}");
    for n in [-3, 0, 1, 2, 9] {
        assert_eq!(run(&before, n), run(&after, n), "{n}\n{text}");
    }
    let lines = text.lines().skip_while(|line| !line.starts_with("fun main"));
    let lines = lines.skip(1).take_while(|line| *line != "}");
    lines.map(|line| line.trim().to_owned()).collect()
}

#[test]
fn loops_of_one_iteration_become_their_bodies() {
    let body = "a_2 = frame [8]i64
        for i_3: i64 in 0 .. 1 independent {
          w_4: i64 = (i_3 * 8)
          v_5: 8 x i64 = (splat.8(n_0) + lanes.i64.8)
          a_2[8 x i64: w_4 ..] = v_5
        }
        for j_6: i64 in 4 .. 4 {
          a_2[i64: at j_6] = 0
        }
        r_1: i64 = a_2[i64: at 3]";
    assert_eq!(
        simplified(body),
        [
            "a_2 = frame [8]i64",
            "v_3: 8 x i64 = (splat.8(n_0) + lanes.i64.8)",
            "a_2[8 x i64: 0 ..] = v_3",
            "r_1: i64 = a_2[i64: at 3]"
        ]
    );
}

#[test]
fn copies_and_constants_are_propagated() {
    let body = "c_2: bool = slt.i64(1, 2)
        x_3: i64 = n_0
        y_4: i64 = x_3
        if c_2 {
          r_1: i64 = ((y_4 + 0) * (3 - 2))
        } else {
          r_1: i64 = 7
        }";
    assert_eq!(simplified(body), ["r_1: i64 = n_0"]);
}

#[test]
fn copies_of_variables_that_change_remain() {
    let body = "x_2: i64 = n_0
        y_3: i64 = x_2
        for i_4: i64 in 0 .. 3 {
          old_5: i64 = x_2
          x_2: i64 = ((x_2 * 2) + 1)
          y_3: i64 = (y_3 + old_5)
        }
        r_1: i64 = (y_3 - x_2)";
    assert_eq!(simplified(body).len(), 8);
}

#[test]
fn values_of_an_earlier_iteration_remain() {
    let body = "r_1: i64 = 0
        for i_2: i64 in 0 .. 4 {
          if slt.i64(0, i_2) {
            r_1: i64 = (r_1 + last_3)
          }
          last_3: i64 = (i_2 * n_0)
        }";
    let last = simplified(body).into_iter().filter(|line| line.starts_with("last_3"));
    assert_eq!(last.count(), 1);
}

#[test]
fn unread_values_are_not_computed() {
    let body = "a_2 = frame [4]i64
        a_2[i64: at 0] = n_0
        x_3: i64 = a_2[i64: at 0]
        y_4: i64 = (x_3 * 5)
        if slt.i64(n_0, 5) {
          z_5: i64 = y_4
        }
        r_1: i64 = n_0";
    assert_eq!(simplified(body), ["a_2 = frame [4]i64", "a_2[i64: at 0] = n_0", "r_1: i64 = n_0"]);
}
