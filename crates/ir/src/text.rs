//! The text form of the IR: printer and parser for every level.
//!
//! [`print()`] and [`parse()`] are inverse: parsing what was printed gives a
//! program equal to the one printed, with annotations, certificates,
//! attributes, provenance, hints and unused names.
//!
//! ```text
//! soacs                                          // the level
//! file "sum.fut"                                 // file 0
//! opaque#0 "point" = record ("x": f32)          // opaque types, see `text/entry.rs`
//! entry "main" = main ("xs": "[]i32" as array 1 i32) -> ("": "i32" as i32)
//!
//! fun main(n_0: i64, xs_1: [n_0]i32) : (i32)
//! {
//!   let s_4: i32 ^1 = reduce n_0 (x_2: i32 <- xs_1)
//!     reduce comm \(a_5: i32, b_6: i32) : (i32) -> {
//!       let c_7: i32 = add.i32 a_5 b_6
//!       in (c_7)
//!     } neutral (0i32)
//!   in (s_4)
//! }
//! unused (t_3)                                   // names that stand nowhere
//! where ^1 = 0:1:22-1:31                         // provenance: file:line:column
//! ```
//!
//! - A name is its hint, `_` and its number; a hint that is no identifier is quoted.
//! - A statement is `let pattern <certificates> #[attribute] ^provenance = expression`.
//! - Constants carry their type (`4i64`, `1.5f32`, `nan.f64`, `true`); sizes in
//!   types are bare (`[4]i32`); `?0` is the value of sibling result 0.
//! - A function parameter or loop parameter that is consumed has a `*`;
//!   `alias (0)` after a result names the parameters that it may alias.
//! - With memory, a name's type is followed by
//!   `@ block_7 -> {offset; (stride: extent), ...}`.
//! - `//` begins a comment.
//!
//! Nesting is limited by [`max_depth`]: deeper text is an error.

mod basic;
mod cursor;
mod entry;
mod lex;
mod ops;
mod parse;
mod print;
mod seg;

pub use cursor::Parser;
pub use entry::{show_entry_value, show_opaque_types};
pub use lex::{is_identifier, is_plain_hint, quote};
pub use print::{Note, Printer, scalar as show_scalar};

use crate::name::{Name, NameTable};
use crate::syntax::{Level, Program, Stm};
use crate::types::Type;
use std::fmt;

/// How deep bodies and types may nest in text that any thread can read.
pub const MAX_DEPTH: usize = 1000;

/// How deep they may nest in text that a thread with enough stack reads.
const MAX_DEPTH_WITH_STACK: usize = 250_000;

/// Stack for each level with which no walk has to grow it, in bytes.
const STACK_PER_LEVEL: usize = 16 * 1024;

/// Statements deeper than this are not indented further: text would grow with the
/// square of the depth.
pub const MAX_INDENT: usize = 64;

/// How deep bodies and types may nest in text that this thread reads.
pub fn max_depth() -> usize {
    let room = stacker::remaining_stack().unwrap_or(0) / STACK_PER_LEVEL;
    room.clamp(MAX_DEPTH, MAX_DEPTH_WITH_STACK)
}

/// How operations and annotations are written.
pub trait TextForm: Sized {
    /// Prints it.
    fn print(&self, p: &mut Printer<'_>);

    /// Parses it; `None`, with nothing consumed, if what follows is not one.
    fn parse(p: &mut Parser<'_>) -> Result<Option<Self>, ParseError>;
}

impl TextForm for () {
    fn print(&self, _: &mut Printer<'_>) {}

    fn parse(_: &mut Parser<'_>) -> Result<Option<Self>, ParseError> {
        Ok(Some(()))
    }
}

/// What is wrong with a text, and where (counted from 1).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseError {
    /// Line.
    pub line: u32,
    /// Column, in bytes.
    pub col: u32,
    /// What was expected.
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.col, self.message)
    }
}

impl std::error::Error for ParseError {}

/// The program as text.
pub fn print<L: Level>(program: &Program<L>) -> String {
    print_with_notes(program, &[])
}

/// The program as text with remarks, as comments, behind the statements that they are about.
pub fn print_with_notes<L: Level>(program: &Program<L>, notes: &[Note]) -> String {
    print::program(program, notes)
}

/// The program that the text describes.
///
/// # Errors
///
/// The first thing that is not as it should be: the level, syntax, a name with
/// two hints, nesting deeper than [`max_depth`].
pub fn parse<L: Level>(text: &str) -> Result<Program<L>, ParseError> {
    Parser::new(text)?.program()
}

/// The name of the level that the text is of, as it stands at its beginning.
pub fn level_of(text: &str) -> Option<&str> {
    let code = text.lines().map(|line| line.split("//").next().unwrap_or(line).trim());
    code.flat_map(str::split_whitespace).next()
}

/// A type as text.
pub fn show_type(names: &NameTable, ty: &Type) -> String {
    Printer::show(names, |p| p.ty(ty))
}

/// A statement's first line as text.
pub fn show_stm<L: Level>(names: &NameTable, stm: &Stm<L>) -> String {
    let text = Printer::show(names, |p| p.stm(stm));
    text.lines().next().unwrap_or_default().trim().to_owned()
}

/// A name as text.
pub fn show_name(names: &NameTable, name: Name) -> String {
    Printer::show(names, |p| p.name(name))
}
