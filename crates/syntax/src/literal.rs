//! The lexer's part for number and string literals.

use prim::ScalarType;

use crate::ast::Lit;
use crate::diag::Diagnostic;
use crate::lexer::Lexer;
use crate::token::Tok;

/// Names of control characters in escape sequences, by code.
const CONTROL_NAMES: [&str; 33] = [
    "NUL", "SOH", "STX", "ETX", "EOT", "ENQ", "ACK", "BEL", "BS", "HT", "LF", "VT", "FF", "CR", "SO", "SI",
    "DLE", "DC1", "DC2", "DC3", "DC4", "NAK", "SYN", "ETB", "CAN", "EM", "SUB", "ESC", "FS", "GS", "RS",
    "US", "SP",
];

const fn is_float(ty: ScalarType) -> bool {
    matches!(ty, ScalarType::F16 | ScalarType::F32 | ScalarType::F64)
}

impl Lexer<'_> {
    fn skip_digits(&mut self, radix: u32) {
        while (self.peek(0) as char).is_digit(radix) || self.peek(0) == b'_' {
            self.pos += 1;
        }
    }

    /// Reads a number. The position is at its first digit.
    pub(crate) fn number(&mut self) {
        let start = self.pos;
        if self.peek(0) == b'0' && matches!(self.peek(1), b'r' | b'R') && roman_digit(self.peek(2)) != 0 {
            self.pos += 2;
            while roman_digit(self.peek(0)) != 0 || self.peek(0) == b'_' {
                self.pos += 1;
            }
            let value = roman(&self.bytes[start + 2..self.pos]);
            return self.integer(start, Some(value), Tok::Int);
        }
        let radix = match (self.peek(0), self.peek(1)) {
            (b'0', b'x' | b'X') if self.peek(2).is_ascii_hexdigit() => 16,
            (b'0', b'b' | b'B') if matches!(self.peek(2), b'0' | b'1') => 2,
            _ => 10,
        };
        let field =
            self.out.tokens.last().is_some_and(|last| last.kind == Tok::Dot && last.end as usize == start);
        if radix == 10 {
            self.skip_digits(10);
        } else {
            self.pos += 2;
            self.skip_digits(radix);
        }
        let mut float = false;
        if radix == 10 && !field {
            if self.peek(0) == b'.' && self.peek(1).is_ascii_digit() {
                self.pos += 1;
                self.skip_digits(10);
                float = true;
            }
            let sign = usize::from(matches!(self.peek(1), b'+' | b'-'));
            if matches!(self.peek(0), b'e' | b'E') && self.peek(1 + sign).is_ascii_digit() {
                self.pos += 1 + sign;
                self.skip_digits(10);
                float = true;
            }
        } else if radix == 16
            && self.peek(0) == b'.'
            && let Some(end) = self.end_of_hex_float()
        {
            self.pos = end;
            float = true;
        }
        let source = self.source;
        let text: String = source[start..self.pos].chars().filter(|&c| c != '_').collect();
        if radix == 10 || float {
            let suffix = self.peek_suffix();
            if float || suffix.parse().is_ok_and(is_float) {
                return self.float(start, &text, radix);
            }
        }
        let digits = if radix == 10 { &text } else { &text[2..] };
        let kind = if radix == 10 { Tok::Nat } else { Tok::Int };
        self.integer(start, u128::from_str_radix(digits, radix).ok(), kind);
    }

    /// Returns the name characters at the position.
    fn peek_suffix(&self) -> &str {
        let rest = &self.source[self.pos..];
        let len = rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'\'')).count();
        &rest[..len]
    }

    /// Reads the suffix and returns its type; the error is the message.
    fn suffix(&mut self) -> Result<Option<ScalarType>, String> {
        let suffix = self.peek_suffix();
        let len = suffix.len();
        if suffix.is_empty() || Tok::keyword(suffix.as_bytes()).is_some() {
            // A keyword may follow without a space: `0..<10do`.
            return Ok(None);
        }
        let ty = match suffix.parse::<ScalarType>() {
            Ok(ty) if ty != ScalarType::Bool => Ok(Some(ty)),
            _ => Err(format!("`{suffix}` is not a number suffix")),
        };
        self.pos += len;
        ty
    }

    /// Reads the suffix of an integer whose digits end at the position and denote `value` (`None`
    /// if they need more than 128 bits). Without a suffix, the token is of the given kind.
    fn integer(&mut self, start: usize, value: Option<u128>, kind: Tok) {
        let ty = match self.suffix() {
            Ok(Some(ty)) if is_float(ty) => Err(format!("an integer of this form cannot be of type `{ty}`")),
            other => other,
        };
        match (ty, value) {
            (Ok(ty), Some(value)) => {
                let kind = if ty.is_none() { kind } else { Tok::Int };
                self.push_lit(kind, start, Lit::Int(value, ty));
            }
            (Ok(_), None) => {
                self.bad_number(start, "this integer needs more than 128 bits".to_owned());
            }
            (Err(message), _) => self.bad_number(start, message),
        }
    }

    /// Reads the suffix of a float. `text` is the number without its underscores.
    fn float(&mut self, start: usize, text: &str, radix: u32) {
        let ty = match self.suffix() {
            Ok(Some(ty)) if !is_float(ty) => {
                Err(format!("a number with a fraction or an exponent cannot be of type `{ty}`"))
            }
            other => other,
        };
        let ty = match ty {
            Ok(ty) => ty,
            Err(message) => return self.bad_number(start, message),
        };
        let value = match (radix, ty) {
            (16, _) => hex_float(text),
            (_, Some(ScalarType::F32)) => text.parse::<f32>().ok().map(f64::from),
            _ => text.parse().ok(),
        };
        match value {
            Some(value) => self.push_lit(Tok::Float, start, Lit::Float(value, ty)),
            None => self.bad_number(start, "not a number".to_owned()),
        }
    }

    fn bad_number(&mut self, start: usize, message: String) {
        let error = Diagnostic::error("invalid-number", message)
            .at(self.span(start), "")
            .note("suffixes are i8, i16, i32, i64, u8, u16, u32, u64, f16, f32 and f64");
        self.error(error);
        self.push_invalid(start);
    }

    /// Returns the end of `.8p3`, whose dot is at the position; `None` if the text has another
    /// form.
    fn end_of_hex_float(&self) -> Option<usize> {
        let rest = &self.bytes[self.pos + 1..];
        let is_fraction = |&b: &u8| b.is_ascii_hexdigit() || b == b'_';
        let fraction = rest.iter().take_while(|b| is_fraction(b)).count();
        let after = &rest[fraction..];
        let [b'p' | b'P', exponent @ ..] = after else {
            return None;
        };
        let sign = usize::from(matches!(exponent.first(), Some(b'+' | b'-')));
        let digits = exponent[sign..].iter().take_while(|b| b.is_ascii_digit() || **b == b'_').count();
        let starts_well = rest.first().is_some_and(u8::is_ascii_hexdigit)
            && exponent.get(sign).is_some_and(u8::is_ascii_digit);
        starts_well.then_some(self.pos + 1 + fraction + 1 + sign + digits)
    }

    /// Reads a string. The position is at its opening quote.
    pub(crate) fn string(&mut self) {
        let start = self.pos;
        self.pos += 1;
        // Find the closing quote before decoding escapes.
        let mut end = self.pos;
        loop {
            match self.bytes.get(end) {
                None | Some(b'\n') => {
                    self.pos = end;
                    let error = Diagnostic::error("unterminated-string", "unterminated string")
                        .at(self.span(start), "no closing `\"` on this line");
                    self.error(error);
                    self.push_invalid(start);
                    return;
                }
                Some(b'"') => break,
                Some(b'\\') if self.bytes.get(end + 1).is_some_and(|&b| b != b'\n') => end += 2,
                Some(_) => end += 1,
            }
        }
        let mut text = String::new();
        while self.pos < end {
            let run = memchr::memchr(b'\\', &self.bytes[self.pos..end]).unwrap_or(end - self.pos);
            text.push_str(&self.source[self.pos..self.pos + run]);
            self.pos += run;
            if self.pos == end {
                break;
            }
            let escape_start = self.pos;
            if self.peek(1) == b'&' {
                // Denotes no character; separates a numeric escape from digits.
                self.pos += 2;
            } else if let Some(c) = self.escape(end) {
                text.push(c);
            } else {
                self.pos = (escape_start + 2).min(end);
                while !self.source.is_char_boundary(self.pos) {
                    self.pos += 1;
                }
                let error = Diagnostic::error("invalid-escape", "not an escape sequence")
                    .at(self.span(escape_start), "")
                    .hint("write `\\\\` for a backslash");
                self.error(error);
            }
        }
        self.pos = end + 1;
        self.push_lit(Tok::Str, start, Lit::String(text.into_boxed_str()));
    }

    /// Reads an escape sequence that ends at or before `end`: `\n`, `\"`, `\65`, `\x41`, `\o101`,
    /// `\^A`, `\NUL`. `None` if there is none; the position is then unspecified.
    pub(crate) fn escape(&mut self, end: usize) -> Option<char> {
        let body = self.source.get(self.pos + 1..end)?;
        let first = body.chars().next()?;
        let (len, value) = match first {
            'n' => (1, '\n'),
            't' => (1, '\t'),
            'r' => (1, '\r'),
            'a' => (1, '\x07'),
            'b' => (1, '\x08'),
            'f' => (1, '\x0c'),
            'v' => (1, '\x0b'),
            '\\' | '"' | '\'' => (1, first),
            '0'..='9' => code(body, 10)?,
            'x' | 'X' => code(&body[1..], 16).map(|(len, c)| (len + 1, c))?,
            'o' | 'O' => code(&body[1..], 8).map(|(len, c)| (len + 1, c))?,
            '^' => match body.as_bytes().get(1) {
                Some(&b @ b'@'..=b'_') => (2, (b - b'@') as char),
                _ => return None,
            },
            _ if body.starts_with("DEL") => (3, '\x7f'),
            // Of two matching names, the longer one.
            _ => CONTROL_NAMES
                .iter()
                .enumerate()
                .filter(|(_, name)| body.starts_with(**name))
                .max_by_key(|(_, name)| name.len())
                .map(|(code, name)| (name.len(), code as u8 as char))?,
        };
        self.pos += 1 + len;
        Some(value)
    }
}

