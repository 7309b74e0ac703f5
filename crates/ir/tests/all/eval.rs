//! The evaluator, compared with values computed in plain Rust or by hand.

use ir::eval::{Array, ErrorClass, EvalValue, Options, eval_entry, eval_entry_with};
use ir::text::{self, TextLevel};
use ir::verify::{self, VerifyLevel};
use ir::{Mems, Program, Segs, Soacs};
use prim::{PrimType, Scalar};

pub fn program<L: TextLevel + VerifyLevel>(source: &str) -> Program<L> {
    let program = text::parse::<L>(source).unwrap_or_else(|e| panic!("{e}"));
    if let Err(errors) = verify::verify(&program) {
        panic!("{}", verify::listing(&program, &errors));
    }
    program
}

pub fn i64s(xs: &[i64]) -> EvalValue {
    shaped(&[xs.len() as i64], xs)
}

fn shaped(shape: &[i64], xs: &[i64]) -> EvalValue {
    let xs: Vec<Scalar> = xs.iter().map(|x| Scalar::I64(*x)).collect();
    EvalValue::Array(Array::from_scalars(PrimType::I64, shape, &xs).unwrap())
}

fn f32s(xs: &[f32]) -> EvalValue {
    let xs: Vec<Scalar> = xs.iter().map(|x| Scalar::F32(*x)).collect();
    EvalValue::Array(Array::from_scalars(PrimType::F32, &[xs.len() as i64], &xs).unwrap())
}

fn i64v(x: i64) -> EvalValue {
    EvalValue::Scalar(Scalar::I64(x))
}

/// A program of one function `f`, which is also the entry point; parameters as entry point values,
/// results as types.
fn entry(level: &str, params: &str, results: &str, function: &str) -> String {
    let fields = results.split(", ").enumerate().map(|(i, ty)| format!("\"{i}\": {ty}"));
    let fields = fields.collect::<Vec<_>>().join(", ");
    format!(
        "{level}\nfile \"t.fut\"\nopaque#0 \"results\" = record ({fields})\n\
         entry \"main\" = f ({params}) -> (\"\": \"results\" as opaque#0)\n{function}"
    )
}

const ARRAY: &str = "\"xs\": \"[]i64\" as array 1 i64";

#[test]
fn combinators() {
    let source = entry(
        "soacs",
        ARRAY,
        "i64, array 1 i64, array 1 i64, array 1 i64, array 1 i64, array 2 i64",
        r"
fun f(n_0: i64, xs_1: [n_0]i64) : (i64, i64, [?1]i64, i64, [?3]i64, i64, [?5]i64, i64, [?7]i64, i64, i64, [?9][?10]i64)
{
  let (s_2: i64, ys_3: [n_0]i64) = redomap n_0 (x_4: i64 <- xs_1) : (i64, i64) -> {
      let y_5: i64 = mul.i64 x_4 x_4
      in (y_5, y_5)
    }
    reduce comm \(a_6: i64, b_7: i64) : (i64) -> {
      let c_8: i64 = add.i64 a_6 b_7
      in (c_8)
    } neutral (0i64)
  let ps_9: [n_0]i64 = scan n_0 (x_10: i64 <- xs_1)
    scan \(a_11: i64, b_12: i64) : (i64) -> {
      let c_13: i64 = add.i64 a_11 b_12
      in (c_13)
    } neutral (0i64)
  let h_14: [3]i64 = replicate [3] 0i64
  let h_15: [3]i64 = hist n_0 (x_16: i64 <- xs_1) : (i64, i64) -> {
      let k_17: i64 = sub.i64 x_16 1i64
      in (k_17, 10i64)
    }
    into [3] (h_14) by comm \(a_18: i64, b_19: i64) : (i64) -> {
      let c_20: i64 = add.i64 a_18 b_19
      in (c_20)
    } neutral (0i64)
  let t_21: [4]i64 = replicate [4] 7i64
  let t_22: [4]i64 = withacc ([4] (t_21)) \(tok_23: cert, acc_24: acc tok_23 [4] (i64)) : (acc tok_23 [4] (i64)) -> {
    let r_25: acc tok_23 [4] (i64) = map n_0 (x_26: i64 <- xs_1, a_27: acc tok_23 [4] (i64) <- acc_24) : (acc tok_23 [4] (i64)) -> {
      let u_28: acc tok_23 [4] (i64) = updateacc a_27 (x_26) (x_26)
      in (u_28)
    }
    in (r_25)
  }
  let (m_29: i64, q_30: [m_29]i64) = flatmap n_0 (x_31: i64 <- xs_1) : (i64, [?0]i64) -> {
    let r_32: [x_31]i64 = replicate [x_31] x_31
    in (x_31, r_32)
  }
  let z_33: [n_0][2]i64 = map n_0 (x_34: i64 <- xs_1) : ([2]i64) -> {
    let l_35: [2]i64 = lit i64 (x_34, 5i64)
    in (l_35)
  }
  let zt_36: [2][n_0]i64 = rearrange (1, 0) z_33
  in (s_2, n_0, ps_9, 3i64, h_15, 4i64, t_22, m_29, q_30, 2i64, n_0, zt_36)
}",
    );
    let program = program::<Soacs>(&source);
    let result = eval_entry(&program, "main", vec![i64s(&[3, 1, 2, 9])]).unwrap();
    let q: Vec<i64> = [3, 1, 2, 9].iter().flat_map(|n| vec![*n; *n as usize]).collect();
    assert_eq!(
        result,
        [
            i64v(95),
            i64s(&[3, 4, 6, 15]),
            i64s(&[10, 10, 10]),
            i64s(&[7, 1, 2, 3]),
            i64s(&q),
            shaped(&[2, 4], &[3, 1, 2, 9, 5, 5, 5, 5]),
        ]
    );
    let empty = eval_entry(&program, "main", vec![i64s(&[])]).unwrap();
    assert_eq!(empty[5], shaped(&[2, 0], &[]));
}

