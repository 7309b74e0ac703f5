//! An approximate lexer for mutation: names, numbers, strings, brackets, signs. Comments and blanks
//! separate tokens. Any bytes can be tokenised, so mutants can be mutated again.

use std::ops::Range;

/// The kind of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A name or keyword.
    Word,
    /// A number, with its suffix.
    Number,
    /// A single bracket.
    Bracket,
    /// A string or character.
    Quoted,
    /// Operators, punctuation and all other bytes.
    Sign,
}

/// A token with its position.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Token {
    /// The kind.
    pub kind: Kind,
    /// The byte range.
    pub at: Range<usize>,
}

/// Returns the tokens of a text, in order.
pub fn tokens(text: &[u8]) -> Vec<Token> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let rest = &text[at..];
        if rest.starts_with(b"--") {
            at += length(rest, |b| b != b'\n');
            continue;
        }
        let (kind, n) = match byte {
            b' ' | b'\t' | b'\r' | b'\n' => {
                at += 1;
                continue;
            }
            b'(' | b')' | b'[' | b']' | b'{' | b'}' => (Kind::Bracket, 1),
            b'"' => {
                let inside = length(&rest[1..], |b| b != b'"' && b != b'\n');
                (Kind::Quoted, (inside + 2).min(rest.len()))
            }
            b'0'..=b'9' => (Kind::Number, length(rest, |b| is_word(b) || b == b'.')),
            _ if is_word(byte) => (Kind::Word, length(rest, is_word)),
            _ => (Kind::Sign, length(rest, is_sign).max(1)),
        };
        found.push(Token { kind, at: at..at + n });
        at += n;
    }
    found
}

/// Returns the lines of a text, including their line breaks, in order.
pub fn lines(text: &[u8]) -> Vec<Range<usize>> {
    let mut start = 0;
    text.split_inclusive(|b| *b == b'\n')
        .map(|line| {
            let at = start..start + line.len();
            start = at.end;
            at
        })
        .collect()
}

fn length(text: &[u8], inside: impl Fn(u8) -> bool) -> usize {
    text.iter().take_while(|b| inside(**b)).count()
}

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'\''
}

fn is_sign(byte: u8) -> bool {
    b"+-*/%=<>&|^!@~?".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<(Kind, &str)> {
        let found = tokens(text.as_bytes());
        let texts = found.iter().map(|t| (t.kind, &text[t.at.clone()]));
        texts.collect()
    }

    #[test]
    fn lines_are_split_into_tokens() {
        use Kind::{Bracket, Number, Quoted, Sign, Word};
        let expected = [
            (Word, "let"),
            (Word, "x'"),
            (Sign, "="),
            (Bracket, "["),
            (Number, "1.5f32"),
            (Sign, ","),
            (Quoted, "\"a b\""),
            (Bracket, "]"),
            (Sign, "<|"),
            (Word, "f"),
        ];
        assert_eq!(texts("let x' = [1.5f32, \"a b\"] -- no\n<| f"), expected);
    }

    #[test]
    fn any_bytes_have_tokens_in_order() {
        let text: Vec<u8> = (0..=255).chain(*b"\"open").collect();
        let mut end = 0;
        for token in tokens(&text) {
            assert!(token.at.start >= end && token.at.end > token.at.start);
            end = token.at.end;
        }
        assert_eq!(end, text.len());
    }

    #[test]
    fn lines_include_their_line_breaks() {
        assert_eq!(lines(b"a\n\nb"), [0..2, 2..3, 3..4]);
        assert_eq!(lines(b""), []);
    }
}
