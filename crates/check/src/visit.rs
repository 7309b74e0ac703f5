//! Walks over the typed tree.
//!
//! [`children`] and [`children_mut`] call a function on every direct subexpression of a node,
//! [`patterns_mut`] on every pattern that the node itself has. Whoever recurses
//! through them grows the stack.

use crate::tast::{Bind, Exp, ExpKind, Index, LoopForm, Pat, PatKind};
use std::sync::Arc;

/// Calls `f` on each direct subexpression, in evaluation order. Definitions of
/// local functions are not entered; lambda bodies are.
pub(crate) fn children_mut(exp: &mut Exp, f: &mut dyn FnMut(&mut Exp)) {
    match &mut exp.kind {
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
        ExpKind::RecordUpdate {
            record,
            path: _,
            value,
        } => {
            f(record);
            f(value);
        }
        ExpKind::Range {
            start,
            second,
            end,
            kind: _,
        } => {
            f(start);
            if let Some(second) = second {
                f(second);
            }
            f(end);
        }
        ExpKind::Index { array, indices } => {
            f(array);
            for index in indices {
                index_mut(index, f);
            }
        }
        ExpKind::Update {
            array,
            indices,
            value,
        } => {
            f(array);
            for index in indices {
                index_mut(index, f);
            }
            f(value);
        }
        ExpKind::Apply { fun, args } => {
            for arg in args {
                f(arg);
            }
            f(fun);
        }
        ExpKind::Lambda(lambda) => f(&mut Arc::make_mut(lambda).body),
        ExpKind::Let { binds, body } => {
            for bind in binds {
                if let Bind::Pat { rhs, .. } = bind {
                    f(rhs);
                }
            }
            f(body);
        }
        ExpKind::If {
            cond,
            then,
            otherwise,
        } => {
            f(cond);
            f(then);
            f(otherwise);
        }
        ExpKind::Loop {
            sizes: _,
            pat: _,
            init,
            form,
            body,
        } => {
            f(init);
            match form {
                LoopForm::For(_, e) | LoopForm::ForIn(_, e) | LoopForm::While(e) => f(e),
            }
            f(body);
        }
        ExpKind::Match { scrutinee, cases } => {
            f(scrutinee);
            for case in cases {
                f(&mut case.body);
            }
        }
        ExpKind::And(a, b) | ExpKind::Or(a, b) => {
            f(a);
            f(b);
        }
        ExpKind::Assert { cond, text: _, exp } => {
            f(cond);
            f(exp);
        }
    }
}

fn index_mut(index: &mut Index, f: &mut dyn FnMut(&mut Exp)) {
    match index {
        Index::At(e) => f(e),
        Index::Slice { from, to, step } => {
            [from, to, step].into_iter().flatten().for_each(f);
        }
    }
}

/// As [`children_mut`], to look only.
pub(crate) fn children(exp: &Exp, f: &mut dyn FnMut(&Exp)) {
    match &exp.kind {
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
        ExpKind::RecordUpdate {
            record,
            path: _,
            value,
        } => {
            f(record);
            f(value);
        }
        ExpKind::Range {
            start,
            second,
            end,
            kind: _,
        } => {
            f(start);
            if let Some(second) = second {
                f(second);
            }
            f(end);
        }
        ExpKind::Index { array, indices } => {
            f(array);
            for index in indices {
                index_exps(index, f);
            }
        }
        ExpKind::Update {
            array,
            indices,
            value,
        } => {
            f(array);
            for index in indices {
                index_exps(index, f);
            }
            f(value);
        }
        ExpKind::Apply { fun, args } => {
            for arg in args {
                f(arg);
            }
            f(fun);
        }
        ExpKind::Lambda(lambda) => f(&lambda.body),
        ExpKind::Let { binds, body } => {
            for bind in binds {
                if let Bind::Pat { rhs, .. } = bind {
                    f(rhs);
                }
            }
            f(body);
        }
        ExpKind::If {
            cond,
            then,
            otherwise,
        } => {
            f(cond);
            f(then);
            f(otherwise);
        }
        ExpKind::Loop {
            sizes: _,
            pat: _,
            init,
            form,
            body,
        } => {
            f(init);
            match form {
                LoopForm::For(_, e) | LoopForm::ForIn(_, e) | LoopForm::While(e) => f(e),
            }
            f(body);
        }
        ExpKind::Match { scrutinee, cases } => {
            f(scrutinee);
            for case in cases {
                f(&case.body);
            }
        }
        ExpKind::And(a, b) | ExpKind::Or(a, b) => {
            f(a);
            f(b);
        }
        ExpKind::Assert { cond, text: _, exp } => {
            f(cond);
            f(exp);
        }
    }
}

fn index_exps(index: &Index, f: &mut dyn FnMut(&Exp)) {
    match index {
        Index::At(e) => f(e),
        Index::Slice { from, to, step } => {
            [from, to, step].into_iter().flatten().for_each(f);
        }
    }
}

/// Calls `f` on each pattern of the node itself, nested patterns included.
pub(crate) fn patterns_mut(exp: &mut Exp, f: &mut dyn FnMut(&mut Pat)) {
    match &mut exp.kind {
        ExpKind::Lambda(lambda) => {
            for pat in &mut Arc::make_mut(lambda).params {
                pattern_mut(pat, f);
            }
        }
        ExpKind::Let { binds, body: _ } => {
            for bind in binds {
                if let Bind::Pat { pat, .. } = bind {
                    pattern_mut(pat, f);
                }
            }
        }
        ExpKind::Loop { pat, form, .. } => {
            pattern_mut(pat, f);
            if let LoopForm::ForIn(pat, _) = form {
                pattern_mut(pat, f);
            }
        }
        ExpKind::Match { cases, .. } => {
            for case in cases {
                pattern_mut(&mut case.pat, f);
            }
        }
        _ => {}
    }
}

/// Calls `f` on a pattern and all patterns in it.
pub(crate) fn pattern_mut(pat: &mut Pat, f: &mut dyn FnMut(&mut Pat)) {
    f(pat);
    match &mut pat.kind {
        PatKind::Var(_) | PatKind::Wildcard | PatKind::Lit(..) => {}
        PatKind::Tuple(parts) | PatKind::Constr(_, parts) => {
            for part in parts {
                pattern_mut(part, f);
            }
        }
        PatKind::Record(fields) => {
            for (_, part) in fields {
                pattern_mut(part, f);
            }
        }
        PatKind::Attr(_, inner) => pattern_mut(inner, f),
    }
}

/// Every variable that a pattern binds, from left to right.
pub(crate) fn bound_vars(pat: &Pat, f: &mut dyn FnMut(crate::tast::VarId, &Pat)) {
    match &pat.kind {
        PatKind::Var(id) => f(*id, pat),
        PatKind::Wildcard | PatKind::Lit(..) => {}
        PatKind::Tuple(parts) | PatKind::Constr(_, parts) => {
            for part in parts {
                bound_vars(part, f);
            }
        }
        PatKind::Record(fields) => {
            for (_, part) in fields {
                bound_vars(part, f);
            }
        }
        PatKind::Attr(_, inner) => bound_vars(inner, f),
    }
}
