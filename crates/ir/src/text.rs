//! The text form of the IR: printer and parser for every level.
//!
//! [`print()`] and [`parse()`] are inverse: parsing a printed program yields an equal program,
//! including annotations, certificates, attributes, provenance, hints and unused names.
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
//! unused (t_3)                                   // names that do not occur
//! where ^1 = 0:1:22-1:31                         // provenance: file:line:column
//! ```
//!
//! - A name is its hint, `_` and its number; a hint that is not an identifier is quoted.
//! - A statement is `let pattern <certificates> #[attribute] ^provenance = expression`.
//! - Constants carry their type (`4i64`, `1.5f32`, `nan.f64`, `true`); sizes in types are bare
//!   (`[4]i32`); `?0` is the value of sibling result 0.
//! - A consumed parameter of a function or loop has a `*`; `alias (0)` after a result lists the
//!   parameters that it may alias.
//! - With memory, a name's type is followed by `@ block_7 -> {offset; (stride: extent), ...}`.
//! - `//` begins a comment.
//!
//! Nesting deeper than [`max_depth`] is an error.

mod basic;
mod cursor;
mod entry;
mod lex;
mod ops;
mod parse;
mod part;
mod print;
mod seg;

pub use cursor::Parser;
pub use entry::{show_entry_point, show_opaque_types};
pub use lex::{is_identifier, is_plain_hint, quote};
pub use print::{Note, Printer, scalar as show_scalar};

use crate::mem::Mems;
use crate::name::{Name, NameTable};
use crate::seg::Segs;
use crate::soac::Soacs;
use crate::syntax::{Level, Program, Stm};
use crate::types::Type;
use std::fmt;

/// The keyword before the definition of a mathematical function.
const DEFINITION: &str = "definition";

/// Maximum nesting of bodies and types in text that is parsed on any thread.
pub const MAX_DEPTH: usize = 1000;

/// Maximum nesting in text that is parsed on a thread with a large stack.
const MAX_DEPTH_LARGE_STACK: usize = 250_000;

/// Stack bytes per nesting level with which no traversal has to grow the stack.
const STACK_PER_LEVEL: usize = 16 * 1024;

/// Maximum indentation, in levels. With unlimited indentation, the size of text would be quadratic
/// in the depth.
pub const MAX_INDENT: usize = 64;

/// Maximum nesting of bodies and types in text that the current thread parses.
pub fn max_depth() -> usize {
    let levels = stacker::remaining_stack().unwrap_or(0) / STACK_PER_LEVEL;
    levels.clamp(MAX_DEPTH, MAX_DEPTH_LARGE_STACK)
}

/// The text form of operations and annotations.
pub trait TextForm: Sized {
    /// Prints the operation or annotation.
    fn print(&self, p: &mut Printer<'_>);

    /// Parses it; returns `None`, with nothing consumed, if the text does not begin with one.
    fn parse(p: &mut Parser<'_>) -> Result<Option<Self>, ParseError>;
}

impl TextForm for () {
    fn print(&self, _: &mut Printer<'_>) {}

    fn parse(_: &mut Parser<'_>) -> Result<Option<Self>, ParseError> {
        Ok(Some(()))
    }
}

/// A level with a text form.
pub trait TextLevel: Level<Op: TextForm, Ann: TextForm> {
    /// The level's name in IR text and on the command line.
    const NAME: &'static str;
}

impl TextLevel for Soacs {
    const NAME: &'static str = "soacs";
}

impl TextLevel for Segs {
    const NAME: &'static str = "segs";
}

impl TextLevel for Mems {
    const NAME: &'static str = "mems";
}

/// A parse error and its position (counted from 1).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseError {
    /// Line.
    pub line: u32,
    /// Column, in bytes.
    pub col: u32,
    /// The error message.
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.col, self.message)
    }
}

impl std::error::Error for ParseError {}

/// The program as text.
pub fn print<L: TextLevel>(program: &Program<L>) -> String {
    print_with_notes(program, &[])
}

/// The program as text, with notes as comments after the statements concerned.
pub fn print_with_notes<L: TextLevel>(program: &Program<L>, notes: &[Note]) -> String {
    print::program(program, notes)
}

/// Parses a program.
///
/// # Errors
///
/// The first error: another level, invalid syntax, a name with two hints, nesting deeper than
/// [`max_depth`].
pub fn parse<L: TextLevel>(text: &str) -> Result<Program<L>, ParseError> {
    Parser::new(text)?.program()
}

/// The name of the level at the beginning of the text.
pub fn level_of(text: &str) -> Option<&str> {
    let code = text.lines().map(|line| line.split("//").next().unwrap_or(line).trim());
    code.flat_map(str::split_whitespace).next()
}

/// A type as text.
pub fn show_type(names: &NameTable, ty: &Type) -> String {
    Printer::show(names, &[], |p| p.ty(ty))
}

/// The first line of a program's statement as text.
pub fn show_stm<L: TextLevel>(program: &Program<L>, names: &NameTable, stm: &Stm<L>) -> String {
    let text = Printer::show(names, &print::fun_names(program), |p| p.stm(stm));
    text.lines().next().unwrap_or_default().trim().to_owned()
}

/// A name as text.
pub fn show_name(names: &NameTable, name: Name) -> String {
    Printer::show(names, &[], |p| p.name(name))
}
