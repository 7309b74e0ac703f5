//! Reductions in two kernels: the blocks of the first reduce chunks of the segments, each block of
//! the second combines the partial results of one segment. If each segment is one chunk, the first
//! kernel writes the results; if segments are short, a block has several.
//!
//! ```text
//! block of a chunk    thread: acc = ne; for its iterations { <body>; acc = op acc x }
//!                     part[thread] = acc; part is reduced in pairs of neighbours
//!                     partial[block] = part[0]
//! block of a segment  the same over the partials; result = part[0]
//!
//! group of a segment  the same for 1, 2, 4, .. threads with a few iterations each;
//!                     result = part[first thread of the group]
//! ```
//!
//! If segments share their operands, as in a matrix product, a tiled version is chosen by sizes
//! ([`tiles`](super::tiles)).
//!
//! Neighbours are combined left to right, so operators need not commute. If they do, iterations are
//! assigned to chunks cyclically, as many neighbours at a time as a chunk has threads.

use super::segments::{GroupMember, Segments, ThreadGroup};
use super::tiles::TilingPlan;
use crate::gpu::DeviceSchedule;
use crate::mems::{Operator, Param, ScanReduce, Seg};
use crate::operators::{element_of_buffer, operator_types};
use crate::schedule::Generator;
use crate::{OrBug, Result};
use imp::build::Operand;
use imp::{Expr, MemoryId, Stmt, Var, bind, emit, expr};
use ir::Prov;
use prim::PrimType;

/// The operators and results of a reduction.
pub(super) struct Reduction<'s> {
    pub(super) operators: Vec<&'s Operator>,
    pub(super) types: Vec<PrimType>,
    /// The pattern elements of the results.
    pub(super) pat: &'s [Param],
}

/// Chunks of segments, and the memory of their results.
struct ReductionChunks<'s> {
    segments: Segments<'s>,
    /// The partial results of the chunks, if segments have several.
    partials: Vec<Var>,
    /// The results, if there is one segment.
    totals: Option<Totals>,
}

/// The results of a single segment: all values in one block, so that the host waits for one copy
/// only.
struct Totals {
    block: Var,
    /// For each value, its index in elements of its type.
    offsets: Vec<i64>,
    /// The size of all values in bytes.
    bytes: i64,
}

impl Totals {
    /// The layout of values of these types, the largest first.
    fn of(block: Var, types: &[PrimType]) -> Self {
        let mut order: Vec<usize> = (0..types.len()).collect();
        order.sort_by_key(|&k| std::cmp::Reverse(types[k].size()));
        let (mut offsets, mut bytes) = (vec![0; types.len()], 0);
        for k in order {
            let size = types[k].size() as i64;
            offsets[k] = bytes / size;
            bytes += size;
        }
        Self { block, offsets, bytes }
    }
}

impl<'s> Reduction<'s> {
    pub(super) fn of(scan_reduce: &'s ScanReduce, pat: &'s [Param]) -> Result<Self> {
        let operators: Vec<_> = scan_reduce.reduces.iter().collect();
        let types = operator_types(&operators)?;
        Ok(Self { operators, types, pat })
    }
}

