//! Programs with test blocks, built and run: tests, benchmarks, and the tuner's runs.
//!
//! Programs are type-checked in this process. The compiler's command builds them, and they run in
//! processes of their own ([`executable`]), so a crash or a hang is an ordinary failure.
//! [`Setup`] says which programs and data sets, and how; [`test`], [`bench`] and [`tuning`] do the
//! work on one program and return reports. Messages on the way go to a [`Log`].

mod backend;
pub mod bench;
pub mod executable;
mod setup;
pub mod test;
pub mod tuning;

pub use backend::Backend;
pub use setup::{Log, Setup};
