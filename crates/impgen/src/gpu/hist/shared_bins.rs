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

use super::Hists;
use crate::Result;
use crate::bins::Bins;
use crate::gpu::DeviceSchedule;
use crate::gpu::segments::{Chunk, Segments};
use crate::operators::element_of_buffer;
use crate::schedule::Generator;
use imp::build::{Operand, binary};
use imp::{MemoryId, Var, bind, emit};
use prim::{BinOp, PrimType};

impl Generator<'_, DeviceSchedule> {
    pub(super) fn hist_in_shared_memory(
        &mut self,
        hists: &Hists<'_>,
        operators: &[(BinOp, PrimType)],
        segments: &Segments<'_>,
        capacity: i64,
    ) -> Result {
        let bins = &hists.bins;
        let halvings = self.halvings(hists, capacity, self.schedule.layout.block.trailing_zeros());
        bind!(parts = self(1 << halvings));
        let chunks = self.all_chunks(segments);
        self.kernel(("seghist", hists.prov), chunks, |g, block| {
            let buffers = operators.iter();
            let buffers: Vec<Var> =
                buffers.map(|&(_, elem)| g.frame_array(MemoryId::Shared, "shared", elem, capacity)).collect();
            let Chunk { segment, from, to } = g.chunk_of(segments, block.into())?;
            g.threads(|g, thread| {
                for (hist, &buffer) in bins.iter().zip(&buffers) {
                    g.init_shared_bins(hist, &[buffer], parts, thread)?;
                }
                g.barrier();
                let others = parts - 1;
                bind!(part = g(binary(BinOp::And, thread, others)));
                g.distribute((from, to), true, thread, |g, i| {
                    g.set_index(segments.index, i);
                    g.each_update(hists, |g, k, index, values| {
                        let (hist, (op, elem)) = (&bins[k], operators[k]);
                        let position = part * hist.size + hist.segment_position(index);
                        let value = g.atom(values[0])?;
                        g.atomic_update(element_of_buffer(buffers[k], elem, position), op, value);
                        Ok(())
                    })
                })?;
                g.barrier();
                for ((hist, &buffer), &(op, _)) in bins.iter().zip(&buffers).zip(operators) {
                    g.distribute((0, hist.size), true, thread, |g, own| {
                        let total = g.total_of_copies(hist, &[buffer], parts, own)?;
                        let bin = g.bin_number(hist, segment, own);
                        for (element, total) in g.destination_elements(hist, bin)?.into_iter().zip(total) {
                            g.atomic_update(element, op, total);
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
        parts: Operand,
        thread: Operand,
    ) -> Result {
        let all = hist.size * parts;
        self.distribute((0, all), true, thread, |g, index| {
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
        parts: Operand,
        bin: Operand,
    ) -> Result<Vec<Var>> {
        let total = self.load_all(buffers, &hist.types, bin, "total");
        emit!(for other in self(1..parts) {
            let position = other * hist.size + bin;
            let others = self.load_all(buffers, &hist.types, position, "more");
            self.combine(&[hist.op], &total, &others)?;
        });
        Ok(total)
    }
}
