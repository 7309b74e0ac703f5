//! Index functions of views: the single definition of an operation's result's index function in
//! terms of that of its operand.

use super::{Lmad, LmadDim};
use crate::name::Name;
use crate::poly::Poly;
use crate::syntax::{Atom, BasicOp, ReshapeKind};
use crate::types::Dim;
use smallvec::SmallVec;

/// Returns the array of which the operation's result (of this shape) is a view, and the result's
/// index function. `lies` returns the index function of an array. `None` if the result is not a
/// view, or if no index function expresses it.
pub fn view(op: &BasicOp, shape: &[Dim], lmad_of: impl FnOnce(Name) -> Option<Lmad>) -> Option<(Name, Lmad)> {
    Some(match op {
        BasicOp::Atom(Atom::Var(array))
        | BasicOp::Opaque(Atom::Var(array))
        | BasicOp::Update { array, .. }
        | BasicOp::FlatUpdate { array, .. } => (*array, lmad_of(*array)?.with_extents(shape)),
        BasicOp::Reshape { kind: ReshapeKind::Coerce, array, .. } => {
            // The sizes are equal; the new ones may be constants.
            let lmad = lmad_of(*array)?;
            let coerced = reshaped(&lmad, shape).unwrap_or_else(|| lmad.with_extents(shape));
            (*array, coerced)
        }
        BasicOp::Index { array, slice } => (*array, lmad_of(*array)?.slice(slice)),
        BasicOp::FlatIndex { array, offset, dims } => (*array, lmad_of(*array)?.flat_slice(*offset, dims)),
        BasicOp::Rearrange { perm, array } => {
            let lmad = lmad_of(*array)?;
            let dims = perm.iter().map(|&at| lmad.dims[at].clone()).collect();
            let offset = lmad.offset;
            (*array, Lmad { offset, dims })
        }
        BasicOp::Reshape { kind: ReshapeKind::Arbitrary, array, .. } => {
            (*array, reshaped(&lmad_of(*array)?, shape)?)
        }
        BasicOp::Atom(Atom::Const(_))
        | BasicOp::Opaque(Atom::Const(_))
        | BasicOp::Scalar(_)
        | crate::parameter_op!()
        | BasicOp::Assert { .. }
        | crate::fresh_array_op!()
        | BasicOp::UpdateAcc { .. } => return None,
    })
}

/// Returns the index function of the elements in row-major order under another shape, where a
/// single one expresses it: the strides are row-major (at any offset), or there is one dimension
/// (of any stride).
fn reshaped(lmad: &Lmad, shape: &[Dim]) -> Option<Lmad> {
    let scale = match lmad.dims.as_slice() {
        [dim] => dim.stride.clone(),
        dims => {
            let extents: SmallVec<[Dim; 3]> = dims.iter().map(|dim| dim.extent).collect();
            let row_major = Lmad::row_major(&extents);
            let strides =
                |dims: &[LmadDim]| -> Vec<Poly> { dims.iter().map(|dim| dim.stride.clone()).collect() };
            if strides(dims) != strides(&row_major.dims) {
                return None;
            }
            Poly::constant(1)
        }
    };
    let mut reshaped = Lmad::row_major(shape);
    for dim in &mut reshaped.dims {
        dim.stride = dim.stride.mul(&scale);
    }
    reshaped.offset = lmad.offset.clone();
    Some(reshaped)
}
