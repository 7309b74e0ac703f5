//! Loops, and which sizes of their parameters vary.
//!
//! A loop is first checked as if every size of its initial values stayed the
//! same. Where the body gives another size, that size is made a variable of the
//! loop and the body is checked again, until the sizes agree.

use crate::checker::{Checker, Known};
use crate::dims::{self, Cmp};
use crate::exps::node;
use crate::infer::{Mentions, Scalars, VarState};
use crate::tast::{Dim, Exp, ExpKind, LoopForm, Pat, Ty, VarId};
use crate::unify::Sizes;
use std::sync::Arc;
use syntax::ast::{self, Liftedness};
use syntax::span::Span;

/// What drives the loop, as far as it is checked outside of it.
enum Driver<'a> {
    For(&'a ast::Ident, Exp),
    ForIn(&'a ast::Pat, Exp),
    While(&'a ast::Exp),
}

/// One way of checking the loop.
struct Attempt {
    pat: Pat,
    form: LoopForm,
    body: Exp,
    sizes: Vec<VarId>,
    param: Ty,
    /// Sizes, by position, that the body changes.
    varying: Vec<usize>,
}

impl<'a> Checker<'a> {
    /// `loop pat = init form do body`.
    pub(crate) fn loop_exp(&mut self, source: &'a ast::Loop, span: Span) -> Exp {
        let init = match &source.init {
            Some(init) => self.exp(init),
            None => self.init_of(&source.pat),
        };
        let what = "a loop parameter may not be of function type";
        self.require_lifted(&init.ty, Liftedness::SizeLifted, init.span, what);
        let driver = match &source.form {
            ast::LoopForm::For(name, bound) => {
                let bound = self.exp(bound);
                let what = "the bound of a loop must be an integer";
                self.require_scalar(&bound.ty, Scalars::INTS, bound.span, what);
                Driver::For(name, bound)
            }
            ast::LoopForm::ForIn(pat, array) => {
                let array = self.exp(array);
                let elem = self.fresh_ty("t", Liftedness::Unlifted, array.span);
                let ty = Ty::array(self.fresh_dim("n"), elem);
                self.unify(&ty, &array.ty, array.span, "the loop runs over an array");
                Driver::ForIn(pat, array)
            }
            ast::LoopForm::While(cond) => Driver::While(cond),
        };
        let mut varying: Vec<usize> = Vec::new();
        loop {
            let errors = self.diags.len();
            let deferred = self.deferred.len();
            let wanted = self.wanted.len();
            let mark = self.tables.mark();
            self.tables.speculating += 1;
            let attempt = self.attempt_loop(source, &driver, &init, &varying);
            self.tables.speculating -= 1;
            let new: Vec<usize> = attempt
                .varying
                .iter()
                .copied()
                .filter(|i| !varying.contains(i))
                .collect();
            if new.is_empty() {
                self.tables.commit();
                return self.finish_loop(attempt, driver, init, span);
            }
            // What was learnt of the types, without the sizes, is kept.
            let shape = self.tables.resolve(&attempt.param);
            self.tables.rollback(mark);
            self.diags.truncate(errors);
            self.deferred.truncate(deferred);
            self.wanted.truncate(wanted);
            let learnt = self.freshen(&shape);
            let result = self.unifying(Sizes::Strict, span, |u| u.unify(&learnt, &init.ty));
            if let Err(mismatch) = result {
                self.mismatch(&learnt, &init.ty, &mismatch, span, "bad initial values");
            }
            varying.extend(new);
        }
    }

    fn attempt_loop(
        &mut self,
        source: &'a ast::Loop,
        driver: &Driver<'a>,
        init: &Exp,
        varying: &[usize],
    ) -> Attempt {
        self.scoped(|c| {
            let start = c.tables.resolve(&init.ty);
            let mut sizes = Vec::new();
            let mut position = 0;
            let param = replace_dims(&start, &mut |dim| {
                let here = position;
                position += 1;
                if !varying.contains(&here) {
                    return dim.clone();
                }
                let name = match dim {
                    Dim::Var(var) => Arc::clone(&c.tables.var(*var).name),
                    _ => Arc::from("k"),
                };
                let var = c.tables.new_var(name, VarState::Value, c.depth);
                sizes.push(var);
                Dim::Var(var)
            });
            let mut bound = Vec::new();
            let pat = c.pat(&source.pat, &mut bound);
            c.unify_loop_pattern(&pat, &param);
            let form = match driver {
                Driver::For(name, bound) => {
                    let text = c.name(name.name);
                    let id = c.new_value(text, name.span);
                    c.bind_mono(name.name, id, bound.ty.clone(), name.span);
                    LoopForm::For(
                        id,
                        Box::new(node(ExpKind::Hole, bound.ty.clone(), bound.span)),
                    )
                }
                Driver::ForIn(pat, array) => {
                    let pat = c.pat(pat, &mut bound);
                    if let Ty::Array(ty) = c.tables.shallow(&array.ty) {
                        let what = "the pattern does not fit the elements";
                        c.unify(&ty.elem, &pat.ty, pat.span, what);
                    }
                    LoopForm::ForIn(
                        Box::new(pat),
                        Box::new(node(ExpKind::Hole, array.ty.clone(), array.span)),
                    )
                }
                Driver::While(cond) => {
                    let cond = c.exp(cond);
                    c.unify(
                        &Ty::BOOL,
                        &cond.ty,
                        cond.span,
                        "the condition is not of type `bool`",
                    );
                    LoopForm::While(Box::new(cond))
                }
            };
            let body = c.exp(&source.body);
            let span = body.span;
            let result = c.unifying(Sizes::Join(VarId(0)), span, |u| u.unify(&param, &body.ty));
            if let Err(mismatch) = result {
                let what = "Loop body does not have expected type, that of the loop parameter";
                c.mismatch(&param, &body.ty, &mismatch, span, what);
            }
            let expected = c.tables.resolve(&param);
            let found = c.tables.resolve(&body.ty);
            let mut varying = Vec::new();
            compare_sizes(&expected, &found, &mut 0, &mut varying);
            Attempt {
                pat,
                form,
                body,
                sizes,
                param,
                varying,
            }
        })
    }

    /// The pattern's types against those of the parameters. A size in the
    /// pattern that is itself a loop parameter is left to the running program.
    fn unify_loop_pattern(&mut self, pat: &Pat, param: &Ty) {
        let mut own = Vec::new();
        crate::visit::bound_vars(pat, &mut |id, _| own.push(id));
        let pat_ty = self.tables.resolve(&pat.ty);
        let dependent = Mentions::of(&pat_ty).dims.iter().any(|v| own.contains(v));
        let sizes = if dependent {
            Sizes::Ignore
        } else {
            Sizes::Strict
        };
        let result = self.unifying(sizes, pat.span, |u| u.unify(&pat_ty, param));
        if let Err(mismatch) = result {
            let what =
                "Initial loop values do not have expected type. The pattern asks for another";
            self.mismatch(&pat_ty, param, &mismatch, pat.span, what);
        }
    }

    fn finish_loop(&mut self, attempt: Attempt, driver: Driver<'a>, init: Exp, span: Span) -> Exp {
        let Attempt {
            pat,
            form,
            body,
            sizes,
            param,
            varying: _,
        } = attempt;
        // Attempts have a placeholder where the bound or the array goes.
        let form = match (form, driver) {
            (LoopForm::For(var, _), Driver::For(_, bound)) => LoopForm::For(var, Box::new(bound)),
            (LoopForm::ForIn(pat, _), Driver::ForIn(_, array)) => {
                LoopForm::ForIn(pat, Box::new(array))
            }
            (form, _) => form,
        };
        let ty = self.leave_ty(&param, &mut Known::default(), span);
        let (pat, init, body) = (Box::new(pat), Box::new(init), Box::new(body));
        node(
            ExpKind::Loop {
                sizes,
                pat,
                init,
                form,
                body,
            },
            ty,
            span,
        )
    }

    /// The initial value of a loop without one: the variables of its pattern.
    fn init_of(&mut self, pat: &'a ast::Pat) -> Exp {
        let span = pat.span;
        match &pat.kind {
            ast::PatKind::Id(ident) => {
                if let Some(crate::env::Entry::Value(entry)) = self.env.term(ident.name).cloned() {
                    self.instantiate(&entry, span)
                } else {
                    let name = self.name(ident.name);
                    self.error(
                        "unknown-variable",
                        span,
                        format!("Unknown name \"{name}\" to start the loop with"),
                    );
                    let ty = self.fresh(span);
                    node(ExpKind::Hole, ty, span)
                }
            }
            ast::PatKind::Parens(inner)
            | ast::PatKind::Ascript(inner, _)
            | ast::PatKind::Attr(_, inner) => self.init_of(inner),
            ast::PatKind::Tuple(parts) => {
                let parts: Vec<Exp> = parts.iter().map(|p| self.init_of(p)).collect();
                let ty = Ty::Tuple(parts.iter().map(|e| e.ty.clone()).collect());
                node(ExpKind::Tuple(parts), ty, span)
            }
            ast::PatKind::Record(fields) => {
                let mut parts = Vec::new();
                for field in fields {
                    let name = self.name(field.name.name);
                    parts.push((name, self.init_of(&field.pat)));
                }
                let mut tys: Vec<_> = parts
                    .iter()
                    .map(|(l, e)| (Arc::clone(l), e.ty.clone()))
                    .collect();
                crate::types::sort_labels(&mut tys, |f| &f.0);
                node(ExpKind::Record(parts), crate::types::record(tys), span)
            }
            ast::PatKind::Wild | ast::PatKind::Lit(..) | ast::PatKind::Constr(..) => {
                self.error(
                    "loop-without-initial-value",
                    span,
                    "the loop needs an initial value: `loop p = e ...`",
                );
                let ty = self.fresh(span);
                node(ExpKind::Hole, ty, span)
            }
        }
    }

    /// The type with an open size for every size that is not open already.
    pub(crate) fn freshen_known(&mut self, ty: &Ty) -> Ty {
        replace_dims(ty, &mut |dim| match dim {
            Dim::Var(var) if self.tables.is_open(*var) => dim.clone(),
            _ => self.fresh_dim("d"),
        })
    }

    /// The type with an open size for every size.
    pub(crate) fn freshen(&mut self, ty: &Ty) -> Ty {
        replace_dims(ty, &mut |_| self.fresh_dim("d"))
    }
}

/// The type with each size of its arrays, in order, replaced.
fn replace_dims(ty: &Ty, f: &mut dyn FnMut(&Dim) -> Dim) -> Ty {
    match ty {
        Ty::Scalar(_) | Ty::Var(_) | Ty::Abstract(..) | Ty::Arrow(_) => ty.clone(),
        Ty::Array(array) => {
            let dim = f(&array.dim);
            Ty::array(dim, replace_dims(&array.elem, f))
        }
        Ty::Tuple(parts) => Ty::Tuple(parts.iter().map(|t| replace_dims(t, f)).collect()),
        Ty::Record(fields) => Ty::Record(
            fields
                .iter()
                .map(|(l, t)| (Arc::clone(l), replace_dims(t, f)))
                .collect(),
        ),
        Ty::Sum(constrs) => Ty::Sum(
            constrs
                .iter()
                .map(|(l, p)| {
                    (
                        Arc::clone(l),
                        p.iter().map(|t| replace_dims(t, f)).collect(),
                    )
                })
                .collect(),
        ),
    }
}

/// The positions of array sizes of `a` that are not those of `b`.
fn compare_sizes(a: &Ty, b: &Ty, position: &mut usize, out: &mut Vec<usize>) {
    match (a, b) {
        (Ty::Array(x), Ty::Array(y)) => {
            let here = *position;
            *position += 1;
            if x.dim != Dim::Any && dims::compare(&x.dim, &y.dim) == Cmp::Different {
                out.push(here);
            }
            compare_sizes(&x.elem, &y.elem, position, out);
        }
        (Ty::Tuple(x), Ty::Tuple(y)) => {
            for (x, y) in x.iter().zip(y.iter()) {
                compare_sizes(x, y, position, out);
            }
        }
        (Ty::Record(x), Ty::Record(y)) => {
            for (x, y) in x.iter().zip(y.iter()) {
                compare_sizes(&x.1, &y.1, position, out);
            }
        }
        (Ty::Sum(x), Ty::Sum(y)) => {
            for (x, y) in x
                .iter()
                .flat_map(|c| c.1.iter())
                .zip(y.iter().flat_map(|c| c.1.iter()))
            {
                compare_sizes(x, y, position, out);
            }
        }
        _ => {}
    }
}
