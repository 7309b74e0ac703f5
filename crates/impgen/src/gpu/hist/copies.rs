//! Histograms with more bins than fit into shared memory, with several copies of the bins in device
//! memory that are combined in the end. With atomic operators, all updates go to the histogram
//! itself unless many threads would collide. With others, chunks of iterations run sequentially,
//! one thread each, with a private copy of the bins; their number depends on sizes only.

use super::{Bins, Hists};
use crate::function::Gen;
use crate::operators::element_of_buffer;
use imp::build::{add, binary, compare, div, max, min, mul, sub};
use imp::{Expr, Stmt, Var};
use ir::{PassError, Prov};
use prim::{BinOp, CmpOp, PrimType};

/// Copies of a histogram's bins of all segments.
struct Copies {
    /// One array for each value of an operand.
    arrays: Vec<Var>,
    /// The number of bins of a copy.
    count: Expr,
}

impl Gen<'_, '_> {
    /// Atomic updates of bins in device memory.
    pub(super) fn hist_global_atomic(
        &mut self,
        hists: &Hists<'_>,
        operators: &[(BinOp, PrimType)],
    ) -> Result<(), PassError> {
        let (bins, dims, prov) = (&hists.bins, hists.dims(), hists.prov);
        let device = self.layout();
        let all = max(hists.all_bins(), Expr::i64(1));
        let meeting = mul(all, Expr::i64(device.bins.contention));
        let meeting = self.bind_value(meeting, PrimType::I64, "meeting");
        let copies = min(
            div(Expr::i64(device.blocks * device.block), meeting.clone()),
            div(hists.iterations.clone(), meeting),
        );
        let copies = self.bind_value(copies, PrimType::I64, "copies");
        let several = self.collect(|g| {
            let made = g.init_copies(hists, &copies)?;
            g.each_iteration(("seghist", prov), hists.iterations.clone(), |g, iteration| {
                let block = div(iteration.clone(), Expr::i64(device.block));
                let copy = binary(BinOp::UMod, block, copies.clone());
                let copy = g.bind_value(copy, PrimType::I64, "copy");
                g.delinearise(dims, &iteration)?;
                g.each_update(hists, |g, k, index, values| {
                    let ((op, elem), Copies { arrays, count }) = (operators[k], &made[k]);
                    let position = add(mul(copy.clone(), count.clone()), bins[k].position(index));
                    let value = g.atom(values[0])?;
                    g.atomic_update(element_of_buffer(arrays[0], elem, position), op, value);
                    Ok(())
                })
            })?;
            g.combine_all(hists, &made, &copies)
        })?;
        let one = self.collect(|g| {
            g.each_iteration(("seghist", prov), hists.iterations.clone(), |g, iteration| {
                g.delinearise(dims, &iteration)?;
                g.atomic_updates(hists.seg, hists.ops, bins, operators)
            })
        })?;
        let is_more = compare(CmpOp::SLt, Expr::i64(1), copies);
        self.emit(Stmt::If(is_more, several, one));
        Ok(())
    }

    /// Any operators: each thread runs a chunk of iterations, with a private copy of the bins.
    pub(super) fn hist_private_chunks(&mut self, hists: &Hists<'_>) -> Result<(), PassError> {
        let device = self.layout();
        let n = hists.iterations.clone();
        let grain = max(hists.all_bins(), self.thread_grain_size(hists.seg)?);
        let threads = Expr::i64(device.blocks * device.segment_iterations);
        let chunks = max(min(div(n.clone(), grain), threads), Expr::i64(1));
        let chunks = self.bind_value(chunks, PrimType::I64, "chunks");
        let made = self.init_copies(hists, &chunks)?;
        self.each_iteration(("seghist", hists.prov), chunks.clone(), |g, chunk| {
            let (from, to) = g.bounds(n, chunks.clone(), chunk.clone());
            g.for_seq("iteration", from, to, false, |g, iteration| {
                g.delinearise(hists.dims(), &Expr::Var(iteration))?;
                g.each_update(hists, |g, k, index, values| {
                    let (hist, Copies { arrays, count }) = (&hists.bins[k], &made[k]);
                    let position = add(mul(chunk.clone(), count.clone()), hist.position(index));
                    let position = g.bind_value(position, PrimType::I64, "bin");
                    let olds = g.load_all(arrays, &hist.types, position.clone(), "old");
                    let values = g.copy_operands(values, &hist.types)?;
                    g.combine(&[hist.op], &olds, &values)?;
                    g.store_all(arrays, &hist.types, position, &olds);
                    Ok(())
                })
            })
        })?;
        self.combine_all(hists, &made, &chunks)
    }

