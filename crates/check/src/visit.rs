//! Traversals of the typed tree.
//!
//! [`children`] and [`children_mut`] call a function on every direct subexpression of a node,
//! [`patterns_mut`] on every pattern of the node itself. Recursive callers must grow the stack.

use crate::tast::{Bind, Exp, ExpKind, Index, Lambda, LoopForm, Pat, PatKind, Ty};
use std::sync::Arc;

/// Defines a traversal of direct subexpressions, by shared or (with `mut`) mutable reference.
macro_rules! walk {
    ($(#[$doc:meta])* $vis:vis $name:ident, $index:ident, $lambda:ident $(, $mutable:ident)?) => {
        $(#[$doc])*
        $vis fn $name<'a>(exp: &'a $($mutable)? Exp, f: &mut dyn FnMut(&'a $($mutable)? Exp)) {
            match &$($mutable)? exp.kind {
                ExpKind::Lit(..)
                | ExpKind::String(_)
                | ExpKind::Var { .. }
                | ExpKind::Intrinsic { .. }
                | ExpKind::Operator(_)
                | ExpKind::Hole => {}
                ExpKind::Tuple(parts) | ExpKind::Array(parts) | ExpKind::Constr(_, parts) => {
                    for part in parts {
                        f(part);
                    }
                }
                ExpKind::Record(fields) => {
                    for (_, field) in fields {
                        f(field);
                    }
                }
                ExpKind::Project(e, _) | ExpKind::Coerce(e) | ExpKind::Attr(_, e) => f(e),
                ExpKind::RecordUpdate { record, path: _, value } => {
                    f(record);
                    f(value);
                }
                ExpKind::Range { start, second, end, kind: _ } => {
                    f(start);
                    if let Some(second) = second {
                        f(second);
                    }
                    f(end);
                }
                ExpKind::Index { array, indices } => {
                    f(array);
                    for index in indices {
                        $index(index, f);
                    }
                }
                ExpKind::Update { array, indices, value } => {
                    f(array);
                    for index in indices {
                        $index(index, f);
                    }
                    f(value);
                }
                ExpKind::Apply { fun, args, .. } => {
                    for arg in args {
                        f(arg);
                    }
                    f(fun);
                }
                ExpKind::Lambda(lambda) => f($lambda(lambda)),
                ExpKind::Let { binds, body } => {
                    for bind in binds {
                        if let Bind::Pat { rhs, .. } = bind {
                            f(rhs);
                        }
                    }
                    f(body);
                }
                ExpKind::If { cond, then, otherwise } => {
                    f(cond);
                    f(then);
                    f(otherwise);
                }
                ExpKind::Loop { sizes: _, pat: _, init, form, body } => {
                    f(init);
                    match form {
                        LoopForm::For(_, e) | LoopForm::ForIn(_, e) | LoopForm::While(e) => f(e),
                    }
                    f(body);
                }
                ExpKind::Match { scrutinee, cases } => {
                    f(scrutinee);
                    for case in cases {
                        f(&$($mutable)? case.body);
                    }
                }
                ExpKind::And(a, b) | ExpKind::Or(a, b) => {
                    f(a);
                    f(b);
                }
                ExpKind::Assert { cond, source_text: _, exp } => {
                    f(cond);
                    f(exp);
                }
            }
        }

        fn $index<'a>(
            index: &'a $($mutable)? Index,
            f: &mut dyn FnMut(&'a $($mutable)? Exp),
        ) {
            match index {
                Index::At(e) => f(e),
                Index::Slice { from, to, step } => {
                    for e in [from, to, step].into_iter().flatten() {
                        f(e);
                    }
                }
            }
        }
    };
}

walk! {
    /// Calls `f` on each direct subexpression, in source order, but on the arguments of an
    /// application before its function. Lambda bodies are visited, bodies of local functions are
    /// not.
    pub children, children_of_index, lambda_body
}

walk! {
    /// As [`children`], with mutable references.
    pub(crate) children_mut, children_of_index_mut, lambda_body_mut, mut
}

fn lambda_body(lambda: &Arc<Lambda>) -> &Exp {
    &lambda.body
}

fn lambda_body_mut(lambda: &mut Arc<Lambda>) -> &mut Exp {
    &mut Arc::make_mut(lambda).body
}

/// Defines a traversal of patterns, by shared or (with `mut`) mutable reference.
macro_rules! walk_patterns {
    ($patterns:ident, $pattern:ident, $params:ident $(, $mutable:ident)?) => {
        /// Calls `f` on each pattern of the node itself, nested patterns included.
        pub(crate) fn $patterns(exp: &$($mutable)? Exp, f: &mut dyn FnMut(&$($mutable)? Pat)) {
            match &$($mutable)? exp.kind {
                ExpKind::Lambda(lambda) => {
                    for pat in $params(lambda) {
                        $pattern(pat, f);
                    }
                }
                ExpKind::Let { binds, body: _ } => {
                    for bind in binds {
                        if let Bind::Pat { pat, .. } = bind {
                            $pattern(pat, f);
                        }
                    }
                }
                ExpKind::Loop { pat, form, .. } => {
                    $pattern(pat, f);
                    if let LoopForm::ForIn(pat, _) = form {
                        $pattern(pat, f);
                    }
                }
                ExpKind::Match { cases, .. } => {
                    for case in cases {
                        $pattern(&$($mutable)? case.pat, f);
                    }
                }
                _ => {}
            }
        }

        /// Calls `f` on a pattern and all patterns in it.
        pub(crate) fn $pattern(pat: &$($mutable)? Pat, f: &mut dyn FnMut(&$($mutable)? Pat)) {
            f(pat);
            match &$($mutable)? pat.kind {
                PatKind::Var(_) | PatKind::Wildcard | PatKind::Lit(..) => {}
                PatKind::Tuple(parts) | PatKind::Constr(_, parts) => {
                    for part in parts {
                        $pattern(part, f);
                    }
                }
                PatKind::Record(fields) => {
                    for (_, part) in fields {
                        $pattern(part, f);
                    }
                }
                PatKind::Attr(_, inner) => $pattern(inner, f),
            }
        }
    };
}

walk_patterns! { patterns, pattern, lambda_params }
walk_patterns! { patterns_mut, pattern_mut, lambda_params_mut, mut }

fn lambda_params(lambda: &Arc<Lambda>) -> &[Pat] {
    &lambda.params
}

fn lambda_params_mut(lambda: &mut Arc<Lambda>) -> &mut [Pat] {
    &mut Arc::make_mut(lambda).params
}

/// Returns true if `does` holds for a part of the type, where tuples, records and sums are split
/// into parts.
pub(crate) fn any_component(ty: &Ty, does: &dyn Fn(&Ty) -> bool) -> bool {
    stacker::maybe_grow(crate::STACK_RED_ZONE, crate::STACK_GROWTH, || match ty {
        Ty::Tuple(parts) => parts.iter().any(|ty| any_component(ty, does)),
        Ty::Record(fields) => fields.iter().any(|(_, ty)| any_component(ty, does)),
        Ty::Sum(constrs) => {
            let mut parts = constrs.iter().flat_map(|(_, payload)| payload.iter());
            parts.any(|ty| any_component(ty, does))
        }
        Ty::Scalar(_) | Ty::Array(_) | Ty::Arrow(_) | Ty::Var(_) | Ty::Abstract(..) => does(ty),
    })
}

/// Calls `f` on an expression and all its subexpressions, including the bodies of local functions,
/// in pre-order.
pub(crate) fn for_each_exp(exp: &Exp, f: &mut dyn FnMut(&Exp)) {
    stacker::maybe_grow(crate::STACK_RED_ZONE, crate::STACK_GROWTH, || {
        f(exp);
        if let ExpKind::Let { binds, body: _ } = &exp.kind {
            for bind in binds {
                if let Bind::Fun(def) = bind {
                    for_each_exp(&def.body, f);
                }
            }
        }
        children(exp, &mut |child| for_each_exp(child, f));
    });
}

/// Calls `f` on every variable that a pattern binds, from left to right.
pub(crate) fn bound_vars(pat: &Pat, f: &mut dyn FnMut(crate::tast::VarId, &Pat)) {
    pattern(pat, &mut |pat| {
        if let PatKind::Var(id) = pat.kind {
            f(id, pat);
        }
    });
}
