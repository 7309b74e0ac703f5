//! Names, modules and types: from the syntax tree to the typed tree.
//!
//! [`check_program`] reads a file with all that it imports and gives a
//! [`tast::Program`], or the errors that it found, as many as it can in one run.
//!
//! How it works: types are inferred by unification ([`unify`], on the tables of
//! [`infer`]) with sizes as part of types ([`dims`] compares them); modules are
//! resolved while checking ([`modules`], [`matching`]), so the typed tree is a
//! flat list of definitions; each definition is finished ([`zonk`]) before the
//! next begins. No input makes it panic.

mod advice;
mod ambiguous;
mod arrays;
mod builtin;
mod causality;
mod checker;
mod consume;
mod describe;
mod dims;
mod entry;
mod env;
mod exhaust;
mod explain;
mod exps;
mod funs;
mod generalise;
mod holes;
mod infer;
pub mod intrinsics;
mod limits;
mod loops;
mod matching;
mod module_types;
mod modules;
mod names;
mod ops;
mod pats;
mod print;
mod program;
mod report;
mod size_params;
mod subst;
pub mod tast;
mod type_rules;
mod types;
mod unify;
mod uniq;
mod unused;
mod visit;
mod warnings;
mod witness;
mod zonk;

pub use program::{Checked, Loader, check_program, describe_module, names_in_scope};
pub use visit::children;

/// A recursive walk that finds less stack than this left, in bytes, gets more.
pub(crate) const RED_ZONE: usize = 128 * 1024;

/// How much stack it gets at once, in bytes.
pub(crate) const STACK_STEP: usize = 4 * 1024 * 1024;
