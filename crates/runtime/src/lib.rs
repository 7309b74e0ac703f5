//! The runtime of compiled programs.
//!
//! The compiler links this crate and calls programs in its own process ([`Context::call`],
//! [`exe::run`]); object files are linked with the static library of the same crate, and the `main`
//! of an executable calls `br_main`. [`abi`] is the contract with generated code.
//!
//! All state belongs to a [`Context`], but for a cache of OpenCL contexts; nothing unwinds through
//! generated code, and failures are values ([`Error`]).

pub mod abi;
mod call;
pub mod comparison_log;
mod context;
pub mod device;
pub mod error;
pub mod exe;
pub mod heap;
mod image;
mod math;
mod process;
pub mod sched;
mod stats;
mod symbols;
pub mod tuning_params;

pub use call::Output;
pub use context::{Config, Context};
pub use error::Error;
pub use heap::memory_limit;
pub use image::{EntrySpec, Image, ParamKind, ParamSpec, ProgramSpec, TunableSpec};
pub use process::{can_reserve, exit_at_once};
pub use stats::Counter;
pub use symbols::symbols;
