//! Writes values in the text format, as programs of the reference compiler do.
//!
//! Every number has its suffix. Floats have 9 significant digits for `f16` and `f32`, 17 for `f64`,
//! without trailing zeros and in C's `%g` layout, which is enough to read back the same bits.
//! Elements are separated by a comma and a space, also between rows.

use crate::Value;
use half::f16;
use prim::ScalarType;
use std::io::{self, Write};

/// The size, in bytes, at which the text is flushed to the writer.
const FLUSH_SIZE: usize = 64 * 1024;

/// Writes `value` in the text format, without a newline.
pub fn write_text(out: &mut dyn Write, value: &Value) -> io::Result<()> {
    write_text_array(out, value.scalar_type(), value.shape(), value.bytes())
}

/// Writes the array of type `ty` and `shape` whose elements are `bytes`, in row-major order. Bytes
/// beyond the shape are not written.
pub fn write_text_array(out: &mut dyn Write, ty: ScalarType, shape: &[i64], bytes: &[u8]) -> io::Result<()> {
    let mut text = Vec::with_capacity(64);
    let size = ty.size() as usize;
    let Some(&row) = shape.last() else {
        push_element(&mut text, ty, bytes);
        return out.write_all(&text);
    };
    if shape.contains(&0) {
        text.extend(b"empty(");
        for dim in shape {
            write!(text, "[{dim}]")?;
        }
        write!(text, "{ty})")?;
        return out.write_all(&text);
    }
    text.resize(shape.len(), b'[');
    let mut elements = bytes.chunks_exact(size);
    // For each level, the number of items left to write in the array open at that level.
    let mut left: Vec<i64> = shape.to_vec();
    loop {
        for i in 0..row {
            if i > 0 {
                text.extend(b", ");
            }
            push_element(&mut text, ty, elements.next().unwrap_or_default());
            if text.len() >= FLUSH_SIZE {
                out.write_all(&text)?;
                text.clear();
            }
        }
        // Close all arrays that end here, then open the same number of arrays.
        let mut level = shape.len() - 1;
        text.push(b']');
        loop {
            if level == 0 {
                return out.write_all(&text);
            }
            level -= 1;
            let Some(n) = left.get_mut(level) else {
                return out.write_all(&text);
            };
            *n -= 1;
            if *n > 0 {
                break;
            }
            text.push(b']');
        }
        for (n, dim) in left.iter_mut().zip(shape).skip(level + 1) {
            *n = *dim;
        }
        text.extend(b", ");
        text.resize(text.len() + shape.len() - 1 - level, b'[');
    }
}

/// Appends the text of the element of type `ty` at the start of `bytes`. If there are too few
/// bytes, the element is 0.
pub fn push_element(text: &mut Vec<u8>, ty: ScalarType, bytes: &[u8]) {
    macro_rules! int {
        ($rust:ty) => {
            push_int(text, i128::from(<$rust>::from_ne_bytes(first(bytes))))
        };
    }
    match ty {
        ScalarType::I8 => int!(i8),
        ScalarType::I16 => int!(i16),
        ScalarType::I32 => int!(i32),
        ScalarType::I64 => int!(i64),
        ScalarType::U8 => int!(u8),
        ScalarType::U16 => int!(u16),
        ScalarType::U32 => int!(u32),
        ScalarType::U64 => int!(u64),
        ScalarType::F16 => {
            return push_float(text, f16::from_ne_bytes(first(bytes)).to_f64(), 9, ty);
        }
        ScalarType::F32 => {
            return push_float(text, f64::from(f32::from_ne_bytes(first(bytes))), 9, ty);
        }
        ScalarType::F64 => return push_float(text, f64::from_ne_bytes(first(bytes)), 17, ty),
        ScalarType::Bool => {
            let [b] = first(bytes);
            text.extend_from_slice(if b == 0 { b"false" } else { b"true" });
            return;
        }
    }
    text.extend_from_slice(ty.name().as_bytes());
}

fn first<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.first_chunk().copied().unwrap_or([0; N])
}

fn push_int(text: &mut Vec<u8>, x: i128) {
    if x < 0 {
        text.push(b'-');
    }
    push_digits(text, x.unsigned_abs() as u64);
}

fn push_digits(text: &mut Vec<u8>, mut x: u64) {
    let mut digits = [b'0'; 20];
    let mut used = 0;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (x % 10) as u8;
        x /= 10;
        used += 1;
        if x == 0 {
            break;
        }
    }
    text.extend_from_slice(digits.get(20 - used..).unwrap_or_default());
}

/// Appends `x` with `precision` significant digits and the suffix of `ty`.
fn push_float(text: &mut Vec<u8>, x: f64, precision: usize, ty: ScalarType) {
    let name = ty.name().as_bytes();
    if x.is_nan() {
        text.extend_from_slice(name);
        text.extend_from_slice(b".nan");
        return;
    }
    if x.is_sign_negative() {
        text.push(b'-');
    }
    let x = x.abs();
    if x.is_infinite() {
        text.extend_from_slice(name);
        text.extend_from_slice(b".inf");
        return;
    }
    // Whole numbers of at most 9 digits are exact in both precisions.
    if x < 1e9 && x == x.trunc() {
        push_digits(text, x as u64);
    } else {
        push_general(text, x, precision);
    }
    text.extend_from_slice(name);
}

/// C's `%.{precision}g` for a positive finite number.
fn push_general(text: &mut Vec<u8>, x: f64, precision: usize) {
    let start = text.len();
    // Cannot fail: the sink is memory. The form is `d.ddde-dd`.
    let _ = write!(text, "{:.*e}", precision - 1, x);
    let written = text.get(start..).unwrap_or_default();
    let mut digits = [0u8; 17];
    let mut count = 0;
    let mut exponent = 0i32;
    for (i, &c) in written.iter().enumerate() {
        if c.is_ascii_digit() {
            if let Some(d) = digits.get_mut(count) {
                *d = c;
            }
            count += 1;
        } else if c == b'e' {
            let tail = written.get(i + 1..).unwrap_or_default();
            exponent = std::str::from_utf8(tail).ok().and_then(|t| t.parse().ok()).unwrap_or(0);
            break;
        }
    }
    text.truncate(start);
    let digits = digits.get(..count).unwrap_or_default();
    let len = digits.iter().rposition(|&d| d != b'0').map_or(1, |i| i + 1);
    let digits = digits.get(..len).unwrap_or_default();
    if exponent < -4 || exponent >= precision as i32 {
        push_with_point(text, digits, 1);
        text.extend_from_slice(if exponent < 0 { b"e-" } else { b"e+" });
        if exponent.unsigned_abs() < 10 {
            text.push(b'0');
        }
        push_digits(text, u64::from(exponent.unsigned_abs()));
    } else if exponent < 0 {
        text.extend_from_slice(b"0.");
        text.resize(text.len() + (-exponent - 1) as usize, b'0');
        text.extend_from_slice(digits);
    } else {
        push_with_point(text, digits, exponent as usize + 1);
    }
}

/// Appends the digits with `before` of them, padded with zeros, before the point.
fn push_with_point(text: &mut Vec<u8>, digits: &[u8], before: usize) {
    if digits.len() <= before {
        text.extend_from_slice(digits);
        text.resize(text.len() + before - digits.len(), b'0');
        return;
    }
    let (whole, fraction) = digits.split_at(before);
    text.extend_from_slice(whole);
    text.push(b'.');
    text.extend_from_slice(fraction);
}
