//! Declarations, attributes, documentation comments, and error recovery.

use super::{Failed, Parser, Res};
use crate::ast::{
    Attr, AttrKind, Decl, DeclKind, Doc, Exp, ExpKind, Ident, Lit, ModBind, ModTypeBind, Prog, TypeBind,
    TypeExp, ValBind, ValKeyword,
};
use crate::diag::Diagnostic;
use crate::span::Span;
use crate::token::{DocToken, Tok};

impl Parser<'_> {
    pub(super) fn prog(&mut self) -> Prog {
        let doc = self.file_doc();
        let decls = self.decls(false);
        self.report_trailing_docs();
        Prog { doc, decls }
    }

    /// Parses declarations up to the end of the file, or to the closing brace of their module.
    /// Malformed ones are left out.
    pub(super) fn decls(&mut self, in_module: bool) -> Vec<Decl> {
        let mut decls = Vec::new();
        let braces = self.braces;
        while !(self.at(Tok::Eof) || in_module && self.at(Tok::RCurly)) {
            let before = self.pos;
            let mut result = self.nested(Self::decl);
            let failed = result.is_err() || std::mem::take(&mut self.needs_recovery);
            let more = !failed || self.recover(before, braces, in_module);
            if failed && let Ok(Decl { kind: DeclKind::Val(bind), span, .. }) = &mut result {
                span.end = self.span().start;
                extend_to(&mut bind.body, span.end);
            }
            decls.extend(result.ok());
            if !more {
                break;
            }
        }
        self.report_trailing_docs();
        decls
    }

    /// Error recovery: skips to a token that may start the next declaration or specification, or to
    /// the brace that closes the module. `before` is the start of the declaration that failed.
    /// Returns false at the end of the file.
    pub(super) fn recover(&mut self, before: usize, braces: u32, in_module: bool) -> bool {
        if self.pos == before && !(in_module && self.at(Tok::RCurly)) {
            self.bump();
        }
        loop {
            match self.kind() {
                Tok::Eof => return false,
                Tok::RCurly if in_module && self.braces <= braces => return true,
                Tok::Def
                | Tok::Entry
                | Tok::Val
                | Tok::Type
                | Tok::Module
                | Tok::Open
                | Tok::Local
                | Tok::Include => {
                    self.braces = braces;
                    return true;
                }
                Tok::Let | Tok::Import | Tok::HashBracket if self.starts_line() => {
                    self.braces = braces;
                    return true;
                }
                _ => {
                    self.bump();
                }
            }
        }
    }

    /// Returns true if the current token is in the first column.
    fn starts_line(&self) -> bool {
        let start = self.token().start as usize;
        start == 0 || self.source.as_bytes().get(start - 1) == Some(&b'\n')
    }

    fn decl(&mut self) -> Res<Decl> {
        self.bindings = None;
        let doc = self.take_doc();
        let start = self.span();
        let attrs = self.attrs()?;
        let kind = match self.kind() {
            Tok::Def => DeclKind::Val(Box::new(self.val_bind(ValKeyword::Def)?)),
            Tok::Let => DeclKind::Val(Box::new(self.val_bind(ValKeyword::Let)?)),
            Tok::Entry => DeclKind::Val(Box::new(self.val_bind(ValKeyword::Entry)?)),
            Tok::Type => {
                self.bump();
                let lifted = self.liftedness();
                let name = self.ident("the name of a type")?;
                let params = self.type_params()?;
                self.expect(Tok::Equals, "a type parameter or `=`")?;
                let body = self.type_exp()?;
                DeclKind::Type(TypeBind { lifted, name, params, body })
            }
            Tok::Module if self.kind_at(1) == Tok::Type => {
                self.bump();
                self.bump();
                let name = self.ident("the name of a module type")?;
                self.expect(Tok::Equals, "`=` and a module type")?;
                let body = self.mod_type_exp()?;
                DeclKind::ModType(ModTypeBind { name, body })
            }
            Tok::Module => DeclKind::Mod(self.mod_bind()?),
            Tok::Open => {
                self.bump();
                DeclKind::Open(self.mod_exp()?)
            }
            Tok::Import => DeclKind::Import(self.import()?),
            Tok::Local => {
                self.bump();
                DeclKind::Local(Box::new(self.nested(Self::decl)?))
            }
            kind => {
                let error = self.unexpected("a declaration").map(|error| match kind {
                    Tok::Id | Tok::Equals => error.hint("a definition begins with `def`: `def x = 1`"),
                    Tok::Val => error.hint("`val` specifies; `def` defines"),
                    _ => error,
                });
                return self.fail(error);
            }
        };
        Ok(Decl { kind, attrs, doc, span: self.span_since(start) })
    }

    fn mod_bind(&mut self) -> Res<ModBind> {
        self.bump();
        let name = self.ident("the name of a module")?;
        let mut params = Vec::new();
        while self.at(Tok::LParen) {
            params.push(self.mod_param()?);
        }
        let ty = if self.eat(Tok::Colon) { Some(self.mod_type_exp()?) } else { None };
        self.expect(Tok::Equals, "a module parameter, `:` or `=`")?;
        let body = self.mod_exp()?;
        Ok(ModBind { name, params, ty, body })
    }

    fn val_bind(&mut self, keyword: ValKeyword) -> Res<ValBind> {
        self.bump();
        let second = self.peek(1);
        let infix_after_name =
            self.at(Tok::Id) && (second.kind.is_infix() || matches!(second.kind, Tok::Backtick | Tok::Bang));
        let mut bind = if !infix_after_name && self.at(Tok::Id) || self.operator_in_parens_here() {
            let name = self.binding_name(false)?;
            let type_params = self.type_params()?;
            let params = self.params(0)?;
            ValBind {
                keyword,
                name,
                infix: false,
                type_params,
                params,
                ret: None,
                body: Exp { kind: ExpKind::Error, span: name.span.at_end() },
                complete: false,
            }
        } else {
            let start = self.span();
            if !self.starts_param() {
                return self.expected("a name or a parameter");
            }
            let left = self.param()?;
            if matches!(self.kind(), Tok::Equals | Tok::Colon) {
                return self.fail(Some(
                    Diagnostic::error("pattern-declaration", "a declaration binds one name, not a pattern")
                        .at(self.span_since(start), "a pattern")
                        .hint("bind the value to a name and project its components"),
                ));
            }
            let name = self.binding_operator()?;
            let right = self.param()?;
            ValBind {
                keyword,
                name,
                infix: true,
                type_params: Vec::new(),
                params: vec![left, right],
                ret: None,
                body: Exp { kind: ExpKind::Error, span: name.span.at_end() },
                complete: false,
            }
        };
        bind.ret = self.return_type()?;
        self.expect(Tok::Equals, "a parameter, `:` or `=`")?;
        match self.exp() {
            Ok(_) if matches!(self.kind(), Tok::Equals | Tok::Arrow) => {
                let what = "an operator, an argument or the next declaration";
                let _: Res<()> = self.expected(what);
                self.needs_recovery = true;
            }
            Ok(body) => (bind.body, bind.complete) = (body, true),
            // The name remains bound for later declarations.
            Err(Failed) => {
                bind.body = self.kept_bindings();
                self.needs_recovery = true;
            }
        }
        Ok(bind)
    }

    /// Parses `: t`, if present.
    pub(super) fn return_type(&mut self) -> Res<Option<TypeExp>> {
        if self.eat(Tok::Colon) {
            return self.type_exp().map(Some);
        }
        Ok(None)
    }

    // ------------------------------------------------------------ bound names

    /// Parses `f` or `(+)`; with `bare` (in specifications) also `+`.
    pub(super) fn binding_name(&mut self, bare: bool) -> Res<Ident> {
        if self.at(Tok::Id) {
            return Ok(self.take_ident());
        }
        if let Some(operator) = self.operator_in_parens()? {
            return Ok(operator);
        }
        if bare && (self.kind().is_infix() || matches!(self.kind(), Tok::Backtick | Tok::Bang)) {
            return self.binding_operator();
        }
        self.expected("a name, or an operator in parentheses")
    }

    /// Returns true if `(+)` or the start of `` (`f`) `` is next.
    fn operator_in_parens_here(&self) -> bool {
        let operator = self.kind_at(1);
        self.at(Tok::LParen)
            && (operator == Tok::Backtick
                || (operator.is_infix() || operator == Tok::Bang) && self.kind_at(2) == Tok::RParen)
    }

    /// Parses `(+)`, if it is next.
    pub(super) fn operator_in_parens(&mut self) -> Res<Option<Ident>> {
        if !self.operator_in_parens_here() {
            return Ok(None);
        }
        let open = self.bump();
        let name = self.binding_operator()?;
        self.close(Tok::RParen, open, "`)`")?;
        Ok(Some(name))
    }

    /// Parses an operator that is being defined.
    fn binding_operator(&mut self) -> Res<Ident> {
        let span = self.span();
        if self.at(Tok::Bang) {
            return self.fail(Some(
                Diagnostic::error("prefix-operator", "`!` is a prefix operator and cannot be defined")
                    .at(span, ""),
            ));
        }
        let operator = self.operator()?;
        if !operator.name.quals.is_empty() {
            return self.fail(Some(
                Diagnostic::error("qualified-binding", "a bound name cannot have a module path")
                    .at(operator.span, ""),
            ));
        }
        Ok(operator.name.name)
    }

    // -------------------------------------------------------------- attributes

    /// Parses zero or more `#[attr]`.
    pub(super) fn attrs(&mut self) -> Res<Vec<Attr>> {
        let mut attrs = Vec::new();
        while self.at(Tok::HashBracket) {
            attrs.push(self.attr()?);
        }
        Ok(attrs)
    }

    /// `#[attr]`
    pub(super) fn attr(&mut self) -> Res<Attr> {
        let open = self.bump();
        let attr = self.attr_content()?;
        self.close(Tok::RBracket, open, "`]`")?;
        Ok(attr)
    }

    fn attr_content(&mut self) -> Res<Attr> {
        let start = self.span();
        let kind = match self.kind() {
            Tok::Nat | Tok::Int => match self.take_lit() {
                Lit::Int(value, None) => AttrKind::Int(value),
                _ => {
                    return self.fail(Some(
                        Diagnostic::error(
                            "typed-attribute",
                            "a number in an attribute cannot have a type suffix",
                        )
                        .at(start, ""),
                    ));
                }
            },
            _ => {
                let name = self.ident("an attribute: a name or a number")?;
                if self.at(Tok::LParen) {
                    let open = self.bump();
                    let args = self.comma_separated(Tok::RParen, |p| p.nested(Self::attr_content))?;
                    self.close(Tok::RParen, open, "`,` or `)`")?;
                    AttrKind::Compound(name, args)
                } else {
                    AttrKind::Name(name)
                }
            }
        };
        Ok(Attr { kind, span: self.span_since(start) })
    }

    // ----------------------------------------------------------- documentation

    /// Returns the documentation of the file: the first of several documentation comments before
    /// the first declaration, or the only one if an empty line follows it.
    fn file_doc(&mut self) -> Option<Doc> {
        let &first = self.lexed.docs.first().filter(|doc| doc.before == 0)?;
        let more = self.lexed.docs.get(1).is_some_and(|doc| doc.before == 0);
        let after = self.source.get(first.span.end as usize..self.token().start as usize).unwrap_or("");
        let mut lines = after.split('\n').skip(1);
        let blank = lines.next().is_some_and(|line| line.trim().is_empty()) && lines.next().is_some();
        if !more && !blank {
            return None;
        }
        self.next_doc = 1;
        Some(self.doc(first))
    }

    /// Returns the documentation before the current token, which starts a declaration or
    /// specification. Skipped documentation comments are reported as misplaced.
    pub(super) fn take_doc(&mut self) -> Option<Doc> {
        let mut found = None;
        while let Some(&doc) = self.lexed.docs.get(self.next_doc) {
            if doc.before > self.pos {
                break;
            }
            self.next_doc += 1;
            if let Some(earlier) = found.take() {
                self.misplaced_doc(earlier);
            }
            if doc.before == self.pos {
                found = Some(doc);
            } else {
                self.misplaced_doc(doc);
            }
        }
        found.map(|doc| self.doc(doc))
    }

    /// Reports documentation comments up to the current token, which closes a file, module or
    /// module type.
    pub(super) fn report_trailing_docs(&mut self) {
        if let Some(doc) = self.take_doc() {
            self.report_misplaced_doc(doc.span);
        }
    }

    fn misplaced_doc(&mut self, doc: DocToken) {
        self.report_misplaced_doc(doc.span);
    }

    fn report_misplaced_doc(&mut self, span: Span) {
        let _: Res<()> = self.fail(Some(
            Diagnostic::error(
                "misplaced-documentation",
                "this comment documents nothing: no declaration follows it",
            )
            .at(span, "")
            .hint("remove the bar to make it an ordinary comment: `-- ...`"),
        ));
    }

    fn doc(&self, doc: DocToken) -> Doc {
        let text = self.source.get(doc.span.range()).unwrap_or("");
        let mut lines = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let line = line.trim_start();
            let line = line.strip_prefix("--").unwrap_or(line);
            let line = if i == 0 { line.strip_prefix(" |").unwrap_or(line) } else { line };
            lines.push(line.strip_prefix(' ').unwrap_or(line));
        }
        Doc { text: lines.join("\n"), span: doc.span }
    }
}

/// Extends an expression with a syntax error to an offset, also its parts that end in it.
fn extend_to(exp: &mut Exp, end: u32) {
    let mut exp = exp;
    loop {
        exp.span.end = end;
        exp = match &mut exp.kind {
            ExpKind::Let(_, body) | ExpKind::Lambda(_, _, body) => body,
            ExpKind::Loop(inner) => &mut inner.body,
            ExpKind::Match(_, cases) => {
                let Some(case) = cases.last_mut() else { return };
                case.span.end = end;
                &mut case.body
            }
            _ => return,
        };
    }
}
