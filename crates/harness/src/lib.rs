//! Test blocks of Futhark programs, and the infrastructure to run them.
//!
//! - [`blocks`]: the test blocks in a program's comments, as data.
//! - [`data`]: their values, and comparison with results; [`random`]: random values; [`script`]:
//!   values computed by a program's own entry points.
//! - [`oracle`]: the interpreter as the source of arguments and expected results.
//! - [`property`]: random testing of properties.
//! - [`programs`]: finding programs, processing several in parallel, judging outcomes; [`process`]:
//!   child processes with limits; [`processors`]: the processors whose code runs on this machine.
//! - [`evaluate`]: evaluation of entry points of the IR.
//!
//! The users of this crate compile: `bindrune test`, `bindrune bench`, and the tests of the driver.

pub mod blocks;
pub mod data;
mod error;
pub mod evaluate;
pub mod oracle;
pub mod process;
pub mod processors;
pub mod programs;
pub mod property;
pub mod random;
pub mod script;

pub use blocks::{Case, Data, Expected, Pattern, Spec, Structure, parse_blocks};
pub use data::{DataError, compare_all};
pub use error::SpecError;
