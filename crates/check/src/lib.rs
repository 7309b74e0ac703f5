//! Names, modules and types: from the syntax tree to the typed tree.
//!
//! [`check_program`] reads a file with all its imports and returns a [`tast::Program`], or as many
//! errors as can be found in one run. [`analyse`] returns, despite errors, an [`Analysis`]: the
//! typed tree, and an index of names that answers the queries of an editor.
//!
//! The implementation has three layers, each of which uses those before it:
//!
//! - `infer`, the core: types are inferred by unification, with sizes as part of types (`sizes`
//!   compares them). It works on types only.
//! - `definition`: one definition, from its syntax tree to its typed tree, with new state for each;
//!   `post_inference` checks the result.
//! - `modules`: declarations, modules and files in order. Modules are resolved while checking, so
//!   the typed tree is a flat list of definitions.
//!
//! Definitions and modules share a `context`: names in scope and diagnostics. Each definition is
//! finished before the next begins. No input causes a panic.

mod analysis;
mod builtins;
mod carried_sizes;
mod context;
mod decl_site;
mod definition;
mod diagnostics;
mod env;
mod external_name;
mod index;
mod infer;
pub mod intrinsics;
mod modules;
mod post_inference;
mod program;
mod resolution;
mod sizes;
mod subst;
pub mod tast;
mod uniq;
mod unused;
mod visit;

pub use analysis::{Analysis, Position};
pub use index::{Definition, Item, ItemKind};
pub use program::{Checked, Loader, analyse, check_program, check_with_entries};
pub use visit::children;

/// The remaining stack, in bytes, below which a recursive walk grows its stack.
pub(crate) const STACK_RED_ZONE: usize = 128 * 1024;

/// The size of each stack extension, in bytes.
pub(crate) const STACK_GROWTH: usize = 4 * 1024 * 1024;
