//! The verifier on vector code, with a valid program and one violation of each rule; its text form.

use imp::{
    Arg, CodePlacement, Expr, FunId, Function, LaneAccess, LanePositions, MAX_LANES, MaskedOff, Program,
    Stmt, Var, VarInfo, VarType, print, verify,
};
use prim::{BinOp, CmpOp, PrimType, Scalar, ScalarOp};

const BUFFER: Var = Var(0);
const N: Var = Var(1);
const X: Var = Var(2);
const MASK: Var = Var(3);
const GO: Var = Var(4);

fn v(var: Var) -> Expr {
    Expr::Var(var)
}

fn access(lanes: u32, at: LanePositions) -> LaneAccess {
    LaneAccess { buffer: BUFFER, elem: PrimType::F32, lanes, at, masked_off: MaskedOff::Skip }
}

fn load(at: LanePositions, mask: Option<Expr>) -> Stmt {
    Stmt::LoadLanes { var: X, from: access(8, at), mask }
}

/// A load whose inactive lanes read a dummy location.
fn elsewhere(at: LanePositions, mask: Option<Expr>) -> Stmt {
    let from = LaneAccess { masked_off: MaskedOff::Dummy, ..access(8, at) };
    Stmt::LoadLanes { var: X, from, mask }
}

/// A function over a buffer, an `i64`, 8 lanes of `f32`, a mask of as many lanes and a `bool`.
fn program(body: Vec<Stmt>) -> Program {
    let vars = [
        ("b", VarType::HOST),
        ("n", VarType::Scalar(PrimType::I64)),
        ("x", VarType::Vector(PrimType::F32, 8)),
        ("m", VarType::Vector(PrimType::Bool, 8)),
        ("go", VarType::Scalar(PrimType::Bool)),
    ];
    let main = Function {
        name: "main".into(),
        params: vec![BUFFER, N],
        results: vec![],
        owned: vec![],
        distinct: vec![],
        vars: vars.map(|(hint, ty)| VarInfo { ty, hint: hint.into() }).to_vec(),
        body,
        code: CodePlacement::OneModule,
        recursive: false,
    };
    Program { source_name: "a.fut".into(), functions: vec![main], ..Program::default() }
}

fn valid() -> Program {
    let numbers = || Box::new(Expr::LaneIds(PrimType::I64, 8));
    let all_n = || Box::new(Expr::Splat(8, Box::new(v(N))));
    let below = Expr::Scalar(ScalarOp::Compare(CmpOp::SLt, PrimType::I64, numbers(), all_n()));
    let sum = Expr::binary(BinOp::FAdd, PrimType::F32, v(X), v(X));
    let first = Expr::FirstLane(Box::new(v(MASK)));
    program(vec![
        Stmt::Set(MASK, below),
        load(LanePositions::Unit(Expr::i64(0)), Some(v(MASK))),
        load(LanePositions::SmallStride(v(N), 2), None),
        load(LanePositions::SmallStride(v(N), -1), Some(v(MASK))),
        load(LanePositions::Strided(v(N), Expr::i64(7)), None),
        Stmt::If(
            Expr::Any(Box::new(v(MASK))),
            vec![Stmt::Set(X, Expr::select(PrimType::F32, v(MASK), sum, v(X)))],
            vec![],
        ),
        Stmt::Set(
            X,
            Expr::Insert(
                Box::new(v(X)),
                Box::new(first),
                Box::new(Expr::Extract(Box::new(v(X)), Box::new(Expr::i64(7)))),
            ),
        ),
        Stmt::Set(GO, Expr::All(Box::new(v(MASK)))),
        Stmt::StoreLanes {
            to: access(8, LanePositions::Gather(*numbers())),
            value: v(X),
            mask: Some(v(MASK)),
        },
        elsewhere(LanePositions::Gather(*numbers()), Some(v(MASK))),
    ])
}

#[test]
fn valid_vector_code_passes_and_prints() {
    let program = valid();
    assert_eq!(verify(&program), Ok(()));
    let text = print(&program);
    let wanted = "fun main(b_0: buffer, n_1: i64) -> () {
  m_3: 8 x bool = slt.i64(lanes.i64.8, splat.8(n_1))
  x_2: 8 x f32 = b_0[8 x f32: 0 ..] mask m_3
  x_2: 8 x f32 = b_0[8 x f32: n_1 .. near 2]
  x_2: 8 x f32 = b_0[8 x f32: n_1 .. near -1] mask m_3
  x_2: 8 x f32 = b_0[8 x f32: n_1 .. by 7]
  if any(m_3) {
    x_2: 8 x f32 = select.f32(m_3, fadd.f32(x_2, x_2), x_2)
  }
  x_2: 8 x f32 = insert(x_2, first(m_3), extract(x_2, 7))
  go_4: bool = all(m_3)
  b_0[8 x f32: each lanes.i64.8] mask m_3 = x_2
  x_2: 8 x f32 = b_0[8 x f32: each lanes.i64.8] mask m_3 elsewhere
}
";
    assert!(text.ends_with(wanted), "{text}");
}

