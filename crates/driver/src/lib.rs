//! The compiler from files to any stage's result: the one place that knows the order of all stages.
//! Errors are values with diagnostics; nothing here prints or ends the process.
//!
//! A [`Session`] holds the sources and options of one compilation. Source text goes through parser,
//! checker and `lower` ([`Session::lower`]); the core IR goes down the levels through the passes of
//! [`pipeline`], which lists them in order. [`Session::objects`] makes object files, and
//! [`Session::image`] makes code in this process that the runtime can call. IR text enters at its
//! own level ([`Session::read_ir`]).

mod error;
mod files;
mod pipeline;
mod session;
mod stack;
pub mod tuning;
mod warnings;

pub use error::Failure;
pub use files::{Files, check, lower};
pub use ir::remark;
pub use ir::{Flatten, Remark, VectorLanes};
pub use kernelc::Target as DeviceTarget;
pub use lower::Limits as CopyLimits;
pub use pipeline::{Ir, PassInfo, Stage, passes};
pub use session::{Observer, Options, PORTABLE, Session};
pub use stack::on_large_stack;
pub use target::device;
pub use target::levels::{self, Stack};
