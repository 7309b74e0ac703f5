//! From the imperative IR to C.
//!
//! There is one dialect of C, printed by one printer, and a thin [`Dialect`] for what
//! targets spell differently; what the language needs of C beyond its operators are
//! functions of a prelude (`src/prelude`), under names that all targets share. So
//! kernels of devices will be printed by the same code.
//!
//! [`program`] makes the portable C of a whole program: one file of C11 with all that
//! it takes, runtime and `main` included, for any processor.
//!
//! Contracts. Scalar operators mean what `prim::eval` says, bit for bit (NaNs up to
//! their payload): integers wrap, no operator is undefined for any operand, nothing is
//! contracted, and the prelude refuses compilers that are told to be fast and loose.
//! Generated functions take the context, return a status, and have given back what
//! they own when that is not 0. The same program gives the same text.
//!
//! Needs: a verified program that stays on one thread, without vectors: its loops of
//! tasks run in order.
//!
//! | module | holds |
//! |---|---|
//! | `dialect` | what targets spell differently |
//! | `literal`, `names` | constants and identifiers |
//! | `expr` | expressions |
//! | `scope` | where variables are declared, which buffers lie in the frame |
//! | `stmt`, `loops`, `copy` | statements |
//! | `function` | signatures, entry and exits of functions |
//! | `tables` | data, checks, the program's description |
//! | `portable` | the file |

#![warn(clippy::wildcard_enum_match_arm)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used))]

mod copy;
mod dialect;
mod error;
mod expr;
mod function;
mod kernel;
mod kernels;
mod literal;
mod loops;
mod names;
mod portable;
mod scope;
mod stmt;
mod tables;

pub use dialect::Dialect;
pub use error::Error;
pub use kernels::{Kernels, Target, kernels, kernels_code};
pub use portable::{functions, program};
