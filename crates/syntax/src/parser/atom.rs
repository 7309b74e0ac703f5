//! Atoms of expressions: names, literals, brackets, sections, and projections and indices after
//! them.

use super::{Parser, Res};
use crate::ast::{DimIndex, Exp, ExpKind, Field, Lit, PathStep, QualName};
use crate::diag::Diagnostic;
use crate::span::Span;
use crate::token::Tok;

impl Parser<'_> {
    /// Parses an atom with its suffixes.
    pub(super) fn atom(&mut self) -> Res<Exp> {
        self.with_suffixes(Self::atom_inner)
    }

    fn atom_inner(&mut self) -> Res<Exp> {
        let start = self.span();
        let mut exp = self.plain_atom()?;
        loop {
            let kind = match self.kind() {
                Tok::Dot => {
                    self.bump();
                    match (&mut exp.kind, self.kind()) {
                        (ExpKind::Var(name), Tok::Id) => {
                            let next = self.take_ident();
                            name.quals.push(std::mem::replace(&mut name.name, next));
                            exp.span = self.span_since(start);
                            continue;
                        }
                        (ExpKind::Var(name), Tok::LParen) => {
                            let open = self.bump();
                            let name = name.clone();
                            let inner = self.exp()?;
                            self.close(Tok::RParen, open, "`)`")?;
                            ExpKind::QualParens(name, Box::new(inner))
                        }
                        (_, Tok::LParen) => {
                            return self.fail(Some(
                                Diagnostic::error(
                                    "open-of-non-module",
                                    "only a module can be opened in an expression",
                                )
                                .at(exp.span, "not a module"),
                            ));
                        }
                        _ => {
                            let field = self.field_name()?;
                            ExpKind::Project(Box::new(exp), field)
                        }
                    }
                }
                Tok::IndexBracket => {
                    let (dims, _) = self.index()?;
                    ExpKind::Index(Box::new(exp), dims)
                }
                _ => return Ok(exp),
            };
            self.count_suffix()?;
            exp = Exp { kind, span: self.span_since(start) };
        }
    }

    fn plain_atom(&mut self) -> Res<Exp> {
        let start = self.span();
        let kind = match self.kind() {
            Tok::Id => ExpKind::Var(QualName::from(self.take_ident())),
            Tok::Constr => ExpKind::Constr(self.take_ident(), Vec::new()),
            Tok::Nat | Tok::Int | Tok::Float | Tok::Char | Tok::Str => ExpKind::Lit(self.take_lit()),
            Tok::True | Tok::False => {
                let value = self.at(Tok::True);
                self.bump();
                ExpKind::Lit(Lit::Bool(value))
            }
            Tok::Hole => {
                self.bump();
                ExpKind::Hole
            }
            Tok::LParen => self.parens()?,
            Tok::LBracket => {
                self.bump();
                let elems = self.comma_separated(Tok::RBracket, Self::exp)?;
                self.close(Tok::RBracket, start, "`,` or `]`")?;
                ExpKind::Array(elems)
            }
            Tok::LCurly => {
                self.bump();
                let fields = self.comma_separated(Tok::RCurly, Self::record_field)?;
                self.close(Tok::RCurly, start, "`,` or `}`")?;
                ExpKind::Record(fields)
            }
            Tok::Quote | Tok::QuoteHat | Tok::QuoteTilde => {
                return self.fail(Some(
                    Diagnostic::error(
                        "invalid-character-literal",
                        "a character literal has exactly one character or escape sequence",
                    )
                    .at(start, "not a character literal")
                    .hint("write a string for several characters: `\"...\"`"),
                ));
            }
            _ => return self.expected("an expression"),
        };
        Ok(Exp { kind, span: self.span_since(start) })
    }

    /// Parses any form that begins with `(`.
    fn parens(&mut self) -> Res<ExpKind> {
        let open = self.bump();
        let kind = match self.kind() {
            Tok::RParen => {
                self.bump();
                return Ok(ExpKind::Tuple(Vec::new()));
            }
            Tok::Dot => ExpKind::PathSection(self.section_path()?),
            Tok::Minus if self.kind_at(1) != Tok::RParen => return self.exp_in_parens(open),
            kind if kind.is_infix() || kind == Tok::Backtick => {
                let operator = self.operator()?;
                if self.at(Tok::RParen) {
                    ExpKind::OpSection(operator)
                } else {
                    let right = self.nested(|p| p.op_exp(0))?;
                    ExpKind::OpSectionRight(operator, Box::new(right))
                }
            }
            _ => return self.exp_in_parens(open),
        };
        self.close(Tok::RParen, open, "`)`")?;
        Ok(kind)
    }

    /// Parses `(e)`, `(a, b)` or `(e +)`, after the opening parenthesis.
    fn exp_in_parens(&mut self, open: Span) -> Res<ExpKind> {
        let first = self.exp()?;
        if self.eat(Tok::Comma) {
            return Ok(ExpKind::Tuple(self.tuple_rest(open, first, Self::exp)?));
        }
        let kind = if self.kind().is_infix() || self.at(Tok::Backtick) {
            ExpKind::OpSectionLeft(Box::new(first), self.operator()?)
        } else {
            ExpKind::Parens(Box::new(first))
        };
        self.close(Tok::RParen, open, "an operator, `,` or `)`")?;
        Ok(kind)
    }

    fn record_field(&mut self) -> Res<Field> {
        if self.at(Tok::Id) && self.kind_at(1) != Tok::Equals {
            let name = self.take_ident();
            return Ok(Field {
                name,
                value: Exp { kind: ExpKind::Var(QualName::from(name)), span: name.span },
                punned: true,
            });
        }
        let name = self.field_name()?;
        self.expect(Tok::Equals, "`=` and the value of the field")?;
        Ok(Field { name, value: self.exp()?, punned: false })
    }

    /// Parses `[i, j:k]` and returns it with the span of the brackets.
    fn index(&mut self) -> Res<(Vec<DimIndex>, Span)> {
        let open = self.bump();
        let dims = self.comma_separated(Tok::RBracket, |p| p.nested(Self::dim_index))?;
        self.close(Tok::RBracket, open, "`:`, `,` or `]`")?;
        Ok((dims, self.span_since(open)))
    }

    /// Parses `i`, or `i:j:s` with any part absent. No part has an unparenthesised ascription: its
    /// colon would be the slice's.
    fn dim_index(&mut self) -> Res<DimIndex> {
        let start = self.span();
        let first = if self.at(Tok::Colon) { None } else { Some(self.op_exp(0)?) };
        if !self.eat(Tok::Colon) {
            return match first {
                Some(exp) => Ok(DimIndex::Fix(exp)),
                None => self.expected("an index"),
            };
        }
        let end = self.slice_part()?;
        let stride = if self.eat(Tok::Colon) { self.slice_part()? } else { None };
        Ok(DimIndex::Slice(first.map(Box::new), end, stride, self.span_since(start)))
    }

    fn slice_part(&mut self) -> Res<Option<Box<Exp>>> {
        if matches!(self.kind(), Tok::Colon | Tok::Comma | Tok::RBracket) {
            return Ok(None);
        }
        Ok(Some(Box::new(self.op_exp(0)?)))
    }

    /// Parses the path between `with`, or a variable after `let`, and `=`: `[i].x[j]`, `x.y`.
    pub(super) fn update_path(&mut self) -> Res<Vec<PathStep>> {
        let mut path = Vec::new();
        loop {
            if self.kind().is_bracket() {
                let (dims, span) = self.index()?;
                path.push(PathStep::Index(dims, span));
            } else if self.at(Tok::Dot) || path.is_empty() && self.at_field() {
                self.eat(Tok::Dot);
                path.push(PathStep::Field(self.field_name()?));
            } else if path.is_empty() {
                return self.expected("an index in brackets or a field");
            } else {
                return Ok(path);
            }
        }
    }

    /// Parses `.x.y[i]` or `.[i]` in a section.
    fn section_path(&mut self) -> Res<Vec<PathStep>> {
        let mut path = Vec::new();
        loop {
            match self.kind() {
                Tok::Dot if self.kind_at(1).is_bracket() => {
                    self.bump();
                    let (dims, span) = self.index()?;
                    path.push(PathStep::Index(dims, span));
                }
                Tok::Dot => {
                    self.bump();
                    path.push(PathStep::Field(self.field_name()?));
                }
                Tok::IndexBracket => {
                    let (dims, span) = self.index()?;
                    path.push(PathStep::Index(dims, span));
                }
                _ => return Ok(path),
            }
        }
    }
}
