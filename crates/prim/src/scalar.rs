//! Scalar values of the core IR.

use crate::{PrimType, ScalarType};
use half::f16;
use std::fmt::{self, Display};
use std::hash::{Hash, Hasher};

/// A scalar value together with its core type. Two are equal when type and bits are equal, so that
/// `nan == nan` and `-0.0 != 0.0` here: constants are compared as constants, not as numbers.
#[derive(Clone, Copy, Debug)]
pub enum Scalar {
    /// An 8-bit integer.
    I8(i8),
    /// A 16-bit integer.
    I16(i16),
    /// A 32-bit integer.
    I32(i32),
    /// A 64-bit integer.
    I64(i64),
    /// A half-precision float.
    F16(f16),
    /// A single-precision float.
    F32(f32),
    /// A double-precision float.
    F64(f64),
    /// A truth value.
    Bool(bool),
}

impl Scalar {
    /// The type of the value.
    #[inline]
    pub const fn ty(self) -> PrimType {
        match self {
            Self::I8(_) => PrimType::I8,
            Self::I16(_) => PrimType::I16,
            Self::I32(_) => PrimType::I32,
            Self::I64(_) => PrimType::I64,
            Self::F16(_) => PrimType::F16,
            Self::F32(_) => PrimType::F32,
            Self::F64(_) => PrimType::F64,
            Self::Bool(_) => PrimType::Bool,
        }
    }

    /// The bits of the value, zero-extended to 64.
    #[inline]
    pub fn bits(self) -> u64 {
        match self {
            Self::I8(x) => u64::from(x as u8),
            Self::I16(x) => u64::from(x as u16),
            Self::I32(x) => u64::from(x as u32),
            Self::I64(x) => x as u64,
            Self::F16(x) => u64::from(x.to_bits()),
            Self::F32(x) => u64::from(x.to_bits()),
            Self::F64(x) => x.to_bits(),
            Self::Bool(x) => u64::from(x),
        }
    }

    /// The value of type `ty` whose low bits are `bits`.
    #[inline]
    pub fn from_bits(ty: PrimType, bits: u64) -> Self {
        match ty {
            PrimType::I8 => Self::I8(bits as i8),
            PrimType::I16 => Self::I16(bits as i16),
            PrimType::I32 => Self::I32(bits as i32),
            PrimType::I64 => Self::I64(bits as i64),
            PrimType::F16 => Self::F16(f16::from_bits(bits as u16)),
            PrimType::F32 => Self::F32(f32::from_bits(bits as u32)),
            PrimType::F64 => Self::F64(f64::from_bits(bits)),
            PrimType::Bool => Self::Bool(bits & 1 != 0),
        }
    }

    /// The integer `x` wrapped to the integer type `ty`; a float type gets the nearest value,
    /// `bool` true if `x` is not 0.
    pub fn int(ty: PrimType, x: i64) -> Self {
        match ty {
            PrimType::F16 => Self::F16(f16_from_f64(x as f64)),
            PrimType::F32 => Self::F32(x as f32),
            PrimType::F64 => Self::F64(x as f64),
            PrimType::Bool => Self::Bool(x != 0),
            PrimType::I8 | PrimType::I16 | PrimType::I32 | PrimType::I64 => Self::from_bits(ty, x as u64),
        }
    }

    /// The number as a literal of a source type, without the type's name.
    pub fn display(self, ty: ScalarType) -> impl Display {
        fmt::from_fn(move |f| match self {
            Self::F16(x) => x.fmt(f),
            Self::F32(x) => x.fmt(f),
            Self::F64(x) => x.fmt(f),
            Self::Bool(x) => x.fmt(f),
            _ if ty.is_unsigned() => self.bits().fmt(f),
            Self::I8(x) => x.fmt(f),
            Self::I16(x) => x.fmt(f),
            Self::I32(x) => x.fmt(f),
            Self::I64(x) => x.fmt(f),
        })
    }

    /// The zero of type `ty` (`false` for `bool`).
    pub fn zero(ty: PrimType) -> Self {
        Self::from_bits(ty, 0)
    }

    /// The value sign-extended, if it is an integer.
    #[inline]
    pub const fn as_i64(self) -> Option<i64> {
        match self {
            Self::I8(x) => Some(x as i64),
            Self::I16(x) => Some(x as i64),
            Self::I32(x) => Some(x as i64),
            Self::I64(x) => Some(x),
            Self::F16(_) | Self::F32(_) | Self::F64(_) | Self::Bool(_) => None,
        }
    }

    /// The value, if it is a truth value.
    pub const fn as_bool(self) -> Option<bool> {
        match self {
            Self::Bool(x) => Some(x),
            Self::I8(_)
            | Self::I16(_)
            | Self::I32(_)
            | Self::I64(_)
            | Self::F16(_)
            | Self::F32(_)
            | Self::F64(_) => None,
        }
    }
}

/// The `f16` nearest to `x`, ties to even. (The conversion of the crate `half` rounds twice on some
/// processors and drops bits on others.)
pub fn f16_from_f64(x: f64) -> f16 {
    // Rounding to odd first prevents false ties in the second rounding.
    let near = x as f32;
    let bits = near.to_bits();
    let odd = if near.is_nan() || f64::from(near) == x {
        bits
    } else if f64::from(near).abs() > x.abs() {
        (bits - 1) | 1
    } else {
        bits | 1
    };
    f16::from_f32(f32::from_bits(odd))
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Self) -> bool {
        self.ty() == other.ty() && self.bits() == other.bits()
    }
}

impl Eq for Scalar {}

impl Hash for Scalar {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.ty().hash(state);
        self.bits().hash(state);
    }
}
