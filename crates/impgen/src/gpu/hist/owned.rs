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
use crate::Result;
use crate::gpu::DeviceSchedule;
use crate::gpu::segments::Segments;
use crate::operators::{div_up, element_of_buffer};
use crate::schedule::Generator;
use imp::build::{Operand, binary};
use imp::{Expr, MemoryId, Stmt, Var, bind, emit, expr};
use prim::{BinOp, ConvOp, PrimType, Scalar};

/// The type of tags: bin numbers in shared memory.
const TAG: PrimType = PrimType::I32;

/// The distribution of the work over blocks and threads.
struct OwnedLayout<'s> {
    segments: Segments<'s>,
    /// The number of chunks of all segments.
    all: Operand,
    /// The number of bins of each histogram that fit into shared memory.
    capacity: i64,
    /// Iterations that a block runs at a time.
    tile: i64,
    /// The number of parts that the threads running iterations are divided into.
    parts: Operand,
    /// Threads per part.
    members: Operand,
    /// The binary logarithm of the threads per part.
    halvings: Operand,
}

impl OwnedLayout<'_> {
    /// The index in its part of a thread; for a bin, the index of its owner.
    fn index_in_part(&self, number: Operand) -> Expr {
        let others = self.members - 1;
        binary(BinOp::And, number, others)
    }
}

/// A thread of a part.
struct PartMember {
    /// Its index in the block.
    thread: Operand,
    part: Operand,
    /// Its index in the part.
    index_in_part: Operand,
}

/// The shared-memory buffers of one histogram.
struct SharedBins {
    bins: Vec<Var>,
    /// The bin of each current iteration; negative if it has none.
    tag: Var,
    /// The values of each current iteration.
    value: Vec<Var>,
}

