//! What compiled programs run on.
//!
//! The compiler links this crate and calls programs in its own process
//! ([`Context::call`], [`exe::run`]); the static library of the same crate is
//! what object files are linked with, and `br_main` an executable's `main`.
//! [`abi`] is the contract with generated code.
//!
//! Everything hangs off a [`Context`]; there is no global state, nothing unwinds
//! through generated code, and failures are values ([`Error`]).

pub mod abi;
mod call;
pub mod comparisons;
mod context;
pub mod device;
pub mod error;
pub mod exe;
pub mod heap;
mod image;
mod math;
mod reserve;
pub mod sched;
mod stats;
mod symbols;
pub mod tuning;

pub use call::Output;
pub use context::{Config, Context};
pub use error::Error;
pub use heap::memory_limit;
pub use image::{EntrySpec, Image, ParamKind, ParamSpec, ProgramSpec, TunableSpec};
pub use reserve::{can_reserve, exit_at_once};
pub use stats::Counter;
pub use symbols::symbols;