#[test]
fn updates_in_a_loop_take_constant_time() {
    // There are row views, a conditional and a call between the updates.
    let source = entry(
        "soacs",
        "\"n\": \"i64\" as i64",
        "array 1 i64",
        r"
fun f(n_0: i64) : (i64, [?0]i64)
{
  let a_1: [n_0]i64 = replicate [n_0] 0i64
  let r_2: [n_0]i64 = loop (*x_3: [n_0]i64 = a_1) for i_4: i64 < n_0 do {
    let v_5: [n_0]i64 = x_3[0i64 :+ n_0 * 1i64]
    let e_6: i64 = v_5[i_4]
    let odd_7: i64 = and.i64 i_4 1i64
    let c_8: bool = eq.i64 odd_7 0i64
    let y_9: [n_0]i64 = if c_8 then {
      let y_10: [n_0]i64 = x_3 with [i_4] = i_4
      in (y_10)
    } else { in (x_3) }
    let z_11: [n_0]i64 = call g (n_0, y_9, i_4)
    in (z_11)
  }
  in (n_0, r_2)
}
fun g(n_0: i64, *xs_1: [n_0]i64, i_2: i64) : ([n_0]i64)
{
  let v_3: i64 = xs_1[i_2]
  let w_4: i64 = add.i64 v_3 1i64
  let ys_5: [n_0]i64 = xs_1 with [i_2] = w_4
  in (ys_5)
}",
    );
    let n = 300_000;
    let result = eval_entry(&program::<Soacs>(&source), "main", vec![i64v(n)]).unwrap();
    let want: Vec<i64> = (0..n).map(|i| if i % 2 == 0 { i + 1 } else { 1 }).collect();
    assert_eq!(result, [i64s(&want)]);
}

const SEGRED: &str = r"
fun f(n_0: i64, xs_1: [n_0]f32) : (f32, i64, [?1]f32)
{
  let s_2: f32 = segred tasks (i_3 < n_0) chunks (5, 4, 3, 16) : (f32) -> {
    let x_4: f32 = xs_1[i_3]
    in (x_4)
  }
    reduce comm \(a_5: f32, b_6: f32) : (f32) -> {
      let c_7: f32 = fadd.f32 a_5 b_6
      in (c_7)
    } neutral (0.0f32)
  let p_8: [n_0]f32 = segscan tasks (i_9 < n_0) chunks (5, 4, 1, 16) : (f32) -> {
    let x_10: f32 = xs_1[i_9]
    in (x_10)
  }
    scan \(a_11: f32, b_12: f32) : (f32) -> {
      let c_13: f32 = fadd.f32 a_11 b_12
      in (c_13)
    } neutral (0.0f32)
  in (s_2, n_0, p_8)
}";

