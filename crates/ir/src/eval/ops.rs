//! Combinators, accumulators and histograms.

use super::array::checked_count;
use super::block::Stamp;
use super::derivative::DerivativeOp;
use super::flat::{FlatMapState, mapped};
use super::machine::{Evaluator, Frame, OpenAcc, Value};
use super::rows::Rows;
use super::{EvalError, EvalLevel, Evaluate};
use crate::name::Name;
use crate::soac::{AccInput, HistOp, Operator, Screma, Soac, Soacs};
use crate::syntax::{Atom, Lambda, Param};
use crate::types::{Dim, Type};
use prim::{PrimType, Scalar};
use smallvec::SmallVec;

type Result<T> = std::result::Result<T, EvalError>;

pub(super) fn too_few() -> EvalError {
    EvalError::bug("too few results")
}

impl Frame<'_> {
    /// The neutral elements of operators.
    pub(super) fn neutral<L: EvalLevel>(&self, ops: &[&Operator<L>]) -> Result<Vec<Value>> {
        ops.iter().flat_map(|op| &op.neutral).map(|atom| self.atom(*atom)).collect()
    }

    /// The shape of the rows of a result without rows; unknown sizes count as 0.
    pub(super) fn row_shape(&self, ty: &Type) -> SmallVec<[i64; 3]> {
        ty.shape().iter().map(|dim| self.dim(*dim).unwrap_or(0)).collect()
    }

    fn inputs(&self, inputs: &[Name]) -> Result<Vec<Value>> {
        inputs.iter().map(|name| self.value(*name)).collect()
    }

    /// Moves out the arrays that histograms consume.
    pub(super) fn take_destinations<L: EvalLevel>(&mut self, ops: &[HistOp<L>]) -> Result<Vec<Vec<Value>>> {
        let mut take = |op: &HistOp<L>| op.destinations.iter().map(|dest| self.take(*dest)).collect();
        ops.iter().map(&mut take).collect()
    }

    /// A chunk's private histograms, filled with neutral elements.
    pub(super) fn neutral_bins<L: EvalLevel>(&self, ops: &[HistOp<L>]) -> Result<Vec<Vec<Value>>> {
        let bins = |op: &HistOp<L>| neutral_arrays(self, &op.shape, &op.op);
        ops.iter().map(bins).collect()
    }
}

/// Arrays of an operator's neutral elements.
fn neutral_arrays<L: EvalLevel>(frame: &Frame<'_>, shape: &[Dim], op: &Operator<L>) -> Result<Vec<Value>> {
    op.neutral.iter().map(|atom| super::basic::replicate(frame, shape, *atom)).collect()
}

/// Collectors of the rows of results of these types.
pub(super) fn rows_for<'t>(types: impl Iterator<Item = &'t Type>, n: usize) -> Vec<Rows> {
    types.map(|ty| Rows::new(ty.elem().unwrap_or(PrimType::Bool), n)).collect()
}

/// Row `i` of an input; an accumulator is its own row.
pub(super) fn row(input: &Value, i: i64) -> Result<Value> {
    let out_of_bounds = || EvalError::bug("an input is shorter than the operation's width");
    match input {
        Value::Array(array) if array.shape().len() == 1 => {
            array.element(&[i])?.map(Value::Scalar).ok_or_else(out_of_bounds)
        }
        Value::Array(array) => array.slice(&[Ok(i)]).map(Value::Array).ok_or_else(out_of_bounds),
        Value::Acc(_) => Ok(input.clone()),
        Value::Dual(_) => input.each_component(|part| row(part, i)),
        Value::Scalar(_) | Value::Unit | Value::Block(_) | Value::Empty => {
            Err(EvalError::bug("an input is neither an array nor an accumulator"))
        }
    }
}

