//! Classification of basic operations by whether they create arrays.
//!
//! Passes that reason about memory use these functions, so that the compiler requires a new
//! operation to be classified, once.

use crate::syntax::ReshapeKind;
use crate::{BasicOp, Name};

impl BasicOp {
    /// Returns true if it computes from its operands alone: it neither reads nor creates arrays,
    /// and is not a check. ([`BasicOp::Atom`] may name an array.)
    pub const fn is_scalar(&self) -> bool {
        matches!(self, Self::Atom(_) | Self::Scalar(_) | crate::parameter_op!())
    }

    /// The array of which the result is another name: it has the same elements at the same memory
    /// locations, except for the elements that the operation writes.
    pub fn in_place_of(&self) -> Option<Name> {
        match self {
            Self::Atom(atom) | Self::Opaque(atom) => atom.var(),
            Self::Update { array, .. }
            | Self::FlatUpdate { array, .. }
            | Self::Reshape { kind: ReshapeKind::Coerce, array, .. } => Some(*array),
            Self::Reshape { kind: ReshapeKind::Arbitrary, .. }
            | Self::Scalar(_)
            | crate::parameter_op!()
            | crate::fresh_array_op!()
            | Self::Assert { .. }
            | Self::Index { .. }
            | Self::FlatIndex { .. }
            | Self::Rearrange { .. }
            | Self::UpdateAcc { .. } => None,
        }
    }
}
