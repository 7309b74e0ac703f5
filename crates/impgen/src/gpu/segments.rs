//! Partitioning of segments over the blocks of a kernel.
//!
//! The innermost dimension of a space is the index in a segment. Each segment is partitioned into
//! chunks; one block takes one chunk. The number of chunks of all segments is at most the number
//! that one block can combine, and each thread of a block has at least the grain size of
//! iterations. Segments that are too short for a block are chunks of a group of its threads, whose
//! size is such that each thread has a few iterations. All of this depends on sizes and the grain
//! size only ([`grain_size`](super::grain_size)).

use crate::function::Gen;
use crate::operators::div_up_by;
use imp::build::{add, binary, compare, div, max, min, mul, sub};
use imp::{Expr, MemoryId, Stmt, Var, VarType};
use ir::name::Name;
use ir::seg::Seg;
use ir::types::Dim;
use ir::{Mems, PassError, Prov};
use prim::{BinOp, CmpOp, PrimType, UnOp};

/// The segments of a space.
pub(super) struct Segments<'s> {
    /// The dimensions that count segments.
    pub(super) outer: &'s [(Name, Dim)],
    /// The index in a segment.
    pub(super) index: Name,
    /// Iterations of a segment.
    pub(super) width: Expr,
    /// The number of segments.
    pub(super) count: Expr,
    /// The number of chunks of each segment.
    pub(super) chunks: Expr,
    /// The minimum number of iterations per thread, if a chunk has all threads of a block.
    pub(super) grain: Expr,
}

/// The chunk of a block: a range of its segment.
pub(super) struct Chunk {
    /// The segment's number.
    pub(super) segment: Expr,
    pub(super) from: Expr,
    pub(super) to: Expr,
}

/// Neighbouring threads of a block that process a chunk together.
pub(super) struct ThreadGroup {
    /// The binary logarithm of the number of threads.
    pub(super) log2_threads: Expr,
    /// The number of threads.
    pub(super) threads: Expr,
    /// The number of groups of a block; `None` if the whole block is one.
    groups: Option<Expr>,
}

/// A thread's part in its group.
pub(super) struct GroupMember {
    /// The number of the group's chunk.
    pub(super) chunk: Expr,
    /// The thread's index in the group.
    pub(super) index: Expr,
    /// The condition that the chunk exists, if it may not.
    pub(super) inside: Option<Expr>,
}

