//! A thread's run of a tile: consecutive iterations, which it processes sequentially, twice.
//!
//! The first time it computes their aggregate; then, when their exclusive prefix is known, the
//! scanned values. So the thread keeps no values between the two.

use super::{SharedBuffers, Tile, Tiled};
use crate::function::Gen;
use imp::build::{add, and, binary, compare, div, max, min, mul, select, sub};
use imp::{Expr, Stmt, Var};
use ir::PassError;
use prim::{BinOp, CmpOp, PrimType};

/// The consecutive iterations of a thread.
pub(super) struct Run {
    /// The position of the first one in the tile.
    position: Expr,
    /// The index of the first one.
    from: Expr,
    /// The index where the segment of the first one begins.
    pub(super) segment_start: Expr,
    /// The index of the first segment beginning at or after the first one. Unused if there is only
    /// one segment.
    next: Expr,
    /// The thread whose iterations contain the beginning of the first one's segment, clamped to the
    /// tile.
    segment_thread: Expr,
}

impl Gen<'_, '_> {
    pub(super) fn run_of(&mut self, tiled: &Tiled<'_>, tile: &Tile, thread: &Expr) -> Run {
        let position = mul(thread.clone(), Expr::i64(tiled.own));
        let position = self.bind_value(position, PrimType::I64, "position");
        let from = add(tile.from.clone(), position.clone());
        let zero = Expr::i64(0);
        let (from, begin, next, start_thread) = match &tiled.width {
            None => (from, zero.clone(), zero.clone(), zero),
            Some(width) => {
                let from = self.bind_value(from, PrimType::I64, "first");
                let inside = binary(BinOp::UMod, from.clone(), width.clone());
                let begin = sub(from.clone(), inside);
                let begin = self.bind_value(begin, PrimType::I64, "begin");
                let opens = compare(CmpOp::Eq, begin.clone(), from.clone());
                let after = add(begin.clone(), width.clone());
                let next = select(&opens, &from, &after);
                let next = self.bind_value(next, PrimType::I64, "next");
                let start_thread = self.thread_of(tiled, tile, begin.clone());
                (from, begin, next, start_thread)
            }
        };
        Run { position, from, segment_start: begin, next, segment_thread: start_thread }
    }

    /// The thread that has an index of the tile; the first thread for indices before the tile.
    pub(super) fn thread_of(&mut self, tiled: &Tiled<'_>, tile: &Tile, iteration: Expr) -> Expr {
        let position = max(sub(iteration, tile.from.clone()), Expr::i64(0));
        let thread = div(position, Expr::i64(tiled.own));
        self.bind_value(thread, PrimType::I64, "start_thread")
    }

    /// The aggregate of the thread's iterations, since the last segment beginning among them.
    pub(super) fn sum_run(
        &mut self,
        tiled: &Tiled<'_>,
        shared_buffers: &SharedBuffers,
        run: &Run,
    ) -> Result<Vec<Var>, PassError> {
        let accs = self.neutral(&tiled.operators, &tiled.types)?;
        self.fold_run(tiled, shared_buffers, run, &accs, |_, _| ())?;
        Ok(accs)
    }

    /// Scans the thread's iterations in the tile, with the initial values `left_values` up to the first
    /// segment beginning among them.
    pub(super) fn scan_run(
        &mut self,
        tiled: &Tiled<'_>,
        shared_buffers: &SharedBuffers,
        run: &Run,
        left_values: &[Var],
    ) -> Result<(), PassError> {
        self.fold_run(tiled, shared_buffers, run, left_values, |g, position| {
            g.store_all(&shared_buffers.tile, &tiled.types, position, left_values);
        })
    }

    /// Folds the thread's iterations into accumulators one after another, restarting with each
    /// segment; `f` is called with their positions.
    fn fold_run(
        &mut self,
        tiled: &Tiled<'_>,
        shared_buffers: &SharedBuffers,
        run: &Run,
        accs: &[Var],
        f: impl FnOnce(&mut Self, Expr),
    ) -> Result<(), PassError> {
        let (operators, types) = (&tiled.operators, &tiled.types);
        let begin = self.scalar(PrimType::I64, "begin");
        if tiled.width.is_some() {
            self.emit(Stmt::Set(begin, run.next.clone()));
        }
        let own = Expr::i64(tiled.own);
        self.for_seq("k", Expr::i64(0), own, false, |g, k| {
            if let Some(width) = &tiled.width {
                let body = g.collect(|g| {
                    let neutral = g.neutral(operators, types)?;
                    g.set_all(accs, &neutral);
                    let next = add(Expr::Var(begin), width.clone());
                    g.emit(Stmt::Set(begin, next));
                    Ok(())
                })?;
                let iteration = add(run.from.clone(), Expr::Var(k));
                let begins = compare(CmpOp::Eq, iteration, Expr::Var(begin));
                g.emit(Stmt::If(begins, body, Vec::new()));
            }
            let position = add(run.position.clone(), Expr::Var(k));
            let position = g.bind_value(position, PrimType::I64, "position");
            let xs = g.load_all(&shared_buffers.tile, types, position.clone(), "x");
            g.combine(operators, accs, &xs)?;
            f(g, position);
            Ok(())
        })
    }

    /// The number of threads to the left with iterations of the segment that contains the thread's
    /// last iteration, and of no later segment.
    pub(super) fn threads_of_segment(
        &mut self,
        tiled: &Tiled<'_>,
        tile: &Tile,
        run: &Run,
        thread: &Expr,
    ) -> Expr {
        let Some(width) = &tiled.width else {
            return thread.clone();
        };
        let last = min(add(run.from.clone(), Expr::i64(tiled.own - 1)), sub(tile.to.clone(), Expr::i64(1)));
        let last = self.bind_value(last, PrimType::I64, "last");
        let begin = sub(last.clone(), binary(BinOp::UMod, last, width.clone()));
        let start_thread = self.thread_of(tiled, tile, begin);
        self.bind_value(sub(thread.clone(), start_thread), PrimType::I64, "segment_threads")
    }

    /// The aggregate of the threads before this one, back to the beginning of its first iteration's
    /// segment, within the tile.
    pub(super) fn run_prefix(
        &mut self,
        tiled: &Tiled<'_>,
        shared_buffers: &SharedBuffers,
        (run, thread): (&Run, &Expr),
    ) -> Result<Vec<Var>, PassError> {
        let typed_operators = (tiled.operators.as_slice(), tiled.types.as_slice());
        let own = self.subgroup_of(thread);
        let first = match &tiled.width {
            None => Expr::i64(0),
            Some(_) => self.subgroup_of(&run.segment_thread),
        };
        let left_values = self.fold_subgroups(typed_operators, &shared_buffers.part, (&first, &own))?;
        let body = self.collect(|g| {
            let other = sub(thread.clone(), Expr::i64(1));
            let sums = g.load_all(&shared_buffers.part, &tiled.types, other, "left");
            g.combine(&tiled.operators, &left_values, &sums)
        })?;
        let among = self.lane_in_subgroup(thread);
        let mut more = compare(CmpOp::SLt, Expr::i64(0), among);
        if tiled.width.is_some() {
            let continues = compare(CmpOp::SLt, run.segment_thread.clone(), thread.clone());
            more = and(more, continues);
        }
        self.emit(Stmt::If(more, body, Vec::new()));
        Ok(left_values)
    }
}
