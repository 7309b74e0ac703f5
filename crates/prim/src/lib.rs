//! Scalar types, scalar values and scalar operators.
//!
//! All facts about scalars are declared once, here: the source types ([`ScalarType`]), the types of
//! the core IR ([`PrimType`], where signedness has moved from the type into the operator), the
//! values ([`Scalar`]), the operator table ([`ops`]) and operations ([`ScalarOp`]). Checker, constant folder, evaluators,
//! printer, parser and back ends all read the same table.
//!
//! Semantics are those of the Futhark language reference and, where it leaves a result open, of the
//! reference compiler's executables: integers wrap, a shift by the width or more shifts everything
//! out, division by zero is an error that the program checks for before it divides.

#![warn(clippy::wildcard_enum_match_arm)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used))]

#[macro_use]
pub mod ops;
pub mod derivative;
pub mod eval;
mod half_turns;
mod ids;
pub mod laws;
mod polygamma;
mod scalar;
mod scalar_op;
mod types;

pub use ops::{BinClass, BinOp, CmpClass, CmpOp, ConvOp, MATH_PREFIX, MathFun, UnClass, UnOp};
pub use scalar::{Scalar, f16_from_f64};
pub use scalar_op::{Operands, ScalarOp};
pub use types::{PrimType, ScalarType};
