//! The tests of the imperative IR, as one program: linking one takes as long as linking one of
//! many.

mod common;
mod copies;
mod device;
mod eval;
mod kernels;
mod misuse;
mod races;
mod text;
mod vectors;
mod verify;
