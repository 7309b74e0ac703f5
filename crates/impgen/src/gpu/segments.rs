//! Partitioning of segments over the blocks of a kernel.
//!
//! The innermost dimension of a space is the index in a segment. Each segment is partitioned into
//! chunks; one block takes one chunk. The number of chunks of all segments is at most the number
//! that one block can combine, and each thread of a block has at least the grain size of
//! iterations. Segments that are too short for a block are chunks of a group of its threads, whose
//! size is such that each thread has a few iterations. All of this depends on sizes and the grain
//! size only ([`grain_size`](super::grain_size)).

use crate::gpu::DeviceSchedule;
use crate::mems::Seg;
use crate::operators::div_up;
use crate::schedule::Generator;
use crate::{OrBug, Result};
use imp::build::{Operand, binary, max, min};
use imp::{Expr, MemoryId, Stmt, Var, VarType, bind, emit, expr};
use ir::Prov;
use ir::name::Name;
use ir::types::Dim;
use prim::{BinOp, PrimType, UnOp};

/// The segments of a space.
pub(super) struct Segments<'s> {
    /// The dimensions that count segments.
    pub(super) outer: &'s [(Name, Dim)],
    /// The index in a segment.
    pub(super) index: Name,
    /// Iterations of a segment.
    pub(super) width: Operand,
    /// The number of segments.
    pub(super) count: Operand,
    /// The number of chunks of each segment.
    pub(super) chunks: Operand,
    /// The minimum number of iterations per thread, if a chunk has all threads of a block.
    pub(super) grain: Operand,
}

/// The chunk of a block: a range of its segment.
pub(super) struct Chunk {
    /// The segment's number.
    pub(super) segment: Operand,
    pub(super) from: Operand,
    pub(super) to: Operand,
}

/// Neighbouring threads of a block that process a chunk together.
pub(super) struct ThreadGroup {
    /// The binary logarithm of the number of threads.
    pub(super) log2_threads: Operand,
    /// The number of threads.
    pub(super) threads: Operand,
    /// The number of groups of a block; `None` if the whole block is one.
    groups: Option<Operand>,
}

/// A thread's part in its group.
pub(super) struct GroupMember {
    /// The number of the group's chunk.
    pub(super) chunk: Operand,
    /// The thread's index in the group.
    pub(super) index: Operand,
    /// The condition that the chunk exists, if it may not.
    pub(super) inside: Option<Expr>,
}

