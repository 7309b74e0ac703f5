//! Histograms with too many bins for private copies, by range partitioning: every task runs all
//! iterations and makes the updates of its own range of the bins, in the order of the iterations.
//! So the result equals that of a single task, for any number of tasks, and nothing is copied.
//!
//! ```text
//! seghist (i < n) (op, ne, dest[m])
//!   for lo in 0 .. m tasks slices clamp(n / grain, 1, max) to hi few
//!     if lo .. hi is 0 .. m: for i < n { <body>; dest[b] = op dest[b] x }
//!     else for each strip of L iterations
//!            for each block of W in it
//!              for w < W: <body>; b[w], x[w] = results; mine[w] = lo <= b[w] < hi
//!              list[kept ..] = pack (numbers of the block's iterations) mine;  kept += count mine
//!            for k < kept: dest[b[list[k]]] = op dest[b[list[k]]] x[list[k]]
//!          the remaining iterations one by one
//! ```
//!
//! Needs: a body that is cheap and has the same results in every task, as all tasks run it.
//! Iterations of other tasks are sorted out before the updates, in lanes and without a branch,
//! which would be mispredicted for every second iteration.

use super::segops::SegSpace;
use super::strip_mine;
use crate::Result;
use crate::accs::inside;
use crate::bins::Bins;
use crate::cpu::CpuSchedule;
use crate::operators::element_of_buffer;
use crate::schedule::Generator;
use imp::build::{Operand, and, ult};
use imp::{Expr, LaneAccess, LanePositions, MaskedOff, MemoryId, Stmt, Var, bind, emit};
use ir::syntax::Atom;
use prim::{BinOp, ConvOp, PrimType};

/// Iterations of a strip. The latency of the updates and the branch misprediction at the end of a
/// strip are amortised over this many; the results of a strip stay in the first-level cache.
const STRIP: i64 = 256;
/// Iterations of a block: the lanes of a vector of iteration numbers.
const BLOCK: u32 = 16;
/// The type of iteration numbers within a strip.
const NUMBER: PrimType = PrimType::I32;

/// The arrays of a strip.
struct Strip<'r> {
    /// The results of the body that are not constants, with their types.
    results: Vec<(Atom, PrimType)>,
    /// The values of these results for all iterations of the strip.
    arrays: Vec<Var>,
    /// For each iteration of a block: true if its bin belongs to the task.
    own_mask: Var,
    /// The numbers of the strip's iterations whose bins belong to the task.
    own_list: Var,
    hist: &'r Bins<'r>,
    /// The task's bins, as bounds of the outermost index.
    range: (Operand, Expr),
}