impl<'p, L: EvalLevel> Evaluator<'p, L> {
    /// `acc = acc op values`, for several operators; consumes their values from the iterator.
    pub(super) fn combine(
        &mut self,
        frame: &mut Frame<'p>,
        ops: &[&'p Operator<L>],
        acc: &mut Vec<Value>,
        values: &mut dyn Iterator<Item = Value>,
    ) -> Result<()> {
        let mut out = Vec::with_capacity(acc.len());
        let mut old = std::mem::take(acc).into_iter();
        for op in ops {
            let k = op.neutral.len();
            let mut args: SmallVec<[Value; 4]> = old.by_ref().take(k).collect();
            for _ in 0..k {
                args.extend(values.next());
            }
            self.apply(frame, &op.op, args, &mut out)?;
        }
        *acc = out;
        Ok(())
    }

    /// Appends the collected results, as arrays with these outer dimensions.
    pub(super) fn finish<'t>(
        &mut self,
        frame: &Frame<'p>,
        rows: Vec<Rows>,
        outer: &[i64],
        types: impl Iterator<Item = &'t Type>,
        out: &mut Vec<Value>,
    ) -> Result<()> {
        for (rows, ty) in rows.into_iter().zip(types) {
            out.push(if let Type::Acc { token, .. } = ty {
                self.open_acc(*token)?
            } else {
                let time = self.tick()?;
                rows.finish(outer, &frame.row_shape(ty), time)?
            });
        }
        Ok(())
    }

    /// The open accumulators with an operator among values of these types.
    pub(super) fn open_combining_accs(&self, types: &[Type]) -> Vec<usize> {
        let open = types.iter().filter_map(|ty| match ty {
            Type::Acc { token, .. } => self.accs.iter().rposition(|acc| acc.token == *token),
            Type::Prim(_) | Type::Array { .. } | Type::Cert | Type::Mem(_) => None,
        });
        open.filter(|open| self.accs[*open].op.is_some()).collect()
    }

    /// The number of elements of the largest of these accumulators, at least 1.
    pub(super) fn bins(&self, open: &[usize]) -> Result<i64> {
        let mut largest = 1;
        for acc in open {
            largest = checked_count(&self.accs[*acc].shape, PrimType::Bool)?.max(largest);
        }
        Ok(largest as i64)
    }

    /// Replaces the arrays of these accumulators by neutral elements; returns the original arrays.
    pub(super) fn start_copies(&mut self, frame: &Frame<'p>, open: &[usize]) -> Result<Vec<Vec<Value>>> {
        let mut before = Vec::with_capacity(open.len());
        for acc in open {
            let acc = &mut self.accs[*acc];
            let op = acc.op.ok_or_else(too_few)?;
            let shape: Vec<Dim> = acc.shape.iter().map(|n| Dim::Const(*n)).collect();
            let own = neutral_arrays(frame, &shape, op)?;
            before.push(std::mem::replace(&mut acc.arrays, own));
        }
        Ok(before)
    }

    /// Combines the private copies of these accumulators with their original arrays, which they get
    /// back.
    pub(super) fn end_copies(
        &mut self,
        frame: &mut Frame<'p>,
        open: &[usize],
        before: Vec<Vec<Value>>,
        stamp: Stamp,
    ) -> Result<()> {
        for (acc, mut arrays) in open.iter().zip(before) {
            let OpenAcc { shape, op, .. } = &self.accs[*acc];
            let (shape, op) = (shape.clone(), *op);
            let own = std::mem::take(&mut self.accs[*acc].arrays);
            for bin in 0..checked_count(&shape, PrimType::Bool)? as i64 {
                self.charge(1)?;
                let bin = delinearise(bin, &shape);
                let values = own.iter().map(|array| element_or_row(array, &bin));
                let values = values.collect::<Result<Vec<Value>>>()?;
                self.update_at(frame, op, &mut arrays, &bin, values, stamp)?;
            }
            self.accs[*acc].arrays = arrays;
        }
        Ok(())
    }

    /// The open accumulator with this token.
    fn open_acc(&self, token: Name) -> Result<Value> {
        let number = self.accs.iter().rposition(|acc| acc.token == token);
        number.map(Value::Acc).ok_or_else(|| EvalError::bug("the accumulator is closed"))
    }

