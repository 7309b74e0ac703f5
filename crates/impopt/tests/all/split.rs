//! Outlining of large functions: sizes are bounded, results and failures do not change.

use imp::eval::{ErrorClass, EvalError, EvalValue, eval_entry};
use imp::{Program, parse, print, verify};
use impopt::split::{Sizes, split};
use prim::Scalar;
use std::fmt::Write;

fn program(head: &str, body: &str) -> Program {
    let text = format!(
        "imp file \"a.fut\"
        check#0 = \"{{i64}} is too much.\" at \"a.fut:1:2-3\"
        entry \"main\" = main (\"n\": \"i64\" as i64) -> (\"\": \"i64\" as i64)
        fun main(n_0: i64) -> (r_1: i64) {{
          {head}
          {body}
        }}"
    );
    let program = parse(&text).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(verify(&program), Ok(()));
    program
}

fn run(program: &Program, n: i64) -> Result<i64, EvalError> {
    let args = vec![EvalValue::Scalar(Scalar::I64(n))];
    match eval_entry(program, "main", args)?.as_slice() {
        [EvalValue::Scalar(Scalar::I64(x))] => Ok(*x),
        other => panic!("{other:?}"),
    }
}

/// Splits into at least `least` functions, none of which is large, with the same results for these
/// arguments; returns the result for the last one.
fn splits(head: &str, body: &str, least: usize, args: &[i64]) -> Option<i64> {
    stacker::grow(1 << 30, || splits_here(head, body, least, args))
}

#[track_caller]
fn splits_here(head: &str, body: &str, least: usize, args: &[i64]) -> Option<i64> {
    let before = program(head, body);
    let after = split(before.clone(), Sizes::default(), &mut ir::Context::default());
    assert_eq!(verify(&after), Ok(()));
    assert!(after.functions.len() >= least, "{}", after.functions.len());
    for function in &after.functions {
        let mut count = 0;
        imp::walk::each_stmt(&function.body, &mut |_| count += 1);
        assert!(count < 2500, "{} has {count} statements", function.name);
    }
    assert_eq!(parse(&print(&after)).map(|p| print(&p)), Ok(print(&after)));
    let mut last = None;
    for &n in args {
        match (run(&before, n), run(&after, n)) {
            (Ok(x), Ok(y)) => {
                assert_eq!(x, y, "{n}");
                last = Some(x);
            }
            (Err(x), Err(y)) => {
                assert_eq!(x.class, ErrorClass::Failure, "{x}");
                assert_eq!(x.to_string(), y.to_string());
                last = None;
            }
            (x, y) => panic!("{n}: {x:?} {y:?}"),
        }
    }
    last
}

/// `if c1 { arm } else { if c2 { arm } else { ... } }`, `arm` by number.
fn chain(count: usize, arm: impl Fn(usize) -> String, end: &str) -> String {
    let mut text = String::new();
    for i in 0..count {
        let arm = arm(i);
        let _ = writeln!(text, "c_9: bool = eq.i64(n_0, {i})\nif c_9 {{ {arm} }} else {{");
    }
    text + end + &"}\n".repeat(count)
}

#[test]
fn branches_in_branches() {
    let body = chain(2000, |i| format!("r_1: i64 = (n_0 * {i})"), "r_1: i64 = -1\n");
    assert_eq!(splits("", &body, 10, &[0, 1, 1000, 1998, 2000, -7, 1999]), Some(1999 * 1999));
    // The first branches, not the last ones, are nested.
    let mut body = String::new();
    for i in 0..2000 {
        let _ = writeln!(body, "c_9: bool = slt.i64({i}, n_0)\nif c_9 {{");
    }
    body += "r_1: i64 = -1\n";
    for i in (0..2000).rev() {
        let _ = writeln!(body, "}} else {{ r_1: i64 = {i} }}");
    }
    assert_eq!(splits("", &body, 10, &[0, 1, 5000, 700]), Some(700));
}

#[test]
fn small_functions_are_not_split() {
    let body = chain(300, |i| format!("r_1: i64 = {i}"), "r_1: i64 = -1\n");
    let before = program("", &body);
    assert_eq!(print(&split(before.clone(), Sizes::default(), &mut ir::Context::default())), print(&before));
}

