//! Which square roots are shared out, and that results stay.

use imp::eval::{EvalValue, eval_entry};
use imp::{Program, parse, print, verify};
use prim::Scalar;
use target::{Machine, Make};

/// A loop of 16 lanes with this body, `x_5` being what it computes with.
fn program(how: &str, body: &str) -> Program {
    let text = format!(
        "imp file \"a.fut\"
        entry \"main\" = main (\"n\": \"i64\" as i64) -> (\"\": \"i64\" as i64)
        fun main(n_0: i64) -> (r_1: i64) {{
          vars y_6: 8 x f64
          x_5: 16 x f64 = sitofp.i64.f64(lanes.i64.16)
          {how} {{
            {body}
          }}
          r_1: i64 = tobits.f64.i64(extract(x_5, 7))
        }}"
    );
    let program = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(verify(&program), Ok(()), "{text}");
    program
}

fn result(program: &Program) -> EvalValue {
    let args = vec![EvalValue::Scalar(Scalar::I64(3))];
    let mut results = eval_entry(program, "main", args).expect("it runs");
    results.remove(0)
}

/// How many roots are shared out on a machine.
#[track_caller]
fn shared(how: &str, body: &str, machine: Machine) -> usize {
    let before = program(how, body);
    let options = ir::Options {
        machine,
        ..ir::Options::default()
    };
    let mut context = ir::Context::new(None, options);
    let after = imp::pipeline::pipeline(before.clone(), &mut context);
    let text = print(&after);
    assert_eq!(verify(&after), Ok(()), "{text}");
    assert_eq!(parse(&text).as_ref(), Ok(&after), "{text}");
    assert_eq!(result(&after), result(&before), "{text}");
    text.matches("shared_sqrt").count()
}

const LOOP: &str = "for i_2: i64 in 0 .. n_0 independent";
const ROOT: &str = "x_5: 16 x f64 = fadd.f64(fsqrt.f64(x_5), splat.16(2.0f64))";

#[test]
fn roots_of_two_registers_in_loops_that_wait_are_shared() {
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
    // Where the multipliers have enough to do; the slower the divider, the later.
    let product = "x_5: 16 x f64 = fmul.f64(x_5, splat.16(0.5f64))\n";
    let busy = format!("{} {ROOT}", product.repeat(12));
    assert_eq!(shared(LOOP, &busy, wide), 0);
    let slow = Machine {
        make: Make::INTEL,
        ..wide
    };
    assert_eq!(shared(LOOP, &busy, slow), 1);
}
