//! From source text to a syntax tree.
//!
//! [`span`] holds source files and places in them, [`diag`] problems as data
//! that [`render`] turns into text, [`symbol`] interned names, [`ast`] the tree.
//! [`parse`] reads a file: whatever the text is, it gives a tree of what could be
//! read and all errors it found, and neither it nor dropping the tree overflows
//! the stack. Names are not resolved and types not known here.

pub mod ast;
pub mod diag;
pub mod dump;
mod lexer;
mod literal;
mod parser;
pub mod render;
pub mod span;
pub mod symbol;
mod token;

pub use parser::{Parse, parse, parse_expr};
pub use token::Comment;

/// How deep brackets, branches and bodies may nest; more is the error
/// `nesting-too-deep`. On a thread whose stack is smaller than
/// [`STACK_PER_LEVEL`] times as much, less is too deep, but [`SAFE_NESTING`] is
/// not.
pub const MAX_NESTING: u32 = 250_000;

/// The nesting that any thread's stack bears: walks grow it where they need more.
pub const SAFE_NESTING: u32 = 2000;

/// Stack for each level of nesting, in bytes, with which no walk of the compiler
/// has to grow it.
pub const STACK_PER_LEVEL: usize = 16 * 1024;

/// How many suffixes (`.x`, `[i]`, `: t`, `with ...`) may stand on a path from the
/// root of the tree to a leaf; more is the error `nesting-too-deep`.
pub const MAX_SUFFIXES: u32 = 100_000;

/// A recursive walk that finds less stack than this left, in bytes, gets more.
pub(crate) const RED_ZONE: usize = 128 * 1024;

/// How much stack it gets at once, in bytes.
pub(crate) const STACK_STEP: usize = 4 * 1024 * 1024;
