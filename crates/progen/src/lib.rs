//! Differential testing: random well-typed programs, executed in every way and compared with the
//! interpreter.
//!
//! [`Setting::generate`] makes a program and arguments from [`Choices`], [`try_program`] runs it in
//! the interpreter, as compiled code and as kernels on the simulated device (and on an OpenCL
//! device, on request), [`shrink`] reduces a failing one. A test runs a fixed number of programs;
//! `cargo xtask progen` runs any number, in processes of their own, and prints the coverage of IR
//! operations ([`Coverage`]).
//!
//! There are four kinds of programs: general ones (`generator`), programs about sizes in types
//! (`sizes`), whose results are known beforehand, nests with reuse (`nests`), which run with small
//! tiles as well, also in the evaluator of the imperative IR, and programs with derivatives
//! (`derivatives`), whose forward and reverse mode are compared as well.
//!
//! *Absent:* knowledge of the compiler's transformations; programs are made from the language
//! alone.

mod choices;
mod compare;
mod coverage;
mod derivatives;
mod differ;
mod evaluated;
mod generator;
mod nests;
mod opencl;
mod shrink;
mod sizes;

pub use choices::Choices;
pub use compare::Relation;
pub use coverage::{Coverage, Seen};
pub use differ::{Problem, Report, Setting, try_choices, try_program};
pub use generator::{Call, Precision, Program};
pub use shrink::shrink;