impl Generator<'_, CpuSchedule> {
    /// Returns true if each task may take a range of the bins and run all iterations.
    pub(super) fn can_range_partition(&self, space: &SegSpace<'_>) -> bool {
        space.independent && !strip_mine::pays_off(space) && !self.in_task()
    }

    /// All updates of the iterations `0..n`.
    pub(super) fn range_partitioned(&mut self, space: &SegSpace<'_>, hist: &Bins<'_>, n: Operand) -> Result {
        let Some(outer) = hist.extents.first().copied() else {
            let all = (0.into(), n);
            return self.update_chunk(space, std::slice::from_ref(hist), all, None);
        };
        let decomp = space.decomp;
        let grain = self.grain_size(decomp, n)?;
        let count = self.n_chunks(n, grain, decomp.max_chunks);
        let cost = self.cost(space)?;
        let cut = (outer, count, true);
        self.for_slices(("seghist", space.prov), cut, cost, Vec::new(), |g, lo, hi| {
            emit!(if g(lo == 0 && &hi == outer) {
                g.update_chunk(space, std::slice::from_ref(hist), (0.into(), n), None)?;
            } else {
                g.update_range(space, hist, n, (lo, hi))?;
            });
            Ok(())
        })
    }

    /// The updates of one range of the bins.
    fn update_range(
        &mut self,
        space: &SegSpace<'_>,
        hist: &Bins<'_>,
        n: Operand,
        range: (Operand, Expr),
    ) -> Result {
        let index = hist.extents.iter().map(|_| PrimType::I64);
        let types: Vec<PrimType> = index.chain(hist.types.iter().copied()).collect();
        let results = space.body.result.iter().copied().zip(types);
        let results: Vec<(Atom, PrimType)> =
            results.filter(|(result, _)| matches!(result, Atom::Var(_))).collect();
        let of_results: Vec<PrimType> = results.iter().map(|(_, ty)| *ty).collect();
        let width = i64::from(BLOCK);
        let tile = Strip {
            arrays: self.lane_arrays("strip", &of_results, STRIP),
            own_mask: self.frame_array(MemoryId::Host, "mine", PrimType::Bool, width),
            own_list: self.frame_array(MemoryId::Host, "list", NUMBER, STRIP + width),
            results,
            hist,
            range,
        };
        bind!(strips = self(n / STRIP));
        emit!(for strip in self(0..strips) {
            bind!(first = self(strip * STRIP));
            let kept = self.collect_own(space, &tile, first)?;
            emit!(for k in self(0..kept) {
                self.update_collected(space, &tile, first, k)?;
            });
        });
        bind!(rest = self(strips * STRIP));
        self.iterations(&space.sequential(), rest, n, |g, atoms| {
            let mine = g.is_own_bin(&tile, &atoms)?;
            emit!(if g(mine) {
                g.update_bins(std::slice::from_ref(hist), &atoms, None)?;
            });
            Ok(())
        })
    }

    /// Runs a strip's iterations from `first` on, and lists the ones whose bins belong to the task.
    /// Returns a variable with the length of the list.
    fn collect_own(&mut self, space: &SegSpace<'_>, strip: &Strip<'_>, first: Operand) -> Result<Var> {
        let width = i64::from(BLOCK);
        let types: Vec<PrimType> = strip.results.iter().map(|(_, ty)| *ty).collect();
        let kept = self.scalar(PrimType::I64, "kept");
        self.set(kept, 0);
        let blocks = Expr::i64(STRIP / i64::from(BLOCK));
        emit!(for block in self(0..blocks) {
            bind!(start = self(block * width));
            emit!(for w in self.independent(0..width) {
                let number = start + w;
                self.set_index(space.index, first + number.clone());
                self.iteration(space.body, |g, atoms| {
                    let mine = g.is_own_bin(strip, &atoms)?;
                    g.emit(Stmt::Store(element_of_buffer(strip.own_mask, PrimType::Bool, w), mine));
                    let results: Vec<Atom> = strip.results.iter().map(|(atom, _)| *atom).collect();
                    let values = g.copy_operands(&results, &types)?;
                    g.store_all(&strip.arrays, &types, number, &values);
                    Ok(())
                })?;
            });
            let mine = self.frame_vector(strip.own_mask, PrimType::Bool, (BLOCK, 0), "mine");
            let start = Expr::convert(ConvOp::ZExt, PrimType::I64, NUMBER, start.into());
            let numbers = Expr::binary(
                BinOp::Add,
                NUMBER,
                Expr::LaneIds(NUMBER, BLOCK),
                Expr::Splat(BLOCK, Box::new(start)),
            );
            self.emit(Stmt::StoreLanes {
                to: LaneAccess {
                    buffer: strip.own_list,
                    elem: NUMBER,
                    lanes: BLOCK,
                    at: LanePositions::Unit(Expr::Var(kept)),
                    masked_off: MaskedOff::Skip,
                },
                value: Expr::Pack(Box::new(numbers), Box::new(mine.into())),
                mask: None,
            });
            let more = Expr::Count(Box::new(mine.into()));
            self.set(kept, kept + more);
        });
        Ok(kept)
    }

    /// The update of the iteration at position `k` of the list.
    fn update_collected(
        &mut self,
        space: &SegSpace<'_>,
        strip: &Strip<'_>,
        first: Operand,
        k: Var,
    ) -> Result {
        let number = self.scalar(NUMBER, "number");
        self.emit(Stmt::Load(number, element_of_buffer(strip.own_list, NUMBER, k)));
        bind!(number = self(Expr::convert(ConvOp::ZExt, NUMBER, PrimType::I64, Expr::Var(number))));
        self.set_index(space.index, first + number);
        let (atoms, types): (Vec<Atom>, Vec<PrimType>) = strip.results.iter().copied().unzip();
        let values = self.load_all(&strip.arrays, &types, number, "result");
        self.with_vars(&atoms, &values, |g| {
            let hist = std::slice::from_ref(strip.hist);
            g.update_bins(hist, &space.body.result, None)
        })
    }

    /// The condition that an iteration's bin, as given by its results, exists and belongs to the
    /// task.
    fn is_own_bin(&self, strip: &Strip<'_>, results: &[Atom]) -> Result<Expr> {
        let extents = &strip.hist.extents;
        let index = self.atoms(&results[..extents.len()])?;
        let (lo, hi) = &strip.range;
        let mine = ult(index[0] - *lo, hi - *lo);
        Ok(and(inside(&index[1..], &extents[1..]), mine))
    }
}
