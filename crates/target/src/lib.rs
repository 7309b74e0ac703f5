//! The model of the target machine, for all decisions that depend on one.
//!
//! | module | contents |
//! |---|---|
//! | [`machine`](Machine) | processors: registers, instructions, differences between microarchitectures |
//! | [`processors`] | processors by name |
//! | [`time`] | the time of operations, for estimates that hold on any machine |
//! | [`throughput`] | the throughput of operations, scalar and in lanes |
//! | [`latency`] | the latency of operations |
//! | [`memory`] | capacities |
//! | [`chunks`] | the partition of work into chunks |
//! | [`device`] | thread blocks, shared memory |
//! | [`levels`] | the levels of all machines, and defaults of thresholds |
//! | [`memories`] | the memories of all machines |
//!
//! Decisions that affect results (the decomposition of a segop, design contract 1) must not depend
//! on the machine at hand: [`time`] and [`chunks`] are constants, of a typical current processor.
//! Decisions that affect only the speed take a [`Machine`].
//!
//! Each constant names the command whose figures it was chosen by, unless it is a plain fact.

#![warn(clippy::wildcard_enum_match_arm)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used))]

pub mod chunks;
pub mod device;
pub mod latency;
pub mod levels;
mod machine;
pub mod memories;
pub mod memory;
pub mod processors;
pub mod throughput;
pub mod time;

pub use machine::{Machine, Microarchitecture};

/// The assumed trip count of a loop of unknown length.
pub const TRIPS: i64 = 64;
/// The assumed trip count of a `while` loop.
pub const WHILE_TRIPS: i64 = 24;
/// The assumed speed-up by lanes where iterations are independent, on any machine: the doubles in a
/// register.
pub const LANES: i64 = 8;
