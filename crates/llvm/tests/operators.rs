//! Every scalar operator at every type, compiled, against `prim::eval`: bit for
//! bit but for the payload of NaNs. Compiled for this machine and for the
//! plainest one, whose missing instructions become calls.

mod common;

use common::{Fun, entry_fn, entry_value, jit};
use half::f16;
use imp::{Entry, EntryType, Expr, FunId, Program, Stmt, VarType};
use prim::{BinOp, CmpOp, ConvOp, MathFun, PrimType, Scalar, ScalarType, UnOp, eval};

type Meaning = Box<dyn Fn(&[Scalar]) -> Option<Scalar>>;

struct Case {
    name: String,
    params: Vec<PrimType>,
    result: PrimType,
    expr: Box<dyn Fn(Vec<Expr>) -> Expr>,
    meaning: Meaning,
}

fn two(args: Vec<Expr>) -> (Box<Expr>, Box<Expr>) {
    let [x, y]: [Expr; 2] = args.try_into().unwrap();
    (Box::new(x), Box::new(y))
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut case = |name: String, params: Vec<PrimType>, result, expr, meaning| {
        cases.push(Case {
            name,
            params,
            result,
            expr,
            meaning,
        });
    };
    for &ty in PrimType::ALL {
        for &op in BinOp::ALL.iter().filter(|op| op.domain().contains(ty)) {
            let expr = Box::new(move |args| {
                let (x, y) = two(args);
                Expr::Binary(op, ty, x, y)
            });
            let meaning: Meaning = Box::new(move |args| eval::binary(op, args[0], args[1]));
            case(
                format!("{}.{ty}", op.name()),
                vec![ty; 2],
                ty,
                expr,
                meaning,
            );
        }
        for &op in UnOp::ALL.iter().filter(|op| op.domain().contains(ty)) {
            let expr =
                Box::new(move |mut args: Vec<_>| Expr::Unary(op, ty, Box::new(args.remove(0))));
            let meaning: Meaning = Box::new(move |args| eval::unary(op, args[0]));
            case(format!("{}.{ty}", op.name()), vec![ty], ty, expr, meaning);
        }
        for &op in CmpOp::ALL.iter().filter(|op| op.domain().contains(ty)) {
            let expr = Box::new(move |args| {
                let (x, y) = two(args);
                Expr::Compare(op, ty, x, y)
            });
            let meaning: Meaning =
                Box::new(move |args| eval::compare(op, args[0], args[1]).map(Scalar::Bool));
            case(
                format!("{}.{ty}", op.name()),
                vec![ty; 2],
                PrimType::Bool,
                expr,
                meaning,
            );
        }
        for (&op, &to) in ConvOp::ALL
            .iter()
            .flat_map(|op| PrimType::ALL.iter().map(move |to| (op, to)))
        {
            if !op.accepts(ty, to) {
                continue;
            }
            let expr = Box::new(move |mut args: Vec<_>| {
                Expr::Convert(op, ty, to, Box::new(args.remove(0)))
            });
            let meaning: Meaning = Box::new(move |args| eval::convert(op, args[0], to));
            case(
                format!("{}.{ty}.{to}", op.name()),
                vec![ty],
                to,
                expr,
                meaning,
            );
        }
        if ty.is_float() {
            let expr = Box::new(move |args: Vec<_>| {
                let [x, y, z] = args.try_into().unwrap();
                Expr::Fma(ty, Box::new(x), Box::new(y), Box::new(z))
            });
            let meaning: Meaning = Box::new(|args| eval::fma(args[0], args[1], args[2]));
            case(format!("fma.{ty}"), vec![ty; 3], ty, expr, meaning);
            for &fun in MathFun::ALL {
                let expr = Box::new(move |args| Expr::Math(fun, ty, args));
                let meaning: Meaning = Box::new(move |args| eval::math(fun, args));
                case(
                    format!("{}.{ty}", fun.name()),
                    vec![ty; fun.arity()],
                    ty,
                    expr,
                    meaning,
                );
            }
        } else if ty.is_int() {
            for n in [0, 1, 2, 5, 13] {
                let expr = Box::new(move |mut args: Vec<_>| {
                    let exponent = Expr::Const(Scalar::int(ty, n));
                    Expr::Binary(BinOp::Pow, ty, Box::new(args.remove(0)), Box::new(exponent))
                });
                let meaning: Meaning =
                    Box::new(move |args| eval::binary(BinOp::Pow, args[0], Scalar::int(ty, n)));
                case(format!("pow{n}.{ty}"), vec![ty], ty, expr, meaning);
            }
        }
    }
    cases
}