impl Generator<'_, DeviceSchedule> {
    /// Histograms with operators that are not atomic.
    pub(super) fn hist_not_atomic(&mut self, hists: &Hists<'_>) -> Result {
        let shares = self.shares(hists)?;
        let owned = self.collect(|g| g.hist_owned(hists, &shares))?;
        emit!(if self(hists.most <= shares.capacity) {
            if shares.segments.outer.is_empty() {
                self.emit_all(owned);
            } else {
                emit!(if self(shares.segments.width < self.schedule.layout.block) {
                    self.hist_of_segments(hists, &shares.segments)?;
                } else {
                    self.emit_all(owned);
                });
            }
        } else {
            self.hist_private_chunks(hists)?;
        });
        Ok(())
    }

    /// One thread per segment, which runs its iterations sequentially.
    fn hist_of_segments(&mut self, hists: &Hists<'_>, segments: &Segments<'_>) -> Result {
        self.each_iteration(("seghist", hists.prov), segments.count, |g, segment| {
            g.delinearise(segments.outer, segment)?;
            emit!(for i in g(0..segments.width) {
                g.set_index(segments.index, i);
                g.iteration(&hists.seg.body, |g, results| {
                    g.hist_sequential(hists.dims(), hists.ops, &results)
                })?;
            });
            Ok(())
        })
    }

    fn shares<'s>(&mut self, hists: &Hists<'s>) -> Result<OwnedLayout<'s>> {
        let device = self.schedule.layout;
        let (bytes, iteration_bytes) = (hists.bytes(), hists.bytes() + TAG.size() * hists.bins.len() as u64);
        let mut tile = device.block.unsigned_abs();
        while tile > 1 && tile * iteration_bytes > device.bins.bytes / 2 {
            tile /= 2;
        }
        let capacity = device.bins.bytes.saturating_sub(tile * iteration_bytes) / bytes;
        let capacity = capacity.max(1);
        let (capacity, tile) = (capacity as i64, tile as i64);
        let segments = self.segments_by(hists.seg, hists.most, self.schedule.layout.blocks)?;
        let tile_halvings = tile.trailing_zeros();
        let most = tile_halvings.saturating_sub(device.bins.sharers.trailing_zeros());
        let halvings = self.halvings(hists, capacity, most);
        let parts = 1 << halvings;
        let halvings = self.bind(i64::from(tile_halvings) - halvings, "log2_members");
        let members = 1 << halvings;
        Ok(OwnedLayout {
            all: self.all_chunks(&segments),
            segments,
            capacity,
            tile,
            parts: self.bind(parts, "parts"),
            members: self.bind(members, "members"),
            halvings,
        })
    }

    fn hist_owned(&mut self, hists: &Hists<'_>, shares: &OwnedLayout<'_>) -> Result {
        let segments = &shares.segments;
        let chunks = self.partial_chunks(segments, shares.all);
        let mut copies = Vec::with_capacity(hists.bins.len());
        for hist in &hists.bins {
            let count = self.bind(chunks * hist.size, "copies");
            copies.push(self.device_arrays("copies", &hist.types, count, hists.prov));
        }
        self.kernel(("seghist", hists.prov), shares.all, |g, block| {
            let mut buffers = Vec::with_capacity(hists.bins.len());
            for hist in &hists.bins {
                let types = hist.types.iter();
                buffers.push(SharedBins {
                    bins: types
                        .clone()
                        .map(|&ty| g.frame_array(MemoryId::Shared, "shared", ty, shares.capacity))
                        .collect(),
                    tag: g.frame_array(MemoryId::Shared, "tag", TAG, shares.tile),
                    value: types
                        .map(|&ty| g.frame_array(MemoryId::Shared, "value", ty, shares.tile))
                        .collect(),
                });
            }
            let chunk = g.chunk_of(segments, block.into())?;
            bind!(width = g(chunk.to - chunk.from));
            let members = shares.members;
            bind!(rounds = g(div_up(div_up(width, shares.parts), members)));
            g.threads(|g, thread| {
                let member = g.part_of(shares, thread);
                let (from, to) = g.bounds(width, shares.parts, member.part);
                let (from, to) = (chunk.from + from, chunk.from + to);
                bind!(from = g(from + member.index_in_part));
                bind!(to = g(to));
                for (hist, buffer) in hists.bins.iter().zip(&buffers) {
                    g.init_shared_bins(hist, &buffer.bins, shares.parts, member.thread)?;
                }
                g.barrier();
                emit!(for round in g(0..rounds) {
                    bind!(i = g(from + round * members));
                    let in_bounds = expr!(i < to);
                    g.if_runs_iterations(shares, &member, |g| {
                        g.set_index(segments.index, i);
                        g.tag_iteration(hists, &buffers, in_bounds, member.thread)
                    })?;
                    g.barrier();
                    g.if_runs_iterations(shares, &member, |g| g.own_bins(hists, &buffers, shares, &member))?;
                    g.barrier();
                });
                for ((hist, buffer), copies) in hists.bins.iter().zip(&buffers).zip(&copies) {
                    g.distribute((0, hist.size), true, member.thread, |g, own| {
                        let total = g.total_of_copies(hist, &buffer.bins, shares.parts, own)?;
                        emit!(if g(segments.chunks == 1) {
                            let bin = g.bin_number(hist, chunk.segment, own);
                            g.add_to_bin(hist, bin, &total)?;
                        } else {
                            let bin = g.bin_number(hist, block.into(), own);
                            g.store_all(copies, &hist.types, bin, &total);
                        });
                        Ok(())
                    })?;
                }
                Ok(())
            })
        })?;
        emit!(if self(1 < segments.chunks) {
            for (hist, copies) in hists.bins.iter().zip(&copies) {
                let counts = (segments.count, segments.chunks, hist.size);
                self.combine_copies(hist, copies, counts, hists.prov)?;
            }
        });
        copies.iter().for_each(|copies| self.release_all(copies));
        Ok(())
    }

    /// The part of a thread, and its index there.
    fn part_of(&mut self, shares: &OwnedLayout<'_>, thread: Operand) -> PartMember {
        let index_in_part = shares.index_in_part(thread);
        let part = thread >> shares.halvings;
        PartMember { thread, part: self.bind(part, "part"), index_in_part: self.bind(index_in_part, "index") }
    }

    /// Emits code for the threads that run iterations.
    fn if_runs_iterations(
        &mut self,
        shares: &OwnedLayout<'_>,
        member: &PartMember,
        f: impl FnOnce(&mut Self) -> Result,
    ) -> Result {
        if shares.tile == self.schedule.layout.block {
            return f(self);
        }
        let body = self.collect(f)?;
        let takes = expr!(member.thread < shares.tile);
        self.emit(Stmt::If(takes, body, Vec::new()));
        Ok(())
    }

    /// Stores the tag and values of an iteration.
    fn tag_iteration(
        &mut self,
        hists: &Hists<'_>,
        buffers: &[SharedBins],
        in_bounds: Expr,
        thread: Operand,
    ) -> Result {
        for buffer in buffers {
            let none = Expr::Const(Scalar::I32(-1));
            self.emit(Stmt::Store(element_of_buffer(buffer.tag, TAG, thread), none));
        }
        emit!(if self(in_bounds) {
            self.each_update(hists, |g, k, index, values| {
                let (hist, buffer) = (&hists.bins[k], &buffers[k]);
                let tag = Expr::convert(ConvOp::SExt, PrimType::I64, TAG, hist.segment_position(index));
                g.emit(Stmt::Store(element_of_buffer(buffer.tag, TAG, thread), tag));
                g.store_atoms(&buffer.value, &hist.types, thread, values)
            })?;
        });
        Ok(())
    }

    /// Updates the bins that a thread owns with the current iterations of its part.
    fn own_bins(
        &mut self,
        hists: &Hists<'_>,
        buffers: &[SharedBins],
        shares: &OwnedLayout<'_>,
        member: &PartMember,
    ) -> Result {
        let PartMember { thread, part, index_in_part } = member;
        bind!(from = self(*thread - *index_in_part));
        let to = from + shares.members;
        emit!(for slot in self(from..to) {
            for (hist, buffer) in hists.bins.iter().zip(buffers) {
                let tag = self.scalar(TAG, "tag");
                self.emit(Stmt::Load(tag, element_of_buffer(buffer.tag, TAG, slot)));
                bind!(bin = self(Expr::convert(ConvOp::SExt, TAG, PrimType::I64, tag.into())));
                emit!(if self(shares.index_in_part(bin) == *index_in_part && 0 <= bin) {
                    bind!(bin = self(*part * hist.size + bin));
                    let olds = self.load_all(&buffer.bins, &hist.types, bin, "old");
                    let values = self.load_all(&buffer.value, &hist.types, slot, "new");
                    self.combine(&[hist.op], &olds, &values)?;
                    self.store_all(&buffer.bins, &hist.types, bin, &olds);
                });
            }
        });
        Ok(())
    }
}
