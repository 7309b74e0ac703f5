//! The optimiser: inlining, simplification, fusion.
//!
//! Before: a verified program of any level; after: a verified program of the
//! same level with the same meaning that does less. Nothing here knows hardware.
//!
//! - [`passes`]: the pipelines, as data.
//! - `inline`: calls replaced by bodies where that pays.
//! - `simplify`: folding, copy propagation, common subexpressions, hoisting,
//!   bounds checks that cannot fail, conditionals to selections.
//! - `dce`: what no result needs is removed.
//! - `fuse`: combinators that feed each other become one.
//! - `fma`: products that are added become fused multiply-adds.
//! - `migrate`: scalars that stay on a device, where reading them would wait for it.
//! - `survey`: checks and copies that are left, for an account of what was done.
//!
//! Passes work on one function at a time but for inlining; what they need to
//! know of others is in [`passes::Signatures`].

#![warn(clippy::wildcard_enum_match_arm)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used))]

mod alias;
mod dce;
mod fma;
mod fuse;
mod inline;
mod jam;
mod join;
mod level;
mod migrate;
pub mod passes;
mod picks;
mod simplify;
mod sink;
mod splice;
mod survey;
mod tables;
mod unroll;

pub use level::OptLevel;
pub use passes::{Pass, SEGS, SOACS, Signatures, run};
pub use survey::survey;
