//! Derivatives in the evaluator.

use super::eval::program;
use ir::Soacs;
use ir::eval::{Array, EvalValue, eval_entry};
use prim::{PrimType, Scalar};

/// The results, of these types, of a function body at `x_1 = 2`, `y_2 = 3`, `zs_3 = [1, 2]` and
/// `i_4 = 1`, where `n_0` is 2; or the error.
fn evaluated(results: &[&str], body: &str) -> Result<Vec<EvalValue>, String> {
    let fields = results.iter().enumerate().map(|(i, ty)| format!("\"{i}\": {ty}"));
    let fields = fields.collect::<Vec<_>>().join(", ");
    let types = results.join(", ");
    let source = format!(
        "soacs\nfile \"t.fut\"\nopaque#0 \"results\" = record ({fields})\n\
         entry \"main\" = f (\"x\": \"f64\" as f64, \"y\": \"f64\" as f64, \"zs\": \"[]f64\" as array 1 f64, \
         \"i\": \"i64\" as i64) -> (\"\": \"results\" as opaque#0)\n\
         fun f(x_1: f64, y_2: f64, n_0: i64, zs_3: [n_0]f64, i_4: i64) : ({types})\n{{\n{body}\n}}\n"
    );
    let args = vec![f64v(2.0), f64v(3.0), f64s(&[1.0, 2.0]), EvalValue::Scalar(Scalar::I64(1))];
    eval_entry(&program::<Soacs>(&source), "main", args).map_err(|error| error.to_string())
}

fn f64v(x: f64) -> EvalValue {
    EvalValue::Scalar(Scalar::F64(x))
}

fn f64s(xs: &[f64]) -> EvalValue {
    let xs: Vec<Scalar> = xs.iter().map(|x| Scalar::F64(*x)).collect();
    EvalValue::Array(Array::from_scalars(PrimType::F64, &[xs.len() as i64], &xs).unwrap())
}

#[test]
fn results_come_before_their_derivatives() {
    let forward =
        "let (p_10: f64, t_11: f64) = jvp (x_1, y_2) (1.0f64, 10.0f64) \\(a_5: f64, b_6: f64) : (f64) -> {
           let c_7: f64 = fmul.f64 a_5 b_6
           in (c_7)
         }
       in (p_10, t_11)";
    assert_eq!(evaluated(&["f64", "f64"], forward), Ok(vec![f64v(6.0), f64v(23.0)]));
    let reverse =
        "let (p_10: f64, a_11: f64, b_12: f64) = vjp (x_1, y_2) (10.0f64) \\(a_5: f64, b_6: f64) : (f64) -> {
           let c_7: f64 = fdiv.f64 a_5 b_6
           let d_8: f64 = fmul.f64 c_7 b_6
           in (d_8)
         }
       in (p_10, a_11, b_12)";
    assert_eq!(evaluated(&["f64"; 3], reverse), Ok(vec![f64v(2.0), f64v(10.0), f64v(0.0)]));
}

#[test]
fn there_may_be_several_directions_or_none() {
    let of = |n: &str| {
        format!(
            "let none_5: [{n}]f64 = replicate [{n}] 3.0f64
             let (p_10: f64, t_11: [{n}]f64) = jvp (x_1) (none_5) directions {n} \\(a_6: f64) : (f64) -> {{
                 let c_7: f64 = fmul.f64 a_6 a_6
                 in (c_7)
               }}
             let (q_12: f64, u_13: [{n}]f64) = vjp (x_1) (none_5) directions {n} \\(a_8: f64) : (f64) -> {{
                 let c_9: f64 = fmul.f64 a_8 a_8
                 in (c_9)
               }}
             let all_14: f64 = fadd.f64 p_10 q_12
             let both_15: [{n}]f64 = map {n} (t_16: f64 <- t_11, u_17: f64 <- u_13) : (f64) -> {{
                 let c_18: f64 = fadd.f64 t_16 u_17
                 in (c_18)
               }}
             let sum_19: f64 = reduce {n} (t_20: f64 <- both_15)
               reduce comm \\(a_21: f64, b_22: f64) : (f64) -> {{
                 let c_23: f64 = fadd.f64 a_21 b_22
                 in (c_23)
               }} neutral (0.0f64)
             in (all_14, sum_19)"
        )
    };
    assert_eq!(evaluated(&["f64"; 2], &of("3")), Ok(vec![f64v(8.0), f64v(72.0)]));
    assert_eq!(evaluated(&["f64"; 2], &of("0")), Ok(vec![f64v(8.0), f64v(0.0)]));
}

