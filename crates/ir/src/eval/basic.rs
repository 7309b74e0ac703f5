//! Operations without bodies.

use super::array::{Array, checked_count};
use super::block::Stamp;
use super::buffer::{Buffer, PartialBuffer};
use super::machine::{Evaluator, Frame, Value};
use super::ops::delinearise;
use super::rows::{Rows, fresh};
use super::view::Index;
use super::{ErrorClass, EvalError, EvalLevel};
use crate::name::Name;
use crate::syntax::{Atom, BasicOp, DimIndex, MsgPart};
use crate::types::Dim;
use prim::Scalar;
use smallvec::SmallVec;
use std::fmt::Write as _;

type Result<T> = std::result::Result<T, EvalError>;
type Slice = SmallVec<[Index; 3]>;

fn or_bug<T>(value: Option<T>, message: impl FnOnce() -> String) -> Result<T> {
    value.ok_or_else(|| EvalError::bug(message()))
}

impl<'p, L: EvalLevel> Evaluator<'p, L> {
    /// The value of a basic operation that is bound to a name, if [`Self::scalar`] does not compute
    /// it.
    pub(super) fn basic(&mut self, frame: &mut Frame<'p>, op: &BasicOp, name: Name) -> Result<Value> {
        Ok(match op {
            BasicOp::Atom(x) | BasicOp::Opaque(x) => frame.atom(*x)?,
            BasicOp::Scalar(_) | crate::parameter_op!() => {
                return Err(EvalError::bug("a scalar operation has no scalar result"));
            }
            BasicOp::Assert { cond, msg } => {
                if !frame.bool(*cond)? {
                    let message = message(frame, msg)?;
                    return Err(EvalError::new(ErrorClass::Failure, message));
                }
                Value::Unit
            }
            BasicOp::Index { array, slice } => index(frame, *array, slice)?,
            BasicOp::Update { array, slice, value } => {
                let mut target = frame.take_array(*array)?;
                let stamp = self.stamp(frame, name)?;
                write(frame, &mut target, slice, *value, stamp)?;
                Value::Array(target)
            }
            BasicOp::FlatIndex { array, offset, dims } => {
                let offset = frame.i64(*offset)?;
                let dims: Result<Vec<(i64, i64)>> = dims
                    .iter()
                    .map(|(count, stride)| Ok((frame.dim(*count)?, frame.i64(*stride)?)))
                    .collect();
                let view = frame.array(*array)?.flat_slice(offset, &dims?);
                Value::Array(or_bug(view, flat_view_out_of_bounds)?)
            }
            BasicOp::FlatUpdate { array, offset, strides, value } => {
                let offset = frame.i64(*offset)?;
                let strides: Result<Vec<i64>> = strides.iter().map(|s| frame.i64(*s)).collect();
                let value = frame.array(*value)?.clone();
                let dims: Vec<(i64, i64)> = value.shape().iter().copied().zip(strides?).collect();
                let mut target = frame.take_array(*array)?;
                let stamp = self.stamp(frame, name)?;
                let ok = target.write_flat(offset, &dims, &value, stamp)?;
                or_bug(ok.then_some(()), flat_view_out_of_bounds)?;
                Value::Array(target)
            }
            BasicOp::Concat { dim, arrays, width } => {
                let width = frame.dim(*width)?;
                Value::Array(concat(frame, *dim, arrays, width)?)
            }
            BasicOp::Iota { ty, count, start, stride } => {
                let n = frame.dim(*count)?;
                let (start, stride) = (frame.scalar(*start)?, frame.scalar(*stride)?);
                let count = checked_count(&[n], *ty)?;
                let parts = start.as_i64().zip(stride.as_i64());
                let (start, stride) = or_bug(parts, || "iota of a non-integer type".to_owned())?;
                let mut data = Buffer::with_capacity(*ty, count);
                for i in 0..count as i64 {
                    let x = start.wrapping_add(i.wrapping_mul(stride));
                    let _ = data.push(Scalar::int(*ty, x));
                }
                fresh(&[n], data.into())?
            }
            BasicOp::Replicate { shape, value } => replicate(frame, shape, *value)?,
            BasicOp::Scratch { elem, shape } => {
                let shape = frame.sizes(shape)?;
                let count = checked_count(&shape, *elem)?;
                if shape.is_empty() {
                    return Ok(Value::Scalar(Scalar::zero(*elem)));
                }
                fresh(&shape, PartialBuffer::scratch(*elem, count))?
            }
            BasicOp::Rearrange { perm, array } => {
                let result = frame.array(*array)?.rearrange(perm);
                Value::Array(or_bug(result, || format!("{perm:?} is not a permutation"))?)
            }
            BasicOp::Reshape { kind: _, shape, array } => {
                let shape = frame.sizes(shape)?;
                let array = frame.array(*array)?;
                if shape.is_empty() {
                    let first: SmallVec<[i64; 3]> = SmallVec::from_elem(0, array.shape().len());
                    let value = array.element(&first)?;
                    return Ok(Value::Scalar(or_bug(value, || {
                        "reshape of an empty array to a scalar".to_owned()
                    })?));
                }
                let result = array.reshape(&shape)?;
                Value::Array(or_bug(result, || {
                    format!("shape {:?} cannot be reshaped to {shape:?}", array.shape())
                })?)
            }
            BasicOp::Copy(array) | BasicOp::Manifest { perm: _, array } => {
                Value::Array(frame.array(*array)?.copy()?)
            }
            BasicOp::ArrayLit { row, elems } => {
                let values: Result<Vec<Value>> = elems.iter().map(|elem| frame.atom(*elem)).collect();
                let elem = or_bug(row.elem(), || "array elements are not values".to_owned())?;
                let mut rows = Rows::new(elem, elems.len());
                for value in values? {
                    rows.push(&value, self.time)?;
                }
                let row_shape = frame.sizes(row.shape())?;
                rows.finish(&[elems.len() as i64], &row_shape, self.time)?
            }
            BasicOp::ConstArray { elem, shape, bytes } => {
                let array = Array::from_bytes(*elem, shape, bytes);
                Value::Array(or_bug(array, || {
                    "the bytes of a constant array do not match its shape".to_owned()
                })?)
            }
            BasicOp::UpdateAcc { acc, index, values } => {
                let stamp = self.stamp(frame, name)?;
                return self.update_acc(frame, *acc, index, values, stamp);
            }
        })
    }

