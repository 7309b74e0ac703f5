//! Derivatives of scalar operations: for each operand, how a change of it changes the result.
//!
//! Where a function has no derivative, the choices are those of the reference compiler: that of the
//! first operand where a minimum or maximum has equal operands, 0 at steps and kinks. Integers have
//! the derivatives of the same expressions of real numbers where these are integers; the divisor of
//! an integer remainder has none. Truth values pass on a change only through a negation.

use crate::{BinOp, CmpOp, ConvOp, MathFun, PrimType, Scalar, ScalarOp, UnOp, f16_from_f64};
use smallvec::{SmallVec, smallvec};
use std::f64::consts::{FRAC_2_SQRT_PI, LN_2, LN_10, PI};

/// An expression of an operation's operands and result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Factor {
    /// The operand at a position.
    Operand(usize),
    /// The operation's result.
    Result,
    /// A constant.
    Const(Scalar),
    /// An operation.
    Op(Box<ScalarOp<Self>>),
}

/// The derivative of a result with respect to one operand: the function from a change of the operand
/// to that of the result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Derivative {
    /// No change.
    Zero,
    /// The same change.
    Same,
    /// The negated change.
    Negated,
    /// The change times a value of the operation's type.
    Times(Factor),
    /// The same change if a condition, a `bool`, holds; otherwise none.
    If(Factor),
    /// No change if a condition, a `bool`, holds; otherwise the same.
    Unless(Factor),
    /// The converted change.
    Converted {
        /// From a change of the operand to one of the result.
        forward: ConvOp,
        /// From an adjoint of the result to one of the operand.
        backward: ConvOp,
    },
}

use Derivative::{If, Negated, Same, Times, Unless, Zero};
use Factor::Result;

/// The derivatives of an operation with respect to each operand; `None` if there is no expression
/// for them (a fourth derivative of `lgamma`).
pub fn derivatives<X>(op: &ScalarOp<X>) -> Option<SmallVec<[Derivative; 3]>> {
    Some(match op {
        ScalarOp::Unary(op, ty, _) => smallvec![unary(*op, At(*ty))],
        ScalarOp::Binary(op, ty, _, _) => SmallVec::from_iter(binary(*op, At(*ty))),
        ScalarOp::Compare(..) => smallvec![Zero, Zero],
        ScalarOp::Convert { op, from: _, to: _, arg: _ } => smallvec![conversion(*op)],
        ScalarOp::Select { .. } => smallvec![Zero, If(X), Unless(X)],
        ScalarOp::Fma(..) => smallvec![Times(Y), Times(X), Same],
        ScalarOp::Math(fun, ty, _) => math(*fun, At(*ty))?,
    })
}

/// The mathematical functions of which the derivatives of a function consist.
pub fn functions(fun: MathFun, ty: PrimType) -> Vec<MathFun> {
    let op = ScalarOp::Math(fun, ty, smallvec![(); fun.arity()]);
    let mut found = Vec::new();
    for derivative in derivatives(&op).unwrap_or_default() {
        if let Times(factor) | If(factor) | Unless(factor) = derivative {
            factor.add_functions(&mut found);
        }
    }
    found
}

/// The first operand.
const X: Factor = Factor::Operand(0);
/// The second operand.
const Y: Factor = Factor::Operand(1);

/// Expressions of one type.
#[derive(Clone, Copy)]
struct At(PrimType);

impl At {
    fn num(self, x: f64) -> Factor {
        Factor::Const(match self.0 {
            PrimType::F16 => Scalar::F16(f16_from_f64(x)),
            PrimType::F32 => Scalar::F32(x as f32),
            PrimType::F64 => Scalar::F64(x),
            ty @ (PrimType::I8 | PrimType::I16 | PrimType::I32 | PrimType::I64 | PrimType::Bool) => {
                Scalar::int(ty, x as i64)
            }
        })
    }

    fn unary(self, op: UnOp, x: Factor) -> Factor {
        Factor::Op(Box::new(ScalarOp::Unary(op, self.0, x)))
    }

