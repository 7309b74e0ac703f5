//! Accumulators with an operator: the rewritten program gives the same results,
//! and no `withacc` in it has an operator.

use ir::eval::{Array, EvalValue, eval_entry};
use ir::soac::Soac;
use ir::walk::Visit;
use ir::{Exp, Program, Soacs, text, verify};
use prim::{PrimType, Scalar};

fn valid(program: &Program<Soacs>) {
    if let Err(errors) = verify::verify(program) {
        panic!("{}", verify::listing(program, &errors));
    }
}

fn has_operator(program: &Program<Soacs>) -> bool {
    struct Search(bool);
    impl Visit<Soacs> for Search {
        fn exp(&mut self, exp: &Exp<Soacs>) {
            if let Exp::Op(Soac::WithAcc { inputs, lambda: _ }) = exp {
                self.0 |= inputs.iter().any(|input| input.op.is_some());
            }
            self.walk_exp(exp);
        }
    }
    let mut search = Search(false);
    for function in &program.functions {
        search.body(&function.body);
    }
    search.0
}

/// A function `f` from `n` and `xs: [n]i64` to arrays, as a program.
fn program(results: usize, function: &str) -> Program<Soacs> {
    let array = "\"xs\": \"[]i64\" as array 1 i64";
    let results = vec![array; results].join(", ");
    let source =
        format!("soacs\nfile \"t.fut\"\nentry \"main\" = f ({array}) -> ({results})\n{function}");
    let program = text::parse::<Soacs>(&source).unwrap_or_else(|e| panic!("{e}"));
    valid(&program);
    program
}

/// Evaluates before and after, for few points and for many.
fn keeps_its_meaning(program: Program<Soacs>) {
    assert!(has_operator(&program));
    let after = flatten::accumulators(program.clone(), &mut ir::Context::default())
        .unwrap_or_else(|e| panic!("{e:?}"));
    valid(&after);
    assert!(!has_operator(&after));
    for n in [0, 5, 20_000] {
        let xs: Vec<Scalar> = (0..n).map(|i| Scalar::I64(i * i % 11 - 2)).collect();
        let array = Array::from_scalars(PrimType::I64, &[n], &xs);
        let args = [EvalValue::Array(
            array.expect("as many values as the shape says"),
        )];
        let run = |program: &Program<Soacs>| {
            eval_entry(program, "main", args.to_vec()).unwrap_or_else(|e| panic!("{n}: {e:?}"))
        };
        assert_eq!(run(&program), run(&after), "{n} points");
    }
}

const ADD: &str = r"\(a_100: i64, b_101: i64) : (i64) -> {
    let c_102: i64 = add.i64 a_100 b_101
    in (c_102)
  } neutral (0i64)";

/// Names of the operator that are used nowhere else.
fn add(from: u32) -> String {
    let names = [100, 101, 102].into_iter().enumerate();
    names.fold(ADD.to_owned(), |text, (i, name)| {
        text.replace(&format!("_{name}"), &format!("_{}", from + i as u32))
    })
}

#[test]
fn one_with_loops_and_branches() {
    let function = format!(
        r"
fun f(n_0: i64, xs_1: [n_0]i64) : (i64, [?0]i64)
{{
  let d_2: [9]i64 = replicate [9] 1i64
  let r_3: [9]i64 = withacc ([9] (d_2) by comm {}) \(t_4: cert, a_5: acc t_4 [9] (i64)) : (acc t_4 [9] (i64)) -> {{
    let b_6: acc t_4 [9] (i64) = map n_0 (x_7: i64 <- xs_1, c_8: acc t_4 [9] (i64) <- a_5) : (acc t_4 [9] (i64)) -> {{
      let e_9: acc t_4 [9] (i64) = loop (g_10: acc t_4 [9] (i64) = c_8) for i_11: i64 < x_7 do {{
        let even_12: bool = eq.i64 i_11 2i64
        let h_13: acc t_4 [9] (i64) = if even_12 then {{
          let j_14: acc t_4 [9] (i64) = updateacc g_10 (x_7) (i_11)
          in (j_14)
        }} else {{ in (g_10) }}
        in (h_13)
      }}
      let k_15: acc t_4 [9] (i64) = updateacc e_9 (x_7) (100i64)
      in (k_15)
    }}
    in (b_6)
  }}
  in (9i64, r_3)
}}",
        add(16)
    );
    keeps_its_meaning(program(1, &function));
}

#[test]
fn several_at_once_with_and_without_operator() {
    let function = format!(
        r"
fun f(n_0: i64, xs_1: [n_0]i64) : (i64, [?0]i64, i64, [?2]i64, i64, [?4]i64)
{{
  let d_2: [6]i64 = replicate [6] 1i64
  let e_3: [3]i64 = replicate [3] 2i64
  let g_4: [4]i64 = replicate [4] 0i64
  let (r_5: [6]i64, s_6: [3]i64, u_7: [4]i64) = withacc ([6] (d_2) by comm {}, [3] (e_3), [4] (g_4) by comm {}) \(t_8: cert, t_9: cert, t_10: cert, a_11: acc t_8 [6] (i64), a_12: acc t_9 [3] (i64), a_13: acc t_10 [4] (i64)) : (acc t_8 [6] (i64), acc t_9 [3] (i64), acc t_10 [4] (i64)) -> {{
    let (b_14: acc t_10 [4] (i64), b_15: acc t_8 [6] (i64), b_16: acc t_9 [3] (i64)) = map n_0 (x_17: i64 <- xs_1, c_18: acc t_8 [6] (i64) <- a_11, c_19: acc t_9 [3] (i64) <- a_12, c_20: acc t_10 [4] (i64) <- a_13) : (acc t_10 [4] (i64), acc t_8 [6] (i64), acc t_9 [3] (i64)) -> {{
      let h_21: acc t_8 [6] (i64) = updateacc c_18 (x_17) (1i64)
      let h_22: acc t_9 [3] (i64) = updateacc c_19 (x_17) (x_17)
      let h_23: acc t_10 [4] (i64) = updateacc c_20 (x_17) (x_17)
      in (h_23, h_21, h_22)
    }}
    in (b_15, b_16, b_14)
  }}
  in (6i64, r_5, 3i64, s_6, 4i64, u_7)
}}",
        add(24),
        add(27)
    );
    keeps_its_meaning(program(3, &function));
}

