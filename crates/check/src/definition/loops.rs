//! Loops, and the inference of their loop-variant sizes.
//!
//! A loop `loop p = init ... do body` is a function `f p = body` that is applied to its own
//! results. Each size of the parameter's type is inferred to be *invariant* (the same in all
//! iterations: a size from outside) or *variant* (a size of the iteration, and an unknown size of
//! the result). As in the reference's checker:
//!
//! 1. Each size in the type of the initial value is replaced by an open one of its own. Positions
//!    with the same initial size get different ones.
//! 2. The body is checked with the parameter at that type. Open sizes that a pattern or the body
//!    determines are solved. Of the others, one is *fresh* if the body yields another size at its
//!    position; it *reproduces* its initial size if the body yields that, or the current size of
//!    another position with the same initial size. The variant sizes are the fresh ones, and the
//!    ones that reproduce the size of a variant one.
//! 3. The body's type must match the parameter's, for any values of the variant sizes.
//! 4. So must the type of the initial value. Variant sizes are unknown in the loop's type.

use crate::definition::DefinitionChecker;
use crate::index::ItemKind;
use crate::infer::{
    BoundSizes, FreeVars, Origin, Scalars, Sizes, VarState, error_node, node, replace_dims, replace_vars,
    sizes_of_values,
};
use crate::sizes::{self, SizeComparison};
use crate::tast::{Dim, Exp, ExpKind, LoopForm, Pat, Ty, VarId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use syntax::ast::{self, Liftedness};
use syntax::diag::Diagnostic;
use syntax::span::Span;

/// The form of the loop, with the parts that are checked outside of its scope.
enum LoopHead<'a> {
    For(&'a ast::Ident, Exp),
    ForIn(&'a ast::Pat, Exp),
    While,
}

/// A size of the parameter that is to be inferred.
struct ParamSize {
    size: VarId,
    /// The size of the initial value at this position.
    initial: Dim,
}

/// The size that the body yields at a position.
#[derive(Clone, Copy, PartialEq, Eq)]
enum YieldedSize {
    /// A new size.
    Fresh,
    /// The initial size.
    Initial,
    /// The size of another position with the same initial size.
    Copied(VarId),
}

impl<'a> DefinitionChecker<'_, 'a> {
    /// Checks `loop pat = init form do body`.
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
                LoopHead::For(name, bound)
            }
            ast::LoopForm::ForIn(pat, array) => {
                let array = self.exp(array);
                if !self.infer.infers_sizes() {
                    let unlifted = Liftedness::Unlifted;
                    let elem = self.infer.open_ty("t", unlifted, array.span);
                    let ty = Ty::array(Dim::Any, elem);
                    self.unify(&ty, &array.ty, array.span, "the loop must iterate over an array");
                }
                LoopHead::ForIn(pat, array)
            }
            ast::LoopForm::While(_) => LoopHead::While,
        };
        let before = self.infer.tables.next_var();
        let start = self.infer.tables.resolve(&init.ty);
        let (param, positions) = self.open_sizes(&start);
        let scope = source.init.as_ref().map_or(span, |init| init.span.at_end().to(span.at_end()));
        let (pat, form, body, sizes) = self.scoped(scope, |c| {
            let (pat, form) = c.loop_scope(source, driver, &param);
            c.infer.depth += 1;
            let body = c.exp(&source.body);
            let sizes = c.unify_body(&pat, &param, &positions, before, &body);
            (pat, form, body, sizes)
        });
        let what = "Initial loop values do not have expected type";
        self.unify_with_param(&pat, &sizes, &init, what);
        let ty = self.loop_type(&pat, &sizes, span);
        let (pat, init, body) = (Box::new(pat), Box::new(init), Box::new(body));
        node(ExpKind::Loop { sizes, pat, init, form, body }, ty, span)
    }

    /// The type of the initial value with each size replaced by an open one, and these positions.
    fn open_sizes(&mut self, start: &Ty) -> (Ty, Vec<ParamSize>) {
        let mut positions = Vec::new();
        if !self.infer.infers_sizes() {
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
            positions.push(ParamSize { size, initial });
            Dim::Var(size)
        });
        (param, positions)
    }

    /// Binds the names that the body sees. A parameter shadows an index or element variable of the
    /// same name.
    fn loop_scope(&mut self, source: &'a ast::Loop, driver: LoopHead<'a>, param: &Ty) -> (Pat, LoopForm) {
        let form = match driver {
            LoopHead::For(name, bound) => {
                let text = self.cx.symbol_text(name.name);
                self.record_binding(name, false);
                let id = self.infer.new_value(text, name.span);
                let ty = bound.ty.clone();
                self.bind_local(name, ItemKind::Local, id, ty);
                Some(LoopForm::For(id, Box::new(bound)))
            }
            LoopHead::ForIn(pat, array) => {
                let elem = match self.infer.tables.resolve_head(&array.ty) {
                    Ty::Array(array) => array.elem.clone(),
                    _ => Ty::ERROR,
                };
                let pat = self.pattern(pat, Some(&elem));
                let what = "the pattern does not have the type of the elements";
                self.unify(&elem, &pat.ty, pat.span, what);
                Some(LoopForm::ForIn(Box::new(pat), Box::new(array)))
            }
            LoopHead::While => None,
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

    /// Unifies the pattern's types with the parameter's.
    fn unify_loop_pattern(&mut self, pat: &Pat, param: &Ty) {
        let ty = self.infer.tables.resolve(&pat.ty);
        let what = "Initial loop values do not have expected type, the type of the pattern";
        self.unify_pattern(pat, &ty, (param, pat.span), what);
    }

    /// Unifies the type of a pattern with a type found at a span. If the pattern's type mentions
    /// one of its own variables as a size, sizes are ignored here and checked at run time.
    fn unify_pattern(&mut self, pat: &Pat, expected: &Ty, (found, at): (&Ty, Span), what: &str) {
        let mut bound = Vec::new();
        crate::visit::bound_vars(pat, &mut |id, _| bound.push(id));
        let mentioned = FreeVars::of(expected).dims;
        let sizes = if mentioned.iter().any(|v| bound.contains(v)) { Sizes::Ignore } else { Sizes::Strict };
        let result = self.infer.unifying(sizes, at, |u| u.unify(expected, found));
        if let Err(mismatch) = result {
            self.mismatch(expected, found, &mismatch, at, what);
        }
    }

    /// Unifies the body with the parameter, and returns the variant sizes.
    fn unify_body(
        &mut self,
        pat: &Pat,
        param: &Ty,
        positions: &[ParamSize],
        before: VarId,
        body: &Exp,
    ) -> Vec<VarId> {
        let what = "Loop body does not have expected type, the type of the loop parameter";
        if !self.infer.infers_sizes() {
            self.unify_with_param(pat, &[], body, what);
            return Vec::new();
        }
        let errors = self.cx.reports.error_count();
        let open_sizes = positions.iter().filter_map(|p| self.open_position(p));
        let open_sizes: Vec<VarId> = open_sizes.collect();
        self.check_inner_sizes(pat, before);
        // First for any sizes of the parameter, to learn the sizes that the body yields.
        self.unify_with_param(pat, &open_sizes, body, what);
        if !self.cx.reports.no_errors_since(errors) {
            return Vec::new();
        }
        let equal = |a: &Dim, b: &Dim| sizes::compare(a, b) == SizeComparison::Equal;
        let variant = self.variant_sizes(param, positions, before, body, equal);
        let by_form = self.variant_sizes(param, positions, before, body, Dim::eq);
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
        self.unify_with_param(pat, &variant, body, what);
        variant
    }

    /// The open size at a position, if it is still open.
    fn open_position(&self, position: &ParamSize) -> Option<VarId> {
        match self.infer.tables.resolve_dim(&Dim::Var(position.size)) {
            Dim::Var(var) if self.infer.tables.is_open(var) => Some(var),
            _ => None,
        }
    }

    /// Unifies an expression with the parameter's type, for any values of the variant sizes.
    fn unify_with_param(&mut self, pat: &Pat, variant: &[VarId], exp: &Exp, what: &str) {
        let ty = self.infer.tables.resolve(&pat.ty);
        let open = variant.iter().map(|v| {
            let name = Arc::clone(&self.infer.tables.var(*v).name);
            let depth = self.infer.depth;
            let size = self.infer.tables.new_open(name, Origin::Plain, depth);
            (*v, Dim::Var(size))
        });
        let open = open.collect();
        let expected = replace_vars(&ty, open);
        self.unify_pattern(pat, &expected, (&exp.ty, exp.span), what);
    }

    /// Reports a parameter whose type has a size that the body computes.
    fn check_inner_sizes(&mut self, pat: &Pat, before: VarId) {
        let ty = self.infer.tables.resolve(&pat.ty);
        let inner = |v: &VarId| *v >= before && matches!(self.infer.tables.var(*v).state, VarState::Unknown);
        let Some(var) = FreeVars::of(&ty).dims.into_iter().find(inner) else {
            return;
        };
        let data = self.infer.tables.var(var);
        let (name, origin) = (Arc::clone(&data.name), data.span);
        let shown = self.infer.tables.show(&ty);
        let message = format!(
            "Inferred type for loop parameter is \"{shown}\", but \"{name}\" is a size computed \
             inside the loop body"
        );
        let diag = Diagnostic::error("size-mismatch", message).at(pat.span, "");
        self.cx.report(match origin {
            Some(origin) => diag.also(origin, format!("\"{name}\" is computed here")),
            None => diag,
        });
    }

    /// Reports variant sizes that occur in the types of values outside of the loop. `variant` are
    /// the sizes whose forms differ.
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

    /// The sizes that vary between iterations, where `same` compares sizes.
    fn variant_sizes(
        &self,
        param: &Ty,
        positions: &[ParamSize],
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
        let mut yielded: Vec<(VarId, YieldedSize)> = Vec::new();
        for (size, found) in expected.iter().zip(&found) {
            if same(size, found) {
                continue;
            }
            let mut mentions = FreeVars::default();
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
                    _ if same(start, found) => YieldedSize::Initial,
                    (Some(_), Dim::Var(other)) => YieldedSize::Copied(*other),
                    _ if var >= before => YieldedSize::Fresh,
                    _ => continue,
                };
                yielded.push((var, how));
            }
        }
        let fresh = yielded.iter().filter(|(_, how)| *how == YieldedSize::Fresh);
        let mut variant: FxHashSet<VarId> = fresh.map(|(var, _)| *var).collect();
        loop {
            let copies = yielded.iter().filter(|(var, how)| {
                matches!(how, YieldedSize::Copied(of) if variant.contains(of)) && !variant.contains(var)
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

    /// The type of the loop: its variant sizes are unknown.
    fn loop_type(&mut self, pat: &Pat, variant: &[VarId], span: Span) -> Ty {
        let ty = self.infer.tables.resolve(&pat.ty);
        let unknown = variant.iter().map(|v| {
            let name = Arc::clone(&self.infer.tables.var(*v).name);
            (*v, self.infer.unknown(name, span))
        });
        let unknown = unknown.collect();
        let ty = replace_vars(&ty, unknown);
        self.infer.exit_scope(&ty, &mut BoundSizes::default(), span)
    }

    /// The initial value of a loop without one: the variables of its pattern.
    fn init_of(&mut self, pat: &'a ast::Pat) -> Exp {
        let span = pat.span;
        match &pat.kind {
            ast::PatKind::Id(ident) => {
                if let Some(crate::env::Entry::Value(entry)) = self.cx.env.term(ident.name).cloned() {
                    self.cx.note_use(ident.span, entry.span);
                    self.instantiate(&entry, span)
                } else {
                    let name = self.cx.symbol_text(ident.name);
                    self.cx.error(
                        "unknown-variable",
                        span,
                        format!("Unknown name \"{name}\" as the initial value of the loop"),
                    );
                    error_node(span)
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
                    let name = self.cx.symbol_text(field.name.name);
                    parts.push((name, self.init_of(&field.pat)));
                }
                let tys = parts.iter().map(|(l, e): &(_, Exp)| (Arc::clone(l), e.ty.clone())).collect();
                node(ExpKind::Record(parts), crate::definition::types::record(tys), span)
            }
            ast::PatKind::Wild | ast::PatKind::Lit(..) | ast::PatKind::Constr(..) => {
                self.cx.error(
                    "loop-without-initial-value",
                    span,
                    "the loop needs an initial value: `loop p = e ...`",
                );
                error_node(span)
            }
        }
    }
}
