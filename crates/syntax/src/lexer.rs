//! The lexer: from text to tokens.
//!
//! It works on bytes, in one pass, and always takes the longest token. Comments are kept apart from
//! the tokens; a documentation comment records the token that it precedes. Text that is not a token
//! becomes [`Tok::Invalid`] and an error, so the parser need not report it again.
//!
//! Two rules depend on context: a bracket directly after a name, number or closing bracket indexes
//! ([`Tok::IndexBracket`]), and digits after a dot are a field, so that `x.0.1` is two projections.

use crate::ast::{Ident, Lit, QualName};
use crate::diag::Diagnostic;
use crate::span::{FileId, Span};
use crate::symbol::InternerTable;
use crate::token::{Comment, DocToken, Lexed, Tok, Token, prec};

/// The maximum number of errors reported for one file.
pub(crate) const MAX_ERRORS: usize = 100;

const SPACE: u8 = 1;
const LETTER: u8 = 2;
const DIGIT: u8 = 4;
/// `_` and `'`, which may occur in names.
const MARK: u8 = 8;
const OPERATOR: u8 = 16;
const NAME: u8 = LETTER | DIGIT | MARK;

static CLASS: [u8; 256] = {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        table[i] = match i as u8 {
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => SPACE,
            b'a'..=b'z' | b'A'..=b'Z' => LETTER,
            b'0'..=b'9' => DIGIT,
            b'_' | b'\'' => MARK,
            b'+' | b'-' | b'*' | b'/' | b'%' | b'=' | b'!' | b'>' | b'<' | b'|' | b'&' | b'^' => OPERATOR,
            _ => 0,
        };
        i += 1;
    }
    table
};

const fn is(byte: u8, class: u8) -> bool {
    CLASS[byte as usize] & class != 0
}

/// Splits `source`, which must be shorter than 4 GiB, into tokens.
pub(crate) fn lex(source: &str, file: FileId, names: &mut InternerTable) -> Lexed {
    let mut lexer = Lexer {
        source,
        bytes: source.as_bytes(),
        pos: 0,
        names,
        no_qual_op_before: 0,
        out: Lexed {
            file,
            tokens: Vec::with_capacity(source.len() / 4 + 8),
            lits: Vec::new(),
            qual_ops: Vec::new(),
            docs: Vec::new(),
            comments: Vec::new(),
            errors: Vec::new(),
        },
    };
    if source.starts_with('\u{feff}') {
        lexer.pos = 3;
    }
    while lexer.token() {}
    lexer.out
}

pub(crate) struct Lexer<'a> {
    pub(crate) source: &'a str,
    pub(crate) bytes: &'a [u8],
    pub(crate) pos: usize,
    names: &'a mut InternerTable,
    /// No name that starts before this offset begins a qualified operator. It keeps long paths
    /// `a.b.c...` from being scanned again at every name, which would be quadratic.
    no_qual_op_before: usize,
    pub(crate) out: Lexed,
}

