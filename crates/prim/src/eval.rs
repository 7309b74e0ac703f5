//! The semantics of every operator, for the constant folder and the evaluators.
//!
//! Each function returns `None` where the operation has no value (division by zero, an operand of
//! the wrong type).

use crate::{BinOp, CmpOp, ConvOp, MathFun, PrimType, Scalar, UnOp, f16_from_f64};
use crate::{half_turns, polygamma};
use half::f16;

/// `x op y`. `None` for division or modulo by zero, and for operands that are not of one type in
/// the operator's domain.
#[inline]
pub fn binary(op: BinOp, x: Scalar, y: Scalar) -> Option<Scalar> {
    if x.ty() != y.ty() || !op.domain().contains(x.ty()) {
        return None;
    }
    match (x, y) {
        (Scalar::F16(a), Scalar::F16(b)) => {
            let wide = float_binary(op, a.to_f64(), b.to_f64())?;
            // Double rounding is harmless here: binary64 has at least 2p + 2 bits for the p of
            // binary16, so the two steps round as one.
            Some(Scalar::F16(f16_from_f64(wide)))
        }
        (Scalar::F32(a), Scalar::F32(b)) => Some(Scalar::F32(match op {
            BinOp::FAdd => a + b,
            BinOp::FSub => a - b,
            BinOp::FMul => a * b,
            BinOp::FDiv => a / b,
            BinOp::FMin => float_min(f64::from(a), f64::from(b)) as f32,
            BinOp::FMax => float_max(f64::from(a), f64::from(b)) as f32,
            BinOp::FMod => libm::fmodf(a, b),
            int_binary!() | bits_binary!() => return None,
        })),
        (Scalar::F64(a), Scalar::F64(b)) => Some(Scalar::F64(float_binary(op, a, b)?)),
        (Scalar::Bool(a), Scalar::Bool(b)) => Some(Scalar::Bool(match op {
            BinOp::And => a & b,
            BinOp::Or => a | b,
            BinOp::Xor => a ^ b,
            int_binary!() | float_binary!() => return None,
        })),
        _ => int_binary(op, x, y),
    }
}

#[inline]
fn float_binary(op: BinOp, a: f64, b: f64) -> Option<f64> {
    Some(match op {
        BinOp::FAdd => a + b,
        BinOp::FSub => a - b,
        BinOp::FMul => a * b,
        BinOp::FDiv => a / b,
        BinOp::FMin => float_min(a, b),
        BinOp::FMax => float_max(a, b),
        BinOp::FMod => libm::fmod(a, b),
        int_binary!() | bits_binary!() => return None,
    })
}

/// The smaller operand, with -0.0 below 0.0; the other one for a NaN.
#[inline]
fn float_min(a: f64, b: f64) -> f64 {
    if b.is_nan() || a < b || (a == b && a.is_sign_negative()) { a } else { b }
}

/// The greater operand, with -0.0 below 0.0; the other one for a NaN.
#[inline]
fn float_max(a: f64, b: f64) -> f64 {
    if b.is_nan() || a > b || (a == b && a.is_sign_positive()) { a } else { b }
}

