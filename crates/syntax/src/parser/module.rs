//! Module expressions, module types and specifications.

use super::{Parser, Res};
use crate::ast::{
    Import, Lit, ModExp, ModExpKind, ModParam, ModTypeExp, ModTypeExpKind, Spec, SpecKind, TypeBind, TypeRef,
};
use crate::token::Tok;

const fn starts_mod_atom(kind: Tok) -> bool {
    matches!(kind, Tok::Id | Tok::LParen | Tok::LCurly)
}

impl Parser<'_> {
    /// Parses a module expression.
    pub(super) fn mod_exp(&mut self) -> Res<ModExp> {
        self.nested(Self::mod_exp_inner)
    }

    fn mod_exp_inner(&mut self) -> Res<ModExp> {
        let start = self.span();
        let mut exp = match self.kind() {
            Tok::Backslash => {
                self.bump();
                let param = self.mod_param()?;
                let ty = if self.eat(Tok::Colon) { Some(Box::new(self.mod_type_atom()?)) } else { None };
                self.expect(Tok::Arrow, "`->`")?;
                let body = self.mod_exp()?;
                ModExp {
                    kind: ModExpKind::Lambda(Box::new(param), ty, Box::new(body)),
                    span: self.span_since(start),
                }
            }
            Tok::Import => ModExp { kind: ModExpKind::Import(self.import()?), span: self.span_since(start) },
            _ => self.mod_atom()?,
        };
        while starts_mod_atom(self.kind()) {
            self.count_suffix()?;
            let arg = self.mod_atom()?;
            exp = ModExp {
                kind: ModExpKind::Apply(Box::new(exp), Box::new(arg)),
                span: self.span_since(start),
            };
        }
        while self.eat(Tok::Colon) {
            self.count_suffix()?;
            let ty = self.mod_type_exp()?;
            exp = ModExp {
                kind: ModExpKind::Ascript(Box::new(exp), Box::new(ty)),
                span: self.span_since(start),
            };
        }
        Ok(exp)
    }

    fn mod_atom(&mut self) -> Res<ModExp> {
        let start = self.span();
        let kind = match self.kind() {
            Tok::Id => ModExpKind::Var(self.qual_name("a module")?),
            Tok::LParen => {
                self.bump();
                let inner = self.mod_exp()?;
                self.close(Tok::RParen, start, "`)`")?;
                ModExpKind::Parens(Box::new(inner))
            }
            Tok::LCurly => {
                self.bump();
                let decls = self.decls(true);
                self.close(Tok::RCurly, start, "a declaration or `}`")?;
                ModExpKind::Decls(decls)
            }
            _ => return self.expected("a module"),
        };
        Ok(ModExp { kind, span: self.span_since(start) })
    }

    /// Parses `import "path"`; the keyword is the current token.
    pub(super) fn import(&mut self) -> Res<Import> {
        self.bump();
        if !self.at(Tok::Str) {
            return self.expected("the path of a file as a string");
        }
        let path_span = self.span();
        let path = match self.take_lit() {
            Lit::String(path) => path.into_string(),
            _ => String::new(),
        };
        Ok(Import { path, path_span })
    }

    /// Parses `(P: MT)`.
    pub(super) fn mod_param(&mut self) -> Res<ModParam> {
        let open = self.expect(Tok::LParen, "a module parameter, like `(M: mt)`")?;
        let name = self.ident("the name of a module parameter")?;
        self.expect(Tok::Colon, "`:` and a module type")?;
        let ty = self.mod_type_exp()?;
        self.close(Tok::RParen, open, "`)`")?;
        Ok(ModParam { name, ty, span: self.span_since(open) })
    }

    /// Parses a module type expression.
    pub(super) fn mod_type_exp(&mut self) -> Res<ModTypeExp> {
        self.nested(Self::mod_type_exp_inner)
    }

    fn mod_type_exp_inner(&mut self) -> Res<ModTypeExp> {
        let start = self.span();
        if self.at(Tok::LParen) && self.kind_at(1) == Tok::Id && self.kind_at(2) == Tok::Colon {
            let param = self.mod_param()?;
            self.expect(Tok::Arrow, "`->` after a named parameter")?;
            let to = self.mod_type_exp()?;
            return Ok(ModTypeExp {
                kind: ModTypeExpKind::Arrow(Some(param.name), Box::new(param.ty), Box::new(to)),
                span: self.span_since(start),
            });
        }
        let mut exp = self.mod_type_atom()?;
        while self.eat(Tok::With) {
            self.count_suffix()?;
            let ref_start = self.span();
            let name = self.qual_name("a type of the module type")?;
            let params = self.type_params()?;
            self.expect(Tok::Equals, "`=` and a type")?;
            let body = self.type_exp()?;
            let type_ref = TypeRef { name, params, body, span: self.span_since(ref_start) };
            exp = ModTypeExp {
                kind: ModTypeExpKind::With(Box::new(exp), Box::new(type_ref)),
                span: self.span_since(start),
            };
        }
        if self.eat(Tok::Arrow) {
            let to = self.mod_type_exp()?;
            exp = ModTypeExp {
                kind: ModTypeExpKind::Arrow(None, Box::new(exp), Box::new(to)),
                span: self.span_since(start),
            };
        }
        Ok(exp)
    }

    fn mod_type_atom(&mut self) -> Res<ModTypeExp> {
        let start = self.span();
        let kind = match self.kind() {
            Tok::Id => ModTypeExpKind::Var(self.qual_name("a module type")?),
            Tok::LParen => {
                self.bump();
                let inner = self.mod_type_exp()?;
                self.close(Tok::RParen, start, "`)`")?;
                ModTypeExpKind::Parens(Box::new(inner))
            }
            Tok::LCurly => {
                self.bump();
                let specs = self.specs();
                self.close(Tok::RCurly, start, "a specification or `}`")?;
                ModTypeExpKind::Specs(specs)
            }
            _ => return self.expected("a module type"),
        };
        Ok(ModTypeExp { kind, span: self.span_since(start) })
    }

    /// Parses specifications up to the closing brace. Malformed ones are left out.
    fn specs(&mut self) -> Vec<Spec> {
        let mut specs = Vec::new();
        let braces = self.braces;
        while !matches!(self.kind(), Tok::RCurly | Tok::Eof) {
            let before = self.pos;
            match self.spec() {
                Ok(spec) => specs.push(spec),
                Err(_) => {
                    if !self.recover(before, braces, true) {
                        break;
                    }
                }
            }
        }
        self.report_trailing_docs();
        specs
    }

    fn spec(&mut self) -> Res<Spec> {
        let doc = self.take_doc();
        let start = self.span();
        let attrs = self.attrs()?;
        let kind = match self.kind() {
            Tok::Val => {
                self.bump();
                let name = self.binding_name(true)?;
                let type_params = self.type_params()?;
                self.expect(Tok::Colon, "`:` and a type")?;
                SpecKind::Val { name, type_params, ty: self.type_exp()? }
            }
            Tok::Type => {
                self.bump();
                let lifted = self.liftedness();
                let name = self.ident("the name of a type")?;
                let params = self.type_params()?;
                if self.eat(Tok::Equals) {
                    let body = self.type_exp()?;
                    SpecKind::TypeAbbr(TypeBind { lifted, name, params, body })
                } else {
                    SpecKind::Type { lifted, name, params }
                }
            }
            Tok::Module => {
                self.bump();
                let name = self.ident("the name of a module")?;
                self.expect(Tok::Colon, "`:` and a module type")?;
                SpecKind::Mod(name, self.mod_type_exp()?)
            }
            Tok::Include => {
                self.bump();
                SpecKind::Include(self.mod_type_exp()?)
            }
            _ => {
                return self.expected("a specification: `val`, `type`, `module`, `include` or `}`");
            }
        };
        Ok(Spec { kind, attrs, doc, span: self.span_since(start) })
    }
}
