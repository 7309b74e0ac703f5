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
use crate::Result;
use crate::cpu::CpuSchedule;
use crate::mems::{Operator, Param};
use crate::schedule::Generator;
use analysis::exact::is_exact;
use imp::build::Operand;
use imp::{Expr, MemoryId, Var, bind, emit, expr};
use ir::metrics::body_statements;
use ir::syntax::Atom;
use ir::walk::sub_bodies;
use prim::PrimType;

/// The operators, operands and iterations of a reduction.
pub(crate) struct ChunkReduction<'s> {
    /// The mapped results besides the reduced ones.
    pub(crate) mapped: &'s [Param],
    pub(crate) space: &'s SegSpace<'s>,
    pub(crate) operators: &'s [&'s Operator],
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

impl Generator<'_, CpuSchedule> {
    /// The accumulators of one chunk after the iterations `lo..hi`.
    pub(crate) fn reduce_chunk(
        &mut self,
        fold: &ChunkReduction<'_>,
        lo: Operand,
        hi: Operand,
    ) -> Result<Vec<Var>> {
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
        lo: Operand,
        hi: Operand,
    ) -> Result {
        self.iterations(fold.space, lo, hi, |g, results| g.combine_results(fold, accs, &results))
    }

    /// Combines the reduced results of an iteration into the accumulators, and writes its mapped
    /// results to their arrays.
    fn combine_results(&mut self, fold: &ChunkReduction<'_>, accs: &[Var], results: &[Atom]) -> Result {
        let (reduced, mapped) = results.split_at(fold.types.len());
        let values = self.copy_operands(reduced, fold.types)?;
        self.combine(fold.operators, accs, &values)?;
        self.write_elements(fold.mapped, fold.space.dims, mapped)
    }

    /// Folds the iterations `lo..hi` into as many accumulators as the virtual width.
    fn reduce_rounds(&mut self, fold: &ChunkReduction<'_>, lo: Operand, hi: Operand) -> Result<Vec<Var>> {
        let width = i64::from(fold.space.decomp.width);
        let buffers = self.accumulators(fold, width)?;
        let n = hi - lo;
        if fold.has_branches() && fold.statements() >= SINGLE_COPY_STATEMENTS {
            let rounds = (n.clone() + (width - 1)) / width;
            emit!(for round in self(0..rounds) {
                bind!(done = self(round * width));
                bind!(first = self(lo + done));
                bind!(rest = self(n - done));
                self.reduce_round(fold, &buffers, first, Some(rest))?;
            });
            return self.combine_halves(fold, &buffers, width);
        }
        bind!(rounds = self(n.clone() / width));
        emit!(for round in self(0..rounds) {
            bind!(first = self(lo + round * width));
            if fold.mapped.is_empty() {
                self.skippable_round(fold, &buffers, first)?;
            } else {
                self.reduce_round(fold, &buffers, first, None)?;
            }
        });
        bind!(done = self(rounds * width));
        bind!(first = self(lo + done));
        bind!(rest = self(n - done));
        emit!(if self(0 < rest) {
            self.reduce_round(fold, &buffers, first, Some(rest))?;
        });
        self.combine_halves(fold, &buffers, width)
    }

    /// Combines the accumulators by halves and returns the total. Small operators have a copy for each
    /// step, whose vectors differ in width; large ones are in a loop over the steps.
    fn combine_halves(&mut self, fold: &ChunkReduction<'_>, buffers: &[Var], width: i64) -> Result<Vec<Var>> {
        if width.count_ones() == 1 && fold.operator_statements() >= LOOP_OVER_STEPS_STATEMENTS {
            let steps = i64::from(width.trailing_zeros());
            emit!(for step in self(0..steps) {
                bind!(half = self((width / 2) >> step));
                self.combine_upper(fold, buffers, half, half)?;
            });
            return Ok(self.load_all(buffers, fold.types, 0, "acc"));
        }
        let mut left = width;
        while left > 1 {
            let half = (left + 1) / 2;
            self.combine_upper(fold, buffers, half, left - half)?;
            left = half;
        }
        Ok(self.load_all(buffers, fold.types, 0, "acc"))
    }

    /// Combines `count` accumulators from position `upper` on into the first ones.
    fn combine_upper(
        &mut self,
        fold: &ChunkReduction<'_>,
        buffers: &[Var],
        upper: impl Into<Expr>,
        count: impl Into<Expr>,
    ) -> Result {
        emit!(for w in self.independent(0..count) {
            let accs = self.load_all(buffers, fold.types, w, "acc");
            let values = self.load_all(buffers, fold.types, w + upper, "part");
            self.combine(fold.operators, &accs, &values)?;
            self.store_all(buffers, fold.types, w, &accs);
        });
        Ok(())
    }

    /// The iterations from `first` on, one for each accumulator, or for the first `count`
    /// accumulators. All accumulators are stored in either case, so that they stay in registers.
    pub(super) fn reduce_round(
        &mut self,
        fold: &ChunkReduction<'_>,
        buffers: &[Var],
        first: Operand,
        count: Option<Operand>,
    ) -> Result {
        let width = i64::from(fold.space.decomp.width);
        let independent = fold.space.independent;
        emit!(for w in self.independent_if(independent, 0..width) {
            let there = count.map(|count| expr!(w < count));
            self.reduce_iteration(fold, buffers, first + w, w, there)?;
        });
        Ok(())
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
    ) -> Result {
        let accs = self.load_all(buffers, fold.types, w, "acc");
        let iteration = |g: &mut Self| {
            g.set_index(fold.space.index, index);
            g.iteration(fold.space.body, |g, results| g.combine_results(fold, &accs, &results))
        };
        match there {
            Some(there) => emit!(if self(there) {
                iteration(self)?;
            }),
            None => iteration(self)?,
        }
        self.store_all(buffers, fold.types, w, &accs);
        Ok(())
    }

    /// Allocates arrays in the frame, filled with the neutral elements.
    pub(crate) fn accumulators(&mut self, fold: &ChunkReduction<'_>, width: i64) -> Result<Vec<Var>> {
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
    ) -> Result<Vec<Var>> {
        let arrays = self.lane_arrays(hint, types, width);
        emit!(for w in self.independent(0..width) {
            self.store_all(&arrays, types, w, values);
        });
        Ok(arrays)
    }

    /// Allocates one array in the frame for each type.
    pub(crate) fn lane_arrays(&mut self, hint: &str, types: &[PrimType], width: i64) -> Vec<Var> {
        types.iter().map(|&ty| self.frame_array(MemoryId::Host, hint, ty, width)).collect()
    }
}