    /// Checks that an operation that combines arrays has not overwritten any of its operands while
    /// it wrote its result. (Operands of plain copies are read completely before the write.)
    pub(super) fn check_operands_intact(&self, frame: &Frame<'p>, op: &BasicOp) -> Result<()> {
        let whole = |name: &Name| match frame.array(*name) {
            Ok(array) => array.intact(),
            Err(_) => Ok(()),
        };
        match op {
            BasicOp::Concat { arrays, .. } => arrays.iter().try_for_each(whole),
            BasicOp::Replicate { value, .. } => value.var().iter().try_for_each(whole),
            BasicOp::ArrayLit { elems, .. } => {
                elems.iter().try_for_each(|e| e.var().iter().try_for_each(whole))
            }
            BasicOp::Atom(_)
            | BasicOp::Scalar(_)
            | crate::parameter_op!()
            | BasicOp::Assert { .. }
            | BasicOp::Index { .. }
            | crate::update_op!()
            | crate::view_op!()
            | BasicOp::Iota { .. }
            | BasicOp::Scratch { .. }
            | BasicOp::Copy(_)
            | BasicOp::Manifest { .. }
            | BasicOp::ConstArray { .. }
            | BasicOp::Opaque(_) => Ok(()),
        }
    }
}

fn flat_view_out_of_bounds() -> String {
    "a flat view is out of bounds or has the wrong shape".to_owned()
}

/// An array with this outer shape, filled with a value.
pub(super) fn replicate(frame: &Frame<'_>, shape: &[Dim], value: Atom) -> Result<Value> {
    let mut shape = frame.sizes(shape)?;
    match frame.atom(value)?.primal().clone() {
        value @ Value::Scalar(_) if shape.is_empty() => Ok(value),
        Value::Scalar(x) => {
            let count = checked_count(&shape, x.ty())?;
            fresh(&shape, Buffer::filled(x, count).into())
        }
        Value::Array(row) => {
            let times = checked_count(&shape, row.elem())?;
            shape.extend_from_slice(row.shape());
            let count = checked_count(&shape, row.elem())?;
            let times = if count == 0 { 0 } else { times };
            fresh(&shape, row.store()?.repeated(times))
        }
        Value::Empty | Value::Acc(_) | Value::Unit | Value::Block(_) | Value::Dual(_) => {
            Err(EvalError::bug("replicate of an operand that is not a value"))
        }
    }
}

