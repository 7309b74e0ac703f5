//! Packed scatters: iterations that end by writing one scalar to the same position of each of some
//! vectors with stride 1. Where positions are consecutive, as in filters, several iterations can be
//! packed and stored together.

use super::Locations;
use super::independence::independent;
use ir::Mems;
use ir::mem::MemAnn;
use ir::syntax::{Atom, BasicOp, Body, Exp};
use ir::types::Type;
use prim::PrimType;

/// Returns true if an iteration of this body can be packed with others.
pub(super) fn packs(body: &Body<Mems>, locations: &Locations) -> bool {
    let Some((last, before)) = body.stms.split_last() else {
        return false;
    };
    let Exp::Basic(BasicOp::UpdateAcc { acc: _, index, values }) = &last.exp else {
        return false;
    };
    let ([param], [result]) = (last.pat.as_slice(), body.result.as_slice()) else {
        return false;
    };
    let Type::Acc { token, .. } = &param.ty else {
        return false;
    };
    let Some(arrays) = locations.accs.get(token) else {
        return false;
    };
    let contiguous = arrays.iter().all(|array| {
        locations.arrays.get(array).is_some_and(|(ty, ann)| {
            let MemAnn::In { block: _, lmad } = ann else {
                return false;
            };
            let [dim] = lmad.dims.as_slice() else {
                return false;
            };
            let stored = ty.elem().is_some_and(|elem| elem != PrimType::Bool);
            stored && dim.stride.as_constant() == Some(1)
        })
    });
    *result == Atom::Var(param.name)
        && index.len() == 1
        && arrays.len() == values.len()
        && contiguous
        && independent(before)
}
