//! A recursive-descent parser over the tokens of one file.
//!
//! A function that fails returns [`Failed`]; it or the lexer has then reported the error. The
//! enclosing declaration is dropped, and parsing continues at the next token that may start one
//! ([`decl`]). Recursion goes through [`Parser::nested`], which bounds its depth and grows the
//! stack.

mod atom;
mod binding;
mod decl;
mod exp;
mod module;
mod pat;
mod types;

use crate::ast::{Exp, ExpKind, Ident, Lit, Prog, QualName};
use crate::diag::Diagnostic;
use crate::lexer::{MAX_ERRORS, lex};
use crate::span::{FileId, Span};
use crate::symbol::{Interner, Symbol};
use crate::token::{Comment, Lexed, Tok, Token};
use crate::{MAX_NESTING, MAX_SUFFIXES, MIN_NESTING_LIMIT, STACK_GROWTH, STACK_PER_LEVEL, STACK_RED_ZONE};

/// The result of parsing a file.
#[derive(Debug)]
pub struct Parse {
    /// The parts that could be parsed.
    pub prog: Prog,
    /// The errors, by position; empty if and only if the file is well formed. At most 100.
    pub errors: Vec<Diagnostic>,
    /// All comments, in source order.
    pub comments: Vec<Comment>,
}

/// Parses a source file of fewer than 4 GiB (which every file of a [`crate::span::SourceMap`] is).
pub fn parse(source: &str, file: FileId, names: &Interner) -> Parse {
    let lexed = lex(source, file, &mut names.lock());
    let mut parser = Parser::new(source, lexed, names);
    let prog = parser.prog();
    let (errors, comments) = parser.finish();
    Parse { prog, errors, comments }
}

/// Parses a text that is one expression. If the expression is `None`, there is at least one error.
pub fn parse_expr(source: &str, file: FileId, names: &Interner) -> (Option<Exp>, Vec<Diagnostic>) {
    let lexed = lex(source, file, &mut names.lock());
    let mut parser = Parser::new(source, lexed, names);
    let exp = parser.exp();
    if exp.is_ok() && parser.kind() != Tok::Eof {
        let _: Result<(), Failed> = parser.expected("an operator, an argument or the end");
    }
    (exp.ok(), parser.finish().0)
}

/// Parsing failed, and an error has been reported.
#[derive(Clone, Copy, Debug)]
struct Failed;

type Res<T> = Result<T, Failed>;

/// The maximum nesting depth for the remaining stack of this thread.
fn max_nesting() -> u32 {
    let levels = stacker::remaining_stack().unwrap_or(0) / STACK_PER_LEVEL;
    u32::try_from(levels).map_or(MAX_NESTING, |levels| levels.clamp(MIN_NESTING_LIMIT, MAX_NESTING))
}

