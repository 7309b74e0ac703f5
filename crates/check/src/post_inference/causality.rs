//! Causality check: a size cannot be needed before the value that determines it is computed.
//!
//! Evaluation computes sizes: the size of the result of `filter` is known after the call. One walk
//! over a finished definition, in evaluation order, reports expressions that need a size that is
//! not known yet. The following need all sizes of their types: parameters of anonymous functions,
//! sections, holes, empty arrays, constructors, and functions with size parameters that no argument
//! carries.
//!
//! Evaluation order: arguments before the function, the last argument first; bindings before the
//! body; the left operand before the right. Sizes computed in one branch are not known in another.
//!
//! A size that was absorbed by an instantiated type ([`VarState::Existential`]) at the point where
//! the program computes it is never known: no expression outside of the function that computes it
//! can have it.

use crate::carried_sizes::CarriedSizes;
use crate::context::Context;
use crate::infer::{FreeVars, InferTables, VarState};
use crate::tast::{Bind, Def, Exp, ExpKind, LoopForm, Pat, Ty, VarId};
use crate::visit::children;
use rustc_hash::{FxHashMap, FxHashSet};
use syntax::diag::Diagnostic;
use syntax::span::Span;

/// Reports sizes that are needed too early in a finished definition. `sections` are its sections
/// with a left operand.
pub(crate) fn check(def: &Def, tables: &InferTables, sections: &FxHashSet<Span>, cx: &mut Context<'_>) {
    let mut walk = Causality {
        tables,
        sections,
        origins: FxHashMap::default(),
        known: FxHashSet::default(),
        known_log: Vec::new(),
        found: Vec::new(),
    };
    walk.collect(&def.body);
    if walk.origins.is_empty() && !tables.absorbed {
        return;
    }
    walk.exp(&def.body);
    for diag in walk.found {
        cx.report(diag);
    }
}

struct Causality<'t> {
    tables: &'t InferTables,
    sections: &'t FxHashSet<Span>,
    /// The sizes that the definition computes, each with the span of its origin.
    origins: FxHashMap<VarId, Span>,
    known: FxHashSet<VarId>,
    /// The sizes that became known, in order.
    known_log: Vec<VarId>,
    found: Vec<Diagnostic>,
}

