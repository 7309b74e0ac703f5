//! The look-back of tiles: aggregates, inclusive prefixes, and their signals.

use super::thread_runs::Run;
use super::{AGGREGATE, PREFIX, Published, SharedBuffers, Tile, Tiled, equals};
use crate::function::Gen;
use crate::operators::{div_up, element_of_buffer};
use imp::build::{add, and, compare, max, min, mul, sub};
use imp::device::RELEASE_TYPE;
use imp::{DeviceOp, Expr, Stmt, Var};
use ir::PassError;
use prim::{CmpOp, ConvOp, PrimType, Scalar};

impl Gen<'_, '_> {
    /// Signals the tile's aggregate, computes its exclusive prefix by look-back, and signals its
    /// inclusive prefix. Returns the exclusive prefix of the thread's iterations since the
    /// beginning of their segment.
    pub(super) fn look_back(
        &mut self,
        tiled: &Tiled<'_>,
        shared_buffers: &SharedBuffers,
        tile: &Tile,
        (run, thread): (&Run, &Expr),
    ) -> Result<Vec<Var>, PassError> {
        let operators = &tiled.operators;
        let lasts = self.tile_aggregate(tiled, shared_buffers, tile)?;
        self.first_thread(thread, |g| {
            let prefix = g.collect(|g| g.signal(tiled, tile, PREFIX, &lasts))?;
            let aggregate = g.collect(|g| g.signal(tiled, tile, AGGREGATE, &lasts))?;
            g.emit(Stmt::If(tile.has_segment_start.clone(), prefix, aggregate));
            Ok(())
        })?;
        let left_values = self.run_prefix(tiled, shared_buffers, (run, thread))?;
        let carries = match &tiled.published {
            Published::StatusWords(words) => {
                self.prefix_from_words(tiled, shared_buffers, tile, (words, thread))?
            }
            Published::Elements { aggregates, inclusive_prefixes: prefixes } => {
                self.prefix_from_elements(tiled, shared_buffers, tile, (aggregates, prefixes, thread))?
            }
        };
        self.first_thread(thread, |g| {
            let body = g.collect(|g| {
                let prefixes = g.copied(&tiled.types, &carries, "prefix");
                g.combine(operators, &prefixes, &lasts)?;
                g.signal(tiled, tile, PREFIX, &prefixes)
            })?;
            g.emit(Stmt::If(tile.has_segment_start.clone(), Vec::new(), body));
            Ok(())
        })?;
        // The thread's first segment began before the tile.
        let body = self.collect(|g| {
            g.combine(operators, &carries, &left_values)?;
            g.set_all(&left_values, &carries);
            Ok(())
        })?;
        let continues = compare(CmpOp::SLt, run.segment_start.clone(), tile.from.clone());
        self.emit(Stmt::If(continues, body, Vec::new()));
        Ok(left_values)
    }

    /// The aggregate of the tile, since the beginning of its last segment.
    fn tile_aggregate(
        &mut self,
        tiled: &Tiled<'_>,
        shared_buffers: &SharedBuffers,
        tile: &Tile,
    ) -> Result<Vec<Var>, PassError> {
        let first = match &tiled.width {
            None => Expr::i64(0),
            Some(_) => {
                let start_thread = self.thread_of(tiled, tile, tile.begin.clone());
                self.subgroup_of(&start_thread)
            }
        };
        let typed_operators = (tiled.operators.as_slice(), tiled.types.as_slice());
        let groups = Expr::i64(self.n_subgroups());
        self.fold_subgroups(typed_operators, &shared_buffers.part, (&first, &groups))
    }

    /// Signals values of the tile.
    fn signal(
        &mut self,
        tiled: &Tiled<'_>,
        tile: &Tile,
        state: i32,
        values: &[Var],
    ) -> Result<(), PassError> {
        let buffers = match &tiled.published {
            Published::StatusWords(words) => return self.publish(tiled, tile, (words, state), values),
            Published::Elements { inclusive_prefixes: prefixes, .. } if state == PREFIX => prefixes,
            Published::Elements { aggregates, .. } => aggregates,
        };
        self.store_all(buffers, &tiled.types, tile.number.clone(), values);
        self.emit(Stmt::Device(DeviceOp::Signal {
            at: element_of_buffer(tiled.state, RELEASE_TYPE, add(tile.number.clone(), Expr::i64(1))),
            value: Expr::Const(Scalar::I32(state)),
        }));
        Ok(())
    }

