//! Histograms with atomic operators, in shared memory.
//!
//! ```text
//! block of a chunk    thread: its bins = ne
//!                     thread: for iterations strided by block { <body>; shared[part, bin] op= x }
//!                     thread: for its bins { histogram[bin] op= shared[0, bin] op shared[1, bin] .. }
//! ```
//!
//! If they fit, the block has several copies of the bins, each used by a part of the threads, as
//! colliding atomic updates are serialised.

use super::{Bins, Hists};
use crate::function::Gen;
use crate::gpu::segments::{Chunk, Segments};
use crate::operators::element_of_buffer;
use imp::build::{add, binary, mul, sub};
use imp::{Expr, Var};
use ir::PassError;
use prim::{BinOp, PrimType};

impl Gen<'_, '_> {
    pub(super) fn hist_in_shared_memory(
        &mut self,
        hists: &Hists<'_>,
        operators: &[(BinOp, PrimType)],
        segments: &Segments<'_>,
        capacity: i64,
    ) -> Result<(), PassError> {
        let bins = &hists.bins;
        let halvings = self.halvings(hists, capacity, self.layout().block.trailing_zeros());
        let parts = binary(BinOp::Shl, Expr::i64(1), halvings);
        let parts = self.bind_value(parts, PrimType::I64, "parts");
        let chunks = self.all_chunks(segments);
        self.kernel(("seghist", hists.prov), chunks, |g, block| {
            let buffers = operators.iter();
            let buffers: Vec<Var> =
                buffers.map(|&(_, elem)| g.shared_tile("shared", elem, capacity)).collect();
            let Chunk { segment, from, to } = g.chunk_of(segments, Expr::Var(block))?;
            g.threads(|g, thread| {
                for (hist, &buffer) in bins.iter().zip(&buffers) {
                    g.init_shared_bins(hist, &[buffer], &parts, &thread)?;
                }
                g.barrier();
                let others = sub(parts.clone(), Expr::i64(1));
                let part = binary(BinOp::And, thread.clone(), others);
                let part = g.bind_value(part, PrimType::I64, "part");
                g.distribute((&from, &to), true, &thread, |g, i| {
                    g.bind_index_to(segments.index, i);
                    g.each_update(hists, |g, k, index, values| {
                        let (hist, (op, elem)) = (&bins[k], operators[k]);
                        let position =
                            add(mul(part.clone(), hist.per_segment.clone()), hist.segment_position(index));
                        let value = g.atom(values[0])?;
                        g.atomic_update(element_of_buffer(buffers[k], elem, position), op, value);
                        Ok(())
                    })
                })?;
                g.barrier();
                for ((hist, &buffer), &(op, _)) in bins.iter().zip(&buffers).zip(operators) {
                    g.distribute((&Expr::i64(0), &hist.per_segment), true, &thread, |g, own| {
                        let total = g.total_of_copies(hist, &[buffer], &parts, &own)?;
                        let bin = g.bin_number(hist, &segment, own);
                        for (element, total) in g.destination_elements(hist, &bin)?.into_iter().zip(total) {
                            g.atomic_update(element, op, Expr::Var(total));
                        }
                        Ok(())
                    })?;
                }
                Ok(())
            })
        })
    }

    /// Fills the copies of the bins in shared memory with the neutral elements.
    pub(super) fn init_shared_bins(
        &mut self,
        hist: &Bins<'_>,
        buffers: &[Var],
        parts: &Expr,
        thread: &Expr,
    ) -> Result<(), PassError> {
        let all = mul(hist.per_segment.clone(), parts.clone());
        self.distribute((&Expr::i64(0), &all), true, thread, |g, index| {
            let neutral = g.neutral(&[hist.op], &hist.types)?;
            g.store_all(buffers, &hist.types, index, &neutral);
            Ok(())
        })
    }

    /// The total of a bin over the copies of a block, from the first to the last.
    pub(super) fn total_of_copies(
        &mut self,
        hist: &Bins<'_>,
        buffers: &[Var],
        parts: &Expr,
        bin: &Expr,
    ) -> Result<Vec<Var>, PassError> {
        let total = self.load_all(buffers, &hist.types, bin.clone(), "total");
        self.for_seq("other", Expr::i64(1), parts.clone(), false, |g, part| {
            let position = add(mul(Expr::Var(part), hist.per_segment.clone()), bin.clone());
            let others = g.load_all(buffers, &hist.types, position, "more");
            g.combine(&[hist.op], &total, &others)
        })?;
        Ok(total)
    }
}