#[test]
fn an_operand_may_be_an_index_and_an_element() {
    // `iota` with `i` at `i`: the index has no derivative, the element has.
    let body = "let (p_10: [n_0]i64, t_11: [n_0]i64) = jvp (i_4) (7i64) \\(j_5: i64) : ([n_0]i64) -> {
           let a_6: [n_0]i64 = replicate [n_0] 5i64
           let b_7: [n_0]i64 = a_6 with [j_5] = j_5
           in (b_7)
         }
       let p_12: i64 = p_10[1i64]
       let t_13: i64 = t_11[1i64]
       let t_14: i64 = t_11[0i64]
       in (p_12, t_13, t_14)";
    let i64v = |x| EvalValue::Scalar(Scalar::I64(x));
    assert_eq!(evaluated(&["i64"; 3], body), Ok(vec![i64v(1), i64v(7), i64v(0)]));
}

#[test]
fn perturbations_do_not_mix() {
    // The derivative of `a * d/db (a * b)` at `b = a` is that of `a * a`.
    for inner in ["jvp (a_5) (1.0f64)", "vjp (a_5) (1.0f64)"] {
        let body = format!(
            "let (p_10: f64, t_11: f64) = vjp (x_1) (1.0f64) \\(a_5: f64) : (f64) -> {{
               let (q_6: f64, u_7: f64) = {inner} \\(b_8: f64) : (f64) -> {{
                   let c_9: f64 = fmul.f64 a_5 b_8
                   in (c_9)
                 }}
               let d_12: f64 = fmul.f64 a_5 u_7
               in (d_12)
             }}
           in (p_10, t_11)"
        );
        assert_eq!(evaluated(&["f64"; 2], &body), Ok(vec![f64v(4.0), f64v(4.0)]));
    }
}

#[test]
fn accumulators_and_loops_have_derivatives() {
    // A product over a loop of the elements that an accumulator has multiplied by `x`.
    let body = "let (p_10: f64, t_11: f64) = jvp (x_1) (1.0f64) \\(a_5: f64) : (f64) -> {
           let c_6: [n_0]f64 = copy zs_3
           let d_7: [n_0]f64 = withacc ([n_0] (c_6) by comm \\(e_8: f64, g_9: f64) : (f64) -> {
               let h_12: f64 = fmul.f64 e_8 g_9
               in (h_12)
             } neutral (1.0f64)) \\(tok_13: cert, acc_14: acc tok_13 [n_0] (f64)) : (acc tok_13 [n_0] (f64)) -> {
               let acc_15: acc tok_13 [n_0] (f64) = updateacc acc_14 (1i64) (a_5)
               in (acc_15)
             }
           let m_16: f64 = loop (k_17: f64 = 1.0f64) for j_18: i64 < n_0 do {
               let z_19: f64 = d_7[j_18]
               let l_20: f64 = fmul.f64 k_17 z_19
               in (l_20)
             }
           in (m_16)
         }
       in (p_10, t_11)";
    assert_eq!(evaluated(&["f64"; 2], body), Ok(vec![f64v(4.0), f64v(2.0)]));
}

#[test]
fn functions_with_derivatives_of_their_own_have_no_reverse_derivative_here() {
    let inside = |op: &str, seed: &str| {
        let body = format!(
            "let (p_10: f64, t_11: f64) = {op} (x_1) ({seed}) \\(a_5: f64) : (f64) -> {{
               let b_6: f64 = with_vjp (a_5) \\(c_7: f64) : (f64) -> {{
                   let d_8: f64 = fmul.f64 c_7 c_7
                   in (d_8)
                 }} adjoint \\(e_9: f64, g_12: f64) : (f64) -> {{
                   in (g_12)
                 }}
               in (b_6)
             }}
           in (p_10, t_11)"
        );
        evaluated(&["f64"; 2], &body)
    };
    assert_eq!(inside("jvp", "1.0f64"), Ok(vec![f64v(4.0), f64v(4.0)]));
    let error = inside("vjp", "1.0f64").expect_err("a reverse derivative");
    assert!(error.contains("not supported yet: reverse derivatives of with_vjp"), "{error}");
}