impl Gen<'_, '_> {
    /// The segments of a segop, and their partitioning.
    pub(super) fn segments<'s>(&mut self, seg: &'s Seg<Mems>) -> Result<Segments<'s>, PassError> {
        let most = self.layout().blocks;
        self.segments_by(seg, Expr::i64(1), most)
    }

    /// The segments of a reduction: with a single segment there are `waves` times as many chunks.
    pub(super) fn reduction_segments<'s>(&mut self, seg: &'s Seg<Mems>) -> Result<Segments<'s>, PassError> {
        let device = self.layout();
        let waves = if seg.space.dims.len() == 1 { device.waves } else { 1 };
        self.segments_by(seg, Expr::i64(1), device.blocks * waves)
    }

    /// The segments of a segop whose chunks have at least `least` iterations, with at most `most`
    /// chunks in total.
    pub(super) fn segments_by<'s>(
        &mut self,
        seg: &'s Seg<Mems>,
        least: Expr,
        most: i64,
    ) -> Result<Segments<'s>, PassError> {
        let Some(((index, width), outer)) = seg.space.dims.split_last() else {
            return Err(PassError::bug("an index space has no dimensions"));
        };
        let count = self.extent_product(outer, "segments")?;
        let width = self.dim(*width)?;
        let width = self.bind_value(width, PrimType::I64, "width");
        let grain = self.thread_grain_size(seg)?;
        let own = mul(Expr::i64(self.layout().block), grain.clone());
        let least = if least == Expr::i64(1) { own } else { max(least, own) };
        let enough = div(width.clone(), least);
        let most = div(Expr::i64(most), max(count.clone(), Expr::i64(1)));
        let chunks = max(min(enough, most), Expr::i64(1));
        let chunks = self.bind_value(chunks, PrimType::I64, "chunks");
        Ok(Segments { outer, index: *index, width, count, chunks, grain })
    }

    /// The number of chunks of all segments.
    pub(super) fn all_chunks(&mut self, segments: &Segments<'_>) -> Expr {
        let all = mul(segments.count.clone(), segments.chunks.clone());
        self.bind_value(all, PrimType::I64, "all")
    }

    /// The number of chunks with partial results, of `all`: none if each is a whole segment.
    pub(super) fn partial_chunks(&mut self, segments: &Segments<'_>, all: &Expr) -> Expr {
        let more = sub(segments.chunks.clone(), Expr::i64(1));
        let kept = min(all.clone(), mul(all.clone(), more));
        self.bind_value(kept, PrimType::I64, "kept")
    }

    /// All threads of a block as a group.
    pub(super) fn whole_block(&self) -> ThreadGroup {
        let block = self.layout().block;
        ThreadGroup {
            log2_threads: Expr::i64(i64::from(block.trailing_zeros())),
            threads: Expr::i64(block),
            groups: None,
        }
    }

    /// The groups of threads with a few iterations of a segment each.
    pub(super) fn group_for_segments(&mut self, segments: &Segments<'_>) -> ThreadGroup {
        let device = self.layout();
        let few = self.scaled(device.segment_iterations, &segments.grain);
        self.few_threads_by(device.block, &segments.width, few)
    }

    /// The groups of threads with a few of `n` iterations each.
    pub(super) fn group_for(&mut self, n: &Expr) -> ThreadGroup {
        let device = self.layout();
        self.few_threads_of(device.block, n)
    }

    /// As [`Gen::group_for`], with at most `most` threads in a group.
    pub(super) fn few_threads_of(&mut self, most: i64, n: &Expr) -> ThreadGroup {
        let few = Expr::i64(self.layout().segment_iterations);
        self.few_threads_by(most, n, few)
    }

    /// As [`Gen::few_threads_of`], with `few` iterations per thread.
    fn few_threads_by(&mut self, most: i64, n: &Expr, few: Expr) -> ThreadGroup {
        let device = self.layout();
        let enough = div_up_by(n.clone(), few);
        let fewer = sub(max(enough, Expr::i64(1)), Expr::i64(1));
        let zeros = Expr::unary(UnOp::Clz, PrimType::I64, fewer);
        let most = Expr::i64(i64::from(most.trailing_zeros()));
        let halvings = min(sub(Expr::i64(64), zeros), most);
        let halvings = self.bind_value(halvings, PrimType::I64, "log2_threads");
        let threads = binary(BinOp::Shl, Expr::i64(1), halvings.clone());
        let threads = self.bind_value(threads, PrimType::I64, "threads");
        let groups = binary(BinOp::LShr, Expr::i64(device.block), halvings.clone());
        ThreadGroup {
            log2_threads: halvings,
            threads,
            groups: Some(self.bind_value(groups, PrimType::I64, "groups")),
        }
    }

    /// The number of blocks whose groups process `chunks` chunks.
    pub(super) fn blocks_for(&mut self, group: &ThreadGroup, chunks: &Expr) -> Expr {
        let Some(groups) = &group.groups else {
            return chunks.clone();
        };
        let blocks = div_up_by(chunks.clone(), groups.clone());
        self.bind_value(blocks, PrimType::I64, "blocks")
    }

    /// The part of a thread in its group, if there are `chunks` chunks.
    pub(super) fn member(
        &mut self,
        group: &ThreadGroup,
        (block, thread): (Var, &Expr),
        chunks: &Expr,
    ) -> GroupMember {
        let Some(groups) = &group.groups else {
            return GroupMember { chunk: Expr::Var(block), index: thread.clone(), inside: None };
        };
        let own = binary(BinOp::LShr, thread.clone(), group.log2_threads.clone());
        let chunk = add(mul(Expr::Var(block), groups.clone()), own);
        let chunk = self.bind_value(chunk, PrimType::I64, "chunk_number");
        let others = sub(group.threads.clone(), Expr::i64(1));
        let index = binary(BinOp::And, thread.clone(), others);
        GroupMember {
            index: self.bind_value(index, PrimType::I64, "index"),
            inside: Some(compare(CmpOp::SLt, chunk.clone(), chunks.clone())),
            chunk,
        }
    }

    /// As [`Gen::member`], if neighbouring threads take neighbouring chunks, not parts of one. Also
    /// returns the index that the thread would have if the members of a group were neighbours.
    pub(super) fn strided_member(
        &mut self,
        group: &ThreadGroup,
        (block, thread): (Var, &Expr),
        chunks: &Expr,
    ) -> (GroupMember, Expr) {
        let Some(groups) = &group.groups else {
            return (self.member(group, (block, thread), chunks), thread.clone());
        };
        let own = binary(BinOp::And, thread.clone(), sub(groups.clone(), Expr::i64(1)));
        let own = self.bind_value(own, PrimType::I64, "group");
        let chunk = add(mul(Expr::Var(block), groups.clone()), own.clone());
        let chunk = self.bind_value(chunk, PrimType::I64, "chunk_number");
        let fewer = sub(self.whole_block().log2_threads, group.log2_threads.clone());
        let index = binary(BinOp::LShr, thread.clone(), fewer);
        let index = self.bind_value(index, PrimType::I64, "index");
        let neighbour_index = add(mul(own, group.threads.clone()), index.clone());
        let neighbour_index = self.bind_value(neighbour_index, PrimType::I64, "neighbour");
        let member =
            GroupMember { inside: Some(compare(CmpOp::SLt, chunk.clone(), chunks.clone())), chunk, index };
        (member, neighbour_index)
    }

    /// A chunk by its number; binds the outer indices to its segment.
    pub(super) fn chunk_of(&mut self, segments: &Segments<'_>, number: Expr) -> Result<Chunk, PassError> {
        let (segment, chunk) = self.segment_and_chunk(segments, number)?;
        let (width, chunks) = (segments.width.clone(), segments.chunks.clone());
        let (from, to) = self.bounds(width, chunks, chunk);
        Ok(Chunk { segment, from, to })
    }

    /// The segment of a chunk, to which the outer indices are bound, and the chunk's number within
    /// the segment.
    pub(super) fn segment_and_chunk(
        &mut self,
        segments: &Segments<'_>,
        number: Expr,
    ) -> Result<(Expr, Expr), PassError> {
        if segments.outer.is_empty() {
            return Ok((Expr::i64(0), number));
        }
        let chunks = segments.chunks.clone();
        let segment = div(number.clone(), chunks.clone());
        let segment = self.bind_value(segment, PrimType::I64, "segment");
        self.delinearise(segments.outer, &segment)?;
        let chunk = binary(BinOp::UMod, number, chunks);
        let chunk = self.bind_value(chunk, PrimType::I64, "chunk");
        Ok((segment, chunk))
    }

    /// Cyclic distribution of a segment's indices, for operations that may run in any order: each
    /// of its chunks takes as many neighbours as there are threads, then as many after the ones of
    /// all chunks, and so on. So all concurrent accesses are close together in memory.
    pub(super) fn cyclic(
        &mut self,
        segments: &Segments<'_>,
        chunk: &Expr,
        (thread, threads): (&Expr, &Expr),
        f: impl FnOnce(&mut Self, Expr) -> Result<(), PassError>,
    ) -> Result<(), PassError> {
        let step = mul(segments.chunks.clone(), threads.clone());
        let step = self.bind_value(step, PrimType::I64, "step");
        let first = add(mul(chunk.clone(), threads.clone()), thread.clone());
        let first = self.bind_value(first, PrimType::I64, "first");
        let iterations = div_up_by(sub(segments.width.clone(), first.clone()), step.clone());
        self.for_seq("iteration", Expr::i64(0), iterations, false, |g, iteration| {
            let i = add(first, mul(Expr::Var(iteration), step));
            let i = g.bind_value(i, PrimType::I64, "i");
            f(g, i)
        })
    }

    /// Distributes the indices `from..to` over the threads of a block: each takes a contiguous
    /// range in order, or, with `any_order`, indices strided by the block size, so that
    /// neighbouring threads access neighbouring memory.
    pub(crate) fn distribute(
        &mut self,
        range: (&Expr, &Expr),
        any_order: bool,
        thread: &Expr,
        f: impl FnOnce(&mut Self, Expr) -> Result<(), PassError>,
    ) -> Result<(), PassError> {
        let all = Expr::i64(self.layout().block);
        self.distribute_among(range, any_order, (thread, &all), f)
    }

    /// Distributes the indices over a group of `threads` threads.
    pub(super) fn distribute_among(
        &mut self,
        (from, to): (&Expr, &Expr),
        any_order: bool,
        (thread, threads): (&Expr, &Expr),
        f: impl FnOnce(&mut Self, Expr) -> Result<(), PassError>,
    ) -> Result<(), PassError> {
        let width = sub(to.clone(), from.clone());
        let width = self.bind_value(width, PrimType::I64, "own_width");
        if !any_order {
            let (lo, hi) = self.bounds(width, threads.clone(), thread.clone());
            let (lo, hi) = (add(from.clone(), lo), add(from.clone(), hi));
            return self.for_seq("i", lo, hi, false, |g, i| f(g, Expr::Var(i)));
        }
        // Each thread has its own trip count, so no round needs a bounds check.
        let rounds = div_up_by(sub(width, thread.clone()), threads.clone());
        let first = add(from.clone(), thread.clone());
        let first = self.bind_value(first, PrimType::I64, "first");
        self.for_seq("round", Expr::i64(0), rounds, false, |g, round| {
            let i = add(first, mul(Expr::Var(round), threads.clone()));
            let i = g.bind_value(i, PrimType::I64, "i");
            f(g, i)
        })
    }

    /// Sets the index in a segment.
    pub(super) fn bind_index_to(&mut self, index: Name, value: Expr) {
        let var = self.bind_index(index);
        self.emit(Stmt::Set(var, value));
    }

    /// Allocates device blocks of `count` elements of each type.
    pub(super) fn device_arrays(
        &mut self,
        hint: &str,
        types: &[PrimType],
        count: &Expr,
        prov: Prov,
    ) -> Vec<Var> {
        let mut buffers = Vec::with_capacity(types.len());
        for ty in types {
            let buffer = self.owned_in(VarType::Buffer(MemoryId::Device), hint);
            let bytes = mul(count.clone(), Expr::i64(ty.size() as i64));
            self.emit_alloc(buffer, bytes, prov);
            buffers.push(buffer);
        }
        buffers
    }

    /// Releases blocks.
    pub(super) fn release_arrays(&mut self, buffers: &[Var]) {
        for buffer in buffers {
            self.emit(Stmt::Release(*buffer));
        }
    }

    /// Allocates shared-memory arrays with one element of each type for each thread of the block.
    pub(super) fn shared_arrays(&mut self, hint: &str, types: &[PrimType]) -> Vec<Var> {
        let count = self.layout().block as u64;
        let mut buffers = Vec::with_capacity(types.len());
        for &elem in types {
            let buffer = self.value(VarType::Buffer(MemoryId::Shared), hint);
            self.emit(Stmt::Frame { buffer, elem, count });
            buffers.push(buffer);
        }
        buffers
    }
}