    /// Inspects the tiles before the block's own, a window of them at a time, until `f` has found a
    /// result. `f` is called with the thread's tile and the condition that there is one, and
    /// returns the condition to go on.
    pub(super) fn look_back_windows(
        &mut self,
        tile: &Tile,
        thread: &Expr,
        f: impl FnOnce(&mut Self, Expr, Expr) -> Result<Expr, PassError>,
    ) -> Result<(), PassError> {
        let window = self.layout().scans.window;
        let (end, continues) = (self.scalar(PrimType::I64, "end"), self.scalar(PrimType::Bool, "continues"));
        self.emit(Stmt::Set(end, tile.number.clone()));
        self.emit(Stmt::Set(continues, tile.continues_segment.clone()));
        let body = self.collect(|g| {
            g.emit(Stmt::Set(end, sub(Expr::Var(end), Expr::i64(window))));
            let other = add(Expr::Var(end), thread.clone());
            let other = g.bind_value(other, PrimType::I64, "other");
            let mut looks = compare(CmpOp::SLe, Expr::i64(0), other.clone());
            if window < g.layout().block {
                looks = and(compare(CmpOp::SLt, thread.clone(), Expr::i64(window)), looks);
            }
            let more = f(g, other, looks)?;
            g.emit(Stmt::Set(continues, more));
            g.barrier();
            Ok(())
        })?;
        self.emit(Stmt::While(continues, body));
        Ok(())
    }

    /// The exclusive prefix of the tile, from element arrays: one thread computes it, all get it.
    fn prefix_from_elements(
        &mut self,
        tiled: &Tiled<'_>,
        shared_buffers: &SharedBuffers,
        tile: &Tile,
        (aggregates, prefixes, thread): (&[Var], &[Var], &Expr),
    ) -> Result<Vec<Var>, PassError> {
        let (operators, types) = (&tiled.operators, &tiled.types);
        let nearest = self.nearest_prefix(tiled, shared_buffers, tile, thread)?;
        let carries = self.neutral(operators, types)?;
        self.first_thread_if_continuing(tile, thread, |g| {
            let prefixes = g.load_all(prefixes, types, nearest.clone(), "prefix");
            g.set_all(&carries, &prefixes);
            Ok(())
        })?;
        self.add_aggregates(tiled, shared_buffers, tile, (aggregates, &nearest, thread), &carries)?;
        self.first_thread_if_continuing(tile, thread, |g| {
            g.store_all(&shared_buffers.part, types, Expr::i64(0), &carries);
            Ok(())
        })?;
        self.barrier();
        let body = self.collect(|g| {
            let loaded = g.load_all(&shared_buffers.part, types, Expr::i64(0), "carry");
            g.set_all(&carries, &loaded);
            Ok(())
        })?;
        self.emit(Stmt::If(tile.continues_segment.clone(), body, Vec::new()));
        Ok(carries)
    }

    /// Emits code that the first thread executes if the tile continues a segment.
    fn first_thread_if_continuing(
        &mut self,
        tile: &Tile,
        thread: &Expr,
        f: impl FnOnce(&mut Self) -> Result<(), PassError>,
    ) -> Result<(), PassError> {
        let body = self.collect(f)?;
        let first = compare(CmpOp::Eq, thread.clone(), Expr::i64(0));
        self.emit(Stmt::If(and(first, tile.continues_segment.clone()), body, Vec::new()));
        Ok(())
    }

