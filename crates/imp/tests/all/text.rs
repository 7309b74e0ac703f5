//! The text form: printed programs parse back equal; errors have their position.

use crate::common::{function, v};
use imp::{
    Access, Arg, Check, CodePlacement, CopyPlan, Data, Entry, EntryType, EntryValue, Expr, For, FunId,
    Function, Launch, LoopMode, Program, Region, Signature, Slices, Stmt, Tile, Var, VarType, parse, print,
};
use prim::{BinOp, PrimType, Scalar, ScalarType};
use std::fmt::Write as _;
use value::interface::{OpaqueId, OpaqueKind, OpaqueType};

fn bits(ty: PrimType, bits: u64) -> Expr {
    Expr::Const(Scalar::from_bits(ty, bits))
}

fn program(functions: Vec<Function>) -> Program {
    Program { source_name: "dir/\"a\"\n.fut".into(), functions, ..Program::default() }
}

#[track_caller]
fn comes_back(program: &Program) -> String {
    let text = print(program);
    let read = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(read, *program, "{text}");
    text
}

#[test]
fn constants_keep_their_bits() {
    let constants = [
        bits(PrimType::F64, 0x7ff8_0000_0000_0000),
        bits(PrimType::F64, 0xfff8_0000_0000_0001),
        bits(PrimType::F64, 0x7ff0_0000_0000_0000),
        bits(PrimType::F64, 0xfff0_0000_0000_0000),
        bits(PrimType::F64, 0x8000_0000_0000_0000),
        bits(PrimType::F64, 1),
        bits(PrimType::F32, 0x7fc0_0123),
        bits(PrimType::F32, 0x0080_0000),
        bits(PrimType::F16, 0xfe00),
        bits(PrimType::F16, 0x3555),
        bits(PrimType::I8, 0x80),
        bits(PrimType::I64, 0x8000_0000_0000_0000),
        Expr::i64(-1),
        Expr::Const(Scalar::Bool(true)),
    ];
    let ty = |e: &Expr| match e {
        Expr::Const(x) => VarType::Scalar(x.ty()),
        _ => VarType::HOST,
    };
    let vars: Vec<_> = constants.iter().map(|e| ("c", ty(e))).collect();
    let body = (0..).zip(&constants).map(|(i, e)| Stmt::Set(Var(i), e.clone()));
    comes_back(&program(vec![function("f", &vars, body.collect())]));
}

#[test]
fn unusual_names_and_unused_variables() {
    let i64 = VarType::Scalar(PrimType::I64);
    let vars = [
        ("", i64),
        ("a b", i64),
        ("x.y", VarType::HOST),
        ("x_3", VarType::Vector(PrimType::F16, 4)),
        ("unused", VarType::HOST),
        ("quote\"", VarType::Scalar(PrimType::Bool)),
        ("späte", i64),
    ];
    let sum = Expr::binary(BinOp::Sub, PrimType::I64, v(0), Expr::i64(-3));
    let mut odd = function("fun", &vars, vec![Stmt::Set(Var(1), sum)]);
    odd.code = CodePlacement::Inline;
    odd.recursive = true;
    let early = vec![
        Stmt::Call {
            fun: FunId(0),
            args: vec![Arg::Scalar(v(6)), Arg::Buffer(Var(2))],
            results: vec![],
            location: None,
        },
        Stmt::Set(Var(6), Expr::i64(1)),
    ];
    let text =
        comes_back(&program(vec![odd, function("entry +", &vars, early), function("empty", &[], vec![])]));
    assert!(text.contains("inline recursive fun \"fun\"() -> () {"), "{text}");
    assert!(text.contains("\"a b\"_1: i64 = (\"\"_0 - -3)"), "{text}");
}

