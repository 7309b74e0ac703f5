//! Merging of equal code: fewer functions and statements, the same results and failures.

use imp::eval::{ErrorClass, EvalValue, eval_entry};
use imp::{Program, Stmt, parse, print, verify};
use impopt::merge::merge;
use prim::Scalar;
use std::fmt::Write;

/// Parses a program whose entry point `main` takes `n` and returns `r`.
fn program(functions: &str) -> Program {
    let text = format!(
        "imp file \"a.fut\"
        check#0 = \"{{i64}} is too much.\" at \"a.fut:1:2-3\"
        check#1 = \"{{i64}} is far too much.\" at \"a.fut:4:5-6\"
        entry \"main\" = main (\"n\": \"i64\" as i64) -> (\"\": \"i64\" as i64)
        {functions}"
    );
    let program = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(verify(&program), Ok(()));
    program
}

/// The result, or the message of the failed check.
fn run(program: &Program, n: i64) -> Result<i64, String> {
    let args = vec![EvalValue::Scalar(Scalar::I64(n))];
    match eval_entry(program, "main", args) {
        Ok(values) => match values.as_slice() {
            [EvalValue::Scalar(Scalar::I64(x))] => Ok(*x),
            other => panic!("{other:?}"),
        },
        Err(error) => {
            assert_eq!(error.class, ErrorClass::Failure, "{error}");
            Err(error.to_string())
        }
    }
}

fn statements(program: &Program) -> usize {
    let mut count = 0;
    for function in &program.functions {
        imp::walk::each_stmt(&function.body, &mut |_| count += 1);
    }
    count
}

/// Merges, and compares the results for these arguments.
#[track_caller]
fn merged(functions: &str, args: &[i64]) -> (Program, Program) {
    let before = program(functions);
    let after = merge(before.clone(), &mut ir::Context::default());
    let text = print(&after);
    assert_eq!(verify(&after), Ok(()), "{text}");
    assert_eq!(parse(&text).map(|p| print(&p)), Ok(text));
    for &n in args {
        assert_eq!(run(&before, n), run(&after, n), "{n}");
    }
    (before, after)
}

/// Statements that are long enough for a function of their own: `x` becomes a number that depends on
/// all of them. The variables have numbers from `first` on.
fn long(x: &str, first: usize) -> String {
    let mut text = String::new();
    for k in 0..160 {
        let _ = writeln!(text, "t_{}: i64 = (({x} * {}) + {k})", first + k, 2 * k + 3);
        let _ = writeln!(text, "{x}: i64 = xor.i64({x}, t_{})", first + k);
    }
    text
}

/// A function with two long loops; in the second, the counter is combined by `op`.
fn two_loops(op: &str) -> String {
    format!(
        "fun main(n_0: i64) -> (r_1: i64) {{
          x_2: i64 = n_0
          for i_3: i64 in 0 .. n_0 {{
            x_2: i64 = (x_2 + i_3)
            {}
          }}
          y_4: i64 = (x_2 + 1)
          for j_5: i64 in 0 .. n_0 {{
            y_4: i64 = (y_4 {op} j_5)
            {}
          }}
          r_1: i64 = (x_2 * y_4)
        }}",
        long("x_2", 1000),
        long("y_4", 2000)
    )
}

#[test]
fn equal_loops_are_one_function() {
    let (before, after) = merged(&two_loops("+"), &[0, 1, 7]);
    assert_eq!(after.functions.len(), 2);
    assert!(statements(&after) < statements(&before) * 3 / 5);
}

#[test]
fn loops_with_another_operator_remain() {
    let (before, after) = merged(&two_loops("-"), &[3]);
    assert_eq!(print(&after), print(&before));
}

#[test]
fn each_call_site_has_its_check() {
    let body = |x: &str, i: &str, check: usize, first| {
        format!(
            "for {i}: i64 in 0 .. 3 {{
              check#{check} slt.i64(({x} + {i}), 1000) values (({x} + {i}))
              {x}: i64 = and.i64({x}, 4095)
              {}
            }}",
            long(x, first)
        )
    };
    let functions = format!(
        "fun main(n_0: i64) -> (r_1: i64) {{
          x_2: i64 = n_0
          if slt.i64(n_0, 10000) {{
            {}
          }} else {{
            {}
          }}
          r_1: i64 = x_2
        }}",
        body("x_2", "i_3", 0, 1000),
        body("x_2", "j_4", 1, 2000)
    );
    let (_, after) = merged(&functions, &[2, 998, 5000, 20_000, -20_000]);
    assert_eq!(after.functions.len(), 2);
    assert_eq!(run(&after, 5000).map_err(|e| e.contains("5000 is too much.")), Err(true));
    assert_eq!(run(&after, 20_000).map_err(|e| e.contains("20000 is far too much.")), Err(true));
}

