//! Passes on the imperative IR, in the order in which they run: propagation of moves ([`moves`]), tail
//! calls ([`tail`]), tiling ([`tiles`]), vectorisation ([`lanes`]), unroll and jam of independent iterations
//! ([`jam`]), square roots and quotients without the divider ([`divider`]), software pipelining ([`pipeline`]),
//! simplification ([`simplify`]), splitting of large functions ([`split`]), merging of equal code ([`merge`]),
//! functions for copies ([`copies`]).
//!
//! Each needs and leaves a program that `imp::verify` accepts.

#![warn(clippy::wildcard_enum_match_arm)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used))]

pub mod copies;
pub mod divider;
pub mod jam;
pub mod lanes;
mod loop_copies;
mod loops;
pub mod merge;
pub mod moves;
mod outline;
pub mod pipeline;
pub mod simplify;
pub mod split;
pub mod tail;
pub mod tiles;
mod weight;
