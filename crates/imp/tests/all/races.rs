//! The evaluator on iterations that may run in any order: races are reported in every order, and
//! programs without them give the same results in all orders.

use imp::eval::{ErrorClass, EvalError, EvalValue, Options, eval_entry_with};
use imp::{parse, verify};
use prim::Scalar;

/// The results of `main` for an argument, in a few orders.
fn run(body: &str, n: i64) -> Vec<Result<i64, EvalError>> {
    let text = format!(
        "imp file \"a.fut\"
        data#0: i64 = \"0500000000000000\"
        entry \"main\" = main (\"n\": \"i64\" as i64) -> (\"\": \"i64\" as i64)
        fun write(b_0: buffer, at_1: i64) -> () {{
          b_0[i64: at_1] = at_1
        }}
        fun main(n_0: i64) -> (r_1: i64) {{
          owned a_2, b_3
          vars c_4: buffer
          r_1: i64 = 0
          {body}
        }}"
    );
    let mut program = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    program.functions.iter_mut().for_each(imp::captures::fill);
    assert_eq!(verify(&program), Ok(()), "{text}");
    let run = |seed| {
        let options = Options { budget: 100_000, seed, ..Options::default() };
        let args = vec![EvalValue::Scalar(Scalar::I64(n))];
        match eval_entry_with(&program, "main", args, options)?.as_slice() {
            [EvalValue::Scalar(Scalar::I64(x))] => Ok(*x),
            other => panic!("{other:?}"),
        }
    };
    (0..8).map(run).collect()
}

#[track_caller]
fn gives(body: &str, n: i64, wanted: i64) {
    for result in run(body, n) {
        assert_eq!(result, Ok(wanted), "{body}");
    }
}

/// These two iterations race at the location in every order.
#[track_caller]
fn meet(body: &str, n: i64, pairs: &[[i64; 2]], location: &str) {
    for result in run(body, n) {
        let error = result.expect_err(body);
        assert_eq!(error.class, ErrorClass::Bug, "{error}");
        let fits = |[i, j]: &[i64; 2]| {
            let both = [format!("{i} and {j} of"), format!("{j} and {i} of")];
            both.iter().any(|both| error.message.starts_with(&format!("iterations {both} {location}")))
        };
        assert!(pairs.iter().any(fits), "{error}");
    }
}

/// The lists of a loop that scatters into `a_2`.
const SCATTERED: &str = "distinct () scattered (a_2)";

/// A loop of `n` tasks with these lists and this body, in which `t_9` is a local.
fn tasks(lists: &str, body: &str) -> String {
    format!(
        "a_2 = alloc (8 * n_0)
         for i_8: i64 in 0 .. n_0 tasks#0 \"main.map\" at \"\" cost 1 owned (o_7) locals (t_9, j_10) captures () {lists} {{ {body} }}"
    )
}

