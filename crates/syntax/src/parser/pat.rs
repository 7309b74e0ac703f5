//! Patterns and parameters.

use super::{Parser, Res};
use crate::ast::{Lit, Pat, PatField, PatKind};
use crate::diag::Diagnostic;
use crate::token::Tok;

impl Parser<'_> {
    /// Parses a pattern, with attribute, payload or type ascription.
    pub(super) fn pat(&mut self) -> Res<Pat> {
        self.nested(Self::pat_inner)
    }

    fn pat_inner(&mut self) -> Res<Pat> {
        let start = self.span();
        let mut pat = match self.kind() {
            Tok::HashBracket => {
                let attr = self.attr()?;
                let inner = self.pat()?;
                return Ok(Pat {
                    kind: PatKind::Attr(Box::new(attr), Box::new(inner)),
                    span: self.span_since(start),
                });
            }
            Tok::Constr => {
                let name = self.take_ident();
                let mut payload = Vec::new();
                while self.at(Tok::Minus) || self.starts_param() {
                    payload.push(self.pat_atom()?);
                }
                Pat { kind: PatKind::Constr(name, payload), span: self.span_since(start) }
            }
            _ => self.pat_atom()?,
        };
        if self.eat(Tok::Colon) {
            let ty = self.type_exp()?;
            pat = Pat { kind: PatKind::Ascript(Box::new(pat), Box::new(ty)), span: self.span_since(start) };
        }
        Ok(pat)
    }

    /// Returns true if the current token starts a parameter.
    pub(super) fn starts_param(&self) -> bool {
        matches!(
            self.kind(),
            Tok::Id
                | Tok::Underscore
                | Tok::LParen
                | Tok::LCurly
                | Tok::Constr
                | Tok::Nat
                | Tok::Int
                | Tok::Float
                | Tok::Char
                | Tok::True
                | Tok::False
        )
    }

    /// Parses parameters, at least `min` (zero or one) of them.
    pub(super) fn params(&mut self, min: usize) -> Res<Vec<Pat>> {
        let mut params = Vec::new();
        while params.len() < min || self.starts_param() {
            params.push(self.param()?);
        }
        Ok(params)
    }

    /// Parses one parameter: an atomic pattern.
    pub(super) fn param(&mut self) -> Res<Pat> {
        if self.starts_param() {
            return self.pat_atom();
        }
        self.expected("a parameter")
    }

    /// Parses a pattern that needs no parentheses as a payload; also a negative number.
    fn pat_atom(&mut self) -> Res<Pat> {
        let start = self.span();
        let kind = match self.kind() {
            Tok::Id => PatKind::Id(self.take_ident()),
            Tok::Constr => PatKind::Constr(self.take_ident(), Vec::new()),
            Tok::Underscore => {
                self.bump();
                PatKind::Wild
            }
            Tok::True | Tok::False => {
                let value = self.at(Tok::True);
                self.bump();
                PatKind::Lit(false, Lit::Bool(value))
            }
            Tok::Nat | Tok::Int | Tok::Float | Tok::Char => PatKind::Lit(false, self.take_lit()),
            Tok::Minus => {
                self.bump();
                if !matches!(self.kind(), Tok::Nat | Tok::Int | Tok::Float) {
                    return self.expected("a number after `-` in a pattern");
                }
                PatKind::Lit(true, self.take_lit())
            }
            Tok::LCurly => {
                self.bump();
                let fields = self.comma_separated(Tok::RCurly, Self::pat_field)?;
                self.close(Tok::RCurly, start, "`,` or `}`")?;
                PatKind::Record(fields)
            }
            Tok::LParen => self.pat_parens()?,
            Tok::Str => {
                return self.fail(Some(
                    Diagnostic::error("string-pattern", "a pattern cannot be a string")
                        .at(start, "")
                        .hint("compare the bytes: `and (map2 (==) xs \"text\")`"),
                ));
            }
            _ => return self.expected("a pattern"),
        };
        Ok(Pat { kind, span: self.span_since(start) })
    }

    fn pat_parens(&mut self) -> Res<PatKind> {
        if let Some(operator) = self.operator_in_parens()? {
            return Ok(PatKind::Id(operator));
        }
        let open = self.bump();
        if self.eat(Tok::RParen) {
            return Ok(PatKind::Tuple(Vec::new()));
        }
        let first = self.pat()?;
        if self.eat(Tok::Comma) {
            return Ok(PatKind::Tuple(self.tuple_rest(open, first, Self::pat)?));
        }
        self.close(Tok::RParen, open, "`,` or `)`")?;
        Ok(PatKind::Parens(Box::new(first)))
    }

    fn pat_field(&mut self) -> Res<PatField> {
        let name = self.field_name()?;
        if self.eat(Tok::Equals) {
            let pat = self.pat()?;
            return Ok(PatField { name, pat, punned: false });
        }
        let mut pat = Pat { kind: PatKind::Id(name), span: name.span };
        if self.eat(Tok::Colon) {
            let ty = self.type_exp()?;
            pat =
                Pat { kind: PatKind::Ascript(Box::new(pat), Box::new(ty)), span: self.span_since(name.span) };
        }
        Ok(PatField { name, pat, punned: true })
    }
}
