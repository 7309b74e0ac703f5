//! Rule G7: a nest over a loop is a loop of nests.
//!
//! ```text
//! Σ ⊢ loop x = e for i < n do f     =>   loop xs = (Σ ⊢ e) for i < n do (Σ, x ∈ xs ⊢ f)
//!     if n is the same in all iterations of Σ
//! ```

use super::distribute::{bind, distribute};
use super::updates::array_of;
use crate::context::Ctx;
use crate::nest::Nest;
use crate::position::Position;
use ir::syntax::{Aux, BasicOp, Body, Exp, LoopForm, LoopParam, Param, Stm};
use ir::types::Type;
use ir::{PassError, Segs, Soacs};

/// Appends a loop of nests.
pub(super) fn g7(
    ctx: &mut Ctx<'_>,
    nest: &Nest<'_>,
    at: Position,
    pat: Vec<Param<Soacs>>,
    aux: Aux,
    (params, form, body): (Vec<LoopParam<Soacs>>, LoopForm, Body<Soacs>),
    out: &mut Vec<Stm<Segs>>,
) -> Result<(), PassError> {
    let mut inner = nest.child(Vec::new());
    let mut all: Vec<LoopParam<Segs>> = Vec::with_capacity(params.len());
    for LoopParam { param, init, consumed } in params {
        let own: Param<Soacs> = {
            let ty = nest.expand(&param.ty);
            ctx.fresh("expanded", ty)
        };
        let (init, consumed) = if matches!(param.ty, Type::Acc { .. }) {
            let outer = init.var().and_then(|name| nest.acc(name));
            let outer = outer.ok_or_else(|| PassError::bug("an accumulator is not bound by the nest"))?;
            (outer.into(), consumed)
        } else {
            let array = array_of(ctx, nest, at, init, &aux, out)?;
            if consumed {
                (array.into(), true)
            } else {
                // The loop may return it, and the results of a nest must not alias other arrays.
                let copy: Param<Soacs> = ctx.fresh("copy", own.ty.clone());
                let name = copy.name;
                bind(ctx, copy, BasicOp::Copy(array), &aux, out);
                (name.into(), false)
            }
        };
        inner.bind_element(param, own.name);
        all.push(LoopParam { param: ctx.param(own), init, consumed });
    }
    ctx.note_counter(form);
    let body = ctx.body_of(&pat, |ctx, own, stms| distribute(ctx, &inner, at, body, own, &aux, stms))?;
    let pat = ctx.params(pat);
    out.push(Stm { pat, aux, exp: Exp::Loop { params: all, form, body } });
    Ok(())
}
