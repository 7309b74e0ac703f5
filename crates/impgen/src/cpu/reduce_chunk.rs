//! Chunks of reductions: the accumulators of a range of iterations.
//!
//! With a virtual width `w` above 1, a chunk keeps `w` accumulators: iteration `i` of the chunk
//! updates accumulator `i mod w`. They are stored in an array, so the code generator can keep them
//! in vector registers without reordering any arithmetic. In the end the upper half is combined
//! into the lower half until one is left: in short segments, a sequential chain over all
//! accumulators would take longer than the iterations.
//!
//! If the decomposition says so, a chunk is read as several streams in lockstep (see
//! [`streams`](super::streams)).

use super::segops::SegSpace;
use crate::function::Gen;
use analysis::exact::is_exact;
use imp::build::{add, binary, compare, div, mul, sub};
use imp::{Expr, Stmt, Var};
use ir::metrics::body_statements;
use ir::soac::Operator;
use ir::syntax::{Atom, Param};
use ir::walk::sub_bodies;
use ir::{Mems, PassError};
use prim::{BinOp, CmpOp, PrimType};

/// The operators, operands and iterations of a reduction.
pub(crate) struct ChunkReduction<'s> {
    /// The mapped results besides the reduced ones.
    pub(crate) mapped: &'s [Param<Mems>],
    pub(crate) space: &'s SegSpace<'s>,
    pub(crate) operators: &'s [&'s Operator<Mems>],
    /// The types of the reduced values.
    pub(crate) types: &'s [PrimType],
}

/// From this number of statements on, an iteration with branches and its operators are emitted once,
/// with a condition for the remainder. Loops of straight-line code are pipelined without it.
const SINGLE_COPY_STATEMENTS: usize = 300;
/// From this number of statements on, operators are emitted once for all steps that combine
/// accumulators.
const LOOP_OVER_STEPS_STATEMENTS: usize = 12;

impl ChunkReduction<'_> {
    /// The number of statements of the operators.
    fn operator_statements(&self) -> usize {
        self.operators.iter().map(|operator| body_statements(&operator.op.body)).sum()
    }

    /// Returns true if an iteration has conditionals or loops.
    fn has_branches(&self) -> bool {
        let mut found = false;
        self.space.body.stms.iter().for_each(|stm| sub_bodies(&stm.exp, |_| found = true));
        found
    }

    /// The number of statements of an iteration with the operators.
    fn statements(&self) -> usize {
        body_statements(self.space.body) + self.operator_statements()
    }

    /// Returns true if chunks are read as several streams. Exact operators have the same result
    /// without streams, so for these they are only used if iterations are independent.
    pub(crate) fn uses_streams(&self) -> bool {
        let exact = self.operators.iter().all(|op| is_exact(&op.op));
        self.space.decomp.accumulators > 1 && (self.space.independent || !exact)
    }
}

impl Gen<'_, '_> {
    /// The accumulators of one chunk after the iterations `lo..hi`.
    pub(crate) fn reduce_chunk(
        &mut self,
        fold: &ChunkReduction<'_>,
        lo: Expr,
        hi: Expr,
    ) -> Result<Vec<Var>, PassError> {
        if fold.uses_streams() {
            return self.reduce_streams(fold, lo, hi);
        }
        if fold.space.decomp.width > 1 {
            return self.reduce_rounds(fold, lo, hi);
        }
        let accs = self.neutral(fold.operators, fold.types)?;
        self.reduce_iterations(fold, &accs, lo, hi)?;
        Ok(accs)
    }

    /// Folds the iterations `lo..hi` sequentially into accumulators.
    pub(crate) fn reduce_iterations(
        &mut self,
        fold: &ChunkReduction<'_>,
        accs: &[Var],
        lo: Expr,
        hi: Expr,
    ) -> Result<(), PassError> {
        self.iterations(fold.space, lo, hi, |g, results| g.combine_results(fold, accs, &results))
    }

