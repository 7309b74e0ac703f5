//! Tokens, and the precedences of operators.

use crate::span::{FileId, Span};

/// Kinds of token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[rustfmt::skip]
pub(crate) enum Tok {
    /// End of the file; the last token, and the only one of its kind.
    Eof,
    /// Text that is not a token; the lexer has reported it.
    Invalid,

    /// `x`; data is the symbol
    Id,
    /// `#x`; data is the symbol
    Constr,
    /// An operator without a kind of its own; data is the symbol
    Op,
    /// `M.+`; data is an index into [`Lexed::qual_ops`]
    QualOp,

    // Literals; data is an index into [`Lexed::lits`].
    /// `42`: decimal, without a suffix; also a field name
    Nat,
    /// Any other integer
    Int,
    Float,
    Char,
    Str,

    // Symbols with a role in the grammar; for operators among them, data is the symbol.
    Star, Minus, Bang, Less, Hat, Pipe,
    Equals, Arrow, Tilde, Colon, ColonGreater, Comma, Dot, Dots2, Dots3, DotsLess, DotsGreater,
    LParen, RParen, LCurly, RCurly, RBracket, HashBracket,
    /// `[` after white space or after a token that cannot be indexed
    LBracket,
    /// `[` right after a name, a number or a closing bracket
    IndexBracket,
    Underscore, Question, Hole, Backslash, Backtick, Quote, QuoteHat, QuoteTilde,

    // Keywords.
    True, False, If, Then, Else, Def, Let, Loop, In, Val, For, Do, With, Local, Open, Include,
    Import, Type, Entry, Module, While, Assert, Match, Case,
}

impl Tok {
    /// Returns the keyword with this spelling.
    pub(crate) fn keyword(text: &[u8]) -> Option<Self> {
        Some(match text {
            b"true" => Self::True,
            b"false" => Self::False,
            b"if" => Self::If,
            b"then" => Self::Then,
            b"else" => Self::Else,
            b"def" => Self::Def,
            b"let" => Self::Let,
            b"loop" => Self::Loop,
            b"in" => Self::In,
            b"val" => Self::Val,
            b"for" => Self::For,
            b"do" => Self::Do,
            b"with" => Self::With,
            b"local" => Self::Local,
            b"open" => Self::Open,
            b"include" => Self::Include,
            b"import" => Self::Import,
            b"type" => Self::Type,
            b"entry" => Self::Entry,
            b"module" => Self::Module,
            b"while" => Self::While,
            b"assert" => Self::Assert,
            b"match" => Self::Match,
            b"case" => Self::Case,
            _ => return None,
        })
    }

    /// Returns true if the token can be between two expressions or alone in parentheses: any
    /// operator but `!` and functions in backticks.
    pub(crate) const fn is_infix(self) -> bool {
        matches!(
            self,
            Self::Op | Self::QualOp | Self::Star | Self::Minus | Self::Less | Self::Hat | Self::Pipe
        )
    }

    /// Returns true if an atom of an expression can begin with the token.
    pub(crate) const fn starts_atom(self) -> bool {
        matches!(
            self,
            Self::Id
                | Self::Constr
                | Self::Nat
                | Self::Int
                | Self::Float
                | Self::Char
                | Self::Str
                | Self::True
                | Self::False
                | Self::Hole
                | Self::LParen
                | Self::LBracket
                | Self::LCurly
        )
    }

    /// Returns true for either kind of opening bracket.
    pub(crate) const fn is_bracket(self) -> bool {
        matches!(self, Self::LBracket | Self::IndexBracket)
    }
}

/// Precedences of infix forms, from loose to tight. All are left-associative but [`PIPE_LEFT`];
/// ranges are not associative.
pub(crate) mod prec {
    /// `a..b...c`
    pub(crate) const RANGE: u8 = 1;
    /// `` a `f` b ``
    pub(crate) const BACKTICK: u8 = 2;
    /// `a with [i] = b`
    pub(crate) const WITH: u8 = 3;
    /// The value after the `=` of a `with`
    pub(crate) const WITH_VALUE: u8 = 4;
    /// `|>`
    pub(crate) const PIPE_RIGHT: u8 = 5;
    /// `<|`, right-associative
    pub(crate) const PIPE_LEFT: u8 = 6;
    /// `||`
    pub(crate) const OR: u8 = 7;
    /// `&&`
    pub(crate) const AND: u8 = 8;
    /// `==`, `<`, ..., and operators that start with `!` or `=`
    pub(crate) const COMPARE: u8 = 9;
    /// `&`, `|`, `^`
    pub(crate) const BITS: u8 = 10;
    /// `<<`, `>>`
    pub(crate) const SHIFT: u8 = 11;
    /// `+`, `-`
    pub(crate) const ADD: u8 = 12;
    /// `*`, `/`, `%`, `//`, `%%`
    pub(crate) const MUL: u8 = 13;
    /// `**`
    pub(crate) const POWER: u8 = 14;

    /// The precedence of an operator: that of the longest built-in operator that is a prefix of it.
    pub(crate) const fn of(op: &[u8]) -> u8 {
        match op {
            [b'*', b'*', ..] => POWER,
            [b'*' | b'/' | b'%', ..] => MUL,
            [b'+' | b'-', ..] => ADD,
            [b'<', b'<', ..] | [b'>', b'>', ..] => SHIFT,
            [b'<', b'|', ..] => PIPE_LEFT,
            [b'|', b'>', ..] => PIPE_RIGHT,
            [b'|', b'|', ..] => OR,
            [b'&', b'&', ..] => AND,
            [b'&' | b'|' | b'^', ..] => BITS,
            _ => COMPARE,
        }
    }
}

/// A token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Tok,
    /// For infix operators: the precedence.
    pub(crate) prec: u8,
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// The payload; see [`Tok`].
    pub(crate) data: u32,
}

/// A comment, kept for the formatter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Comment {
    /// The span from `--` to the end of the line, or of the last line of a documentation comment.
    pub span: Span,
    /// True for a documentation comment (`-- |`).
    pub doc: bool,
}

/// A documentation comment and the index of the token that it precedes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DocToken {
    pub(crate) before: usize,
    pub(crate) span: Span,
}

/// The lexer's result for a file.
#[derive(Debug)]
pub(crate) struct Lexed {
    pub(crate) file: FileId,
    /// Ends with [`Tok::Eof`].
    pub(crate) tokens: Vec<Token>,
    pub(crate) lits: Vec<crate::ast::Lit>,
    pub(crate) qual_ops: Vec<crate::ast::QualName>,
    pub(crate) docs: Vec<DocToken>,
    pub(crate) comments: Vec<Comment>,
    pub(crate) errors: Vec<crate::diag::Diagnostic>,
}
