//! The IR's tests, as one program: linking one takes as long as linking one of many.

mod decomp;
mod eval;
mod memory;
mod services;
mod text;
mod tunables;
