//! Which operators are exact: they give the same bits however their
//! applications are grouped, because nothing in them rounds (design contract
//! 1). Such operators may be regrouped freely; all others follow their
//! decomposition.

use crate::syntax::{Atom, BasicOp, Body, Exp, Lambda, Level};
use crate::walk::with_stack;
use prim::{BinOp, PrimType};
use target::device::is_atomic;

/// Whether an operator computes nothing that rounds. Loops, calls and the
/// level's own operations are not looked into: they count as inexact.
pub fn is_exact<L: Level>(operator: &Lambda<L>) -> bool {
    exact_body(&operator.body)
}

fn exact_body<L: Level>(body: &Body<L>) -> bool {
    with_stack(|| {
        body.stms.iter().all(|stm| match &stm.exp {
            Exp::Basic(op) => match op {
                BasicOp::Binary(op, ty, _, _) => {
                    ty.is_int() || *ty == PrimType::Bool || matches!(op, BinOp::FMin | BinOp::FMax)
                }
                BasicOp::Fma(..) | BasicOp::Math(..) => false,
                BasicOp::Convert { op: _, from, to, arg: _ } => !from.is_float() || from == to,
                BasicOp::Atom(_)
                | BasicOp::Unary(..)
                | BasicOp::Compare(..)
                | BasicOp::SizeAtLeast { .. }
                | BasicOp::Param { .. }
                | BasicOp::Select { .. }
                | BasicOp::Assert { .. }
                | BasicOp::Index { .. }
                | BasicOp::Update { .. }
                | BasicOp::FlatIndex { .. }
                | BasicOp::FlatUpdate { .. }
                | BasicOp::Concat { .. }
                | BasicOp::Iota { .. }
                | BasicOp::Replicate { .. }
                | BasicOp::Scratch { .. }
                | BasicOp::Rearrange { .. }
                | BasicOp::Reshape { .. }
                | BasicOp::Copy(_)
                | BasicOp::Manifest { .. }
                | BasicOp::ArrayLit { .. }
                | BasicOp::ConstArray { .. }
                | BasicOp::Opaque(_)
                | BasicOp::UpdateAcc { .. } => true,
            },
            Exp::If { cond: _, then_body, else_body } => exact_body(then_body) && exact_body(else_body),
            Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => false,
        })
    })
}

/// The one scalar operator that an operator over one scalar is, if it is one
/// that code generators know how to reduce with (so that a plain loop becomes
/// vector code by itself).
pub fn plain_operator<L: Level>(operator: &Lambda<L>) -> Option<BinOp> {
    let [stm] = operator.body.stms.as_slice() else {
        return None;
    };
    let Exp::Basic(BasicOp::Binary(op, _, _, _)) = stm.exp else {
        return None;
    };
    let known = matches!(
        op,
        BinOp::Add
            | BinOp::Mul
            | BinOp::And
            | BinOp::Or
            | BinOp::Xor
            | BinOp::SMin
            | BinOp::SMax
            | BinOp::UMin
            | BinOp::UMax
    );
    (known && operator.ret.len() == 1).then_some(op)
}

/// The operator on integers that an operator is, if it is nothing but one that devices
/// apply at once ([`is_atomic`]).
pub fn atomic_operator<L: Level>(operator: &Lambda<L>) -> Option<(BinOp, PrimType)> {
    scalar_operator(operator).filter(|(by, ty)| is_atomic(*by, *ty))
}

/// The operator on scalars, in either order, that an operator is, if it is nothing else.
pub fn scalar_operator<L: Level>(operator: &Lambda<L>) -> Option<(BinOp, PrimType)> {
    let ([stm], [result], [x, y]) =
        (operator.body.stms.as_slice(), operator.body.result.as_slice(), operator.params.as_slice())
    else {
        return None;
    };
    let Exp::Basic(BasicOp::Binary(by, ty, a, b)) = &stm.exp else {
        return None;
    };
    let bound = stm.pat.first().map(|param| Atom::Var(param.name));
    let params = [Atom::Var(x.name), Atom::Var(y.name)];
    let plain = bound == Some(*result) && ([*a, *b] == params || [*b, *a] == params);
    plain.then_some((*by, *ty))
}