#[inline]
fn int_binary(op: BinOp, x: Scalar, y: Scalar) -> Option<Scalar> {
    let ty = x.ty();
    let bits = ty.bits();
    let (a, b) = (x.as_i64()?, y.as_i64()?);
    let (ua, ub) = (x.bits(), y.bits());
    let signed = |v: i64| Scalar::from_bits(ty, v as u64);
    let unsigned = |v: u64| Scalar::from_bits(ty, v);
    Some(match op {
        BinOp::Add => signed(a.wrapping_add(b)),
        BinOp::Sub => signed(a.wrapping_sub(b)),
        BinOp::Mul => signed(a.wrapping_mul(b)),
        BinOp::SDiv if b != 0 => {
            let q = a.wrapping_div(b);
            let r = a.wrapping_rem(b);
            signed(if r != 0 && (r < 0) != (b < 0) { q - 1 } else { q })
        }
        BinOp::SMod if b != 0 => {
            let r = a.wrapping_rem(b);
            signed(if r != 0 && (r < 0) != (b < 0) { r + b } else { r })
        }
        BinOp::SQuot if b != 0 => signed(a.wrapping_div(b)),
        BinOp::SRem if b != 0 => signed(a.wrapping_rem(b)),
        BinOp::UDiv if ub != 0 => unsigned(ua / ub),
        BinOp::UMod if ub != 0 => unsigned(ua % ub),
        BinOp::SDiv | BinOp::SMod | BinOp::SQuot | BinOp::SRem | BinOp::UDiv | BinOp::UMod => {
            return None;
        }
        BinOp::SMin => signed(a.min(b)),
        BinOp::SMax => signed(a.max(b)),
        BinOp::UMin => unsigned(ua.min(ub)),
        BinOp::UMax => unsigned(ua.max(ub)),
        BinOp::Shl => unsigned(if ub < u64::from(bits) { ua << ub } else { 0 }),
        BinOp::LShr => unsigned(if ub < u64::from(bits) { ua >> ub } else { 0 }),
        BinOp::AShr => signed(a >> ub.min(u64::from(bits) - 1).min(63)),
        BinOp::And => unsigned(ua & ub),
        BinOp::Or => unsigned(ua | ub),
        BinOp::Xor => unsigned(ua ^ ub),
        BinOp::Pow => {
            let (mut base, mut exponent, mut power) = (ua, ub, 1u64);
            while exponent > 0 {
                if exponent & 1 == 1 {
                    power = power.wrapping_mul(base);
                }
                base = base.wrapping_mul(base);
                exponent >>= 1;
            }
            unsigned(power)
        }
        float_binary!() => return None,
    })
}

/// `op x`. `None` for an operand outside the operator's domain.
#[inline]
pub fn unary(op: UnOp, x: Scalar) -> Option<Scalar> {
    if !op.domain().contains(x.ty()) {
        return None;
    }
    let ty = x.ty();
    match x {
        Scalar::Bool(a) => Some(Scalar::Bool(!a)),
        Scalar::F16(a) => Some(Scalar::F16(match op {
            UnOp::FNeg => -a,
            UnOp::FAbs => f16::from_bits(a.to_bits() & 0x7fff),
            int_unary!()
            | bits_unary!()
            | UnOp::FSignum
            | UnOp::FSqrt
            | UnOp::FFloor
            | UnOp::FCeil
            | UnOp::FRound
            | UnOp::FTrunc
            | UnOp::FExp2Eighths => f16_from_f64(float_unary(op, a.to_f64())?),
        })),
        Scalar::F32(a) => Some(Scalar::F32(match op {
            UnOp::FNeg => -a,
            UnOp::FAbs => a.abs(),
            UnOp::FSqrt => a.sqrt(),
            UnOp::FFloor => a.floor(),
            UnOp::FCeil => a.ceil(),
            UnOp::FRound => a.round_ties_even(),
            UnOp::FTrunc => a.trunc(),
            UnOp::FSignum if a == 0.0 => 0.0,
            UnOp::FSignum => a.signum(),
            int_unary!() | bits_unary!() | UnOp::FExp2Eighths => return None,
        })),
        Scalar::F64(a) => Some(Scalar::F64(float_unary(op, a)?)),
        Scalar::I8(_) | Scalar::I16(_) | Scalar::I32(_) | Scalar::I64(_) => {
            let (a, ua, bits) = (x.as_i64()?, x.bits(), ty.bits());
            Some(Scalar::int(
                ty,
                match op {
                    UnOp::Neg => a.wrapping_neg(),
                    UnOp::Not => !a,
                    UnOp::Abs => a.wrapping_abs(),
                    UnOp::SSignum => a.signum(),
                    UnOp::USignum => i64::from(ua != 0),
                    UnOp::Clz => i64::from(ua.leading_zeros() - (64 - bits)),
                    UnOp::Ctz => i64::from(ua.trailing_zeros().min(bits)),
                    UnOp::Popc => i64::from(ua.count_ones()),
                    float_unary!() => return None,
                },
            ))
        }
    }
}

/// 2 to the powers of 0 to 7 eighths, nearest.
pub const EXP2_EIGHTHS: [f64; 8] = [
    1.0,
    1.0905077326652577,
    1.189207115002721,
    1.2968395546510096,
    std::f64::consts::SQRT_2,
    1.5422108254079407,
    1.681792830507429,
    1.8340080864093424,
];

