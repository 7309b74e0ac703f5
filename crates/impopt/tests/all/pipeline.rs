//! Software pipelining: the loops that are transformed, and unchanged results.

use imp::eval::{EvalValue, eval_entry};
use imp::{Program, parse, print, verify};
use prim::Scalar;
use std::fmt::Write;

/// A program whose loop has this body; its results are the lanes of `acc`.
fn program(body: &str) -> Program {
    let text = format!(
        "imp file \"a.fut\"
        entry \"main\" = main (\"n\": \"i64\" as i64) -> (\"\": \"i64\" as i64)
        fun main(n_0: i64) -> (r_1: i64) {{
          owned heap_4
          vars i_2: i64, k_6: i64, k_8: i64
          acc_5: 16 x f64 = splat.16(0.0f64)
          frame_7 = frame [16]f64
          heap_4 = alloc 4096
          other_3 = frame [16]f64
          lent_9 = borrow other_3
          other_3[16 x f64: 0 ..] = splat.16(1.0f64)
          for k_6: i64 in 0 .. 512 {{ heap_4[f64: k_6] = sitofp.i64.f64(k_6) }}
          for i_2: i64 in 0 .. n_0 {{
            {body}
          }}
          r_1: i64 = 0
          for k_6: i64 in 0 .. 16 {{
            r_1: i64 = ((r_1 * 31) + tobits.f64.i64(extract(acc_5, k_6)))
          }}
        }}"
    );
    let program = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(verify(&program), Ok(()), "{text}");
    program
}

fn result(program: &Program, n: i64) -> EvalValue {
    let args = vec![EvalValue::Scalar(Scalar::I64(n))];
    let mut results = eval_entry(program, "main", args).expect("the program runs");
    results.remove(0)
}

/// Appends `count` dependent operations, from `x_10` on; returns the last one's number.
fn chain(first: usize, count: usize, op: &str, out: &mut String) -> usize {
    for at in first..first + count {
        let _ = writeln!(out, "x_{}: 16 x f64 = {op}", at + 1);
        let line = out.trim_end().replace('@', &format!("x_{at}"));
        out.clear();
        out.push_str(&line);
        out.push('\n');
    }
    first + count
}

const STEP: &str = "fma.f64(@, splat.16(0.75f64), splat.16(1.5f64))";

/// A long body: a first value, steps, and a use of the last one.
fn long(start: &str, steps: usize, end: &str) -> String {
    let mut body = format!("x_10: 16 x f64 = {start}\n");
    let last = chain(10, steps, STEP, &mut body);
    let _ = writeln!(body, "{}", end.replace('@', &format!("x_{last}")));
    body
}

const COUNTED: &str = "sitofp.i64.f64((splat.16(i_2) + lanes.i64.16))";
const SUM: &str = "acc_5: 16 x f64 = fadd.f64(acc_5, @)";

/// Pipelines the loop; the results must not change for any number of iterations.
#[track_caller]
fn overlaps(body: &str, wanted: bool) {
    let before = program(body);
    let after = impopt::pipeline::pipeline(before.clone(), &mut ir::Context::default());
    let text = print(&after);
    assert_eq!(verify(&after), Ok(()), "{text}");
    assert_eq!(text.contains(" scheduled {"), wanted, "{text}");
    let again = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(print(&again), text);
    for n in [-3, 0, 1, 2, 3, 17] {
        assert_eq!(result(&before, n), result(&after, n), "{n} iterations\n{text}");
    }
}

#[test]
fn long_dependence_chains_are_pipelined() {
    overlaps(&long(COUNTED, 80, SUM), true);
    // A quotient in the middle, and operands from both parts.
    let mut body = long(COUNTED, 40, "x_200: 16 x f64 = fdiv.f64(@, x_20)");
    chain(200, 40, STEP, &mut body);
    body.push_str("x_90: 16 x f64 = fmul.f64(x_30, x_240)\nacc_5: 16 x f64 = fadd.f64(acc_5, x_90)");
    overlaps(&body, true);
}

#[test]
fn variables_that_are_set_again_and_loops_of_one_iteration() {
    let again = "acc_5: 16 x f64 = fadd.f64(acc_5, @)\nacc_5: 16 x f64 = fmul.f64(acc_5, splat.16(0.5f64))";
    overlaps(&long(COUNTED, 80, again), true);
    let inner = format!(
        "for k_6: i64 in 0 .. 1 independent {{\n{}\n}}",
        long(COUNTED, 80, SUM).replace("splat.16(i_2)", "splat.16((i_2 + k_6))")
    );
    overlaps(&inner, true);
}

#[test]
fn parallel_chains_are_cut_together() {
    let inner = |count, steps| {
        format!(
            "for k_8: i64 in 0 .. {count} independent {{\n{}\n}}",
            long(COUNTED, steps, SUM).replace("splat.16(i_2)", "splat.16(((i_2 * 3) + k_8))")
        )
    };
    overlaps(&inner(3, 40), true);
    // Too many for one body.
    overlaps(&inner(5, 40), false);
    // Enough to keep the units busy.
    let mut wide = String::new();
    for at in 0..4 {
        let chain = long(COUNTED, 20, SUM).replace("splat.16(i_2)", &format!("splat.16((i_2 + {at}))"));
        wide.push_str(&chain.replace("x_", &format!("x_{}", at + 1)));
        wide.push('\n');
    }
    overlaps(&wide, false);
}

#[test]
fn loads_run_ahead_if_nothing_is_stored() {
    let read = "heap_4[16 x f64: (i_2 * 16) ..]";
    overlaps(&long(read, 80, SUM), true);
    // Another block, with one name, is written.
    let written = "frame_7[16 x f64: 0 ..] = @\nacc_5: 16 x f64 = fadd.f64(acc_5, @)";
    overlaps(&long(read, 80, written), true);
}

#[test]
fn loop_carried_computations_do_not_run_ahead() {
    // A later iteration reads a written element.
    let read = "heap_4[16 x f64: (i_2 * 16) ..]";
    let written = "heap_4[16 x f64: ((i_2 + 1) * 16) ..] = @\nacc_5: 16 x f64 = fadd.f64(acc_5, @)";
    overlaps(&long(read, 80, written), false);
    // Every operation waits for the sum.
    let carried = "acc_5: 16 x f64 = fadd.f64(@, splat.16(1.0f64))";
    overlaps(&long("fmul.f64(acc_5, splat.16(0.5f64))", 80, carried), false);
}

#[test]
fn aliased_blocks_are_not_disjoint() {
    // The block that is read is the frame that is written.
    let read = "lent_9[16 x f64: 0 ..]";
    let written = "other_3[16 x f64: 0 ..] = @\nacc_5: 16 x f64 = fadd.f64(acc_5, @)";
    overlaps(&long(read, 80, written), false);
}

#[test]
fn short_or_independent_code_is_not_pipelined() {
    overlaps(&long(COUNTED, 20, SUM), false);
    let mut wide = format!("x_10: 16 x f64 = {COUNTED}\n");
    for at in 11..100 {
        let _ = writeln!(wide, "x_{at}: 16 x f64 = fmul.f64(x_10, splat.16({at}.0f64))");
    }
    wide.push_str("acc_5: 16 x f64 = fadd.f64(acc_5, x_99)");
    overlaps(&wide, false);
}

#[test]
fn nothing_changes_without_vectors() {
    let steps = "r_1: i64 = ((r_1 * 31) + i_2)\n".repeat(200);
    overlaps(&format!("r_1: i64 = i_2\n{steps}"), false);
}
