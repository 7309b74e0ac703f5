//! Flat maps: concatenation of arrays of different sizes.

use super::array::checked_count;
use super::block::Block;
use super::machine::{Evaluator, Frame, Value};
use super::ops::row;
use super::rows::Rows;
use super::{ErrorClass, EvalError, EvalLevel};
use crate::seg::is_concatenated;
use crate::syntax::Param;
use crate::types::Type;
use crate::walk::Annotation;
use prim::{PrimType, Scalar};
use std::cell::RefCell;
use std::rc::Rc;

type Result<T> = std::result::Result<T, EvalError>;

/// The concatenated results of the iterations so far.
pub(super) struct FlatMapState<'p> {
    /// Types of an iteration's results.
    ret: &'p [Type],
    /// The concatenated rows, per result.
    concatenated: Vec<Rows>,
    total: i64,
}

/// The positions of the results that are elements of arrays over all iterations.
pub(super) fn mapped(ret: &[Type]) -> impl Iterator<Item = usize> + '_ {
    (1..ret.len()).filter(|&i| !is_concatenated(&ret[i]))
}

impl<'p> FlatMapState<'p> {
    /// Without any rows.
    pub(super) fn new(ret: &'p [Type]) -> Self {
        let concatenated = ret.iter().filter(|ty| is_concatenated(ty));
        Self {
            ret,
            concatenated: concatenated.map(|ty| Rows::new(ty.elem().unwrap_or(PrimType::Bool), 0)).collect(),
            total: 0,
        }
    }

    /// Appends an iteration's results, the mapped ones to `elements`.
    pub(super) fn push_iteration<L: EvalLevel>(
        &mut self,
        m: &mut Evaluator<'_, L>,
        values: Vec<Value>,
        elements: &mut [Rows],
    ) -> Result<()> {
        let mut values = values.into_iter().zip(self.ret);
        let Some((Value::Scalar(Scalar::I64(size)), _)) = values.next() else {
            return Err(EvalError::bug("a flat map's iteration returns no size"));
        };
        let total = self.total.checked_add(size);
        let Some(total) = total.filter(|_| size >= 0) else {
            let message =
                format!("the total size of a flat map's result is out of range: {} plus {size}", self.total);
            return Err(EvalError::new(ErrorClass::Limit, message));
        };
        self.total = total;
        let time = m.tick()?;
        let (mut whole, mut elements) = (self.concatenated.iter_mut(), elements.iter_mut());
        for (value, ty) in values {
            let rows = if is_concatenated(ty) { whole.next() } else { elements.next() };
            let rows = rows.ok_or_else(|| EvalError::bug("a result has no rows"))?;
            if is_concatenated(ty) {
                for j in 0..size {
                    rows.push(&row(&value, j)?, time)?;
                }
            } else {
                rows.push(&value, time)?;
            }
        }
        Ok(())
    }

    /// Appends the results over `n` iterations to `out`; they will be bound to `pat`.
    pub(super) fn finish<L: EvalLevel>(
        self,
        m: &mut Evaluator<'_, L>,
        frame: &Frame<'_>,
        n: i64,
        elements: Vec<Rows>,
        (pat, out): (&[Param<L>], &mut Vec<Value>),
    ) -> Result<()> {
        let Self { ret, concatenated: whole, total } = self;
        let (mut whole, mut elements) = (whole.into_iter(), elements.into_iter());
        out.push(Value::Scalar(Scalar::I64(total)));
        for ty in &ret[1..] {
            let time = m.tick()?;
            let (rows, row, size) = if is_concatenated(ty) {
                let row = ty.row().map(|row| frame.row_shape(&row));
                (whole.next(), row.unwrap_or_default(), total)
            } else {
                (elements.next(), frame.row_shape(ty), n)
            };
            let rows = rows.ok_or_else(|| EvalError::bug("a result has no rows"))?;
            let value = rows.finish(&[size], &row, time)?;
            if let (Value::Array(array), Some(block)) = (&value, pat.get(out.len()))
                && <L::Ann as Annotation<L>>::HAS_BLOCKS
                && is_concatenated(ty)
            {
                let count = checked_count(array.shape(), array.elem())? as u64;
                let bytes = count * array.elem().size();
                let own = Block::new(bytes, frame.writer(block.name), &m.legend);
                out.push(Value::Block(Rc::new(RefCell::new(own))));
            }
            out.push(value);
        }
        Ok(())
    }
}
