//! The optimiser: inlining, simplification, fusion and the passes that build on them.
//!
//! Before: a verified program of any level. After: a verified program of the same level with the
//! same meaning that does less work. The target machine enters only through `target`: its cost
//! constants, its stack of levels and its vector width.
//!
//! - [`passes`]: the pipelines, as data.
//! - `inline`: replaces calls by function bodies where that pays.
//! - `simplify`: constant folding, copy propagation, common subexpressions, hoisting, removal of
//!   bounds checks that cannot fail, conditionals to selections.
//! - `dce`: dead-code elimination.
//! - `fuse`: vertical and horizontal fusion of combinators.
//! - `compose`: several iterations of a loop that updates matrices run at once.
//! - `gather_forwarding`: elements projected out of rows are read from the rows themselves.
//! - `lookup_tables`: precomputes values that depend on an inner index alone.
//! - `packed_reads`: copies elements that are not contiguous and are read many times.
//! - `fma`: products that are added become fused multiply-adds.
//! - `math`: simplifies the definitions of mathematical functions, and replaces operations by them.
//! - `unroll`: expands loops under `#[unroll]`.
//! - `loop_fusion`: sequential loop fusion, after flattening.
//! - `unroll_and_jam`: unroll and jam of loops around lane reductions.
//! - `sink`: moves reads into the only branch arm that uses them.
//! - `migrate`: keeps scalars on a device where reading them back would wait for it.
//! - `remarks`: optimisation remarks about the checks and copies that are left.
//!
//! All passes but inlining and `migrate` work on one function at a time; the facts they need about
//! other functions are in [`analysis::signatures`].

#![warn(clippy::wildcard_enum_match_arm)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used))]

mod compose;
mod dce;
mod fma;
mod fuse;
mod gather_forwarding;
mod inline;
mod iotas;
mod level;
mod lookup_tables;
mod loop_fusion;
mod math;
mod migrate;
mod packed_reads;
pub mod passes;
mod remarks;
mod simplify;
mod sink;
mod splice;
mod unroll;
mod unroll_and_jam;

pub use fuse::is_nest_with_sums;
pub use iotas::iotas;
pub use level::OptLevel;
pub use passes::{Pass, SEGS, SOACS, run};
pub use remarks::remarks;
pub use simplify::simplify as simplify_function;
