//! Tests of the LLVM back end, as one executable: linking one takes as long as linking one of many.

mod chunks;
mod common;
mod fma;
mod frames;
mod operators;
mod programs;
mod ranges;
mod reciprocals;
mod roots;
mod tunables;
mod vector_compress;
mod vector_masks;
mod vector_memory;
mod vector_operators;
mod wide_quotients;
