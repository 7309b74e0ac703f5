//! Operations with scalar values, the majority of those evaluated. Their values are not wrapped in
//! a [`Value`](super::machine::Value), which has the size of an array.

use super::EvalError;
use super::basic::{fixed_indices, out_of_bounds};
use super::machine::{Evaluator, Frame};
use crate::syntax::{BasicOp, Level};
use prim::eval as scalar;
use prim::{Scalar, ScalarOp};
use smallvec::SmallVec;

type Result<T> = std::result::Result<T, EvalError>;

fn undefined(name: &str, args: &[Scalar]) -> EvalError {
    EvalError::bug(format!("{name} is undefined for {args:?}"))
}

impl<L: Level> Evaluator<'_, L> {
    /// The value of a basic operation, if it is a scalar and the operation writes no memory.
    pub(super) fn scalar(&self, frame: &Frame<'_>, op: &BasicOp) -> Result<Option<Scalar>> {
        Ok(Some(match op {
            BasicOp::Atom(x) | BasicOp::Opaque(x) => return Ok(frame.known_scalar(*x)),
            BasicOp::Scalar(ScalarOp::Unary(op, _, x)) => {
                let x = frame.scalar(*x)?;
                scalar::unary(*op, x).ok_or_else(|| undefined(op.name(), &[x]))?
            }
            BasicOp::Scalar(ScalarOp::Binary(op, _, x, y)) => {
                let (x, y) = (frame.scalar(*x)?, frame.scalar(*y)?);
                scalar::binary(*op, x, y).ok_or_else(|| undefined(op.name(), &[x, y]))?
            }
            BasicOp::Scalar(ScalarOp::Compare(op, _, x, y)) => {
                let (x, y) = (frame.scalar(*x)?, frame.scalar(*y)?);
                let value = scalar::compare(*op, x, y);
                Scalar::Bool(value.ok_or_else(|| undefined(op.name(), &[x, y]))?)
            }
            BasicOp::SizeAtLeast { size, tunable } => {
                let size = frame.i64(*size)?;
                Scalar::Bool(self.compare_threshold(frame, size, *tunable)?)
            }
            BasicOp::Param { name, default } => {
                let given = self.user_param(name);
                given.map_or_else(|| frame.scalar(*default), Ok)?
            }
            BasicOp::Scalar(ScalarOp::Convert { op, from: _, to, arg }) => {
                let x = frame.scalar(*arg)?;
                scalar::convert(*op, x, *to).ok_or_else(|| undefined(op.name(), &[x]))?
            }
            BasicOp::Scalar(ScalarOp::Select { ty: _, cond, if_true, if_false }) => {
                let chosen = if frame.bool(*cond)? { if_true } else { if_false };
                frame.scalar(*chosen)?
            }
            BasicOp::Scalar(ScalarOp::Fma(_, x, y, z)) => {
                let (x, y, z) = (frame.scalar(*x)?, frame.scalar(*y)?, frame.scalar(*z)?);
                scalar::fma(x, y, z).ok_or_else(|| undefined("fma", &[x, y, z]))?
            }
            BasicOp::Scalar(ScalarOp::Math(fun, ty, args)) => {
                let args: Result<SmallVec<[Scalar; 2]>> = args.iter().map(|arg| frame.scalar(*arg)).collect();
                let args = args?;
                let value = self.program.math.evaluate(*fun, *ty, &args);
                value.ok_or_else(|| undefined(fun.name(), &args))?
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
