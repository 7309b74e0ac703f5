//! Tail-call elimination: the calls that become loops, and unchanged results and memory.

use imp::eval::{ErrorClass, EvalValue, eval_entry};
use imp::{Program, Stmt, parse, print, verify};
use impopt::tail::tail_calls;
use prim::Scalar;

/// `main` calls `f` with `n`, 0 and a block that holds 1; the result combines `f`'s number and its
/// block's content.
fn program(owned: &str, body: &str) -> Program {
    let text = format!(
        "imp file \"a.fut\"
        check#0 = \"{{i64}} is too much.\" at \"a.fut:1:2-3\"
        entry \"main\" = main (\"n\": \"i64\" as i64) -> (\"\": \"i64\" as i64)
        recursive fun f(n_0: i64, a_1: i64, m_2: buffer) -> (x_3: i64, b_4: buffer) {{
          owned b_4{owned}
          {body}
        }}
        fun main(n_0: i64) -> (r_1: i64) {{
          owned m_2, b_3
          m_2 = alloc 8
          m_2[i64: 0] = 1
          (x_4: i64, b_3: buffer) = f(n_0, 0, m_2) at check#0
          release m_2
          y_5: i64 = b_3[i64: 0]
          release b_3
          r_1: i64 = ((x_4 * 1000) + y_5)
        }}"
    );
    let program = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(verify(&program), Ok(()), "{text}");
    program
}

/// The number of calls of `f` after the rewrite; both programs give these results for these
/// arguments, and the new one also runs for many iterations if it has no calls.
#[track_caller]
fn calls(owned: &str, body: &str, wanted: &[(i64, i64)]) -> usize {
    let before = program(owned, body);
    let after = tail_calls(before.clone(), &mut ir::Context::default());
    assert_eq!(verify(&after), Ok(()), "{}", print(&after));
    let run = |program: &Program, n: i64| {
        let args = vec![EvalValue::Scalar(Scalar::I64(n))];
        match eval_entry(program, "main", args).map_err(|e| (e.class, e)) {
            Ok(results) => match results.as_slice() {
                [EvalValue::Scalar(Scalar::I64(x))] => Some(*x),
                other => panic!("{other:?}"),
            },
            Err((ErrorClass::Failure, _)) => None,
            Err((_, error)) => panic!("{error}\n{}", print(program)),
        }
    };
    for &(n, result) in wanted {
        assert_eq!(run(&before, n), Some(result), "{n}");
        assert_eq!(run(&after, n), Some(result), "{n}\n{}", print(&after));
    }
    let mut count = 0;
    imp::walk::each_stmt(&after.functions[0].body, &mut |stmt| {
        count += usize::from(matches!(stmt, Stmt::Call { .. }));
    });
    assert_eq!(after.functions[0].recursive, count > 0);
    if count == 0 {
        run(&after, 5000);
    }
    count
}

#[test]
fn parameters_of_tail_calls_are_updated() {
    // The new block holds one more than the old one.
    let body = "c_5: bool = eq.i64(n_0, 0)
        if c_5 {
          y_6: i64 = a_1
          s_7 = share m_2
        } else {
          k_8: i64 = (n_0 - 1)
          v_9: i64 = m_2[i64: 0]
          w_10 = alloc 8
          w_10[i64: 0] = (v_9 + 1)
          (z_11: i64, q_12: buffer) = f(k_8, (a_1 + n_0), w_10) at check#0
          release w_10
          y_6: i64 = z_11
          s_7 = share q_12
          release q_12
        }
        x_3: i64 = y_6
        b_4 = share s_7
        release s_7";
    let wanted = [(0, 1), (1, 1002), (3, 6004)];
    assert_eq!(calls(", s_7, w_10, q_12", body, &wanted), 0);
}

#[test]
fn the_same_block_and_swapped_numbers() {
    let body = "c_5: bool = sle.i64(n_0, a_1)
        if c_5 {
          x_3: i64 = (n_0 - a_1)
          b_4 = share m_2
        } else {
          d_6: bool = slt.i64(n_0, 10)
          if d_6 {
            v_9: i64 = m_2[i64: 0]
            m_2[i64: 0] = (v_9 * 2)
            (x_3: i64, b_4: buffer) = f((n_0 - 1), (a_1 + 1), m_2)
          } else {
            (x_3: i64, b_4: buffer) = f(a_1, n_0, m_2)
          }
        }";
    let wanted = [(0, 1), (1, -998), (4, 4), (9, -968), (12, -11_999)];
    assert_eq!(calls("", body, &wanted), 0);
}

#[test]
fn calls_not_in_tail_position_remain() {
    let rest = "if c_5 {
          x_3: i64 = a_1
          b_4 = share m_2
        } else {
          (z_11: i64, q_12: buffer) = f((n_0 - 1), (a_1 + 1), m_2) at check#0";
    let cases = [
        // A result is used.
        ("x_3: i64 = (z_11 + 1) b_4 = share q_12 release q_12 }", 4001),
        // Another number is the result.
        ("x_3: i64 = n_0 b_4 = share q_12 release q_12 }", 2001),
        // Another block is the result.
        ("x_3: i64 = z_11 b_4 = share m_2 release q_12 }", 2001),
        // A store follows it.
        ("m_2[i64: 0] = 5 x_3: i64 = z_11 b_4 = share q_12 release q_12 }", 2005),
        ("x_3: i64 = z_11 b_4 = share q_12 release q_12 } x_3: i64 = (x_3 * 2)", 16_001),
    ];
    for (end, result) in cases {
        let body = format!("c_5: bool = eq.i64(n_0, 0)\n{rest}\n{end}");
        assert_eq!(calls(", q_12", &body, &[(0, 1), (2, result)]), 1, "{end}");
    }
}

#[test]
fn source_spans_of_calls_round_trip() {
    let before = program("", "(x_3: i64, b_4: buffer) = f(n_0, a_1, m_2) at check#0");
    assert!(print(&before).contains("f(n_0, 0, m_2) at check#0"));
    assert_eq!(parse(&print(&before)).map(|p| print(&p)), Ok(print(&before)));
    let mut wrong = before;
    for function in &mut wrong.functions {
        for stmt in &mut function.body {
            if let Stmt::Call { location, .. } = stmt {
                *location = Some(imp::CheckId(7));
            }
        }
    }
    assert_eq!(verify(&wrong).map_err(|e| e.len()), Err(2));
}
