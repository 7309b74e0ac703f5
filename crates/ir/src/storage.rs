//! Which basic operations make no array of their own.
//!
//! Passes that reason about memory ask here, so that a new operation is
//! classified once, where the build breaks without it.

use crate::syntax::ReshapeKind;
use crate::{BasicOp, Name};

impl BasicOp {
    /// Whether it computes from operands alone: it reads and makes no array, and checks
    /// nothing. ([`BasicOp::Atom`] may name an array.)
    pub fn is_scalar(&self) -> bool {
        match self {
            Self::Atom(_)
            | Self::Unary(..)
            | Self::Binary(..)
            | Self::Compare(..)
            | Self::SizeAtLeast { .. }
            | Self::Param { .. }
            | Self::Convert { .. }
            | Self::Select { .. }
            | Self::Fma(..)
            | Self::Math(..) => true,
            Self::Assert { .. }
            | Self::Index { .. }
            | Self::Update { .. }
            | Self::FlatIndex { .. }
            | Self::FlatUpdate { .. }
            | Self::Concat { .. }
            | Self::Iota { .. }
            | Self::Replicate { .. }
            | Self::Scratch { .. }
            | Self::Rearrange { .. }
            | Self::Reshape { .. }
            | Self::Copy(_)
            | Self::Manifest { .. }
            | Self::ArrayLit { .. }
            | Self::ConstArray { .. }
            | Self::Opaque(_)
            | Self::UpdateAcc { .. } => false,
        }
    }

    /// The array that the result is, under another name: with the same
    /// elements at the same places, save those that the operation writes.
    pub fn in_place_of(&self) -> Option<Name> {
        match self {
            Self::Atom(atom) | Self::Opaque(atom) => atom.var(),
            Self::Update { array, .. }
            | Self::FlatUpdate { array, .. }
            | Self::Reshape { kind: ReshapeKind::Coerce, array, .. } => Some(*array),
            Self::Reshape { kind: ReshapeKind::Arbitrary, .. }
            | Self::Unary(..)
            | Self::Binary(..)
            | Self::Compare(..)
            | Self::SizeAtLeast { .. }
            | Self::Param { .. }
            | Self::Convert { .. }
            | Self::Select { .. }
            | Self::Fma(..)
            | Self::Math(..)
            | Self::Assert { .. }
            | Self::Index { .. }
            | Self::FlatIndex { .. }
            | Self::Concat { .. }
            | Self::Iota { .. }
            | Self::Replicate { .. }
            | Self::Scratch { .. }
            | Self::Rearrange { .. }
            | Self::Copy(_)
            | Self::Manifest { .. }
            | Self::ArrayLit { .. }
            | Self::ConstArray { .. }
            | Self::UpdateAcc { .. } => None,
        }
    }
}
