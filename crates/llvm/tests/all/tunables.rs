//! Tuning parameters in compiled code: values come from the context, and comparisons are logged if
//! the context requests it, also from tasks.

use crate::common::{self, Fun, array_of, at, c, jit, launch, program, tasks, v};
use imp::{EntryType, Expr, Program, Stmt, Tunable, TunableClass, TunableId};
use prim::{CmpOp, PrimType, ScalarOp, ScalarType};
use runtime::tuning_params::Assignment;
use runtime::{Config, Context, Image, Output};
use std::sync::Arc;
use value::Value;

/// For each of `n` sizes the second parameter, negated if the size is less.
fn compare() -> Program {
    let mut f = Fun::default();
    let (xs, n) = f.array("xs");
    let ys = f.owned("ys");
    f.results = vec![ys, n];
    let (i, x) = (f.int("i"), f.int("x"));
    let least = || Box::new(Expr::Tunable(TunableId(1)));
    let long = Expr::Scalar(ScalarOp::Compare(CmpOp::SLe, PrimType::I64, least(), Box::new(v(x))));
    let less = common::sub(c(0), *least());
    let body = vec![
        Stmt::Load(x, at(xs, PrimType::I64, v(i))),
        Stmt::If(Expr::LogsComparisons, vec![Stmt::RecordComparison(TunableId(1), v(x))], vec![]),
        Stmt::Store(
            at(ys, PrimType::I64, v(i)),
            Expr::Scalar(ScalarOp::Select {
                ty: PrimType::I64,
                cond: Box::new(long),
                if_true: least(),
                if_false: Box::new(less),
            }),
        ),
    ];
    let launch = imp::Launch { locals: vec![x], ..launch() };
    let f = f.finish(
        "compare",
        vec![Stmt::Alloc(ys, common::mul(v(n), c(8)), None), tasks(0, i, v(n), launch, body)],
    );
    let array: EntryType = array_of(ScalarType::I64);
    let tunable = |name: &str| Tunable { name: name.into(), class: TunableClass::Threshold, default: 5 };
    Program {
        tunables: vec![tunable("compare.a_0"), tunable("compare.b_0")],
        ..program(vec![f], vec![array], vec![array])
    }
}

fn context(config: &Config) -> Result<Context, runtime::Error> {
    let jit = Arc::new(jit(&compare(), "native"));
    let table = jit.program().expect("the program has a table").cast::<runtime::abi::Program>();
    // SAFETY: the table is a constant of the code, which the image keeps.
    Context::new(config, unsafe { Image::new(*table, jit) })
}

fn call(context: &mut Context) -> Vec<i64> {
    let sizes = Value::from_slice(&[4], &[4i64, 5, 6, i64::MIN]).expect("the value is valid");
    match context.call("main", vec![sizes]).expect("the program runs").as_slice() {
        [Output::Value(value)] => value.elements::<i64>().expect("the results are numbers").to_vec(),
        other => panic!("{other:?}"),
    }
}

fn set(text: &str) -> Vec<Assignment> {
    vec![Assignment::parse(text).expect("the assignment is valid")]
}

#[test]
fn values_come_from_the_context() {
    let mut by_default = context(&Config::default()).expect("the context is created");
    let mut tuned = context(&Config { tuning: set("compare.b_0=6"), ..Config::default() })
        .expect("the context is created");
    assert_eq!(call(&mut tuned), [-6, -6, 6, -6]);
    assert_eq!(call(&mut by_default), [-5, 5, 5, -5]);
    let names: Vec<_> = tuned.program().tunables().iter().map(|t| t.name.get()).collect();
    assert_eq!(names, ["compare.a_0", "compare.b_0"]);
    assert_eq!(tuned.program().tunables()[0].class.get(), "threshold");
    assert_eq!(tuned.comparisons(), Vec::<String>::new());
    let unknown = context(&Config { tuning: set("compare.c_0=6"), ..Config::default() });
    assert!(matches!(unknown, Err(runtime::Error::Usage(text)) if text.contains("`compare.c_0`")));
}

#[test]
fn comparisons_are_logged_on_request() {
    for threads in [1, 3] {
        let mut context =
            context(&Config { num_threads: Some(threads), log_comparisons: true, ..Config::default() })
                .expect("the context is created");
        call(&mut context);
        let mut lines = context.comparisons();
        lines.sort_unstable();
        let line = |size: i64, holds| format!("Compared compare.b_0 <= {size}: {holds}; the parameter is 5.");
        let wanted = [line(i64::MIN, false), line(4, false), line(5, true), line(6, true)];
        assert_eq!(lines, wanted);
        assert_eq!(context.comparisons(), Vec::<String>::new());
    }
}
