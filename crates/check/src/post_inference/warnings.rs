//! Warnings about a finished definition that is correct but unusual.
//!
//! - Arrays are compared with `==`, which is deprecated.
//! - The first two elements of a range are the same: the range is invalid.
//! - A size is given by an expression that binds names: it cannot occur in a type, so the size
//!   becomes unknown.
//!
//! Needs a finished definition without errors. Warnings about unreachable cases come from
//! [`super::exhaustiveness`], warnings about types from the code that checks them.

use crate::context::Context;
use crate::infer::FreeVars;
use crate::intrinsics::Intrinsic;
use crate::tast::{Def, Exp, ExpKind, Index, RangeKind, Ty};
use crate::visit::{any_component, children, for_each_exp};
use syntax::diag::Diagnostic;
use syntax::span::Span;

/// The maximum number of parts of a size expression that are visited.
const MAX_PARTS: u32 = 1000;

/// Warns of unusual expressions in a definition.
pub(crate) fn check(def: &Def, cx: &mut Context<'_>) {
    if !cx.site.is_prelude() {
        for_each_exp(&def.body, &mut |exp| warn_about(exp, cx));
    }
}

/// Warns of one node.
fn warn_about(exp: &Exp, cx: &mut Context<'_>) {
    match &exp.kind {
        ExpKind::Intrinsic { fun: Intrinsic::Equal { .. }, ty_args, .. }
            if ty_args.iter().any(|ty| matches!(ty, Ty::Array(_))) =>
        {
            cx.warn(
                Diagnostic::warning("array-equality", "Comparing arrays with `==` or `!=` is deprecated")
                    .at(exp.span, "")
                    .note("a future version of the language will reject it")
                    .hint("compare the elements: `and (map2 (==) xs ys)`"),
            );
        }
        ExpKind::Range { start, second, end, kind } => {
            if second.as_ref().is_some_and(|second| same(start, second)) {
                cx.warn(
                    Diagnostic::warning(
                        "empty-range",
                        "The first and the second element of this range are the same",
                    )
                    .at(exp.span, "")
                    .note("the range is invalid wherever it is evaluated"),
                );
            }
            if second.is_none() && !matches!(kind, RangeKind::DownTo) {
                warn_of_binding(end, cx);
            }
        }
        ExpKind::Index { array: _, indices } => {
            for index in indices {
                if let Index::Slice { from, to, step } = index {
                    for part in [from, to, step].into_iter().flatten() {
                        warn_of_binding(part, cx);
                    }
                }
            }
        }
        ExpKind::Apply { fun, args, .. } => {
            let mut ty = &fun.ty;
            for arg in args {
                let Ty::Arrow(arrow) = ty else { break };
                if let Some(name) = arrow.name
                    && FreeVars::of(&arrow.ret.ty).dims.contains(&name)
                {
                    warn_of_binding(arg, cx);
                }
                ty = &arrow.ret.ty;
            }
        }
        _ => {}
    }
}

/// Warns if a size is an expression that binds names.
fn warn_of_binding(size: &Exp, cx: &mut Context<'_>) {
    let mut fuel = MAX_PARTS;
    if let Some(span) = binding(size, &mut fuel) {
        cx.warn(
            Diagnostic::warning("size-binding", "Size expression with binding is replaced by unknown size")
                .at(size.span, "")
                .also(span, "this binds a name")
                .hint("bind the size to a name with `let` first, and use that name"),
        );
    }
}

/// Returns true if two expressions evidently have the same value.
fn same(a: &Exp, b: &Exp) -> bool {
    match (&a.kind, &b.kind) {
        (ExpKind::Lit(a, _), ExpKind::Lit(b, _)) => a == b,
        (ExpKind::Var { id: a, .. }, ExpKind::Var { id: b, .. }) => a == b,
        _ => false,
    }
}

/// The span of a binding among the first `fuel` parts of an expression.
fn binding(exp: &Exp, fuel: &mut u32) -> Option<Span> {
    *fuel = fuel.checked_sub(1)?;
    stacker::maybe_grow(crate::STACK_RED_ZONE, crate::STACK_GROWTH, || match &exp.kind {
        ExpKind::Let { .. } | ExpKind::Lambda(_) | ExpKind::Loop { .. } | ExpKind::Match { .. } => {
            Some(exp.span)
        }
        _ => {
            let mut found = None;
            children(exp, &mut |child| {
                if found.is_none() {
                    found = binding(child, fuel);
                }
            });
            found
        }
    })
}

/// Returns true if a value of this type may be or contain an array.
pub(crate) fn may_hold_array(ty: &Ty) -> bool {
    any_component(ty, &|part| !matches!(part, Ty::Scalar(_) | Ty::Arrow(_)))
}
