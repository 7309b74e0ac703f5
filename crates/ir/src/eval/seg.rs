//! Segops: iterations in the order of chunks and partial accumulators that the decomposition fixes.

use super::array::checked_count;
use super::block::Block;
use super::flat::{FlatMapState, mapped};
use super::machine::{Evaluator, Frame, Value};
use super::ops::{delinearise, push_all, too_few};
use super::rows::Rows;
use super::{EvalError, EvalLevel, Evaluate};
use crate::mem::{MemOp, Mems};
use crate::scan_reduce::ScanReduce;
use crate::seg::{Decomp, Seg, SegKind, SegOp, SegSpace, SubChunks};
use crate::soac::{HistOp, Operator};
use crate::syntax::{Body, Lambda, Level, Param};
use crate::types::{Dim, Type};
use prim::{PrimType, Scalar};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::rc::Rc;

type Result<T> = std::result::Result<T, EvalError>;

/// A segop being evaluated.
struct Segments<'p, L: Level> {
    space: &'p SegSpace,
    body: &'p Body<L>,
    decomp: Decomp,
    identity: Option<&'p Lambda<L>>,
    /// Open accumulators with an operator that iterations update.
    combining: Vec<usize>,
    sizes: SmallVec<[i64; 3]>,
}

impl<'p, L: EvalLevel> Segments<'p, L> {
    fn inner(&self) -> i64 {
        self.sizes.last().copied().unwrap_or(1)
    }

    fn segments(&self) -> i64 {
        self.sizes[..self.sizes.len().saturating_sub(1)].iter().product()
    }

    /// The indices of a segment, outermost first.
    fn outer_indices(&self, segment: i64) -> SmallVec<[i64; 3]> {
        delinearise(segment, &self.sizes[..self.sizes.len().saturating_sub(1)])
    }

    fn set_indices(&self, frame: &mut Frame<'p>, outer: &[i64], i: i64) {
        let indices = outer.iter().copied().chain([i]);
        for ((name, _), index) in self.space.dims.iter().zip(indices) {
            frame.set(*name, Value::Scalar(Scalar::I64(index)));
        }
    }

    /// The results of the body in an iteration.
    fn iteration(
        &self,
        m: &mut Evaluator<'p, L>,
        frame: &mut Frame<'p>,
        outer: &[i64],
        i: i64,
    ) -> Result<Vec<Value>> {
        m.charge(1)?;
        self.set_indices(frame, outer, i);
        let mut values = Vec::with_capacity(self.body.result.len());
        m.run(frame, self.body, &mut values)?;
        Ok(values)
    }

    /// The reduction of a segment; the body's other results are appended to `rows`.
    fn reduce(
        &self,
        m: &mut Evaluator<'p, L>,
        frame: &mut Frame<'p>,
        scan_reduce: &'p ScanReduce<L>,
        outer: &[i64],
        (pat, rows): (&[Param<L>], &mut [Rows]),
    ) -> Result<Vec<Value>> {
        let mut total: Option<Vec<Value>> = None;
        let decomp = self.decomp.with_bins(m.bins(&self.combining)?);
        let several = decomp.chunks(self.inner()) > 1;
        let ops: &[_] = &scan_reduce.operators().collect::<Vec<_>>();
        let scalars = scan_reduce.n_accumulated();
        for chunk in decomp.bounds(self.inner()) {
            let copies = if several { m.start_copies(frame, &self.combining)? } else { Vec::new() };
            let mut elements = Vec::new();
            for i in chunk {
                let mut values = self.iteration(m, frame, outer, i)?.into_iter();
                elements.push(values.by_ref().take(scalars).collect());
                push_all(rows, values, m.tick()?)?;
            }
            if several {
                let stamp = m.stamp_for(frame, pat)?;
                m.end_copies(frame, &self.combining, copies, stamp)?;
            }
            let result = self.fold(m, frame, ops, &elements)?;
            match &mut total {
                None => total = Some(result),
                Some(total) => m.combine(frame, ops, total, &mut result.into_iter())?,
            }
        }
        total.ok_or_else(too_few)
    }