impl Generator<'_, DeviceSchedule> {
    pub(super) fn kernel_reduce(
        &mut self,
        pat: &[Param],
        seg: &Seg,
        scan_reduce: &ScanReduce,
        prov: Prov,
    ) -> Result {
        let (reduced, _) = scan_reduce.results(pat);
        let reduction = Reduction::of(scan_reduce, reduced)?;
        if let Some(plan) = TilingPlan::of_reduction(seg, scan_reduce)
            && self.schedule.fuel.take()
        {
            return self.reduce_in_tiles(pat, seg, (scan_reduce, &reduction), &plan, prov);
        }
        self.reduce_by_blocks(pat, seg, (scan_reduce, &reduction), prov)
    }

    /// A reduction whose blocks, or groups of threads, reduce chunks of segments.
    pub(super) fn reduce_by_blocks(
        &mut self,
        pat: &[Param],
        seg: &Seg,
        (scan_reduce, reduction): (&ScanReduce, &Reduction<'_>),
        prov: Prov,
    ) -> Result {
        let types = &reduction.types;
        let segments = self.reduction_segments(seg)?;
        let all = self.all_chunks(&segments);
        let kept = self.partial_chunks(&segments, all);
        let chunks = ReductionChunks {
            partials: self.device_arrays("partial", types, kept, prov),
            totals: self.alloc_totals(&segments, reduction, prov),
            segments,
        };
        let block = self.whole_block();
        if chunks.segments.outer.is_empty() {
            self.reduce_each(pat, seg, (scan_reduce, reduction), (&chunks, all, &block), prov)?;
        } else {
            let few = self.group_for_segments(&chunks.segments);
            let is_less = expr!(few.log2_threads < block.log2_threads);
            let what = (scan_reduce, reduction);
            emit!(if self(is_less) {
                self.reduce_each(pat, seg, what, (&chunks, all, &few), prov)?;
            } else {
                self.reduce_each(pat, seg, what, (&chunks, all, &block), prov)?;
            });
        }
        emit!(if self(1 < chunks.segments.chunks) {
            self.reduce_partials(&chunks, reduction, prov)?;
        });
        self.release_all(&chunks.partials);
        self.copy_totals_to_host(reduction, chunks.totals.as_ref())
    }

    /// A kernel in which groups of threads reduce one chunk each: to a result if it is a whole
    /// segment, otherwise to a partial result.
    fn reduce_each(
        &mut self,
        pat: &[Param],
        seg: &Seg,
        (scan_reduce, reduction): (&ScanReduce, &Reduction<'_>),
        (chunks, all, group): (&ReductionChunks<'_>, Operand, &ThreadGroup),
        prov: Prov,
    ) -> Result {
        let (_, mapped) = scan_reduce.results(pat);
        let types = &reduction.types;
        let segments = &chunks.segments;
        let any_order = scan_reduce.reduces.iter().all(|op| op.comm);
        let is_whole = expr!(segments.chunks == 1);
        let blocks = self.blocks_for(group, all);
        self.kernel(("segred", prov), blocks, |g, block| {
            let part = g.shared_arrays("part", types);
            g.threads(|g, thread| {
                let own = g.member(group, (block, thread), all);
                let number = own.chunk;
                let (_, chunk) = g.segment_and_chunk(segments, number)?;
                let accs = g.neutral(&reduction.operators, types)?;
                g.if_in_bounds(&own, |g| {
                    let thread_of_group = (own.index, group.threads);
                    let iteration = |g: &mut Self, i| {
                        g.set_index(segments.index, i);
                        g.iteration(&seg.body, |g, results| {
                            let values = scan_reduce.values(&results);
                            let reduced = g.copy_operands(values.reduced, types)?;
                            g.combine(&reduction.operators, &accs, &reduced)?;
                            g.write_elements(mapped, &seg.space.dims, values.mapped)
                        })
                    };
                    if any_order {
                        return g.cyclic(segments, chunk, thread_of_group, iteration);
                    }
                    let (width, chunks) = (segments.width, segments.chunks);
                    let (from, to) = g.bounds(width, chunks, chunk);
                    g.distribute_among((from, to), false, thread_of_group, iteration)
                })?;
                let halvings = group.log2_threads;
                let typed_operators = (reduction.operators.as_slice(), types.as_slice());
                g.reduce_group(typed_operators, &part, &accs, (thread, halvings))?;
                g.if_in_bounds(&own, |g| {
                    g.first_thread(own.index, |g| {
                        let sums = g.load_all(&part, types, thread, "sum");
                        emit!(if g(is_whole) {
                            g.write_total(chunks, reduction, &sums)?;
                        } else {
                            g.store_all(&chunks.partials, types, own.chunk, &sums);
                        });
                        Ok(())
                    })
                })
            })
        })
    }

    /// Emits code that is executed by threads whose group has a chunk.
    pub(super) fn if_in_bounds(&mut self, own: &GroupMember, f: impl FnOnce(&mut Self) -> Result) -> Result {
        let Some(inside) = &own.inside else {
            return f(self);
        };
        let body = self.collect(f)?;
        self.emit(Stmt::If(inside.clone(), body, Vec::new()));
        Ok(())
    }

    /// Reduces the partial results of each segment's chunks to the results, and releases the
    /// former.
    pub(super) fn reduce_chunks(
        &mut self,
        segments: Segments<'_>,
        reduction: &Reduction<'_>,
        partials: Vec<Var>,
        prov: Prov,
    ) -> Result {
        let chunks =
            ReductionChunks { totals: self.alloc_totals(&segments, reduction, prov), segments, partials };
        self.reduce_partials(&chunks, reduction, prov)?;
        self.release_all(&chunks.partials);
        self.copy_totals_to_host(reduction, chunks.totals.as_ref())
    }

    /// Allocates device memory for results that are scalars.
    fn alloc_totals(
        &mut self,
        segments: &Segments<'_>,
        reduction: &Reduction<'_>,
        prov: Prov,
    ) -> Option<Totals> {
        if !segments.outer.is_empty() {
            return None;
        }
        let block = self.owned(MemoryId::Device, "total");
        let totals = Totals::of(block, &reduction.types);
        self.alloc(block, Expr::i64(totals.bytes), prov);
        Some(totals)
    }

    /// Copies results that are scalars to the host.
    fn copy_totals_to_host(&mut self, reduction: &Reduction<'_>, totals: Option<&Totals>) -> Result {
        let Some(totals) = totals else {
            return Ok(());
        };
        let here = self.copy_to_host(totals.block, totals.bytes);
        let types = reduction.types.iter();
        for ((param, &offset), &elem) in reduction.pat.iter().zip(&totals.offsets).zip(types) {
            let var = self.bind_borrowed(param).or_bug("a result of a reduction has no variable")?;
            self.emit(Stmt::Load(var, element_of_buffer(here, elem, offset)));
        }
        self.release_all(&[totals.block]);
        Ok(())
    }

    /// Writes the result of the current segment.
    fn write_total(
        &mut self,
        chunks: &ReductionChunks<'_>,
        reduction: &Reduction<'_>,
        sums: &[Var],
    ) -> Result {
        let Some(totals) = &chunks.totals else {
            return self.store_results(reduction.pat, chunks.segments.outer, sums);
        };
        let types = reduction.types.iter();
        for ((&offset, &elem), &sum) in totals.offsets.iter().zip(types).zip(sums) {
            let to = element_of_buffer(totals.block, elem, offset);
            self.emit(Stmt::Store(to, sum.into()));
        }
        Ok(())
    }

    /// Reduces the partial results of each segment's chunks to the results.
    fn reduce_partials(
        &mut self,
        chunks: &ReductionChunks<'_>,
        reduction: &Reduction<'_>,
        prov: Prov,
    ) -> Result {
        let segments = &chunks.segments;
        let types = &reduction.types;
        let count = segments.count;
        self.kernel(("segred.total", prov), count, |g, block| {
            g.delinearise(segments.outer, block.into())?;
            bind!(from = g(block * segments.chunks));
            bind!(to = g(from + segments.chunks));
            let part = g.shared_arrays("part", types);
            g.threads(|g, thread| {
                let accs = g.neutral(&reduction.operators, types)?;
                g.distribute((from, to), false, thread, |g, i| {
                    let values = g.load_all(&chunks.partials, types, i, "partial");
                    g.combine(&reduction.operators, &accs, &values)
                })?;
                g.reduce_block(reduction, &part, &accs, thread)?;
                g.first_thread(thread, |g| {
                    let sums = g.load_all(&part, types, 0, "sum");
                    g.write_total(chunks, reduction, &sums)
                })
            })
        })
    }

    /// Reduces the threads' values in shared memory, to the first element.
    pub(super) fn reduce_block(
        &mut self,
        reduction: &Reduction<'_>,
        part: &[Var],
        accs: &[Var],
        thread: Operand,
    ) -> Result {
        let halvings = self.whole_block().log2_threads;
        let typed_operators = (reduction.operators.as_slice(), reduction.types.as_slice());
        self.reduce_group(typed_operators, part, accs, (thread, halvings))
    }

    /// Emits code that only thread 0 executes.
    pub(super) fn first_thread(&mut self, thread: Operand, f: impl FnOnce(&mut Self) -> Result) -> Result {
        let body = self.collect(f)?;
        let first = expr!(thread == 0);
        self.emit(Stmt::If(first, body, Vec::new()));
        Ok(())
    }
}
