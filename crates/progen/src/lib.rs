//! Differential testing: random well-typed programs, executed in every way and compared with the
//! interpreter.
//!
//! [`Setting::generate`] makes a program and arguments from [`Choices`], [`try_program`] runs it in
//! the interpreter, as compiled code and as kernels on the simulated device (and on an OpenCL
//! device, on request), [`shrink`] reduces a failing one. A test runs a fixed number of programs;
//! `cargo xtask progen` runs any number, in processes of their own, and prints the coverage of IR
//! operations ([`Coverage`]).
//!
//! There are two kinds of programs: general ones (`generator`), and programs about sizes in types
//! (`sizes`), whose results are known beforehand.
//!
//! *Absent:* knowledge of the compiler's transformations; programs are made from the language
//! alone.

mod choices;
mod coverage;
mod device;
mod differ;
mod generator;
mod opencl;
mod shrink;
mod sizes;

pub use choices::Choices;
pub use coverage::{Coverage, Seen};
pub use differ::{Problem, Report, Setting, try_choices, try_program};
pub use generator::{Call, Program};
pub use shrink::shrink;
