//! Reductions: partial results per chunk, combined left to right.
//!
//! ```text
//! segred (i < n) (op, ne)   for tasks c < chunks
//!                             acc = ne; for i in chunk { <body>; acc = op acc x }
//!                             partial[c] = acc
//!                           acc = partial[0]; for c in 1..chunks: acc = op acc partial[c]
//! ```
//!
//! For the code of a chunk see [`reduce_chunk`](super::reduce_chunk).

use super::chunk_totals::ChunkTotals;
use super::reduce_chunk::ChunkReduction;
use super::segops::SegSpace;
use crate::Result;
use crate::cpu::CpuSchedule;
use crate::mems::{Operator, Param, ScanReduce};
use crate::operators::operator_types;
use crate::schedule::Generator;
use imp::build::{Operand, max};
use imp::{MemoryId, Var, bind, emit};
use ir::Prov;
use ir::seg::MIN_GROUPS;
use prim::PrimType;
use target::memory::PARTIAL_BYTES;

impl Generator<'_, CpuSchedule> {
    pub(crate) fn seg_red(
        &mut self,
        pat: &[Param],
        space: &SegSpace<'_>,
        operators: &Operators<'_>,
    ) -> Result {
        let (reduced, fold) = operators.reduction(pat, space);
        let decomp = space.decomp;
        bind!(n = self(space.width));
        let step = self.chunk_step(n, MIN_GROUPS, decomp.full_group());
        let grain = max(self.grain_size(decomp, n)?, step);
        let chunks = self.n_chunks(n, grain, decomp.max_chunks);
        let partials = self.partials("partial", fold.types, chunks, decomp.max_chunks, space.prov);
        let cost = self.cost(space)?;
        let mut distinct = self.unaliased_blocks(fold.mapped, space.body)?;
        distinct.extend(&partials);
        self.for_tasks(("segred", space.prov), chunks, cost, distinct, |g, chunk| {
            let (lo, hi) = g.stepped_bounds(n, step, chunks, chunk);
            let accs = g.reduce_chunk(&fold, lo, hi)?;
            g.store_all(&partials, fold.types, chunk, &accs);
            Ok(())
        })?;
        let accs = self.load_all(&partials, fold.types, 0, "acc");
        emit!(for c in self(1..chunks) {
            let values = self.load_all(&partials, fold.types, c, "part");
            self.combine(fold.operators, &accs, &values)?;
        });
        self.release_all(&partials);
        self.set_vars(reduced, accs);
        if are_in_frame(fold.types, decomp.max_chunks) {
            let totals = ChunkTotals::of(space, fold.operators, &partials, (step, chunks));
            self.schedule.totals.extend(totals);
        }
        Ok(())
    }

    /// A reduction within one worker: a single chunk, in the current frame.
    pub(crate) fn seg_red_lanes(
        &mut self,
        pat: &[Param],
        space: &SegSpace<'_>,
        operators: &Operators<'_>,
    ) -> Result {
        let (reduced, fold) = operators.reduction(pat, space);
        bind!(n = self(space.width));
        let accs = self.reduce_chunk(&fold, 0.into(), n)?;
        self.set_vars(reduced, accs);
        Ok(())
    }

    /// Returns buffers with one element of each type for every chunk; they are in the frame if they
    /// are small.
    pub(crate) fn partials(
        &mut self,
        hint: &str,
        types: &[PrimType],
        chunks: Operand,
        most: i64,
        prov: Prov,
    ) -> Vec<Var> {
        let in_frame = are_in_frame(types, most);
        types
            .iter()
            .map(|&ty| {
                if in_frame {
                    self.frame_array(MemoryId::Host, hint, ty, most)
                } else {
                    let buffer = self.owned(MemoryId::Host, hint);
                    let bytes = chunks * ty.size() as i64;
                    self.alloc(buffer, bytes, prov);
                    buffer
                }
            })
            .collect()
    }
}

/// Returns true if the partial results of at most this number of chunks are in the frame.
fn are_in_frame(types: &[PrimType], most: i64) -> bool {
    types.iter().map(|ty| ty.size() * most.unsigned_abs()).sum::<u64>() <= PARTIAL_BYTES
}

/// The operators of one segop, which are evaluated together.
pub(crate) struct Operators<'s> {
    /// Scans, then reductions.
    pub(crate) all: Vec<&'s Operator>,
    /// Their operand types, concatenated.
    pub(crate) types: Vec<PrimType>,
}

impl<'s> Operators<'s> {
    /// The pattern elements of the reduced values, and the fold of a segop that scans nothing.
    pub(crate) fn reduction<'f>(
        &'f self,
        pat: &'f [Param],
        space: &'f SegSpace<'f>,
    ) -> (&'f [Param], ChunkReduction<'f>) {
        let (reduced, mapped) = pat.split_at(self.types.len());
        let fold = ChunkReduction { mapped, space, operators: &self.all, types: &self.types };
        (reduced, fold)
    }

    /// The operators of a segop.
    pub(crate) fn new(scan_reduce: &'s ScanReduce) -> Result<Self> {
        let all: Vec<_> = scan_reduce.operators().collect();
        let types = operator_types(&all)?;
        Ok(Self { all, types })
    }
}
