//! All operators at all types with their reference results, and operands for them.

use half::f16;
use imp::Expr;
use prim::{BinOp, CmpOp, ConvOp, MathFun, PrimType, Scalar, ScalarOp, UnOp, eval};

/// An operator at one type.
pub struct Case {
    pub name: String,
    op: ScalarOp<()>,
    pub params: Vec<PrimType>,
    /// Operands of the expression after the parameters.
    pub constants: Vec<Scalar>,
    pub result: PrimType,
}

impl Case {
    fn new(op: ScalarOp<()>, constants: Vec<Scalar>) -> Self {
        let mut params = op.operand_types().to_vec();
        params.truncate(params.len() - constants.len());
        Self { name: op.spelling(), params, constants, result: op.result_type(), op }
    }

    fn of<T>(&self, operands: impl IntoIterator<Item = T>) -> ScalarOp<T> {
        let mut operands = operands.into_iter();
        self.op.clone().map(|()| operands.next().unwrap())
    }

    /// The expression with these operands.
    pub fn expr(&self, args: impl IntoIterator<Item = Expr>) -> Expr {
        Expr::Scalar(self.of(args).map(Box::new))
    }

    /// The mathematical function, if it is one.
    pub fn fun(&self) -> Option<MathFun> {
        if let ScalarOp::Math(fun, ..) = self.op { Some(fun) } else { None }
    }

    /// Interesting arguments: all pairs; every 7th triple.
    pub fn arguments(&self) -> Vec<Vec<Scalar>> {
        let domains: Vec<Vec<Scalar>> = self.params.iter().map(|ty| interesting(*ty)).collect();
        let count: usize = domains.iter().map(Vec::len).product();
        let step = if domains.len() > 2 { 7 } else { 1 };
        let one = |at: usize| {
            let mut rest = at;
            let pick = |values: &Vec<Scalar>| {
                let x = values[rest % values.len()];
                rest /= values.len();
                x
            };
            domains.iter().map(pick).collect()
        };
        (0..count).step_by(step).map(one).collect()
    }

    /// The value for these arguments.
    pub fn meaning(&self, args: &[Scalar]) -> Option<Scalar> {
        self.of(args.iter().chain(&self.constants).copied()).value(|fun, _, args| eval::math(fun, args))
    }
}

pub fn cases() -> Vec<Case> {
    let mut ops = Vec::new();
    for &ty in PrimType::ALL {
        ops.extend(BinOp::ALL.iter().map(|op| ScalarOp::Binary(*op, ty, (), ())));
        ops.extend(UnOp::ALL.iter().map(|op| ScalarOp::Unary(*op, ty, ())));
        ops.extend(CmpOp::ALL.iter().map(|op| ScalarOp::Compare(*op, ty, (), ())));
        for &op in ConvOp::ALL {
            ops.extend(PrimType::ALL.iter().map(|to| ScalarOp::Convert { op, from: ty, to: *to, arg: () }));
        }
        ops.push(ScalarOp::Fma(ty, (), (), ()));
        ops.extend(
            MathFun::ALL
                .iter()
                .map(|fun| ScalarOp::Math(*fun, ty, std::iter::repeat_n((), fun.arity()).collect())),
        );
        ops.push(ScalarOp::Select { ty, cond: (), if_true: (), if_false: () });
    }
    let defined = ops.into_iter().filter(|op| op.is_defined().is_ok());
    // Powers with a constant exponent have code of their own.
    let powers = PrimType::ALL.iter().filter(|ty| ty.is_int()).flat_map(|&ty| {
        [0, 1, 2, 5, 13].map(|n| {
            let case = Case::new(ScalarOp::Binary(BinOp::Pow, ty, (), ()), vec![Scalar::int(ty, n)]);
            Case { name: format!("pow{n}.{ty}"), ..case }
        })
    });
    defined.map(|op| Case::new(op, Vec::new())).chain(powers).collect()
}

/// Values at the boundaries of operators' cases.
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
