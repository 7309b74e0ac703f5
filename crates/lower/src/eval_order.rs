//! The evaluation order of the parts of an application.
//!
//! The language evaluates arguments from the last to the first, then the function; the left operand
//! of an infix operator comes first. Statements are emitted from left to right if this cannot be
//! observed: at most one part may fail, and none has existential sizes that another may mention.

use crate::value::{Env, Value};
use crate::{Lower, Res};
use check::intrinsics::Intrinsic;
use check::tast::{Exp, ExpKind};
use std::rc::Rc;

/// The number of nodes of a part that are searched; a larger part is assumed to fail.
const MAX_NODES: usize = 64;

impl Lower<'_> {
    /// The value of `fun args`.
    pub(crate) fn application(&mut self, fun: &Exp, args: &[Exp], infix: bool, env: &Rc<Env>) -> Res<Value> {
        if !infix && is_right_to_left(fun, args) {
            let values = args.iter().rev().map(|arg| self.eval(arg, env));
            let mut values = values.collect::<Res<Vec<_>>>()?;
            values.reverse();
            let fun = self.eval(fun, env)?;
            return self.apply(&fun, values);
        }
        // The size arguments of a named function may be bound by the arguments.
        let first = if named(fun) { None } else { Some(self.eval(fun, env)?) };
        let values = args.iter().map(|arg| self.eval(arg, env));
        let values = values.collect::<Res<Vec<_>>>()?;
        let fun = match first {
            Some(fun) => fun,
            None => self.eval(fun, env)?,
        };
        self.apply(&fun, values)
    }
}

/// Returns true if the order of evaluation matters and is from the last part to the first.
fn is_right_to_left(fun: &Exp, args: &[Exp]) -> bool {
    let computed = std::iter::once(fun).filter(|fun| !named(fun));
    let parts: Vec<&Exp> = computed.chain(args).filter(|part| !plain(part)).collect();
    if parts.len() < 2 || is_scalar(fun) {
        return false;
    }
    let mut failing = 0;
    for part in parts {
        failing += usize::from(may_fail(part));
        if failing > 1 || !part.existential_sizes.is_empty() {
            return true;
        }
    }
    false
}

fn named(fun: &Exp) -> bool {
    matches!(fun.kind, ExpKind::Var { .. } | ExpKind::Intrinsic { .. })
}

/// Returns true for expressions that emit nothing and have no unknown sizes in their type.
fn plain(exp: &Exp) -> bool {
    match &exp.kind {
        ExpKind::Lit(..) => true,
        ExpKind::Var { size_args, .. } => size_args.is_empty(),
        _ => false,
    }
}

/// Returns true for a built-in function on scalars, whose operands are evaluated from left to
/// right.
const fn is_scalar(fun: &Exp) -> bool {
    match &fun.kind {
        ExpKind::Intrinsic { fun, .. } => !matches!(fun, Intrinsic::Array(_)),
        _ => false,
    }
}

/// Returns true unless the evaluation of the expression surely succeeds.
fn may_fail(exp: &Exp) -> bool {
    let mut todo = vec![exp];
    let mut seen = 0;
    while let Some(exp) = todo.pop() {
        seen += 1;
        let sure = match &exp.kind {
            // Lambdas are applied elsewhere.
            ExpKind::Lambda(_) => continue,
            ExpKind::Apply { fun, .. } => match &fun.kind {
                ExpKind::Intrinsic { fun, .. } => total(*fun),
                _ => false,
            },
            ExpKind::Lit(..)
            | ExpKind::String(_)
            | ExpKind::Var { .. }
            | ExpKind::Intrinsic { .. }
            | ExpKind::Tuple(_)
            | ExpKind::Record(_)
            | ExpKind::Project(..)
            | ExpKind::RecordUpdate { .. }
            | ExpKind::Let { .. }
            | ExpKind::If { .. }
            | ExpKind::Constr(..)
            | ExpKind::And(..)
            | ExpKind::Or(..)
            | ExpKind::Attr(..) => true,
            ExpKind::Operator(_)
            | ExpKind::Array(_)
            | ExpKind::Range { .. }
            | ExpKind::Index { .. }
            | ExpKind::Update { .. }
            | ExpKind::Loop { .. }
            | ExpKind::Match { .. }
            | ExpKind::Coerce(_)
            | ExpKind::Assert { .. }
            | ExpKind::Hole => false,
        };
        if !sure || seen > MAX_NODES {
            return true;
        }
        check::children(exp, &mut |child| todo.push(child));
    }
    false
}

/// Returns true for built-in functions on scalars that cannot fail.
const fn total(fun: Intrinsic) -> bool {
    match fun {
        Intrinsic::Array(_) => false,
        Intrinsic::Binary(op, _) => !op.is_checked(),
        _ => true,
    }
}
