//! Kernels: device code as loops and statements of the imperative IR.
//!
//! ```text
//! for block_1: i64 in 0 .. blocks_0 grid#0 "main.segred" at "a.fut:1:1-9" cost 1 ... {
//!   part_2 = frame [256]i64                      // in shared memory
//!   first_3: i64 = (block_1 * 256)               // uniform over the thread block
//!   for thread_4: i64 in 0 .. 256 block locals (x_5) {
//!     x_5: i64 = xs_6[i64: first_3 + thread_4]   // private to the thread
//!     part_2[i64: thread_4] = x_5
//!     barrier
//!     ..
//!   }
//! }
//! ```
//!
//! A kernel is a loop over thread blocks ([`LoopMode::Grid`](crate::LoopMode::Grid)) that the host
//! launches; its captures are its inputs from the host, and its [`Launch`](crate::Launch) names it.
//! The statements of its body are common to all threads of a block: arrays in shared memory, and
//! uniform scalars. The last statement is the loop over the threads
//! ([`LoopMode::Threads`](crate::LoopMode::Threads)), whose bound the host knows. Blocks and
//! threads run concurrently, in any order. After a barrier, threads of a block see the writes of
//! its other threads before the barrier; after a subgroup barrier, only the writes of the subgroup:
//! the neighbours that run in lockstep on devices with warps. Of other blocks, a thread sees only
//! the writes that an awaited signal publishes: the writes that the signalling thread had made or
//! seen by then. A signal of [`RELAXED_TYPE`] publishes only its own value, and costs no fence.
//!
//! **Progress.** Awaiting a signal of another block relies on two things: the other block has
//! started, as a number that it took from a counter shows, and the device schedules started blocks
//! until they end ([`Device::progress`](target::device::Device::progress)).
//!
//! Arrays in shared memory have a constant size (`frame`), or one that the host computes: these are
//! the [`SharedBuffer`](crate::SharedBuffer)s of the launch.
//!
//! **Memory.** A buffer variable's type has the memory of its block. The host accesses host memory;
//! threads access device memory, shared memory and their own ([`MemoryId::Private`](crate::MemoryId)).
//! The host allocates device blocks, and copies to and from them regions that are contiguous on
//! both sides.
//!
//! **Failure.** A thread whose check fails stops. Threads do not wait for it at barriers: a block
//! with a failed thread ends at its next barrier. Once a thread of any block has failed, threads
//! that await a signal that is never sent fail too. When the kernel has ended, the host fails with
//! the message of one of the failed threads.

use crate::syntax::{Access, Expr, Var};
use prim::{BinOp, PrimType};

/// The statements that only threads of a device have.
#[derive(Clone, PartialEq, Hash, Debug)]
pub enum DeviceOp {
    /// A barrier for the threads of a block.
    Barrier,
    /// A barrier for the threads of a subgroup: a number of neighbours in a block, a power of two
    /// up to [`MAX_SUBGROUP`](target::device::MAX_SUBGROUP), the same throughout a kernel. As
    /// devices may implement it as a barrier for the whole block, it is valid only where that would
    /// be.
    SubgroupBarrier(u32),
    /// Combines an element with a value, atomically.
    Update(Box<AtomicUpdate>),
    /// Compare-and-swap: sets an element to a value if it has the bits of the expected one,
    /// atomically; the variable gets its previous value.
    CompareExchange {
        /// The variable for the previous value.
        old: Var,
        /// The element.
        at: Access,
        /// The expected value.
        expected: Expr,
        /// The new value.
        value: Expr,
    },
    /// Sets an element to a value, atomically; with the type [`RELEASE_TYPE`], a release: ordered after
    /// all that the thread has done so far.
    Signal {
        /// The element, of type [`RELEASE_TYPE`] or [`RELAXED_TYPE`].
        at: Access,
        /// The value.
        value: Expr,
    },
    /// Waits until an element is not 0 and loads it into a variable; with the type [`RELEASE_TYPE`], an
    /// acquire: ordered before all that the thread does from then on.
    Await {
        /// The variable.
        var: Var,
        /// The element, of type [`RELEASE_TYPE`] or [`RELAXED_TYPE`].
        at: Access,
    },
}

/// The type of signals that publish the writes before them (release and acquire).
pub const RELEASE_TYPE: PrimType = PrimType::I32;
/// The type of signals that publish only their own value (relaxed).
pub const RELAXED_TYPE: PrimType = PrimType::I64;

/// The operands of an atomic update: see [`DeviceOp::Update`].
#[derive(Clone, PartialEq, Hash, Debug)]
pub struct AtomicUpdate {
    /// The variable for the previous value.
    pub old: Option<Var>,
    /// The element, of an integer type that [`is_atomic`](target::device::is_atomic) accepts.
    pub at: Access,
    /// The operator, one that [`is_atomic`](target::device::is_atomic) accepts.
    pub op: BinOp,
    /// The other operand.
    pub value: Expr,
}
