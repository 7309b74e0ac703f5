//! The text form of the imperative IR: [`print()`] and [`parse()`] are inverse.
//!
//! ```text
//! imp file "sum.fut"                             // the level, the main source file
//! check#0 = "Index {i64} is out of bounds." at "sum.fut:3:5-9"
//! data#0: f64 = "0000000000000040"               // bytes, in hexadecimal
//! global#0: buffer
//! init init
//! entry "main" = "entry main" ("xs": "[]i32" as array 1 i32) -> ("": "i32" as i32)
//!
//! inline fun sum(xs_0: buffer, n_1: i64) -> (s_3: i32) {
//!   owned block_7
//!   vars unused_5: i64                           // types that appear nowhere else
//!   s_3: i32 = 0i32
//!   for i_2: i64 in 0 .. n_1 independent {
//!     x_4: i32 = xs_0[i32: at 4 + i_2 + (i_2 + 1) * n_1]
//!     s_3: i32 = add.i32(s_3, x_4)
//!   }
//! }
//! ```
//!
//! - A variable is its hint, `_` and its number; a hint that is not an identifier is quoted. Its type
//!   is given where it is set. A variable without a type is a buffer in host memory; other memories
//!   follow `buffer`.
//! - Constants carry their type (`1.5f32`, `nan.f64`, `true`), except those of type `i64`.
//! - Operators are written as in every IR (`add.i32(a_1, b_2)`), except that `i64` sums,
//!   differences and products, the operators of index functions, are infix.
//! - Vectors have types such as `16 x f32`; operators on them look as on scalars.
//! - An element's position is a sum of indices times strides, without strides of 1; `at` precedes
//!   the offset, which is left out if it is 0.
//! - `//` begins a comment.
//! - Statements of device threads are `barrier`, `barrier of 32`,
//!   `atomic old_1: i32 = add counts_2[i32: i_3] <- 1i32` (without a variable too),
//!   `swap old_6: i32 = lock_7[i32: at 0] expected 0i32 to 1i32`, `signal state_8[i32: i_3] <- 2i32`
//!   and `await seen_9: i32 = state_8[i32: (i_3 - 1)]`.
//!
//! Nesting is limited by [`max_depth`](ir::text::max_depth): deeper text is an error.

mod element;
mod parse;
mod part;
mod print;

pub(crate) use element::{Suffix, constant, operands, parse_infix, print_infix, print_operands};
pub use ir::text::{MAX_DEPTH, ParseError};
pub use parse::parse;
pub(crate) use parse::{Parser, Result, take_var};
pub(crate) use part::{Block, Else, Mode, Part, Row, Rows, Typed, Until};
pub use print::print;
pub(crate) use print::{Printer, show_stmt};
