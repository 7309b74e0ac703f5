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

use super::reduce_chunk::ChunkReduction;
use super::segops::SegSpace;
use crate::function::Gen;
use crate::operators::operator_types;
use imp::build::{max, mul};
use imp::{Expr, Stmt, Var};
use ir::scan_reduce::ScanReduce;
use ir::seg::MIN_GROUPS;
use ir::soac::Operator;
use ir::syntax::Param;
use ir::{Mems, PassError, Prov};
use prim::PrimType;
use target::memory::PARTIAL_BYTES;

impl Gen<'_, '_> {
    pub(crate) fn seg_red(
        &mut self,
        pat: &[Param<Mems>],
        space: &SegSpace<'_>,
        operators: &Operators<'_>,
    ) -> Result<(), PassError> {
        let (reduced, fold) = operators.reduction(pat, space);
        let decomp = space.decomp;
        let n = self.bind_value(space.width.clone(), PrimType::I64, "n");
        let step = self.chunk_step(n.clone(), MIN_GROUPS, decomp.full_group());
        let grain = max(self.grain_size(decomp, &n)?, step.clone());
        let chunks = self.n_chunks(n.clone(), grain, decomp.max_chunks);
        let partials = self.partials("partial", fold.types, &chunks, decomp.max_chunks, space.prov);
        let cost = self.cost(space)?;
        let mut distinct = self.unaliased_blocks(fold.mapped, space.body)?;
        distinct.extend(&partials);
        self.for_tasks("segred", space.prov, chunks.clone(), cost, distinct, |g, chunk| {
            let (lo, hi) = g.stepped_bounds(n, step, chunks.clone(), Expr::Var(chunk));
            let accs = g.reduce_chunk(&fold, lo, hi)?;
            g.store_all(&partials, fold.types, Expr::Var(chunk), &accs);
            Ok(())
        })?;
        let accs = self.load_all(&partials, fold.types, Expr::i64(0), "acc");
        self.for_seq("c", Expr::i64(1), chunks, false, |g, c| {
            let values = g.load_all(&partials, fold.types, Expr::Var(c), "part");
            g.combine(fold.operators, &accs, &values)
        })?;
        self.release_partials(&partials);
        for (param, acc) in reduced.iter().zip(accs) {
            self.set_var(param.name, acc);
        }
        Ok(())
    }

    /// A reduction within one worker: a single chunk, in the current frame.
    pub(crate) fn seg_red_lanes(
        &mut self,
        pat: &[Param<Mems>],
        space: &SegSpace<'_>,
        operators: &Operators<'_>,
    ) -> Result<(), PassError> {
        let (reduced, fold) = operators.reduction(pat, space);
        let n = self.bind_value(space.width.clone(), PrimType::I64, "n");
        let accs = self.reduce_chunk(&fold, Expr::i64(0), n)?;
        for (param, acc) in reduced.iter().zip(accs) {
            self.set_var(param.name, acc);
        }
        Ok(())
    }

    /// Returns buffers with one element of each type for every chunk; they are in the frame if they
    /// are small.
    pub(crate) fn partials(
        &mut self,
        hint: &str,
        types: &[PrimType],
        chunks: &Expr,
        most: i64,
        prov: Prov,
    ) -> Vec<Var> {
        let bytes: u64 = types.iter().map(|ty| ty.size() * most as u64).sum();
        let mut buffers = Vec::with_capacity(types.len());
        for &ty in types {
            buffers.push(if bytes <= PARTIAL_BYTES {
                self.frame_array(hint, ty, most)
            } else {
                let buffer = self.owned(hint);
                let bytes = mul(chunks.clone(), Expr::i64(ty.size() as i64));
                self.emit_alloc(buffer, bytes, prov);
                buffer
            });
        }
        buffers
    }

    /// Releases the buffers that are not in the frame.
    pub(crate) fn release_partials(&mut self, buffers: &[Var]) {
        for &buffer in buffers {
            if self.is_owned(buffer) {
                self.emit(Stmt::Release(buffer));
            }
        }
    }
}

/// The operators of one segop, which are evaluated together.
pub(crate) struct Operators<'s> {
    /// Scans, then reductions.
    pub(crate) all: Vec<&'s Operator<Mems>>,
    /// Their operand types, concatenated.
    pub(crate) types: Vec<PrimType>,
}

impl<'s> Operators<'s> {
    /// The pattern elements of the reduced values, and the fold of a segop that scans nothing.
    pub(crate) fn reduction<'f>(
        &'f self,
        pat: &'f [Param<Mems>],
        space: &'f SegSpace<'f>,
    ) -> (&'f [Param<Mems>], ChunkReduction<'f>) {
        let (reduced, mapped) = pat.split_at(self.types.len());
        let fold = ChunkReduction { mapped, space, operators: &self.all, types: &self.types };
        (reduced, fold)
    }

    /// The operators of a segop.
    pub(crate) fn new(scan_reduce: &'s ScanReduce<Mems>) -> Result<Self, PassError> {
        let all: Vec<_> = scan_reduce.operators().collect();
        let types = operator_types(&all)?;
        Ok(Self { all, types })
    }
}
