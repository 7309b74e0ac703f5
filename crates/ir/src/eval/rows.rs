//! Arrays under construction: rows that are collected, or written to their final location at once.

use super::array::Array;
use super::block::Stamp;
use super::buffer::PartialBuffer;
use super::dual::Mask;
use super::machine::Value;
use super::ops::delinearise;
use super::view::Sizes;
use super::{EvalError, block::Writer};
use prim::PrimType;
use smallvec::SmallVec;

type Result<T> = std::result::Result<T, EvalError>;

/// An array under construction.
pub(super) enum Rows {
    /// A value: rows are collected.
    Collected {
        /// The rows so far.
        data: PartialBuffer,
        /// The rows' shape, once known.
        shape: Option<Sizes>,
        /// The components of the rows; fewer elements if the others are zero.
        tangents: Vec<(Mask, PartialBuffer)>,
    },
    /// A memory location that is being filled.
    InBlock {
        /// The whole array.
        array: Array,
        /// The outer dimensions: one row per index.
        outer: Sizes,
        /// For each row so far, the time of its completion.
        completion_times: Vec<u32>,
        /// The name for which the rows are written.
        writer: Writer,
    },
}

fn other_type<T>() -> Result<T> {
    Err(EvalError::bug("a row has the wrong type"))
}

impl Rows {
    /// No rows, with capacity for `rows`.
    pub(super) fn new(elem: PrimType, rows: usize) -> Self {
        let data = PartialBuffer::with_capacity(elem, rows.min(1 << 20));
        Self::Collected { data, shape: None, tangents: Vec::new() }
    }

    /// The rows of an array in a block.
    pub(super) fn placed(array: Array, outer: &[i64], writer: Writer) -> Self {
        Self::InBlock { array, outer: SmallVec::from_slice(outer), completion_times: Vec::new(), writer }
    }

    /// Appends a row at this time: a scalar, or an array of the same shape as the others.
    pub(super) fn push(&mut self, value: &Value, time: u32) -> Result<()> {
        match self {
            Self::Collected { data, shape, tangents } => {
                let before = data.len();
                collect(data, shape, value.primal())?;
                for (mask, part) in value.tangents() {
                    let known = tangents.iter().position(|(own, _)| own == mask);
                    let at = known.unwrap_or_else(|| {
                        tangents.push((*mask, PartialBuffer::with_capacity(data.data.elem(), before)));
                        tangents.len() - 1
                    });
                    let tangent = &mut tangents[at].1;
                    tangent.pad_with_zeros(before);
                    collect(tangent, shape, part)?;
                }
                Ok(())
            }
            Self::InBlock { array, outer, completion_times: ends, writer } => {
                let stamp = Stamp { time, writer: *writer };
                write_row(array, &delinearise(ends.len() as i64, outer), value, stamp)?;
                ends.push(time);
                Ok(())
            }
        }
    }

    /// The finished array with these outer dimensions; `row` is the shape of its rows if there are
    /// none. In a block, checks that no row has been overwritten by another one or by anything
    /// else.
    pub(super) fn finish(self, outer: &[i64], row: &[i64], time: u32) -> Result<Value> {
        match self {
            Self::Collected { data, shape, tangents } => {
                let mut whole: Sizes = SmallVec::from_slice(outer);
                whole.extend_from_slice(shape.as_deref().unwrap_or(row));
                let n = data.len();
                let tangents = tangents.into_iter().map(|(mask, mut tangent)| {
                    tangent.pad_with_zeros(n);
                    Ok((mask, fresh(&whole, tangent)?))
                });
                let tangents = tangents.collect::<Result<_>>()?;
                Ok(fresh(&whole, data)?.with_tangents(tangents))
            }
            Self::InBlock { mut array, outer, completion_times: ends, writer: _ } => {
                for (at, end) in ends.iter().enumerate() {
                    let index: SmallVec<[_; 3]> =
                        delinearise(at as i64, &outer).into_iter().map(Ok).collect();
                    if let Some(mut row) = array.slice(&index) {
                        row.claim_at(*end);
                        row.intact()?;
                    }
                }
                array.claim_at(time);
                Ok(Value::Array(array))
            }
        }
    }
}

fn collect(data: &mut PartialBuffer, shape: &mut Option<Sizes>, value: &Value) -> Result<()> {
    let ok = match value {
        Value::Scalar(x) => data.push(*x),
        Value::Array(row) => {
            let known = shape.get_or_insert_with(|| SmallVec::from_slice(row.shape()));
            if known[..] != *row.shape() {
                return Err(EvalError::bug(format!(
                    "rows have different shapes, {known:?} and {:?}",
                    row.shape()
                )));
            }
            row.append_to(data)?
        }
        // Accumulators are returned separately.
        Value::Acc(_) => true,
        Value::Empty | Value::Unit | Value::Block(_) | Value::Dual(_) => false,
    };
    if ok { Ok(()) } else { other_type() }
}

/// Writes a row at its index, unless it is there already.
fn write_row(array: &mut Array, index: &[i64], value: &Value, stamp: Stamp) -> Result<()> {
    let ok = match value {
        Value::Scalar(x) => array.shape().len() == index.len() && array.write(index, *x, stamp)?,
        Value::Array(row) => {
            let slice: SmallVec<[_; 3]> = index.iter().map(|i| Ok(*i)).collect();
            array.write_slice(&slice, row, stamp)?
        }
        Value::Acc(_) => true,
        Value::Empty | Value::Unit | Value::Block(_) | Value::Dual(_) => false,
    };
    if ok { Ok(()) } else { other_type() }
}

/// A new array of these elements.
pub(super) fn fresh(shape: &[i64], data: PartialBuffer) -> Result<Value> {
    match Array::of(shape, data) {
        Some(array) => Ok(Value::Array(array)),
        None => Err(EvalError::bug("the elements of an array do not match its shape")),
    }
}
