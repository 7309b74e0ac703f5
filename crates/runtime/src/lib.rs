//! The runtime of compiled programs.
//!
//! The compiler links this crate and calls programs in its own process ([`Context::call`],
//! [`exe::run`]); object files are linked with the static library of the same crate, and the `main`
//! of an executable calls `br_main`. [`abi`] is the contract with generated code.
//!
//! All state belongs to a [`Context`]; nothing unwinds through generated code, and failures are
//! values ([`Error`]). The only static variable is a lock that OpenCL drivers need ([`device`]).

pub mod abi;
mod call;
pub mod comparison_log;
mod context;
mod control;
pub mod device;
pub mod error;
pub mod exe;
pub mod heap;
mod image;
mod math;
mod nests;
mod process;
pub mod sched;
mod stats;
mod symbols;
pub mod tuning_params;

pub use call::{Elements, Handle, Output};
pub use context::{Config, Context};
pub use control::{Cancellation, Progress, ProgressHook};
pub use error::Error;
pub use heap::memory_limit;
pub use image::{Image, ProgramSpec, TunableSpec};
pub use process::{can_reserve, exit_at_once};
pub use stats::Counter;
pub use symbols::symbols;