    fn binary(self, op: BinOp, x: Factor, y: Factor) -> Factor {
        Factor::Op(Box::new(ScalarOp::Binary(op, self.0, x, y)))
    }

    fn compare(self, op: CmpOp, x: Factor, y: Factor) -> Factor {
        Factor::Op(Box::new(ScalarOp::Compare(op, self.0, x, y)))
    }

    fn math(self, fun: MathFun, args: SmallVec<[Factor; 2]>) -> Factor {
        Factor::Op(Box::new(ScalarOp::Math(fun, self.0, args)))
    }

    fn call(self, fun: MathFun, x: Factor) -> Factor {
        self.math(fun, smallvec![x])
    }

    /// `cond ? 0 : x`.
    fn zero_if(self, cond: Factor, x: Factor) -> Factor {
        Factor::Op(Box::new(ScalarOp::Select { ty: self.0, cond, if_true: self.num(0.0), if_false: x }))
    }

    fn add(self, x: Factor, y: Factor) -> Factor {
        self.binary(BinOp::FAdd, x, y)
    }

    fn sub(self, x: Factor, y: Factor) -> Factor {
        self.binary(BinOp::FSub, x, y)
    }

    fn mul(self, x: Factor, y: Factor) -> Factor {
        self.binary(BinOp::FMul, x, y)
    }

    fn div(self, x: Factor, y: Factor) -> Factor {
        self.binary(BinOp::FDiv, x, y)
    }

    fn neg(self, x: Factor) -> Factor {
        self.unary(UnOp::FNeg, x)
    }

    fn square(self, x: Factor) -> Factor {
        self.mul(x.clone(), x)
    }

    /// `1 / x`.
    fn inverse(self, x: Factor) -> Factor {
        self.div(self.num(1.0), x)
    }

    /// `1 / sqrt ((1 - x) * (1 + x))`.
    fn inverse_sine(self) -> Factor {
        let one = || self.num(1.0);
        let square = self.mul(self.sub(one(), X), self.add(one(), X));
        self.inverse(self.unary(UnOp::FSqrt, square))
    }

    /// `2 / sqrt pi * exp (- x * x)`.
    fn error_function(self) -> Factor {
        self.mul(self.num(FRAC_2_SQRT_PI), self.call(MathFun::Exp, self.neg(self.square(X))))
    }

    /// The derivatives of `atan2 y x`, divided by a constant: by `y`, by `x`.
    fn angle(self, divisor: f64) -> SmallVec<[Derivative; 3]> {
        let square = self.add(self.square(X), self.square(Y));
        let scale = self.inverse(if divisor == 1.0 { square } else { self.mul(self.num(divisor), square) });
        smallvec![Times(self.mul(Y, scale.clone())), Times(self.neg(self.mul(X, scale)))]
    }
}

fn unary(op: UnOp, at: At) -> Derivative {
    match op {
        UnOp::Neg | UnOp::FNeg => Negated,
        UnOp::Not if at.0 == PrimType::Bool => Same,
        UnOp::Abs => Times(at.unary(UnOp::SSignum, X)),
        UnOp::FAbs => Times(at.unary(UnOp::FSignum, X)),
        UnOp::FSqrt => Times(at.div(at.num(0.5), Result)),
        UnOp::Not
        | UnOp::SSignum
        | UnOp::USignum
        | UnOp::FSignum
        | UnOp::Clz
        | UnOp::Ctz
        | UnOp::Popc
        | UnOp::FFloor
        | UnOp::FCeil
        | UnOp::FRound
        | UnOp::FTrunc
        | UnOp::FExp2Eighths => Zero,
    }
}

