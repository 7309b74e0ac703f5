//! The square roots and quotients that are split between divider and multipliers, and unchanged
//! results.

use imp::eval::{EvalValue, eval_entry};
use imp::{Program, parse, print, verify};
use prim::Scalar;
use target::{Machine, Microarchitecture};

/// A loop of 16 lanes with this body, which computes with `x_5`.
fn program(how: &str, body: &str) -> Program {
    let text = format!(
        "imp file \"a.fut\"
        entry \"main\" = main (\"n\": \"i64\" as i64) -> (\"\": \"i64\" as i64)
        fun main(n_0: i64) -> (r_1: i64) {{
          vars y_6: 8 x f64
          z_7: 16 x f32 = sitofp.i64.f32(lanes.i64.16)
          w_8: 16 x f32 = splat.16(0.0f32)
          x_5: 16 x f64 = sitofp.i64.f64(lanes.i64.16)
          {how} {{
            {body}
          }}
          r_1: i64 = tobits.f64.i64(fadd.f64(extract(x_5, 7), fpconv.f32.f64(extract(w_8, 7))))
        }}"
    );
    let program = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(verify(&program), Ok(()), "{text}");
    program
}

fn result(program: &Program) -> EvalValue {
    let args = vec![EvalValue::Scalar(Scalar::I64(3))];
    let mut results = eval_entry(program, "main", args).expect("the program runs");
    results.remove(0)
}

/// The number of roots and quotients that are split on a machine.
#[track_caller]
fn shared(how: &str, body: &str, machine: Machine) -> usize {
    let before = program(how, body);
    let options = ir::Options { machine, ..ir::Options::default() };
    let mut context = ir::Context::new(None, options);
    let after = impopt::pipeline::pipeline(before.clone(), &mut context);
    let text = print(&after);
    assert_eq!(verify(&after), Ok(()), "{text}");
    assert_eq!(parse(&text).as_ref(), Ok(&after), "{text}");
    assert_eq!(result(&after), result(&before), "{text}");
    text.matches("shared_").count()
}

const LOOP: &str = "for i_2: i64 in 0 .. n_0 independent";
const ROOT: &str = "x_5: 16 x f64 = fadd.f64(fsqrt.f64(x_5), splat.16(2.0f64))";

#[test]
fn square_roots_are_split_in_loops_bound_by_the_divider() {
    let wide = Machine::of(64);
    assert_eq!(shared(LOOP, ROOT, wide), 1);
    let both = format!("if slt.i64(i_2, 1) {{ {ROOT} }} else {{ {ROOT} }}");
    assert_eq!(shared(LOOP, &both, wide), 2);
    // Outside of loops, and in code for other processors.
    assert_eq!(shared("if slt.i64(0, n_0)", ROOT, wide), 0);
    assert_eq!(shared(LOOP, ROOT, Machine::of(32)), 0);
    // One register at a time.
    let half = "y_6: 8 x f64 = fsqrt.f64(splat.8(2.0f64))";
    assert_eq!(shared(LOOP, half, wide), 0);
    // The multipliers are busy; the slower the divider, the later.
    let product = "x_5: 16 x f64 = fmul.f64(x_5, splat.16(0.5f64))\n";
    let busy = format!("{} {ROOT}", product.repeat(12));
    assert_eq!(shared(LOOP, &busy, wide), 0);
    let slow = Machine { uarch: Microarchitecture::INTEL, ..wide };
    assert_eq!(shared(LOOP, &busy, slow), 1);
}

#[test]
fn quotients_off_the_critical_path_are_computed_by_multiplications() {
    let intel = Machine { uarch: Microarchitecture::INTEL, ..Machine::of(64) };
    let sum = |x: &str| format!("w_8: 16 x f32 = fadd.f32(w_8, {x})");
    let reciprocal = "fdiv.f32(splat.16(1.0f32), fadd.f32(z_7, splat.16(1.0f32)))";
    let quotient = "fdiv.f32(z_7, splat.16(3.0f32))";
    assert_eq!(shared(LOOP, &sum(reciprocal), intel), 1);
    assert_eq!(shared(LOOP, &sum(quotient), intel), 0);
    // The divider computes one, the multipliers the other.
    let both = format!("{}\n{}", sum(quotient), sum(quotient));
    assert_eq!(shared(LOOP, &both, intel), 1);
    // A loop-carried quotient.
    let next = "z_7: 16 x f32 = fdiv.f32(splat.16(1.0f32), fadd.f32(z_7, splat.16(1.0f32)))";
    assert_eq!(shared(LOOP, next, intel), 0);
    // The divider is as fast.
    assert_eq!(shared(LOOP, &sum(reciprocal), Machine::of(64)), 0);
}