    /// The nearest preceding tile with an inclusive prefix; the aggregates of the tiles between are
    /// available. If the tile does not continue a segment, the tile before it.
    fn nearest_prefix(
        &mut self,
        tiled: &Tiled<'_>,
        shared_buffers: &SharedBuffers,
        tile: &Tile,
        thread: &Expr,
    ) -> Result<Expr, PassError> {
        let nearest = self.scalar(PrimType::I64, "nearest");
        self.emit(Stmt::Set(nearest, sub(tile.number.clone(), Expr::i64(1))));
        self.look_back_windows(tile, thread, |g, other, looks| {
            let own = g.scalar(PrimType::I64, "own");
            g.emit(Stmt::Set(own, Expr::i64(-1)));
            let body = g.collect(|g| {
                let state = g.scalar(RELEASE_TYPE, "state");
                g.emit(Stmt::Device(DeviceOp::Await {
                    var: state,
                    at: element_of_buffer(tiled.state, RELEASE_TYPE, add(other.clone(), Expr::i64(1))),
                }));
                let found = vec![Stmt::Set(own, other)];
                g.emit(Stmt::If(equals(state, PREFIX), found, Vec::new()));
                Ok(())
            })?;
            g.emit(Stmt::If(looks, body, Vec::new()));
            let own = Expr::Var(own);
            g.store_i32(shared_buffers.prefix_flags, thread.clone(), own);
            g.subgroup_barrier();
            let steps = Expr::i64(i64::from(g.layout().subgroup.trailing_zeros()));
            g.pairwise_tree((Expr::i64(0), steps), true, thread, |g, other| {
                let left = g.load_i32(shared_buffers.prefix_flags, thread.clone(), "left");
                let right = g.load_i32(shared_buffers.prefix_flags, other, "right");
                g.store_i32(shared_buffers.prefix_flags, thread.clone(), max(left, right));
                Ok(())
            })?;
            g.barrier();
            g.emit(Stmt::Set(nearest, Expr::i64(-1)));
            let (groups, size) = (Expr::i64(g.n_subgroups()), Expr::i64(g.layout().subgroup));
            g.for_seq("group", Expr::i64(0), groups, false, |g, group| {
                let first = mul(Expr::Var(group), size);
                let found = g.load_i32(shared_buffers.prefix_flags, first, "found");
                g.emit(Stmt::Set(nearest, max(Expr::Var(nearest), found)));
                Ok(())
            })?;
            Ok(compare(CmpOp::SLt, Expr::Var(nearest), Expr::i64(0)))
        })?;
        Ok(Expr::Var(nearest))
    }

    /// Stores an `i32` into shared memory.
    fn store_i32(&mut self, buffer: Var, index: Expr, value: Expr) {
        let narrow = Expr::convert(ConvOp::SExt, PrimType::I64, PrimType::I32, value);
        self.emit(Stmt::Store(element_of_buffer(buffer, PrimType::I32, index), narrow));
    }

    /// Combines the inclusive prefix in `carries` with the aggregates of the tiles after `nearest`,
    /// from left to right, in the first thread; all threads load the aggregates.
    fn add_aggregates(
        &mut self,
        tiled: &Tiled<'_>,
        shared_buffers: &SharedBuffers,
        tile: &Tile,
        (aggregates, nearest, thread): (&[Var], &Expr, &Expr),
        carries: &[Var],
    ) -> Result<(), PassError> {
        let (size, types) = (self.layout().block, &tiled.types);
        let first = self.bind_value(add(nearest.clone(), Expr::i64(1)), PrimType::I64, "first");
        let count = sub(tile.number.clone(), first.clone());
        let count = self.bind_value(count, PrimType::I64, "count");
        let rounds = div_up(count.clone(), size);
        self.for_seq("round", Expr::i64(0), rounds, false, |g, round| {
            let before = mul(Expr::Var(round), Expr::i64(size));
            let before = g.bind_value(before, PrimType::I64, "before");
            let rest = g.bind_value(sub(count, before.clone()), PrimType::I64, "rest");
            let body = g.collect(|g| {
                let other = add(first, add(before, thread.clone()));
                let aggregates = g.load_all(aggregates, types, other, "aggregate");
                g.store_all(&shared_buffers.part, types, thread.clone(), &aggregates);
                Ok(())
            })?;
            let inside = compare(CmpOp::SLt, thread.clone(), rest.clone());
            g.emit(Stmt::If(inside, body, Vec::new()));
            g.barrier();
            g.first_thread(thread, |g| {
                let to = min(rest, Expr::i64(size));
                g.for_seq("k", Expr::i64(0), to, false, |g, k| {
                    let aggregates = g.load_all(&shared_buffers.part, types, Expr::Var(k), "aggregate");
                    g.combine(&tiled.operators, carries, &aggregates)
                })
            })?;
            g.barrier();
            Ok(())
        })
    }
}
