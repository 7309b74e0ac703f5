//! Analyses of the core IR, each once: the passes of `opt`, `flatten`, `mem` and `impgen` ask
//! them.
//!
//! | module | answers |
//! |---|---|
//! | [`cost`] | the time that code takes |
//! | [`work`] | the operations and bytes of parallel nests |
//! | [`thresholds`] | the costs from which on choices change |
//! | [`size`] | the number of statements that code becomes |
//! | [`statements`] | whether code contains certain statements |
//! | [`total`] | which operations may be executed speculatively |
//! | [`affine`] | integers as polynomials in names |
//! | [`ranges`] | the order of integers: bounds, differences, products |
//! | [`certs`] | sets of certificates |
//! | [`alias`] | which names may denote the same storage, and whether it is consumed |
//! | [`must_alias`] | which array's memory an array occupies |
//! | [`signatures`] | which arguments a call consumes, and its results may alias |
//! | [`uses`] | the number of uses of names |
//! | [`exact`] | which operators may be regrouped |
//!
//! Nothing here changes a program.

#![warn(clippy::wildcard_enum_match_arm)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used))]

pub mod affine;
pub mod alias;
pub mod certs;
pub mod cost;
pub mod exact;
pub mod must_alias;
pub mod ranges;
pub mod signatures;
pub mod size;
pub mod statements;
pub mod thresholds;
pub mod total;
pub mod uses;
pub mod work;
