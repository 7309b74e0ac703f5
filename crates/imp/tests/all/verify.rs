//! The verifier on a valid program and one violation of each invariant.

use crate::common::{function, v};
use imp::{
    Access, Arg, Check, CheckId, Entry, EntryType, Expr, For, FunId, GlobalId, Launch, LoopMode, OpaqueTypes,
    Program, Signature, Slices, Stmt, Var, VarType, print, verify,
};
use prim::{BinOp, CmpOp, PrimType, Scalar, ScalarType};

const I64: VarType = VarType::Scalar(PrimType::I64);

fn at(buffer: u32, index: Expr) -> Access {
    Access {
        buffer: Var(buffer),
        elem: PrimType::I64,
        offset: Expr::i64(0),
        dims: vec![(index, Expr::i64(1))],
    }
}

/// `main (xs, n)`: allocates `ys`, and a task per element writes `xs[i] + 1`.
fn valid() -> Program {
    let buffer = VarType::HOST;
    let mut main = function(
        "main",
        &[("xs", buffer), ("n", I64), ("ys", buffer), ("i", I64), ("x", I64), ("own", buffer)],
        vec![],
    );
    main.params = vec![Var(0), Var(1)];
    main.results = vec![Var(2), Var(1)];
    main.owned = vec![Var(2)];
    let sum = |x, y| Expr::binary(BinOp::Add, PrimType::I64, x, y);
    let inside = Expr::compare(CmpOp::SLt, PrimType::I64, v(3), v(1));
    let launch = Launch {
        id: 1,
        name: "map".into(),
        provenance: "a.fut:1:1".into(),
        cost: v(1),
        slices: None,
        owned: vec![Var(5)],
        locals: vec![Var(4)],
        captures: vec![Var(1), Var(0), Var(2)],
        distinct: vec![Var(2)],
        scattered: vec![],
        shared_buffers: Vec::new(),
    };
    let body = vec![
        Stmt::Check { cond: inside, check: CheckId(0), values: vec![v(3)] },
        Stmt::Alloc(Var(5), Expr::i64(8), None),
        Stmt::Load(Var(4), at(0, v(3))),
        Stmt::Store(at(2, v(3)), sum(v(4), Expr::i64(1))),
    ];
    main.body = vec![
        Stmt::Alloc(Var(2), v(1), None),
        Stmt::For(For { mode: LoopMode::Tasks(launch), var: Var(3), from: Expr::i64(0), to: v(1), body }),
    ];
    let mut helper = function("helper", &[("n", I64), ("r", I64)], vec![]);
    helper.params = vec![Var(0)];
    helper.results = vec![Var(1)];
    helper.body = vec![Stmt::Set(Var(1), v(0))];
    let value = |name: &str| OpaqueTypes::default().value(name, EntryType::array(ScalarType::I64, 1));
    Program {
        source_name: "a.fut".into(),
        functions: vec![main, helper],
        entries: vec![Entry {
            fun: FunId(0),
            signature: Signature::new("main", vec![value("xs")], value("")),
        }],
        checks: vec![Check { format: "{{no {i64}}}".into(), location: "".into() }],
        globals: vec![I64],
        ..Program::default()
    }
}

fn task_loop(program: &mut Program) -> (&mut Launch, &mut Vec<Stmt>) {
    let Stmt::For(f) = &mut program.functions[0].body[1] else { panic!() };
    let LoopMode::Tasks(launch) = &mut f.mode else { panic!() };
    (launch, &mut f.body)
}

/// Makes the tasks take slices that end with `x`; returns their number.
fn slices(program: &mut Program) -> &mut Expr {
    let slices = Slices { count: v(1), end: Var(4), merge_adjacent: false };
    let launch = task_loop(program).0;
    launch.locals.clear();
    &mut launch.slices.insert(Box::new(slices)).count
}

#[test]
fn a_valid_program_passes_and_prints() {
    let program = valid();
    assert_eq!(verify(&program), Ok(()));
    let text = print(&program);
    assert!(text.contains("fun main(xs_0: buffer, n_1: i64) -> (ys_2: buffer, n_1: i64) {"));
    assert!(text.contains("    check#0 slt.i64(i_3, n_1) values (i_3)\n"), "{text}");
}

