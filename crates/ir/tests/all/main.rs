//! The IR's tests, in one executable to save link time.

mod decomp;
mod derivatives;
mod eval;
mod memory;
mod services;
mod text;
mod tunables;