fn interesting(ty: PrimType) -> Vec<Scalar> {
    let ints = [
        0i64,
        1,
        -1,
        2,
        -2,
        3,
        5,
        -7,
        7,
        8,
        10,
        15,
        16,
        31,
        32,
        33,
        63,
        64,
        100,
        127,
        128,
        -128,
        -129,
        255,
        256,
        32767,
        32768,
        -32768,
        65535,
        65536,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ffff,
        0x1_0000_0001,
        -0x8000_0000,
        i64::MAX,
        i64::MIN,
        i64::MIN + 1,
        0x1234_5678_9abc_def0,
    ];
    let floats = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        1.5,
        2.5,
        -2.5,
        3.0,
        7.25,
        -7.25,
        0.1,
        1e-3,
        1e-8,
        5.96e-8,
        6.1e-5,
        1e-40,
        5e-324,
        100.0,
        127.5,
        255.0,
        256.0,
        300.7,
        65504.0,
        65520.0,
        1e5,
        -1e5,
        2147483647.0,
        2147483648.0,
        4294967296.0,
        9.3e18,
        1.9e19,
        -9.3e18,
        1e38,
        -1e38,
        3.5e38,
        1e300,
        f64::MAX,
        f64::MIN_POSITIVE,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        1.0 / 3.0,
        // Near ties of half precision: exact tie, just above, just below.
        1.00048828125,
        1.000488281250001,
        1.000488281249999,
        2049.0,
        2051.0,
        2.9802322387695312e-8,
        2.980232238769532e-8,
    ];
    let mut values: Vec<Scalar> = match ty {
        PrimType::Bool => vec![Scalar::Bool(false), Scalar::Bool(true)],
        PrimType::F16 => floats
            .iter()
            .map(|x| Scalar::F16(f16::from_f32(*x as f32)))
            .collect(),
        PrimType::F32 => floats.iter().map(|x| Scalar::F32(*x as f32)).collect(),
        PrimType::F64 => floats.iter().map(|x| Scalar::F64(*x)).collect(),
        _ => ints.iter().map(|x| Scalar::int(ty, *x)).collect(),
    };
    let mut seen = std::collections::BTreeSet::new();
    values.retain(|x| seen.insert(x.bits()));
    values
}

fn is_nan(x: Scalar) -> bool {
    match x {
        Scalar::F16(x) => x.is_nan(),
        Scalar::F32(x) => x.is_nan(),
        Scalar::F64(x) => x.is_nan(),
        _ => false,
    }
}

fn entry_type(ty: PrimType) -> EntryType {
    let same = ScalarType::ALL.iter().find(|t| t.name() == ty.name());
    EntryType::Scalar(*same.unwrap())
}

fn all_operators(cpu: &str) {
    let cases = cases();
    let mut program = Program {
        source_name: "operators".into(),
        ..Program::default()
    };
    for (i, case) in cases.iter().enumerate() {
        let mut f = Fun::default();
        let params: Vec<_> = case
            .params
            .iter()
            .map(|ty| f.param("x", VarType::Scalar(*ty)))
            .collect();
        let result = f.scalar("r", case.result);
        f.results = vec![result];
        let expr = (case.expr)(params.iter().map(|x| Expr::Var(*x)).collect());
        program
            .functions
            .push(f.finish(&case.name, vec![Stmt::Set(result, expr)]));
        program.entries.push(Entry {
            name: case.name.as_str().into(),
            fun: FunId(i as u32),
            params: case
                .params
                .iter()
                .map(|ty| entry_value("x", entry_type(*ty)))
                .collect(),
            results: vec![entry_value("", entry_type(case.result))],
        });
    }
    let jit = jit(&program, cpu);
    let (mut failures, mut compared) = (Vec::new(), 0);
    for case in &cases {
        let code = entry_fn(&jit, &case.name);
        let domains: Vec<Vec<Scalar>> = case.params.iter().map(|ty| interesting(*ty)).collect();
        let count: usize = domains.iter().map(Vec::len).product();
        // All pairs; of triples every 7th.
        for at in (0..count).step_by(if case.params.len() > 2 { 7 } else { 1 }) {
            let mut rest = at;
            let args: Vec<Scalar> = domains
                .iter()
                .map(|values| {
                    let x = values[rest % values.len()];
                    rest /= values.len();
                    x
                })
                .collect();
            let words: Vec<u64> = args.iter().map(|x| x.bits()).collect();
            let mut result = 0;
            // SAFETY: scalar code does not look at its context; the words are as described.
            let status = unsafe { code(std::ptr::dangling_mut(), words.as_ptr(), &raw mut result) };
            assert_eq!(status, 0);
            let Some(wanted) = (case.meaning)(&args) else {
                continue;
            };
            compared += 1;
            let got = Scalar::from_bits(case.result, result);
            if got.bits() != result {
                failures.push(format!("{} {args:?}: word {result:x}", case.name));
            } else if got != wanted && !(is_nan(got) && is_nan(wanted)) {
                failures.push(format!("{} {args:?} = {got:?}, not {wanted:?}", case.name));
            }
        }
    }
    assert!(compared > 200_000, "only {compared} comparisons");
    let shown: Vec<_> = failures.iter().take(40).cloned().collect();
    assert!(
        failures.is_empty(),
        "{} failures:\n{}",
        failures.len(),
        shown.join("\n")
    );
}

#[test]
fn operators_on_this_machine() {
    all_operators("native");
}

#[test]
fn operators_on_any_machine() {
    all_operators("generic");
}