#[inline]
fn float_unary(op: UnOp, a: f64) -> Option<f64> {
    Some(match op {
        UnOp::FNeg => -a,
        UnOp::FAbs => a.abs(),
        UnOp::FSqrt => a.sqrt(),
        UnOp::FFloor => a.floor(),
        UnOp::FCeil => a.ceil(),
        UnOp::FRound => a.round_ties_even(),
        UnOp::FTrunc => a.trunc(),
        UnOp::FExp2Eighths => EXP2_EIGHTHS[(a.to_bits() & 7) as usize],
        UnOp::FSignum if a == 0.0 => 0.0,
        UnOp::FSignum => a.signum(),
        int_unary!() | bits_unary!() => return None,
    })
}

/// `x op y` as a truth value. `None` for operands outside the operator's domain.
#[inline]
pub fn compare(op: CmpOp, x: Scalar, y: Scalar) -> Option<bool> {
    if x.ty() != y.ty() || !op.domain().contains(x.ty()) {
        return None;
    }
    Some(match (x, y) {
        (Scalar::F16(a), Scalar::F16(b)) => float_compare(op, a.to_f64(), b.to_f64())?,
        (Scalar::F32(a), Scalar::F32(b)) => float_compare(op, f64::from(a), f64::from(b))?,
        (Scalar::F64(a), Scalar::F64(b)) => float_compare(op, a, b)?,
        (Scalar::Bool(a), Scalar::Bool(b)) => match op {
            CmpOp::Eq => a == b,
            CmpOp::BLt => !a & b,
            CmpOp::BLe => !a | b,
            int_compare!() | float_compare!() => return None,
        },
        _ => {
            let (a, b, ua, ub) = (x.as_i64()?, y.as_i64()?, x.bits(), y.bits());
            match op {
                CmpOp::Eq => a == b,
                CmpOp::SLt => a < b,
                CmpOp::SLe => a <= b,
                CmpOp::ULt => ua < ub,
                CmpOp::ULe => ua <= ub,
                float_compare!() | bool_compare!() => return None,
            }
        }
    })
}

#[inline]
fn float_compare(op: CmpOp, a: f64, b: f64) -> Option<bool> {
    Some(match op {
        CmpOp::Eq => a == b,
        CmpOp::FLt => a < b,
        CmpOp::FLe => a <= b,
        int_compare!() | bool_compare!() => return None,
    })
}

/// `x` converted to type `to`. `None` where the conversion does not apply.
pub fn convert(op: ConvOp, x: Scalar, to: PrimType) -> Option<Scalar> {
    if !op.accepts(x.ty(), to) {
        return None;
    }
    Some(match op {
        ConvOp::SExt => Scalar::int(to, x.as_i64()?),
        ConvOp::ZExt | ConvOp::ToBits | ConvOp::FromBits => Scalar::from_bits(to, x.bits()),
        ConvOp::SToF => {
            let a = x.as_i64()?;
            match to {
                PrimType::F16 => Scalar::F16(f16_from_f64(a as f64)),
                PrimType::F32 => Scalar::F32(a as f32),
                PrimType::I8
                | PrimType::I16
                | PrimType::I32
                | PrimType::I64
                | PrimType::F64
                | PrimType::Bool => Scalar::F64(a as f64),
            }
        }
        ConvOp::UToF => {
            let a = x.bits();
            match to {
                PrimType::F16 => Scalar::F16(f16_from_f64(a as f64)),
                PrimType::F32 => Scalar::F32(a as f32),
                PrimType::I8
                | PrimType::I16
                | PrimType::I32
                | PrimType::I64
                | PrimType::F64
                | PrimType::Bool => Scalar::F64(a as f64),
            }
        }
        ConvOp::FToS => float_to_signed(as_f64(x)?, to),
        ConvOp::FToU => {
            let a = as_f64(x)?;
            if a < 0.0 || a.is_infinite() {
                return Some(float_to_signed(a, to));
            }
            match to {
                PrimType::I8 => Scalar::I8(a as u8 as i8),
                PrimType::I16 => Scalar::I16(a as u16 as i16),
                PrimType::I32 => Scalar::I32(a as u32 as i32),
                PrimType::I64 | PrimType::F16 | PrimType::F32 | PrimType::F64 | PrimType::Bool => {
                    Scalar::I64(a as u64 as i64)
                }
            }
        }
        ConvOp::FConv => float_of(to, as_f64(x)?),
        ConvOp::BToI => Scalar::int(to, i64::from(x.as_bool()?)),
        ConvOp::IToB => Scalar::Bool(x.bits() != 0),
        ConvOp::BToF => Scalar::int(to, i64::from(x.as_bool()?)),
        ConvOp::FToB => Scalar::Bool(as_f64(x)? != 0.0),
    })
}