/// The error for an index out of bounds of a shape.
pub(super) fn out_of_bounds(shape: &[i64]) -> EvalError {
    EvalError::bug(format!("an index is out of bounds for shape {shape:?}"))
}

fn index(frame: &Frame<'_>, array: Name, slice: &[DimIndex]) -> Result<Value> {
    let slice = evaluated(frame, slice)?;
    let array = frame.array(array)?;
    let part = array.slice(&slice);
    Ok(Value::Array(part.ok_or_else(|| out_of_bounds(array.shape()))?))
}

/// The indices, if the slice consists of indices only.
pub(super) fn fixed_indices(frame: &Frame<'_>, slice: &[DimIndex]) -> Result<Option<SmallVec<[i64; 3]>>> {
    let mut indices = SmallVec::new();
    for index in slice {
        match index {
            DimIndex::Fix(i) => indices.push(frame.i64(*i)?),
            DimIndex::Slice { .. } => return Ok(None),
        }
    }
    Ok(Some(indices))
}

fn evaluated(frame: &Frame<'_>, slice: &[DimIndex]) -> Result<Slice> {
    let one = |index: &DimIndex| {
        Ok(match index {
            DimIndex::Fix(i) => Ok(frame.i64(*i)?),
            DimIndex::Slice { start, count, stride } => {
                Err((frame.i64(*start)?, frame.dim(*count)?, frame.i64(*stride)?))
            }
        })
    };
    slice.iter().map(one).collect()
}

fn write(frame: &Frame<'_>, target: &mut Array, slice: &[DimIndex], value: Atom, stamp: Stamp) -> Result<()> {
    let ok = match frame.atom(value)? {
        Value::Scalar(x) => match fixed_indices(frame, slice)? {
            Some(indices) if indices.len() == target.shape().len() => target.write(&indices, x, stamp)?,
            _ => false,
        },
        Value::Array(part) => target.write_slice(&evaluated(frame, slice)?, &part, stamp)?,
        Value::Empty | Value::Acc(_) | Value::Unit | Value::Block(_) | Value::Dual(_) => false,
    };
    or_bug(ok.then_some(()), || {
        format!("an update of shape {:?} is out of bounds or has the wrong shape", target.shape())
    })
}

fn concat(frame: &Frame<'_>, dim: usize, arrays: &[Name], width: i64) -> Result<Array> {
    let wrong = || "concat of arrays with mismatched shapes".to_owned();
    let parts: Result<Vec<&Array>> = arrays.iter().map(|name| frame.array(*name)).collect();
    let parts = parts?;
    let first = or_bug(parts.first().copied(), wrong)?;
    let mut shape: SmallVec<[i64; 3]> = SmallVec::from_slice(first.shape());
    let fits = parts.iter().all(|part| {
        part.shape().len() == shape.len() && (0..shape.len()).all(|d| d == dim || part.shape()[d] == shape[d])
    });
    let total: i64 = parts.iter().filter_map(|part| part.shape().get(dim)).sum();
    or_bug((fits && dim < shape.len() && total == width).then_some(()), wrong)?;
    shape[dim] = width;
    let count = checked_count(&shape, first.elem())?;
    let mut data = PartialBuffer::with_capacity(first.elem(), count);
    // The rows of each part, for each index of the dimensions outside of `dim`.
    let outer = &shape[..dim];
    for i in 0..outer.iter().product() {
        let index: SmallVec<[_; 3]> = delinearise(i, outer).into_iter().map(Ok).collect();
        for part in &parts {
            let row = or_bug(part.slice(&index), wrong)?;
            or_bug(row.append_to(&mut data)?.then_some(()), wrong)?;
        }
    }
    or_bug(Array::of(&shape, data), wrong)
}

fn message(frame: &Frame<'_>, parts: &[MsgPart]) -> Result<String> {
    let mut text = String::new();
    for part in parts {
        match part {
            MsgPart::Text(fixed) => text.push_str(fixed),
            MsgPart::Value(ty, value) => {
                let value = frame.scalar(*value)?;
                let _ = write!(text, "{}", value.display(*ty));
            }
        }
    }
    Ok(text)
}
