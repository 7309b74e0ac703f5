//! Algebraic laws of operators. They hold for the bits of all values, except that all NaNs count as
//! one value.

use crate::{ConvOp, PrimType, Scalar, eval};

/// A law that an operator obeys at every type of its domain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Law {
    /// `x op y = y op x`.
    Commutative,
    /// `(x op y) op z = x op (y op z)`, without any rounding.
    Associative,
    /// `x op x = x`.
    Idempotent,
    /// `x op e = x`; also `e op x = x` if the operator is commutative.
    Neutral(Element),
    /// `x op e = e op x = e`.
    Absorbing(Element),
    /// `op (op x) = x`.
    Involution,
    /// `x op x` holds, for floats unless `x` is a NaN.
    Reflexive,
}

/// A value that several types have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Element {
    /// 0, +0.0, `false`.
    Zero,
    /// 1.
    One,
    /// The value with all bits set, `true`.
    Ones,
    /// The least signed integer.
    Least,
    /// The greatest signed integer.
    Greatest,
    /// The float -0.0.
    NegativeZero,
    /// A NaN.
    Nan,
    /// The float infinity.
    Infinity,
    /// The float -infinity.
    NegativeInfinity,
}

impl Element {
    /// The value of this type, if the type has one.
    pub fn at(self, ty: PrimType) -> Option<Scalar> {
        let float = |x: f64| eval::convert(ConvOp::FConv, Scalar::F64(x), ty);
        let int = |bits: u64| ty.is_int().then(|| Scalar::from_bits(ty, bits));
        let sign = 1 << (ty.bits() - 1);
        match self {
            Self::Zero => Some(Scalar::zero(ty)),
            Self::One => Some(Scalar::int(ty, 1)),
            Self::Ones => (!ty.is_float()).then(|| Scalar::from_bits(ty, u64::MAX)),
            Self::Least => int(sign),
            Self::Greatest => int(sign - 1),
            Self::NegativeZero => float(-0.0),
            Self::Nan => float(f64::NAN),
            Self::Infinity => float(f64::INFINITY),
            Self::NegativeInfinity => float(f64::NEG_INFINITY),
        }
    }
}
