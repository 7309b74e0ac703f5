//! Expressions.
//!
//! Each form yields its typed node. The sizes that a node's type mentions and that were created
//! inside it are listed in its `ext` ([`DefinitionChecker::exp`]).

use crate::definition::AnonymousSizes;
use crate::definition::ambiguous::SizeOrigin;
use crate::definition::{DefinitionChecker, literals};
use crate::env::Entry;
use crate::infer::{BoundSizes, Origin, Sizes, error_node, node};
use crate::tast::{Case, Dim, Exp, ExpKind, Name, OverloadedOp, Ty, VarId};
use prim::ScalarType;
use std::sync::Arc;
use syntax::ast::{self, Liftedness, Lit};
use syntax::span::Span;

impl<'a> DefinitionChecker<'_, 'a> {
    /// Checks an expression.
    pub(super) fn exp(&mut self, exp: &'a ast::Exp) -> Exp {
        stacker::maybe_grow(crate::STACK_RED_ZONE, crate::STACK_GROWTH, || {
            let (mark, unknowns) = (self.infer.tables.vars.len(), self.infer.tables.unknowns);
            let mut out = self.exp_inner(exp);
            if self.infer.tables.unknowns != unknowns {
                out.existential_sizes = self.infer.tables.unknowns_since(&out.ty, mark);
            }
            self.cx.reports.set_span_too_large(self.infer.tables, exp.span);
            out
        })
    }

    fn exp_inner(&mut self, exp: &'a ast::Exp) -> Exp {
        let span = exp.span;
        match &exp.kind {
            ast::ExpKind::Lit(Lit::String(text)) => {
                let len = Dim::Const(text.len() as i64);
                let ty = Ty::array(len, Ty::Scalar(ScalarType::U8));
                node(ExpKind::String(Arc::from(text.as_bytes())), ty, span)
            }
            ast::ExpKind::Lit(lit) => {
                let ((value, parsed), ty) = literals::value(&mut self.infer, lit, span);
                self.literals.note(lit, false, &ty, span);
                node(ExpKind::Lit(value, parsed), ty, span)
            }
            ast::ExpKind::Var(name) => self.variable(name, span),
            ast::ExpKind::Hole => {
                let ty = self.infer.fresh_existential(span);
                self.holes.push((span, ty.clone()));
                node(ExpKind::Hole, ty, span)
            }
            ast::ExpKind::Error => error_node(span),
            ast::ExpKind::Parens(inner) => self.exp(inner),
            ast::ExpKind::QualParens(name, inner) => self.local_open(name, inner),
            ast::ExpKind::Tuple(parts) => {
                let parts: Vec<Exp> = parts.iter().map(|e| self.exp(e)).collect();
                let ty = Ty::Tuple(parts.iter().map(|e| e.ty.clone()).collect());
                node(ExpKind::Tuple(parts), ty, span)
            }
            ast::ExpKind::Record(fields) => self.record_exp(fields, span),
            ast::ExpKind::Array(elems) => self.array(elems, span),
            ast::ExpKind::Project(inner, label) => {
                let inner = self.exp(inner);
                self.project(inner, label)
            }
            ast::ExpKind::Index(array, indices) => {
                let array = self.exp(array);
                self.index(array, indices, span)
            }
            ast::ExpKind::Update(base, path, value) => self.update_exp(base, path, value, span),
            ast::ExpKind::Apply(fun, args) => {
                let fun = self.exp(fun);
                let args: Vec<Exp> = args.iter().map(|e| self.exp(e)).collect();
                self.apply(fun, args, span)
            }
            ast::ExpKind::Constr(label, args) => {
                let args: Vec<Exp> = args.iter().map(|e| self.exp(e)).collect();
                let name = self.cx.symbol_text(label.name);
                let exp = self.constructor(name, args, span);
                self.record_labels([label], &exp.ty, false);
                exp
            }
            ast::ExpKind::BinOp(first, rest) => {
                let mut acc = self.exp(first);
                if let Some((op, operand)) = rest.first()
                    && self.is_bare_operator(op, &acc, operand)
                {
                    return error_node(span);
                }
                for (op, operand) in rest {
                    let whole = acc.span.to(operand.span);
                    let operand = self.exp(operand);
                    acc = self.binary(op, acc, operand, whole);
                }
                acc
            }
            ast::ExpKind::Negate(op, inner) => self.prefix(OverloadedOp::Neg, *op, inner, span),
            ast::ExpKind::Not(op, inner) => self.prefix(OverloadedOp::Not, *op, inner, span),
            ast::ExpKind::OpSection(op) => self.operator(op),
            ast::ExpKind::OpSectionLeft(operand, op) => {
                let operand = self.exp(operand);
                let entry = self.cx.find_term(&op.name).map(|(entry, _)| entry);
                if let Some(Entry::Logical { and }) = entry {
                    return self.logical_section(and, Some(operand), None, span);
                }
                let fun = self.operator(op);
                self.sections.insert(span);
                self.apply(fun, vec![operand], span)
            }
            ast::ExpKind::OpSectionRight(op, operand) => self.right_section(op, operand, span),
            ast::ExpKind::PathSection(path) => self.path_section(path, span),
            ast::ExpKind::Ascript(inner, te) => {
                let inner = self.exp(inner);
                let (ty, _) = self.type_exp(te, &mut AnonymousSizes::Infer);
                self.require_sizes_of(&ty, te.span, SizeOrigin::Anonymous);
                self.unify(&ty, &inner.ty, span, "Expression does not have expected type, the ascribed type");
                inner
            }
            ast::ExpKind::Coerce(inner, te) => {
                let inner = self.exp(inner);
                let (ty, _) = self.type_exp(te, &mut AnonymousSizes::Infer);
                let result = self.infer.unifying(Sizes::Ignore, span, |u| u.unify(&ty, &inner.ty));
                if let Err(mismatch) = result {
                    let what = "the expression cannot be coerced to this type";
                    self.mismatch(&ty, &inner.ty, &mismatch, span, what);
                }
                if self.infer.infers_sizes() {
                    for size in self.infer.coerce(&ty, &inner.ty, span) {
                        self.require_size(size, te.span, SizeOrigin::Coercion);
                    }
                }
                self.require_sizes_of(&ty, te.span, SizeOrigin::Coercion);
                node(ExpKind::Coerce(Box::new(inner)), ty, span)
            }
            ast::ExpKind::Range(start, second, kind, end) => {
                self.range(start, second.as_deref(), *kind, end, span)
            }
            ast::ExpKind::If(cond, then, otherwise) => {
                let cond = self.exp(cond);
                self.unify(&Ty::BOOL, &cond.ty, cond.span, "the condition is not of type `bool`");
                let since = self.infer.tables.next_var();
                let then = self.exp(then);
                let otherwise = self.exp(otherwise);
                let what = "Cannot unify the types of the branches of this `if`";
                let ty = self.join_types((&then.ty, &otherwise.ty), since, otherwise.span, span, what);
                self.require_lifted(
                    &ty,
                    Liftedness::SizeLifted,
                    span,
                    "the result of an `if` may not be of function type",
                );
                let (then, otherwise) = (Box::new(then), Box::new(otherwise));
                node(ExpKind::If { cond: Box::new(cond), then, otherwise }, ty, span)
            }
            ast::ExpKind::Let(binds, body) => self.let_exp(binds, body, span),
            ast::ExpKind::Lambda(params, ret, body) => self.lambda(params, ret.as_deref(), body, span),
            ast::ExpKind::Loop(source) => self.loop_exp(source, span),
            ast::ExpKind::Match(scrutinee, cases) => self.match_exp(scrutinee, cases, span),
            ast::ExpKind::Assert(cond, inner) => {
                let text = Arc::from(self.cx.reports.snippet(cond.span));
                let cond = self.exp(cond);
                self.unify(&Ty::BOOL, &cond.ty, cond.span, "an assertion must be of type `bool`");
                let inner = self.exp(inner);
                let ty = inner.ty.clone();
                let (cond, exp) = (Box::new(cond), Box::new(inner));
                node(ExpKind::Assert { cond, source_text: text, exp }, ty, span)
            }
            ast::ExpKind::Attr(attr, inner) => {
                let attr = self.cx.symbols.attr(attr);
                let mut inner = self.exp(inner);
                if let ExpKind::Attr(attrs, _) = &mut inner.kind {
                    attrs.insert(0, attr);
                    return inner;
                }
                let ty = inner.ty.clone();
                node(ExpKind::Attr(vec![attr], Box::new(inner)), ty, span)
            }
        }
    }

    // --------------------------------------------------------------- branches

    /// The type of the result of two branches: sizes that differ become unknown. Anonymous sizes
    /// older than `since` are not unified for it.
    pub(super) fn join_types(
        &mut self,
        (a, b): (&Ty, &Ty),
        since: VarId,
        at: Span,
        span: Span,
        what: &str,
    ) -> Ty {
        let before = self.infer.deferred();
        let result = self.infer.unifying(Sizes::Join(since), at, |u| u.unify(a, b));
        if let Err(mismatch) = result {
            self.mismatch(a, b, &mismatch, at, what);
            return a.clone();
        }
        self.infer.forget_deferred(before);
        let a = if self.infer.tables.resolve_head(a).is_error() { b } else { a };
        if self.infer.infers_sizes() { self.infer.join(a, b, span) } else { a.clone() }
    }

    /// Checks `#label args`. The sizes of the other constructors' payloads are taken from the
    /// context.
    fn constructor(&mut self, label: Name, args: Vec<Exp>, span: Span) -> Exp {
        let payload = args.iter().map(|e| e.ty.clone()).collect();
        let (ty, expected) = (self.infer).fresh_sum(&label, payload, Origin::ABSORBING, span);
        for (expected, arg) in expected.iter().zip(&args) {
            let what = "the payload does not have the type of the constructor";
            self.unify(expected, &arg.ty, arg.span, what);
        }
        node(ExpKind::Constr(label, args), ty, span)
    }

    fn match_exp(&mut self, scrutinee: &'a ast::Exp, cases: &'a [ast::Case], span: Span) -> Exp {
        let scrutinee = self.exp(scrutinee);
        self.needed_checks.refutable = true;
        let since = self.infer.tables.next_var();
        let mut ty: Option<Ty> = None;
        let mut out = Vec::new();
        for case in cases {
            let (pat, body) = self.scoped(case.span, |c| {
                let pat = c.pattern(&case.pat, Some(&scrutinee.ty));
                let what = "the pattern cannot match the value: their types differ";
                c.unify(&scrutinee.ty, &pat.ty, pat.span, what);
                let body = c.exp(&case.body);
                (pat, body)
            });
            let body_ty = self.infer.exit_scope(&body.ty, &mut BoundSizes::default(), body.span);
            ty = Some(match ty {
                None => body_ty,
                Some(ty) => {
                    let what = "Cannot unify the types of the cases of this `match`";
                    self.join_types((&ty, &body_ty), since, body.span, span, what)
                }
            });
            out.push(Case { pat, body });
        }
        let ty = ty.unwrap_or(Ty::ERROR);
        let what = "the result of a `match` may not be of function type";
        self.require_lifted(&ty, Liftedness::SizeLifted, span, what);
        node(ExpKind::Match { scrutinee: Box::new(scrutinee), cases: out }, ty, span)
    }
}