    /// Allocates `copies` copies of all bins, filled with the neutral elements.
    fn init_copies(&mut self, hists: &Hists<'_>, copies: &Expr) -> Result<Vec<Copies>, PassError> {
        let mut made = Vec::with_capacity(hists.bins.len());
        for hist in &hists.bins {
            let count = mul(hists.segments.clone(), hist.per_segment.clone());
            let count = self.bind_value(count, PrimType::I64, "count");
            let all = mul(copies.clone(), count.clone());
            let all = self.bind_value(all, PrimType::I64, "bins");
            let arrays = self.device_arrays("copies", &hist.types, &all, hists.prov);
            self.each_iteration(("seghist.start", hists.prov), all, |g, bin| {
                let neutral = g.neutral(&[hist.op], &hist.types)?;
                g.store_all(&arrays, &hist.types, bin, &neutral);
                Ok(())
            })?;
            made.push(Copies { arrays, count });
        }
        Ok(made)
    }

    /// Combines the copies with the histograms, and releases them.
    fn combine_all(&mut self, hists: &Hists<'_>, made: &[Copies], copies: &Expr) -> Result<(), PassError> {
        for (hist, Copies { arrays, count }) in hists.bins.iter().zip(made) {
            self.combine_copies(hist, arrays, (&Expr::i64(1), copies, count), hists.prov)?;
            self.release_arrays(arrays);
        }
        Ok(())
    }

    /// Combines each bin with the copies of its segment, in their order; the copies are row-major
    /// by segment, copy and bin. A group of threads combines one bin; its size is such that each
    /// thread has a few copies.
    pub(super) fn combine_copies(
        &mut self,
        hist: &Bins<'_>,
        arrays: &[Var],
        (segments, copies, own): (&Expr, &Expr, &Expr),
        prov: Prov,
    ) -> Result<(), PassError> {
        let all = mul(segments.clone(), own.clone());
        let all = self.bind_value(all, PrimType::I64, "bins");
        let group = self.group_for(copies);
        let blocks = self.blocks_for(&group, &all);
        self.kernel(("seghist.total", prov), blocks, |g, block| {
            let part = g.shared_arrays("part", &hist.types);
            g.threads(|g, thread| {
                let member = g.member(&group, (block, &thread), &all);
                let accs = g.neutral(&[hist.op], &hist.types)?;
                g.if_in_bounds(&member, |g| {
                    let bin = member.chunk.clone();
                    let before = mul(div(bin.clone(), own.clone()), own.clone());
                    let others = mul(before, sub(copies.clone(), Expr::i64(1)));
                    let first = g.bind_value(add(bin, others), PrimType::I64, "first");
                    let among = (&member.index, &group.threads);
                    let range = (&Expr::i64(0), copies);
                    g.distribute_among(range, false, among, |g, copy| {
                        let position = add(first, mul(copy, own.clone()));
                        let values = g.load_all(arrays, &hist.types, position, "copy");
                        g.combine(&[hist.op], &accs, &values)
                    })
                })?;
                let halvings = group.log2_threads.clone();
                g.reduce_group((&[hist.op], &hist.types), &part, &accs, (&thread, halvings))?;
                g.if_in_bounds(&member, |g| {
                    g.first_thread(&member.index, |g| {
                        let total = g.load_all(&part, &hist.types, thread, "total");
                        g.add_to_bin(hist, &member.chunk, &total)
                    })
                })
            })
        })
    }

    /// Combines a bin with values, in a single thread.
    pub(super) fn add_to_bin(
        &mut self,
        hist: &Bins<'_>,
        bin: &Expr,
        values: &[Var],
    ) -> Result<(), PassError> {
        let elements = self.destination_elements(hist, bin)?;
        self.combine_elements(hist.op, elements, values)
    }
}
