//! Tokens of the text form.

use super::ParseError;

/// A token.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Token<'a> {
    /// An identifier or keyword: letters, digits, `_`, `'` and inner dots.
    Ident(&'a str),
    /// A number with its suffix, without sign.
    Number(&'a str),
    /// A string, unescaped.
    Text(String),
    /// Punctuation.
    Punct(&'static str),
    /// The end of the text.
    End,
}

/// Punctuation, longest first, as tokens may be prefixes of others.
const PUNCTUATION: &[&str] = &[
    "->", "<-", ":+", "..", "(", ")", "[", "]", "{", "}", ",", ":", ";", "=", "*", "+", "-", "<", ">", "@",
    "^", "?", "\\", "#",
];

/// Returns true if the text is a single identifier token.
pub fn is_identifier(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(|b| starts_identifier(*b)) && identifier_len(bytes) == bytes.len()
}

/// Returns true if the text can be a name's hint without quotes.
pub fn is_plain_hint(text: &str) -> bool {
    is_identifier(text) && !text.contains('.')
}

fn starts_identifier(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}

fn continues_identifier(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'\''
}

fn identifier_len(bytes: &[u8]) -> usize {
    let mut len = 0;
    while let Some(&byte) = bytes.get(len) {
        let inner_dot = byte == b'.' && bytes.get(len + 1).is_some_and(|b| continues_identifier(*b));
        if !continues_identifier(byte) && !inner_dot {
            break;
        }
        len += 1;
    }
    len
}

fn number_len(bytes: &[u8]) -> usize {
    let digit = |i: usize| bytes.get(i).is_some_and(u8::is_ascii_digit);
    let mut len = 0;
    while digit(len) {
        len += 1;
    }
    if bytes.get(len) == Some(&b'.') && digit(len + 1) {
        len += 1;
        while digit(len) {
            len += 1;
        }
    }
    if bytes.get(len) == Some(&b'e') {
        let sign = usize::from(matches!(bytes.get(len + 1), Some(b'+' | b'-')));
        if digit(len + 1 + sign) {
            len += 1 + sign;
            while digit(len) {
                len += 1;
            }
        }
    }
    while bytes.get(len).is_some_and(u8::is_ascii_alphanumeric) {
        len += 1;
    }
    len
}

/// All tokens with their byte offsets; the last one is `End`.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token<'_>, usize)>, ParseError> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let rest = &bytes[at..];
        if byte.is_ascii_whitespace() {
            at += 1;
        } else if rest.starts_with(b"//") {
            at += rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
        } else if starts_identifier(byte) {
            let len = identifier_len(rest);
            tokens.push((Token::Ident(&text[at..at + len]), at));
            at += len;
        } else if byte.is_ascii_digit() {
            let len = number_len(rest);
            tokens.push((Token::Number(&text[at..at + len]), at));
            at += len;
        } else if byte == b'"' {
            let (value, len) = string(text, at)?;
            tokens.push((Token::Text(value), at));
            at += len;
        } else if let Some(punct) = PUNCTUATION.iter().find(|p| rest.starts_with(p.as_bytes())) {
            tokens.push((Token::Punct(punct), at));
            at += punct.len();
        } else {
            return Err(error_at(text, at, "unexpected character"));
        }
    }
    tokens.push((Token::End, at));
    Ok(tokens)
}

/// The string literal that begins at `start`, and its length in the text.
fn string(text: &str, start: usize) -> Result<(String, usize), ParseError> {
    let mut value = String::new();
    let mut chars = text[start + 1..].char_indices();
    while let Some((i, c)) = chars.next() {
        match c {
            '"' => return Ok((value, i + 2)),
            '\\' => match chars.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, 't')) => value.push('\t'),
                Some((_, 'r')) => value.push('\r'),
                Some((_, c @ ('"' | '\\'))) => value.push(c),
                Some((_, 'u')) => {
                    let code: String = chars
                        .by_ref()
                        .map(|(_, c)| c)
                        .skip_while(|c| *c == '{')
                        .take_while(|c| *c != '}')
                        .collect();
                    let decoded = u32::from_str_radix(&code, 16).ok().and_then(char::from_u32);
                    let Some(c) = decoded else {
                        return Err(error_at(text, start + 1 + i, "invalid escape in a string"));
                    };
                    value.push(c);
                }
                _ => return Err(error_at(text, start + 1 + i, "invalid escape in a string")),
            },
            c => value.push(c),
        }
    }
    Err(error_at(text, start, "unterminated string"))
}

/// An error at a byte offset.
fn error_at(text: &str, offset: usize, message: impl Into<String>) -> ParseError {
    let before = &text.as_bytes()[..offset.min(text.len())];
    let line = before.split(|b| *b == b'\n').count();
    let line_start = before.iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1);
    let col = before.len() - line_start + 1;
    ParseError { line: line as u32, col: col as u32, message: message.into() }
}

/// The text in quotes, escaped.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