fn binary(op: BinOp, at: At) -> [Derivative; 2] {
    let one = || at.num(1.0);
    match op {
        BinOp::Add | BinOp::FAdd => [Same, Same],
        BinOp::Sub | BinOp::FSub => [Same, Negated],
        BinOp::Mul | BinOp::FMul => [Times(Y), Times(X)],
        BinOp::FDiv => {
            let inverse = at.inverse(Y);
            [Times(inverse.clone()), Times(at.neg(at.mul(Result, inverse)))]
        }
        BinOp::SDiv | BinOp::SQuot | BinOp::UDiv => {
            let quotient = if op == BinOp::UDiv { op } else { BinOp::SQuot };
            let by_y = |x| at.binary(quotient, x, Y);
            [Times(by_y(one())), Times(at.unary(UnOp::Neg, by_y(by_y(X))))]
        }
        BinOp::FMod => [Same, Times(at.neg(at.unary(UnOp::FTrunc, at.div(X, Y))))],
        BinOp::SMod | BinOp::UMod | BinOp::SRem => [Same, Zero],
        BinOp::SMin | BinOp::UMin | BinOp::SMax | BinOp::UMax | BinOp::FMin | BinOp::FMax => {
            let first = at.compare(CmpOp::Eq, X, Result);
            [If(first.clone()), Unless(first)]
        }
        BinOp::Pow => {
            let power = at.binary(BinOp::Pow, X, at.binary(BinOp::Sub, Y, one()));
            [Times(at.binary(BinOp::Mul, Y, power)), Zero]
        }
        BinOp::Shl => [Times(at.binary(BinOp::Shl, one(), Y)), Zero],
        BinOp::LShr | BinOp::AShr => [Times(at.binary(BinOp::LShr, one(), Y)), Zero],
        BinOp::And | BinOp::Or | BinOp::Xor => [Zero, Zero],
    }
}

/// The adjoint of an integer that a float becomes is that float; changes of bits are the bits of
/// changes; what becomes a truth value has no derivative.
fn conversion(op: ConvOp) -> Derivative {
    let backward = match op {
        ConvOp::SExt | ConvOp::ZExt | ConvOp::FConv => op,
        ConvOp::SToF => ConvOp::FToS,
        ConvOp::UToF => ConvOp::FToU,
        ConvOp::FToS => ConvOp::SToF,
        ConvOp::FToU => ConvOp::UToF,
        ConvOp::ToBits => ConvOp::FromBits,
        ConvOp::FromBits => ConvOp::ToBits,
        ConvOp::BToI | ConvOp::IToB | ConvOp::BToF | ConvOp::FToB => return Zero,
    };
    Derivative::Converted { forward: op, backward }
}

