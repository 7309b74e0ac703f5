//! Exact operators: the results have the same bits for any grouping of the applications, because no
//! part of the operator rounds (design contract 1). Exact operators may be regrouped freely; all
//! others follow their decomposition.

use ir::syntax::{Atom, BasicOp, Body, Exp, Lambda, Level};
use ir::walk::with_stack;
use prim::{BinOp, PrimType, ScalarOp};
use target::device::is_atomic;

/// Returns true if no operation of the operator rounds. Loops, calls and the level's own operations
/// are not analysed: they count as inexact.
pub fn is_exact<L: Level>(operator: &Lambda<L>) -> bool {
    exact_body(&operator.body)
}

fn exact_body<L: Level>(body: &Body<L>) -> bool {
    with_stack(|| {
        body.stms.iter().all(|stm| match &stm.exp {
            Exp::Basic(op) => match op {
                BasicOp::Scalar(op) => op.is_exact(),
                BasicOp::Atom(_)
                | ir::parameter_op!()
                | BasicOp::Assert { .. }
                | BasicOp::Index { .. }
                | ir::update_op!()
                | ir::view_op!()
                | ir::fresh_array_op!()
                | BasicOp::Opaque(_) => true,
            },
            Exp::If { cond: _, then_body, else_body } => exact_body(then_body) && exact_body(else_body),
            Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => false,
        })
    })
}

/// Returns the scalar operator that an operator on one scalar consists of, if LLVM recognises
/// reductions with it (so that a plain loop is vectorised by LLVM).
pub fn llvm_reduction_operator<L: Level>(operator: &Lambda<L>) -> Option<BinOp> {
    let [stm] = operator.body.stms.as_slice() else {
        return None;
    };
    let Exp::Basic(BasicOp::Scalar(ScalarOp::Binary(op, ty, _, _))) = stm.exp else {
        return None;
    };
    (op.is_associative() && !ty.is_float() && operator.ret.len() == 1).then_some(op)
}

/// Returns the integer operator that an operator consists of, if devices have an atomic instruction
/// for it ([`is_atomic`]).
pub fn atomic_operator<L: Level>(operator: &Lambda<L>) -> Option<(BinOp, PrimType)> {
    scalar_operator(operator).filter(|(by, ty)| is_atomic(*by, *ty))
}

/// Returns the scalar operator, with operands in either order, that an operator consists of.
pub fn scalar_operator<L: Level>(operator: &Lambda<L>) -> Option<(BinOp, PrimType)> {
    let ([stm], [result], [x, y]) =
        (operator.body.stms.as_slice(), operator.body.result.as_slice(), operator.params.as_slice())
    else {
        return None;
    };
    let Exp::Basic(BasicOp::Scalar(ScalarOp::Binary(by, ty, a, b))) = &stm.exp else {
        return None;
    };
    let bound = stm.pat.first().map(|param| Atom::Var(param.name));
    let params = [Atom::Var(x.name), Atom::Var(y.name)];
    let plain = bound == Some(*result) && ([*a, *b] == params || [*b, *a] == params);
    plain.then_some((*by, *ty))
}