    /// Combines the reduced results of an iteration into the accumulators, and writes its mapped
    /// results to their arrays.
    fn combine_results(
        &mut self,
        fold: &ChunkReduction<'_>,
        accs: &[Var],
        results: &[Atom],
    ) -> Result<(), PassError> {
        let (reduced, mapped) = results.split_at(fold.types.len());
        let values = self.copy_operands(reduced, fold.types)?;
        self.combine(fold.operators, accs, &values)?;
        self.write_iteration(fold.mapped, fold.space, mapped)
    }

    /// Folds the iterations `lo..hi` into as many accumulators as the virtual width.
    fn reduce_rounds(
        &mut self,
        fold: &ChunkReduction<'_>,
        lo: Expr,
        hi: Expr,
    ) -> Result<Vec<Var>, PassError> {
        let width = i64::from(fold.space.decomp.width);
        let buffers = self.accumulators(fold, width)?;
        let n = sub(hi, lo.clone());
        if fold.has_branches() && fold.statements() >= SINGLE_COPY_STATEMENTS {
            let rounds = div(add(n.clone(), Expr::i64(width - 1)), Expr::i64(width));
            self.for_seq("round", Expr::i64(0), rounds, false, |g, round| {
                let done = g.bind_value(mul(Expr::Var(round), Expr::i64(width)), PrimType::I64, "done");
                let first = g.bind_value(add(lo, done.clone()), PrimType::I64, "first");
                let rest = g.bind_value(sub(n, done), PrimType::I64, "rest");
                g.reduce_round(fold, &buffers, first, Some(rest))
            })?;
            return self.combine_halves(fold, &buffers, width);
        }
        let rounds = div(n.clone(), Expr::i64(width));
        let rounds = self.bind_value(rounds, PrimType::I64, "rounds");
        self.for_seq("round", Expr::i64(0), rounds.clone(), false, |g, round| {
            let first = add(lo.clone(), mul(Expr::Var(round), Expr::i64(width)));
            let first = g.bind_value(first, PrimType::I64, "first");
            if !fold.mapped.is_empty() {
                return g.reduce_round(fold, &buffers, first, None);
            }
            g.skippable_round(fold, &buffers, &first.clone(), |g| g.reduce_round(fold, &buffers, first, None))
        })?;
        let done = mul(rounds, Expr::i64(width));
        let done = self.bind_value(done, PrimType::I64, "done");
        let first = self.bind_value(add(lo, done.clone()), PrimType::I64, "first");
        let rest = self.bind_value(sub(n, done), PrimType::I64, "rest");
        let some = compare(CmpOp::SLt, Expr::i64(0), rest.clone());
        let last = self.collect(|g| g.reduce_round(fold, &buffers, first, Some(rest)))?;
        self.emit(Stmt::If(some, last, Vec::new()));
        self.combine_halves(fold, &buffers, width)
    }

    /// Combines the accumulators by halves and returns the total. Small operators have a copy for each
    /// step, whose vectors differ in width; large ones are in a loop over the steps.
    fn combine_halves(
        &mut self,
        fold: &ChunkReduction<'_>,
        buffers: &[Var],
        width: i64,
    ) -> Result<Vec<Var>, PassError> {
        if width.count_ones() == 1 && fold.operator_statements() >= LOOP_OVER_STEPS_STATEMENTS {
            let steps = Expr::i64(i64::from(width.trailing_zeros()));
            self.for_seq("step", Expr::i64(0), steps, false, |g, step| {
                let half = binary(BinOp::LShr, Expr::i64(width / 2), Expr::Var(step));
                let half = g.bind_value(half, PrimType::I64, "half");
                g.combine_upper(fold, buffers, half.clone(), half)
            })?;
            return Ok(self.load_all(buffers, fold.types, Expr::i64(0), "acc"));
        }
        let mut left = width;
        while left > 1 {
            let half = (left + 1) / 2;
            self.combine_upper(fold, buffers, Expr::i64(half), Expr::i64(left - half))?;
            left = half;
        }
        Ok(self.load_all(buffers, fold.types, Expr::i64(0), "acc"))
    }

