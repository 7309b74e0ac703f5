//! Memory: every array gets a block and an index function.
//!
//! If segops run on a device, [`offload()`] first moves segops that cannot be kernels to functions
//! that the host runs.
//!
//! Then [`layout()`] chooses, at the level of segops, the dimension order of each result and the
//! dimension of each segop that is vectorised. [`allocate`] follows these choices.
//!
//! Before: level `segs`, where arrays are values. After: level `mems`, where each bound array is
//! annotated with its block and index function ([`ir::mem::Lmad`]).
//!
//! - Views (slices, transposes, and reshapes that one LMAD can express) share the block of the
//!   viewed array.
//! - Updates happen in place: the updated array has the memory location of its source.
//!   [`analysis::must_alias`] finds the chains of updates through loops and branches.
//! - A result is built in its final location ([`destinations`], short-circuiting): the row that a
//!   segop's body or a loop's iteration yields is stored in the result array from the start, so
//!   nothing is copied.
//! - A result has the dimension order that layout chose, if that is not row-major.
//! - Functions, and branches and loops whose arrays do not stay in place, take and return a block
//!   with each array, row-major from its start.
//! - Small arrays of constant size inside segops are in registers (the stack frame on a CPU).
//! - If segops run on a device, all arrays are in its memory, and nothing is allocated inside
//!   segops ([`kernel`]). Arrays of host functions are in the host's memory: calls copy arguments
//!   there and results back.
//! - Arrays local to a thread block are in shared memory if they fit; a version whose arrays do not
//!   fit is not taken ([`capacity_guards`]).
//!
//! Afterwards [`facts()`] annotates operations with facts for code generation.
//!
//! Needs: a verified program at level `segs`. Guarantees: each array has an annotation, each block
//! is bound before its arrays, and sizes that overflow become a negative number of bytes, which
//! allocation rejects.

#![warn(clippy::wildcard_enum_match_arm)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used))]

mod aliases;
mod alloc;
mod basic;
mod callees;
mod capacity_guards;
mod checks_first;
mod control;
mod destinations;
mod facts;
mod functions;
mod kernel;
mod layout;
mod legality;
mod offload;
mod segops;

pub use facts::facts;
pub use functions::allocate;
pub use layout::layout;
pub use offload::offload;
