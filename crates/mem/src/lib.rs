//! Memory: every array gets a block and an index function.
//!
//! Where segops run on a device, [`place()`] first moves those that cannot be kernels to
//! functions of the host's.
//!
//! Then [`layout()`] decides, at the level of segops, in which order of dimensions results
//! lie and which dimensions go to lanes; [`allocate`] obeys.
//!
//! Before: level `segs`, where arrays are values. After: level `mems`, where
//! each bound array says in its annotation which block it lies in and how
//! ([`ir::mem::Lmad`]).
//!
//! - Views (slices, transposes, reshapes that one LMAD can express) share the
//!   block of what they view.
//! - Updates happen in place: the updated array lies where its source does.
//!   [`roots`] finds the chains of updates through loops and branches.
//! - A result is built where it will live ([`dests`]): the row that a segop's
//!   body or a loop's iteration yields lies in the result array from the start,
//!   so nothing is copied.
//! - A result lies in the order that layout decided, if that is not row by row.
//! - Functions, and branches and loops whose arrays do not stay in place, take
//!   and return a block beside each array, row-major from its start.
//! - Small arrays of constant size inside segops lie in registers (the frame).
//! - Where segops run on a device, all arrays lie in its memory, and nothing is allocated
//!   inside of segops ([`kernel`]). Those of the host's functions lie in the host's memory:
//!   calls copy arguments there and results back.
//! - Arrays of a block of threads lie in the scratchpad where they fit: a version whose
//!   arrays do not is not taken ([`fits`]).
//!
//! Afterwards [`facts()`] notes on operations what code may be made by.
//!
//! Needs: a verified program at level `segs`. Guarantees: each array has an
//! annotation, each block is bound before the arrays in it, sizes that overflow
//! become a negative number of bytes, which allocation refuses.

#![warn(clippy::wildcard_enum_match_arm)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used))]

mod alloc;
mod basic;
mod callees;
mod control;
mod dests;
mod facts;
mod fits;
mod functions;
mod kernel;
mod layout;
mod limits;
mod order;
mod place;
mod roots;
mod segops;

pub use facts::facts;
pub use functions::allocate;
pub use layout::layout;
pub use place::place;
