//! Recursive descent over the tokens of one file.
//!
//! A function that fails has reported why, or the lexer has, and returns
//! [`Failed`]; the declaration it was in is given up, and reading goes on at what
//! looks like the next one ([`decl`]). Recursion goes through
//! [`Parser::nested`], which bounds it and grows the stack.

mod atom;
mod binding;
mod decl;
mod exp;
mod module;
mod pat;
mod types;

use crate::ast::{Exp, Ident, Lit, Prog, QualName};
use crate::diag::Diagnostic;
use crate::lexer::{MAX_ERRORS, lex};
use crate::span::{FileId, Span};
use crate::symbol::{Interner, Symbol};
use crate::token::{Comment, Lexed, Tok, Token};
use crate::{MAX_NESTING, MAX_SUFFIXES, RED_ZONE, SAFE_NESTING, STACK_PER_LEVEL, STACK_STEP};

/// What comes of a file.
#[derive(Debug)]
pub struct Parse {
    /// What could be read.
    pub prog: Prog,
    /// Empty if and only if the file is well formed; in order of position.
    pub errors: Vec<Diagnostic>,
    /// All comments, in order.
    pub comments: Vec<Comment>,
}

/// Reads a source file of fewer than 4 GiB (as every file of a
/// [`crate::span::SourceMap`] is).
pub fn parse(source: &str, file: FileId, names: &Interner) -> Parse {
    let lexed = lex(source, file, &mut names.lock());
    let mut parser = Parser::new(source, lexed, names);
    let prog = parser.prog();
    let (errors, comments) = parser.finish();
    Parse { prog, errors, comments }
}

/// Reads a text that is one expression. Without an expression there is at least
/// one error.
pub fn parse_expr(source: &str, file: FileId, names: &Interner) -> (Option<Exp>, Vec<Diagnostic>) {
    let lexed = lex(source, file, &mut names.lock());
    let mut parser = Parser::new(source, lexed, names);
    let exp = parser.exp();
    if exp.is_ok() && parser.kind() != Tok::Eof {
        let _: Result<(), Failed> = parser.expected("an operator, an argument or the end");
    }
    (exp.ok(), parser.finish().0)
}

/// Reading failed, and an error has been reported.
#[derive(Clone, Copy, Debug)]
struct Failed;

type Res<T> = Result<T, Failed>;

/// How deep a tree may be for the stack of this thread.
fn max_nesting() -> u32 {
    let room = stacker::remaining_stack().unwrap_or(0) / STACK_PER_LEVEL;
    u32::try_from(room).map_or(MAX_NESTING, |room| room.clamp(SAFE_NESTING, MAX_NESTING))
}

struct Parser<'a> {
    source: &'a str,
    names: &'a Interner,
    lexed: Lexed,
    pos: usize,
    depth: u32,
    /// How deep brackets, branches and bodies may nest.
    max_depth: u32,
    /// At most so many suffixes stand on a path through what was read of the
    /// innermost level.
    suffixes: u32,
    /// Braces that are open at `pos`.
    braces: u32,
    /// The next entry of `lexed.docs` that was not looked at.
    next_doc: usize,
    /// The right-hand side of a declaration could not be read and must be
    /// skipped.
    lost: bool,
    /// The file is nested too deeply, which was reported: nothing else is.
    given_up: bool,
    errors: Vec<Diagnostic>,
}

impl<'a> Parser<'a> {
    fn new(source: &'a str, lexed: Lexed, names: &'a Interner) -> Self {
        Self {
            source,
            names,
            lexed,
            pos: 0,
            depth: 0,
            max_depth: max_nesting(),
            suffixes: 0,
            braces: 0,
            next_doc: 0,
            lost: false,
            given_up: false,
            errors: Vec::new(),
        }
    }

    /// Errors by position, and the comments.
    fn finish(mut self) -> (Vec<Diagnostic>, Vec<Comment>) {
        self.errors.append(&mut self.lexed.errors);
        self.errors.sort_by_key(|error| {
            error.primary.as_ref().map_or((0, 0), |label| (label.span.start, label.span.end))
        });
        self.errors.truncate(MAX_ERRORS);
        (self.errors, self.lexed.comments)
    }

    // ------------------------------------------------------------------ tokens

    /// The token `ahead` of the position; the end of the file, if past it.
    fn peek(&self, ahead: usize) -> Token {
        let eof = Token {
            kind: Tok::Eof,
            prec: 0,
            start: self.source.len() as u32,
            end: self.source.len() as u32,
            data: 0,
        };
        self.lexed.tokens.get(self.pos + ahead).copied().unwrap_or(eof)
    }

