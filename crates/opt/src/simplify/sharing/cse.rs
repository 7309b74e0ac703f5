//! Equality and hashes of basic operations, and how far they may be hoisted.

use analysis::total::never_fails;
use analysis::uses::EachUse;
use ir::Name;
use ir::syntax::{BasicOp, DimIndex, Level, Param};
use ir::types::Dim;
use ir::walk::Visit;
use prim::ScalarOp;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

/// Operations with more operands are not remembered.
const MAX_OPERANDS: usize = 64;

/// The extent to which an operation may be hoisted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mobility {
    /// Not at all.
    Pinned,
    /// Out of bodies that certainly run.
    Check,
    /// As `Free`, where its sizes are known to be valid.
    Array,
    /// To any scope in which its operands are bound.
    Free,
}

/// Returns how far the operation may be hoisted.
pub(crate) fn mobility(op: &BasicOp) -> Mobility {
    match op {
        BasicOp::Scalar(ScalarOp::Binary(op, _, _, y)) if !never_fails(*op, *y) => Mobility::Pinned,
        BasicOp::Scalar(_) | ir::parameter_op!() | BasicOp::Rearrange { .. } => Mobility::Free,
        BasicOp::Index { array: _, slice } => {
            if slice.iter().any(|i| matches!(i, DimIndex::Slice { .. })) {
                Mobility::Check
            } else {
                Mobility::Pinned
            }
        }
        // If the body does not run, the region may be out of bounds.
        BasicOp::FlatIndex { .. } => Mobility::Check,
        BasicOp::Iota { .. } | BasicOp::Replicate { .. } | BasicOp::ConstArray { .. } => Mobility::Array,
        BasicOp::Assert { .. } => Mobility::Check,
        BasicOp::Atom(_)
        | BasicOp::Opaque(_)
        | ir::update_op!()
        | BasicOp::Concat { .. }
        | BasicOp::Scratch { .. }
        | BasicOp::Reshape { .. }
        | BasicOp::Copy(_)
        | BasicOp::Manifest { .. }
        | BasicOp::ArrayLit { .. } => Mobility::Pinned,
    }
}

/// Returns true if the operation creates a fresh array.
pub(crate) fn makes_array(op: &BasicOp) -> bool {
    matches!(op, ir::fresh_array_op!())
}

/// Returns true if the definition is worth recording for later rules.
pub(crate) fn is_recorded(op: &BasicOp) -> bool {
    match op {
        BasicOp::ArrayLit { row: _, elems } => elems.len() <= MAX_OPERANDS,
        BasicOp::Concat { dim: _, arrays, width: _ } => arrays.len() <= MAX_OPERANDS,
        BasicOp::UpdateAcc { .. } | BasicOp::Opaque(_) => false,
        BasicOp::Atom(_)
        | BasicOp::Scalar(_)
        | ir::parameter_op!()
        | BasicOp::Assert { .. }
        | BasicOp::Index { .. }
        | BasicOp::Update { .. }
        | ir::view_op!()
        | BasicOp::FlatUpdate { .. }
        | BasicOp::Iota { .. }
        | BasicOp::Replicate { .. }
        | BasicOp::Scratch { .. }
        | BasicOp::Copy(_)
        | BasicOp::Manifest { .. }
        | BasicOp::ConstArray { .. } => true,
    }
}

/// Returns true if two operations compute the same value. Of checks only the condition is compared.
pub(crate) fn equal(a: &BasicOp, b: &BasicOp) -> bool {
    match (a, b) {
        (BasicOp::Assert { cond: a, msg: _ }, BasicOp::Assert { cond: b, msg: _ }) => a == b,
        _ => a == b,
    }
}

/// Calls `f` with each name that the operation, and the type and annotation of its result, mention.
pub(crate) fn each_name<L: Level>(param: &Param<L>, op: &BasicOp, f: impl FnMut(Name)) {
    let mut names = EachUse(f);
    Visit::<L>::ty(&mut names, &param.ty);
    Visit::<L>::ann(&mut names, &param.ann);
    Visit::<L>::basic(&mut names, op);
}

/// A hash that is equal for equal operations; `None` for operations that are never shared.
pub(crate) fn hash(op: &BasicOp) -> Option<u64> {
    let mut h = FxHasher::default();
    std::mem::discriminant(op).hash(&mut h);
    match op {
        BasicOp::Atom(_) | BasicOp::Opaque(_) | ir::update_op!() | BasicOp::Scratch { .. } => return None,
        BasicOp::Scalar(op) => op.hash(&mut h),
        BasicOp::SizeAtLeast { size, tunable } => (size, tunable).hash(&mut h),
        BasicOp::Param { name, default } => (name, default).hash(&mut h),
        BasicOp::Assert { cond, msg: _ } => cond.hash(&mut h),
        BasicOp::Index { array, slice } => (array, slice).hash(&mut h),
        BasicOp::FlatIndex { array, offset, dims } => (array, offset, dims.as_slice()).hash(&mut h),
        BasicOp::Concat { dim, arrays, width } => {
            if arrays.len() > MAX_OPERANDS {
                return None;
            }
            (dim, arrays, width).hash(&mut h);
        }
        BasicOp::Iota { ty, count, start, stride } => (ty, count, start, stride).hash(&mut h),
        BasicOp::Replicate { shape, value } => (shape.as_slice() as &[Dim], value).hash(&mut h),
        BasicOp::Rearrange { perm, array } | BasicOp::Manifest { perm, array } => {
            (perm.as_slice(), array).hash(&mut h);
        }
        BasicOp::Reshape { kind, shape, array } => {
            (kind, shape.as_slice(), array).hash(&mut h);
        }
        BasicOp::Copy(array) => array.hash(&mut h),
        BasicOp::ArrayLit { row, elems } => {
            if elems.len() > MAX_OPERANDS {
                return None;
            }
            (row, elems).hash(&mut h);
        }
        BasicOp::ConstArray { elem, shape, bytes } => {
            (elem, shape.as_slice(), bytes.len()).hash(&mut h);
        }
    }
    Some(h.finish())
}