    /// Combines `values` with the arrays' elements at an index (without an operator, writes them
    /// there).
    fn update_at(
        &mut self,
        frame: &mut Frame<'p>,
        op: Option<&'p Operator<L>>,
        arrays: &mut [Value],
        index: &[i64],
        values: Vec<Value>,
        stamp: Stamp,
    ) -> Result<()> {
        let inside = |value: &Value| {
            let shape = value.as_array().map_or(&[][..], |array| array.shape());
            shape.len() >= index.len() && index.iter().zip(shape).all(|(i, n)| (0..*n).contains(i))
        };
        if !arrays.iter().all(inside) {
            return Ok(());
        }
        let slice: SmallVec<[_; 3]> = index.iter().map(|i| Ok(*i)).collect();
        let new = if let Some(op) = op {
            let mut args = Vec::with_capacity(2 * arrays.len());
            for array in &*arrays {
                args.push(element_or_row(array, index)?);
            }
            args.extend(values);
            let mut out = Vec::with_capacity(arrays.len());
            self.apply(frame, &op.op, args, &mut out)?;
            out
        } else {
            values
        };
        if new.len() != arrays.len() {
            return Err(EvalError::bug("an update has the wrong number of values"));
        }
        for (array, value) in arrays.iter_mut().zip(new) {
            let ok = array.write(value, |array, part| match part {
                Value::Scalar(x) if array.shape().len() == index.len() => array.write(index, *x, stamp),
                Value::Array(part) => array.write_slice(&slice, part, stamp),
                Value::Empty
                | Value::Scalar(_)
                | Value::Acc(_)
                | Value::Unit
                | Value::Block(_)
                | Value::Dual(_) => Ok(false),
            })?;
            if !ok {
                return Err(EvalError::bug("an update is out of bounds or has a value of the wrong shape"));
            }
        }
        Ok(())
    }

    pub(super) fn update_acc(
        &mut self,
        frame: &mut Frame<'p>,
        acc: Name,
        index: &[Atom],
        values: &[Atom],
        stamp: Stamp,
    ) -> Result<Value> {
        let Value::Acc(open) = frame.value(acc)? else {
            return Err(EvalError::bug("an operand is not an accumulator"));
        };
        let index: Result<SmallVec<[i64; 2]>> = index.iter().map(|i| frame.i64(*i)).collect();
        let values: Result<Vec<Value>> = values.iter().map(|x| frame.atom(*x)).collect();
        let state = self.accs.get_mut(open);
        let state = state.ok_or_else(|| EvalError::bug("the accumulator is closed"))?;
        let op = state.op;
        let mut arrays = std::mem::take(&mut state.arrays);
        self.update_at(frame, op, &mut arrays, &index?, values?, stamp)?;
        self.accs[open].arrays = arrays;
        Ok(Value::Acc(open))
    }

    pub(super) fn withacc(
        &mut self,
        frame: &mut Frame<'p>,
        inputs: &'p [AccInput<L>],
        lambda: &'p Lambda<L>,
        out: &mut Vec<Value>,
    ) -> Result<()> {
        let first = self.accs.len();
        for (input, token) in inputs.iter().zip(&lambda.params) {
            let arrays: Result<Vec<Value>> = input.arrays.iter().map(|name| frame.take(*name)).collect();
            let (token, op) = (token.name, input.op.as_ref());
            let shape = frame.sizes(&input.shape)?;
            self.accs.push(OpenAcc { token, shape, arrays: arrays?, op });
        }
        let mut args = vec![Value::Unit; inputs.len()];
        args.extend((first..self.accs.len()).map(Value::Acc));
        let mut results = Vec::new();
        self.apply(frame, lambda, args, &mut results)?;
        for acc in self.accs.drain(first..) {
            out.extend(acc.arrays);
        }
        out.extend(results.into_iter().skip(inputs.len()));
        Ok(())
    }

