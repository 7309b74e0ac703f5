//! What variables hold: their types, lanes included.

use ir::types::Space;
use prim::PrimType;
use std::fmt;
use std::sync::Arc;

/// What a variable holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VarType {
    /// A scalar.
    Scalar(PrimType),
    /// A buffer: a pointer to its first byte, in memory of a space.
    Buffer(Space),
    /// A scalar for each of a number of lanes; with `bool`, a mask.
    Vector(PrimType, u32),
}

/// More lanes than this no vector has.
pub const MAX_LANES: u32 = 256;

/// Elements further apart than this are not near each other in memory.
pub const MAX_NEAR: u64 = 16;

/// Lanes of square roots that are shared out: two registers of the widest kind.
pub const ROOT_LANES: u32 = 16;

impl VarType {
    /// A buffer in the host's memory.
    pub const HOST: Self = Self::Buffer(Space::Host);

    /// Whether it is a buffer, in whatever space.
    pub const fn is_buffer(self) -> bool {
        matches!(self, Self::Buffer(_))
    }

    /// The space of a buffer.
    pub const fn space(self) -> Option<Space> {
        match self {
            Self::Buffer(space) => Some(space),
            Self::Scalar(_) | Self::Vector(..) => None,
        }
    }

    /// Number of lanes of a vector.
    pub const fn lanes(self) -> Option<u32> {
        match self {
            Self::Scalar(_) | Self::Buffer(_) => None,
            Self::Vector(_, lanes) => Some(lanes),
        }
    }

    /// The type with as many lanes, or none, of other scalars.
    #[must_use]
    pub const fn with_elem(self, elem: PrimType) -> Self {
        match self {
            Self::Scalar(_) => Self::Scalar(elem),
            Self::Buffer(space) => Self::Buffer(space),
            Self::Vector(_, lanes) => Self::Vector(elem, lanes),
        }
    }
}

impl fmt::Display for VarType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scalar(ty) => ty.fmt(f),
            Self::Buffer(Space::Host) => f.write_str("buffer"),
            Self::Buffer(space) => write!(f, "buffer {}", space.name()),
            Self::Vector(ty, lanes) => write!(f, "{lanes} x {ty}"),
        }
    }
}

/// A variable's type and the hint for its printed name.
#[derive(Clone, PartialEq, Debug)]
pub struct VarInfo {
    /// What it holds.
    pub ty: VarType,
    /// For printing.
    pub hint: Arc<str>,
}