#[test]
fn two_dimensions_of_rows_inside_and_outside() {
    let function = format!(
        r"
fun f(n_0: i64, xs_1: [n_0]i64) : (i64, [?0]i64, i64, [?2]i64)
{{
  let d_2: [3][4][2]i64 = replicate [3][4][2] 1i64
  let ne_3: [2]i64 = replicate [2] 0i64
  let r_4: [3][4][2]i64 = withacc ([3][4] (d_2) by comm \(a_5: [2]i64, b_6: [2]i64) : ([2]i64) -> {{
    let c_7: [2]i64 = map 2 (p_8: i64 <- a_5, q_9: i64 <- b_6) : (i64) -> {{
      let s_10: i64 = add.i64 p_8 q_9
      in (s_10)
    }}
    in (c_7)
  }} neutral (ne_3)) \(t_11: cert, a_12: acc t_11 [3][4] ([2]i64)) : (acc t_11 [3][4] ([2]i64)) -> {{
    let b_13: acc t_11 [3][4] ([2]i64) = map n_0 (x_14: i64 <- xs_1, c_15: acc t_11 [3][4] ([2]i64) <- a_12) : (acc t_11 [3][4] ([2]i64)) -> {{
      let v_16: [2]i64 = lit i64 (x_14, 1i64)
      let e_17: acc t_11 [3][4] ([2]i64) = updateacc c_15 (1i64, x_14) (v_16)
      in (e_17)
    }}
    in (b_13)
  }}
  let flat_18: [24]i64 = reshape [24] r_4
  let is_19: [4]i64 = iota.i64 4 0i64 1i64
  let sums_20: [4]i64 = map 4 (i_21: i64 <- is_19) : (i64) -> {{
    let h_22: [2]i64 = replicate [2] i_21
    let w_23: [2]i64 = withacc ([2] (h_22) by comm {}) \(t_24: cert, a_25: acc t_24 [2] (i64)) : (acc t_24 [2] (i64)) -> {{
      let b_26: acc t_24 [2] (i64) = map n_0 (x_27: i64 <- xs_1, c_28: acc t_24 [2] (i64) <- a_25) : (acc t_24 [2] (i64)) -> {{
        let e_29: acc t_24 [2] (i64) = updateacc c_28 (x_27) (i_21)
        in (e_29)
      }}
      in (b_26)
    }}
    let y_30: i64 = w_23[0i64]
    let z_31: i64 = w_23[1i64]
    let s_32: i64 = sub.i64 y_30 z_31
    in (s_32)
  }}
  in (24i64, flat_18, 4i64, sums_20)
}}",
        add(33)
    );
    keeps_its_meaning(program(2, &function));
}

#[test]
fn arrays_mapped_out_beside() {
    let function = format!(
        r"
fun f(n_0: i64, xs_1: [n_0]i64) : (i64, [?0]i64, i64, [?2]i64)
{{
  let d_2: [6]i64 = replicate [6] 1i64
  let (r_3: [6]i64, ys_4: [n_0]i64) = withacc ([6] (d_2) by comm {}) \(t_5: cert, a_6: acc t_5 [6] (i64)) : (acc t_5 [6] (i64), [n_0]i64) -> {{
    let (ys_7: [n_0]i64, b_8: acc t_5 [6] (i64)) = map n_0 (x_9: i64 <- xs_1, c_10: acc t_5 [6] (i64) <- a_6) : (i64, acc t_5 [6] (i64)) -> {{
      let y_11: i64 = mul.i64 x_9 3i64
      let h_12: acc t_5 [6] (i64) = updateacc c_10 (x_9) (y_11)
      in (y_11, h_12)
    }}
    in (b_8, ys_7)
  }}
  in (n_0, ys_4, 6i64, r_3)
}}",
        add(13)
    );
    keeps_its_meaning(program(2, &function));
}

#[test]
fn what_is_not_supported_is_said() {
    let function = format!(
        r"
fun f(n_0: i64, xs_1: [n_0]i64) : (i64, [?0]i64)
{{
  let d_2: [6]i64 = replicate [6] 1i64
  let (r_3: [6]i64, s_4: i64) = withacc ([6] (d_2) by comm {}) \(t_5: cert, a_6: acc t_5 [6] (i64)) : (acc t_5 [6] (i64), i64) -> {{
    let (s_7: i64, b_8: acc t_5 [6] (i64)) = redomap n_0 (x_9: i64 <- xs_1, c_10: acc t_5 [6] (i64) <- a_6) : (i64, acc t_5 [6] (i64)) -> {{
      let h_11: acc t_5 [6] (i64) = updateacc c_10 (x_9) (1i64)
      in (x_9, h_11)
    }}
      reduce comm {}
    in (b_8, s_7)
  }}
  in (6i64, r_3)
}}",
        add(12),
        add(15)
    );
    let message = format!(
        "{:?}",
        flatten::accumulators(program(1, &function), &mut ir::Context::default())
    );
    assert!(
        message.contains("accumulators with an operator in scans and reductions"),
        "{message}"
    );
}
