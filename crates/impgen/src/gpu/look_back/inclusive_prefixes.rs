//! The look-back of tiles: aggregates, inclusive prefixes, and their signals.

use super::thread_runs::Run;
use super::{AGGREGATE, BlockTile, PREFIX, Published, equals};
use crate::Result;
use crate::gpu::DeviceSchedule;
use crate::operators::{div_up, element_of_buffer};
use crate::schedule::Generator;
use imp::build::{Operand, and, max, min};
use imp::device::RELEASE_TYPE;
use imp::{DeviceOp, Expr, Stmt, Var, bind, emit, expr};
use prim::{ConvOp, PrimType, Scalar};

impl Generator<'_, DeviceSchedule> {
    /// Signals the tile's aggregate, computes its exclusive prefix by look-back, and signals its
    /// inclusive prefix. Returns the exclusive prefix of the thread's iterations since the
    /// beginning of their segment.
    pub(super) fn look_back(&mut self, at: BlockTile<'_>, run: &Run) -> Result<Vec<Var>> {
        let BlockTile { tiled, tile, thread, .. } = at;
        let operators = &tiled.operators;
        let lasts = self.tile_aggregate(at)?;
        self.first_thread(thread, |g| {
            emit!(if g(tile.has_segment_start) {
                g.signal(at, PREFIX, &lasts)?;
            } else {
                g.signal(at, AGGREGATE, &lasts)?;
            });
            Ok(())
        })?;
        let left_values = self.run_prefix(at, run)?;
        let carries = match &tiled.published {
            Published::StatusWords(words) => self.prefix_from_words(at, words)?,
            Published::Elements { aggregates, inclusive_prefixes: prefixes } => {
                self.prefix_from_elements(at, (aggregates, prefixes))?
            }
        };
        self.first_thread(thread, |g| {
            emit!(if g(tile.has_segment_start) {
            } else {
                let prefixes = g.copied(&tiled.types, &carries, "prefix");
                g.combine(operators, &prefixes, &lasts)?;
                g.signal(at, PREFIX, &prefixes)?;
            });
            Ok(())
        })?;
        // The thread's first segment began before the tile.
        emit!(if self(run.segment_start < tile.from) {
            self.combine(operators, &carries, &left_values)?;
            self.set_all(&left_values, &carries);
        });
        Ok(left_values)
    }

    /// The aggregate of the tile, since the beginning of its last segment.
    fn tile_aggregate(&mut self, at: BlockTile<'_>) -> Result<Vec<Var>> {
        let BlockTile { tiled, shared_buffers, tile, .. } = at;
        let first = match &tiled.width {
            None => 0.into(),
            Some(_) => {
                let start_thread = self.thread_of(at, tile.begin);
                self.subgroup_of(start_thread)
            }
        };
        let typed_operators = (tiled.operators.as_slice(), tiled.types.as_slice());
        let groups = self.n_subgroups().into();
        self.fold_subgroups(typed_operators, &shared_buffers.part, (first, groups))
    }

    /// Signals values of the tile.
    fn signal(&mut self, at: BlockTile<'_>, state: i32, values: &[Var]) -> Result {
        let BlockTile { tiled, tile, .. } = at;
        let buffers = match &tiled.published {
            Published::StatusWords(words) => return self.publish(at, (words, state), values),
            Published::Elements { inclusive_prefixes: prefixes, .. } if state == PREFIX => prefixes,
            Published::Elements { aggregates, .. } => aggregates,
        };
        self.store_all(buffers, &tiled.types, tile.number, values);
        self.emit(Stmt::Device(DeviceOp::Signal {
            at: element_of_buffer(tiled.state, RELEASE_TYPE, tile.number + 1),
            value: Expr::Const(Scalar::I32(state)),
        }));
        Ok(())
    }

    /// Inspects the tiles before the block's own, a window of them at a time, until `f` has found a
    /// result. `f` is called with the thread's tile and the condition that there is one, and
    /// returns the condition to go on.
    pub(super) fn look_back_windows(
        &mut self,
        at: BlockTile<'_>,
        f: impl FnOnce(&mut Self, Operand, Expr) -> Result<Expr>,
    ) -> Result {
        let BlockTile { tile, thread, .. } = at;
        let window = self.schedule.layout.scans.window;
        let (end, continues) = (self.scalar(PrimType::I64, "end"), self.scalar(PrimType::Bool, "continues"));
        self.set(end, tile.number);
        self.set(continues, tile.continues_segment);
        emit!(while self(continues) {
            self.set(end, end - window);
            bind!(other = self(end + thread));
            let mut looks = expr!(0 <= other);
            if window < self.schedule.layout.block {
                looks = and(expr!(thread < window), looks);
            }
            let more = f(self, other, looks)?;
            self.set(continues, more);
            self.barrier();
        });
        Ok(())
    }

    /// The exclusive prefix of the tile, from element arrays: one thread computes it, all get it.
    fn prefix_from_elements(
        &mut self,
        at: BlockTile<'_>,
        (aggregates, prefixes): (&[Var], &[Var]),
    ) -> Result<Vec<Var>> {
        let BlockTile { tiled, shared_buffers, tile, .. } = at;
        let (operators, types) = (&tiled.operators, &tiled.types);
        let nearest = self.nearest_prefix(at)?;
        let carries = self.neutral(operators, types)?;
        self.first_thread_if_continuing(at, |g| {
            let prefixes = g.load_all(prefixes, types, nearest, "prefix");
            g.set_all(&carries, &prefixes);
            Ok(())
        })?;
        self.add_aggregates(at, (aggregates, nearest), &carries)?;
        self.first_thread_if_continuing(at, |g| {
            g.store_all(&shared_buffers.part, types, 0, &carries);
            Ok(())
        })?;
        self.barrier();
        emit!(if self(tile.continues_segment) {
            let loaded = self.load_all(&shared_buffers.part, types, 0, "carry");
            self.set_all(&carries, &loaded);
        });
        Ok(carries)
    }

    /// Emits code that the first thread executes if the tile continues a segment.
    fn first_thread_if_continuing(
        &mut self,
        at: BlockTile<'_>,
        f: impl FnOnce(&mut Self) -> Result,
    ) -> Result {
        let BlockTile { tile, thread, .. } = at;
        emit!(if self(thread == 0 && tile.continues_segment) {
            f(self)?;
        });
        Ok(())
    }

    /// The nearest preceding tile with an inclusive prefix; the aggregates of the tiles between are
    /// available. If the tile does not continue a segment, the tile before it.
    fn nearest_prefix(&mut self, at: BlockTile<'_>) -> Result<Operand> {
        let BlockTile { tiled, shared_buffers, tile, thread } = at;
        let nearest = self.scalar(PrimType::I64, "nearest");
        self.set(nearest, tile.number - 1);
        self.look_back_windows(at, |g, other, looks| {
            let own = g.scalar(PrimType::I64, "own");
            g.set(own, -1);
            emit!(if g(looks) {
                let state = g.scalar(RELEASE_TYPE, "state");
                g.emit(Stmt::Device(DeviceOp::Await {
                    var: state,
                    at: element_of_buffer(tiled.state, RELEASE_TYPE, other + 1),
                }));
                emit!(if g(equals(state, PREFIX)) {
                    g.set(own, other);
                });
            });
            g.store_i32(shared_buffers.prefix_flags, thread, own);
            g.subgroup_barrier();
            let steps = i64::from(g.schedule.layout.subgroup.trailing_zeros());
            g.pairwise_tree((0, steps), true, thread, |g, other| {
                let left = g.load_i32(shared_buffers.prefix_flags, thread, "left");
                let right = g.load_i32(shared_buffers.prefix_flags, other, "right");
                g.store_i32(shared_buffers.prefix_flags, thread, max(left, right));
                Ok(())
            })?;
            g.barrier();
            g.set(nearest, -1);
            let (groups, size) = (g.n_subgroups(), g.schedule.layout.subgroup);
            emit!(for group in g(0..groups) {
                let first = group * size;
                let found = g.load_i32(shared_buffers.prefix_flags, first, "found");
                g.set(nearest, max(nearest, found));
            });
            Ok(expr!(nearest < 0))
        })?;
        Ok(nearest.into())
    }

    /// Stores an `i32` into shared memory.
    fn store_i32(&mut self, buffer: Var, index: Operand, value: impl Into<Expr>) {
        let narrow = Expr::convert(ConvOp::SExt, PrimType::I64, PrimType::I32, value.into());
        self.emit(Stmt::Store(element_of_buffer(buffer, PrimType::I32, index), narrow));
    }

    /// Combines the inclusive prefix in `carries` with the aggregates of the tiles after `nearest`,
    /// from left to right, in the first thread; all threads load the aggregates.
    fn add_aggregates(
        &mut self,
        at: BlockTile<'_>,
        (aggregates, nearest): (&[Var], Operand),
        carries: &[Var],
    ) -> Result {
        let BlockTile { tiled, shared_buffers, tile, thread } = at;
        let (size, types) = (self.schedule.layout.block, &tiled.types);
        bind!(first = self(nearest + 1));
        bind!(count = self(tile.number - first));
        let rounds = div_up(count, size);
        emit!(for round in self(0..rounds) {
            bind!(before = self(round * size));
            bind!(rest = self(count - before));
            emit!(if self(thread < rest) {
                let other = first + (before + thread);
                let aggregates = self.load_all(aggregates, types, other, "aggregate");
                self.store_all(&shared_buffers.part, types, thread, &aggregates);
            });
            self.barrier();
            self.first_thread(thread, |g| {
                let to = min(rest, size);
                emit!(for k in g(0..to) {
                    let aggregates = g.load_all(&shared_buffers.part, types, k, "aggregate");
                    g.combine(&tiled.operators, carries, &aggregates)?;
                });
                Ok(())
            })?;
            self.barrier();
        });
        Ok(())
    }
}
