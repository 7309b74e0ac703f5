//! Segops that update accumulators with an operator, as their decomposition says: in place if there
//! is one chunk, otherwise each chunk in private copies.
//!
//! ```text
//! segmap (i < n) { .. acc by op .. }
//!   chunks = clamp(n / max(grain, bins / writes), 1, max)
//!   if chunks <= 1: for i < n { <body>; d[k] = op d[k] v; out[i] = .. }
//!   else for tasks c < chunks
//!          own[c][..] = ne; for i in chunk { <body>; own[c][k] = op own[c][k] v; out[i] = .. }
//!        for tasks over k < bins: for c < chunks: d[k] = op d[k] own[c][k]
//! ```

use super::reduce::Operators;
use super::segops::SegSpace;
use crate::Result;
use crate::accs::{AccTarget, PrivateCopies};
use crate::bins::Bins;
use crate::cpu::CpuSchedule;
use crate::mems::Param;
use crate::schedule::Generator;
use imp::build::{Operand, max};
use imp::{Expr, MemoryId, Stmt, Var, bind, emit};
use std::rc::Rc;

impl Generator<'_, CpuSchedule> {
    /// A segop that maps, may reduce, and updates accumulators with an operator.
    pub(crate) fn seg_accumulating(
        &mut self,
        pat: &[Param],
        space: &SegSpace<'_>,
        operators: &Operators<'_>,
    ) -> Result {
        let (reduced, fold) = operators.reduction(pat, space);
        let (mapped, types) = (fold.mapped, fold.types);
        let targets = self.combining_accs(mapped);
        let mut bins = Vec::with_capacity(targets.len());
        let mut largest = Expr::i64(1);
        for (_, target) in &targets {
            let bin = self.bins_of_acc(target, 0)?;
            largest = max(largest, bin.size);
            bins.push(bin);
        }
        let decomp = space.decomp;
        bind!(n = self(space.width));
        let iterations = largest / i64::from(decomp.updates_per_iteration.max(1));
        let grain = self.grain_size(decomp, n)?;
        bind!(grain = self(max(iterations, grain)));
        let chunks = self.n_chunks(n, grain, decomp.max_chunks);
        let partials = self.partials("partial", types, chunks, decomp.max_chunks, space.prov);

        emit!(if self(chunks <= 1) {
            let accs = self.reduce_chunk(&fold, 0.into(), n)?;
            self.store_all(&partials, types, 0, &accs);
        } else {
            let own = self.alloc_copies(&bins, chunks, space.prov);
            let cost = self.cost(space)?;
            let mut distinct = self.unaliased_blocks(mapped, space.body)?;
            distinct.extend(&partials);
            self.for_tasks(("segacc", space.prov), chunks, cost, distinct, |g, c| {
                let (lo, hi) = g.bounds(n, chunks, c);
                for (((token, target), bin), buffers) in targets.iter().zip(&bins).zip(&own) {
                    let base = g.init_copy(bin, buffers, c)?;
                    let own = PrivateCopies { buffers: buffers.clone(), base };
                    let copy = AccTarget { private: Some(own), ..AccTarget::clone(target) };
                    g.accs.insert(*token, Rc::new(copy));
                }
                let accs = g.reduce_chunk(&fold, lo, hi)?;
                for (token, target) in &targets {
                    g.accs.insert(*token, Rc::clone(target));
                }
                g.store_all(&partials, types, c, &accs);
                Ok(())
            })?;
            for (bin, buffers) in bins.iter().zip(&own) {
                self.combine_bin_copies(space, bin, buffers, chunks)?;
            }
            for &buffer in own.iter().flatten() {
                self.emit(Stmt::Release(buffer));
            }
        });

        let accs = self.load_all(&partials, types, 0, "acc");
        if !types.is_empty() {
            emit!(for c in self(1..chunks) {
                let values = self.load_all(&partials, types, c, "part");
                self.combine(fold.operators, &accs, &values)?;
            });
        }
        self.release_all(&partials);
        self.set_vars(reduced, accs);
        Ok(())
    }

    /// Allocates buffers for one copy of the bins per chunk.
    pub(crate) fn alloc_copies(
        &mut self,
        bins: &[Bins<'_>],
        copies: Operand,
        prov: ir::Prov,
    ) -> Vec<Vec<Var>> {
        let mut own = Vec::with_capacity(bins.len());
        for bin in bins {
            let mut buffers = Vec::with_capacity(bin.types.len());
            for &ty in &bin.types {
                let buffer = self.owned(MemoryId::Host, "private");
                let elements = copies * bin.size;
                let bytes = elements * ty.size() as i64;
                self.alloc(buffer, bytes, prov);
                buffers.push(buffer);
            }
            own.push(buffers);
        }
        own
    }

    /// Fills a chunk's copy with neutral elements; returns the position of its first one.
    pub(crate) fn init_copy(&mut self, bin: &Bins<'_>, buffers: &[Var], chunk: Var) -> Result<Operand> {
        bind!(base = self(chunk * bin.size));
        let neutral = self.neutral(&[bin.op], &bin.types)?;
        emit!(for b in self.independent(0..bin.size) {
            let index = base + b;
            self.store_all(buffers, &bin.types, index, &neutral);
        });
        Ok(base)
    }
}
