//! Number literals of the text format.
//!
//! Each element type has a fast path, for plain decimal literals that are in the window as a whole.
//! All share a general path, which accepts every form and reports malformed literals.

use crate::hexfloat::{self, Format};
use crate::input::is_token_char;
use half::f16;
use prim::{ScalarType, f16_from_f64};

/// The reason why a token is not a literal of the type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LiteralError {
    /// Not a literal of any number type, or of a kind that the type lacks.
    Form,
    /// A literal with the suffix of another type.
    Suffix(ScalarType),
    /// A number that the type cannot hold.
    Range,
}

/// An element type of the array reader.
pub trait Literal: Copy {
    /// The element type.
    const TYPE: ScalarType;
    /// The fast path: reads a plain literal at the start of `text` and returns its length. `None`
    /// for a literal of another form, and for one that may continue after the end of `text`.
    fn parse_fast(text: &[u8]) -> Option<(Self, usize)>;
    /// The value whose low bits are `bits`.
    fn from_bits(bits: u64) -> Self;
    /// Appends the value to `buffer`.
    fn push(self, buffer: &mut crate::Buffer) -> Result<(), crate::OutOfMemory>;
}

/// The value and length of the decimal number at the start of `text`, if it has at most 18 digits.
/// `None` for longer numbers.
#[inline]
fn fast_digits(text: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0u64;
    let mut n = 0;
    while let Some(digit) = text.get(n).map(|c| c.wrapping_sub(b'0')).filter(|&d| d < 10) {
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        n += 1;
    }
    (n > 0 && n <= 18).then_some((value, n))
}

/// The length of the token at the start of `text`, whose first `n` bytes are a number: the suffix
/// `name` may follow, then the token must end within `text`.
#[inline]
fn fast_end(text: &[u8], mut n: usize, name: &str) -> Option<usize> {
    let mut next = *text.get(n)?;
    if next == name.as_bytes().first().copied()? && text.get(n..)?.starts_with(name.as_bytes()) {
        n += name.len();
        next = *text.get(n)?;
    }
    (!is_token_char(next)).then_some(n)
}

macro_rules! literal_int {
    ($($rust:ty, $ty:ident;)*) => {
        $(impl Literal for $rust {
            const TYPE: ScalarType = ScalarType::$ty;

            #[inline]
            fn parse_fast(text: &[u8]) -> Option<(Self, usize)> {
                let negative = text.first() == Some(&b'-');
                let sign = usize::from(negative);
                let (value, n) = fast_digits(text.get(sign..)?)?;
                let n = fast_end(text, sign + n, Self::TYPE.name())?;
                let value = if negative { -(value as i64) } else { value as i64 };
                Some((Self::try_from(value).ok()?, n))
            }

            #[inline]
            fn from_bits(bits: u64) -> Self {
                bits as Self
            }

            #[inline]
            fn push(self, buffer: &mut crate::Buffer) -> Result<(), crate::OutOfMemory> {
                buffer.push(self.to_ne_bytes())
            }
        })*
    };
}

literal_int! {
    i8, I8; i16, I16; i32, I32; i64, I64;
    u8, U8; u16, U16; u32, U32; u64, U64;
}

macro_rules! literal_float {
    ($($rust:ty, $ty:ident, $parsed:ty, $bits:ty, $from:expr;)*) => {
        $(impl Literal for $rust {
            const TYPE: ScalarType = ScalarType::$ty;

            #[inline]
            fn parse_fast(text: &[u8]) -> Option<(Self, usize)> {
                let (value, n) = fast_float2::parse_partial::<$parsed, _>(text).ok()?;
                let n = fast_end(text, n, Self::TYPE.name())?;
                Some(($from(value), n))
            }

            #[inline]
            fn from_bits(bits: u64) -> Self {
                <$rust>::from_bits(bits as $bits)
            }

            #[inline]
            fn push(self, buffer: &mut crate::Buffer) -> Result<(), crate::OutOfMemory> {
                buffer.push(self.to_ne_bytes())
            }
        })*
    };
}

literal_float! {
    f16, F16, f64, u16, f16_from_f64;
    f32, F32, f32, u32, std::convert::identity;
    f64, F64, f64, u64, std::convert::identity;
}

impl Literal for bool {
    const TYPE: ScalarType = ScalarType::Bool;

    #[inline]
    fn parse_fast(text: &[u8]) -> Option<(Self, usize)> {
        let (value, n) = match text {
            [b't', b'r', b'u', b'e', ..] => (true, 4),
            [b'f', b'a', b'l', b's', b'e', ..] => (false, 5),
            _ => return None,
        };
        (!is_token_char(*text.get(n)?)).then_some((value, n))
    }

    #[inline]
    fn from_bits(bits: u64) -> Self {
        bits & 1 != 0
    }

    #[inline]
    fn push(self, buffer: &mut crate::Buffer) -> Result<(), crate::OutOfMemory> {
        buffer.push([u8::from(self)])
    }
}

/// Splits a literal into its number and the type of its suffix. Hexadecimal digits include `f`, so
/// `0x1f32` has no suffix, but `0x1p3f32` has one.
fn split_suffix(token: &[u8]) -> (&[u8], Option<ScalarType>) {
    let unsigned = token.strip_prefix(b"-").unwrap_or(token);
    let hex = unsigned.starts_with(b"0x") || unsigned.starts_with(b"0X");
    let float_allowed = !hex || unsigned.iter().any(|c| matches!(c, b'p' | b'P'));
    for &ty in ScalarType::ALL {
        if (ty.is_int() || (ty.is_float() && float_allowed))
            && let Some(number) = token.strip_suffix(ty.name().as_bytes())
            && !number.is_empty()
        {
            return (number, Some(ty));
        }
    }
    (token, None)
}