#[test]
fn failures_propagate_out_of_parts() {
    let body =
        chain(2000, |i| format!("r_1: i64 = {i}\ncheck#0 slt.i64(n_0, 1500) values (n_0)"), "r_1: i64 = 0\n");
    assert_eq!(splits("", &body, 10, &[3, 1499, 1500]), None);
}

#[test]
fn blocks() {
    // Block results, blocks of one branch, blocks that branches read.
    let arm = |i: usize| {
        let b = format!("b_{}", i + 10);
        format!(
            "{b} = alloc 16
            {b}[i64: 0] = {i}
            x_5: i64 = a_2[i64: 0]
            {b}[i64: 1] = x_5
            s_3 = share {b}
            release {b}"
        )
    };
    let body = format!(
        "a_2 = alloc 8
        a_2[i64: 0] = (n_0 + 5)
        {}
        x_5: i64 = s_3[i64: 0]
        y_6: i64 = s_3[i64: 1]
        release s_3
        release a_2
        r_1: i64 = ((x_5 * 1000) + y_6)",
        chain(1000, arm, "s_3 = alloc 16 s_3[i64: 0] = 7 s_3[i64: 1] = 8")
    );
    let owned: Vec<String> = (0..1000).map(|i| format!("b_{}", i + 10)).collect();
    let head = format!("owned a_2, s_3, {}", owned.join(", "));
    assert_eq!(splits(&head, &body, 5, &[0, 999, 5000, 12]), Some(12_017));

    // One list of many blocks, released long after they are made.
    let mut body = String::new();
    let count = 1500;
    let owned: Vec<String> = (0..count).map(|i| format!("b_{}", i + 10)).collect();
    for i in 0..count {
        let at = i + 10;
        let _ = writeln!(body, "b_{at} = alloc 8\nb_{at}[i64: 0] = (n_0 + {i})");
        if i >= 100 {
            let old = at - 100;
            let _ = writeln!(body, "x_5: i64 = b_{old}[i64: 0]\nrelease b_{old}");
            let _ = writeln!(body, "r_1: i64 = (r_1 + x_5)");
        } else {
            let _ = writeln!(body, "r_1: i64 = 0");
        }
    }
    let head = format!("owned {}", owned.join(", "));
    assert_eq!(splits(&head, &body, 4, &[3]), Some(1400 * 3 + 1400 * 1399 / 2));
}

#[test]
fn loops_and_conditionally_set_variables() {
    // Loop-carried variables.
    let mut body = String::from("r_1: i64 = 1\nfor i_2: i64 in 0 .. 3 {\n");
    for i in 0..3000 {
        let _ = writeln!(
            body,
            "c_9: bool = eq.i64(srem.i64((r_1 + {i}), 7), 0)
            if c_9 {{ x_3: i64 = (r_1 + i_2) r_1: i64 = (x_3 * 3) }} else {{ r_1: i64 = (r_1 + n_0) }}"
        );
    }
    body += "}\nwhile c_9 {\nr_1: i64 = (r_1 + 1) c_9: bool = eq.i64(srem.i64(r_1, 5), 3)\n}\n";
    splits("", &body, 8, &[0, 1, 5, -3]);

    // Set in some branches only, long before it is read.
    let mut body = String::from("x_3: i64 = 11\n");
    for i in 0..3000 {
        let _ = writeln!(body, "c_9: bool = eq.i64(n_0, {i})\nif c_9 {{ x_3: i64 = {i} }} else {{ }}");
    }
    body += "r_1: i64 = x_3";
    assert_eq!(splits("", &body, 8, &[0, 2999, 1234]), Some(1234));
    assert_eq!(splits("", &body, 8, &[-1]), Some(11));
}

#[test]
fn tasks() {
    let body = format!(
        "a_2 = alloc 800
        for i_4: i64 in 0 .. 100 tasks#0 \"t\" at \"\" cost 1 owned () locals (c_9, x_3) captures (n_0, a_2) distinct () {{
          {}
          a_2[i64: i_4] = x_3
        }}
        r_1: i64 = a_2[i64: n_0]
        release a_2",
        chain(1500, |i| format!("x_3: i64 = (i_4 + {i})"), "x_3: i64 = i_4\n")
    );
    assert_eq!(splits("owned a_2", &body, 6, &[0, 42]), Some(84));
}
