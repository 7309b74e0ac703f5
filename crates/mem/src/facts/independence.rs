//! Independence: iterations that may run in any order, or in parallel.
//!
//! A body can only update arrays in place that belong to its iteration (a row of the result, or the
//! frame or a block that it allocates), since it cannot consume arrays bound outside. So it remains
//! to check that it updates no accumulator.

use analysis::uses;
use ir::Mems;
use ir::mem::MemOp;
use ir::name::Name;
use ir::seg::{Seg, SegOp};
use ir::syntax::{Atom, BasicOp, Body, DimIndex, Exp, LoopParam, Stm};
use ir::types::Type;
use ir::walk::with_stack;

/// Returns true if iterations of a body of these statements may run in any order.
pub(super) fn independent(stms: &[Stm<Mems>]) -> bool {
    with_stack(|| {
        stms.iter().all(|stm| match &stm.exp {
            Exp::Basic(BasicOp::UpdateAcc { .. }) => false,
            Exp::Basic(_) => !stm.pat.iter().any(|p| matches!(p.ty, Type::Acc { .. })),
            Exp::If { cond: _, then_body, else_body } => {
                independent(&then_body.stms) && independent(&else_body.stms)
            }
            Exp::Apply { fun: _, args: _ } => stm.pat.iter().all(|p| p.ty.is_prim()),
            Exp::Loop { params: _, form: _, body } => independent(&body.stms),
            Exp::Op(MemOp::Alloc { .. } | MemOp::Transfer { .. }) => true,
            Exp::Op(MemOp::Seg(SegOp::Seg(Seg { level, body, .. }))) => {
                level.is_innermost() && independent(&body.stms)
            }
            Exp::Op(MemOp::Seg(SegOp::WithAcc { .. })) => false,
        })
    })
}

/// Returns true if a loop's iteration `i` only writes row `i` of its arrays and reads none of them:
/// then iterations may run in any order.
pub(super) fn writes_rows(params: &[LoopParam<Mems>], counter: Name, body: &Body<Mems>) -> bool {
    let row_update = |param: &LoopParam<Mems>, result: &Atom| {
        body.stms.iter().any(|stm| {
            let Exp::Basic(BasicOp::Update { array, slice, value: _ }) = &stm.exp else {
                return false;
            };
            *array == param.param.name
                && slice.first() == Some(&DimIndex::Fix(Atom::Var(counter)))
                && stm.pat.first().is_some_and(|p| Atom::Var(p.name) == *result)
        })
    };
    let rows = params.len() == body.result.len()
        && params.len() <= 8
        && params.iter().zip(&body.result).all(|(p, r)| p.param.ty.is_array() && row_update(p, r));
    let plain = || {
        body.stms.iter().all(|stm| {
            if let Exp::Basic(BasicOp::Update { array, .. }) = &stm.exp {
                params.iter().any(|p| p.param.name == *array)
            } else {
                true
            }
        }) && independent(&body.stms)
    };
    // Most loops are refused by their results, without a walk through the loops in them.
    rows && plain() && {
        let uses = uses::in_body(body);
        params.iter().all(|p| uses.get(&p.param.name) == Some(&1))
    }
}
