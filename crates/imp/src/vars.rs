//! The types of variables, vectors included.

use prim::PrimType;
use std::fmt;
use std::sync::Arc;
use target::memories::MemoryId;

/// The type of a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VarType {
    /// A scalar.
    Scalar(PrimType),
    /// A buffer: a pointer to its first byte, in a memory.
    Buffer(MemoryId),
    /// A vector with a number of lanes; of `bool`, a mask.
    Vector(PrimType, u32),
}

/// The largest number of lanes of a vector.
pub const MAX_LANES: u32 = 256;

/// The largest [`LanePositions::SmallStride`](crate::LanePositions::SmallStride).
pub const MAX_SMALL_STRIDE: u64 = 16;

/// The number of lanes of a shared square root: two registers of the widest kind.
pub const ROOT_LANES: u32 = 16;

impl VarType {
    /// A buffer in host memory.
    pub const HOST: Self = Self::Buffer(MemoryId::Host);

    /// Returns true if it is a buffer, in any memory.
    pub const fn is_buffer(self) -> bool {
        matches!(self, Self::Buffer(_))
    }

    /// The memory of a buffer.
    pub const fn memory(self) -> Option<MemoryId> {
        match self {
            Self::Buffer(memory) => Some(memory),
            Self::Scalar(_) | Self::Vector(..) => None,
        }
    }

    /// The number of lanes of a vector.
    pub const fn lanes(self) -> Option<u32> {
        match self {
            Self::Scalar(_) | Self::Buffer(_) => None,
            Self::Vector(_, lanes) => Some(lanes),
        }
    }

    /// The type with another element type and the same lanes, if any; a buffer type is unchanged.
    #[must_use]
    pub const fn with_elem(self, elem: PrimType) -> Self {
        match self {
            Self::Scalar(_) => Self::Scalar(elem),
            Self::Buffer(memory) => Self::Buffer(memory),
            Self::Vector(_, lanes) => Self::Vector(elem, lanes),
        }
    }
}

impl fmt::Display for VarType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scalar(ty) => ty.fmt(f),
            Self::Buffer(MemoryId::Host) => f.write_str("buffer"),
            Self::Buffer(memory) => write!(f, "buffer {}", memory.name),
            Self::Vector(ty, lanes) => write!(f, "{lanes} x {ty}"),
        }
    }
}

/// A variable's type and the hint for its printed name.
#[derive(Clone, PartialEq, Debug)]
pub struct VarInfo {
    /// The type.
    pub ty: VarType,
    /// The hint for the printed name.
    pub hint: Arc<str>,
}
