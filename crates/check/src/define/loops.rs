//! Loops, and which sizes of their parameters vary.
//!
//! A loop `loop p = init ... do body` is a function `f p = body` that is called on what it
//! gave before. For each size of the parameter's type it is inferred whether it stays the
//! same in all iterations (*invariant*: it is a size from outside) or may change
//! (*variant*: a size of the iteration, and an unknown one of the result). As in the
//! reference's checker:
//!
//! 1. Each size in the type of the initial value is replaced by an open one of its own.
//!    Positions with the same initial size get different ones.
//! 2. The body is checked with the parameter at that type. Where a pattern or the body
//!    says what an open size is, it is that. Of the others, one is *fresh* if the body
//!    gives another size at its position; it *reproduces* its initial size if the body
//!    gives that, or the current size of another position that began with the same one.
//!    Variant are the fresh ones, and those that reproduce the size of a variant one.
//! 3. The body's type must fit the parameter's, for any variant sizes.
//! 4. So must the type of the initial value. Variant sizes are unknown in the loop's type.

use crate::define::Definer;
use crate::dims::{self, Cmp};
use crate::infer::{
    Known, Mentions, Origin, Scalars, Sizes, VarState, node, replace_dims, replace_vars, sizes_of_values,
};
use crate::tast::{Dim, Exp, ExpKind, LoopForm, Pat, Ty, VarId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use syntax::ast::{self, Liftedness};
use syntax::diag::Diagnostic;
use syntax::span::Span;

/// What drives the loop, as far as it is checked outside of it.
enum Driver<'a> {
    For(&'a ast::Ident, Exp),
    ForIn(&'a ast::Pat, Exp),
    While,
}

/// A size of the parameter that is to be inferred.
struct Position {
    size: VarId,
    /// The size of the initial value in its place.
    initial: Dim,
}

/// How the body gives the size at a position.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Given {
    /// Another one.
    Fresh,
    /// The initial one.
    Initial,
    /// That of another position, which began with the same size.
    Copied(VarId),
}

impl<'a> Definer<'_, 'a> {
    /// `loop pat = init form do body`.
    pub(super) fn loop_exp(&mut self, source: &'a ast::Loop, span: Span) -> Exp {
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
                if !self.infer.is_sizing() {
                    let unlifted = Liftedness::Unlifted;
                    let elem = self.infer.open_ty("t", unlifted, array.span);
                    let ty = Ty::array(Dim::Any, elem);
                    self.unify(&ty, &array.ty, array.span, "the loop runs over an array");
                }
                Driver::ForIn(pat, array)
            }
            ast::LoopForm::While(_) => Driver::While,
        };
        let before = self.infer.tables.next_var();
        let start = self.infer.tables.resolve(&init.ty);
        let (param, positions) = self.open_sizes(&start);
        let (pat, form, body, sizes) = self.scoped(|c| {
            let (pat, form) = c.loop_scope(source, driver, &param);
            c.infer.depth += 1;
            let body = c.exp(&source.body);
            let sizes = c.fit_body(&pat, &param, &positions, before, &body);
            (pat, form, body, sizes)
        });
        let what = "Initial loop values do not have expected type";
        self.fit(&pat, &sizes, &init, what);
        let ty = self.result_of_loop(&pat, &sizes, span);
        let (pat, init, body) = (Box::new(pat), Box::new(init), Box::new(body));
        node(ExpKind::Loop { sizes, pat, init, form, body }, ty, span)
    }

    /// The type of the initial value with an open size for each size, and these.
    fn open_sizes(&mut self, start: &Ty) -> (Ty, Vec<Position>) {
        let mut positions = Vec::new();
        if !self.infer.is_sizing() {
            return (start.clone(), positions);
        }
        let param = replace_dims(start, &mut |initial| {
            let name = match initial {
                Dim::Var(var) => Arc::clone(&self.infer.tables.var(*var).name),
                _ => Arc::from("k"),
            };
            let depth = self.infer.depth;
            let size = self.infer.tables.new_open(name, Origin::Loop, depth);
            let initial = initial.clone();
            positions.push(Position { size, initial });
            Dim::Var(size)
        });
        (param, positions)
    }

    /// Binds what the body of the loop sees. A parameter of the name of the index or of
    /// the element is the inner one.
    fn loop_scope(&mut self, source: &'a ast::Loop, driver: Driver<'a>, param: &Ty) -> (Pat, LoopForm) {
        let form = match driver {
            Driver::For(name, bound) => {
                let text = self.cx.name(name.name);
                self.note_bound(name, false);
                let id = self.infer.new_value(text, name.span);
                let ty = bound.ty.clone();
                self.cx.env.bind_mono(name.name, id, ty, name.span);
                Some(LoopForm::For(id, Box::new(bound)))
            }
            Driver::ForIn(pat, array) => {
                let elem = match self.infer.tables.shallow(&array.ty) {
                    Ty::Array(array) => array.elem.clone(),
                    _ => self.infer.open_ty("t", Liftedness::Unlifted, array.span),
                };
                let pat = self.pattern(pat, Some(&elem));
                let what = "the pattern does not fit the elements";
                self.unify(&elem, &pat.ty, pat.span, what);
                Some(LoopForm::ForIn(Box::new(pat), Box::new(array)))
            }
            Driver::While => None,
        };
        self.infer.depth += 1;
        let pat = self.pattern(&source.pat, Some(param));
        self.unify_loop_pattern(&pat, param);
        let form = form.unwrap_or_else(|| {
            let ast::LoopForm::While(cond) = &source.form else {
                return LoopForm::While(Box::new(node(ExpKind::Hole, Ty::BOOL, source.body.span)));
            };
            let cond = self.exp(cond);
            let what = "the condition is not of type `bool`";
            self.unify(&Ty::BOOL, &cond.ty, cond.span, what);
            LoopForm::While(Box::new(cond))
        });
        (pat, form)
    }

    /// The pattern's types against those of the parameters.
    fn unify_loop_pattern(&mut self, pat: &Pat, param: &Ty) {
        let ty = self.infer.tables.resolve(&pat.ty);
        let what = "Initial loop values do not have expected type. The pattern asks for another";
        self.fit_pattern(pat, &ty, (param, pat.span), what);
    }

    /// Unifies the type of a pattern with one found at a place. A size in the pattern that
    /// is itself a loop parameter is left to the running program.
    fn fit_pattern(&mut self, pat: &Pat, expected: &Ty, (found, at): (&Ty, Span), what: &str) {
        let mut own = Vec::new();
        crate::visit::bound_vars(pat, &mut |id, _| own.push(id));
        let mentioned = Mentions::of(expected).dims;
        let sizes = if mentioned.iter().any(|v| own.contains(v)) { Sizes::Ignore } else { Sizes::Strict };
        let result = self.infer.unifying(sizes, at, |u| u.unify(expected, found));
        if let Err(mismatch) = result {
            self.mismatch(expected, found, &mismatch, at, what);
        }
    }

    /// Holds the body against the parameter: which sizes vary.
    fn fit_body(
        &mut self,
        pat: &Pat,
        param: &Ty,
        positions: &[Position],
        before: VarId,
        body: &Exp,
    ) -> Vec<VarId> {
        let what = "Loop body does not have expected type, that of the loop parameter";
        if !self.infer.is_sizing() {
            self.fit(pat, &[], body, what);
            return Vec::new();
        }
        let errors = self.cx.reports.problems();
        let own = positions.iter().filter_map(|p| self.open_position(p));
        let own: Vec<VarId> = own.collect();
        self.check_possible(pat, before);
        // First whatever sizes the parameter has, to learn what the body gives.
        self.fit(pat, &own, body, what);
        if !self.cx.reports.is_sound_since(errors) {
            return Vec::new();
        }
        let equal = |a: &Dim, b: &Dim| dims::compare(a, b) == Cmp::Equal;
        let variant = self.variant(param, positions, before, body, equal);
        let by_form = self.variant(param, positions, before, body, Dim::eq);
        self.check_escape(&by_form, pat.span);
        for position in positions {
            let Some(size) = self.open_position(position) else {
                continue;
            };
            let initial = self.infer.tables.resolve_dim(&position.initial);
            let depth = self.infer.depth - 2;
            let data = self.infer.tables.var_mut(size);
            if variant.contains(&size) {
                data.state = VarState::Value;
                data.depth = depth;
            } else if initial != Dim::Var(size) {
                data.state = VarState::Solved(initial);
            }
        }
        self.fit(pat, &variant, body, what);
        variant
    }

    /// The open size at a position, if it is open.
    fn open_position(&self, position: &Position) -> Option<VarId> {
        match self.infer.tables.resolve_dim(&Dim::Var(position.size)) {
            Dim::Var(var) if self.infer.tables.is_open(var) => Some(var),
            _ => None,
        }
    }

    /// An expression fits the parameter, whatever the variant sizes are.
    fn fit(&mut self, pat: &Pat, variant: &[VarId], exp: &Exp, what: &str) {
        let ty = self.infer.tables.resolve(&pat.ty);
        let open = variant.iter().map(|v| {
            let name = Arc::clone(&self.infer.tables.var(*v).name);
            let depth = self.infer.depth;
            let size = self.infer.tables.new_open(name, Origin::Plain, depth);
            (*v, Dim::Var(size))
        });
        let open = open.collect();
        let expected = replace_vars(&ty, open);
        self.fit_pattern(pat, &expected, (&exp.ty, exp.span), what);
    }

    /// The parameter has no size that the body computes.
    fn check_possible(&mut self, pat: &Pat, before: VarId) {
        let ty = self.infer.tables.resolve(&pat.ty);
        let inner = |v: &VarId| *v >= before && matches!(self.infer.tables.var(*v).state, VarState::Unknown);
        let Some(var) = Mentions::of(&ty).dims.into_iter().find(inner) else {
            return;
        };
        let data = self.infer.tables.var(var);
        let (name, place) = (Arc::clone(&data.name), data.span);
        let shown = self.infer.tables.show(&ty);
        let message = format!(
            "Inferred type for loop parameter is \"{shown}\", but \"{name}\" is a size computed \
             inside the loop body"
        );
        let diag = Diagnostic::error("size-mismatch", message).at(pat.span, "");
        self.cx.report(match place {
            Some(place) => diag.also(place, format!("\"{name}\" is computed here")),
            None => diag,
        });
    }

    /// A size that varies, as far as its form tells, is no size of anything outside of the
    /// loop.
    fn check_escape(&mut self, variant: &[VarId], span: Span) {
        let outer = self.infer.depth - 3;
        let escaped = |v: &&VarId| self.infer.tables.var(**v).depth < outer;
        if let Some(var) = variant.iter().find(escaped) {
            let name = Arc::clone(&self.infer.tables.var(*var).name);
            let message =
                format!("Loop-variant size \"{name}\" has escaped into a type that occurs outside of loop");
            self.cx.report(Diagnostic::error("loop-variant-escape", message).at(span, "").note(
                "the body uses a variable from outside whose type would depend on the loop \
                         parameter",
            ));
        }
    }

    /// The sizes that vary from iteration to iteration, where sizes are the `same`.
    fn variant(
        &self,
        param: &Ty,
        positions: &[Position],
        before: VarId,
        body: &Exp,
        same: fn(&Dim, &Dim) -> bool,
    ) -> Vec<VarId> {
        let tables = &*self.infer.tables;
        let expected = sizes_of_values(&tables.resolve(param));
        let found = sizes_of_values(&tables.resolve(&body.ty));
        let initial: FxHashMap<VarId, Dim> = positions
            .iter()
            .rev()
            .filter_map(|p| Some((self.open_position(p)?, tables.resolve_dim(&p.initial))))
            .collect();
        let mut given: Vec<(VarId, Given)> = Vec::new();
        for (size, found) in expected.iter().zip(&found) {
            if same(size, found) {
                continue;
            }
            let mut mentions = Mentions::default();
            crate::subst::map_dim(size, &mut mentions);
            for var in mentions.dims {
                let Some(start) = initial.get(&var) else {
                    continue;
                };
                let copied = match found {
                    Dim::Var(other) => initial.get(other).filter(|s| same(s, start)),
                    _ => None,
                };
                let how = match (copied, found) {
                    _ if same(start, found) => Given::Initial,
                    (Some(_), Dim::Var(other)) => Given::Copied(*other),
                    _ if var >= before => Given::Fresh,
                    _ => continue,
                };
                given.push((var, how));
            }
        }
        let fresh = given.iter().filter(|(_, how)| *how == Given::Fresh);
        let mut variant: FxHashSet<VarId> = fresh.map(|(var, _)| *var).collect();
        loop {
            let copies = given.iter().filter(|(var, how)| {
                matches!(how, Given::Copied(of) if variant.contains(of)) && !variant.contains(var)
            });
            let more: Vec<VarId> = copies.map(|(var, _)| *var).collect();
            if more.is_empty() {
                break;
            }
            variant.extend(more);
        }
        // In the order of the parameter's type.
        let mut sizes = Vec::new();
        for size in positions.iter().filter_map(|p| self.open_position(p)) {
            if variant.contains(&size) && !sizes.contains(&size) {
                sizes.push(size);
            }
        }
        sizes
    }

    /// The type of the loop: what varies is unknown.
    fn result_of_loop(&mut self, pat: &Pat, variant: &[VarId], span: Span) -> Ty {
        let ty = self.infer.tables.resolve(&pat.ty);
        let unknown = variant.iter().map(|v| {
            let name = Arc::clone(&self.infer.tables.var(*v).name);
            (*v, self.infer.unknown(name, span))
        });
        let unknown = unknown.collect();
        let ty = replace_vars(&ty, unknown);
        self.infer.leave_ty(&ty, &mut Known::default(), span)
    }

    /// The initial value of a loop without one: the variables of its pattern.
    fn init_of(&mut self, pat: &'a ast::Pat) -> Exp {
        let span = pat.span;
        match &pat.kind {
            ast::PatKind::Id(ident) => {
                if let Some(crate::env::Entry::Value(entry)) = self.cx.env.term(ident.name).cloned() {
                    self.instantiate(&entry, span)
                } else {
                    let name = self.cx.name(ident.name);
                    self.cx.error(
                        "unknown-variable",
                        span,
                        format!("Unknown name \"{name}\" to start the loop with"),
                    );
                    let ty = self.infer.fresh(span);
                    node(ExpKind::Hole, ty, span)
                }
            }
            ast::PatKind::Parens(inner) | ast::PatKind::Ascript(inner, _) | ast::PatKind::Attr(_, inner) => {
                self.init_of(inner)
            }
            ast::PatKind::Tuple(parts) => {
                let parts: Vec<Exp> = parts.iter().map(|p| self.init_of(p)).collect();
                let ty = Ty::Tuple(parts.iter().map(|e| e.ty.clone()).collect());
                node(ExpKind::Tuple(parts), ty, span)
            }
            ast::PatKind::Record(fields) => {
                let mut parts = Vec::new();
                for field in fields {
                    let name = self.cx.name(field.name.name);
                    parts.push((name, self.init_of(&field.pat)));
                }
                let mut tys: Vec<_> = parts.iter().map(|(l, e)| (Arc::clone(l), e.ty.clone())).collect();
                crate::define::types::sort_labels(&mut tys, |f| &f.0);
                node(ExpKind::Record(parts), crate::define::types::record(tys), span)
            }
            ast::PatKind::Wild | ast::PatKind::Lit(..) | ast::PatKind::Constr(..) => {
                self.cx.error(
                    "loop-without-initial-value",
                    span,
                    "the loop needs an initial value: `loop p = e ...`",
                );
                let ty = self.infer.fresh(span);
                node(ExpKind::Hole, ty, span)
            }
        }
    }
}
