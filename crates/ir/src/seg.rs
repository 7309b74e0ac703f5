//! The level of segmented operations.
//!
//! A segop executes its body for each iteration of its index space at a hardware level. `segmap`
//! returns the body's results, `segred` reduces and `segscan` scans the body's first results along
//! the innermost dimension (`segscanred` does both), `seghist` updates histograms, `segflatmap`
//! concatenates arrays of different sizes. Inside of a body only segops of lower levels are
//! parallel: inner combinators have become loops.
//!
//! [`Decomp`] fixes the partition of the work into chunks (design contract 1); the runtime
//! assigns chunks to threads.

use crate::name::Name;
use crate::scan_reduce::ScanReduce;
use crate::soac::{AccInput, HistOp};
use crate::syntax::{Body, Exp, Lambda, Level};
use crate::tunable::TunableId;
use crate::types::{Dim, Type};
use crate::walk::{Annotation, with_stack};
use std::ops::Range;
use target::levels::LevelId;
use target::memories::MemoryId;

/// The level whose operations are segmented operations.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Segs;

impl Level for Segs {
    type Op = SegOp<Segs>;
    type Ann = ();
}

/// The index space of a segop.
#[derive(Clone, PartialEq, Debug)]
pub struct SegSpace {
    /// Index name (`i64`) and size of each dimension, outermost first.
    pub dims: Vec<(Name, Dim)>,
    /// The dimension that runs in vector lanes, if any.
    pub lane: Option<u32>,
}

impl SegSpace {
    /// Returns the result types of scans and reductions over the space, given the types `ret` of
    /// the body's results: reduced values have one element per segment, all others one per
    /// iteration.
    pub fn scan_reduce_types<L: Level>(&self, scan_reduce: &ScanReduce<L>, ret: &[Type]) -> Vec<Type> {
        let dims: Vec<Dim> = self.dims.iter().map(|(_, dim)| *dim).collect();
        let segments = &dims[..dims.len().saturating_sub(1)];
        let over = |ty: &Type, dims: &[Dim]| {
            let dims = dims.iter().rev();
            dims.fold(ty.clone(), |ty, dim| ty.array_of(*dim))
        };
        let reduced = scan_reduce.reduced_types().map(|ty| over(ty, segments));
        let elements = scan_reduce.element_types(ret);
        let arrays = elements.iter().map(|ty| over(ty, &dims));
        reduced.chain(arrays).collect()
    }
}

/// Partition of a segop's innermost dimension (for `segmap`: of the whole space, flattened) into
/// chunks, by sizes alone.
///
/// `n` iterations are grouped by `step`: the greatest power of two that is at most `width` or
/// `accumulators * scan_block` and leaves [`MIN_GROUPS`] chunks. The number of chunks is
/// `clamp(n / max(grain_size, step), 1, max_chunks)`. Chunk `c` of `k` begins at
/// `c * (n / step) / k * step`; the last one ends at `n`.
///
/// The grain size of a `seghist` is `max(grain_size, bins)`, where `bins` is the size of its
/// largest histogram; that of a segop that passes accumulators with an operator is `max(grain_size,
/// bins / updates_per_iteration)`, where `bins` is the size of the largest accumulator. A single
/// chunk updates the destination directly, in iteration order. Several chunks have private copies,
/// which start from the neutral elements and are updated in iteration order; then each bin of the
/// destination is combined with the copies' bins, from the first chunk to the last. This holds for
/// all operators; for exact ones the result does not depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decomp {
    /// Minimum number of iterations per chunk on average (unless there is only one chunk); as
    /// bounds are multiples of `step`, single chunks may have fewer.
    pub grain_size: i64,
    /// The function's tuning parameter that replaces the grain size; `grain_size` is its default.
    pub tunable: Option<TunableId>,
    /// Maximum number of chunks.
    pub max_chunks: i64,
    /// Partial accumulators per chunk: iteration `i` of the chunk updates accumulator `i mod
    /// width`. They are combined by halves: with `h` half of their number, rounded up, accumulator
    /// `h + i` is combined into accumulator `i`, until one is left. 1 unless the operator commutes.
    pub width: u32,
    /// Number of sub-chunks of a chunk that are reduced simultaneously, a multiple of `scan_block`;
    /// 1 if the chunk is reduced from the first iteration to the last. See [`Decomp::sub_chunks`].
    /// Above 1 only if `width` is 1.
    pub accumulators: u32,
    /// A power of two; the lengths of most sub-chunks are multiples of it. If above 1, a chunk is
    /// scanned in blocks of `scan_block` elements: element `w` of a block is combined with element
    /// `w - d` (the neutral element where there is none) on its left, for `d` of 1, 2, 4 and so on
    /// up to half of the block; then the prefix of the elements before is combined into each; the
    /// remainder is scanned element by element.
    pub scan_block: u32,
    /// Estimated cost of one iteration in sixteenths of a nanosecond, for the scheduler.
    pub cost: i64,
    /// Assumed number of updates per iteration of accumulators with an operator: at least 1 if the
    /// segop passes any, else 0. If above 0, `width`, `accumulators` and `scan_block` are 1, and
    /// nothing is scanned.
    pub updates_per_iteration: u32,
}

