//! The evaluator on small programs: results, failing checks, and every kind of misuse of memory.

use imp::eval::{ErrorClass, EvalError, EvalValue, Options, eval_entry, eval_entry_with};
use imp::{parse, verify};
use prim::Scalar;

/// The results of `main` with this body, which has a parameter and a result of type `i64`.
fn run(body: &str, n: i64) -> Result<i64, EvalError> {
    let text = format!(
        "imp file \"a.fut\"
        check#0 = \"{{{{{{i64}}}}}} is not {{u8}}.\" at \"a.fut:1:2-3\\na.fut:4:5-6\"
        data#0: i32 = \"0100000002000000ffffffff\"
        global#0: buffer
        init init
        entry \"main\" = main (\"n\": \"i64\" as i64) -> (\"\": \"i64\" as i64)
        fun init() -> () {{
          owned g_0
          g_0 = alloc 8
          g_0[i64: 0] = 5
          global#0 = g_0
        }}
        recursive fun forever(n_0: i64) -> (r_1: i64) {{
          (r_1: i64) = forever((n_0 + 1))
        }}
        fun main(n_0: i64) -> (r_1: i64) {{
          owned a_2, b_3
          vars c_4: buffer, x_5: i32
          {body}
        }}"
    );
    let program = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(verify(&program), Ok(()), "{text}");
    let args = vec![EvalValue::Scalar(Scalar::I64(n))];
    let options = Options { budget: 100_000, ..Options::default() };
    match eval_entry_with(&program, "main", args, options)?.as_slice() {
        [EvalValue::Scalar(Scalar::I64(x))] => Ok(*x),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn gives(body: &str, n: i64, wanted: i64) {
    assert_eq!(run(body, n), Ok(wanted), "{body}");
}

#[track_caller]
fn fails(body: &str, n: i64, class: ErrorClass, wanted: &str) {
    let error = run(body, n).expect_err(body);
    assert_eq!(error.class, class, "{error}");
    assert!(error.message.contains(wanted), "{error}");
}

#[test]
fn memory_globals_and_loops() {
    gives("r_1: i64 = (n_0 * 3)", 14, 42);
    gives("c_4: buffer = global#0 r_1: i64 = c_4[i64: 0]", 0, 5);
    gives("c_4 = data#0 x_5: i32 = c_4[i32: at 1 + n_0] r_1: i64 = sext.i32.i64(x_5)", 1, -1);
    let squares = "a_2 = alloc (8 * n_0)
        for i_6: i64 in 0 .. n_0 independent { a_2[i64: i_6] = (i_6 * i_6) }
        b_3 = alloc (8 * n_0)
        copy [n_0]i64 b_3[0 strides 1] <- a_2[(n_0 - 1) strides -1] by strides
        r_1: i64 = 0
        release a_2
        for i_7: i64 in 0 .. 2 { v_8: i64 = b_3[i64: i_7] r_1: i64 = (r_1 + v_8) }";
    gives(squares, 5, 16 + 9);
    let shared = "a_2 = alloc 8 a_2[i64: 0] = n_0 b_3 = share a_2 release a_2 r_1: i64 = b_3[i64: 0]";
    gives(shared, 7, 7);
    let halve = "r_1: i64 = n_0 go_6: bool = true
        while go_6 { r_1: i64 = squot.i64(r_1, 2) go_6: bool = slt.i64(10, r_1) }";
    gives(halve, 1000, 7);
}

#[test]
fn vectors() {
    gives("v_6: 4 x i64 = lanes.i64.4 v_6: 4 x i64 = shift.1(v_6, n_0) r_1: i64 = extract(v_6, 3)", 9, 2);
    gives("m_6: 4 x bool = slt.i64(splat.4(n_0), lanes.i64.4) r_1: i64 = first(m_6)", 1, 2);
    gives("m_6: 4 x bool = slt.i64(splat.4(n_0), lanes.i64.4) r_1: i64 = first(m_6)", 3, 4);
    gives("m_6: 4 x bool = slt.i64(splat.4(n_0), lanes.i64.4) r_1: i64 = count(m_6)", 1, 2);
    gives(
        "m_6: 4 x bool = slt.i64(splat.4(n_0), lanes.i64.4) \
         w_7: 4 x i64 = pack(lanes.i64.4, m_6) r_1: i64 = ((extract(w_7, 1) * 10) + extract(w_7, 3))",
        1,
        30,
    );
    let masked = "a_2 = alloc 16
        a_2[4 x i64: 0 ..] mask slt.i64(lanes.i64.4, splat.4(2)) = mul.i64(lanes.i64.4, splat.4(n_0))
        v_6: 4 x i64 = a_2[4 x i64: 1 .. near -1] mask slt.i64(lanes.i64.4, splat.4(2))
        r_1: i64 = (extract(v_6, 0) + extract(v_6, 3))";
    gives(masked, 6, 6);
    let elsewhere = "a_2 = alloc 32
        a_2[4 x i64: each mul.i64(lanes.i64.4, splat.4(3))] mask slt.i64(lanes.i64.4, splat.4(2)) elsewhere
          = add.i64(lanes.i64.4, splat.4(n_0))
        r_1: i64 = a_2[i64: 3]";
    gives(elsewhere, 6, 7);
    gives(
        "x_6: 16 x f64 = shared_sqrt(sitofp.i64.f64(mul.i64(lanes.i64.16, lanes.i64.16)))
        r_1: i64 = fptosi.f64.i64(extract(x_6, n_0))",
        13,
        13,
    );
}

#[test]
fn failures_of_the_program_and_limits() {
    fails(
        "check#0 slt.i64(n_0, 3) values (n_0, -56i8) r_1: i64 = 1",
        3,
        ErrorClass::Failure,
        "{3} is not 200.\n  at a.fut:1:2-3\n  called at a.fut:4:5-6",
    );
    gives("check#0 slt.i64(n_0, 3) values (n_0, -56i8) r_1: i64 = 1", 2, 1);
    fails("a_2 = alloc n_0 r_1: i64 = 0", -1, ErrorClass::Limit, "a block of -1 bytes");
    fails("(r_1: i64) = forever(n_0)", 0, ErrorClass::Limit, "calls nested");
    let endless = "go_6: bool = true r_1: i64 = 0 while go_6 { }";
    fails(endless, 0, ErrorClass::Limit, "the budget of statements");
}

#[test]
fn misuse_of_memory_is_found() {
    let bug = |body: &str, n: i64, wanted: &str| fails(body, n, ErrorClass::Bug, wanted);
    bug("r_1: i64 = c_4[i64: 0]", 0, "variable 4 is not set\n  in main: r_1: i64 = c_4[i64: 0]");
    bug("r_1: i64 = a_2[i64: 0]", 0, "buffer variable 2 has no block");
    bug("a_2 = alloc 8 r_1: i64 = a_2[i64: 0] r_1: i64 = (r_1 + 1)", 0, "was never written");
    bug("a_2 = alloc 12 a_2[i64: n_0] = 1 r_1: i64 = 0", 1, "outside of a block of 12 bytes");
    bug("a_2 = alloc 12 a_2[i64: n_0] = 1 r_1: i64 = 0", -1, "outside of a block of 12 bytes");
    bug("a_2 = alloc 8 c_4 = borrow a_2 release a_2 c_4[i64: 0] = 1 r_1: i64 = 0", 0, "after its release");
    bug("a_2 = alloc 8 c_4 = borrow a_2 a_2 = alloc 8 c_4[i64: 0] = 1 r_1: i64 = 0", 0, "after its release");
    bug("a_2 = alloc 8 release a_2 release a_2 r_1: i64 = 0", 0, "has no block");
    bug("c_4 = data#0 c_4[i32: 0] = 1i32 r_1: i64 = 0", 0, "must stay as it is");
    bug("c_4: buffer = global#0 c_4[i64: 0] = 1 r_1: i64 = 0", 0, "must stay as it is");
    bug("c_4 = frame [2]i64 a_2 = share c_4 r_1: i64 = 0", 0, "block of the frame is kept");
    let overlap = "a_2 = alloc 16 copy [3]i32 a_2[1 strides 1] <- a_2[0 strides 1] as memory r_1: i64 = 0";
    bug(overlap, 0, "overlap");
    bug("a_2 = alloc 1 a_2[i8: 0] = 2i8 x_6: bool = a_2[bool: 0] r_1: i64 = 0", 0, "a bool of the bits 2");
    bug("r_1: i64 = extract(lanes.i64.4, n_0)", 4, "lane 4 of 4");
    bug("r_1: i64 = sdiv.i64(1, n_0)", 0, "sdiv has no value");
    bug("x_6: i64 = 0", 0, "result variable 1 of main is not set");
    let no_piece = "for i_7: i64 in 0 .. 2 tasks#0 \"t\" at \"\" cost 1 slices n_0 to e_8: i64
        owned () locals () captures (n_0) distinct () { } r_1: i64 = 0";
    bug(no_piece, 0, "is partitioned into 0 slices");
    gives(no_piece, 1, 0);
    let task = "s_6: i64 = 1
        for i_7: i64 in 0 .. 2 tasks#0 \"t\" at \"\" cost 1 owned (o_8) locals (l_9) captures (n_0) distinct () {
          if eq.i64(i_7, n_0) { o_8 = alloc 8 l_9: i64 = 3 } else { z_10: i64 = l_9 }
        }
        r_1: i64 = 0";
    let task = task.replace("locals (l_9)", "locals (l_9, z_10)");
    bug(&task, 0, "variable 9 is not set\n  in main: z_10: i64 = l_9");
}

#[test]
fn tasks_that_take_slices() {
    let body = "a_2 = alloc (n_0 * 8)
        for i_7: i64 in 0 .. n_0 tasks#0 \"t\" at \"\" cost 1 slices 3 to e_8: i64 owned () locals (k_9)
          captures (n_0, a_2) distinct (a_2) {
          for k_9: i64 in i_7 .. e_8 independent { a_2[i64: k_9] = ((i_7 * 100) + e_8) }
        }
        r_1: i64 = 0
        for j_10: i64 in 0 .. n_0 { x_11: i64 = a_2[i64: j_10] r_1: i64 = ((r_1 * 10000) + x_11) }";
    // Slices of 4: 0 .. 1, 1 .. 2, 2 .. 4.
    gives(body, 4, 1_0102_0204_0204);
    gives(body, 2, 1_0102);
    gives(body, 0, 0);
}

#[test]
fn arguments_and_results_of_every_kind() {
    let text = "imp file \"a.fut\"
        entry \"fill\" = fill (\"xs\": MARK\"[][]i32\" as array 2 i32) -> (\"\": \"[]i32\" as array 1 i32)
        fun fill(xs_0: buffer, n_1: i64, m_2: i64) -> (ys_3: buffer, m_4: i64) {
          owned ys_3
          ys_3 = alloc (m_2 * 4)
          m_4: i64 = m_2
          copy [m_2]i32 ys_3[0 strides 1] <- xs_0[((n_1 - 1) * m_2) strides 1] as memory
          xs_0[i32: 0] = 9i32
        }";
    let array = |shape: &[i64], values: &[i32]| {
        let values: Vec<Scalar> = values.iter().map(|x| Scalar::I32(*x)).collect();
        imp::eval::Array::from_scalars(prim::PrimType::I32, shape, &values)
            .map(EvalValue::Array)
            .expect("the arguments match")
    };
    let call = |mark: &str, args| {
        let program = parse(&text.replace("MARK", mark)).expect("the text is valid");
        assert_eq!(verify(&program), Ok(()));
        eval_entry(&program, "fill", args)
    };
    let arg = || vec![array(&[2, 2], &[1, 2, 3, 4])];
    assert_eq!(call("*", arg()), Ok(vec![array(&[2], &[3, 4])]));
    let error = call("", arg()).expect_err("the argument is not unique");
    assert!(error.message.contains("must stay as it is"), "{error}");
    let error = call("", vec![array(&[4], &[1, 2, 3, 4])]).expect_err("another rank");
    assert_eq!(error.class, ErrorClass::Argument);
    let error = call("*", vec![array(&[0, 2], &[])]).expect_err("nothing to copy");
    assert_eq!(error.class, ErrorClass::Bug);
}
