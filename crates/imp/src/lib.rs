//! The imperative IR: structured control flow over scalars and buffers.
//!
//! It is the last IR before text or machine code, and leaves no decision to the back ends. Memory
//! accesses are (buffer, index function, indices); loops carry their execution mode; parallel
//! operations are loops with an id, a name, a provenance and a list of captures. There are no
//! combinators and no certificates.
//!
//! **Calls.** A generated function takes the context, its parameters and one pointer per result; it
//! returns a status, 0 for success. Scalars are passed by value, buffers as the pointer to their
//! first byte. Arguments are borrowed; a result buffer is an owned reference.
//!
//! **Ownership.** Buffer variables are either borrowed (parameters, results of [`Stmt::Borrow`] and
//! constants) or owned: those listed in the `owned` of a function or a task loop. Owned variables
//! are null at first; [`Stmt::Alloc`] and [`Stmt::Share`] set them, [`Stmt::Release`] releases the
//! reference and sets them to null; [`Slots::Put`] moves it into a block of slots, for blocks that
//! tasks produce and other code reads. When the function (or one iteration of a task loop) ends,
//! with success or failure, every owned variable that is not a result releases its reference. So a
//! failing check leaks nothing.

#![warn(clippy::wildcard_enum_match_arm)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used))]

pub mod build;
pub mod captures;
pub mod copy_plan;
pub mod def_use;
pub mod device;
pub mod eval;
mod expr;
pub mod kernels;
mod nodes;
pub mod rename;
mod syntax;
pub mod text;
mod tunable;
mod vars;
mod verify;
pub mod walk;

pub use def_use::set_once;
pub use nodes::{Field, FieldMut, Fields};
pub use syntax::*;
pub use text::{parse, print};
pub use verify::{Verified, VerifyError, has_kernels, listing, verify};
