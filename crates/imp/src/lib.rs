//! The imperative IR: structured control flow over scalars and buffers.
//!
//! It is the last IR before text or machine code, so that writers stay dull: it
//! says everything that a writer has to know, and nothing is left to decide.
//! Memory accesses are (buffer, index function, indices); loops say how they
//! run; operations that run in parallel are loops with an id, a name, a
//! provenance and a list of what they take from around. There are no combinators
//! and no certificates here.
//!
//! **Calls.** A generated function takes the context, its parameters and one
//! pointer per result; it returns a status, 0 for success. Scalars are passed
//! as they are, buffers as the pointer to their first byte. Arguments are
//! borrowed; a result buffer is an owned reference.
//!
//! **Ownership.** Buffer variables are either borrowed (parameters, results of
//! [`Stmt::Borrow`] and constants) or owned: those listed in a function's or a
//! task loop's `owned`. Owned variables are null at first; [`Stmt::Alloc`] and
//! [`Stmt::Share`] set them, [`Stmt::Release`] gives the reference back and
//! makes them null; [`Slots::Keep`] hands it over to a block of slots, for blocks that
//! tasks make and others read. When the function (or one run of a task) ends, with success
//! or failure, every owned variable that is not a result gives its reference
//! back. So nothing leaks when a check fails.

#![warn(clippy::wildcard_enum_match_arm)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used))]

pub mod captures;
pub mod copies;
pub mod device;
pub mod divider;
pub mod eval;
pub mod generate;
pub mod kernels;
pub mod lanes;
pub mod pipeline;
mod places;
mod rename;
pub mod split;
mod syntax;
pub mod tail;
pub mod text;
mod tunable;
mod vars;
mod verify;
pub mod walk;

pub use syntax::*;
pub use text::{parse, print};
pub use verify::{VerifyError, has_kernels, verify};
