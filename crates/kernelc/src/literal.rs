//! Literals of constants and strings.

use crate::dialect::Dialect;
use prim::Scalar;
use std::fmt::Write as _;

/// A constant as an expression of its type, or of `int` where that is equivalent.
pub fn scalar(x: Scalar, dialect: &Dialect) -> String {
    match x {
        Scalar::I8(n) => n.to_string(),
        Scalar::I16(n) => n.to_string(),
        Scalar::I32(n) => signed(i64::from(n), dialect),
        Scalar::I64(n) => signed(n, dialect),
        Scalar::F16(h) => format!("0x{:04x}", h.to_bits()),
        Scalar::F32(f) if f.is_finite() => format!("{f:?}f"),
        Scalar::F32(f) => format!("br_f32_from(0x{:08x}u)", f.to_bits()),
        Scalar::F64(f) if f.is_finite() => format!("{f:?}"),
        Scalar::F64(f) => format!("br_f64_from(0x{:016x}U{})", f.to_bits(), dialect.suffix_64),
        Scalar::Bool(b) => b.to_string(),
    }
}

/// Numbers that fit in `int` have no suffix.
fn signed(n: i64, dialect: &Dialect) -> String {
    let wide = dialect.suffix_64;
    if n == i64::MIN {
        format!("(-{}{wide} - 1)", i64::MAX)
    } else if i32::try_from(n).is_ok_and(|n| n != i32::MIN) {
        n.to_string()
    } else {
        format!("{n}{wide}")
    }
}

/// A literal that is 64 bits wide in any expression.
pub fn wide(n: i64, dialect: &Dialect) -> String {
    let text = signed(n, dialect);
    if text.ends_with(dialect.suffix_64) || text.starts_with('(') { text } else { text + dialect.suffix_64 }
}

/// An integer's bits, sign-extended to the type in which it is computed.
pub fn bits(n: i64, is_wide: bool, dialect: &Dialect) -> String {
    if is_wide { format!("{}U{}", n as u64, dialect.suffix_64) } else { format!("{}u", n as i32 as u32) }
}

/// A string literal. Its contents cannot be mistaken for trigraphs or longer escape sequences.
pub fn text(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for byte in text.bytes() {
        match byte {
            b'"' => quoted.push_str("\\\""),
            b'\\' => quoted.push_str("\\\\"),
            b'\n' => quoted.push_str("\\n"),
            b'?' => quoted.push_str("\\?"),
            0x20..=0x7e => quoted.push(char::from(byte)),
            _ => {
                // Writing to a string cannot fail.
                let _ = write!(quoted, "\\{byte:03o}");
            }
        }
    }
    quoted.push('"');
    quoted
}
