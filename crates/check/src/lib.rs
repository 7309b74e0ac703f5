//! Names, modules and types: from the syntax tree to the typed tree.
//!
//! [`check_program`] reads a file with all that it imports and gives a
//! [`tast::Program`], or the errors that it found, as many as it can in one run.
//!
//! How it works, in three parts, each of which uses those before it:
//!
//! - `infer`, the core: types are inferred by unification, with sizes as part of types
//!   (`dims` compares them). It works on types and on nothing else.
//! - `define`: one definition, from its syntax tree to its typed tree. Its state is made
//!   anew for each; `finished` judges what comes out.
//! - `modules`: declarations, modules and files in order. Modules are resolved while
//!   checking, so the typed tree is a flat list of definitions.
//!
//! What definitions and modules have in common is in a `context`: names, and what is
//! reported. Each definition is finished before the next begins. No input makes it panic.

mod builtin;
mod context;
mod define;
mod dims;
mod env;
mod finished;
mod infer;
pub mod intrinsics;
mod lookup;
mod modules;
mod place;
mod program;
mod reports;
mod spelling;
mod subst;
pub mod tast;
mod uniq;
mod unused;
mod visit;
mod witness;

pub use program::{Checked, Loader, check_program, check_with_entries, describe_module, names_in_scope};
pub use visit::children;

/// A recursive walk that finds less stack than this left, in bytes, gets more.
pub(crate) const RED_ZONE: usize = 128 * 1024;

/// How much stack it gets at once, in bytes.
pub(crate) const STACK_STEP: usize = 4 * 1024 * 1024;