impl Causality<'_> {
    /// Collects the sizes that are created, each with the first span.
    fn collect(&mut self, exp: &Exp) {
        stacker::maybe_grow(crate::STACK_RED_ZONE, crate::STACK_GROWTH, || {
            children(exp, &mut |child| self.collect(child));
            if let ExpKind::Let { binds, .. } = &exp.kind {
                for bind in binds {
                    if let Bind::Fun(def) = bind {
                        self.collect(&def.body);
                    }
                }
            }
            for var in &exp.existential_sizes {
                self.origins.entry(*var).or_insert(exp.span);
            }
        });
    }

    fn exp(&mut self, exp: &Exp) {
        stacker::maybe_grow(crate::STACK_RED_ZONE, crate::STACK_GROWTH, || {
            self.exp_inner(exp);
            exp.existential_sizes.iter().for_each(|var| self.mark_known(*var));
        });
    }

    fn exp_inner(&mut self, exp: &Exp) {
        match &exp.kind {
            ExpKind::Hole => self.require_sizes(&exp.ty, exp.span, "this hole"),
            ExpKind::Array(elems) if elems.is_empty() => {
                self.require_sizes(&exp.ty, exp.span, "this empty array");
            }
            ExpKind::Constr(..) => {
                children(exp, &mut |child| self.exp(child));
                self.require_sizes(&exp.ty, exp.span, "this constructor");
            }
            ExpKind::Var { size_args, .. } if !size_args.is_empty() => {
                let carried = carried_by_arguments(&exp.ty);
                for (_, dim) in size_args {
                    let mut mentions = FreeVars::default();
                    crate::subst::map_dim(dim, &mut mentions);
                    mentions.dims.retain(|var| !carried.contains(var));
                    self.need_sizes(&mentions.dims, exp.span, "this function");
                }
            }
            ExpKind::Apply { fun, args, infix } => {
                if self.sections.contains(&exp.span) {
                    self.require_sizes(&exp.ty, exp.span, "this operator section");
                }
                if *infix {
                    args.iter().for_each(|arg| self.exp(arg));
                } else {
                    args.iter().rev().for_each(|arg| self.exp(arg));
                }
                self.exp(fun);
            }
            ExpKind::Lambda(lambda) => {
                lambda.params.iter().for_each(|pat| self.pattern(pat));
                self.in_branch(|walk| walk.exp(&lambda.body));
            }
            ExpKind::Let { binds, body } => {
                for bind in binds {
                    match bind {
                        Bind::Pat { rhs, .. } => self.exp(rhs),
                        Bind::Fun(def) => self.in_branch(|walk| walk.exp(&def.body)),
                    }
                }
                self.exp(body);
            }
            ExpKind::If { cond, then, otherwise } => {
                self.exp(cond);
                self.in_branch(|walk| walk.exp(then));
                self.in_branch(|walk| walk.exp(otherwise));
            }
            ExpKind::Match { scrutinee, cases } => {
                self.exp(scrutinee);
                for case in cases {
                    self.in_branch(|walk| walk.exp(&case.body));
                }
            }
            ExpKind::Loop { init, form, body, .. } => {
                self.exp(init);
                match form {
                    LoopForm::For(_, exp) | LoopForm::ForIn(_, exp) => self.exp(exp),
                    LoopForm::While(cond) => self.in_branch(|walk| walk.exp(cond)),
                }
                self.in_branch(|walk| walk.exp(body));
            }
            _ => children(exp, &mut |child| self.exp(child)),
        }
    }

    /// Walks code that may not be evaluated: sizes computed in it are not known after it.
    fn in_branch(&mut self, f: impl FnOnce(&mut Self)) {
        let mark = self.known_log.len();
        f(self);
        for var in self.known_log.drain(mark..) {
            self.known.remove(&var);
        }
    }

    fn mark_known(&mut self, var: VarId) {
        if self.known.insert(var) {
            self.known_log.push(var);
        }
    }

    fn pattern(&mut self, pat: &Pat) {
        self.require_sizes(&pat.ty, pat.span, "this parameter");
    }

    /// Requires that all sizes of a type are known.
    fn require_sizes(&mut self, ty: &Ty, span: Span, what: &str) {
        self.need_sizes(&FreeVars::of(ty).dims, span, what);
    }

    fn need_sizes(&mut self, sizes: &[VarId], span: Span, what: &str) {
        for var in sizes {
            let Some(origin) = self.origins.get(var).copied().or_else(|| self.absorbed(*var)) else {
                continue;
            };
            if self.known.contains(var) {
                continue;
            }
            let name = &self.tables.var(*var).name;
            let message = format!("Causality check: {what} needs the size \"{name}\" too early");
            let diag = Diagnostic::error("causality", message)
                .at(span, "needed here")
                .also(origin, format!("\"{name}\" is computed here"))
                .note(
                    "arguments are evaluated before the function, from last to first; left operands \
                     before right operands",
                )
                .hint(format!(
                    "bind the value that has the size \"{name}\" with `let` before this expression"
                ));
            self.found.push(diag);
            // Report each size once.
            self.mark_known(*var);
        }
    }
}

impl Causality<'_> {
    /// The span at which the program computes an existential size, if it does.
    fn absorbed(&self, var: VarId) -> Option<Span> {
        match self.tables.var(var).state {
            VarState::Existential { computed, .. } => computed,
            VarState::Copy { of, .. } => self.absorbed(of),
            _ => None,
        }
    }
}

/// The sizes of a function type that its arguments carry.
fn carried_by_arguments(ty: &Ty) -> Vec<VarId> {
    let mut sizes = CarriedSizes::default();
    let mut ty = ty;
    while let Ty::Arrow(arrow) = ty {
        sizes.add(&arrow.param);
        ty = &arrow.ret.ty;
    }
    sizes.carried
}