#[test]
fn decompositions_fix_float_results() {
    let xs: Vec<f32> = (0..23).map(|i| 1.0 / (i as f32 + 3.0)).collect();
    // 23 iterations, at least 5 per chunk, at most 4 chunks: 4 chunks.
    let bounds = [0, 5, 11, 17, 23];
    let mut total = None;
    for c in 0..4 {
        let mut acc = [0f32; 3];
        for (i, x) in xs[bounds[c]..bounds[c + 1]].iter().enumerate() {
            acc[i % 3] += x;
        }
        let chunk = (acc[0] + acc[2]) + acc[1];
        total = Some(total.map_or(chunk, |t: f32| t + chunk));
    }
    let mut scanned = Vec::new();
    let mut carry: Option<f32> = None;
    for c in 0..4 {
        let mut running = carry.unwrap_or(0.0);
        let mut sum = 0f32;
        for x in &xs[bounds[c]..bounds[c + 1]] {
            running += x;
            sum += x;
            scanned.push(running);
        }
        carry = Some(carry.map_or(sum, |t| t + sum));
    }
    let ys = "\"xs\": \"[]f32\" as array 1 f32";
    let program = program::<Segs>(&entry("segs", ys, "f32, array 1 f32", SEGRED));
    let result = eval_entry(&program, "main", vec![f32s(&xs)]).unwrap();
    assert_eq!(result, [EvalValue::Scalar(Scalar::F32(total.unwrap())), f32s(&scanned)]);
    // They differ from a plain fold, so the test depends on the order.
    assert_ne!(total.unwrap(), xs.iter().sum::<f32>());
    let empty = eval_entry(&program, "main", vec![f32s(&[])]).unwrap();
    assert_eq!(empty, [EvalValue::Scalar(Scalar::F32(0.0)), f32s(&[])]);
}

#[test]
fn histograms_follow_the_decomposition() {
    // Bins 0, 1 and 4, squares of remainders: 4 is out of bounds with two bins. 23 iterations.
    let source = |max_chunks: i64, bins: i64| {
        let function = format!(
            r"
fun f(n_0: i64, *xs_1: [n_0]f32) : (i64, [?0]f32)
{{
  let h_2: [{bins}]f32 = replicate [{bins}] 0.1f32
  let h_3: [{bins}]f32 = seghist tasks (i_4 < n_0) chunks (5, {max_chunks}, 1, 0) : (i64, f32) -> {{
    let x_5: f32 = xs_1[i_4]
    let k_6: i64 = umod.i64 i_4 3i64
    let l_7: i64 = mul.i64 k_6 k_6
    in (l_7, x_5)
  }}
    into [{bins}] (h_2) by comm \(a_8: f32, b_9: f32) : (f32) -> {{
      let c_10: f32 = fadd.f32 a_8 b_9
      in (c_10)
    }} neutral (0.0f32)
  in ({bins}i64, h_3)
}}"
        );
        let xs = "\"xs\": *\"[]f32\" as array 1 f32";
        entry("segs", xs, "array 1 f32", &function)
    };
    let xs: Vec<f32> = (0..23).map(|i| 1.0 / ((i * 7 % 23) as f32 + 0.3)).collect();
    let expected = |chunks: usize, bins: usize| {
        let mut dest = vec![0.1f32; bins];
        let bump = |into: &mut [f32], indices: std::ops::Range<usize>| {
            for i in indices {
                if let Some(bin) = into.get_mut((i % 3) * (i % 3)) {
                    *bin += xs[i];
                }
            }
        };
        if chunks == 1 {
            bump(&mut dest, 0..23);
            return dest;
        }
        for c in 0..chunks {
            let mut own = vec![0f32; bins];
            bump(&mut own, c * 23 / chunks..(c + 1) * 23 / chunks);
            for (bin, x) in dest.iter_mut().zip(own) {
                *bin += x;
            }
        }
        dest
    };
    // Limited by the grain size, by `max_chunks`, by the number of bins; a single chunk twice.
    for (max_chunks, bins, chunks) in [(9, 2, 4), (3, 2, 3), (9, 7, 3), (9, 12, 1), (1, 2, 1)] {
        let program = program::<Segs>(&source(max_chunks, bins));
        let result = eval_entry(&program, "main", vec![f32s(&xs)]).unwrap();
        assert_eq!(result, [f32s(&expected(chunks, bins as usize))]);
    }
    assert_ne!(expected(4, 2), expected(3, 2));
    assert_ne!(expected(4, 2), expected(1, 2));
}

