//! Escape sequences in strings: those of Haskell, without string gaps.

/// The maximum length of a sequence, with its backslash. Longer ones are cut there, as in the
/// reference compiler.
pub(crate) const MAX_ESCAPE_LEN: usize = 10;

/// The names of the control characters, by code; 32 is the space.
const NAMES: [&str; 33] = [
    "NUL", "SOH", "STX", "ETX", "EOT", "ENQ", "ACK", "BEL", "BS", "HT", "LF", "VT", "FF", "CR", "SO", "SI",
    "DLE", "DC1", "DC2", "DC3", "DC4", "NAK", "SYN", "ETB", "CAN", "EM", "SUB", "ESC", "FS", "GS", "RS",
    "US", "SP",
];

/// The character denoted by the escape sequence at the start of `text`, and the length of the
/// sequence. `text` begins with a backslash. `\&` denotes no character.
pub(crate) fn escape(text: &[u8]) -> Option<(Option<char>, usize)> {
    let text = text.get(..MAX_ESCAPE_LEN).unwrap_or(text);
    let (&first, rest) = text.strip_prefix(b"\\")?.split_first()?;
    let one = |c: char| Some((Some(c), 2));
    match first {
        b'a' => one('\x07'),
        b'b' => one('\x08'),
        b'f' => one('\x0c'),
        b'n' => one('\n'),
        b'r' => one('\r'),
        b't' => one('\t'),
        b'v' => one('\x0b'),
        b'\\' | b'"' | b'\'' => one(char::from(first)),
        b'&' => Some((None, 2)),
        b'^' => match rest.first() {
            Some(&c @ b'@'..=b'_') => Some((Some(char::from(c - b'@')), 3)),
            _ => None,
        },
        b'0'..=b'9' => number(text, 1, 10),
        b'x' | b'X' => number(text, 2, 16),
        b'o' | b'O' => number(text, 2, 8),
        _ => name(text),
    }
}

/// The character whose code, in this base, follows the first `start` bytes.
fn number(text: &[u8], start: usize, base: u32) -> Option<(Option<char>, usize)> {
    let digits = text.get(start..)?.iter();
    let mut digits = digits.map_while(|&c| char::from(c).to_digit(base));
    let first = digits.next()?;
    let (code, n) = digits.fold((first, 1), |(code, n), digit| (code * base + digit, n + 1));
    // Surrogates are not characters.
    let is_half = (0xd800..0xe000).contains(&code);
    let c = if is_half { char::REPLACEMENT_CHARACTER } else { char::from_u32(code)? };
    Some((Some(c), start + n))
}

/// The control character whose name follows the backslash; for `SO` and `SOH` the longer match.
fn name(text: &[u8]) -> Option<(Option<char>, usize)> {
    let after = text.get(1..)?;
    if after.starts_with(b"DEL") {
        return Some((Some('\x7f'), 4));
    }
    let found = NAMES.iter().enumerate();
    let found = found.filter(|(_, name)| after.starts_with(name.as_bytes()));
    let (code, name) = found.max_by_key(|(_, name)| name.len())?;
    Some((char::from_u32(code as u32), 1 + name.len()))
}

/// Reads a string whose opening quote precedes `text`. Returns it with its length in `text`,
/// including the closing quote.
///
/// # Errors
/// The reason, as text.
pub fn read_string(text: &str) -> Result<(String, usize), &'static str> {
    let mut string = String::new();
    let mut at = 0;
    while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
        match c {
            '"' => return Ok((string, at + 1)),
            '\\' => {
                let rest = text.as_bytes().get(at..).unwrap_or_default();
                let (c, length) = escape(rest).ok_or(NO_ESCAPE)?;
                string.extend(c);
                at += length;
            }
            c => {
                string.push(c);
                at += c.len_utf8();
            }
        }
    }
    Err(NO_QUOTE)
}

pub(crate) const NO_ESCAPE: &str = "a backslash without an escape sequence in a string";
pub(crate) const NO_QUOTE: &str = "a string without its closing quote";

#[cfg(test)]
mod tests {
    use super::{escape, read_string};

    #[test]
    fn sequences_denote_characters() {
        let cases: &[(&str, char)] = &[
            (r"\a", '\x07'),
            (r"\b", '\x08'),
            (r"\f", '\x0c'),
            (r"\n", '\n'),
            (r"\r", '\r'),
            (r"\t", '\t'),
            (r"\v", '\x0b'),
            (r"\\", '\\'),
            (r#"\""#, '"'),
            (r"\'", '\''),
            (r"\65", 'A'),
            (r"\0", '\0'),
            (r"\x41", 'A'),
            (r"\X4a", 'J'),
            (r"\o101", 'A'),
            (r"\O60", '0'),
            (r"\1114111", '\u{10ffff}'),
            (r"\xD800", '\u{fffd}'),
            (r"\^A", '\x01'),
            (r"\^@", '\0'),
            (r"\^[", '\x1b'),
            (r"\^_", '\x1f'),
            (r"\NUL", '\0'),
            (r"\SOH", '\x01'),
            (r"\SO", '\x0e'),
            (r"\SP", ' '),
            (r"\US", '\x1f'),
            (r"\DEL", '\x7f'),
            (r"\DC4", '\x14'),
        ];
        for (text, c) in cases {
            let expected = Some((Some(*c), text.len()));
            assert_eq!(escape(text.as_bytes()), expected, "{text}");
            let longer = format!("{text}\"");
            assert_eq!(escape(longer.as_bytes()), expected, "{longer}");
        }
        assert_eq!(escape(br"\&7"), Some((None, 2)));
        // Only ten characters are read.
        assert_eq!(escape(br"\0000000065"), Some((Some('\x06'), 10)));
        let none = [r"\", r"\q", r"\x", r"\xg", r"\o8", r"\^", r"\^a", r"\1114112", r"\x110000", r"\S"];
        for text in none {
            assert_eq!(escape(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn strings_end_at_the_closing_quote() {
        let read = |text| read_string(text).map(|(string, n)| (string, &text[n..]));
        assert_eq!(read(r#"a\"b\\" c"#), Ok((r#"a"b\"#.to_owned(), " c")));
        assert_eq!(read(r#"\SO\&H\65\&5é""#), Ok(("\x0eHA5é".to_owned(), "")));
        assert!(read(r#"a\""#).is_err());
        assert!(read(r#"\ \""#).is_err());
    }
}
