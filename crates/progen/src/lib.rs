//! Random well-typed programs, and every way to run them held against the
//! interpreter.
//!
//! [`Setting::generate`] makes a program and arguments from [`Choices`], [`try_program`]
//! runs it in the interpreter, as compiled code and as kernels on the simulated device (and
//! on OpenCL's, where that is asked for), [`shrink`] makes a failing one small. A test runs a
//! fixed number of programs; `cargo xtask progen` runs any number, in processes of their
//! own, and prints which operations of the IR came up ([`Coverage`]).
//!
//! There are two kinds of programs: any (`generator`), and those about sizes in types
//! (`sizes`), whose results are known beforehand.
//!
//! *Absent:* knowledge of what the compiler does with a program; programs are made
//! of the language alone.

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
