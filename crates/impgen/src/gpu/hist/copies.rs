//! Histograms with more bins than fit into shared memory, with several copies of the bins in device
//! memory that are combined in the end. With atomic operators, all updates go to the histogram
//! itself unless many threads would collide. With others, chunks of iterations run sequentially,
//! one thread each, with a private copy of the bins; their number depends on sizes only.

use super::Hists;
use crate::Result;
use crate::bins::Bins;
use crate::gpu::DeviceSchedule;
use crate::operators::element_of_buffer;
use crate::schedule::Generator;
use imp::build::{Operand, max, min};
use imp::{Expr, Var, bind, emit};
use ir::Prov;
use prim::{BinOp, PrimType};

/// Copies of a histogram's bins of all segments.
struct Copies {
    /// One array for each value of an operand.
    arrays: Vec<Var>,
    /// The number of bins of a copy.
    count: Operand,
}

impl Generator<'_, DeviceSchedule> {
    /// Atomic updates of bins in device memory.
    pub(super) fn hist_global_atomic(
        &mut self,
        hists: &Hists<'_>,
        operators: &[(BinOp, PrimType)],
    ) -> Result {
        let (bins, dims, prov) = (&hists.bins, hists.dims(), hists.prov);
        let device = self.schedule.layout;
        let all = max(hists.all_bins(), 1);
        bind!(meeting = self(all * device.bins.contention));
        bind!(copies = self(min((device.blocks * device.block) / meeting, hists.iterations / meeting)));
        emit!(if self(1 < copies) {
            let made = self.init_copies(hists, copies)?;
            self.each_iteration(("seghist", prov), hists.iterations, |g, iteration| {
                let block = iteration / device.block;
                bind!(copy = g(block % copies));
                g.delinearise(dims, iteration)?;
                g.each_update(hists, |g, k, index, values| {
                    let ((op, elem), Copies { arrays, count }) = (operators[k], &made[k]);
                    let position = copy * *count + bins[k].position(index);
                    let value = g.atom(values[0])?;
                    g.atomic_update(element_of_buffer(arrays[0], elem, position), op, value);
                    Ok(())
                })
            })?;
            self.combine_all(hists, &made, copies)?;
        } else {
            self.each_iteration(("seghist", prov), hists.iterations, |g, iteration| {
                g.delinearise(dims, iteration)?;
                g.atomic_updates(hists.seg, bins, operators)
            })?;
        });
        Ok(())
    }

    /// Any operators: each thread runs a chunk of iterations, with a private copy of the bins.
    pub(super) fn hist_private_chunks(&mut self, hists: &Hists<'_>) -> Result {
        let device = self.schedule.layout;
        let n = hists.iterations;
        let grain = max(hists.all_bins(), self.thread_grain_size(hists.seg)?);
        let threads = Expr::i64(device.blocks * device.segment_iterations);
        bind!(chunks = self(max(min(n / grain, threads), 1)));
        let made = self.init_copies(hists, chunks)?;
        self.each_iteration(("seghist", hists.prov), chunks, |g, chunk| {
            let (from, to) = g.bounds(n, chunks, chunk);
            emit!(for iteration in g(from..to) {
                g.delinearise(hists.dims(), iteration.into())?;
                g.each_update(hists, |g, k, index, values| {
                    let (hist, Copies { arrays, count }) = (&hists.bins[k], &made[k]);
                    let position = g.bind(chunk * *count + hist.position(index), "bin");
                    let olds = g.load_all(arrays, &hist.types, position, "old");
                    let values = g.copy_operands(values, &hist.types)?;
                    g.combine(&[hist.op], &olds, &values)?;
                    g.store_all(arrays, &hist.types, position, &olds);
                    Ok(())
                })?;
            });
            Ok(())
        })?;
        self.combine_all(hists, &made, chunks)
    }

    /// Allocates `copies` copies of all bins, filled with the neutral elements.
    fn init_copies(&mut self, hists: &Hists<'_>, copies: Operand) -> Result<Vec<Copies>> {
        let mut made = Vec::with_capacity(hists.bins.len());
        for hist in &hists.bins {
            bind!(count = self(hists.segments * hist.size));
            let all = self.bind(copies * count, "bins");
            let arrays = self.device_arrays("copies", &hist.types, all, hists.prov);
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
    fn combine_all(&mut self, hists: &Hists<'_>, made: &[Copies], copies: Operand) -> Result {
        for (hist, Copies { arrays, count }) in hists.bins.iter().zip(made) {
            self.combine_copies(hist, arrays, (1.into(), copies, *count), hists.prov)?;
            self.release_all(arrays);
        }
        Ok(())
    }

    /// Combines each bin with the copies of its segment, in their order; the copies are row-major
    /// by segment, copy and bin. A group of threads combines one bin; its size is such that each
    /// thread has a few copies.
    pub(in crate::gpu) fn combine_copies(
        &mut self,
        hist: &Bins<'_>,
        arrays: &[Var],
        (segments, copies, own): (Operand, Operand, Operand),
        prov: Prov,
    ) -> Result {
        let all = self.bind(segments * own, "bins");
        let group = self.group_for(copies);
        let blocks = self.blocks_for(&group, all);
        self.kernel(("seghist.total", prov), blocks, |g, block| {
            let part = g.shared_arrays("part", &hist.types);
            g.threads(|g, thread| {
                let member = g.member(&group, (block, thread), all);
                let accs = g.neutral(&[hist.op], &hist.types)?;
                g.if_in_bounds(&member, |g| {
                    let bin = member.chunk;
                    let before = bin / own * own;
                    let others = before * (copies - 1);
                    bind!(first = g(bin + others));
                    let among = (member.index, group.threads);
                    g.distribute_among((0, copies), false, among, |g, copy| {
                        let position = first + copy * own;
                        let values = g.load_all(arrays, &hist.types, position, "copy");
                        g.combine(&[hist.op], &accs, &values)
                    })
                })?;
                let halvings = group.log2_threads;
                g.reduce_group((&[hist.op], &hist.types), &part, &accs, (thread, halvings))?;
                g.if_in_bounds(&member, |g| {
                    g.first_thread(member.index, |g| {
                        let total = g.load_all(&part, &hist.types, thread, "total");
                        g.add_to_bin(hist, member.chunk, &total)
                    })
                })
            })
        })
    }

    /// Combines a bin with values, in a single thread.
    pub(super) fn add_to_bin(&mut self, hist: &Bins<'_>, bin: Operand, values: &[Var]) -> Result {
        let elements = self.destination_elements(hist, bin)?;
        self.combine_elements(hist.op, elements, values)
    }
}
