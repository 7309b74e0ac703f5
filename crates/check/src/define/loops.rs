//! Loops, and which sizes of their parameters vary.
//!
//! A loop is first checked as if every size of its initial values stayed the
//! same. Where the body gives another size, that size is made a variable of the
//! loop and the body is checked again, until the sizes agree. Where it then makes
//! no sense, the body is looked at with these sizes open: those that it takes for
//! the same become one variable.

use crate::define::Definer;
use crate::dims::{self, Cmp};
use crate::infer::{
    Infer, Known, Mentions, Scalars, Sizes, VarState, compare_sizes, node, replace_dims,
};
use crate::tast::{Dim, Exp, ExpKind, LoopForm, Pat, Ty, VarId};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use syntax::ast::{self, Liftedness};
use syntax::diag::Diagnostic;
use syntax::span::Span;

/// What drives the loop, as far as it is checked outside of it.
enum Driver<'a> {
    For(&'a ast::Ident, Exp),
    ForIn(&'a ast::Pat, Exp),
    While(&'a ast::Exp),
}

/// Where an attempt begins.
struct Before {
    deferred: usize,
    wanted: usize,
    mark: usize,
}

/// What stands for the size at a position of the loop parameter.
#[derive(Clone)]
enum Slot {
    /// A variable of the loop, one for all positions with this number.
    Variable(usize),
    /// A size to be inferred, while the body is looked at.
    Open,
    /// A size from outside of the loop.
    Known(Dim),
}

/// Slots of the positions whose sizes are not those of the initial values.
type Slots = FxHashMap<usize, Slot>;

/// One way of checking the loop.
struct Attempt {
    pat: Pat,
    form: LoopForm,
    body: Exp,
    sizes: Vec<VarId>,
    param: Ty,
    /// The size that was tried for each position that has a slot.
    tried: Vec<(usize, Dim)>,
    /// The size that the body gives at each position.
    given: Vec<Dim>,
    /// Sizes, by position, that the body changes.
    varying: Vec<usize>,
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
                let elem = self.infer.fresh_ty("t", Liftedness::Unlifted, array.span);
                let ty = Ty::array(self.infer.fresh_dim("n"), elem);
                self.unify(&ty, &array.ty, array.span, "the loop runs over an array");
                Driver::ForIn(pat, array)
            }
            ast::LoopForm::While(cond) => Driver::While(cond),
        };
        let mut slots = Slots::default();
        let mut ungrouped: Option<(Slots, Vec<Diagnostic>)> = None;
        loop {
            let errors = self.cx.reports.problems();
            let before = self.before();
            let attempt = self.attempt_loop(source, &driver, &init, &slots);
            let varying = (attempt.varying.iter()).filter(|i| !slots.contains_key(i));
            let mut next = slots.clone();
            next.extend(varying.map(|i| (*i, Slot::Variable(*i))));
            if next.len() == slots.len() {
                let fits =
                    self.cx.reports.is_sound_since(errors) && holds_together(&attempt, &slots);
                let found = self.cx.reports.since(errors);
                // Other errors stay, whatever the sizes are.
                let other = ungrouped.is_none() && !found.iter().all(is_about_sizes);
                if fits || other || slots.is_empty() {
                    self.infer.tables.commit();
                    return attempt.finish(&mut self.infer, driver, init, span);
                }
                let found = self.cx.reports.take_since(errors);
                self.back(&before);
                let classes = match ungrouped {
                    None => self.classes(source, &driver, &init, &slots),
                    Some(_) => None,
                };
                let Some(classes) = classes else {
                    // It is the body that is wrong, as it was found to be at first.
                    let (slots, found) = ungrouped.unwrap_or((slots, found));
                    let attempt = self.attempt_loop(source, &driver, &init, &slots);
                    self.cx.reports.replace_since(errors, found);
                    self.infer.tables.commit();
                    return attempt.finish(&mut self.infer, driver, init, span);
                };
                ungrouped = Some((std::mem::replace(&mut next, classes), found));
            }
            slots = next;
            // What was learnt of the types, without the sizes, is kept.
            let shape = self.infer.tables.resolve(&attempt.param);
            self.cx.reports.forget_since(errors);
            self.back(&before);
            let learnt = self.infer.freshen(&shape);
            let result = self
                .infer
                .unifying(Sizes::Strict, span, |u| u.unify(&learnt, &init.ty));
            if let Err(mismatch) = result {
                self.mismatch(&learnt, &init.ty, &mismatch, span, "bad initial values");
            }
        }
    }

    /// Looks at the body with sizes to be inferred at all positions that have a
    /// slot: which of them it takes for the same, or for a size from outside.
    /// `None` if there are no such, or if it makes no sense either.
    fn classes(
        &mut self,
        source: &'a ast::Loop,
        driver: &Driver<'a>,
        init: &Exp,
        slots: &Slots,
    ) -> Option<Slots> {
        let errors = self.cx.reports.problems();
        let before = self.before();
        let open = slots.keys().map(|i| (*i, Slot::Open)).collect();
        let attempt = self.attempt_loop(source, driver, init, &open);
        let mut sound = self.cx.reports.is_sound_since(errors);
        let mut found = Slots::default();
        let mut first: Vec<(Dim, usize)> = Vec::new();
        for (position, dim) in &attempt.tried {
            let dim = self.infer.tables.resolve_dim(dim);
            let mut mentioned = Mentions::default();
            crate::subst::map_dim(&dim, &mut mentioned);
            let inner = |var: &VarId| self.infer.tables.var(*var).depth > self.infer.depth;
            let open = matches!(&dim, Dim::Var(var) if self.infer.tables.is_open(*var));
            let slot = if open {
                let known = first.iter().find(|(other, _)| *other == dim);
                let class = known.map_or(*position, |(_, class)| *class);
                first.push((dim, class));
                Slot::Variable(class)
            } else {
                sound &= !mentioned.dims.iter().any(inner);
                Slot::Known(dim)
            };
            found.insert(*position, slot);
        }
        self.cx.reports.forget_since(errors);
        self.back(&before);
        let new = found
            .iter()
            .any(|(i, slot)| !matches!(slot, Slot::Variable(class) if class == i));
        (sound && new).then_some(found)
    }

    /// Where an attempt begins, to come back to it.
    fn before(&mut self) -> Before {
        Before {
            deferred: self.infer.deferred(),
            wanted: self.wanted.len(),
            mark: self.infer.tables.mark(),
        }
    }

    /// Undoes an attempt, but for what it reported.
    fn back(&mut self, before: &Before) {
        self.infer.tables.rollback(before.mark);
        self.infer.forget_deferred(before.deferred);
        self.wanted.truncate(before.wanted);
    }

    fn attempt_loop(
        &mut self,
        source: &'a ast::Loop,
        driver: &Driver<'a>,
        init: &Exp,
        slots: &Slots,
    ) -> Attempt {
        self.infer.tables.speculating += 1;
        let attempt = self.scoped(|c| {
            let start = c.infer.tables.resolve(&init.ty);
            let mut sizes = Vec::new();
            let mut variables: FxHashMap<usize, VarId> = FxHashMap::default();
            let mut tried = Vec::new();
            let mut position = 0;
            let param = replace_dims(&start, &mut |dim| {
                let here = position;
                position += 1;
                let new = match slots.get(&here) {
                    None => return dim.clone(),
                    Some(Slot::Known(dim)) => dim.clone(),
                    Some(Slot::Open) => c.infer.fresh_dim("k"),
                    Some(Slot::Variable(class)) => {
                        let name = match dim {
                            Dim::Var(var) => Arc::clone(&c.infer.tables.var(*var).name),
                            _ => Arc::from("k"),
                        };
                        let var = *variables.entry(*class).or_insert_with(|| {
                            let var = c.infer.tables.new_var(name, VarState::Value, c.infer.depth);
                            sizes.push(var);
                            var
                        });
                        Dim::Var(var)
                    }
                };
                tried.push((here, new.clone()));
                new
            });
            c.unify_initial(init, &start, slots);
            let mut bound = Vec::new();
            let pat = c.pat(&source.pat, &mut bound);
            c.unify_loop_pattern(&pat, &param);
            let form = match driver {
                Driver::For(name, bound) => {
                    let text = c.cx.name(name.name);
                    c.note_bound(name, false);
                    let id = c.infer.new_value(text, name.span);
                    c.cx.env
                        .bind_mono(name.name, id, bound.ty.clone(), name.span);
                    LoopForm::For(
                        id,
                        Box::new(node(ExpKind::Hole, bound.ty.clone(), bound.span)),
                    )
                }
                Driver::ForIn(pat, array) => {
                    let pat = c.pat(pat, &mut bound);
                    if let Ty::Array(ty) = c.infer.tables.shallow(&array.ty) {
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
            let looking = slots.values().any(|slot| matches!(slot, Slot::Open));
            if looking {
                return Attempt {
                    pat,
                    form,
                    body,
                    sizes,
                    param,
                    tried,
                    given: Vec::new(),
                    varying: Vec::new(),
                };
            }
            let result = c
                .infer
                .unifying(Sizes::Join(VarId(0)), span, |u| u.unify(&param, &body.ty));
            if let Err(mismatch) = result {
                let what = "Loop body does not have expected type, that of the loop parameter";
                c.mismatch(&param, &body.ty, &mismatch, span, what);
            }
            let expected = c.infer.tables.resolve(&param);
            let found = c.infer.tables.resolve(&body.ty);
            let mut varying = Vec::new();
            compare_sizes(&expected, &found, &mut 0, &mut varying);
            let mut given = Vec::new();
            replace_dims(&found, &mut |dim| {
                given.push(dim.clone());
                dim.clone()
            });
            Attempt {
                pat,
                form,
                body,
                sizes,
                param,
                tried,
                given,
                varying,
            }
        });
        self.infer.tables.speculating -= 1;
        attempt
    }

    /// Initial sizes that share a slot are the same.
    fn unify_initial(&mut self, init: &Exp, start: &Ty, slots: &Slots) {
        let shared = |(i, slot): (&usize, &Slot)| match slot {
            Slot::Variable(class) => class != i,
            Slot::Known(_) => true,
            Slot::Open => false,
        };
        if !slots.iter().any(shared) {
            return;
        }
        let mut open: FxHashMap<usize, Dim> = FxHashMap::default();
        let mut position = 0;
        let expected = replace_dims(start, &mut |dim| {
            let slot = slots.get(&position);
            position += 1;
            match slot {
                None | Some(Slot::Open) => dim.clone(),
                Some(Slot::Known(dim)) => dim.clone(),
                Some(Slot::Variable(class)) => {
                    let new = || self.infer.fresh_dim("k");
                    open.entry(*class).or_insert_with(new).clone()
                }
            }
        });
        let what = "Initial loop values do not have expected type";
        self.unify(&expected, &init.ty, init.span, what);
    }

    /// The pattern's types against those of the parameters. A size in the
    /// pattern that is itself a loop parameter is left to the running program.
    fn unify_loop_pattern(&mut self, pat: &Pat, param: &Ty) {
        let mut own = Vec::new();
        crate::visit::bound_vars(pat, &mut |id, _| own.push(id));
        let pat_ty = self.infer.tables.resolve(&pat.ty);
        let dependent = Mentions::of(&pat_ty).dims.iter().any(|v| own.contains(v));
        let sizes = if dependent {
            Sizes::Ignore
        } else {
            Sizes::Strict
        };
        let result = self
            .infer
            .unifying(sizes, pat.span, |u| u.unify(&pat_ty, param));
        if let Err(mismatch) = result {
            let what =
                "Initial loop values do not have expected type. The pattern asks for another";
            self.mismatch(&pat_ty, param, &mismatch, pat.span, what);
        }
    }

    /// The initial value of a loop without one: the variables of its pattern.
    fn init_of(&mut self, pat: &'a ast::Pat) -> Exp {
        let span = pat.span;
        match &pat.kind {
            ast::PatKind::Id(ident) => {
                if let Some(crate::env::Entry::Value(entry)) = self.cx.env.term(ident.name).cloned()
                {
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
                    let name = self.cx.name(field.name.name);
                    parts.push((name, self.init_of(&field.pat)));
                }
                let mut tys: Vec<_> = parts
                    .iter()
                    .map(|(l, e)| (Arc::clone(l), e.ty.clone()))
                    .collect();
                crate::define::types::sort_labels(&mut tys, |f| &f.0);
                node(
                    ExpKind::Record(parts),
                    crate::define::types::record(tys),
                    span,
                )
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

impl Attempt {
    /// The loop, after the attempt that succeeded.
    fn finish(self, infer: &mut Infer<'_>, driver: Driver<'_>, init: Exp, span: Span) -> Exp {
        let Attempt {
            pat,
            form,
            body,
            sizes,
            param,
            tried: _,
            given: _,
            varying: _,
        } = self;
        // Attempts have a placeholder where the bound or the array goes.
        let form = match (form, driver) {
            (LoopForm::For(var, _), Driver::For(_, bound)) => LoopForm::For(var, Box::new(bound)),
            (LoopForm::ForIn(pat, _), Driver::ForIn(_, array)) => {
                LoopForm::ForIn(pat, Box::new(array))
            }
            (form, _) => form,
        };
        let ty = infer.leave_ty(&param, &mut Known::default(), span);
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
}

/// Whether other sizes of loop parameters might do away with an error.
fn is_about_sizes(diag: &Diagnostic) -> bool {
    let ids = [
        "size-mismatch",
        "ambiguous-size",
        "size-out-of-scope",
        "existential-size",
    ];
    ids.contains(&diag.id)
}

/// Whether the body keeps sizes from outside of the loop as they are, and gives
/// the same size for all positions that share a variable.
fn holds_together(attempt: &Attempt, slots: &Slots) -> bool {
    let mut given: FxHashMap<usize, &Dim> = FxHashMap::default();
    attempt
        .given
        .iter()
        .enumerate()
        .all(|(i, dim)| match slots.get(&i) {
            None | Some(Slot::Open) => true,
            Some(Slot::Known(_)) => !attempt.varying.contains(&i),
            Some(Slot::Variable(class)) => {
                dims::compare(given.entry(*class).or_insert(dim), dim) != Cmp::Different
            }
        })
}
