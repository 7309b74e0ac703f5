//! Hexadecimal floats, correctly rounded to any IEEE 754 binary format.

/// The bit layout of a binary interchange format.
#[derive(Clone, Copy)]
pub struct Format {
    /// The number of bits of the stored fraction.
    pub fraction: u32,
    /// The number of bits of the exponent.
    pub exponent: u32,
}

/// The bits of the unsigned number `text`: `0x`, at least one digit, optionally a point, and
/// optionally `p` with a decimal exponent. `None` for text of another form.
pub fn parse(text: &[u8], format: Format) -> Option<u64> {
    let digits = text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X"))?;
    let p = digits.iter().position(|c| matches!(c, b'p' | b'P')).unwrap_or(digits.len());
    let (digits, tail) = digits.split_at(p);
    let mut exponent = if tail.is_empty() { 0 } else { decimal_exponent(tail.get(1..)?)? };
    let mut mantissa = 0u64;
    let mut sticky = false;
    let mut seen_digit = false;
    let mut seen_point = false;
    for &c in digits {
        if c == b'.' {
            if seen_point {
                return None;
            }
            seen_point = true;
            continue;
        }
        let digit = char::from(c).to_digit(16)?;
        seen_digit = true;
        if mantissa >> 60 == 0 {
            mantissa = mantissa << 4 | u64::from(digit);
            exponent -= if seen_point { 4 } else { 0 };
        } else {
            sticky |= digit != 0;
            exponent += if seen_point { 0 } else { 4 };
        }
    }
    seen_digit.then(|| round(mantissa, sticky, exponent, format))
}

/// Parses a signed decimal number, clamped far outside every exponent range.
fn decimal_exponent(text: &[u8]) -> Option<i64> {
    const HUGE: i64 = 1 << 40;
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] | digits => (false, digits),
    };
    if digits.is_empty() {
        return None;
    }
    let mut value = 0i64;
    for &c in digits {
        value = (value * 10 + i64::from(char::from(c).to_digit(10)?)).min(HUGE);
    }
    Some(if negative { -value } else { value })
}

/// The bits of `mantissa * 2^exponent`, slightly more if `sticky`, rounded to nearest, ties to
/// even.
fn round(mantissa: u64, sticky: bool, exponent: i64, format: Format) -> u64 {
    if mantissa == 0 {
        return 0;
    }
    let bias = (1i64 << (format.exponent - 1)) - 1;
    let infinity = ((1u64 << format.exponent) - 1) << format.fraction;
    let zeros = mantissa.leading_zeros();
    let mantissa = mantissa << zeros;
    // The value is 1.xxx * 2^top.
    let top = exponent - i64::from(zeros) + 63;
    if top > bias {
        return infinity;
    }
    let lost_by_gradual_underflow = (1 - bias - top).max(0);
    let precision = i64::from(format.fraction) + 1 - lost_by_gradual_underflow;
    if precision < 0 {
        return 0;
    }
    let wide = u128::from(mantissa);
    let shift = 64 - precision as u32;
    let quotient = (wide >> shift) as u64;
    let remainder = wide & ((1 << shift) - 1);
    let half = 1u128 << (shift - 1);
    let up = remainder > half || (remainder == half && (sticky || quotient & 1 == 1));
    // The leading one adds 1 to the exponent field, and so does a carry out of the fraction, up to
    // infinity.
    let field = (top + bias - 1).max(0) as u64;
    (field << format.fraction) + quotient + u64::from(up)
}