#[test]
fn tables_accesses_and_launches() {
    let mut p = program(vec![]);
    p.checks =
        vec![Check { format: "{i64} {{\t\u{1}'\"".into(), location: "a.fut:1:2-3\nb.fut:4:5-6".into() }];
    p.data = vec![
        Data { elem: PrimType::F64, bytes: (0..=255).collect() },
        Data { elem: PrimType::Bool, bytes: [1].into() },
        Data { elem: PrimType::I8, bytes: [].into() },
    ];
    p.globals = vec![VarType::HOST, VarType::Scalar(PrimType::F32)];
    p.init = Some(FunId(0));
    let record = |name: &str, fields| OpaqueType { name: name.into(), kind: OpaqueKind::Record(fields) };
    let array = EntryType::array(ScalarType::I32, 2);
    let fields = vec![
        ("0".into(), array),
        ("1".into(), EntryType::scalar(ScalarType::U8)),
        ("a b".into(), EntryType::Opaque(OpaqueId(0))),
    ];
    for ty in [record("()", vec![]), record("pair", fields)] {
        p.opaques.push(ty).unwrap();
    }
    let xs = p.opaques.value("xs", EntryType::Opaque(OpaqueId(1)));
    let result = p.opaques.value("", EntryType::Opaque(OpaqueId(0)));
    let signature = Signature::new("main", vec![EntryValue { unique: true, ..xs }], result);
    p.entries = vec![Entry { fun: FunId(0), signature }];
    let access = |offset, dims| Access { buffer: Var(0), elem: PrimType::I64, offset, dims };
    let region = |strides| Region { buffer: Var(0), offset: v(1), strides };
    let copy = |plan| Stmt::Copy {
        to: region(vec![v(1), Expr::i64(1)]),
        from: region(vec![v(1), Expr::i64(1)]),
        elem: PrimType::F16,
        extents: vec![v(1), v(1)],
        plan,
    };
    let body = vec![
        Stmt::Load(Var(1), access(v(1), vec![])),
        Stmt::Load(Var(1), access(Expr::i64(0), vec![(v(1), Expr::i64(1))])),
        Stmt::Load(Var(1), access(Expr::i64(0), vec![])),
        Stmt::Load(Var(1), access(v(1), vec![(v(1), v(1)), (Expr::i64(2), Expr::i64(1))])),
        Stmt::Store(access(v(1), vec![(v(1), Expr::i64(0))]), Expr::i64(7)),
        Stmt::Copy {
            to: region(vec![]),
            from: region(vec![]),
            elem: PrimType::F16,
            extents: vec![],
            plan: CopyPlan::Memory,
        },
        copy(CopyPlan::Dynamic(None)),
        copy(CopyPlan::Dynamic(Some(Tile { extent: 4, pitch: 5 }))),
        copy(CopyPlan::InRegister(8)),
        Stmt::If(Expr::Const(Scalar::Bool(true)), vec![], vec![Stmt::Release(Var(0))]),
        Stmt::For(For { mode: LoopMode::Lanes(16), var: Var(2), from: Expr::i64(0), to: v(1), body: vec![] }),
        Stmt::For(For {
            mode: LoopMode::Tasks(Launch {
                id: 7,
                name: "main: map".into(),
                provenance: "a.fut:1:1-2\n\"b\".fut:2:2-3".into(),
                cost: v(1),
                slices: None,
                owned: vec![Var(0)],
                locals: vec![],
                captures: vec![Var(1)],
                distinct: vec![],
                scattered: vec![Var(0)],
                shared_buffers: Vec::new(),
            }),
            var: Var(2),
            from: Expr::i64(0),
            to: v(1),
            body: vec![],
        }),
        Stmt::For(For {
            mode: LoopMode::Tasks(Launch {
                id: 8,
                name: "main: map".into(),
                provenance: "a.fut:1:1-2\n\"b\".fut:2:2-3".into(),
                cost: v(1),
                slices: Some(Box::new(Slices { count: v(1), end: Var(3), merge_adjacent: true })),
                owned: vec![Var(0)],
                locals: vec![],
                captures: vec![Var(1)],
                distinct: vec![Var(0)],
                scattered: vec![],
                shared_buffers: Vec::new(),
            }),
            var: Var(2),
            from: Expr::i64(0),
            to: v(3),
            body: vec![],
        }),
    ];
    let i64 = VarType::Scalar(PrimType::I64);
    let vars = [("b", VarType::HOST), ("n", i64), ("i", i64), ("e", i64)];
    p.functions = vec![function("main", &vars, body)];
    comes_back(&p);
}

