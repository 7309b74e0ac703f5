//! Operators, sections and application.

use crate::definition::DefinitionChecker;
use crate::env::Entry;
use crate::infer::{InferTables, Sizes, error_node, node};
use crate::intrinsics::Intrinsic;
use crate::subst::Subst;
use crate::tast::{Bind, Exp, ExpKind, Lambda, OverloadedOp, Pat, Ty, VarId};
use std::sync::Arc;
use syntax::ast::{self, Liftedness};
use syntax::diag::Diagnostic;
use syntax::span::Span;

impl<'a> DefinitionChecker<'_, 'a> {
    pub(super) fn operator(&mut self, op: &'a ast::Operator) -> Exp {
        self.variable(&op.name, op.span)
    }

    pub(super) fn binary(&mut self, op: &'a ast::Operator, left: Exp, right: Exp, span: Span) -> Exp {
        let Some((entry, labels)) = self.cx.find_term(&op.name) else {
            return error_node(span);
        };
        if let (Entry::Logical { and }, []) = (&entry, labels.as_slice()) {
            let what = "an operand of a logical operator must be of type `bool`";
            self.unify(&Ty::BOOL, &left.ty, left.span, what);
            self.unify(&Ty::BOOL, &right.ty, right.span, what);
            let (left, right) = (Box::new(left), Box::new(right));
            let kind = if *and { ExpKind::And(left, right) } else { ExpKind::Or(left, right) };
            return node(kind, Ty::BOOL, span);
        }
        let mut fun = self.reference(&entry, op.span);
        for label in labels {
            fun = self.project(fun, label);
        }
        let mut exp = self.apply(fun, vec![left, right], span);
        if let ExpKind::Apply { infix, .. } = &mut exp.kind {
            *infix = true;
        }
        exp
    }

    /// Reports an operator after a function, to which it cannot be applied: `reduce + 0 xs`.
    /// Returns true if so.
    pub(super) fn is_bare_operator(&mut self, op: &ast::Operator, fun: &Exp, operand: &ast::Exp) -> bool {
        let entry = (op.name.quals.is_empty()).then(|| self.cx.env.term(op.name.name.name));
        let built_in = matches!(entry.flatten(), Some(Entry::Operator(_) | Entry::Logical { .. }));
        let ty = self.infer.tables.resolve_head(&fun.ty);
        if !built_in || !matches!(ty, Ty::Arrow(_)) {
            return false;
        }
        let op_text = self.cx.symbol_text(op.name.name.name);
        let (name, rest) = (self.cx.reports.excerpt(fun.span), self.cx.reports.excerpt(operand.span));
        self.cx.report(
            Diagnostic::error(
                "not-a-scalar",
                format!("The operator \"{op_text}\" cannot be applied to the function \"{name}\""),
            )
            .at(op.span, "")
            .note(format!("\"{name}\" has type \"{}\"", self.infer.tables.show(&ty)))
            .hint(format!(
                "to pass the operator to the function, put it in parentheses: `{name} ({op_text}) {rest}`"
            )),
        );
        true
    }

    pub(super) fn prefix(&mut self, op: OverloadedOp, at: Span, operand: &'a ast::Exp, span: Span) -> Exp {
        let is_literal = matches!(operand.kind, ast::ExpKind::Lit(_));
        let noted = self.literals.count();
        let operand = self.exp(operand);
        if is_literal && op == OverloadedOp::Neg {
            self.literals.negate(noted);
        }
        let fun = self.infer.overloaded(op, at);
        self.apply(fun, vec![operand], span)
    }

    /// `&&` or `||` as a function, with up to two operands given.
    pub(super) fn logical_section(
        &mut self,
        and: bool,
        left: Option<Exp>,
        right: Option<Exp>,
        span: Span,
    ) -> Exp {
        for operand in [&left, &right].into_iter().flatten() {
            let what = "an operand of a logical operator must be of type `bool`";
            self.unify(&Ty::BOOL, &operand.ty, operand.span, what);
        }
        let mut params = Vec::new();
        let mut operand = |c: &mut Self, given: Option<Exp>| {
            given.unwrap_or_else(|| {
                let (pat, exp) = c.infer.hidden_param(Ty::BOOL, span);
                params.push(pat);
                exp
            })
        };
        let left = Box::new(operand(self, left));
        let right = Box::new(operand(self, right));
        let kind = if and { ExpKind::And(left, right) } else { ExpKind::Or(left, right) };
        let mark = self.infer.tables.vars.len();
        self.section(params, node(kind, Ty::BOOL, span), mark, span)
    }

    /// Checks `(op e)`. The operand is evaluated once.
    pub(super) fn right_section(&mut self, op: &'a ast::Operator, operand: &'a ast::Exp, span: Span) -> Exp {
        let operand = self.exp(operand);
        let entry = self.cx.find_term(&op.name).map(|(entry, _)| entry);
        if let Some(Entry::Logical { and }) = entry {
            return self.logical_section(and, None, Some(operand), span);
        }
        let fun = self.operator(op);
        let simple = matches!(operand.kind, ExpKind::Lit(..) | ExpKind::Var { .. });
        let (bind, operand) = if simple {
            (None, operand)
        } else {
            let (pat, var) = self.infer.hidden_param(operand.ty.clone(), operand.span);
            (Some(Bind::Pat { sizes: Vec::new(), pat, rhs: operand }), var)
        };
        let param_ty = match self.infer.tables.resolve_head(&fun.ty) {
            Ty::Arrow(arrow) => arrow.param.clone(),
            _ => self.infer.open_ty("t", Liftedness::Lifted, span),
        };
        let mark = self.infer.tables.vars.len();
        let (pat, var) = self.infer.hidden_param(param_ty, span);
        let body = self.apply(fun, vec![var, operand], span);
        let section = self.section(vec![pat], body, mark, span);
        match bind {
            None => section,
            Some(bind) => {
                let ty = section.ty.clone();
                node(ExpKind::Let { binds: vec![bind], body: Box::new(section) }, ty, span)
            }
        }
    }

    pub(super) fn path_section(&mut self, path: &'a [ast::PathStep], span: Span) -> Exp {
        let ty = self.infer.fresh(span);
        let mark = self.infer.tables.vars.len();
        let (pat, var) = self.infer.hidden_param(ty, span);
        let mut body = var;
        for step in path {
            body = match step {
                ast::PathStep::Field(label) => self.project(body, label),
                ast::PathStep::Index(indices, at) => {
                    // Open types get as many dimensions as there are indices.
                    let depth = indices.len();
                    self.constrain_rank(&body.ty, depth, *at);
                    self.index(body, indices, *at)
                }
            };
        }
        self.section(vec![pat], body, mark, span)
    }

    /// A lambda for a section. Variables since `mark` belong to it.
    fn section(&mut self, params: Vec<Pat>, body: Exp, mark: usize, span: Span) -> Exp {
        let ret = self.infer.tables.inferred_ret(&body.ty, mark);
        let (ret, ty) = self.infer.exported_function_type(&params, ret, span);
        let lambda = Lambda { params, ret, body };
        node(ExpKind::Lambda(Arc::new(lambda)), ty, span)
    }

    // ------------------------------------------------------------ application

    /// Applies a function to arguments that have been checked.
    pub(super) fn apply(&mut self, fun: Exp, args: Vec<Exp>, span: Span) -> Exp {
        let mark = self.infer.tables.vars.len();
        let mut ty = fun.ty.clone();
        for (i, arg) in args.iter().enumerate() {
            if let Some(ret) = self.apply_ty(&ty, arg, &fun, i) {
                ty = ret;
            } else {
                ty = Ty::ERROR;
                break;
            }
        }
        let ext = if self.infer.infers_sizes() {
            ty = self.infer.limit_sizes(&ty, span);
            let ext = self.infer.tables.unknowns_since(&ty, mark);
            self.check_function_result(&ty, &ext, &fun, &args, span);
            ext
        } else {
            Vec::new()
        };
        Exp {
            kind: ExpKind::Apply { fun: Box::new(fun), args, infix: false },
            ty,
            existential_sizes: ext,
            span,
        }
    }

    /// Reports an application that returns a function with a parameter whose type has a size
    /// unknown to every caller: no argument could have that type.
    fn check_function_result(&mut self, ty: &Ty, sizes: &[VarId], fun: &Exp, args: &[Exp], span: Span) {
        if sizes.is_empty() || !matches!(self.infer.tables.resolve_head(ty), Ty::Arrow(_)) {
            return;
        }
        let ty = self.infer.tables.resolve(ty);
        let needed = crate::carried_sizes::in_parameters(&ty);
        if let Some(var) = sizes.iter().find(|var| needed.contains(var)) {
            let name = Arc::clone(&self.infer.tables.var(*var).name);
            let fun = function_name(self.infer.tables, fun).unwrap_or_else(|| "the function".to_owned());
            let arg = args.last().map_or(String::new(), |arg| self.cx.reports.excerpt(arg.span));
            let message = format!(
                "Existential size would appear in a parameter: \"{fun}\" applied to \"{arg}\" \
                 returns a function whose parameter has an unknown size \"{name}\""
            );
            let shown = self.infer.tables.show(&ty);
            self.cx.report(
                Diagnostic::error("existential-parameter", message)
                    .at(span, "")
                    .note(format!("the returned function has type \"{shown}\""))
                    .note("the size may differ at each call, so no argument is sure to have it")
                    .hint("apply the function to all arguments at once, or use a pipeline `x |> f |> g`"),
            );
        }
    }

    /// The type of the application of a value of type `ty` to `arg`, which is argument `i` of
    /// `fun`.
    pub(super) fn apply_ty(&mut self, ty: &Ty, arg: &Exp, fun: &Exp, i: usize) -> Option<Ty> {
        match self.infer.tables.resolve_head(ty) {
            Ty::Arrow(arrow) => {
                let result = self.infer.unifying(Sizes::Strict, arg.span, |u| u.unify(&arrow.param, &arg.ty));
                if let Err(mismatch) = result {
                    // Continue as if the argument had matched.
                    let what = self.argument_message(fun, arg, i);
                    let diag = self.mismatch_error(&arrow.param, &arg.ty, &mismatch, arg.span, &what);
                    if let Some(diag) = diag {
                        let diag = self.hint_call(diag, &mismatch, fun, arg);
                        self.cx.report(diag);
                    }
                }
                let mut subst = Subst::default();
                if let Some(name) = arrow.name {
                    let dim = if let Some(dim) = crate::sizes::from_exp(arg) {
                        dim
                    } else {
                        let text = Arc::clone(&self.infer.tables.var(name).name);
                        self.infer.unknown(text, arg.span)
                    };
                    subst.dims.push((name, dim));
                }
                for ext in &arrow.ret.existential_sizes {
                    let text = Arc::clone(&self.infer.tables.var(*ext).name);
                    let unknown = self.infer.unknown(text, fun.span);
                    subst.dims.push((*ext, unknown));
                }
                let mut ret = subst.ty(&arrow.ret.ty);
                if let Some(name) = arrow.name
                    && self.infer.tables.var(name).is_param_name
                {
                    ret = self.infer.close_dependent_result(&ret, fun.span);
                }
                Some(if self.infer.infers_sizes() {
                    self.infer.bind_existential(&ret, fun.span)
                } else {
                    ret
                })
            }
            Ty::Var(var) if self.infer.tables.is_open_ty(var) => {
                let ret = self.infer.open_ty("t", Liftedness::Lifted, arg.span);
                let arrow = Ty::arrow(arg.ty.clone(), ret.clone());
                let what = "Cannot apply function: its type does not match this application";
                self.unify(&Ty::Var(var), &arrow, fun.span, what).then_some(ret)
            }
            error if error.is_error() => Some(error),
            other => {
                let text = self.infer.tables.show(&other);
                let message = if i == 0 {
                    "Cannot apply expression as function: it is not a function".to_owned()
                } else {
                    let plural = if i == 1 { "" } else { "s" };
                    format!("too many arguments: the function takes only {i} argument{plural}")
                };
                let at = if i == 0 { fun.span } else { arg.span };
                // After an argument with an error, this error is suppressed.
                if !self.cx.reports.has_error_within(fun.span.to(arg.span)) {
                    let diag = Diagnostic::error("not-a-function", message)
                        .at(at, "")
                        .note(format!("its type is \"{text}\""));
                    let diag = self.note_shadowing(diag, fun);
                    self.cx.report(diag);
                }
                None
            }
        }
    }

    /// The message for an argument of the wrong type.
    fn argument_message(&self, fun: &Exp, arg: &Exp, i: usize) -> String {
        let arg = self.cx.reports.excerpt(arg.span);
        let n = i + 1;
        match function_name(self.infer.tables, fun) {
            Some(name) => {
                format!("Cannot apply \"{name}\" to \"{arg}\": argument {n} has the wrong type")
            }
            None => format!("Cannot apply function to \"{arg}\": argument {n} has the wrong type"),
        }
    }
}

/// The name of a function, if it has one.
fn function_name(tables: &InferTables, fun: &Exp) -> Option<String> {
    match &fun.kind {
        ExpKind::Var { id, .. } => Some(tables.var(*id).name.to_string()),
        ExpKind::Operator(op) => Some(op.spelling().to_owned()),
        ExpKind::Intrinsic { fun: Intrinsic::Equal { negate }, .. } => {
            Some(if *negate { "!=" } else { "==" }.to_owned())
        }
        _ => None,
    }
}