    fn token(&self) -> Token {
        self.peek(0)
    }

    fn kind(&self) -> Tok {
        self.token().kind
    }

    fn kind_at(&self, ahead: usize) -> Tok {
        self.peek(ahead).kind
    }

    fn at(&self, kind: Tok) -> bool {
        self.kind() == kind
    }

    fn span_of(&self, token: Token) -> Span {
        Span::new(self.lexed.file, token.start, token.end)
    }

    /// The place of the current token.
    fn span(&self) -> Span {
        self.span_of(self.token())
    }

    /// The place from the start of `from` to the end of the last token.
    fn since(&self, from: Span) -> Span {
        let end = self
            .pos
            .checked_sub(1)
            .and_then(|last| self.lexed.tokens.get(last))
            .map_or(from.end, |last| last.end);
        Span { end: end.max(from.start), ..from }
    }

    /// Passes the current token and gives its place.
    fn bump(&mut self) -> Span {
        let token = self.token();
        match token.kind {
            Tok::Eof => return self.span_of(token),
            Tok::LCurly => self.braces += 1,
            Tok::RCurly => self.braces = self.braces.saturating_sub(1),
            _ => {}
        }
        self.pos += 1;
        self.span_of(token)
    }

    /// Passes a token of the kind if it is the current one.
    fn eat(&mut self, kind: Tok) -> bool {
        let found = self.at(kind);
        if found {
            self.bump();
        }
        found
    }

    /// Passes a token of the kind, or fails; `what` says what it is.
    fn expect(&mut self, kind: Tok, what: &str) -> Res<Span> {
        if self.at(kind) { Ok(self.bump()) } else { self.expected(what) }
    }

    /// Passes the bracket that closes the one at `open`.
    fn close(&mut self, kind: Tok, open: Span, what: &str) -> Res<Span> {
        if self.at(kind) {
            return Ok(self.bump());
        }
        let error = self.unexpected(what);
        let bracket = match kind {
            Tok::RParen => ")",
            Tok::RBracket => "]",
            _ => "}",
        };
        let ends = matches!(self.kind(), Tok::Eof | Tok::Def | Tok::Entry | Tok::Type | Tok::Module);
        self.fail(error.map(|error| {
            let error = error.also(open, "the bracket that is open");
            if ends { error.hint(format!("a `{bracket}` is missing before this")) } else { error }
        }))
    }

    // ------------------------------------------------------------------ errors

    /// The error that the current token is not `what`; `None` where the lexer
    /// has reported it.
    fn unexpected(&self, what: &str) -> Option<Diagnostic> {
        let token = self.token();
        let span = self.span_of(token);
        match token.kind {
            Tok::Invalid => None,
            Tok::Eof => Some(
                Diagnostic::error("unexpected-end", format!("expected {what}, but the file ends"))
                    .at(span, ""),
            ),
            _ => {
                let text = self.source.get(span.range()).unwrap_or("");
                let mut shown: String = text.chars().take(40).collect();
                if shown.len() < text.len() {
                    shown.push_str("...");
                }
                let error =
                    Diagnostic::error("unexpected-token", format!("expected {what}, but found `{shown}`"))
                        .at(span, format!("expected {what}"));
                // Where names are bound, `=` and `->` are no comparison and no function.
                let binds = ["name", "parameter", "pattern"];
                let binds = binds.iter().any(|word| what.contains(word));
                Some(match token.kind {
                    Tok::Bang => error.hint("`!` is a prefix; as an argument it needs parentheses: `f (!x)`"),
                    Tok::Equals if !binds => error.hint("to compare two values, write `==`"),
                    Tok::Arrow if !binds => {
                        error.hint("an anonymous function begins with a backslash: `\\x -> x + 1`")
                    }
                    _ => error,
                })
            }
        }
    }

    fn fail<T>(&mut self, error: Option<Diagnostic>) -> Res<T> {
        if let Some(error) = error
            && self.errors.len() < MAX_ERRORS
            && !self.given_up
        {
            self.errors.push(error);
        }
        Err(Failed)
    }

    /// Fails because the current token is not `what`.
    fn expected<T>(&mut self, what: &str) -> Res<T> {
        let error = self.unexpected(what);
        self.fail(error)
    }

