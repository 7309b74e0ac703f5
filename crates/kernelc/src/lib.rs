//! Prints the imperative IR as C.
//!
//! One printer serves all targets, with a thin [`Dialect`] for spelling differences; operations
//! that C lacks are functions of a prelude (`src/prelude`), under names that all targets share.
//!
//! [`program`] prints the portable C of a whole program: one self-contained file of C11, runtime
//! and `main` included, for any processor. [`kernels()`] prints the kernels of a program for a
//! device in OpenCL C, CUDA C++ or HIP.
//!
//! Contracts. Scalar operators mean what `prim::eval` says, bit for bit (NaNs up to their payload):
//! integers wrap, no operator is undefined for any operand, nothing is contracted, and the prelude
//! rejects compilers with fast-math options. Generated functions take the context, return a status,
//! and have released what they own when that is not 0. The same program gives the same text.
//!
//! Needs: a verified program without vectors. For portable C the program must not use a device; its
//! task loops run sequentially.
//!
//! | module | contents |
//! |---|---|
//! | `dialect` | spelling differences between targets |
//! | `literal`, `names` | constants and identifiers |
//! | `expr` | expressions |
//! | `scope` | declarations of variables, buffers that denote frame arrays |
//! | `stmt`, `loops`, `copy` | statements |
//! | `function` | signatures, entry and exits of functions |
//! | `kernel`, `kernels` | kernels of a device, and their text as a whole |
//! | `tables` | data, checks, the program's description |
//! | `portable` | the file of portable C |

#![warn(clippy::wildcard_enum_match_arm)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used))]

mod copy;
mod device_text;
mod dialect;
mod error;
mod expr;
mod function;
mod kernel;
mod literal;
mod loops;
mod names;
mod portable;
mod scope;
mod stmt;
mod tables;

pub use device_text::{Kernels, Target, kernels, kernels_code};
pub use dialect::Dialect;
pub use error::Error;
pub use portable::{functions, program};
