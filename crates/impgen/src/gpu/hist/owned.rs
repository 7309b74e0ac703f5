//! Histograms with operators that are not atomic: threads own bins.
//!
//! ```text
//! block of a chunk    thread: its bins = ne
//!                     parts of the threads take parts of the chunk, one iteration per thread
//!                     at a time:
//!                       thread: <body>; tag[thread] = bin; value[thread] = x
//!                       thread: for the iterations of its part, if it owns their bins:
//!                                 shared[part, bin] = shared[part, bin] op value
//!                     thread: for its bins: total = shared[0, bin] op shared[1, bin] ..
//!                             histogram[bin] op= total, or copy[chunk, bin] = total
//! ```
//!
//! A bin is owned by the thread whose index in its part is the bin's number modulo the part's size.
//! If shared memory has space for several copies of the bins, the block has as many parts, so that
//! each thread inspects fewer iterations. If a segment has several chunks, the chunks' copies are
//! combined in the end. So each bin combines its values in the order of the iterations.

use super::Hists;
use crate::function::Gen;
use crate::gpu::segments::Segments;
use crate::operators::{div_up_by, element_of_buffer};
use imp::build::{add, and, binary, compare, mul, sub};
use imp::{Expr, Stmt, Var};
use ir::PassError;
use prim::{BinOp, CmpOp, ConvOp, PrimType, Scalar};

/// The type of tags: bin numbers in shared memory.
const TAG: PrimType = PrimType::I32;

/// The distribution of the work over blocks and threads.
struct OwnedLayout<'s> {
    segments: Segments<'s>,
    /// The number of chunks of all segments.
    all: Expr,
    /// The number of bins of each histogram that fit into shared memory.
    capacity: i64,
    /// Iterations that a block runs at a time.
    tile: i64,
    /// The number of parts that the threads running iterations are divided into.
    parts: Expr,
    /// Threads per part.
    members: Expr,
    /// The binary logarithm of the threads per part.
    halvings: Expr,
}

impl OwnedLayout<'_> {
    /// The index in its part of a thread; for a bin, the index of its owner.
    fn index_in_part(&self, number: Expr) -> Expr {
        let others = sub(self.members.clone(), Expr::i64(1));
        binary(BinOp::And, number, others)
    }
}

/// A thread of a part.
struct PartMember {
    /// Its index in the block.
    thread: Expr,
    part: Expr,
    /// Its index in the part.
    index_in_part: Expr,
}

/// The shared-memory buffers of one histogram.
struct SharedBins {
    bins: Vec<Var>,
    /// The bin of each current iteration; negative if it has none.
    tag: Var,
    /// The values of each current iteration.
    value: Vec<Var>,
}

impl Gen<'_, '_> {
    /// Histograms with operators that are not atomic.
    pub(super) fn hist_not_atomic(&mut self, hists: &Hists<'_>) -> Result<(), PassError> {
        let shares = self.shares(hists)?;
        let mut owned = self.collect(|g| g.hist_owned(hists, &shares))?;
        if !shares.segments.outer.is_empty() {
            let in_order = self.collect(|g| g.hist_of_segments(hists, &shares.segments))?;
            let block = Expr::i64(self.layout().block);
            let short = compare(CmpOp::SLt, shares.segments.width.clone(), block);
            owned = vec![Stmt::If(short, in_order, owned)];
        }
        let chunks = self.collect(|g| g.hist_private_chunks(hists))?;
        let fits = compare(CmpOp::SLe, hists.most.clone(), Expr::i64(shares.capacity));
        self.emit(Stmt::If(fits, owned, chunks));
        Ok(())
    }

    /// One thread per segment, which runs its iterations sequentially.
    fn hist_of_segments(&mut self, hists: &Hists<'_>, segments: &Segments<'_>) -> Result<(), PassError> {
        self.each_iteration(("seghist", hists.prov), segments.count.clone(), |g, segment| {
            g.delinearise(segments.outer, &segment)?;
            g.for_seq("i", Expr::i64(0), segments.width.clone(), false, |g, i| {
                g.bind_index_to(segments.index, Expr::Var(i));
                g.iteration(&hists.seg.body, |g, results| {
                    g.hist_sequential(hists.dims(), hists.ops, &results)
                })
            })
        })
    }