#[test]
fn read_write_races_are_reported() {
    let shifted = "a_2 = alloc (8 * n_0)
        for j_5: i64 in 0 .. n_0 { a_2[i64: j_5] = j_5 }
        for i_6: i64 in 0 .. (n_0 - 1) independent { x_7: i64 = a_2[i64: (i_6 + 1)] a_2[i64: i_6] = x_7 }";
    meet(shifted, 3, &[[0, 1]], "i_6 meet in byte 8 of block a_2");
    // The error names both accesses, in their order, and the location.
    let ways = [
        "iterations 1 and 0 of i_6 meet in byte 8 of block a_2: one writes it and the other reads it\n  in main: x_7: i64 = a_2[i64: (i_6 + 1)]",
        "iterations 0 and 1 of i_6 meet in byte 8 of block a_2: one reads it and the other writes it\n  in main: a_2[i64: i_6] = x_7",
    ];
    let mut seen: Vec<String> =
        run(shifted, 3).into_iter().filter_map(|result| result.err().map(|error| error.message)).collect();
    seen.sort();
    seen.dedup();
    assert_eq!(seen, [ways[1], ways[0]]);
    // One reader among many, with a read of its own in between.
    meet(
        &tasks(
            "distinct ()",
            "t_9: i64 = c_4[i64: 0] if eq.i64(i_8, 3) { t_9: i64 = c_4[i64: 0] c_4[i64: 0] = t_9 } else { }",
        )
        .replace("for i_8", "b_3 = alloc 8 b_3[i64: 0] = 1 c_4 = borrow b_3 for i_8"),
        4,
        &[[0, 3], [1, 3], [2, 3]],
        "tasks#0 \"main.map\" meet in byte 0 of block b_3",
    );
    // Through a call.
    meet(
        "a_2 = alloc (8 * n_0) a_2[i64: 0] = 7
         for i_6: i64 in 0 .. n_0 independent { x_7: i64 = a_2[i64: 0] () = write(a_2, i_6) }",
        2,
        &[[0, 1]],
        "i_6 meet in byte 0 of block a_2",
    );
    // Part of an element.
    meet(
        "a_2 = alloc 16
         for i_6: i64 in 0 .. 2 independent {
           if eq.i64(i_6, 0) { a_2[i64: 0] = n_0 } else { a_2[i8: 5] = 1i8 }
         }",
        2,
        &[[0, 1]],
        "i_6 meet in byte",
    );
}

#[test]
fn write_write_races_are_reported() {
    // Even with the same value.
    meet(
        "a_2 = alloc 8 for i_6: i64 in 0 .. n_0 independent { a_2[i64: 0] = 5 }",
        2,
        &[[0, 1]],
        "i_6 meet in byte 0 of block a_2",
    );
    meet(
        "a_2 = alloc 80 b_3 = alloc 80
         for i_6: i64 in 0 .. 10 { b_3[i64: i_6] = i_6 }
         for i_6: i64 in 0 .. n_0 independent { copy [3]i64 a_2[(i_6 * 2) strides 1] <- b_3[i_6 strides 1] as memory }",
        3,
        &[[0, 1], [1, 2]],
        "i_6 meet in byte",
    );
    meet(
        "a_2 = alloc 96
         for i_6: i64 in 0 .. n_0 independent { a_2[4 x i64: (i_6 * 4) - n_0 ..] mask slt.i64(lanes.i64.4, splat.4(4)) = splat.4(i_6) }"
            .replace("(i_6 * 4) - n_0", "(i_6 * 3)")
            .as_str(),
        3,
        &[[0, 1], [1, 2]],
        "i_6 meet in byte",
    );
    // In the inner loop: the outer one is not involved.
    meet(
        "a_2 = alloc (8 * n_0)
         for i_6: i64 in 0 .. n_0 independent { for k_7: i64 in 0 .. 2 independent { a_2[i64: i_6] = k_7 } }",
        3,
        &[[0, 1]],
        "k_7 meet in byte",
    );
    // In the outer loop, from inner ones that are correct by themselves.
    meet(
        "a_2 = alloc (8 * n_0)
         for i_6: i64 in 0 .. 2 independent { for k_7: i64 in 0 .. n_0 independent { a_2[i64: k_7] = i_6 } }",
        3,
        &[[0, 1]],
        "i_6 meet in byte",
    );
}

#[test]
fn tasks_may_scatter_to_unread_buffers() {
    // One of the values remains, which depends on the order.
    let scatter = tasks(SCATTERED, "if ult.i64(0, n_0) { a_2[i64: 0] = i_8 } else { }");
    let read = format!("{scatter} r_1: i64 = a_2[i64: 0]");
    let mut results: Vec<i64> = run(&read, 3).into_iter().map(|r| r.expect("the program runs")).collect();
    results.sort_unstable();
    results.dedup();
    assert!(results.len() > 1 && results.iter().all(|x| (0..3).contains(x)), "{results:?}");
    // Not in a block that the loop does not list,
    let location = "tasks#0 \"main.map\" meet in byte 0 of block a_2";
    for lists in ["distinct ()", "distinct (a_2)"] {
        meet(&tasks(lists, "a_2[i64: 0] = i_8"), 2, &[[0, 1]], location);
    }
    // not by iterations of another kind, even of one task,
    meet(
        &tasks(SCATTERED, "for j_10: i64 in 0 .. 2 independent { a_2[i64: i_8] = j_10 }"),
        2,
        &[[0, 1]],
        "j_10 meet in byte",
    );
    // and not where a task reads an element that it has written itself.
    meet(&tasks(SCATTERED, "a_2[i64: 0] = i_8 t_9: i64 = a_2[i64: 0]"), 2, &[[0, 1]], location);
}