fn float_to_signed(a: f64, to: PrimType) -> Scalar {
    let a = if a.is_infinite() { 0.0 } else { a };
    match to {
        PrimType::I8 => Scalar::I8(a as i8),
        PrimType::I16 => Scalar::I16(a as i16),
        PrimType::I32 => Scalar::I32(a as i32),
        PrimType::I64 | PrimType::F16 | PrimType::F32 | PrimType::F64 | PrimType::Bool => {
            Scalar::I64(a as i64)
        }
    }
}

fn as_f64(x: Scalar) -> Option<f64> {
    match x {
        Scalar::F16(a) => Some(a.to_f64()),
        Scalar::F32(a) => Some(f64::from(a)),
        Scalar::F64(a) => Some(a),
        Scalar::I8(_) | Scalar::I16(_) | Scalar::I32(_) | Scalar::I64(_) | Scalar::Bool(_) => None,
    }
}

fn float_of(ty: PrimType, x: f64) -> Scalar {
    match ty {
        PrimType::F16 => Scalar::F16(f16_from_f64(x)),
        PrimType::F32 => Scalar::F32(x as f32),
        PrimType::I8 | PrimType::I16 | PrimType::I32 | PrimType::I64 | PrimType::F64 | PrimType::Bool => {
            Scalar::F64(x)
        }
    }
}

/// Fused multiply-add `a * b + c` with one rounding. `None` unless all three
/// are floats of one type.
pub fn fma(a: Scalar, b: Scalar, c: Scalar) -> Option<Scalar> {
    match (a, b, c) {
        (Scalar::F16(a), Scalar::F16(b), Scalar::F16(c)) => {
            Some(Scalar::F16(f16_from_f64(a.to_f64().mul_add(b.to_f64(), c.to_f64()))))
        }
        (Scalar::F32(a), Scalar::F32(b), Scalar::F32(c)) => Some(Scalar::F32(a.mul_add(b, c))),
        (Scalar::F64(a), Scalar::F64(b), Scalar::F64(c)) => Some(Scalar::F64(a.mul_add(b, c))),
        _ => None,
    }
}

/// A library function of one or two arguments, computed by the crate `libm` (`f16` through `f32`).
/// `None` for wrong arity or types.
pub fn math(fun: MathFun, args: &[Scalar]) -> Option<Scalar> {
    match *args {
        [Scalar::F16(x)] => Some(Scalar::F16(f16::from_f32(math1_f32(fun, x.to_f32())?))),
        [Scalar::F32(x)] => Some(Scalar::F32(math1_f32(fun, x)?)),
        [Scalar::F64(x)] => Some(Scalar::F64(math1_f64(fun, x)?)),
        [Scalar::F16(x), Scalar::F16(y)] => {
            if fun == MathFun::Nextafter {
                return Some(Scalar::F16(nextafter_f16(x, y)));
            }
            Some(Scalar::F16(f16::from_f32(math2_f32(fun, x.to_f32(), y.to_f32())?)))
        }
        [Scalar::F32(x), Scalar::F32(y)] => Some(Scalar::F32(math2_f32(fun, x, y)?)),
        [Scalar::F64(x), Scalar::F64(y)] => Some(Scalar::F64(math2_f64(fun, x, y)?)),
        _ => None,
    }
}

fn nextafter_f16(x: f16, y: f16) -> f16 {
    if x.is_nan() || y.is_nan() {
        return f16::NAN;
    }
    if x == y {
        return y;
    }
    if x == f16::ZERO {
        return f16::from_bits(1 | (y.to_bits() & 0x8000));
    }
    let bits = x.to_bits();
    let away = (x < y) == (bits & 0x8000 == 0);
    f16::from_bits(if away { bits + 1 } else { bits - 1 })
}

