//! Type expressions and type parameters.

use super::{Parser, Res};
use crate::ast::{
    Ident, Liftedness, SizeExp, TypeArg, TypeConstr, TypeExp, TypeExpKind, TypeParam, TypeParamKind,
};
use crate::token::Tok;

const fn starts_atom(kind: Tok) -> bool {
    matches!(kind, Tok::LParen | Tok::LCurly | Tok::LBracket | Tok::IndexBracket | Tok::Id)
}

impl Parser<'_> {
    /// Parses a type, with arrows and existential quantifiers.
    pub(super) fn type_exp(&mut self) -> Res<TypeExp> {
        self.nested(Self::type_exp_inner)
    }

    fn type_exp_inner(&mut self) -> Res<TypeExp> {
        let start = self.span();
        let kind = if self.at(Tok::Question) {
            self.bump();
            let mut sizes = vec![self.size_binder()?];
            while self.kind().is_bracket() {
                sizes.push(self.size_binder()?);
            }
            self.expect(Tok::Dot, "`.` after the existential sizes")?;
            TypeExpKind::Exists(sizes, Box::new(self.type_exp()?))
        } else if self.at(Tok::LParen) && self.kind_at(1) == Tok::Id && self.kind_at(2) == Tok::Colon {
            let open = self.bump();
            let name = self.take_ident();
            self.bump();
            let from = self.type_exp()?;
            self.close(Tok::RParen, open, "`)`")?;
            self.expect(Tok::Arrow, "`->` after a named parameter")?;
            TypeExpKind::Arrow(Some(name), Box::new(from), Box::new(self.type_exp()?))
        } else {
            let from = self.type_term()?;
            if !self.eat(Tok::Arrow) {
                return Ok(from);
            }
            TypeExpKind::Arrow(None, Box::new(from), Box::new(self.type_exp()?))
        };
        Ok(TypeExp { kind, span: self.span_since(start) })
    }

    /// Parses a type without an unparenthesised arrow.
    pub(super) fn type_term(&mut self) -> Res<TypeExp> {
        self.nested(Self::type_term_inner)
    }

    fn type_term_inner(&mut self) -> Res<TypeExp> {
        let start = self.span();
        let kind = match self.kind() {
            Tok::Star => {
                self.bump();
                TypeExpKind::Unique(Box::new(self.type_term()?))
            }
            Tok::Constr => {
                let mut constrs = vec![self.type_constr()?];
                while self.eat(Tok::Pipe) {
                    if !self.at(Tok::Constr) {
                        return self.expected("a constructor, `#` and a name");
                    }
                    constrs.push(self.type_constr()?);
                }
                TypeExpKind::Sum(constrs)
            }
            _ => {
                let head = self.type_atom()?;
                let mut args = Vec::new();
                while starts_atom(self.kind()) {
                    args.push(if self.kind().is_bracket() {
                        TypeArg::Size(self.size_exp()?)
                    } else {
                        TypeArg::Type(self.type_atom()?)
                    });
                }
                if args.is_empty() {
                    return Ok(head);
                }
                TypeExpKind::Apply(Box::new(head), args)
            }
        };
        Ok(TypeExp { kind, span: self.span_since(start) })
    }

    fn type_constr(&mut self) -> Res<TypeConstr> {
        let name = self.take_ident();
        let mut payload = Vec::new();
        while starts_atom(self.kind()) {
            payload.push(self.type_atom()?);
        }
        Ok(TypeConstr { name, payload, span: self.span_since(name.span) })
    }

    fn type_atom(&mut self) -> Res<TypeExp> {
        let start = self.span();
        let kind = match self.kind() {
            Tok::Id => TypeExpKind::Var(self.qual_name("a type")?),
            Tok::LBracket | Tok::IndexBracket => {
                let size = self.size_exp()?;
                TypeExpKind::Array(size, Box::new(self.type_term()?))
            }
            Tok::LCurly => {
                self.bump();
                let fields = self.comma_separated(Tok::RCurly, |p| {
                    let name = p.field_name()?;
                    p.expect(Tok::Colon, "`:` and the type of the field")?;
                    Ok((name, p.type_exp()?))
                })?;
                self.close(Tok::RCurly, start, "`,` or `}`")?;
                TypeExpKind::Record(fields)
            }
            Tok::LParen => {
                self.bump();
                if self.eat(Tok::RParen) {
                    TypeExpKind::Tuple(Vec::new())
                } else {
                    let first = self.type_exp()?;
                    if self.eat(Tok::Comma) {
                        TypeExpKind::Tuple(self.tuple_rest(start, first, Self::type_exp)?)
                    } else {
                        self.close(Tok::RParen, start, "`,` or `)`")?;
                        TypeExpKind::Parens(Box::new(first))
                    }
                }
            }
            _ => return self.expected("a type"),
        };
        Ok(TypeExp { kind, span: self.span_since(start) })
    }

    /// Parses `[e]` or `[]`.
    fn size_exp(&mut self) -> Res<SizeExp> {
        let open = self.bump();
        let size = if self.at(Tok::RBracket) { None } else { Some(Box::new(self.exp()?)) };
        self.close(Tok::RBracket, open, "`]`")?;
        Ok(SizeExp { size, span: self.span_since(open) })
    }

    /// Parses `[n]`, a binding of `n`.
    pub(super) fn size_binder(&mut self) -> Res<Ident> {
        if !self.kind().is_bracket() {
            return self.expected("a size in brackets, like `[n]`");
        }
        let open = self.bump();
        let name = self.ident("the name of a size")?;
        self.close(Tok::RBracket, open, "`]`")?;
        Ok(name)
    }

    /// Parses any number of `[n]`, `'a`, `'~a` and `'^a`.
    pub(super) fn type_params(&mut self) -> Res<Vec<TypeParam>> {
        let mut params = Vec::new();
        loop {
            let start = self.span();
            let lifted = match self.kind() {
                Tok::LBracket | Tok::IndexBracket => None,
                Tok::Quote => Some(Liftedness::Unlifted),
                Tok::QuoteTilde => Some(Liftedness::SizeLifted),
                Tok::QuoteHat => Some(Liftedness::Lifted),
                _ => return Ok(params),
            };
            let (kind, name) = if let Some(lifted) = lifted {
                self.bump();
                let name = self.ident("the name of a type parameter")?;
                (TypeParamKind::Type(lifted), name)
            } else {
                (TypeParamKind::Size, self.size_binder()?)
            };
            params.push(TypeParam { kind, name, span: self.span_since(start) });
        }
    }

    /// Parses the liftedness after the keyword `type`: nothing, `~` or `^`.
    pub(super) fn liftedness(&mut self) -> Liftedness {
        match self.kind() {
            Tok::Tilde => {
                self.bump();
                Liftedness::SizeLifted
            }
            Tok::Hat => {
                self.bump();
                Liftedness::Lifted
            }
            _ => Liftedness::Unlifted,
        }
    }
}