#[test]
fn variables_shared_by_lanes_are_reported() {
    for result in run("for i_6: i64 in 0 .. n_0 lanes(4) { r_1: i64 = (r_1 + i_6) }", 3) {
        let error = result.expect_err("a variable is shared");
        let wanted = "iterations in lanes share the variable r_1\n  in main: for i_6";
        assert!(error.message.starts_with(wanted), "{error}");
    }
}

#[test]
fn race_free_iterations_run_in_any_order() {
    let sum = "for k_5: i64 in 0 .. n_0 { v_6: i64 = a_2[i64: k_5] r_1: i64 = ((r_1 * 10) + v_6) }";
    // Each writes its own element, and again in a later loop, while all read one.
    gives(
        &format!(
            "{} for i_11: i64 in 0 .. n_0 independent {{ w_12: i64 = a_2[i64: i_11] c_4 = data#0 y_13: i64 = c_4[i64: 0] a_2[i64: i_11] = (w_12 + y_13) }} {sum}",
            tasks("distinct (a_2)", "a_2[i64: i_8] = i_8")
        ),
        4,
        5678,
    );
    // Memory of an iteration: a block of its own, and one of the frame.
    gives(
        &format!(
            "{} {sum}",
            tasks(
                "distinct (a_2)",
                "o_7 = alloc 8 o_7[i64: 0] = i_8 t_9: i64 = o_7[i64: 0] a_2[i64: i_8] = t_9"
            )
        ),
        4,
        123,
    );
    gives(
        &format!(
            "a_2 = alloc (8 * n_0) for i_6: i64 in 0 .. n_0 independent {{ c_4 = frame [1]i64 c_4[i64: 0] = i_6 x_7: i64 = c_4[i64: 0] a_2[i64: i_6] = x_7 }} {sum}"
        )
        .replace("v_6", "v_8"),
        4,
        123,
    );
    // Sequentially within each iteration: several loops over a row.
    gives(
        &format!(
            "a_2 = alloc (8 * n_0)
             for i_6: i64 in 0 .. 2 independent {{
               for k_7: i64 in 0 .. 2 independent {{ a_2[i64: ((i_6 * 2) + k_7)] = k_7 }}
               for k_7: i64 in 0 .. 2 independent {{ x_8: i64 = a_2[i64: ((i_6 * 2) + 1 - k_7)] r_9: i64 = (x_8 + k_7) }}
               a_2[i64: (i_6 * 2)] = 3
             }} {sum}"
        )
        .replace("((i_6 * 2) + 1 - k_7)", "(((i_6 * 2) + 1) - k_7)")
        .replace("v_6", "v_10"),
        4,
        3131,
    );
    // Loop-carried variables keep the order.
    gives("for i_6: i64 in 0 .. n_0 independent { r_1: i64 = ((r_1 * 10) + i_6) }", 4, 123);
    gives(
        "last_5: i64 = 0 for i_6: i64 in 0 .. n_0 independent { last_5: i64 = i_6 } r_1: i64 = last_5",
        4,
        3,
    );
    gives(
        "for i_6: i64 in 0 .. n_0 independent { if eq.i64(i_6, 2) { x_7: i64 = 5 } else { } if eq.i64(i_6, 3) { y_8: i64 = x_7 } else { } }",
        4,
        0,
    );
}
