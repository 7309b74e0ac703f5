//! Test blocks of Futhark programs, and what a program gives for them.
//!
//! - [`blocks`]: the test blocks in a program's comments, as data.
//! - [`data`]: their values, and comparing results with them.
//! - [`evaluate`]: entry points of the core IR called with values.
//!
//! Compiling and running belong to those who use this: the tests of the driver,
//! later `bindrune test` and `bindrune bench`.

pub mod blocks;
pub mod data;
mod error;
pub mod evaluate;

pub use blocks::{Case, Data, Expected, Pattern, Spec, parse_blocks};
pub use data::{DataError, compare_all};
pub use error::SpecError;
