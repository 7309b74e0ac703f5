//! What devices have: how many threads are a block, how much of the fast memory that a
//! block shares. How work falls apart over threads decides about results (design
//! contract 1), so it is the same for all devices and known when code is made.

use prim::{BinOp, PrimType};

/// How work is laid out over the threads of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Device {
    /// Threads of a block, a power of two up to [`MAX_BLOCK`].
    pub block: i64,
    /// Most blocks that share a reduction or scan: their partial results are combined by
    /// one block.
    pub blocks: i64,
    /// Points that a thread of such a block takes at least, where there are more blocks
    /// than one.
    pub grain: i64,
}

impl Default for Device {
    /// What the paper on redomap takes: blocks of 256 threads, as many blocks as one
    /// block can combine.
    fn default() -> Self {
        Self {
            block: 256,
            blocks: 1024,
            grain: 16,
        }
    }
}

/// Threads of a block, on any device.
pub const MAX_BLOCK: i64 = 1024;
/// Bytes of the scratchpad that a block may have on any device of today: what CUDA
/// gives to arrays of constant size.
pub const SCRATCHPAD_BYTES: u64 = 48 * 1024;

/// Whether devices combine elements of a type by an operator at once: the order in which
/// they do does not show.
pub const fn is_atomic(op: BinOp, ty: PrimType) -> bool {
    ty.is_int() && is_word(ty) && is_exact(op)
}

/// Whether devices exchange elements of a type at once.
pub const fn is_word(ty: PrimType) -> bool {
    matches!(ty.size(), 4 | 8)
}

const fn is_exact(op: BinOp) -> bool {
    match op {
        BinOp::Add
        | BinOp::And
        | BinOp::Or
        | BinOp::Xor
        | BinOp::SMin
        | BinOp::UMin
        | BinOp::SMax
        | BinOp::UMax => true,
        BinOp::Sub
        | BinOp::Mul
        | BinOp::SDiv
        | BinOp::UDiv
        | BinOp::SMod
        | BinOp::UMod
        | BinOp::SQuot
        | BinOp::SRem
        | BinOp::Shl
        | BinOp::LShr
        | BinOp::AShr
        | BinOp::Pow
        | BinOp::FAdd
        | BinOp::FSub
        | BinOp::FMul
        | BinOp::FDiv
        | BinOp::FMod
        | BinOp::FMin
        | BinOp::FMax => false,
    }
}