    /// Updates histograms with the values of an iteration: the indices of each, then the values of
    /// each.
    pub(super) fn update_histograms(
        &mut self,
        frame: &mut Frame<'p>,
        ops: &'p [HistOp<L>],
        destinations: &mut [Vec<Value>],
        segment: &[i64],
        values: Vec<Value>,
        stamp: Stamp,
    ) -> Result<()> {
        let n_indices: usize = ops.iter().map(|op| op.shape.len()).sum();
        let mut values = values.into_iter();
        let mut indices = Vec::with_capacity(n_indices);
        for value in values.by_ref().take(n_indices) {
            if let Some(Scalar::I64(i)) = value.as_scalar() {
                indices.push(i);
            } else {
                return Err(EvalError::bug("a bucket index is not an i64"));
            }
        }
        let mut indices = indices.into_iter();
        for (op, arrays) in ops.iter().zip(destinations) {
            let mut index: SmallVec<[i64; 3]> = SmallVec::from_slice(segment);
            index.extend(indices.by_ref().take(op.shape.len()));
            let own = values.by_ref().take(arrays.len()).collect();
            self.update_at(frame, Some(&op.op), arrays, &index, own, stamp)?;
        }
        Ok(())
    }

    /// Combines each bin of a segment with a chunk's private bin.
    pub(super) fn combine_bins(
        &mut self,
        frame: &mut Frame<'p>,
        ops: &'p [HistOp<L>],
        destinations: &mut [Vec<Value>],
        segment: &[i64],
        own: &[Vec<Value>],
        stamp: Stamp,
    ) -> Result<()> {
        for ((op, arrays), own) in ops.iter().zip(destinations).zip(own) {
            let shape = frame.sizes(&op.shape)?;
            for bin in 0..checked_count(&shape, PrimType::Bool)? as i64 {
                self.charge(1)?;
                let bin = delinearise(bin, &shape);
                let values: Result<Vec<Value>> =
                    own.iter().map(|array| element_or_row(array, &bin)).collect();
                let mut index: SmallVec<[i64; 3]> = SmallVec::from_slice(segment);
                index.extend_from_slice(&bin);
                self.update_at(frame, Some(&op.op), arrays, &index, values?, stamp)?;
            }
        }
        Ok(())
    }
}

/// Delinearises a position in row-major order: returns its index.
pub(super) fn delinearise(position: i64, shape: &[i64]) -> SmallVec<[i64; 3]> {
    let mut rest = position;
    let mut indices: SmallVec<[i64; 3]> = SmallVec::new();
    for size in shape.iter().rev() {
        indices.push(rest % size);
        rest /= size;
    }
    indices.reverse();
    indices
}

/// The element or row at an index, copied: a view would share an array that may be written next.
fn element_or_row(value: &Value, index: &[i64]) -> Result<Value> {
    if !value.tangents().is_empty() {
        return value.each_component(|part| element_or_row(part, index));
    }
    let array = value.as_array().ok_or_else(|| EvalError::bug("an operand is not an array"))?;
    if array.shape().len() == index.len() {
        let value = array.element(index)?;
        return value.map(Value::Scalar).ok_or_else(too_few);
    }
    let slice: SmallVec<[_; 3]> = index.iter().map(|i| Ok(*i)).collect();
    let part = array.slice(&slice).ok_or_else(too_few)?;
    Ok(Value::Array(part.copy()?))
}