    /// Combines `count` accumulators from position `upper` on into the first ones.
    fn combine_upper(
        &mut self,
        fold: &ChunkReduction<'_>,
        buffers: &[Var],
        upper: Expr,
        count: Expr,
    ) -> Result<(), PassError> {
        self.for_seq("w", Expr::i64(0), count, true, |g, w| {
            let accs = g.load_all(buffers, fold.types, Expr::Var(w), "acc");
            let values = g.load_all(buffers, fold.types, add(Expr::Var(w), upper), "part");
            g.combine(fold.operators, &accs, &values)?;
            g.store_all(buffers, fold.types, Expr::Var(w), &accs);
            Ok(())
        })
    }

    /// The iterations from `first` on, one for each accumulator, or for the first `count`
    /// accumulators. All accumulators are stored in either case, so that they stay in registers.
    fn reduce_round(
        &mut self,
        fold: &ChunkReduction<'_>,
        buffers: &[Var],
        first: Expr,
        count: Option<Expr>,
    ) -> Result<(), PassError> {
        let width = Expr::i64(i64::from(fold.space.decomp.width));
        let independent = fold.space.independent;
        self.for_seq("w", Expr::i64(0), width, independent, |g, w| {
            let there = count.map(|count| compare(CmpOp::SLt, Expr::Var(w), count));
            g.reduce_iteration(fold, buffers, add(first, Expr::Var(w)), w, there)
        })
    }

    /// Folds the iteration `index` into the accumulators at position `w`, if the condition `there`
    /// holds.
    pub(crate) fn reduce_iteration(
        &mut self,
        fold: &ChunkReduction<'_>,
        buffers: &[Var],
        index: Expr,
        w: Var,
        there: Option<Expr>,
    ) -> Result<(), PassError> {
        let accs = self.load_all(buffers, fold.types, Expr::Var(w), "acc");
        let iteration = |g: &mut Self| {
            g.set_index(fold.space, index);
            g.iteration(fold.space.body, |g, results| g.combine_results(fold, &accs, &results))
        };
        match there {
            Some(there) => {
                let iteration = self.collect(iteration)?;
                self.emit(Stmt::If(there, iteration, Vec::new()));
            }
            None => iteration(self)?,
        }
        self.store_all(buffers, fold.types, Expr::Var(w), &accs);
        Ok(())
    }

    /// Allocates arrays in the frame, filled with the neutral elements.
    pub(crate) fn accumulators(
        &mut self,
        fold: &ChunkReduction<'_>,
        width: i64,
    ) -> Result<Vec<Var>, PassError> {
        let neutral = self.neutral(fold.operators, fold.types)?;
        self.filled_arrays("accs", fold.types, width, &neutral)
    }

    /// Allocates one array in the frame for each type, filled with a value.
    pub(crate) fn filled_arrays(
        &mut self,
        hint: &str,
        types: &[PrimType],
        width: i64,
        values: &[Var],
    ) -> Result<Vec<Var>, PassError> {
        let arrays = self.lane_arrays(hint, types, width);
        self.for_seq("w", Expr::i64(0), Expr::i64(width), true, |g, w| {
            g.store_all(&arrays, types, Expr::Var(w), values);
            Ok(())
        })?;
        Ok(arrays)
    }

    /// Allocates one array in the frame for each type.
    pub(crate) fn lane_arrays(&mut self, hint: &str, types: &[PrimType], width: i64) -> Vec<Var> {
        types.iter().map(|&ty| self.frame_array(hint, ty, width)).collect()
    }

    /// Allocates an array in the frame.
    pub(crate) fn frame_array(&mut self, hint: &str, elem: PrimType, count: i64) -> Var {
        let buffer = self.borrowed(hint);
        let count = count as u64;
        self.emit(Stmt::Frame { buffer, elem, count });
        buffer
    }
}
