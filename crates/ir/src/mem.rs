//! The level with memory: segops, allocation and transfers between memories; each bound array has a memory block and an index
//! function.
//!
//! An array of rank `r` lies in one block with one [`Lmad`] (linear memory access descriptor):
//! element `(i0, .., ir-1)` is `offset + sum(i_k * stride_k)` elements from the start of the block.
//! The elements of a block have one type. The evaluator ([`eval`](crate::eval)) detects programs
//! that misuse their blocks.

mod blocks;
mod shared_slots;
mod views;

pub use blocks::Blocks;
pub use shared_slots::{SharedSlot, assign_slots};
pub use views::view;

use crate::name::Name;
use crate::poly::Poly;
use crate::seg::SegOp;
use crate::syntax::{Atom, DimIndex, Level};
use crate::types::Dim;
use smallvec::SmallVec;
use target::memories::MemoryId;

/// The level with memory.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Mems;

impl Level for Mems {
    type Op = MemOp;
    type Ann = MemAnn;
}

/// An operation of the level with memory.
#[allow(clippy::large_enum_variant, reason = "nearly all are segops, and few exist at a time")]
#[derive(Clone, PartialEq, Debug)]
pub enum MemOp {
    /// A new block of a number of bytes (`i64`).
    Alloc {
        /// Size in bytes.
        bytes: Atom,
        /// Memory of the block.
        memory: MemoryId,
    },
    /// An array's elements in another memory.
    Transfer {
        /// The array.
        array: Name,
    },
    /// A segmented operation.
    Seg(SegOp<Mems>),
}

/// The memory block of an array.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Block {
    /// A block in scope.
    Var(Name),
    /// The earlier sibling result with this position; only in a function's results.
    Ext(u32),
}

/// The memory annotation of a bound name.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum MemAnn {
    /// Not an array.
    #[default]
    None,
    /// An array in a block.
    In {
        /// The block.
        block: Block,
        /// Index function.
        lmad: Lmad,
    },
}

impl MemAnn {
    /// The annotation with these extents in the index function.
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
    /// Distance between consecutive indices, in elements.
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

    /// The index function of a slice of the array.
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

    /// The index function of a view that replaces the outermost dimension by several, given the
    /// first row and the size and stride (in rows) of each new dimension.
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

    /// The index function, from the start of a block, of an array whose dimensions are ordered by
    /// decreasing stride as in `order`.
    pub fn with_dim_order(order: &[usize], shape: &[Dim]) -> Self {
        let extents: SmallVec<[Dim; 3]> = order.iter().map(|&at| shape[at]).collect();
        let laid_out = Self::row_major(&extents);
        let mut dims = laid_out.dims.clone();
        for (&at, dim) in order.iter().zip(&laid_out.dims) {
            dims[at] = dim.clone();
        }
        Self { dims, ..laid_out }
    }

    /// The same offset and strides with other extents.
    #[must_use]
    pub fn with_extents(&self, shape: &[Dim]) -> Self {
        let dims =
            self.dims.iter().zip(shape).map(|(dim, &extent)| LmadDim { stride: dim.stride.clone(), extent });
        Self { offset: self.offset.clone(), dims: dims.collect() }
    }

    /// Returns true if it is row-major from the start of a block.
    pub fn is_row_major(&self) -> bool {
        let shape: SmallVec<[Dim; 3]> = self.dims.iter().map(|d| d.extent).collect();
        *self == Self::row_major(&shape)
    }
}