/// The type of a literal without an expected type: that of its suffix, else `i32` for an integer
/// and `f64` for a float. `None` if the token is not a literal.
pub fn default_type(token: &[u8]) -> Option<ScalarType> {
    if matches!(token, b"true" | b"false") {
        return Some(ScalarType::Bool);
    }
    let candidates = [ScalarType::F16, ScalarType::F32, ScalarType::F64];
    let unsigned = token.strip_prefix(b"-").unwrap_or(token);
    for ty in candidates {
        if unsigned.strip_prefix(ty.name().as_bytes()).is_some_and(|t| t.starts_with(b".")) {
            return Some(ty);
        }
    }
    if let Some(ty) = split_suffix(token).1 {
        return Some(ty);
    }
    match parse(token, ScalarType::I64) {
        Ok(_) | Err(LiteralError::Range) => Some(ScalarType::I32),
        Err(LiteralError::Suffix(ty)) => Some(ty),
        Err(LiteralError::Form) => parse(token, ScalarType::F64).ok().map(|_| ScalarType::F64),
    }
}

/// The general path: the bits of `token` as a literal of type `ty`.
pub fn parse(token: &[u8], ty: ScalarType) -> Result<u64, LiteralError> {
    if ty == ScalarType::Bool {
        return match token {
            b"true" => Ok(1),
            b"false" => Ok(0),
            _ => Err(own_suffix(token)),
        };
    }
    let plain: Vec<u8>;
    let token = if token.contains(&b'_') {
        plain = token.iter().copied().filter(|&c| c != b'_').collect();
        &plain
    } else {
        token
    };
    if ty.is_float() { float(token, ty) } else { int(token, ty) }
}

fn own_suffix(token: &[u8]) -> LiteralError {
    split_suffix(token).1.map_or(LiteralError::Form, LiteralError::Suffix)
}

fn int(token: &[u8], ty: ScalarType) -> Result<u64, LiteralError> {
    let (number, suffix) = split_suffix(token);
    let (negative, digits) = match number {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] | digits => (false, digits),
    };
    let (radix, digits) = match digits {
        [b'0', b'x' | b'X', digits @ ..] => (16, digits),
        [b'0', b'b' | b'B', digits @ ..] => (2, digits),
        _ => (10, digits),
    };
    if digits.is_empty() {
        return Err(LiteralError::Form);
    }
    let (mut magnitude, mut fits) = (0u64, true);
    for &c in digits {
        let digit = char::from(c).to_digit(radix).ok_or(LiteralError::Form)?;
        let (shifted, much) = magnitude.overflowing_mul(u64::from(radix));
        let (sum, more) = shifted.overflowing_add(u64::from(digit));
        magnitude = sum;
        fits &= !much && !more;
    }
    if let Some(other) = suffix.filter(|&s| s != ty) {
        return Err(LiteralError::Suffix(other));
    }
    let bits = ty.prim().bits();
    let mask = u64::MAX >> (64 - bits);
    let sign_bit = 1u64 << (bits - 1);
    // A literal in base 16 or 2 spells out bits and may use the full width of a signed type; a
    // negative one may denote an unsigned number.
    let limit = match (negative, ty.is_signed(), radix) {
        (true, _, _) => sign_bit,
        (false, true, 10) => mask >> 1,
        (false, _, _) => mask,
    };
    // A literal with a suffix wraps, as in the reference.
    if suffix.is_none() && !(fits && magnitude <= limit) {
        return Err(LiteralError::Range);
    }
    Ok(if negative { magnitude.wrapping_neg() } else { magnitude } & mask)
}

const fn format(ty: ScalarType) -> Format {
    match ty {
        ScalarType::F16 => Format { fraction: 10, exponent: 5 },
        ScalarType::F32 => Format { fraction: 23, exponent: 8 },
        _ => Format { fraction: 52, exponent: 11 },
    }
}

fn float(token: &[u8], ty: ScalarType) -> Result<u64, LiteralError> {
    let (sign, number) = match token {
        [b'-', number @ ..] => (1u64 << (ty.prim().bits() - 1), number),
        [b'+', number @ ..] | number => (0, number),
    };
    let Format { fraction, exponent } = format(ty);
    let infinity = ((1u64 << exponent) - 1) << fraction;
    let quiet_nan = infinity | 1 << (fraction - 1);
    for other in [ScalarType::F16, ScalarType::F32, ScalarType::F64] {
        let special = match number.strip_prefix(other.name().as_bytes()) {
            Some(b".nan") => quiet_nan,
            Some(b".inf") => infinity,
            _ => continue,
        };
        return if other == ty { Ok(special | sign) } else { Err(LiteralError::Suffix(other)) };
    }
    let (number, suffix) = split_suffix(number);
    let bits = if number.starts_with(b"0x") || number.starts_with(b"0X") {
        hexfloat::parse(number, format(ty))
    } else if number.first().is_some_and(|c| matches!(c, b'+' | b'-')) {
        None
    } else {
        match ty {
            ScalarType::F16 => {
                fast_float2::parse::<f64, _>(number).ok().map(|x| f16_from_f64(x).to_bits().into())
            }
            ScalarType::F32 => fast_float2::parse::<f32, _>(number).ok().map(|x| x.to_bits().into()),
            _ => fast_float2::parse::<f64, _>(number).ok().map(f64::to_bits),
        }
    };
    let bits = bits.ok_or(LiteralError::Form)?;
    match suffix {
        Some(other) if other != ty => Err(LiteralError::Suffix(other)),
        _ => Ok(bits | sign),
    }
}
