//! Expressions: operators, and the forms that begin with a keyword.

use super::{Failed, Parser, Res};
use crate::ast::{Case, Exp, ExpKind, Loop, LoopForm, Operator, QualName, RangeEnd};
use crate::diag::Diagnostic;
use crate::span::Span;
use crate::token::{Tok, prec};

impl Parser<'_> {
    /// Parses an expression, with `:` and `:>` ascriptions.
    pub(super) fn exp(&mut self) -> Res<Exp> {
        self.nested(Self::exp_inner)
    }

    fn exp_inner(&mut self) -> Res<Exp> {
        let start = self.span();
        let mut exp = self.op_exp(0)?;
        loop {
            let coerce = match self.kind() {
                Tok::Colon => false,
                Tok::ColonGreater => true,
                _ => return Ok(exp),
            };
            self.count_suffix()?;
            self.bump();
            let ty = Box::new(self.type_exp()?);
            let kind =
                if coerce { ExpKind::Coerce(Box::new(exp), ty) } else { ExpKind::Ascript(Box::new(exp), ty) };
            exp = Exp { kind, span: self.span_since(start) };
        }
    }

    /// Parses operands and the operators between them that bind at least as tightly as `min` (see
    /// [`prec`]).
    pub(super) fn op_exp(&mut self, min: u8) -> Res<Exp> {
        self.with_suffixes(|p| p.op_exp_inner(min))
    }

    fn op_exp_inner(&mut self, min: u8) -> Res<Exp> {
        let start = self.span();
        let mut left = self.operand()?;
        // The precedence of `left`, if it is a run of operators that can be extended.
        let mut run = None;
        loop {
            let token = self.token();
            match token.kind {
                Tok::Dots2 | Tok::Dots3 | Tok::DotsLess | Tok::DotsGreater => {
                    if min > prec::RANGE {
                        return Ok(left);
                    }
                    self.count_suffix()?;
                    left = self.range(left, start)?;
                    run = None;
                    continue;
                }
                Tok::With => {
                    if min > prec::WITH {
                        return Ok(left);
                    }
                    self.count_suffix()?;
                    self.bump();
                    let path = self.update_path()?;
                    self.expect(Tok::Equals, "`=` and the new value")?;
                    let value = self.op_exp(prec::WITH_VALUE)?;
                    left = Exp {
                        kind: ExpKind::Update(Box::new(left), path, Box::new(value)),
                        span: self.span_since(start),
                    };
                    run = None;
                    continue;
                }
                _ => {}
            }
            let prec = match token.kind {
                Tok::Backtick => prec::BACKTICK,
                kind if kind.is_infix() => token.prec,
                _ => return Ok(left),
            };
            if prec < min {
                return Ok(left);
            }
            if self.section_ends_here() {
                // In `(a + b *)` it would be unclear which part is the operand.
                if min == 0 {
                    return Ok(left);
                }
                return self.fail(Some(
                    Diagnostic::error(
                        "ambiguous-section",
                        "the operator of this section binds more tightly than its operand",
                    )
                    .at(self.span(), "")
                    .hint("put the operand in parentheses"),
                ));
            }
            let operator = self.operator()?;
            if prec == prec::PIPE_LEFT {
                let right = self.nested(|p| p.op_exp(prec::PIPE_LEFT))?;
                left = Exp {
                    kind: ExpKind::BinOp(Box::new(left), vec![(operator, right)]),
                    span: self.span_since(start),
                };
                run = None;
                continue;
            }
            let right = self.op_exp(prec + 1)?;
            let span = self.span_since(start);
            match &mut left.kind {
                ExpKind::BinOp(_, rest) if run == Some(prec) => {
                    rest.push((operator, right));
                    left.span = span;
                }
                _ => {
                    let kind = ExpKind::BinOp(Box::new(left), vec![(operator, right)]);
                    left = Exp { kind, span };
                    run = Some(prec);
                }
            }
        }
    }

    /// Returns true if the operator at the position is followed by `)`.
    fn section_ends_here(&self) -> bool {
        if !self.at(Tok::Backtick) {
            return self.kind_at(1) == Tok::RParen;
        }
        let mut ahead = 1;
        while matches!(self.kind_at(ahead), Tok::Id | Tok::Dot) {
            ahead += 1;
        }
        self.kind_at(ahead) == Tok::Backtick && self.kind_at(ahead + 1) == Tok::RParen
    }

    /// Parses an infix operator.
    pub(super) fn operator(&mut self) -> Res<Operator> {
        let start = self.span();
        let backtick = self.at(Tok::Backtick);
        let name = if backtick {
            self.bump();
            let name = self.qual_name("the name of a function")?;
            self.expect(Tok::Backtick, "a closing backtick")?;
            name
        } else if self.at(Tok::QualOp) {
            let index = self.token().data as usize;
            self.bump();
            match self.lexed.qual_ops.get(index) {
                Some(name) => name.clone(),
                None => return self.expected("an operator"),
            }
        } else if self.kind().is_infix() {
            QualName::from(self.take_ident())
        } else {
            return self.expected("an operator");
        };
        Ok(Operator { name, span: self.span_since(start), backtick })
    }

    /// Parses `..b...c`, `...c`, `..<c` or `..>c` after the first element.
    fn range(&mut self, first: Exp, start: Span) -> Res<Exp> {
        let dots = self.span();
        let second = if self.eat(Tok::Dots2) { Some(Box::new(self.op_exp(prec::RANGE + 1)?)) } else { None };
        let end = match self.kind() {
            Tok::Dots3 => RangeEnd::Inclusive,
            Tok::DotsLess => RangeEnd::UpTo,
            Tok::DotsGreater => RangeEnd::DownTo,
            _ => {
                return self.fail(Some(
                    Diagnostic::error("range-without-end", "this range has no end")
                        .at(dots, "")
                        .hint("write `a...b` to include `b`, `a..<b` or `a..>b` to exclude it"),
                ));
            }
        };
        self.bump();
        let last = self.op_exp(prec::RANGE + 1)?;
        Ok(Exp {
            kind: ExpKind::Range(Box::new(first), second, end, Box::new(last)),
            span: self.span_since(start),
        })
    }

    /// Parses an operand of infix operators.
    fn operand(&mut self) -> Res<Exp> {
        let start = self.span();
        let kind = match self.kind() {
            Tok::Minus => {
                self.bump();
                ExpKind::Negate(start, Box::new(self.nested(Self::operand)?))
            }
            Tok::Bang => {
                self.bump();
                ExpKind::Not(start, Box::new(self.nested(Self::operand)?))
            }
            Tok::If => {
                self.bump();
                let condition = self.exp()?;
                self.expect(Tok::Then, "`then`")?;
                let yes = self.exp()?;
                self.expect(Tok::Else, "`else`")?;
                let no = self.exp()?;
                ExpKind::If(Box::new(condition), Box::new(yes), Box::new(no))
            }
            Tok::Let => self.let_exp()?,
            Tok::Loop => self.loop_exp()?,
            Tok::Match => self.match_exp()?,
            Tok::Assert => {
                self.bump();
                let condition = self.atom()?;
                let result = self.exp()?;
                ExpKind::Assert(Box::new(condition), Box::new(result))
            }
            Tok::HashBracket => {
                let attr = self.attr()?;
                ExpKind::Attr(Box::new(attr), Box::new(self.exp()?))
            }
            _ => return self.application(),
        };
        Ok(Exp { kind, span: self.span_since(start) })
    }

    /// Parses a function and its arguments, of which the last may be a lambda without parentheses.
    fn application(&mut self) -> Res<Exp> {
        let start = self.span();
        if self.at(Tok::Backslash) {
            return self.lambda();
        }
        let mut head = self.atom()?;
        let mut args = Vec::new();
        loop {
            if self.at(Tok::Backslash) {
                args.push(self.lambda()?);
                break;
            }
            if !self.kind().starts_atom() {
                break;
            }
            let arg = self.atom()?;
            if args.is_empty()
                && matches!(head.kind, ExpKind::Index(..))
                && matches!(arg.kind, ExpKind::Array(_))
            {
                return self.fail(Some(
                    Diagnostic::error("split-index", "a space before `[` makes it an argument")
                        .at(arg.span, "an array, not an index")
                        .also(head.span, "the indexed array")
                        .hint("write all indices in one pair of brackets: `a[i, j]`"),
                ));
            }
            args.push(arg);
        }
        if args.is_empty() {
            return Ok(head);
        }
        let span = self.span_since(start);
        if let ExpKind::Constr(_, payload) = &mut head.kind {
            *payload = args;
            head.span = span;
            return Ok(head);
        }
        Ok(Exp { kind: ExpKind::Apply(Box::new(head), args), span })
    }

    fn lambda(&mut self) -> Res<Exp> {
        let start = self.bump();
        let params = self.params(1)?;
        let ret = if self.eat(Tok::Colon) { Some(Box::new(self.type_term()?)) } else { None };
        self.expect(Tok::Arrow, "a parameter or `->`")?;
        let kind = self.in_scope(start, |body| ExpKind::Lambda(params, ret, body))?;
        Ok(Exp { kind, span: self.span_since(start) })
    }

    fn loop_exp(&mut self) -> Res<ExpKind> {
        let start = self.bump();
        let pat = self.pat()?;
        let init = if self.eat(Tok::Equals) { Some(self.exp()?) } else { None };
        let form = match self.kind() {
            Tok::For if self.kind_at(1) == Tok::Id && self.kind_at(2) == Tok::Less => {
                self.bump();
                let var = self.take_ident();
                self.bump();
                LoopForm::For(var, self.exp()?)
            }
            Tok::For => {
                self.bump();
                let pat = self.pat()?;
                self.expect(Tok::In, "`in`, or `<` after a name,")?;
                LoopForm::ForIn(pat, self.exp()?)
            }
            Tok::While => {
                self.bump();
                LoopForm::While(self.exp()?)
            }
            _ => return self.expected("`for` or `while`"),
        };
        self.expect(Tok::Do, "`do`")?;
        self.in_scope(start, |body| ExpKind::Loop(Box::new(Loop { pat, init, form, body: *body })))
    }

    fn match_exp(&mut self) -> Res<ExpKind> {
        let whole = self.bump();
        let scrutinee = self.exp()?;
        let mut cases = Vec::new();
        while self.at(Tok::Case) || cases.is_empty() {
            let start = self.expect(Tok::Case, "`case`")?;
            let pat = self.pat()?;
            self.expect(Tok::Arrow, "`->` and the result of this case")?;
            match self.exp() {
                Ok(body) => cases.push(Case { pat, body, span: self.span_since(start) }),
                Err(Failed) => {
                    let body = self.kept_bindings();
                    cases.push(Case { pat, body, span: self.span_since(start) });
                    return self.keep(whole, ExpKind::Match(Box::new(scrutinee), cases));
                }
            }
        }
        Ok(ExpKind::Match(Box::new(scrutinee), cases))
    }
}
