//! What a machine is, for all choices that depend on one.
//!
//! | module | holds |
//! |---|---|
//! | [`machine`](Machine) | processors: registers, instructions, what differs between makes |
//! | [`processors`] | processors by name |
//! | [`time`] | how long operations take, for estimates that hold on any machine |
//! | [`throughput`] | how many operations of a kind a processor finishes, scalar and in lanes |
//! | [`latency`] | how long an operation's result is waited for |
//! | [`memory`] | how much fits where |
//! | [`tasks`] | how work falls apart into chunks |
//! | [`device`] | threads of a block, scratchpad |
//! | [`levels`] | the stack of levels, and defaults of thresholds |
//!
//! What decides about results (how a segop falls apart, design contract 1) must not
//! depend on the machine at hand: [`time`] and [`tasks`] are constants, of a usual
//! processor of today. What decides about speed alone takes a [`Machine`].
//!
//! Each constant names the command whose figures it was chosen by, where it is no
//! plain fact.

#![warn(clippy::wildcard_enum_match_arm)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used))]

pub mod device;
pub mod latency;
pub mod levels;
mod machine;
pub mod memory;
pub mod processors;
pub mod tasks;
pub mod throughput;
pub mod time;

pub use machine::{Machine, Make};

/// How often a loop of unknown length is taken to run.
pub const TRIPS: i64 = 64;
/// How often a `while` loop is taken to run.
pub const WHILE_TRIPS: i64 = 24;
/// What lanes are taken to gain where operations run side by side, whatever the
/// machine: a register of doubles.
pub const LANES: i64 = 8;