#[test]
fn bodies_of_task_loops_are_one_function() {
    let body = |task: usize, to: &str, first: usize| {
        let [i, x, local] = [first, first + 1, first + 2];
        format!(
            "for i_{i}: i64 in 0 .. n_0 tasks#{task} \"main.segmap\" at \"a.fut:1:2-3\" cost n_0 owned (mem_{local}) locals (x_{x}, {}) captures ({to}) distinct ({to}) {{
              x_{x}: i64 = i_{i}
              mem_{local} = alloc 8
              {}
              mem_{local}[i64: at 0] = x_{x}
              x_{x}: i64 = mem_{local}[i64: at 0]
              {to}[i64: i_{i}] = x_{x}
            }}",
            (first + 10..first + 170).map(|t| format!("t_{t}")).collect::<Vec<_>>().join(", "),
            long(&format!("x_{x}"), first + 10)
        )
    };
    let functions = format!(
        "fun main(n_0: i64) -> (r_1: i64) {{
          owned a_2, b_3
          a_2 = alloc (n_0 * 8)
          b_3 = alloc (n_0 * 8)
          {}
          {}
          p_4: i64 = a_2[i64: (n_0 - 1)]
          q_5: i64 = b_3[i64: at 0]
          r_1: i64 = (p_4 - q_5)
        }}",
        body(0, "a_2", 1000),
        body(1, "b_3", 2000)
    );
    let (_, after) = merged(&functions, &[1, 5]);
    let [main, shared] = &after.functions[..] else {
        panic!("{}", print(&after));
    };
    assert_eq!(shared.owned.len(), 1);
    assert_eq!(shared.distinct.len(), 1);
    imp::walk::each_stmt(&main.body, &mut |stmt| {
        if let Stmt::For(f) = stmt {
            let launch = f.mode.launch().expect("a task loop");
            assert!(launch.owned.is_empty() && launch.locals.is_empty(), "{}", print(&after));
        }
    });
}

#[test]
fn callers_of_equal_functions_are_equal() {
    let pair = |k: usize| {
        format!(
            "noinline fun inner{k}(x_0: i64) -> (y_1: i64) {{ y_1: i64 = ((x_0 * 3) + 1) }}
            noinline fun outer{k}(x_{k}: i64) -> (y_9: i64) {{ (y_9: i64) = inner{k}((x_{k} + 1)) }}"
        )
    };
    let functions = format!(
        "fun main(n_0: i64) -> (r_1: i64) {{
          (a_2: i64) = outer3(n_0)
          (b_3: i64) = outer4(n_0)
          r_1: i64 = (a_2 + b_3)
        }}
        {}
        {}",
        pair(3),
        pair(4)
    );
    let (_, after) = merged(&functions, &[0, 5]);
    assert_eq!(after.functions.len(), 3);
}

#[test]
fn zeros_of_both_signs_differ() {
    let half = |k: usize, zero: &str| {
        format!("noinline fun half{k}(x_0: f64) -> (y_1: f64) {{ y_1: f64 = fmul.f64(x_0, {zero}) }}")
    };
    let functions = format!(
        "fun main(n_0: i64) -> (r_1: i64) {{
          (a_2: f64) = half1(1.0f64)
          (b_3: f64) = half2(1.0f64)
          r_1: i64 = (tobits.f64.i64(a_2) - tobits.f64.i64(b_3))
        }}
        {}
        {}",
        half(1, "0.0f64"),
        half(2, "-0.0f64")
    );
    let (_, after) = merged(&functions, &[0]);
    assert_eq!(after.functions.len(), 3);
}

#[test]
fn values_set_on_some_paths_keep_their_former_value() {
    let body = |i: &str, x: &str, first: usize| {
        format!(
            "for {i}: i64 in 0 .. n_0 {{
              if slt.i64(2, {i}) {{
                {x}: i64 = (7 * {i})
                {}
              }}
            }}",
            long(x, first)
        )
    };
    let functions = format!(
        "fun main(n_0: i64) -> (r_1: i64) {{
          x_2: i64 = 5
          {}
          y_3: i64 = 6
          {}
          r_1: i64 = ((x_2 * 100) + y_3)
        }}",
        body("i_4", "x_2", 1000),
        body("i_5", "y_3", 2000)
    );
    let (_, after) = merged(&functions, &[0, 2, 3, 9]);
    assert_eq!(after.functions.len(), 2);
}