impl Generator<'_, DeviceSchedule> {
    /// The segments of a segop, and their partitioning.
    pub(super) fn segments<'s>(&mut self, seg: &'s Seg) -> Result<Segments<'s>> {
        let most = self.schedule.layout.blocks;
        self.segments_by(seg, 1.into(), most)
    }

    /// The segments of a reduction: with a single segment there are `waves` times as many chunks.
    pub(super) fn reduction_segments<'s>(&mut self, seg: &'s Seg) -> Result<Segments<'s>> {
        let device = self.schedule.layout;
        let waves = if seg.space.dims.len() == 1 { device.waves } else { 1 };
        self.segments_by(seg, 1.into(), device.blocks * waves)
    }

    /// The segments of a segop whose chunks have at least `least` iterations, with at most `most`
    /// chunks in total.
    pub(super) fn segments_by<'s>(
        &mut self,
        seg: &'s Seg,
        least: Operand,
        most: i64,
    ) -> Result<Segments<'s>> {
        let ((index, width), outer) =
            seg.space.dims.split_last().or_bug("an index space has no dimensions")?;
        let count = self.extent_product(outer, "segments")?;
        bind!(width = self(self.dim(*width)?));
        let grain = self.thread_grain_size(seg)?;
        let own = self.schedule.layout.block * grain;
        let least = if least.as_i64() == Some(1) { own } else { max(least, own) };
        let enough = width / least;
        let most = most / max(count, 1);
        bind!(chunks = self(max(min(enough, most), 1)));
        Ok(Segments { outer, index: *index, width, count, chunks, grain })
    }

    /// The number of chunks of all segments.
    pub(super) fn all_chunks(&mut self, segments: &Segments<'_>) -> Operand {
        self.bind(segments.count * segments.chunks, "all")
    }

    /// The number of chunks with partial results, of `all`: none if each is a whole segment.
    pub(super) fn partial_chunks(&mut self, segments: &Segments<'_>, all: Operand) -> Operand {
        let more = segments.chunks - 1;
        self.bind(min(all, all * more), "kept")
    }

    /// All threads of a block as a group.
    pub(super) fn whole_block(&self) -> ThreadGroup {
        let block = self.schedule.layout.block;
        ThreadGroup {
            log2_threads: i64::from(block.trailing_zeros()).into(),
            threads: block.into(),
            groups: None,
        }
    }

    /// The groups of threads with a few iterations of a segment each.
    pub(super) fn group_for_segments(&mut self, segments: &Segments<'_>) -> ThreadGroup {
        let device = self.schedule.layout;
        let few = self.scaled(device.segment_iterations, segments.grain);
        self.few_threads_by(device.block, segments.width, few)
    }

    /// The groups of threads with a few of `n` iterations each.
    pub(super) fn group_for(&mut self, n: Operand) -> ThreadGroup {
        let device = self.schedule.layout;
        self.few_threads_of(device.block, n)
    }

    /// As [`Generator::group_for`], with at most `most` threads in a group.
    pub(super) fn few_threads_of(&mut self, most: i64, n: Operand) -> ThreadGroup {
        let few = self.schedule.layout.segment_iterations.into();
        self.few_threads_by(most, n, few)
    }

    /// As [`Generator::few_threads_of`], with `few` iterations per thread.
    fn few_threads_by(&mut self, most: i64, n: Operand, few: Operand) -> ThreadGroup {
        let device = self.schedule.layout;
        let enough = div_up(n, few);
        let fewer = max(enough, 1) - 1;
        let zeros = Expr::unary(UnOp::Clz, PrimType::I64, fewer);
        let most = Expr::i64(i64::from(most.trailing_zeros()));
        let halvings = self.bind(min(64 - zeros, most), "log2_threads");
        bind!(threads = self(1 << halvings));
        let groups = device.block >> halvings;
        ThreadGroup { log2_threads: halvings, threads, groups: Some(self.bind(groups, "groups")) }
    }

    /// The number of blocks whose groups process `chunks` chunks.
    pub(super) fn blocks_for(&mut self, group: &ThreadGroup, chunks: Operand) -> Operand {
        let Some(groups) = &group.groups else {
            return chunks;
        };
        self.bind(div_up(chunks, *groups), "blocks")
    }

    /// The part of a thread in its group, if there are `chunks` chunks.
    pub(super) fn member(
        &mut self,
        group: &ThreadGroup,
        (block, thread): (Var, Operand),
        chunks: Operand,
    ) -> GroupMember {
        let Some(groups) = &group.groups else {
            return GroupMember { chunk: block.into(), index: thread, inside: None };
        };
        let own = thread >> group.log2_threads;
        let chunk = self.bind(block * *groups + own, "chunk_number");
        let others = group.threads - 1;
        let index = binary(BinOp::And, thread, others);
        GroupMember { index: self.bind(index, "index"), inside: Some(expr!(chunk < chunks)), chunk }
    }

    /// As [`Generator::member`], if neighbouring threads take neighbouring chunks, not parts of one. Also
    /// returns the index that the thread would have if the members of a group were neighbours.
    pub(super) fn strided_member(
        &mut self,
        group: &ThreadGroup,
        (block, thread): (Var, Operand),
        chunks: Operand,
    ) -> (GroupMember, Operand) {
        let Some(groups) = &group.groups else {
            return (self.member(group, (block, thread), chunks), thread);
        };
        let own = self.bind(binary(BinOp::And, thread, *groups - 1), "group");
        let chunk = self.bind(block * *groups + own, "chunk_number");
        let fewer = self.whole_block().log2_threads - group.log2_threads;
        bind!(index = self(thread >> fewer));
        let neighbour_index = self.bind(own * group.threads + index, "neighbour");
        let member = GroupMember { inside: Some(expr!(chunk < chunks)), chunk, index };
        (member, neighbour_index)
    }

    /// A chunk by its number; binds the outer indices to its segment.
    pub(super) fn chunk_of(&mut self, segments: &Segments<'_>, number: Operand) -> Result<Chunk> {
        let (segment, chunk) = self.segment_and_chunk(segments, number)?;
        let (width, chunks) = (segments.width, segments.chunks);
        let (from, to) = self.bounds(width, chunks, chunk);
        Ok(Chunk { segment, from, to })
    }

    /// The segment of a chunk, to which the outer indices are bound, and the chunk's number within
    /// the segment.
    pub(super) fn segment_and_chunk(
        &mut self,
        segments: &Segments<'_>,
        number: Operand,
    ) -> Result<(Operand, Operand)> {
        if segments.outer.is_empty() {
            return Ok((0.into(), number));
        }
        let chunks = segments.chunks;
        bind!(segment = self(number / chunks));
        self.delinearise(segments.outer, segment)?;
        bind!(chunk = self(number % chunks));
        Ok((segment, chunk))
    }

    /// Cyclic distribution of a segment's indices, for operations that may run in any order: each
    /// of its chunks takes as many neighbours as there are threads, then as many after the ones of
    /// all chunks, and so on. So all concurrent accesses are close together in memory.
    pub(super) fn cyclic(
        &mut self,
        segments: &Segments<'_>,
        chunk: Operand,
        (thread, threads): (Operand, Operand),
        f: impl FnOnce(&mut Self, Operand) -> Result,
    ) -> Result {
        bind!(step = self(segments.chunks * threads));
        bind!(first = self(chunk * threads + thread));
        let iterations = div_up(segments.width - first, step);
        emit!(for iteration in self(0..iterations) {
            bind!(i = self(first + iteration * step));
            f(self, i)?;
        });
        Ok(())
    }

    /// Distributes the indices `from..to` over the threads of a block: each takes a contiguous
    /// range in order, or, with `any_order`, indices strided by the block size, so that
    /// neighbouring threads access neighbouring memory.
    pub(crate) fn distribute(
        &mut self,
        range: (impl Into<Expr>, impl Into<Expr>),
        any_order: bool,
        thread: Operand,
        f: impl FnOnce(&mut Self, Operand) -> Result,
    ) -> Result {
        let all = self.schedule.layout.block.into();
        self.distribute_among(range, any_order, (thread, all), f)
    }

    /// Distributes the indices over a group of `threads` threads.
    pub(super) fn distribute_among(
        &mut self,
        (from, to): (impl Into<Expr>, impl Into<Expr>),
        any_order: bool,
        (thread, threads): (Operand, Operand),
        f: impl FnOnce(&mut Self, Operand) -> Result,
    ) -> Result {
        let (from, to) = (from.into(), to.into());
        let width = self.bind(to - &from, "own_width");
        if !any_order {
            let (lo, hi) = self.bounds(width, threads, thread);
            emit!(for i in self(&from + lo..&from + hi) {
                f(self, i.into())?;
            });
            return Ok(());
        }
        // Each thread has its own trip count, so no round needs a bounds check.
        let rounds = div_up(width - thread, threads);
        bind!(first = self(from + thread));
        emit!(for round in self(0..rounds) {
            bind!(i = self(first + round * threads));
            f(self, i)?;
        });
        Ok(())
    }

    /// Allocates device blocks of `count` elements of each type.
    pub(super) fn device_arrays(
        &mut self,
        hint: &str,
        types: &[PrimType],
        count: impl Into<Expr>,
        prov: Prov,
    ) -> Vec<Var> {
        let count = count.into();
        types
            .iter()
            .map(|ty| {
                let buffer = self.owned(MemoryId::Device, hint);
                self.alloc(buffer, &count * ty.size() as i64, prov);
                buffer
            })
            .collect()
    }

    /// Allocates shared-memory arrays with one element of each type for each thread of the block.
    pub(super) fn shared_arrays(&mut self, hint: &str, types: &[PrimType]) -> Vec<Var> {
        let count = self.schedule.layout.block as u64;
        types
            .iter()
            .map(|&elem| {
                let buffer = self.value(VarType::Buffer(MemoryId::Shared), hint);
                self.emit(Stmt::Frame { buffer, elem, count });
                buffer
            })
            .collect()
    }
}
