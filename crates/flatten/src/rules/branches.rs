//! Rule G8: a nest over a branch is a branch of nests.
//!
//! ```text
//! Σ ⊢ if c then e1 else e2   =>   if c then (Σ ⊢ e1) else (Σ ⊢ e2)
//!     if c is the same in all iterations of Σ
//! ```
//!
//! Each branch has its own versions, by rule G3.

use super::{parallelism, versions};
use crate::context::Ctx;
use crate::nest::Nest;
use crate::position::Position;
use ir::syntax::{Atom, Aux, Body, Exp, Param, Stm};
use ir::types::Type;
use ir::{PassError, Segs, Soacs};
use smallvec::SmallVec;

/// Appends a branch of nests.
pub(super) fn g8(
    ctx: &mut Ctx<'_>,
    nest: &Nest<'_>,
    at: Position,
    pat: Vec<Param<Soacs>>,
    aux: Aux,
    (cond, then_body, else_body): (Atom, Body<Soacs>, Body<Soacs>),
    out: &mut Vec<Stm<Segs>>,
) -> Result<(), PassError> {
    let branch = |ctx: &mut Ctx<'_>, body: Body<Soacs>| -> Result<Body<Segs>, PassError> {
        let aux = Aux { certs: SmallVec::new(), ..aux.clone() };
        ctx.body_of(&pat, |ctx, own, stms| {
            if parallelism::has_parallelism(&body) {
                let ret = element_types(nest, &pat);
                versions::g3(ctx, nest, at, own, aux, (body, ret), stms)
            } else {
                super::distribute(ctx, nest, at, body, own, &aux, stms)
            }
        })
    };
    let then_body = branch(ctx, then_body)?;
    let else_body = branch(ctx, else_body)?;
    let pat = ctx.params(pat);
    out.push(Stm { pat, aux, exp: Exp::If { cond, then_body, else_body } });
    Ok(())
}

/// The types of results in one iteration.
fn element_types(nest: &Nest<'_>, pat: &[Param<Soacs>]) -> Vec<Type> {
    let rank = nest.widths().count();
    let pat = pat.iter();
    pat.map(|param| {
        if matches!(param.ty, Type::Acc { .. }) {
            return param.ty.clone();
        }
        (0..rank).fold(param.ty.clone(), |ty, _| ty.row().unwrap_or(ty))
    })
    .collect()
}