#[test]
fn segments_and_memory() {
    let source = entry(
        "mems",
        "\"xs\": \"[][]i64\" as array 2 i64",
        "array 1 i64, array 1 i64",
        r"
fun f(n_0: i64, m_1: i64, b_2: mem host, xs_3: [n_0][m_1]i64 @ b_2 -> {0; (m_1: n_0), (1: m_1)}) : (mem host, i64, [?1]i64 @ ?0 -> {0; (1: ?1)}, mem host, [3]i64 @ ?3 -> {0; (1: 3)}, i64)
{
  let bytes_4: i64 = mul.i64 n_0 8i64
  let b_5: mem host = alloc bytes_4 host
  let s_6: [n_0]i64 @ b_5 -> {0; (1: n_0)} = segred tasks (i_7 < n_0, j_8 < m_1) chunks (2, 8, 1, 1) : (i64) -> {
    let x_9: i64 = xs_3[i_7, j_8]
    in (x_9)
  }
    reduce \(a_10: i64, b_11: i64) : (i64) -> {
      let c_12: i64 = add.i64 a_10 b_11
      in (c_12)
    } neutral (0i64)
  let b_13: mem host = alloc 24i64 host
  let h_14: [3]i64 @ b_13 -> {0; (1: 3)} = replicate [3] 0i64
  let h_15: [3]i64 @ b_13 -> {0; (1: 3)} = seghist tasks (i_16 < n_0) chunks (1, 1, 1, 0) : (i64, i64) -> {
    let x_17: i64 = xs_3[i_16, 0i64]
    in (x_17, 1i64)
  }
    into [3] (h_14) by comm \(a_18: i64, b_19: i64) : (i64) -> {
      let c_20: i64 = add.i64 a_18 b_19
      in (c_20)
    } neutral (0i64)
  in (b_5, n_0, s_6, b_13, h_15, 3i64)
}",
    );
    // The entry point's second array is followed by its size, which does not match the entry type:
    // the verifier detects it.
    let wrong = text::parse::<Mems>(&source).unwrap();
    assert!(verify::verify(&wrong).is_err());
    let source = source
        .replace("mem host, [3]i64 @ ?3 -> {0; (1: 3)}, i64)", "mem host, i64, [?4]i64 @ ?3 -> {0; (1: ?4)})")
        .replace("b_13, h_15, 3i64)", "b_13, 3i64, h_15)");
    let program = program::<Mems>(&source);
    let xs = shaped(&[3, 2], &[1, 2, 1, 10, 7, 100]);
    let result = eval_entry(&program, "main", vec![xs]).unwrap();
    assert_eq!(result, [i64s(&[3, 11, 107]), i64s(&[0, 2, 0])]);
}

#[test]
fn branch_results_outlive_the_branch() {
    let source = entry(
        "soacs",
        &format!("\"p\": \"bool\" as bool, {ARRAY}"),
        "i64, array 1 i64",
        r"
fun f(p_0: bool, n_1: i64, xs_2: [n_1]i64) : (i64, i64, [?1]i64 alias (2))
{
  let ys_3: [n_1]i64 = if p_0 then { in (xs_2) } else { let z_4: [n_1]i64 = copy xs_2 in (z_4) }
  let y_5: i64 = ys_3[0i64]
  in (y_5, n_1, xs_2)
}",
    );
    let program = program::<Soacs>(&source);
    for p in [true, false] {
        let args = vec![EvalValue::Scalar(Scalar::Bool(p)), i64s(&[5, 6])];
        let result = eval_entry(&program, "main", args);
        assert_eq!(result, Ok(vec![i64v(5), i64s(&[5, 6])]));
    }
}