    /// Reports the nest and passes all that follows: from inside of it, its levels
    /// would look like as many mistakes.
    fn too_deep<T>(&mut self, span: Span) -> Res<T> {
        self.pos = self.lexed.tokens.len();
        let failed = self.fail(Some(
            Diagnostic::error("nesting-too-deep", "this is nested too deeply")
                .at(span, "")
                .note(format!(
                    "brackets, branches and bodies may nest {} levels deep, \
                     and {MAX_SUFFIXES} suffixes may follow an expression",
                    self.max_depth
                ))
                .hint("bind a part of it to a name"),
        ));
        self.given_up = true;
        failed
    }

    /// Runs a recursive step.
    fn nested<T>(&mut self, step: impl FnOnce(&mut Self) -> Res<T>) -> Res<T> {
        if self.depth >= self.max_depth {
            return self.too_deep(self.span());
        }
        self.depth += 1;
        let result = stacker::maybe_grow(RED_ZONE, STACK_STEP, || self.spine(step));
        self.depth -= 1;
        result
    }

    /// Reads something that suffixes may follow: those inside it and inside of what
    /// stands beside it are not on one path.
    fn spine<T>(&mut self, step: impl FnOnce(&mut Self) -> Res<T>) -> Res<T> {
        let beside = std::mem::take(&mut self.suffixes);
        let result = step(self);
        self.suffixes = self.suffixes.max(beside);
        result
    }

    /// Counts a suffix of what was read in this [`Parser::spine`].
    fn suffix(&mut self) -> Res<()> {
        self.suffixes += 1;
        if self.suffixes > MAX_SUFFIXES {
            return self.too_deep(self.span());
        }
        Ok(())
    }

    // ------------------------------------------------------------------- names

    fn ident_of(&self, token: Token) -> Ident {
        Ident { name: Symbol::from_raw(token.data), span: self.span_of(token) }
    }

    /// The current token, which has a symbol, as a name.
    fn take_ident(&mut self) -> Ident {
        let ident = self.ident_of(self.token());
        self.bump();
        ident
    }

    fn ident(&mut self, what: &str) -> Res<Ident> {
        if self.at(Tok::Id) { Ok(self.take_ident()) } else { self.expected(what) }
    }

    /// `M.N.x`
    fn qual_name(&mut self, what: &str) -> Res<QualName> {
        let mut name = QualName::from(self.ident(what)?);
        while self.at(Tok::Dot) && self.kind_at(1) == Tok::Id {
            self.bump();
            let next = self.take_ident();
            name.quals.push(std::mem::replace(&mut name.name, next));
        }
        Ok(name)
    }

    /// Whether a field name is the current token.
    fn at_field(&self) -> bool {
        matches!(self.kind(), Tok::Id | Tok::Nat)
    }

    /// `x` or `0`.
    fn field_name(&mut self) -> Res<Ident> {
        match self.kind() {
            Tok::Id => Ok(self.take_ident()),
            Tok::Nat => {
                let span = self.bump();
                let text = self.source.get(span.range()).unwrap_or("");
                Ok(Ident { name: self.names.intern(text), span })
            }
            _ => self.expected("a field name"),
        }
    }

    /// The literal of the current token, which must have one; passes it.
    fn take_lit(&mut self) -> Lit {
        let index = self.token().data as usize;
        self.bump();
        self.lexed
            .lits
            .get_mut(index)
            .map_or(Lit::Bool(false), |lit| std::mem::replace(lit, Lit::Bool(false)))
    }

    /// The rest of a tuple, after its first element and a comma: more elements
    /// and the closing parenthesis.
    fn tuple_rest<T>(&mut self, open: Span, first: T, item: impl FnMut(&mut Self) -> Res<T>) -> Res<Vec<T>> {
        if self.at(Tok::RParen) {
            self.bump();
            return self.fail(Some(
                Diagnostic::error("one-element-tuple", "a tuple has no or at least two elements")
                    .at(self.since(open), "only one element")
                    .hint("leave out the comma"),
            ));
        }
        let mut items = vec![first];
        items.append(&mut self.comma_separated(Tok::RParen, item)?);
        self.close(Tok::RParen, open, "`,` or `)`")?;
        Ok(items)
    }

    /// Items between commas, the last of which may be trailing, up to the token
    /// `end`, which stays.
    fn comma_separated<T>(&mut self, end: Tok, mut item: impl FnMut(&mut Self) -> Res<T>) -> Res<Vec<T>> {
        let mut items = Vec::new();
        while !self.at(end) {
            items.push(item(self)?);
            if !self.eat(Tok::Comma) {
                break;
            }
        }
        Ok(items)
    }
}