    fn shares<'s>(&mut self, hists: &Hists<'s>) -> Result<OwnedLayout<'s>, PassError> {
        let device = self.layout();
        let (bytes, iteration_bytes) = (hists.bytes(), hists.bytes() + TAG.size() * hists.bins.len() as u64);
        let mut tile = device.block.unsigned_abs();
        while tile > 1 && tile * iteration_bytes > device.bins.bytes / 2 {
            tile /= 2;
        }
        let capacity = device.bins.bytes.saturating_sub(tile * iteration_bytes) / bytes;
        let capacity = capacity.max(1);
        let (capacity, tile) = (capacity as i64, tile as i64);
        let segments = self.segments_by(hists.seg, hists.most.clone(), self.layout().blocks)?;
        let tile_halvings = tile.trailing_zeros();
        let most = tile_halvings.saturating_sub(device.bins.sharers.trailing_zeros());
        let halvings = self.halvings(hists, capacity, most);
        let parts = binary(BinOp::Shl, Expr::i64(1), halvings.clone());
        let halvings = sub(Expr::i64(i64::from(tile_halvings)), halvings);
        let halvings = self.bind_value(halvings, PrimType::I64, "log2_members");
        let members = binary(BinOp::Shl, Expr::i64(1), halvings.clone());
        Ok(OwnedLayout {
            all: self.all_chunks(&segments),
            segments,
            capacity,
            tile,
            parts: self.bind_value(parts, PrimType::I64, "parts"),
            members: self.bind_value(members, PrimType::I64, "members"),
            halvings,
        })
    }

    fn hist_owned(&mut self, hists: &Hists<'_>, shares: &OwnedLayout<'_>) -> Result<(), PassError> {
        let segments = &shares.segments;
        let chunks = self.partial_chunks(segments, &shares.all);
        let mut copies = Vec::with_capacity(hists.bins.len());
        for hist in &hists.bins {
            let count = mul(chunks.clone(), hist.per_segment.clone());
            let count = self.bind_value(count, PrimType::I64, "copies");
            copies.push(self.device_arrays("copies", &hist.types, &count, hists.prov));
        }
        self.kernel(("seghist", hists.prov), shares.all.clone(), |g, block| {
            let mut buffers = Vec::with_capacity(hists.bins.len());
            for hist in &hists.bins {
                let types = hist.types.iter();
                buffers.push(SharedBins {
                    bins: types.clone().map(|&ty| g.shared_tile("shared", ty, shares.capacity)).collect(),
                    tag: g.shared_tile("tag", TAG, shares.tile),
                    value: types.map(|&ty| g.shared_tile("value", ty, shares.tile)).collect(),
                });
            }
            let chunk = g.chunk_of(segments, Expr::Var(block))?;
            let width = sub(chunk.to.clone(), chunk.from.clone());
            let width = g.bind_value(width, PrimType::I64, "width");
            let members = shares.members.clone();
            let rounds = div_up_by(div_up_by(width.clone(), shares.parts.clone()), members.clone());
            let rounds = g.bind_value(rounds, PrimType::I64, "rounds");
            g.threads(|g, thread| {
                let member = g.part_of(shares, thread);
                let (from, to) = g.bounds(width, shares.parts.clone(), member.part.clone());
                let (from, to) = (add(chunk.from.clone(), from), add(chunk.from.clone(), to));
                let from = g.bind_value(add(from, member.index_in_part.clone()), PrimType::I64, "from");
                let to = g.bind_value(to, PrimType::I64, "to");
                for (hist, buffer) in hists.bins.iter().zip(&buffers) {
                    g.init_shared_bins(hist, &buffer.bins, &shares.parts, &member.thread)?;
                }
                g.barrier();
                g.for_seq("round", Expr::i64(0), rounds, false, |g, round| {
                    let i = add(from, mul(Expr::Var(round), members));
                    let i = g.bind_value(i, PrimType::I64, "i");
                    let in_bounds = compare(CmpOp::SLt, i.clone(), to);
                    g.if_runs_iterations(shares, &member, |g| {
                        g.bind_index_to(segments.index, i);
                        g.tag_iteration(hists, &buffers, in_bounds, &member.thread)
                    })?;
                    g.barrier();
                    g.if_runs_iterations(shares, &member, |g| g.own_bins(hists, &buffers, shares, &member))?;
                    g.barrier();
                    Ok(())
                })?;
                for ((hist, buffer), copies) in hists.bins.iter().zip(&buffers).zip(&copies) {
                    g.distribute((&Expr::i64(0), &hist.per_segment), true, &member.thread, |g, own| {
                        let total = g.total_of_copies(hist, &buffer.bins, &shares.parts, &own)?;
                        let whole = g.collect(|g| {
                            let bin = g.bin_number(hist, &chunk.segment, own.clone());
                            g.add_to_bin(hist, &bin, &total)
                        })?;
                        let partial = g.collect(|g| {
                            let bin = g.bin_number(hist, &Expr::Var(block), own);
                            g.store_all(copies, &hist.types, bin, &total);
                            Ok(())
                        })?;
                        let is_whole = compare(CmpOp::Eq, segments.chunks.clone(), Expr::i64(1));
                        g.emit(Stmt::If(is_whole, whole, partial));
                        Ok(())
                    })?;
                }
                Ok(())
            })
        })?;
        let several = self.collect(|g| {
            for (hist, copies) in hists.bins.iter().zip(&copies) {
                let counts = (&segments.count, &segments.chunks, &hist.per_segment);
                g.combine_copies(hist, copies, counts, hists.prov)?;
            }
            Ok(())
        })?;
        let is_more = compare(CmpOp::SLt, Expr::i64(1), segments.chunks.clone());
        self.emit(Stmt::If(is_more, several, Vec::new()));
        copies.iter().for_each(|copies| self.release_arrays(copies));
        Ok(())
    }

    /// The part of a thread, and its index there.
    fn part_of(&mut self, shares: &OwnedLayout<'_>, thread: Expr) -> PartMember {
        let index_in_part = shares.index_in_part(thread.clone());
        let part = binary(BinOp::LShr, thread.clone(), shares.halvings.clone());
        PartMember {
            thread,
            part: self.bind_value(part, PrimType::I64, "part"),
            index_in_part: self.bind_value(index_in_part, PrimType::I64, "index"),
        }
    }

    /// Emits code for the threads that run iterations.
    fn if_runs_iterations(
        &mut self,
        shares: &OwnedLayout<'_>,
        member: &PartMember,
        f: impl FnOnce(&mut Self) -> Result<(), PassError>,
    ) -> Result<(), PassError> {
        if shares.tile == self.layout().block {
            return f(self);
        }
        let body = self.collect(f)?;
        let takes = compare(CmpOp::SLt, member.thread.clone(), Expr::i64(shares.tile));
        self.emit(Stmt::If(takes, body, Vec::new()));
        Ok(())
    }

    /// Stores the tag and values of an iteration.
    fn tag_iteration(
        &mut self,
        hists: &Hists<'_>,
        buffers: &[SharedBins],
        in_bounds: Expr,
        thread: &Expr,
    ) -> Result<(), PassError> {
        for buffer in buffers {
            let none = Expr::Const(Scalar::I32(-1));
            self.emit(Stmt::Store(element_of_buffer(buffer.tag, TAG, thread.clone()), none));
        }
        let body = self.collect(|g| {
            g.each_update(hists, |g, k, index, values| {
                let (hist, buffer) = (&hists.bins[k], &buffers[k]);
                let own = Box::new(hist.segment_position(index));
                let tag = Expr::convert(ConvOp::SExt, PrimType::I64, TAG, *own);
                g.emit(Stmt::Store(element_of_buffer(buffer.tag, TAG, thread.clone()), tag));
                g.store_atoms(&buffer.value, &hist.types, thread, values)
            })
        })?;
        self.emit(Stmt::If(in_bounds, body, Vec::new()));
        Ok(())
    }

    /// Updates the bins that a thread owns with the current iterations of its part.
    fn own_bins(
        &mut self,
        hists: &Hists<'_>,
        buffers: &[SharedBins],
        shares: &OwnedLayout<'_>,
        member: &PartMember,
    ) -> Result<(), PassError> {
        let PartMember { thread, part, index_in_part } = member;
        let from = sub(thread.clone(), index_in_part.clone());
        let from = self.bind_value(from, PrimType::I64, "from");
        let to = add(from.clone(), shares.members.clone());
        self.for_seq("slot", from, to, false, |g, slot| {
            for (hist, buffer) in hists.bins.iter().zip(buffers) {
                let tag = g.scalar(TAG, "tag");
                g.emit(Stmt::Load(tag, element_of_buffer(buffer.tag, TAG, Expr::Var(slot))));
                let wide = Box::new(Expr::Var(tag));
                let wide = Expr::convert(ConvOp::SExt, TAG, PrimType::I64, *wide);
                let bin = g.bind_value(wide, PrimType::I64, "bin");
                let owner = shares.index_in_part(bin.clone());
                let body = g.collect(|g| {
                    let bin = add(mul(part.clone(), hist.per_segment.clone()), bin.clone());
                    let bin = g.bind_value(bin, PrimType::I64, "bin");
                    let olds = g.load_all(&buffer.bins, &hist.types, bin.clone(), "old");
                    let values = g.load_all(&buffer.value, &hist.types, Expr::Var(slot), "new");
                    g.combine(&[hist.op], &olds, &values)?;
                    g.store_all(&buffer.bins, &hist.types, bin, &olds);
                    Ok(())
                })?;
                let owns = and(
                    compare(CmpOp::Eq, owner, index_in_part.clone()),
                    compare(CmpOp::SLe, Expr::i64(0), bin),
                );
                g.emit(Stmt::If(owns, body, Vec::new()));
            }
            Ok(())
        })
    }
}