struct Parser<'a> {
    source: &'a str,
    names: &'a Interner,
    lexed: Lexed,
    pos: usize,
    depth: u32,
    /// The maximum nesting depth of brackets, branches and bodies.
    max_depth: u32,
    /// An upper bound on the number of suffixes on one path through the text parsed so far at the
    /// innermost level.
    suffixes: u32,
    /// The number of braces open at `pos`.
    braces: u32,
    /// Index of the next unread entry of `lexed.docs`.
    next_doc: usize,
    /// True if the right-hand side of a declaration could not be parsed and must be skipped.
    needs_recovery: bool,
    /// The bindings around a syntax error in an expression: the innermost ones that were parsed,
    /// with [`ExpKind::Error`] in their scope.
    bindings: Option<Exp>,
    /// True after `nesting-too-deep` was reported: later errors are suppressed.
    suppress_errors: bool,
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
            needs_recovery: false,
            bindings: None,
            suppress_errors: false,
            errors: Vec::new(),
        }
    }

    /// Returns the errors by position, and the comments.
    fn finish(mut self) -> (Vec<Diagnostic>, Vec<Comment>) {
        self.errors.append(&mut self.lexed.errors);
        self.errors.sort_by_key(|error| {
            error.primary.as_ref().map_or((0, 0), |label| (label.span.start, label.span.end))
        });
        self.errors.truncate(MAX_ERRORS);
        (self.errors, self.lexed.comments)
    }

    // ------------------------------------------------------------------ tokens

    /// Returns the token `ahead` of the position; `Eof` past the end.
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

    /// The span of the current token.
    fn span(&self) -> Span {
        self.span_of(self.token())
    }

    /// The span from the start of `from` to the end of the last token read.
    fn span_since(&self, from: Span) -> Span {
        let end = self
            .pos
            .checked_sub(1)
            .and_then(|last| self.lexed.tokens.get(last))
            .map_or(from.end, |last| last.end);
        Span { end: end.max(from.start), ..from }
    }

    /// Advances past the current token and returns its span.
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

    /// Advances past the current token if it is of the kind, and returns true if so.
    fn eat(&mut self, kind: Tok) -> bool {
        let found = self.at(kind);
        if found {
            self.bump();
        }
        found
    }

    /// Advances past a token of the kind, or fails with `what` as the expected item.
    fn expect(&mut self, kind: Tok, what: &str) -> Res<Span> {
        if self.at(kind) { Ok(self.bump()) } else { self.expected(what) }
    }

    /// Advances past the bracket that closes the one at `open`.
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
            let error = error.also(open, "enclosing bracket");
            if ends { error.hint(format!("a `{bracket}` is missing before this")) } else { error }
        }))
    }

    // ------------------------------------------------------------------ errors

    /// The error that the current token is not `what`; `None` if the lexer has reported the token.
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
                // Where a name is bound, `=` is not meant as a comparison, nor `->` as a function.
                let binds = ["name", "parameter", "pattern"];
                let binds = binds.iter().any(|word| what.contains(word));
                Some(match token.kind {
                    Tok::Bang => {
                        error.hint("`!` is a prefix operator; as an argument it needs parentheses: `f (!x)`")
                    }
                    Tok::Equals if !binds => error.hint("to compare two values, write `==`"),
                    Tok::Arrow if !binds => {
                        error.hint("an anonymous function begins with a backslash: `\\x -> x + 1`")
                    }
                    _ => error,
                })
            }
        }
    }

    /// Parses an expression in the scope of bindings, and makes an expression of both. After a syntax
    /// error, that is kept.
    fn in_scope(&mut self, start: Span, bind: impl FnOnce(Box<Exp>) -> ExpKind) -> Res<ExpKind> {
        match self.exp() {
            Ok(body) => Ok(bind(Box::new(body))),
            Err(Failed) => {
                let kind = bind(Box::new(self.kept_bindings()));
                self.keep(start, kind)
            }
        }
    }

    /// Keeps bindings around a syntax error, and fails.
    fn keep<T>(&mut self, start: Span, kind: ExpKind) -> Res<T> {
        self.bindings = Some(Exp { kind, span: self.span_since(start) });
        Err(Failed)
    }

    /// The bindings around the syntax error found last.
    fn kept_bindings(&mut self) -> Exp {
        let error = Exp { kind: ExpKind::Error, span: self.span().at_start() };
        self.bindings.take().unwrap_or(error)
    }

    fn fail<T>(&mut self, error: Option<Diagnostic>) -> Res<T> {
        if let Some(error) = error
            && self.errors.len() < MAX_ERRORS
            && !self.suppress_errors
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

    /// Reports too deep nesting and skips the rest of the file: from inside the nest, each open
    /// level would be reported as an error.
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
                .hint("bind an inner part to a name"),
        ));
        self.suppress_errors = true;
        failed
    }

    /// Runs a recursive step, one level deeper.
    fn nested<T>(&mut self, step: impl FnOnce(&mut Self) -> Res<T>) -> Res<T> {
        if self.depth >= self.max_depth {
            return self.too_deep(self.span());
        }
        self.depth += 1;
        let result = stacker::maybe_grow(STACK_RED_ZONE, STACK_GROWTH, || self.with_suffixes(step));
        self.depth -= 1;
        result
    }

    /// Parses something that suffixes may follow. Its suffixes and those of earlier siblings lie on
    /// different paths, so the maximum of the two counts is kept, not their sum.
    fn with_suffixes<T>(&mut self, step: impl FnOnce(&mut Self) -> Res<T>) -> Res<T> {
        let siblings = std::mem::take(&mut self.suffixes);
        let result = step(self);
        self.suffixes = self.suffixes.max(siblings);
        result
    }

    /// Counts a suffix of the expression parsed in this [`Parser::with_suffixes`].
    fn count_suffix(&mut self) -> Res<()> {
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

    /// Takes the current token, which has a symbol, as a name.
    fn take_ident(&mut self) -> Ident {
        let ident = self.ident_of(self.token());
        self.bump();
        ident
    }

    fn ident(&mut self, what: &str) -> Res<Ident> {
        if self.at(Tok::Id) { Ok(self.take_ident()) } else { self.expected(what) }
    }

    /// Parses `M.N.x`.
    fn qual_name(&mut self, what: &str) -> Res<QualName> {
        let mut name = QualName::from(self.ident(what)?);
        while self.at(Tok::Dot) && self.kind_at(1) == Tok::Id {
            self.bump();
            let next = self.take_ident();
            name.quals.push(std::mem::replace(&mut name.name, next));
        }
        Ok(name)
    }

    /// Returns true if the current token is a field name.
    fn at_field(&self) -> bool {
        matches!(self.kind(), Tok::Id | Tok::Nat)
    }

    /// Parses `x` or `0`.
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

    /// Takes the literal of the current token, which must have one.
    fn take_lit(&mut self) -> Lit {
        let index = self.token().data as usize;
        self.bump();
        self.lexed
            .lits
            .get_mut(index)
            .map_or(Lit::Bool(false), |lit| std::mem::replace(lit, Lit::Bool(false)))
    }

    /// Parses the rest of a tuple after its first element and a comma: more elements and the
    /// closing parenthesis.
    fn tuple_rest<T>(&mut self, open: Span, first: T, item: impl FnMut(&mut Self) -> Res<T>) -> Res<Vec<T>> {
        if self.at(Tok::RParen) {
            self.bump();
            return self.fail(Some(
                Diagnostic::error("one-element-tuple", "a tuple has zero or at least two elements")
                    .at(self.span_since(open), "only one element")
                    .hint("remove the comma"),
            ));
        }
        let mut items = vec![first];
        items.append(&mut self.comma_separated(Tok::RParen, item)?);
        self.close(Tok::RParen, open, "`,` or `)`")?;
        Ok(items)
    }

    /// Parses items separated by commas, with an optional trailing comma, up to the token `end`,
    /// which is not consumed.
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