fn math(fun: MathFun, at: At) -> Option<SmallVec<[Derivative; 3]>> {
    let num = |x| at.num(x);
    let factor = match fun {
        MathFun::Exp => Result,
        MathFun::Exp2 => at.mul(Result, num(LN_2)),
        MathFun::Exp10 => at.mul(Result, num(LN_10)),
        MathFun::Expm1 => at.add(Result, num(1.0)),
        MathFun::Log => at.inverse(X),
        MathFun::Log2 => at.inverse(at.mul(X, num(LN_2))),
        MathFun::Log10 => at.inverse(at.mul(X, num(LN_10))),
        MathFun::Log1p => at.inverse(at.add(X, num(1.0))),
        MathFun::Sin => at.call(MathFun::Cos, X),
        MathFun::Cos => at.neg(at.call(MathFun::Sin, X)),
        MathFun::Tan => at.add(num(1.0), at.square(Result)),
        MathFun::Asin => at.inverse_sine(),
        MathFun::Acos => at.neg(at.inverse_sine()),
        MathFun::Atan => at.inverse(at.add(num(1.0), at.square(X))),
        MathFun::Atan2 => return Some(at.angle(1.0)),
        MathFun::Sinpi => at.mul(num(PI), at.call(MathFun::Cospi, X)),
        MathFun::Cospi => at.mul(num(-PI), at.call(MathFun::Sinpi, X)),
        MathFun::Tanpi => at.mul(num(PI), at.add(num(1.0), at.square(Result))),
        MathFun::Asinpi => at.mul(num(1.0 / PI), at.inverse_sine()),
        MathFun::Acospi => at.mul(num(-1.0 / PI), at.inverse_sine()),
        MathFun::Atanpi => at.inverse(at.mul(num(PI), at.add(num(1.0), at.square(X)))),
        MathFun::Atan2pi => return Some(at.angle(PI)),
        MathFun::Sinh => at.call(MathFun::Cosh, X),
        MathFun::Cosh => at.call(MathFun::Sinh, X),
        MathFun::Tanh => at.sub(num(1.0), at.square(Result)),
        MathFun::Asinh => at.inverse(at.unary(UnOp::FSqrt, at.add(num(1.0), at.square(X)))),
        MathFun::Acosh => {
            let square = at.mul(at.sub(X, num(1.0)), at.add(X, num(1.0)));
            at.inverse(at.unary(UnOp::FSqrt, square))
        }
        MathFun::Atanh => at.inverse(at.mul(at.sub(num(1.0), X), at.add(num(1.0), X))),
        MathFun::Pow => return Some(power(at)),
        MathFun::Cbrt => at.inverse(at.mul(num(3.0), at.square(Result))),
        MathFun::Hypot => {
            return Some(smallvec![Times(at.div(X, Result)), Times(at.div(Y, Result))]);
        }
        MathFun::Erf => at.error_function(),
        MathFun::Erfc => at.neg(at.error_function()),
        MathFun::Nextafter => return Some(smallvec![Same, Zero]),
        MathFun::Copysign => {
            let sign = at.math(MathFun::Copysign, smallvec![num(1.0), Y]);
            return Some(smallvec![Times(at.mul(at.unary(UnOp::FSignum, X), sign)), Zero]);
        }
        MathFun::Ldexp => {
            let scale = at.math(MathFun::Ldexp, smallvec![num(1.0), Y]);
            return Some(smallvec![Times(scale), Zero]);
        }
        MathFun::Gamma => at.mul(Result, at.call(MathFun::Digamma, X)),
        MathFun::Lgamma => at.call(MathFun::Digamma, X),
        MathFun::Digamma => at.call(MathFun::Trigamma, X),
        MathFun::Trigamma => at.call(MathFun::Tetragamma, X),
        MathFun::Tetragamma => return None,
    };
    Some(smallvec![Times(factor)])
}

/// The derivatives of `x ** y`: `y * x ** (y - 1)`, but 0 at `x = 0` with `y < 1`; `x ** y * log x`,
/// but 0 for `x <= 0`.
fn power(at: At) -> SmallVec<[Derivative; 3]> {
    let (zero, one) = (|| at.num(0.0), || at.num(1.0));
    let at_zero = at.compare(CmpOp::Eq, X, zero());
    let steep = at.compare(CmpOp::FLt, Y, one());
    let both = Factor::Op(Box::new(ScalarOp::Binary(BinOp::And, PrimType::Bool, at_zero, steep)));
    let lower = at.math(MathFun::Pow, smallvec![X, at.sub(Y, one())]);
    let by_base = at.zero_if(both, at.mul(Y, lower));
    let log = at.zero_if(at.compare(CmpOp::FLe, X, zero()), at.call(MathFun::Log, X));
    smallvec![Times(by_base), Times(at.mul(Result, log))]
}

impl Factor {
    fn add_functions(&self, found: &mut Vec<MathFun>) {
        if let Self::Op(op) = self {
            if let ScalarOp::Math(fun, ..) = **op {
                found.push(fun);
            }
            op.each_operand(|operand| operand.add_functions(found));
        }
    }