#[test]
fn failures_have_message_and_backtrace() {
    let source = entry(
        "soacs",
        "\"n\": \"i64\" as i64",
        "i64",
        r#"
const limit() : (i64)
{ in (10i64) }
fun g(x_0: i64) : (i64)
{
  let l_1: i64 = call limit ()
  let c_2: bool = slt.i64 x_0 l_1
  let ok_3: cert ^2 = assert c_2 ("value ", x_0: u64, " is not below ", l_1: i64)
  let y_4: i64 <ok_3> = add.i64 x_0 1i64
  in (y_4)
}
where ^1 = 0:1:1-1:5
where ^2 = 0:2:3-2:9 in ^1
fun f(n_0: i64) : (i64)
{
  let r_1: i64 = loop (a_2: i64 = 0i64) for i_3: i64 < n_0 do {
    let b_4: i64 ^1 = call g (a_2)
    in (b_4)
  }
  in (r_1)
}
where ^1 = 0:7:1-7:5
"#,
    );
    let program = program::<Soacs>(&source);
    assert_eq!(eval_entry(&program, "main", vec![i64v(4)]), Ok(vec![i64v(4)]));
    let error = eval_entry(&program, "main", vec![i64v(11)]).unwrap_err();
    assert_eq!(error.class, ErrorClass::Failure);
    assert_eq!(
        error.render(&program.files),
        "value 10 is not below 10\n  at t.fut:2:3\n  called at t.fut:1:1\n  called at t.fut:7:1"
    );
    let error =
        eval_entry_with(&program, "main", vec![i64v(4)], &Options { budget: 7, ..Options::default() })
            .unwrap_err();
    assert_eq!(error.class, ErrorClass::Limit);
    let error = eval_entry(&program, "main", vec![i64s(&[1])]).unwrap_err();
    assert_eq!(error.class, ErrorClass::Argument);
}

#[test]
fn broken_programs_are_errors() {
    let run = |results: &str, body: &str| {
        let source =
            entry("soacs", ARRAY, results, &format!("fun f(n_0: i64, *xs_1: [n_0]i64) : (i64) {body}"));
        let program = text::parse::<Soacs>(&source).unwrap_or_else(|e| panic!("{e}"));
        eval_entry(&program, "main", vec![i64s(&[1, 2])]).unwrap_err()
    };
    let int = "i64";
    let cases = [
        ("{ let a_2: i64 = xs_1[2i64] in (a_2) }", "out of bounds"),
        ("{ let a_2: i64 = sdiv.i64 n_0 0i64 in (a_2) }", "sdiv is undefined"),
        (
            "{ let a_2: [n_0]i64 = xs_1 with [0i64] = 1i64 let b_3: i64 = xs_1[0i64] in (b_3) }",
            "consumed before",
        ),
        ("{ let a_2: i64 = call f (n_0, xs_1) in (a_2) }", "deep"),
        ("{ let a_2: [4000000000000]i64 = replicate [4000000000000] 0i64 in (n_0) }", "4000000000000"),
        (
            "{ let a_2: [3]i64 = copy xs_1 in (n_0) }",
            "a_2 is bound to an array of i64 of shape [2], but its type is [3]i64",
        ),
        ("{ let a_2: [n_0]i32 = copy xs_1 in (n_0) }", "its type is [n_0 = 2]i32"),
    ];
    for (body, message) in cases {
        let error = run(int, body);
        assert!(error.to_string().contains(message), "{error}");
    }
    assert_eq!(run("array 1 i64", "{ in (n_0) }").class, ErrorClass::Bug);
}

/// Results of branches and loop parameters are checked against their types, here in programs that
/// the verifier rejects.
#[test]
fn shapes_are_checked_against_types() {
    let cases = [
        (
            "let c_2: bool = eq.i64 n_0 4i64
             let (k_3: i64, r_4: [k_3]i64) = if c_2 then { in (n_0, xs_1) } else { in (1i64, xs_1) }
             in (k_3)",
            "r_4",
            "let (k_3: i64, r_4: [k_3]i64) = if",
        ),
        (
            "let (k_2: i64, r_3: [k_2]i64) = loop (k_4: i64 = n_0, y_5: [k_4]i64 = xs_1) \
               for i_6: i64 < 2i64 do { in (1i64, y_5) }
             in (k_2)",
            "y_5",
            "let (k_2: i64, r_3: [k_2]i64) = loop",
        ),
    ];
    for (body, name, statement) in cases {
        let function = format!("fun f(n_0: i64, xs_1: [n_0]i64) : (i64) {{ {body} }}");
        let source = entry("soacs", ARRAY, "i64", &function);
        let program = text::parse::<Soacs>(&source).unwrap_or_else(|e| panic!("{e}"));
        let error = eval_entry(&program, "main", vec![i64s(&[1, 2])]).unwrap_err();
        assert_eq!(error.class, ErrorClass::Bug);
        let text = error.to_string();
        let wrong = format!("{name} is bound to an array of i64 of shape [2], but its type is [k_");
        assert!(text.contains(&wrong) && text.contains(statement), "{text}");
    }
}
