//! The level with memory: segops, allocation, and for each bound array the
//! block that it lies in and its index function.
//!
//! An array of rank `r` lies in one block with one [`Lmad`] (linear memory
//! access descriptor): element `(i0, .., ir-1)` lies `offset + sum(i_k *
//! stride_k)` elements from the start of the block. A block has elements of one
//! type. [`eval`](crate::eval) tells programs that misuse their blocks.

mod blocks;
mod rooms;
mod views;

pub use blocks::Blocks;
pub use rooms::{Room, rooms};
pub use views::view;

use crate::name::Name;
use crate::poly::Poly;
use crate::seg::SegOp;
use crate::syntax::{Atom, DimIndex, Level};
use crate::types::{Dim, Space};
use smallvec::SmallVec;

/// The level with memory.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Mems;

impl Level for Mems {
    type Op = MemOp;
    type Ann = MemAnn;
    const NAME: &'static str = "mems";
    const FACTS: bool = true;
    const BLOCKS: bool = true;
}

/// An operation of the level with memory.
#[allow(clippy::large_enum_variant, reason = "nearly all are segops, and no code holds many")]
#[derive(Clone, PartialEq, Debug)]
pub enum MemOp {
    /// A new block of a number of bytes (`i64`).
    Alloc {
        /// Size in bytes.
        bytes: Atom,
        /// Where.
        space: Space,
    },
    /// A segmented operation.
    Seg(SegOp<Mems>),
}

/// A block that an array lies in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Block {
    /// A block in scope.
    Var(Name),
    /// The earlier sibling result with this position; only in a function's results.
    Ext(u32),
}

/// What is known about a bound name's memory.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum MemAnn {
    /// Not an array.
    #[default]
    None,
    /// An array in a block.
    In {
        /// The block.
        block: Block,
        /// Where its elements are.
        lmad: Lmad,
    },
}

impl MemAnn {
    /// That of an array with these extents.
    #[must_use]
    pub fn with_extents(&self, shape: &[Dim]) -> Self {
        match self {
            Self::None => Self::None,
            Self::In { block, lmad } => Self::In { block: *block, lmad: lmad.with_extents(shape) },
        }
    }
}

/// A linear memory access descriptor, in elements.
#[derive(Clone, PartialEq, Debug)]
pub struct Lmad {
    /// Position of the element with all indices 0.
    pub offset: Poly,
    /// Per dimension, outermost first.
    pub dims: SmallVec<[LmadDim; 3]>,
}

/// One dimension of an [`Lmad`].
#[derive(Clone, PartialEq, Debug)]
pub struct LmadDim {
    /// Distance between neighbours, in elements.
    pub stride: Poly,
    /// Size.
    pub extent: Dim,
}

impl Lmad {
    /// Row-major from the start of a block.
    pub fn row_major(shape: &[Dim]) -> Self {
        let mut dims = SmallVec::new();
        let mut stride = Poly::constant(1);
        for &extent in shape.iter().rev() {
            dims.push(LmadDim { stride: stride.clone(), extent });
            stride = stride.mul(&Poly::dim(extent));
        }
        dims.reverse();
        Self { offset: Poly::constant(0), dims }
    }

    /// The index function of a slice.
    #[must_use]
    pub fn slice(&self, slice: &[DimIndex]) -> Self {
        let mut result = Self { offset: self.offset.clone(), dims: SmallVec::new() };
        for (dim, index) in self.dims.iter().zip(slice) {
            let start = match index {
                DimIndex::Fix(at) => *at,
                DimIndex::Slice { start, count, stride } => {
                    let stride = dim.stride.mul(&Poly::atom(*stride));
                    result.dims.push(LmadDim { stride, extent: *count });
                    *start
                }
            };
            result.offset = result.offset.add(&Poly::atom(start).mul(&dim.stride));
        }
        result
    }

    /// The index function of a view that divides the outermost dimension: the
    /// first row, then size and distance of each new dimension.
    #[must_use]
    pub fn flat_slice(&self, offset: Atom, dims: &[(Dim, Atom)]) -> Self {
        let Some((row, inner)) = self.dims.split_first() else {
            return self.clone();
        };
        let outer = dims.iter().map(|(extent, stride)| LmadDim {
            stride: row.stride.mul(&Poly::atom(*stride)),
            extent: *extent,
        });
        Self {
            offset: self.offset.add(&Poly::atom(offset).mul(&row.stride)),
            dims: outer.chain(inner.iter().cloned()).collect(),
        }
    }

    /// With the dimensions in an order, the one of the largest stride first, from the start
    /// of a block.
    pub fn in_order(order: &[usize], shape: &[Dim]) -> Self {
        let extents: SmallVec<[Dim; 3]> = order.iter().map(|&at| shape[at]).collect();
        let laid_out = Self::row_major(&extents);
        let mut dims = laid_out.dims.clone();
        for (&at, dim) in order.iter().zip(&laid_out.dims) {
            dims[at] = dim.clone();
        }
        Self { dims, ..laid_out }
    }

    /// With these extents.
    #[must_use]
    pub fn with_extents(&self, shape: &[Dim]) -> Self {
        let dims =
            self.dims.iter().zip(shape).map(|(dim, &extent)| LmadDim { stride: dim.stride.clone(), extent });
        Self { offset: self.offset.clone(), dims: dims.collect() }
    }

    /// Whether it is row-major from the start of a block.
    pub fn is_row_major(&self) -> bool {
        let shape: SmallVec<[Dim; 3]> = self.dims.iter().map(|d| d.extent).collect();
        *self == Self::row_major(&shape)
    }
}