#[test]
fn each_violation_is_found() {
    type Change = fn(&mut Program);
    let cases: &[(&str, Change)] = &[
        ("variable 77 does not exist", |p| {
            p.functions[1].body.push(Stmt::Set(Var(77), v(0)));
        }),
        ("check#9 does not exist", |p| {
            let cond = Expr::Const(Scalar::Bool(true));
            p.functions[1].body.push(Stmt::Check { cond, check: CheckId(9), values: vec![] });
        }),
        ("two functions are named main", |p| {
            p.functions[1].name = "main".into();
        }),
        ("fadd is not defined for i64", |p| {
            let sum = Expr::binary(BinOp::FAdd, PrimType::I64, v(0), v(0));
            p.functions[1].body.push(Stmt::Set(Var(1), sum));
        }),
        ("r_1 is set to a value of type bool", |p| {
            p.functions[1].body.push(Stmt::Set(Var(1), Expr::Const(Scalar::Bool(true))));
        }),
        ("xs_0 is not an owned variable", |p| {
            p.functions[0].body.push(Stmt::Release(Var(0)));
        }),
        ("ys_2 is an owned variable", |p| {
            p.functions[0].body.push(Stmt::Borrow(Var(2), Var(0)));
        }),
        ("parameter xs_0 is an owned variable", |p| {
            p.functions[0].owned.push(Var(0));
        }),
        ("ys_2 has two owners", |p| task_loop(p).0.owned.push(Var(2))),
        ("result ys_2 is not an owned variable", |p| {
            p.functions[0].owned.clear();
            p.functions[0].body.remove(0);
        }),
        ("n_1 is set inside a loop it does not belong to", |p| {
            task_loop(p).1.push(Stmt::Set(Var(1), Expr::i64(0)));
        }),
        ("loop 1 does not capture n_1", |p| {
            task_loop(p).0.captures.remove(0);
        }),
        ("loop 1 captures x_4, which its body does not use", |p| {
            task_loop(p).0.captures.push(Var(4));
        }),
        ("the captures of loop 1 are in another order", |p| {
            task_loop(p).0.captures.swap(0, 2);
        }),
        ("n_1 occurs twice in the captures of loop 1", |p| {
            task_loop(p).0.captures.push(Var(1));
        }),
        ("x_4 is set inside a loop it does not belong to", |p| {
            task_loop(p).0.locals.clear();
        }),
        ("i_3 is set, but is a loop's counter", |p| {
            task_loop(p).1.push(Stmt::Set(Var(3), Expr::i64(0)));
        }),
        ("x_4 is used outside the loop it belongs to", |p| {
            p.functions[0].body.push(Stmt::Set(Var(1), v(4)));
        }),
        ("slices of i_3 do not begin at 0", |p| {
            *slices(p) = v(1);
            let Stmt::For(f) = &mut p.functions[0].body[1] else { panic!() };
            f.from = v(1);
        }),
        ("a value has type bool, but i64 is required", |p| {
            *slices(p) = Expr::Const(Scalar::Bool(true));
        }),
        ("n_1 is both bounds of a slice", |p| {
            slices(p);
            let Stmt::For(f) = &mut p.functions[0].body[1] else { panic!() };
            f.var = Var(1);
            if let LoopMode::Tasks(launch) = &mut f.mode {
                launch.slices.as_mut().expect("the tasks take slices").end = Var(1);
            }
        }),
        ("the bounds of a loop depend on its own variable x_4", |p| {
            *slices(p) = v(4);
        }),
        ("own_5 bounds slices, but is not an i64", |p| {
            slices(p);
            task_loop(p).0.slices.as_mut().expect("the tasks take slices").end = Var(5);
        }),
        ("x_4 is set, but is a loop's counter", |p| {
            slices(p);
        }),
        ("the arguments do not match the parameters of helper", |p| {
            p.functions[0].body.push(Stmt::Call {
                fun: FunId(1),
                args: vec![Arg::Buffer(Var(0))],
                results: vec![Var(1)],
                location: None,
            });
        }),
        ("calls itself through functions not marked recursive", |p| {
            let call = Stmt::Call {
                fun: FunId(1),
                args: vec![Arg::Scalar(v(0))],
                results: vec![Var(1)],
                location: None,
            };
            p.functions[1].body.push(call);
        }),
        ("the values of check#0 do not match its format", |p| {
            let Stmt::Check { values, .. } = &mut task_loop(p).1[0] else { panic!() };
            values.clear();
        }),
        ("invalid placeholder in check format", |p| {
            p.checks[0].format = "{int}".into();
        }),
        ("the results of entry point main do not match its function", |p| {
            p.entries[0].signature.result.ty = EntryType::scalar(ScalarType::I64);
        }),
        ("a global variable is written outside the initialiser", |p| {
            p.functions[1].body.push(Stmt::WriteGlobal(GlobalId(0), Var(0)));
        }),
        ("two loops have the launch id 1", |p| {
            let again = p.functions[0].body[1].clone();
            let Stmt::For(mut f) = again else { panic!() };
            f.body.clear();
            if let LoopMode::Tasks(launch) = &mut f.mode {
                launch.owned.clear();
            }
            p.functions[0].body.push(Stmt::For(f));
        }),
    ];
    for (wanted, change) in cases {
        let mut program = valid();
        change(&mut program);
        let errors = verify(&program).expect_err(wanted);
        let shown: Vec<_> = errors.iter().map(ToString::to_string).collect();
        assert!(shown.iter().any(|e| e.contains(wanted)), "{wanted}: {shown:?}");
    }
}

#[test]
fn deep_nesting_is_walked() {
    let mut program = valid();
    let mut deep = vec![Stmt::Set(Var(1), v(0))];
    for _ in 0..20_000 {
        deep = vec![Stmt::If(Expr::Const(Scalar::Bool(true)), deep, vec![])];
    }
    program.functions[1].body.extend(deep);
    assert_eq!(verify(&program), Ok(()));
    // Dropping such a program recurses as well, in code of other crates.
    std::mem::forget(program);
}
