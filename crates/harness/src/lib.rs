//! Test blocks of Futhark programs, and what a program gives for them.
//!
//! - [`blocks`]: the test blocks in a program's comments, as data.
//! - [`data`]: their values, and comparing results with them; [`random`]: random
//!   values; [`script`]: values that a program's own entry points compute.
//! - [`oracle`]: the interpreter as what gives arguments and expected results.
//! - [`property`]: entry points that should hold for all arguments.
//! - [`programs`]: finding programs, working on several, judging outcomes;
//!   [`process`]: child processes that may do anything; [`processors`]: what code
//!   runs here.
//! - [`evaluate`]: entry points of the core IR called with values.
//!
//! Compiling belongs to those who use this: `bindrune test` and `bindrune bench`,
//! and the tests of the driver.

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
