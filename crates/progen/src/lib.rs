//! Differential testing: random well-typed programs, executed in every way and compared with the
//! interpreter.
//!
//! [`Setting::generate`] makes a program and arguments from [`Choices`], [`try_program`] runs it in
//! the interpreter, as compiled code and as kernels on the simulated device (and on an OpenCL
//! device, on request), [`shrink`] reduces a failing one. A test runs a fixed number of programs;
//! `cargo xtask progen` runs any number, in processes of their own, and prints the coverage of IR
//! operations ([`Coverage`]).
//!
//! There are three kinds of programs: general ones (`generator`), programs about sizes in types
//! (`sizes`), whose results are known beforehand, and nests with reuse (`nests`), which run with
//! small tiles as well, also in the evaluator of the imperative IR.
//!
//! *Absent:* knowledge of the compiler's transformations; programs are made from the language
//! alone.

mod choices;
mod coverage;
mod differ;
mod evaluated;
mod generator;
mod nests;
mod opencl;
mod shrink;
mod sizes;

pub use choices::Choices;
pub use coverage::{Coverage, Seen};
pub use differ::{Problem, Report, Setting, try_choices, try_program};
pub use generator::{Call, Program};
pub use shrink::shrink;
