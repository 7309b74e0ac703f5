//! Sequences of `let`s inside expressions.

use super::{Failed, Parser, Res};
use crate::ast::{ExpKind, LetBind, LetFun, LetKind};
use crate::diag::Diagnostic;
use crate::token::Tok;

impl Parser<'_> {
    /// Parses `let`s, with or without `in` between them, and the body. It is a loop, not a
    /// recursion, because programs have long sequences of them.
    pub(super) fn let_exp(&mut self) -> Res<ExpKind> {
        let start = self.span();
        let mut binds = Vec::new();
        match self.let_binds(&mut binds) {
            Ok(()) => self.in_scope(start, |body| ExpKind::Let(binds, body)),
            Err(Failed) => {
                let body = self.kept_bindings();
                if binds.is_empty() {
                    self.bindings = Some(body);
                    return Err(Failed);
                }
                self.keep(start, ExpKind::Let(binds, Box::new(body)))
            }
        }
    }

    fn let_binds(&mut self, binds: &mut Vec<LetBind>) -> Res<()> {
        loop {
            binds.push(self.let_bind()?);
            match self.kind() {
                Tok::In => {
                    self.bump();
                    if !self.at(Tok::Let) {
                        return Ok(());
                    }
                }
                Tok::Let => {}
                Tok::Eof | Tok::Def | Tok::Entry | Tok::Type | Tok::Module | Tok::RCurly => {
                    let bound = binds.last().map_or_else(|| self.span(), |b| b.span);
                    return self.fail(Some(
                        Diagnostic::error("missing-in", "this `let` has no body")
                            .at(self.span(), "expected `in` before this")
                            .also(bound, "the `let`")
                            .hint("write `in` and the result after the last binding"),
                    ));
                }
                _ => return self.expected("`in` or another `let`"),
            }
        }
    }

    fn let_bind(&mut self) -> Res<LetBind> {
        let start = self.bump();
        let kind = match (self.kind(), self.kind_at(1)) {
            (Tok::Id, Tok::IndexBracket | Tok::Dot) => {
                let name = self.take_ident();
                let path = self.update_path()?;
                self.expect(Tok::Equals, "`=` and the new value")?;
                LetKind::Update(name, path, Box::new(self.exp()?))
            }
            (Tok::Id, Tok::Equals | Tok::Colon) => self.let_pat()?,
            (Tok::Id, _) => {
                let name = self.take_ident();
                let type_params = self.type_params()?;
                if type_params.is_empty() && !self.starts_param() {
                    return self.expected("`=`, `:` or a parameter");
                }
                let params = self.params(1)?;
                let ret = self.return_type()?;
                self.expect(Tok::Equals, "a parameter, `:` or `=`")?;
                let body = match self.exp() {
                    Ok(body) => body,
                    Err(Failed) => {
                        let body = Box::new(self.kept_bindings());
                        return self.keep(start, ExpKind::Lambda(params, ret.map(Box::new), body));
                    }
                };
                LetKind::Fun(Box::new(LetFun { name, type_params, params, ret, body }))
            }
            _ => self.let_pat()?,
        };
        Ok(LetBind { kind, span: self.span_since(start) })
    }

    fn let_pat(&mut self) -> Res<LetKind> {
        let mut sizes = Vec::new();
        while self.kind().is_bracket() {
            sizes.push(self.size_binder()?);
        }
        let pat = self.pat()?;
        self.expect(Tok::Equals, "`=`")?;
        let init = self.exp()?;
        Ok(LetKind::Pat(sizes, Box::new(pat), Box::new(init)))
    }
}