/// The value of a Roman digit; zero for anything else.
const fn roman_digit(byte: u8) -> u128 {
    match byte {
        b'I' => 1,
        b'V' => 5,
        b'X' => 10,
        b'L' => 50,
        b'C' => 100,
        b'D' => 500,
        b'M' => 1000,
        _ => 0,
    }
}

/// The value of Roman digits; a digit before a larger one is subtracted.
fn roman(digits: &[u8]) -> u128 {
    let mut value: u128 = 0;
    let mut last = 0;
    for digit in digits.iter().map(|&b| roman_digit(b)).filter(|&d| d != 0) {
        value += digit;
        if last < digit {
            value = value.saturating_sub(2 * last);
        }
        last = digit;
    }
    value
}

/// The character whose code is given by the leading digits, and their number.
fn code(text: &str, radix: u32) -> Option<(usize, char)> {
    let len = text.bytes().take_while(|b| (*b as char).is_digit(radix)).count();
    let value = u32::from_str_radix(text.get(..len)?, radix).ok()?;
    Some((len, char::from_u32(value)?))
}

/// The value of `0x1.8p3`, without underscores.
fn hex_float(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.get(2..)?.split_once(['p', 'P'])?;
    let (whole, fraction) = mantissa.split_once('.')?;
    // Digits after the 31st only affect rounding: a sticky bit stands for all of them.
    let mut bits: u128 = 0;
    let mut dropped = 0_i64;
    for c in whole.chars().chain(fraction.chars()) {
        let digit = u128::from(c.to_digit(16)?);
        if bits >> 120 == 0 {
            bits = bits << 4 | digit;
        } else {
            bits |= u128::from(digit != 0);
            dropped += 4;
        }
    }
    let exponent = exponent.parse::<i64>().unwrap_or(if exponent.starts_with('-') {
        -1_000_000_000
    } else {
        1_000_000_000
    });
    let mut scale =
        exponent.saturating_add(dropped).saturating_sub(4 * fraction.len() as i64).clamp(-4000, 4000) as i32;
    let mut value = bits as f64;
    while scale != 0 && value != 0.0 && value.is_finite() {
        let step = scale.clamp(-1000, 1000);
        value *= 2.0_f64.powi(step);
        scale -= step;
    }
    Some(value)
}