/// Consecutive sub-chunks of a chunk, of one length, that are folded simultaneously.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SubChunks {
    /// Number of sub-chunks.
    pub count: i64,
    /// Iterations per sub-chunk.
    pub length: i64,
}

/// Minimum number of iterations of a group of sub-chunks: small enough for memory to be read line
/// by line, large enough for the cost of combining the sub-chunks' results to be negligible.
pub const MIN_GROUP: i64 = 256;

/// Minimum number of groups of iterations: groups that would fill all accumulators or sub-chunks
/// are halved until there are this many.
pub const MIN_GROUPS: i64 = 16;

impl Decomp {
    /// A single chunk, folded sequentially.
    pub const SINGLE_CHUNK: Self = Self {
        grain_size: 1,
        tunable: None,
        max_chunks: 1,
        width: 1,
        accumulators: 1,
        scan_block: 1,
        cost: 1,
        updates_per_iteration: 0,
    };

    /// The number of chunks of `n` iterations.
    pub fn chunks(self, n: i64) -> i64 {
        (n / self.grain_size.max(self.group(n))).clamp(1, self.max_chunks.max(1))
    }

    /// The iterations of each chunk, of `n` iterations.
    pub fn bounds(self, n: i64) -> impl Iterator<Item = Range<i64>> {
        let (count, step) = (self.chunks(n), self.group(n));
        let bound = move |c: i64| {
            let steps = i128::from(c) * i128::from(n / step) / i128::from(count);
            if c == count { n } else { steps as i64 * step }
        };
        (0..count).map(move |c| bound(c)..bound(c + 1))
    }

    /// The sub-chunks of a chunk of `iterations` iterations: groups of `count` sub-chunks of
    /// `length` iterations. Each sub-chunk is reduced from the neutral elements; the results of a
    /// group are combined in pairs, these in pairs, and so on until one is left, which is combined
    /// with the value so far (initially the neutral elements). The remaining iterations are
    /// combined with it one by one. No groups if `accumulators` is 1.
    ///
    /// Most groups are short: [`MIN_GROUP`] iterations or more. In the remainder, some consist of
    /// whole squares of `scan_block` iterations by `scan_block` sub-chunks; the length of the last
    /// group is such that its last square does not read past the end of the chunk.
    pub fn sub_chunks(self, iterations: i64) -> impl Iterator<Item = SubChunks> {
        let depth = i64::from(self.scan_block.max(1));
        let most = if self.accumulators > 1 { i64::from(self.accumulators) / depth } else { 0 };
        let full = SubChunks { count: most * depth, length: self.squares() * depth };
        let full_groups = iterations.checked_div(full.count * full.length).unwrap_or(0);
        let mut left = iterations - full_groups * full.count * full.length;
        let full_groups = (0..full_groups).map(move |_| full);
        let squares = (1..=most).rev().map(Some);
        let last = (most > 0).then_some(None);
        full_groups.chain(squares.chain(last).map(move |vectors| {
            let count = vectors.unwrap_or(1) * depth;
            let length = match vectors {
                Some(_) => left / (count * depth) * depth,
                None => (left - depth).max(0) / (depth - 1).max(1),
            };
            left -= count * length;
            SubChunks { count, length }
        }))
    }

    /// The number of squares of `scan_block` by `scan_block` iterations per sub-chunk of a group of
    /// [`MIN_GROUP`] iterations.
    pub fn squares(self) -> i64 {
        (MIN_GROUP / (i64::from(self.accumulators) * i64::from(self.scan_block)).max(1)).max(1)
    }

    /// The number of iterations per group, of `n`.
    fn group(self, n: i64) -> i64 {
        let most = (n / MIN_GROUPS).clamp(1, self.full_group());
        1 << most.ilog2()
    }

    /// The number of iterations that fill all accumulators or sub-chunks, at least 1.
    pub fn full_group(self) -> i64 {
        let n_sub_chunks = i64::from(self.accumulators) * i64::from(self.scan_block);
        n_sub_chunks.max(i64::from(self.width)).max(1)
    }

    /// Returns the decomposition of a `seghist` whose largest histogram has `bins` bins, or of a
    /// segop that passes accumulators with an operator, the largest of `bins` elements.
    #[must_use]
    pub fn with_bins(self, bins: i64) -> Self {
        let iterations = bins / i64::from(self.updates_per_iteration.max(1));
        Self { grain_size: self.grain_size.max(iterations), ..self }
    }
}

