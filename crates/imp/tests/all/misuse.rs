//! Misuse that the evaluator reports, of kinds that need no program that the verifier accepts: each
//! program has one mistake, and the evaluator names it.

use imp::eval::{ErrorClass, EvalError, EvalValue, Options, eval_entry_with};
use imp::{Program, parse};
use prim::Scalar;

/// Runs `main`, which has a parameter `n_0` and a result `r_1`, with this body.
fn run(body: &str, n: i64) -> Result<Vec<EvalValue>, EvalError> {
    let text = format!(
        "imp file \"a.fut\"
        global#0: i64
        entry \"main\" = main (\"n\": \"i64\" as i64) -> (\"\": \"i64\" as i64)
        fun main(n_0: i64) -> (r_1: i64) {{
          owned a_2, b_3
          vars c_4: buffer, d_5: buffer, x_6: i64, v_7: 4 x i64, m_8: 4 x bool
          r_1: i64 = 0
          {body}
        }}"
    );
    evaluate(&program(&text), vec![EvalValue::Scalar(Scalar::I64(n))])
}

fn program(text: &str) -> Program {
    parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn evaluate(program: &Program, args: Vec<EvalValue>) -> Result<Vec<EvalValue>, EvalError> {
    eval_entry_with(program, "main", args, Options { budget: 10_000, ..Options::default() })
}

#[track_caller]
fn is_bug(result: Result<Vec<EvalValue>, EvalError>, wanted: &str) {
    let error = result.expect_err(wanted);
    assert_eq!(error.class, ErrorClass::Bug, "{error}");
    assert!(error.message.contains(wanted), "{error}");
}

#[track_caller]
fn fails(body: &str, wanted: &str) {
    is_bug(run(body, 0), wanted);
}

#[track_caller]
fn gives(body: &str, wanted: i64) {
    assert_eq!(run(body, 0), Ok(vec![EvalValue::Scalar(Scalar::I64(wanted))]), "{body}");
}

#[test]
fn slots() {
    let kept = "a_2 = slots 2 b_3 = alloc 8 b_3[i64: at 0] = 7 keep a_2 1 b_3";
    gives(&format!("{kept} c_4 = kept a_2 1 r_1: i64 = c_4[i64: at 0]"), 7);
    fails(&format!("{kept} c_4 = kept a_2 0"), "a slot is empty");
    fails(&format!("{kept} c_4 = kept a_2 2"), "slot 2 of 2");
    fails(&format!("{kept} c_4 = kept a_2 (0 - 1)"), "slot -1 of 2");
    fails(&format!("{kept} b_3 = alloc 8 keep a_2 1 b_3"), "a slot is not empty");
    fails(&format!("{kept} r_1: i64 = b_3[i64: at 0]"), "buffer variable 3 has no block");
    fails("a_2 = slots 2 c_4 = frame [1]i64 keep a_2 0 c_4", "a slot gets a block of the frame");
}

#[test]
fn lifetimes() {
    fails("c_4 = alloc 8", "1 blocks are never released");
    fails("c_4 = frame [1]i64 release c_4", "a block of the frame is released");
    fails("c_4 = frame [1]i64 d_5 = borrow c_4 c_4 = frame [1]i64 d_5[i64: at 0] = 1", "after its release");
    let task =
        "for i_9: i64 in 0 .. 1 tasks#0 \"t\" at \"\" cost 1 owned () locals () captures () distinct () {
          c_4 = frame [1]i64
        }
        c_4[i64: at 0] = 1";
    fails(task, "after its release");
    fails("x_6: i64 = global#0", "global#0 is not set");
}

#[test]
fn vectors() {
    let unwritten = "a_2 = alloc 32 a_2[i64: at 1] = 5 v_7: 4 x i64 = a_2[4 x i64: 0 ..]";
    // Nothing depends on the other lanes.
    gives(&format!("{unwritten} r_1: i64 = extract(v_7, 1)"), 5);
    gives(&format!("{unwritten} b_3 = alloc 32 b_3[4 x i64: 0 ..] = v_7 r_1: i64 = b_3[i64: at 1]"), 5);
    let copied = "b_3 = alloc 32 b_3[4 x i64: 0 ..] = v_7 x_6: i64 = b_3[i64: at 2] r_1: i64 = (x_6 + 1)";
    fails(&format!("{unwritten} {copied}"), "element 2 is used and was never written");
    fails(&format!("{unwritten} r_1: i64 = extract(v_7, 0)"), "the lane has no value");
    fails("r_1: i64 = extract(v_7, 0)", "the lane has no value");
    fails("r_1: i64 = extract(sdiv.i64(lanes.i64.4, lanes.i64.4), 0)", "the lane has no value");
    gives("r_1: i64 = extract(sdiv.i64(lanes.i64.4, lanes.i64.4), 3)", 1);
    let test = "m_8: 4 x bool = eq.i64(v_7, lanes.i64.4)";
    for use_of_mask in ["r_1: i64 = count(m_8)", "v_7: 4 x i64 = a_2[4 x i64: 0 ..] mask m_8"] {
        fails(&format!("{unwritten} {test} {use_of_mask}"), "a lane of a mask has no value");
    }
    // One operand may determine the result of an operator on truth values.
    let and = "m_8: 4 x bool = and.bool(m_8, splat.4(false)) r_1: i64 = count(m_8)";
    gives(&format!("{unwritten} {test} {and}"), 0);
    fails(&format!("{unwritten} v_7: 4 x i64 = a_2[4 x i64: each v_7]"), "a lane's position has no value");
    fails("v_7: 4 x i64 = insert(lanes.i64.4, (0 - 1), 5)", "lane -1 of 4");
    let outside = "outside of a block of 24 bytes";
    fails("a_2 = alloc 24 v_7: 4 x i64 = a_2[4 x i64: 0 ..]", outside);
    fails("a_2 = alloc 24 a_2[4 x i64: 0 ..] = lanes.i64.4", outside);
    fails("a_2 = alloc 24 a_2[4 x i64: each lanes.i64.4] = lanes.i64.4", outside);
    let masked = "a_2 = alloc 24 a_2[4 x i64: 0 ..] mask slt.i64(lanes.i64.4, splat.4(3)) = lanes.i64.4";
    gives(&format!("{masked} r_1: i64 = a_2[i64: at 2]"), 2);
    let same = "c_4 = borrow a_2 copy [2]i64 c_4[1 strides 1] <- a_2[0 strides 1] as memory";
    fails(&format!("{unwritten} {same}"), "overlap");
}