    /// Its value for an operation with these operands and this result; `math` computes mathematical
    /// functions.
    pub fn value(
        &self,
        operands: &[Scalar],
        result: Scalar,
        math: &dyn Fn(MathFun, PrimType, &[Scalar]) -> Option<Scalar>,
    ) -> Option<Scalar> {
        match self {
            Self::Operand(at) => operands.get(*at).copied(),
            Self::Result => Some(result),
            Self::Const(x) => Some(*x),
            Self::Op(op) => {
                let operands = op.as_ref().as_ref().try_map(|x| x.value(operands, result, math).ok_or(()));
                operands.ok()?.value(|fun, ty, args| math(fun, ty, args))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval;

    fn float(x: Scalar) -> f64 {
        let Scalar::F64(x) = x else { panic!("{x:?} is not an f64") };
        x
    }

    /// The result of an operation at `f64` operands.
    fn value(op: &ScalarOp<()>, operands: &[f64]) -> f64 {
        let mut operands = operands.iter();
        let op = op.clone().map(|()| Scalar::F64(*operands.next().unwrap()));
        float(op.value(|fun, _, args| eval::math(fun, args)).unwrap())
    }

    fn derivative(op: &ScalarOp<()>, operands: &[f64], at: usize) -> f64 {
        let result = Scalar::F64(value(op, operands));
        let scalars: Vec<Scalar> = operands.iter().map(|x| Scalar::F64(*x)).collect();
        let evaluated =
            |factor: &Factor| factor.value(&scalars, result, &|fun, _, args| eval::math(fun, args)).unwrap();
        match &derivatives(op).unwrap()[at] {
            Zero => 0.0,
            Same => 1.0,
            Negated => -1.0,
            Times(factor) => float(evaluated(factor)),
            If(cond) => f64::from(evaluated(cond) == Scalar::Bool(true)),
            Unless(cond) => f64::from(evaluated(cond) == Scalar::Bool(false)),
            Derivative::Converted { .. } => panic!("not a conversion"),
        }
    }

    /// Every operation on floats agrees with central differences where it is smooth.
    #[test]
    fn central_differences() {
        let ty = PrimType::F64;
        let floats = |op: &ScalarOp<()>| op.is_defined().is_ok() && derivatives(op).is_some();
        let unary = UnOp::ALL.iter().map(|op| ScalarOp::Unary(*op, ty, ()));
        let binary = BinOp::ALL.iter().map(|op| ScalarOp::Binary(*op, ty, (), ()));
        let math = MathFun::ALL.iter().map(|fun| ScalarOp::Math(*fun, ty, smallvec![(); fun.arity()]));
        let mut checked = 0;
        for op in unary.chain(binary).chain(math).chain([ScalarOp::Fma(ty, (), (), ())]).filter(floats) {
            let is_step = matches!(op, ScalarOp::Math(MathFun::Nextafter | MathFun::Ldexp, ..));
            let is_table = matches!(op, ScalarOp::Unary(UnOp::FExp2Eighths, ..));
            if is_step || is_table {
                continue;
            }
            for point in [[0.3, 0.6, 1.5], [0.7, -0.4, 0.2], [1.4, 2.3, -1.0], [-0.6, 1.7, 0.9]] {
                let operands = &point[..op.operands().len()];
                if !value(&op, operands).is_finite() {
                    continue;
                }
                for at in 0..operands.len() {
                    let shifted = |h: f64| {
                        let mut shifted = operands.to_vec();
                        shifted[at] += h;
                        value(&op, &shifted)
                    };
                    let (expected, found) =
                        ((shifted(1e-6) - shifted(-1e-6)) / 2e-6, derivative(&op, operands, at));
                    let scale = expected.abs().max(1.0);
                    assert!(
                        (expected - found).abs() <= 1e-6 * scale,
                        "{}, operand {at} at {operands:?}: {found}, by differences {expected}",
                        op.spelling(),
                    );
                    checked += 1;
                }
            }
        }
        assert!(checked > 150, "{checked}");
    }

    /// Equal operands of a minimum or maximum: the first counts.
    #[test]
    fn ties() {
        for op in [BinOp::FMin, BinOp::FMax] {
            let op = ScalarOp::Binary(op, PrimType::F64, (), ());
            assert_eq!([0, 1].map(|at| derivative(&op, &[2.0, 2.0], at)), [1.0, 0.0]);
            assert_eq!([0, 1].map(|at| derivative(&op, &[f64::NAN, 2.0], at)), [0.0, 1.0]);
            assert_eq!([0, 1].map(|at| derivative(&op, &[2.0, f64::NAN], at)), [1.0, 0.0]);
        }
    }
}