/// The use of the body's results.
#[derive(Clone, PartialEq, Debug)]
pub enum SegKind<L: Level> {
    /// Results are scanned and reduced along the innermost dimension, or are elements of arrays
    /// over the whole space. (The indices are in scope of a post lambda: at the level with memory,
    /// index functions of results mention them.)
    ScanReduce(ScanReduce<L>),
    /// Results are the indices of each histogram, then the values of each.
    Hist(Vec<HistOp<L>>),
    /// Results are a size, `?0` in the types of the others; arrays of that size, which are
    /// concatenated; and elements of arrays over the space, which has one dimension. (At the level
    /// with memory each concatenated array follows its block.)
    FlatMap,
}

/// Returns the result types of a flat map of `width` iterations with result types `ret`: the sum of
/// the sizes (`?0` in the others), then the arrays.
pub fn flat_map_types<L: Level>(width: Dim, ret: &[Type]) -> Vec<Type> {
    let mut types = Vec::with_capacity(ret.len());
    for (i, ty) in ret.iter().enumerate() {
        if is_concatenated(ty) && <L::Ann as Annotation<L>>::HAS_BLOCKS {
            types.push(Type::Mem(MemoryId::Host));
        }
        types.push(if i == 0 || is_concatenated(ty) { ty.clone() } else { ty.array_of(width) });
    }
    types
}

/// Returns true if this result of a flat map's iteration is concatenated with those of the others.
pub fn is_concatenated(ty: &Type) -> bool {
    ty.shape().first() == Some(&Dim::Ext(0))
}

impl<L: Level> SegKind<L> {
    /// A map: results are elements of the result arrays.
    pub fn map() -> Self {
        Self::ScanReduce(ScanReduce::default())
    }

    /// Returns true if all results are elements of the result arrays.
    pub fn is_map(&self) -> bool {
        match self {
            Self::ScanReduce(scan_reduce) => scan_reduce.is_map(),
            Self::Hist(_) | Self::FlatMap => false,
        }
    }
}

/// Returns the segops of a body that are not nested in other segops.
pub fn outermost_segops<L: Level<Op = SegOp<L>>>(body: &Body<L>) -> Vec<&SegOp<L>> {
    fn find<'b, L: Level<Op = SegOp<L>>>(body: &'b Body<L>, found: &mut Vec<&'b SegOp<L>>) {
        with_stack(|| {
            for stm in &body.stms {
                match &stm.exp {
                    Exp::Op(op @ SegOp::Seg(_)) => found.push(op),
                    Exp::Op(SegOp::WithAcc { lambda, .. }) => find(&lambda.body, found),
                    Exp::If { then_body, else_body, .. } => {
                        find(then_body, found);
                        find(else_body, found);
                    }
                    Exp::Loop { body, .. } => find(body, found),
                    Exp::Basic(_) | Exp::Apply { .. } => {}
                }
            }
        });
    }
    let mut found = Vec::new();
    find(body, &mut found);
    found
}

/// A segmented operation.
#[derive(Clone, PartialEq, Debug)]
pub struct Seg<L: Level> {
    /// Hardware level.
    pub level: LevelId,
    /// Index space.
    pub space: SegSpace,
    /// Use of the body's results.
    pub kind: SegKind<L>,
    /// One iteration.
    pub body: Body<L>,
    /// Types of the body's results.
    pub ret: Vec<Type>,
    /// Partition into chunks.
    pub decomp: Decomp,
    /// Identity (no-op) predicate: it takes the accumulated values of all operators, then an
    /// iteration's values; where it is true, the operators return the accumulated values unchanged.
    /// A fact; see [`facts`](crate::facts).
    pub identity_predicate: Option<Lambda<L>>,
}

impl<L: Level> Seg<L> {
    /// Its name in IR text, by its kind.
    pub fn keyword(&self) -> &'static str {
        match &self.kind {
            SegKind::ScanReduce(scan_reduce) if scan_reduce.is_map() => "segmap",
            SegKind::ScanReduce(scan_reduce) if scan_reduce.reduces.is_empty() => "segscan",
            SegKind::ScanReduce(ScanReduce { scans, post: None, .. }) if scans.is_empty() => "segred",
            SegKind::ScanReduce(_) => "segscanred",
            SegKind::Hist(_) => "seghist",
            SegKind::FlatMap => "segflatmap",
        }
    }

    /// Returns true if it is a map of a single iteration, executed by one thread.
    pub fn is_single_iteration(&self) -> bool {
        self.kind.is_map() && matches!(self.space.dims[..], [(_, Dim::Const(1))])
    }
}

/// An operation of a segmented level.
#[allow(clippy::large_enum_variant, reason = "nearly all are segops, and few exist at a time")]
#[derive(Clone, PartialEq, Debug)]
pub enum SegOp<L: Level> {
    /// A segmented operation.
    Seg(Seg<L>),
    /// As [`Soac::WithAcc`](crate::soac::Soac::WithAcc).
    WithAcc {
        /// The arrays.
        inputs: Vec<AccInput<L>>,
        /// The function of the accumulators.
        lambda: Lambda<L>,
    },
}
