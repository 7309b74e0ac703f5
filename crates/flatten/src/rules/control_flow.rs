//! Rules G7 and G8: a nest over a loop or a branch is a loop or a branch of nests.
//!
//! ```text
//! G7  Σ ⊢ loop x = e for i < n do f   =>  loop xs = (Σ ⊢ e) for i < n do (Σ, x ∈ xs ⊢ f)
//! G8  Σ ⊢ if c then e1 else e2        =>  if c then (Σ ⊢ e1) else (Σ ⊢ e2)
//!     if n and c are the same in all iterations of Σ
//! ```
//!
//! Each branch has its own versions, by rule G3.

use super::distribute::distribute;
use super::updates::array_of;
use super::{map, parallelism};
use crate::context::{Ctx, Let};
use crate::manifest::SegopBody;
use crate::scope::Scope;
use crate::{Result, bug};
use ir::syntax::{Atom, BasicOp, Body, Exp, LoopForm, LoopParam};
use ir::types::Type;
use ir::{Segs, Soacs};

/// Appends a loop of nests.
pub(super) fn g7(
    ctx: &mut Ctx<'_>,
    scope: Scope<'_>,
    to: Let,
    (params, form, body): (Vec<LoopParam<Soacs>>, LoopForm, Body<Soacs>),
) -> Result {
    let prov = to.aux.prov;
    let mut inner = scope.nest.child(Vec::new());
    let mut all: Vec<LoopParam<Segs>> = Vec::with_capacity(params.len());
    for LoopParam { param, init, consumed } in params {
        let own = ctx.names.fresh("expanded", scope.nest.expand(&param.ty));
        let init = if matches!(param.ty, Type::Acc { .. }) {
            let outer = init.var().and_then(|name| scope.nest.acc(name));
            outer.ok_or_else(bug("an accumulator is not bound by the nest"))?
        } else {
            let array = array_of(ctx, scope, init)?;
            if consumed {
                array
            } else {
                // The loop may return it, and the results of a nest must not alias other arrays.
                ctx.bind_fresh(("copy", own.ty.clone()), BasicOp::Copy(array), prov)
            }
        };
        inner.bind_element(param, own.name);
        all.push(LoopParam { param: ctx.names.param(own), init: init.into(), consumed });
    }
    ctx.names.note_counter(form);
    let body = ctx.body_of(&to, |ctx, to| distribute(ctx, scope.over(&inner), body, to))?;
    ctx.emit(to, Exp::Loop { params: all, form, body });
    Ok(())
}

/// Appends a branch of nests.
pub(super) fn g8(
    ctx: &mut Ctx<'_>,
    scope: Scope<'_>,
    to: Let,
    (cond, then_body, else_body): (Atom, Body<Soacs>, Body<Soacs>),
) -> Result {
    let branch = |ctx: &mut Ctx<'_>, body: Body<Soacs>| {
        ctx.body_of(&to, |ctx, mut to| {
            to.aux.certs.clear();
            if parallelism::has_parallelism(&body) {
                let ret = to.pat.iter().map(|param| scope.nest.element_type(&param.ty)).collect();
                map::over_body(ctx, scope, to, SegopBody::map(body, ret))
            } else {
                distribute(ctx, scope, body, to)
            }
        })
    };
    let then_body = branch(ctx, then_body)?;
    let else_body = branch(ctx, else_body)?;
    ctx.emit(to, Exp::If { cond, then_body, else_body });
    Ok(())
}
