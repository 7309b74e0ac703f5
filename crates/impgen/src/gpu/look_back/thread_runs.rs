//! A thread's run of a tile: consecutive iterations, which it processes sequentially, twice.
//!
//! The first time it computes their aggregate; then, when their exclusive prefix is known, the
//! scanned values. So the thread keeps no values between the two.

use super::BlockTile;
use crate::Result;
use crate::gpu::DeviceSchedule;
use crate::schedule::Generator;
use imp::build::{Operand, and, max, min, select};
use imp::{Expr, Stmt, Var, bind, emit, expr};
use prim::PrimType;

/// The consecutive iterations of a thread.
pub(super) struct Run {
    /// The position of the first one in the tile.
    position: Operand,
    /// The index of the first one.
    from: Expr,
    /// The index where the segment of the first one begins.
    pub(super) segment_start: Operand,
    /// The index of the first segment beginning at or after the first one. Unused if there is only
    /// one segment.
    next: Operand,
    /// The thread whose iterations contain the beginning of the first one's segment, clamped to the
    /// tile.
    segment_thread: Operand,
}

impl Generator<'_, DeviceSchedule> {
    pub(super) fn run_of(&mut self, at: BlockTile<'_>) -> Run {
        let BlockTile { tiled, tile, thread, .. } = at;
        bind!(position = self(thread * tiled.own));
        let from = tile.from + position;
        let (from, begin, next, start_thread) = match tiled.width {
            None => (from, 0.into(), 0.into(), 0.into()),
            Some(width) => {
                bind!(first = self(from));
                bind!(begin = self(first - first % width));
                bind!(next = self(select(expr!(begin == first), first, begin + width)));
                let start_thread = self.thread_of(at, begin);
                (first.into(), begin, next, start_thread)
            }
        };
        Run { position, from, segment_start: begin, next, segment_thread: start_thread }
    }

    /// The thread that has an index of the tile; the first thread for indices before the tile.
    pub(super) fn thread_of(&mut self, at: BlockTile<'_>, iteration: impl Into<Expr>) -> Operand {
        let BlockTile { tiled, tile, .. } = at;
        let position = max(iteration.into() - tile.from, 0);
        self.bind(position / tiled.own, "start_thread")
    }

    /// The aggregate of the thread's iterations, since the last segment beginning among them.
    pub(super) fn sum_run(&mut self, at: BlockTile<'_>, run: &Run) -> Result<Vec<Var>> {
        let tiled = at.tiled;
        let accs = self.neutral(&tiled.operators, &tiled.types)?;
        self.fold_run(at, run, &accs, |_, _| ())?;
        Ok(accs)
    }

    /// Scans the thread's iterations in the tile, with the initial values `left_values` up to the first
    /// segment beginning among them.
    pub(super) fn scan_run(&mut self, at: BlockTile<'_>, run: &Run, left_values: &[Var]) -> Result {
        let BlockTile { tiled, shared_buffers, .. } = at;
        self.fold_run(at, run, left_values, |g, position| {
            g.store_all(&shared_buffers.tile, &tiled.types, position, left_values);
        })
    }

    /// Folds the thread's iterations into accumulators one after another, restarting with each
    /// segment; `f` is called with their positions.
    fn fold_run(
        &mut self,
        at: BlockTile<'_>,
        run: &Run,
        accs: &[Var],
        f: impl FnOnce(&mut Self, Operand),
    ) -> Result {
        let BlockTile { tiled, shared_buffers, .. } = at;
        let (operators, types) = (&tiled.operators, &tiled.types);
        let begin = self.scalar(PrimType::I64, "begin");
        if tiled.width.is_some() {
            self.set(begin, run.next);
        }
        let own = Expr::i64(tiled.own);
        emit!(for k in self(0..own) {
            if let Some(width) = &tiled.width {
                let iteration = run.from.clone() + k;
                emit!(if self(iteration == begin) {
                    let neutral = self.neutral(operators, types)?;
                    self.set_all(accs, &neutral);
                    let next = begin + *width;
                    self.set(begin, next);
                });
            }
            bind!(position = self(run.position + k));
            let xs = self.load_all(&shared_buffers.tile, types, position, "x");
            self.combine(operators, accs, &xs)?;
            f(self, position);
        });
        Ok(())
    }

    /// The number of threads to the left with iterations of the segment that contains the thread's
    /// last iteration, and of no later segment.
    pub(super) fn threads_of_segment(&mut self, at: BlockTile<'_>, run: &Run) -> Operand {
        let BlockTile { tiled, tile, thread, .. } = at;
        let Some(width) = &tiled.width else {
            return thread;
        };
        bind!(last = self(min(&run.from + (tiled.own - 1), tile.to - 1)));
        let start_thread = self.thread_of(at, last - last % width);
        self.bind(thread - start_thread, "segment_threads")
    }

    /// The aggregate of the threads before this one, back to the beginning of its first iteration's
    /// segment, within the tile.
    pub(super) fn run_prefix(&mut self, at: BlockTile<'_>, run: &Run) -> Result<Vec<Var>> {
        let BlockTile { tiled, shared_buffers, thread, .. } = at;
        let typed_operators = (tiled.operators.as_slice(), tiled.types.as_slice());
        let own = self.subgroup_of(thread);
        let first = match &tiled.width {
            None => 0.into(),
            Some(_) => self.subgroup_of(run.segment_thread),
        };
        let left_values = self.fold_subgroups(typed_operators, &shared_buffers.part, (first, own))?;
        let body = self.collect(|g| {
            let other = thread - 1;
            let sums = g.load_all(&shared_buffers.part, &tiled.types, other, "left");
            g.combine(&tiled.operators, &left_values, &sums)
        })?;
        let among = self.lane_in_subgroup(thread);
        let mut more = expr!(0 < among);
        if tiled.width.is_some() {
            let continues = expr!(run.segment_thread < thread);
            more = and(more, continues);
        }
        self.emit(Stmt::If(more, body, Vec::new()));
        Ok(left_values)
    }
}