#[test]
fn unwritten_elements() {
    let load = "a_2 = alloc 16 a_2[i64: at 1] = 3 x_6: i64 = a_2[i64: at 0]";
    gives(load, 0);
    gives(&format!("{load} a_2[i64: at 1] = x_6 a_2[i64: at 1] = 4 r_1: i64 = a_2[i64: at 1]"), 4);
    let used = "element 0 is used and was never written";
    for use_of_value in ["r_1: i64 = a_2[i64: x_6]", "if eq.i64(x_6, 0) { }", "b_3 = alloc x_6"] {
        fails(&format!("{load} {use_of_value}"), used);
    }
    // Also on one path only, and in a later iteration.
    let path = "if eq.i64(n_0, 0) { x_6: i64 = a_2[i64: at 0] } else { x_6: i64 = 1 } r_1: i64 = (x_6 + 1)";
    fails(&format!("a_2 = alloc 8 x_6: i64 = 2 {path}"), used);
    let later = "for i_9: i64 in 0 .. 2 { r_1: i64 = (r_1 + x_6) x_6: i64 = a_2[i64: at 0] }";
    fails(&format!("a_2 = alloc 8 x_6: i64 = 2 {later}"), used);
    fails("if eq.i64(n_0, 1) { x_6: i64 = 2 } r_1: i64 = (x_6 + 1)", "variable 6 is not set");
    fails("for i_9: i64 in 0 .. n_0 { x_6: i64 = 2 } r_1: i64 = (x_6 + 1)", "variable 6 is not set");
}

#[test]
fn results() {
    let returns = |body: &str| {
        let text = format!(
            "imp file \"a.fut\"
            entry \"main\" = main () -> (\"\": \"[]i32\" as array 1 i32)
            fun main() -> (ys_0: buffer, m_1: i64) {{
              owned ys_0
              {body}
            }}"
        );
        evaluate(&program(&text), Vec::new())
    };
    is_bug(returns("ys_0 = alloc 8 m_1: i64 = 2 ys_0[i32: at 0] = 1i32"), "a result was not written wholly");
    is_bug(returns("ys_0 = alloc 4 m_1: i64 = 2 ys_0[i32: at 0] = 1i32"), "a result of 8 bytes has 4");
    is_bug(returns("ys_0 = alloc 4 m_1: i64 = -1"), "a result does not fit the entry point");
    is_bug(returns("m_1: i64 = 0"), "result variable 0 of main is not set");
    assert!(returns("ys_0 = alloc 4 m_1: i64 = 1 ys_0[i32: at 0] = 1i32").is_ok());
}

#[test]
fn device_memory() {
    let run = |host: &str, threads: &str| {
        let text = format!(
            "imp file \"a.fut\"
            opaque#0 \"()\" = record ()
            entry \"main\" = main () -> (\"\": \"()\" as opaque#0)
            fun main() -> () {{
              owned xs_0, ys_1
              vars xs_0: buffer device, ys_1: buffer, x_2: i64, s_3: i32
              xs_0 = alloc 8
              ys_1 = alloc 8
              {host}
              for block_4: i64 in 0 .. 1 grid#0 \"main.k\" at \"\" cost 1 owned () locals () captures (xs_0, ys_1) distinct () {{
                for thread_5: i64 in 0 .. 1 block locals (x_2, s_3) {{ {threads} }}
              }}
            }}"
        );
        evaluate(&program(&text), Vec::new())
    };
    assert_eq!(run("", "xs_0[i64: at 0] = 1"), Ok(Vec::new()));
    is_bug(run("xs_0[i64: at 0] = 1", ""), "the host touches memory of the device");
    is_bug(run("x_2: i64 = xs_0[i64: at 0]", ""), "the host touches memory of the device");
    is_bug(run("", "ys_1[i64: at 0] = 1"), "a thread touches the host's memory");
    is_bug(run("", "atomic add xs_0[i64: at 0] <- 1"), "element 0 is updated and was never written");
    is_bug(run("", "await s_3: i32 = xs_0[i32: at 1]"), "element 1 is awaited and was never written");
    is_bug(run("barrier", ""), "a barrier that no block is at");
}
