//! The tests of the imperative IR, as one program: linking one takes as long as linking one of
//! many.

mod common;
mod copies;
mod device;
mod eval;
mod fills;
mod kernels;
mod merge;
mod misuse;
mod pipeline;
mod races;
mod roots;
mod simplify;
mod split;
mod tail;
mod text;
mod tunables;
mod vectors;
mod verify;
