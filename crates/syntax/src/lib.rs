//! The front end's first half: from source text to a syntax tree.
//!
//! [`span`] holds source files and spans, [`diag`] diagnostics as data, which [`render`] turns into
//! text, [`symbol`] interned names, [`ast`] the tree. [`parse`] reads a file: for any text it
//! returns a tree of the parts that could be parsed and all errors found, and neither parsing nor
//! dropping the tree overflows the stack. Names are not resolved and types are not known here.

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

/// The maximum nesting depth of brackets, branches and bodies; deeper nesting is the error
/// `nesting-too-deep`. On a thread with less than [`STACK_PER_LEVEL`] times as much stack left, the
/// limit is lower, but never below [`MIN_NESTING_LIMIT`].
pub const MAX_NESTING: u32 = 250_000;

/// The nesting depth allowed on any thread, however small its stack: recursive walks grow the stack
/// where necessary.
pub const MIN_NESTING_LIMIT: u32 = 2000;

/// Stack per nesting level, in bytes, with which no walk of the compiler has to grow the stack.
pub const STACK_PER_LEVEL: usize = 16 * 1024;

/// The maximum number of suffixes (`.x`, `[i]`, `: t`, `with ...`) on a path from the root of the
/// tree to a leaf; more is the error `nesting-too-deep`.
pub const MAX_SUFFIXES: u32 = 100_000;

/// The remaining stack, in bytes, below which a recursive walk grows its stack.
pub(crate) const STACK_RED_ZONE: usize = 128 * 1024;

/// The size of each stack extension, in bytes.
pub(crate) const STACK_GROWTH: usize = 4 * 1024 * 1024;