    /// Reduces the iterations of a chunk in the order that the decomposition fixes.
    fn fold(
        &self,
        m: &mut Evaluator<'p, L>,
        frame: &mut Frame<'p>,
        ops: &[&'p Operator<L>],
        elements: &[Vec<Value>],
    ) -> Result<Vec<Value>> {
        if self.decomp.accumulators <= 1 {
            return self.fold_cyclic(m, frame, ops, elements, self.decomp.width.max(1) as usize);
        }
        let mut total = frame.neutral(ops)?;
        let mut left = elements;
        for SubChunks { count, length } in self.decomp.sub_chunks(elements.len() as i64) {
            let (now, rest) = left.split_at((count * length) as usize);
            let mut parts = Vec::with_capacity(count as usize);
            for w in 0..count as usize {
                let sub_chunk = &now[w * length as usize..(w + 1) * length as usize];
                parts.push(self.fold_cyclic(m, frame, ops, sub_chunk, 1)?);
            }
            // The last element is the combination of all, in pairs.
            hillis_steele_scan(m, frame, ops, &mut parts)?;
            let part = parts.pop().ok_or_else(too_few)?;
            m.combine(frame, ops, &mut total, &mut part.into_iter())?;
            left = rest;
        }
        for values in left {
            m.combine(frame, ops, &mut total, &mut values.iter().cloned())?;
        }
        Ok(total)
    }

    /// Folds iterations cyclically into `width` accumulators, and combines these by halves.
    fn fold_cyclic(
        &self,
        m: &mut Evaluator<'p, L>,
        frame: &mut Frame<'p>,
        ops: &[&'p Operator<L>],
        elements: &[Vec<Value>],
        width: usize,
    ) -> Result<Vec<Value>> {
        let mut accs = vec![frame.neutral(ops)?; width];
        for (i, values) in elements.iter().enumerate() {
            let acc = &mut accs[i % width];
            let kept = match self.identity {
                Some(identity) => {
                    let args: Vec<Value> = acc.iter().chain(values).cloned().collect();
                    let mut out = Vec::new();
                    m.apply(frame, identity, args, &mut out)?;
                    matches!(out.as_slice(), [Value::Scalar(Scalar::Bool(true))]).then(|| acc.clone())
                }
                None => None,
            };
            m.combine(frame, ops, acc, &mut values.iter().cloned())?;
            if kept.is_some_and(|kept| !same_scalars(&kept, acc)) {
                return Err(EvalError::bug(
                    "an iteration changed accumulators although its identity predicate holds",
                ));
            }
        }
        while accs.len() > 1 {
            let upper = accs.split_off(accs.len().div_ceil(2));
            for (acc, other) in accs.iter_mut().zip(upper) {
                m.combine(frame, ops, acc, &mut other.into_iter())?;
            }
        }
        Ok(accs.pop().unwrap_or_default())
    }

    /// The scan of a segment; returns the results of its reductions.
    fn scan(
        &self,
        m: &mut Evaluator<'p, L>,
        frame: &mut Frame<'p>,
        scan_reduce: &'p ScanReduce<L>,
        outer: &[i64],
        rows: &mut [Rows],
    ) -> Result<Vec<Value>> {
        let all: &[_] = &scan_reduce.operators().collect::<Vec<_>>();
        let ops: &[_] = &scan_reduce.scans.iter().collect::<Vec<_>>();
        let mut carry: Option<Vec<Value>> = None;
        let depth = self.decomp.scan_block.max(1) as usize;
        for chunk in self.decomp.bounds(self.inner()) {
            let (mut scanned_elements, mut folded, mut others) = (Vec::new(), Vec::new(), Vec::new());
            for i in chunk.clone() {
                let values = self.iteration(m, frame, outer, i)?;
                scanned_elements.push(scan_reduce.values(&values).scanned.to_vec());
                folded.push(values[..scan_reduce.n_accumulated()].to_vec());
                let mapped = values.into_iter().skip(scan_reduce.n_accumulated());
                if scan_reduce.post.is_some() {
                    others.push(mapped.collect::<Vec<_>>());
                } else {
                    push_all(&mut rows[scan_reduce.n_scanned()..], mapped, m.tick()?)?;
                    others.push(Vec::new());
                }
            }
            let total = self.fold(m, frame, all, &folded)?;
            let mut running = match &carry {
                Some(carry) => carry[..scan_reduce.n_scanned()].to_vec(),
                None => frame.neutral(ops)?,
            };
            let blocks = if depth > 1 { scanned_elements.len() / depth * depth } else { 0 };
            for block in scanned_elements[..blocks].chunks_exact_mut(depth) {
                hillis_steele_scan(m, frame, ops, block)?;
                let last = block.last().cloned().unwrap_or_default();
                for element in block {
                    let mut scanned = running.clone();
                    m.combine(frame, ops, &mut scanned, &mut element.drain(..))?;
                    *element = scanned;
                }
                m.combine(frame, ops, &mut running, &mut last.into_iter())?;
            }
            for element in &mut scanned_elements[blocks..] {
                m.combine(frame, ops, &mut running, &mut element.drain(..))?;
                element.clone_from(&running);
            }
            for ((scanned, others), i) in scanned_elements.into_iter().zip(others).zip(chunk) {
                let mut elements: Vec<Value> = scanned.into_iter().chain(others).collect();
                if let Some(post) = &scan_reduce.post {
                    self.set_indices(frame, outer, i);
                    let args = std::mem::take(&mut elements);
                    m.apply(frame, post, args, &mut elements)?;
                }
                push_all(rows, elements.into_iter(), m.tick()?)?;
            }
            match &mut carry {
                None => carry = Some(total),
                Some(carry) => m.combine(frame, all, carry, &mut total.into_iter())?,
            }
        }
        let totals = carry.ok_or_else(too_few)?;
        Ok(totals.into_iter().skip(scan_reduce.n_scanned()).collect())
    }

    /// The histograms of a segment.
    fn hist(
        &self,
        m: &mut Evaluator<'p, L>,
        frame: &mut Frame<'p>,
        ops: &'p [HistOp<L>],
        outer: &[i64],
        pat: &[Param<L>],
        destinations: &mut [Vec<Value>],
    ) -> Result<()> {
        let mut largest = 1;
        for op in ops {
            let shape = frame.sizes(&op.shape)?;
            largest = checked_count(&shape, PrimType::Bool)?.max(largest);
        }
        let decomp = self.decomp.with_bins(largest as i64);
        let several = decomp.chunks(self.inner()) > 1;
        for chunk in decomp.bounds(self.inner()) {
            if several {
                let mut own = frame.neutral_bins(ops)?;
                for i in chunk {
                    let values = self.iteration(m, frame, outer, i)?;
                    let stamp = m.stamp_for(frame, pat)?;
                    m.update_histograms(frame, ops, &mut own, &[], values, stamp)?;
                }
                let stamp = m.stamp_for(frame, pat)?;
                m.combine_bins(frame, ops, destinations, outer, &own, stamp)?;
            } else {
                for i in chunk {
                    let values = self.iteration(m, frame, outer, i)?;
                    let stamp = m.stamp_for(frame, pat)?;
                    m.update_histograms(frame, ops, destinations, outer, values, stamp)?;
                }
            }
        }
        Ok(())
    }
}

fn same_scalars(before: &[Value], after: &[Value]) -> bool {
    let same = |pair: (&Value, &Value)| match pair {
        (Value::Scalar(x), Value::Scalar(y)) => x == y,
        _ => false,
    };
    before.len() == after.len() && before.iter().zip(after).all(same)
}

/// An inclusive scan in a logarithmic number of steps, with neutral elements before the first.
fn hillis_steele_scan<'p, L: EvalLevel>(
    m: &mut Evaluator<'p, L>,
    frame: &mut Frame<'p>,
    ops: &[&'p Operator<L>],
    elements: &mut [Vec<Value>],
) -> Result<()> {
    let neutral = frame.neutral(ops)?;
    let mut distance = 1;
    while distance < elements.len() {
        for w in (0..elements.len()).rev() {
            let mut left = match w.checked_sub(distance) {
                Some(before) => elements[before].clone(),
                None => neutral.clone(),
            };
            m.combine(frame, ops, &mut left, &mut elements[w].drain(..))?;
            elements[w] = left;
        }
        distance *= 2;
    }
    Ok(())
}

impl<L: EvalLevel> Evaluate<L> for SegOp<L> {
    fn eval<'p>(
        &'p self,
        m: &mut Evaluator<'p, L>,
        frame: &mut Frame<'p>,
        pat: &'p [Param<L>],
        out: &mut Vec<Value>,
    ) -> Result<()> {
        let (space, kind, body, ret, decomp, identity) = match self {
            Self::Seg(Seg { level: _, space, kind, body, ret, decomp, identity_predicate: identity }) => {
                (space, kind, body, ret, *decomp, identity.as_ref())
            }
            Self::WithAcc { inputs, lambda } => return m.withacc(frame, inputs, lambda, out),
        };
        let dims: SmallVec<[Dim; 3]> = space.dims.iter().map(|(_, dim)| *dim).collect();
        let sizes = frame.sizes(&dims)?;
        checked_count(&sizes, PrimType::Bool)?;
        let combining =
            if decomp.updates_per_iteration > 0 { m.open_combining_accs(ret) } else { Vec::new() };
        let run = Segments { space, body, decomp: m.tuned(frame, decomp)?, identity, combining, sizes };
        let last = run.sizes.len().saturating_sub(1);
        match kind {
            SegKind::ScanReduce(scan_reduce) => {
                let (first, others) = scan_reduce.results(pat);
                let elements = scan_reduce.element_types(ret);
                let mut rows = m.rows_of(frame, others, elements.iter(), &run.sizes)?;
                let mut totals = if last == 0 {
                    Vec::new()
                } else {
                    m.rows_of(frame, first, scan_reduce.reduced_types(), &run.sizes[..last])?
                };
                for segment in 0..run.segments() {
                    let outer = run.outer_indices(segment);
                    let total = if scan_reduce.scans.is_empty() && scan_reduce.post.is_none() {
                        run.reduce(m, frame, scan_reduce, &outer, (pat, &mut rows))?
                    } else {
                        run.scan(m, frame, scan_reduce, &outer, &mut rows)?
                    };
                    if last == 0 {
                        out.extend(total);
                    } else {
                        push_all(&mut totals, total.into_iter(), m.tick()?)?;
                    }
                }
                if last > 0 {
                    m.finish(frame, totals, &run.sizes[..last], scan_reduce.reduced_types(), out)?;
                }
                m.finish(frame, rows, &run.sizes, elements.iter(), out)
            }
            SegKind::Hist(ops) => {
                let mut destinations = frame.take_destinations(ops)?;
                for segment in 0..run.segments() {
                    let outer = run.outer_indices(segment);
                    run.hist(m, frame, ops, &outer, pat, &mut destinations)?;
                }
                out.extend(destinations.into_iter().flatten());
                Ok(())
            }
            SegKind::FlatMap => {
                let own = pat.iter().filter(|p| !matches!(p.ty, Type::Mem(_)));
                let own: Vec<&Param<L>> = own.collect();
                let own = mapped(ret).filter_map(|i| own.get(i).copied().cloned());
                let own: Vec<Param<L>> = own.collect();
                let types = mapped(ret).map(|i| &ret[i]);
                let mut rows = m.rows_of(frame, &own, types, &run.sizes)?;
                let mut flat = FlatMapState::new(ret);
                for i in 0..run.inner() {
                    let values = run.iteration(m, frame, &[], i)?;
                    flat.push_iteration(m, values, &mut rows)?;
                }
                flat.finish(m, frame, run.inner(), rows, (pat, out))
            }
        }
    }
}

impl Evaluate<Mems> for MemOp {
    fn eval<'p>(
        &'p self,
        m: &mut Evaluator<'p, Mems>,
        frame: &mut Frame<'p>,
        pat: &'p [Param<Mems>],
        out: &mut Vec<Value>,
    ) -> Result<()> {
        match self {
            Self::Alloc { bytes, memory: _ } => {
                let bytes = frame.i64(*bytes)?;
                let (Ok(bytes), [param]) = (u64::try_from(bytes), pat) else {
                    return Err(EvalError::bug(format!("an allocation of {bytes} bytes")));
                };
                let block = Block::new(bytes, frame.writer(param.name), &m.legend);
                out.push(Value::Block(Rc::new(RefCell::new(block))));
                Ok(())
            }
            Self::Transfer { array } => {
                out.push(Value::Array(frame.array(*array)?.copy()?));
                Ok(())
            }
            Self::Seg(op) => op.eval(m, frame, pat, out),
        }
    }
}
