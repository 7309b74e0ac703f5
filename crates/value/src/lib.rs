//! Futhark values and their text and binary formats.
//!
//! A [`Value`] is a scalar or a regular array: an element type, a shape and the elements in
//! row-major order in one 64-byte aligned [`Buffer`]. Values are read by [`Reader`] from any byte
//! stream that may mix both formats, written by [`write_text`] and [`write_binary`], and compared
//! by [`compare()`].
//!
//! [`interface`] describes the entry points of a program and the types of their parameters and results.
//!
//! This crate contains data formats and descriptions only. It depends neither on the compiler nor on the memory
//! of running programs, which takes over the bytes of a value ([`Value::into_parts`]).

mod binary;
mod buffer;
mod compare;
mod error;
mod escape;
mod hexfloat;
mod input;
pub mod interface;
mod literal;
mod print;
mod reader;
mod text;
mod value;

pub use binary::{BINARY_VERSION, write_binary, write_binary_header};
pub use buffer::{ALIGNMENT, Buffer, HEADROOM, OutOfMemory};
pub use compare::{Mismatch, Tolerance, compare};
pub use error::{ErrorKind, Position, ReadError};
pub use escape::read_string;
pub use print::{push_element, write_text, write_text_array};
pub use reader::Reader;
pub use value::{Element, MAX_RANK, ShapeError, Value, ValueType};