impl Evaluate<Soacs> for Soac {
    fn eval<'p>(
        &'p self,
        m: &mut Evaluator<'p, Soacs>,
        frame: &mut Frame<'p>,
        pat: &'p [Param<Soacs>],
        out: &mut Vec<Value>,
    ) -> Result<()> {
        match self {
            Self::Screma(Screma { width, inputs, map, scan_reduce }) => {
                let n = frame.dim(*width)?;
                let inputs = frame.inputs(inputs)?;
                let scans: Vec<_> = scan_reduce.scans.iter().collect();
                let reduces: Vec<_> = scan_reduce.reduces.iter().collect();
                let mut scan = frame.neutral(&scans)?;
                let mut reduce = frame.neutral(&reduces)?;
                let types = scan_reduce.element_types(&map.ret);
                let mut rows = rows_for(types.iter(), n.max(0) as usize);
                let mut values = Vec::new();
                let mut elements = Vec::new();
                for i in 0..n {
                    m.charge(1)?;
                    let args: Result<SmallVec<[Value; 4]>> =
                        inputs.iter().map(|input| row(input, i)).collect();
                    m.apply(frame, map, args?, &mut values)?;
                    let mut results = values.drain(..);
                    m.combine(frame, &scans, &mut scan, &mut results)?;
                    m.combine(frame, &reduces, &mut reduce, &mut results)?;
                    elements.extend(scan.iter().cloned().chain(results));
                    if let Some(post) = &scan_reduce.post {
                        let args = std::mem::take(&mut elements);
                        m.apply(frame, post, args, &mut elements)?;
                    }
                    for (rows, value) in rows.iter_mut().zip(elements.drain(..)) {
                        rows.push(&value, m.time)?;
                    }
                }
                out.append(&mut reduce);
                m.finish(frame, rows, &[n], types.iter(), out)
            }
            Self::Hist { width, inputs, map, ops } => {
                let n = frame.dim(*width)?;
                let inputs = frame.inputs(inputs)?;
                let mut destinations = frame.take_destinations(ops)?;
                for i in 0..n {
                    m.charge(1)?;
                    let args: Result<SmallVec<[Value; 4]>> =
                        inputs.iter().map(|input| row(input, i)).collect();
                    let mut values = Vec::new();
                    m.apply(frame, map, args?, &mut values)?;
                    let stamp = m.stamp_for(frame, pat)?;
                    m.update_histograms(frame, ops, &mut destinations, &[], values, stamp)?;
                }
                out.extend(destinations.into_iter().flatten());
                Ok(())
            }
            Self::WithAcc { inputs, lambda } => m.withacc(frame, inputs, lambda, out),
            Self::Stream { width, inputs, init, lambda } => {
                // The result is the same for any chunk size.
                let n = frame.dim(*width)?;
                let mut args = vec![Value::Scalar(Scalar::I64(n))];
                for atom in init {
                    args.push(frame.atom(*atom)?);
                }
                args.extend(frame.inputs(inputs)?);
                m.apply(frame, lambda, args, out)
            }
            Self::FlatMap { width, inputs, lambda } => {
                let n = frame.dim(*width)?;
                let inputs = frame.inputs(inputs)?;
                let mut flat = FlatMapState::new(&lambda.ret);
                let mut rows = rows_for(mapped(&lambda.ret).map(|at| &lambda.ret[at]), n as usize);
                for i in 0..n {
                    m.charge(1)?;
                    let args: Result<SmallVec<[Value; 4]>> =
                        inputs.iter().map(|input| row(input, i)).collect();
                    let mut values = Vec::new();
                    m.apply(frame, lambda, args?, &mut values)?;
                    flat.push_iteration(m, values, &mut rows)?;
                }
                flat.finish(m, frame, n, rows, (&[], out))
            }
            Self::Jvp { args, seeds, directions, lambda } => {
                m.jvp(frame, DerivativeOp { args, seeds, directions: *directions, lambda }, out)
            }
            Self::Vjp { args, seeds, directions, lambda } => {
                m.vjp(frame, DerivativeOp { args, seeds, directions: *directions, lambda }, out)
            }
            Self::WithVjp { args, lambda, adjoint: _ } => m.with_vjp(frame, args, lambda, out),
        }
    }
}

/// Appends a value to each of the rows, all at the same time.
pub(super) fn push_all(rows: &mut [Rows], values: impl Iterator<Item = Value>, time: u32) -> Result<()> {
    for (rows, value) in rows.iter_mut().zip(values) {
        rows.push(&value, time)?;
    }
    Ok(())
}
