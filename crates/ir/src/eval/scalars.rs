//! Operations with scalar values, the majority of those evaluated. Their values are not wrapped in
//! a [`Value`](super::machine::Value), which has the size of an array.

use super::basic::{fixed_indices, out_of_bounds};
use super::machine::{Evaluator, Frame};
use super::{EvalError, EvalLevel};
use crate::syntax::BasicOp;
use prim::{Scalar, ScalarOp};

type Result<T> = std::result::Result<T, EvalError>;

pub(super) fn undefined(op: &ScalarOp<Scalar>) -> EvalError {
    EvalError::bug(format!("{} is undefined for {:?}", op.name(), op.operands()))
}

impl<L: EvalLevel> Evaluator<'_, L> {
    /// The value of a basic operation, if it is a scalar and the operation writes no memory.
    pub(super) fn scalar(&self, frame: &Frame<'_>, op: &BasicOp) -> Result<Option<Scalar>> {
        Ok(Some(match op {
            BasicOp::Atom(x) | BasicOp::Opaque(x) => return Ok(frame.known_scalar(*x)),
            BasicOp::Scalar(op) => {
                let op = op.as_ref().try_map(|x| frame.scalar(*x))?;
                let value = op.value(|fun, ty, args| self.program.math.evaluate(fun, ty, args));
                value.ok_or_else(|| undefined(&op))?
            }
            BasicOp::SizeAtLeast { size, tunable } => {
                let size = frame.i64(*size)?;
                Scalar::Bool(self.compare_threshold(frame, size, *tunable)?)
            }
            BasicOp::Param { name, default } => {
                let given = self.user_param(name);
                given.map_or_else(|| frame.scalar(*default), Ok)?
            }
            BasicOp::Index { array, slice } => {
                let Some(indices) = fixed_indices(frame, slice)? else {
                    return Ok(None);
                };
                let array = frame.array(*array)?;
                if indices.len() != array.shape().len() {
                    return Ok(None);
                }
                let value = array.element(&indices)?;
                value.ok_or_else(|| out_of_bounds(array.shape()))?
            }
            BasicOp::Assert { .. } | crate::update_op!() | crate::view_op!() | crate::fresh_array_op!() => {
                return Ok(None);
            }
        }))
    }
}