impl Lexer<'_> {
    /// Returns the byte `ahead` of the position; zero past the end.
    pub(crate) fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.pos + ahead).copied().unwrap_or(0)
    }

    /// Skips bytes of a class (see [`CLASS`]).
    fn skip(&mut self, class: u8) {
        self.pos = self.end_of(self.pos, class);
    }

    fn end_of(&self, mut pos: usize, class: u8) -> usize {
        while self.bytes.get(pos).is_some_and(|&b| is(b, class)) {
            pos += 1;
        }
        pos
    }

    pub(crate) fn span(&self, start: usize) -> Span {
        Span::new(self.out.file, start as u32, self.pos as u32)
    }

    pub(crate) fn error(&mut self, error: Diagnostic) {
        if self.out.errors.len() < MAX_ERRORS {
            self.out.errors.push(error);
        }
    }

    fn push(&mut self, kind: Tok, start: usize, prec: u8, data: u32) {
        self.out.tokens.push(Token { kind, prec, start: start as u32, end: self.pos as u32, data });
    }

    pub(crate) fn push_lit(&mut self, kind: Tok, start: usize, lit: Lit) {
        let index = self.out.lits.len() as u32;
        self.out.lits.push(lit);
        self.push(kind, start, 0, index);
    }

    pub(crate) fn push_invalid(&mut self, start: usize) {
        self.push(Tok::Invalid, start, 0, 0);
    }

    fn simple(&mut self, kind: Tok, len: usize) {
        let start = self.pos;
        self.pos += len;
        self.push(kind, start, 0, 0);
    }

    /// Reads one token or comment. Returns false at the end.
    fn token(&mut self) -> bool {
        self.skip(SPACE);
        let start = self.pos;
        let Some(&byte) = self.bytes.get(start) else {
            self.push(Tok::Eof, start, 0, 0);
            return false;
        };
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => self.name(start),
            b'_' if is(self.peek(1), LETTER | DIGIT) => self.name(start),
            b'_' => self.simple(Tok::Underscore, 1),
            b'0'..=b'9' => self.number(),
            b'-' if self.peek(1) == b'-' => self.comment(start),
            b'(' => self.simple(Tok::LParen, 1),
            b')' => self.simple(Tok::RParen, 1),
            b'[' => {
                let kind = if self.follows_indexable(start) { Tok::IndexBracket } else { Tok::LBracket };
                self.simple(kind, 1);
            }
            b']' => self.simple(Tok::RBracket, 1),
            b'{' => self.simple(Tok::LCurly, 1),
            b'}' => self.simple(Tok::RCurly, 1),
            b',' => self.simple(Tok::Comma, 1),
            b'\\' => self.simple(Tok::Backslash, 1),
            b'~' => self.simple(Tok::Tilde, 1),
            b'`' => self.simple(Tok::Backtick, 1),
            b':' if self.peek(1) == b'>' => self.simple(Tok::ColonGreater, 2),
            b':' => self.simple(Tok::Colon, 1),
            b'.' => match (self.peek(1), self.peek(2)) {
                (b'.', b'.') => self.simple(Tok::Dots3, 3),
                (b'.', b'<') => self.simple(Tok::DotsLess, 3),
                (b'.', b'>') => self.simple(Tok::DotsGreater, 3),
                (b'.', _) => self.simple(Tok::Dots2, 2),
                _ => self.simple(Tok::Dot, 1),
            },
            b'?' if self.peek(1) == b'?' && self.peek(2) == b'?' => self.simple(Tok::Hole, 3),
            b'?' => self.simple(Tok::Question, 1),
            b'#' if self.peek(1) == b'[' => self.simple(Tok::HashBracket, 2),
            b'#' if is(self.peek(1), LETTER) || self.peek(1) == b'_' && is(self.peek(2), LETTER | DIGIT) => {
                self.pos = self.end_of(start + 1, NAME);
                let symbol = self.names.intern(&self.source[start + 1..self.pos]);
                self.push(Tok::Constr, start, 0, symbol.raw());
            }
            b'\'' => self.quote(),
            b'"' => self.string(),
            _ if is(byte, OPERATOR) => self.operator(start),
            _ => self.invalid(start),
        }
        true
    }

    /// Returns true if a bracket at `start` directly follows a token that can be indexed.
    fn follows_indexable(&self, start: usize) -> bool {
        self.out.tokens.last().is_some_and(|last| {
            last.end as usize == start
                && matches!(
                    last.kind,
                    Tok::Id | Tok::Constr | Tok::Nat | Tok::Int | Tok::Float | Tok::RParen | Tok::RBracket
                )
        })
    }

    fn name(&mut self, start: usize) {
        self.pos = self.end_of(start + 1, NAME);
        let text = &self.source[start..self.pos];
        if let Some(keyword) = Tok::keyword(text.as_bytes()) {
            self.push(keyword, start, 0, 0);
            return;
        }
        if self.peek(0) == b'.' && start >= self.no_qual_op_before && self.qual_op(start) {
            return;
        }
        let symbol = self.names.intern(text);
        self.push(Tok::Id, start, 0, symbol.raw());
    }

    /// Reads `M.N.+`, whose first name has just been read. Returns false, with the position
    /// unchanged, if no operator ends the path.
    fn qual_op(&mut self, start: usize) -> bool {
        let mut dot = self.pos;
        let op = loop {
            if self.bytes.get(dot) != Some(&b'.') {
                break None;
            }
            match self.bytes.get(dot + 1) {
                Some(&b) if is(b, LETTER) || b == b'_' => dot = self.end_of(dot + 1, NAME),
                Some(&b) if is(b, OPERATOR) => break Some(dot + 1),
                _ => break None,
            }
        };
        let Some(op) = op else {
            self.no_qual_op_before = dot;
            return false;
        };
        let mut quals = Vec::new();
        let mut at = start;
        for part in self.source[start..op - 1].split('.') {
            let end = at + part.len();
            quals.push(Ident {
                name: self.names.intern(part),
                span: Span::new(self.out.file, at as u32, end as u32),
            });
            at = end + 1;
        }
        self.pos = op;
        self.skip_operator();
        let text = &self.source[op..self.pos];
        let name = Ident { name: self.names.intern(text), span: self.span(op) };
        let index = self.out.qual_ops.len() as u32;
        self.out.qual_ops.push(QualName { quals, name });
        self.push(Tok::QualOp, start, prec::of(text.as_bytes()), index);
        true
    }

    fn skip_operator(&mut self) {
        while is(self.peek(0), OPERATOR) || self.peek(0) == b'.' {
            self.pos += 1;
        }
    }

    fn operator(&mut self, start: usize) {
        self.skip_operator();
        let text = &self.source[start..self.pos];
        let kind = match text {
            "=" => Tok::Equals,
            "->" => Tok::Arrow,
            "!" => Tok::Bang,
            "*" => Tok::Star,
            "-" => Tok::Minus,
            "<" => Tok::Less,
            "^" => Tok::Hat,
            "|" => Tok::Pipe,
            _ => Tok::Op,
        };
        let symbol = self.names.intern(text);
        self.push(kind, start, prec::of(text.as_bytes()), symbol.raw());
    }

    fn skip_line(&mut self) {
        self.pos =
            memchr::memchr(b'\n', &self.bytes[self.pos..]).map_or(self.bytes.len(), |len| self.pos + len);
    }

    fn comment(&mut self, start: usize) {
        self.skip_line();
        let doc = self.bytes[start..].starts_with(b"-- |");
        // Comment lines that follow a documentation comment belong to it.
        while let Some(next) = self.next_comment_line().filter(|_| doc) {
            self.pos = next;
            self.skip_line();
        }
        let span = self.span(start);
        self.out.comments.push(Comment { span, doc });
        if doc {
            self.out.docs.push(DocToken { before: self.out.tokens.len(), span });
        }
    }

    /// Returns the start of the next line's comment, if that line is a comment. The position is at
    /// the end of a line.
    fn next_comment_line(&self) -> Option<usize> {
        let line = self.bytes.get(self.pos + 1..)?;
        let indent = line.iter().position(|b| !matches!(b, b' ' | b'\t' | 0x0b | 0x0c))?;
        line[indent..].starts_with(b"--").then_some(self.pos + 1 + indent)
    }

    /// Skips a run of bytes that start no token, and reports it.
    fn invalid(&mut self, start: usize) {
        let first = self.source[start..].chars().next().unwrap_or('\0');
        self.pos += first.len_utf8();
        while let Some(&b) = self.bytes.get(self.pos) {
            let starts_token = b.is_ascii_graphic() && !matches!(b, b'$' | b';' | b'@' | b'#');
            if starts_token || is(b, SPACE) {
                break;
            }
            self.pos += 1;
        }
        let shown = if first.is_control() { format!("U+{:04X}", first as u32) } else { first.to_string() };
        let mut error =
            Diagnostic::error("invalid-character", format!("no token starts with the character `{shown}`"))
                .at(self.span(start), "");
        error = match first {
            '#' => error.hint("a constructor is `#` and a name, without a space: `#some`"),
            ';' => error.hint("declarations and bindings need no separator"),
            _ if !first.is_ascii() => error.hint("names consist of ASCII letters, digits, `_` and `'`"),
            _ => error,
        };
        self.error(error);
        self.push_invalid(start);
    }

    /// Reads `'c'`, or the quote before a type parameter.
    fn quote(&mut self) {
        let start = self.pos;
        let rest = &self.source[start + 1..];
        let mut chars = rest.chars();
        match chars.next() {
            Some('\\') => {
                // The length of an escape is bounded: a backslash, a caret and some digits.
                let len = rest.bytes().take(16).skip(2).position(|b| b == b'\'');
                if let Some(len) = len {
                    let end = start + 1 + 2 + len;
                    self.pos = start + 1;
                    let escape = self.escape(end);
                    let whole = self.pos == end;
                    self.pos = end + 1;
                    if let Some(c) = escape.filter(|_| whole) {
                        self.push_lit(Tok::Char, start, Lit::Char(c));
                        return;
                    }
                    let error =
                        Diagnostic::error("invalid-escape", "not an escape sequence for one character")
                            .at(self.span(start), "");
                    self.error(error);
                    self.push_invalid(start);
                    return;
                }
            }
            Some(c) if c != '\'' && c != '\n' && chars.next() == Some('\'') => {
                self.pos = start + 1 + c.len_utf8() + 1;
                self.push_lit(Tok::Char, start, Lit::Char(c));
                return;
            }
            _ => {}
        }
        match self.peek(1) {
            b'^' => self.simple(Tok::QuoteHat, 2),
            b'~' => self.simple(Tok::QuoteTilde, 2),
            _ => self.simple(Tok::Quote, 1),
        }
    }
}