macro_rules! math_dispatch {
    ($one:ident, $two:ident, $ty:ty, $($fun:ident = $call:expr;)* ; $($fun2:ident = $call2:expr;)*) => {
        /// A function of one argument; `None` if it has another arity.
        pub fn $one(fun: MathFun, x: $ty) -> Option<$ty> {
            match fun { $(MathFun::$fun => Some($call(x)),)* _ => None }
        }
        /// A function of two arguments; `None` if it has another arity.
        pub fn $two(fun: MathFun, x: $ty, y: $ty) -> Option<$ty> {
            match fun {
                $(MathFun::$fun2 => Some($call2(x, y)),)*
                MathFun::Ldexp => Some(ldexp_by(x, y)),
                _ => None,
            }
        }
    };
}

/// A function on `f32` by way of `f64`.
fn single(function: fn(f64) -> f64) -> impl Fn(f32) -> f32 {
    move |x| function(f64::from(x)) as f32
}

fn atan2pi_f32(y: f32, x: f32) -> f32 {
    half_turns::atan2pi(f64::from(y), f64::from(x)) as f32
}

/// Scaling by a power of two that is given as a float.
trait Scale: Copy {
    fn scale(self, e: i32) -> Self;
    fn exponent(self) -> i32;
}
impl Scale for f32 {
    fn scale(self, e: i32) -> Self {
        libm::scalbnf(self, e)
    }
    fn exponent(self) -> i32 {
        self as i32
    }
}
impl Scale for f64 {
    fn scale(self, e: i32) -> Self {
        libm::scalbn(self, e)
    }
    fn exponent(self) -> i32 {
        self as i32
    }
}
fn ldexp_by<T: Scale>(x: T, e: T) -> T {
    x.scale(e.exponent())
}

math_dispatch! {
    math1_f32, math2_f32, f32,
    Exp = libm::expf; Exp2 = libm::exp2f; Exp10 = libm::exp10f; Expm1 = libm::expm1f;
    Log = libm::logf; Log2 = libm::log2f; Log10 = libm::log10f; Log1p = libm::log1pf;
    Sin = libm::sinf; Cos = libm::cosf; Tan = libm::tanf;
    Asin = libm::asinf; Acos = libm::acosf; Atan = libm::atanf;
    Sinh = libm::sinhf; Cosh = libm::coshf; Tanh = libm::tanhf;
    Asinh = libm::asinhf; Acosh = libm::acoshf; Atanh = libm::atanhf;
    Cbrt = libm::cbrtf; Erf = libm::erff; Erfc = libm::erfcf;
    Gamma = libm::tgammaf; Lgamma = libm::lgammaf;
    Digamma = single(polygamma::digamma); Trigamma = single(polygamma::trigamma);
    Tetragamma = single(polygamma::tetragamma);
    Sinpi = single(half_turns::sinpi); Cospi = single(half_turns::cospi); Tanpi = single(half_turns::tanpi);
    Asinpi = single(half_turns::asinpi); Acospi = single(half_turns::acospi);
    Atanpi = single(half_turns::atanpi);
    ;
    Atan2 = libm::atan2f; Atan2pi = atan2pi_f32; Pow = libm::powf; Hypot = libm::hypotf;
    Nextafter = libm::nextafterf; Copysign = libm::copysignf;
}

math_dispatch! {
    math1_f64, math2_f64, f64,
    Exp = libm::exp; Exp2 = libm::exp2; Exp10 = libm::exp10; Expm1 = libm::expm1;
    Log = libm::log; Log2 = libm::log2; Log10 = libm::log10; Log1p = libm::log1p;
    Sin = libm::sin; Cos = libm::cos; Tan = libm::tan;
    Asin = libm::asin; Acos = libm::acos; Atan = libm::atan;
    Sinh = libm::sinh; Cosh = libm::cosh; Tanh = libm::tanh;
    Asinh = libm::asinh; Acosh = libm::acosh; Atanh = libm::atanh;
    Cbrt = libm::cbrt; Erf = libm::erf; Erfc = libm::erfc;
    Gamma = libm::tgamma; Lgamma = libm::lgamma;
    Digamma = polygamma::digamma; Trigamma = polygamma::trigamma; Tetragamma = polygamma::tetragamma;
    Sinpi = half_turns::sinpi; Cospi = half_turns::cospi; Tanpi = half_turns::tanpi;
    Asinpi = half_turns::asinpi; Acospi = half_turns::acospi; Atanpi = half_turns::atanpi;
    ;
    Atan2 = libm::atan2; Atan2pi = half_turns::atan2pi; Pow = libm::pow; Hypot = libm::hypot;
    Nextafter = libm::nextafter; Copysign = libm::copysign;
}
