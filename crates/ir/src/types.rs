//! Types of the core IR.

use crate::Name;
use crate::syntax::Atom;
use prim::{PrimType, Scalar};
use smallvec::SmallVec;
use target::memories::MemoryId;

/// One dimension of an array type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Dim {
    /// A known size, never negative.
    Const(i64),
    /// An `i64` in scope.
    Var(Name),
    /// The value of the earlier sibling result with this position; only in a
    /// function's return types.
    Ext(u32),
}

impl Dim {
    /// The dimension, with negative constants replaced by zero.
    #[must_use]
    pub const fn clamped_at_zero(self) -> Self {
        match self {
            Self::Const(n) if n < 0 => Self::Const(0),
            dim @ (Self::Const(_) | Self::Var(_) | Self::Ext(_)) => dim,
        }
    }

    /// The dimension as an operand of type `i64`; `None` for [`Dim::Ext`].
    pub const fn atom(self) -> Option<Atom> {
        match self {
            Self::Const(n) => Some(Atom::i64(n)),
            Self::Var(name) => Some(Atom::Var(name)),
            Self::Ext(_) => None,
        }
    }

    /// The dimension denoted by an `i64` operand; `None` for other constants. A negative constant
    /// denotes zero: a check has failed before it is used, and no array has that size.
    pub const fn from_atom(atom: Atom) -> Option<Self> {
        match atom {
            Atom::Var(name) => Some(Self::Var(name)),
            Atom::Const(Scalar::I64(n)) => Some(Self::Const(n).clamped_at_zero()),
            Atom::Const(_) => None,
        }
    }
}

/// The dimensions of an array, outermost first.
pub type Shape = SmallVec<[Dim; 3]>;

/// The type of a value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    /// A scalar.
    Prim(PrimType),
    /// A regular array; at least one dimension.
    Array {
        /// Type of the elements.
        elem: PrimType,
        /// Dimensions, outermost first, at least one.
        shape: Shape,
    },
    /// An accumulator: an array being written inside of a `withacc`.
    Acc {
        /// The token bound by the enclosing `withacc`; identifies the accumulator.
        token: Name,
        /// Index space.
        shape: Shape,
        /// Types of the values at one index (scalars or arrays).
        elems: Vec<Type>,
    },
    /// A certificate: evidence that a check held.
    Cert,
    /// A memory block.
    Mem(MemoryId),
}

impl Type {
    /// The `i64` type of sizes.
    pub const I64: Self = Self::Prim(PrimType::I64);
    /// The type of truth values.
    pub const BOOL: Self = Self::Prim(PrimType::Bool);

    /// An array type; the scalar type if the shape has no dimensions.
    pub fn array(elem: PrimType, shape: impl IntoIterator<Item = Dim>) -> Self {
        let shape: Shape = shape.into_iter().collect();
        if shape.is_empty() { Self::Prim(elem) } else { Self::Array { elem, shape } }
    }

    /// The type of arrays of this type's values, with a new outer dimension. Accumulators,
    /// certificates and memory are unchanged.
    #[must_use]
    pub fn array_of(&self, outer: Dim) -> Self {
        match self {
            Self::Prim(elem) => Self::array(*elem, [outer]),
            Self::Array { elem, shape } => {
                Self::array(*elem, std::iter::once(outer).chain(shape.iter().copied()))
            }
            Self::Acc { .. } | Self::Cert | Self::Mem(_) => self.clone(),
        }
    }

    /// The type of a row; an accumulator is its own row. `None` for other types.
    pub fn row(&self) -> Option<Self> {
        match self {
            Self::Array { elem, shape } => Some(Self::array(*elem, shape.iter().skip(1).copied())),
            Self::Acc { .. } => Some(self.clone()),
            Self::Prim(_) | Self::Cert | Self::Mem(_) => None,
        }
    }

    /// The element type of a scalar or array.
    pub fn elem(&self) -> Option<PrimType> {
        match self {
            Self::Prim(elem) | Self::Array { elem, .. } => Some(*elem),
            Self::Acc { .. } | Self::Cert | Self::Mem(_) => None,
        }
    }

    /// The dimensions; none for types other than arrays.
    pub fn shape(&self) -> &[Dim] {
        match self {
            Self::Array { shape, .. } => shape,
            Self::Prim(_) | Self::Acc { .. } | Self::Cert | Self::Mem(_) => &[],
        }
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.shape().len()
    }

    /// Returns true for scalar types.
    pub fn is_prim(&self) -> bool {
        matches!(self, Self::Prim(_))
    }

    /// Returns true for array types.
    pub fn is_array(&self) -> bool {
        matches!(self, Self::Array { .. })
    }
}