#[test]
fn syntax_errors_have_positions() {
    let head = "imp\nfile \"a.fut\"\n";
    let cases = [
        ("segs", "1:1: expected `imp`"),
        ("imp file 3", "1:10: expected a string"),
        ("imp file \"a.fut\" check#1 = \"\" at \"\"", "1:26: expected the number 0"),
        ("fun f() -> () {\n  x_1: i64 = (1 / 2)\n}", "4:17: "),
        ("fun f() -> () {\n  x_1: i64 = (1 , 2)\n}", "4:17: expected `+`, `-` or `*`"),
        ("fun f() -> () {\n  x_1: i64 = add.i32(1)\n}", "4:23: expected `,`"),
        (
            "fun f() -> () {\n  x_1: i64 = 1\n  x_1: f32 = 1.0f32\n}",
            "5:12: variable 1 already has the type i64",
        ),
        ("fun f() -> () {\n  x_1: i64 = 1\n  y_1: i64 = 1\n}", "5:3: name 1 already has the hint `x`"),
        ("fun f() -> () {\n  () = g()\n}", "4:8: expected the name of a function of the program"),
        ("fun f() -> () {\n  x_1: 300 x f32 = 1\n}", "4:12: a vector has at most 256 lanes"),
        ("fun f() -> () {\n  x_1 = 4\n}", "4:9: expected `alloc`, `frame`, `share`, `borrow` or `data`"),
        (
            "fun f() -> () {\n  x_99999: i64 = 4\n}",
            "4:3: a name's number must be below the length of the text",
        ),
        ("fun f() -> () {", "3:16: expected a statement or `}`"),
        ("data#0: f64 = \"0g\"", "3:19: the preceding string does not consist of pairs"),
    ];
    let mut problems = Vec::new();
    for (text, wanted) in cases {
        let text = if text.starts_with(['i', 's']) { text.to_owned() } else { format!("{head}{text}") };
        let error = parse(&text).expect_err(&text).to_string();
        if !error.starts_with(wanted) {
            problems.push(format!("{text}\n{error}, not {wanted}"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn truncated_and_damaged_text_never_panics() {
    let text = "imp\nfile \"a\"\ndata#0: f64 = \"00\"\nopaque#0 \"t\" = sum (\"a\" (f32))\n\
        entry \"m\" = f (\"x\": *\"t\" as opaque#0) -> (\"\": \"f32\" as f32) attributes (\"a\") doc \"d\"\n\
        fun f(b_0: buffer) -> () {\n  x_1: 4 x f32 = b_0[4 x f32: 0 .. near 2] mask splat.4(true)\n  \
        if any(slt.i64(1, 2)) {\n copy [1]f32 b_0[0 strides 1] <- b_0[1 strides 1] by strides tiles 4 pitch 5\n }\n}\n";
    assert!(parse(text).is_ok(), "{:?}", parse(text));
    for cut in 0..text.len() {
        let _ = parse(&text[..cut]);
        for len in 1..4 {
            let end = (cut + len).min(text.len());
            let _ = parse(&[&text[..cut], &text[end..]].concat());
        }
    }
}

#[test]
fn deep_text_is_an_error() {
    let body = |inner: String| format!("imp file \"a\" fun f() -> () {{ {inner} }}");
    let sum = |n: usize| format!("x_1: i64 = {}1{}", "(".repeat(n), " + 1)".repeat(n));
    let ifs = |n: usize| format!("{}{}", "if true {".repeat(n), "}".repeat(n));
    // Types mention earlier ones only: no depth is too large.
    let entry = |n: usize| {
        let mut text = "imp file \"a\"\nopaque#0 \"t0\" = record ()\n".to_owned();
        for i in 1..=n {
            let last = i - 1;
            let _ = writeln!(text, "opaque#{i} \"t{i}\" = record (\"x\": opaque#{last})");
        }
        format!("{text}entry \"e\" = f () -> (\"\": \"\" as opaque#{n}) fun f() -> () {{ }}")
    };
    for make in [&sum as &dyn Fn(usize) -> String, &ifs] {
        assert!(parse(&body(make(900))).is_ok());
        let error = parse(&body(make(100_000))).expect_err("too deep");
        assert!(error.message.contains("nested more than"), "{error}");
    }
    let deep = parse(&entry(10_000)).expect("the text is valid");
    assert_eq!(imp::verify(&deep), Ok(()));
}
