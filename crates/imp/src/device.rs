//! Kernels: what runs on a device, as loops and statements of the imperative IR.
//!
//! ```text
//! for block_1: i64 in 0 .. blocks_0 grid#0 "main.segred" at "a.fut:1:1-9" cost 1 ... {
//!   part_2 = frame [256]i64                      // in the scratchpad of the block
//!   first_3: i64 = (block_1 * 256)               // the same for all its threads
//!   for thread_4: i64 in 0 .. 256 block locals (x_5) {
//!     x_5: i64 = xs_6[i64: first_3 + thread_4]   // private to the thread
//!     part_2[i64: thread_4] = x_5
//!     barrier
//!     ..
//!   }
//! }
//! ```
//!
//! A kernel is a loop over blocks ([`How::Grid`](crate::How::Grid)) that the host
//! launches; what it takes from there is listed as its captures, and its
//! [`Launch`](crate::Launch) names it. Its body is what all threads of a block have in
//! common: arrays in the scratchpad, and scalars that each of them could compute. The
//! last statement is the loop over the threads ([`How::Block`](crate::How::Block)),
//! whose bound the host knows. Blocks and threads run in any order, side by side; what
//! threads of a block did before a barrier, the others see after it; a barrier of a group
//! does that for neighbours only, as many as run in step on devices that have such. Of what
//! other blocks do, a thread sees what stands behind a signal that it has awaited: what the
//! thread that gave it had done and seen by then. Nothing else. A signal of [`WORD`] has
//! nothing behind it: it tells what it is itself, and costs no fence.
//!
//! **Progress.** Who awaits a signal of another block relies on two things: that the other
//! block has begun, as a number that it took from a counter shows, and that the device
//! lets blocks that have begun go on ([`Device::progress`](target::device::Device::progress)).
//!
//! Arrays of the scratchpad have a constant size (`frame`), or one that the host computes: these
//! stand in the launch, as its [`Pad`](crate::Pad)s.
//!
//! **Memory.** A buffer variable's type says in which space its block lies. The host
//! reads and writes the host's memory, threads that of the device, the scratchpad and
//! their own ([`Space::Private`](crate::Space)); the host allocates blocks of the device
//! and copies to and from them what lies contiguous on both sides.
//!
//! **Failure.** A thread whose check fails takes no further part. Threads do not wait
//! for it at barriers: where one of a block has failed, the block ends at its next
//! barrier. Where one of any block has failed, threads that await a signal in vain fail,
//! too. The host fails with what one of the failed threads says, once the kernel has
//! ended.

use crate::syntax::{Access, Expr, Var};
use prim::{BinOp, PrimType};

/// What threads of a device do beside what all code does.
#[derive(Clone, PartialEq, Debug)]
pub enum DeviceOp {
    /// The threads of a block wait for each other.
    Barrier,
    /// The threads of a group wait for each other: so many neighbours in a block, a power of
    /// two up to [`GROUP`](target::device::GROUP), the same number in all of a kernel. As
    /// devices may let all of the block wait, it stands where that could.
    GroupBarrier(u32),
    /// An element is combined with a value, at once.
    Update(Box<Update>),
    /// An element that has the bits of a value gets another one, at once; a variable gets
    /// what it was before.
    Swap {
        /// The variable.
        old: Var,
        /// The element.
        at: Access,
        /// What it has to be.
        expected: Expr,
        /// What it gets.
        value: Expr,
    },
    /// An element gets a value, at once; if it is one of [`SIGNAL`], behind all that the
    /// thread has done so far.
    Signal {
        /// The element, of [`SIGNAL`] or [`WORD`].
        at: Access,
        /// What it gets.
        value: Expr,
    },
    /// A variable gets an element once that is not 0; if it is one of [`SIGNAL`], before all
    /// that the thread does from then on.
    Await {
        /// The variable.
        var: Var,
        /// The element, of [`SIGNAL`] or [`WORD`].
        at: Access,
    },
}

/// The type of signals that others stand behind.
pub const SIGNAL: PrimType = PrimType::I32;
/// The type of signals that hand on nothing but themselves.
pub const WORD: PrimType = PrimType::I64;

/// An element that is combined with a value: see [`DeviceOp::Update`].
#[derive(Clone, PartialEq, Debug)]
pub struct Update {
    /// A variable that gets what the element was before.
    pub old: Option<Var>,
    /// The element, an integer that [`is_atomic`](target::device::is_atomic) takes.
    pub at: Access,
    /// An operator that [`is_atomic`](target::device::is_atomic) takes.
    pub op: BinOp,
    /// The other operand.
    pub value: Expr,
}