#[track_caller]
fn rejected(program: &Program, wanted: &str) {
    let errors = verify(program).expect_err("the program is invalid");
    assert!(errors.iter().any(|e| e.to_string().contains(wanted)), "{errors:?}");
}

#[test]
fn each_violation_is_found() {
    let one = || Expr::Const(Scalar::F32(1.0));
    let sum = |x, y| Expr::binary(BinOp::FAdd, PrimType::F32, x, y);
    let set = |e| program(vec![Stmt::Set(X, e)]);
    let unit = || LanePositions::Unit(Expr::i64(0));
    rejected(&set(one()), "x_2 is set to a value of type f32");
    rejected(&set(sum(v(X), one())), "operands of types 8 x f32 and f32 have different numbers of lanes");
    rejected(
        &set(sum(v(X), Expr::Splat(4, Box::new(one())))),
        "operands of types 8 x f32 and 4 x f32 have different numbers of lanes",
    );
    rejected(&set(sum(v(X), v(MASK))), "a value has type 8 x bool, but f32 is required");
    rejected(
        &set(Expr::select(PrimType::F32, v(GO), v(X), v(X))),
        "operands of types bool and 8 x f32 have different numbers of lanes",
    );
    rejected(&set(Expr::Splat(8, Box::new(v(X)))), "splat of a 8 x f32");
    rejected(&set(Expr::LaneIds(PrimType::F32, 8)), "lanes is not defined for f32");
    rejected(&set(Expr::LaneIds(PrimType::I32, 0)), "a vector cannot have 0 lanes");
    rejected(&set(Expr::Splat(MAX_LANES + 1, Box::new(one()))), "a vector cannot have 257 lanes");
    rejected(
        &set(Expr::Extract(Box::new(v(X)), Box::new(Expr::i64(0)))),
        "x_2 is set to a value of type f32",
    );
    rejected(&set(Expr::Extract(Box::new(v(N)), Box::new(v(N)))), "i64 is not a vector");
    rejected(
        &set(Expr::Insert(Box::new(v(X)), Box::new(v(N)), Box::new(v(X)))),
        "a value has type 8 x f32, but f32 is required",
    );
    rejected(&program(vec![Stmt::Set(GO, Expr::Any(Box::new(v(X))))]), "a vector of f32 is not a mask");
    rejected(&program(vec![Stmt::Set(GO, Expr::All(Box::new(v(GO))))]), "bool is not a vector");
    rejected(
        &program(vec![Stmt::If(v(MASK), vec![], vec![])]),
        "a value has type 8 x bool, but bool is required",
    );
    rejected(&program(vec![Stmt::While(MASK, vec![])]), "m_3 is not of type bool");
    rejected(&program(vec![load(unit(), Some(v(GO)))]), "a value has type bool, but 8 x bool is required");
    rejected(
        &program(vec![load(LanePositions::Gather(v(N)), None)]),
        "a value has type i64, but 8 x i64 is required",
    );
    rejected(
        &program(vec![load(LanePositions::Strided(v(N), v(GO)), None)]),
        "a value has type bool, but i64 is required",
    );
    let near = |by| LanePositions::SmallStride(v(N), by);
    for (by, mask) in [(0, None), (1, None), (17, None), (-17, None), (i64::MIN, None), (2, Some(v(MASK)))] {
        let wanted = format!("{by} is not a small stride");
        rejected(&program(vec![load(near(by), mask)]), &wanted);
    }
    let gaps = Stmt::StoreLanes { to: access(8, near(2)), value: v(X), mask: None };
    rejected(&program(vec![gaps]), "2 is not a small stride");
    rejected(
        &program(vec![load(LanePositions::Strided(v(N), v(N)), Some(v(MASK)))]),
        "a strided access has a mask",
    );
    for (at, mask) in [(near(2), None), (near(-1), Some(v(MASK))), (unit(), Some(v(MASK)))] {
        let load = program(vec![elsewhere(at, mask)]);
        rejected(&load, "an access whose lanes are all active has dummy locations");
    }
    rejected(&set(Expr::SplitSqrt(Box::new(v(X)))), "a value has type 8 x f32, but 16 x f64 is required");
    let narrow = Stmt::LoadLanes { var: X, from: access(4, unit()), mask: None };
    rejected(&program(vec![narrow]), "x_2 is set to a value of type 4 x f32");
    let store = Stmt::StoreLanes { to: access(8, unit()), value: one(), mask: None };
    rejected(&program(vec![store]), "a value has type f32, but 8 x f32 is required");
    let call = Stmt::Call {
        fun: FunId(0),
        args: vec![Arg::Buffer(BUFFER), Arg::Scalar(v(X))],
        results: vec![],
        location: None,
    };
    rejected(&program(vec![call]), "the arguments do not match the parameters of main");
    let mut global = valid();
    global.globals = vec![VarType::Vector(PrimType::F32, 8)];
    rejected(&global, "global#0 is a vector");
    let mut owned = valid();
    owned.functions[0].owned = vec![X];
    rejected(&owned, "owned variable x_2 is not a buffer");
}
