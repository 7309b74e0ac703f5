//! All operators at all types with their reference results, and operands for them.

use half::f16;
use imp::Expr;
use prim::{BinOp, CmpOp, ConvOp, MathFun, PrimType, Scalar, ScalarOp, UnOp, eval};

type Code = Box<dyn Fn(Vec<Expr>) -> Expr>;
type Meaning = Box<dyn Fn(&[Scalar]) -> Option<Scalar>>;

/// An operator at one type.
pub struct Case {
    pub name: String,
    pub params: Vec<PrimType>,
    /// Operands of the expression after the parameters.
    pub constants: Vec<Scalar>,
    pub result: PrimType,
    pub expr: Code,
    pub meaning: Meaning,
}

fn two(args: Vec<Expr>) -> (Box<Expr>, Box<Expr>) {
    let [x, y]: [Expr; 2] = args.try_into().unwrap();
    (Box::new(x), Box::new(y))
}

pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut case = |name: String, params: Vec<PrimType>, result, expr, meaning| {
        cases.push(Case { name, params, constants: Vec::new(), result, expr, meaning });
    };
    for &ty in PrimType::ALL {
        for &op in BinOp::ALL.iter().filter(|op| op.domain().contains(ty)) {
            let expr = Box::new(move |args| {
                let (x, y) = two(args);
                Expr::Scalar(ScalarOp::Binary(op, ty, x, y))
            });
            let meaning: Meaning = Box::new(move |args| eval::binary(op, args[0], args[1]));
            case(format!("{}.{ty}", op.name()), vec![ty; 2], ty, expr, meaning);
        }
        for &op in UnOp::ALL.iter().filter(|op| op.domain().contains(ty)) {
            let expr = Box::new(move |mut args: Vec<_>| Expr::unary(op, ty, args.remove(0)));
            let meaning: Meaning = Box::new(move |args| eval::unary(op, args[0]));
            case(format!("{}.{ty}", op.name()), vec![ty], ty, expr, meaning);
        }
        for &op in CmpOp::ALL.iter().filter(|op| op.domain().contains(ty)) {
            let expr = Box::new(move |args| {
                let (x, y) = two(args);
                Expr::Scalar(ScalarOp::Compare(op, ty, x, y))
            });
            let meaning: Meaning =
                Box::new(move |args| eval::compare(op, args[0], args[1]).map(Scalar::Bool));
            case(format!("{}.{ty}", op.name()), vec![ty; 2], PrimType::Bool, expr, meaning);
        }
        for (&op, &to) in ConvOp::ALL.iter().flat_map(|op| PrimType::ALL.iter().map(move |to| (op, to))) {
            if !op.accepts(ty, to) {
                continue;
            }
            let expr = Box::new(move |mut args: Vec<_>| Expr::convert(op, ty, to, args.remove(0)));
            let meaning: Meaning = Box::new(move |args| eval::convert(op, args[0], to));
            case(format!("{}.{ty}.{to}", op.name()), vec![ty], to, expr, meaning);
        }
        if ty.is_float() {
            let expr = Box::new(move |args: Vec<_>| {
                let [x, y, z] = args.try_into().unwrap();
                Expr::fma(ty, x, y, z)
            });
            let meaning: Meaning = Box::new(|args| eval::fma(args[0], args[1], args[2]));
            case(format!("fma.{ty}"), vec![ty; 3], ty, expr, meaning);
            for &fun in MathFun::ALL {
                let expr = Box::new(move |args| Expr::Scalar(ScalarOp::Math(fun, ty, args)));
                let meaning: Meaning = Box::new(move |args| eval::math(fun, args));
                case(format!("{}.{ty}", fun.name()), vec![ty; fun.arity()], ty, expr, meaning);
            }
        }
        let expr = Box::new(move |args: Vec<_>| {
            let [c, x, y] = args.try_into().unwrap();
            Expr::select(ty, c, x, y)
        });
        let meaning: Meaning =
            Box::new(|args| Some(if args[0] == Scalar::Bool(true) { args[1] } else { args[2] }));
        let params = vec![PrimType::Bool, ty, ty];
        case(format!("select.{ty}"), params, ty, expr, meaning);
    }
    // Powers with a constant exponent have code of their own.
    for &ty in PrimType::ALL.iter().filter(|ty| ty.is_int()) {
        for n in [0, 1, 2, 5, 13] {
            cases.push(Case {
                name: format!("pow{n}.{ty}"),
                params: vec![ty],
                constants: vec![Scalar::int(ty, n)],
                result: ty,
                expr: Box::new(move |args| {
                    let (x, y) = two(args);
                    Expr::Scalar(ScalarOp::Binary(BinOp::Pow, ty, x, y))
                }),
                meaning: Box::new(move |args| eval::binary(BinOp::Pow, args[0], Scalar::int(ty, n))),
            });
        }
    }
    cases
}

/// Values at the boundaries of operators' cases.
pub fn interesting(ty: PrimType) -> Vec<Scalar> {
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
        PrimType::F16 => floats.iter().map(|x| Scalar::F16(f16::from_f32(*x as f32))).collect(),
        PrimType::F32 => floats.iter().map(|x| Scalar::F32(*x as f32)).collect(),
        PrimType::F64 => floats.iter().map(|x| Scalar::F64(*x)).collect(),
        _ => ints.iter().map(|x| Scalar::int(ty, *x)).collect(),
    };
    let mut seen = std::collections::BTreeSet::new();
    values.retain(|x| seen.insert(x.bits()));
    values
}

pub fn is_nan(x: Scalar) -> bool {
    match x {
        Scalar::F16(x) => x.is_nan(),
        Scalar::F32(x) => x.is_nan(),
        Scalar::F64(x) => x.is_nan(),
        _ => false,
    }
}
