//! The level of segmented operations.
//!
//! A segop runs its body for each point of its space at a hardware level.
//! `segmap` returns what the body gives, `segred` reduces and `segscan` scans
//! the body's first results along the innermost dimension (`segscanred` both),
//! `seghist` updates histograms, `segflatmap` concatenates arrays of different sizes. Nothing inside a body is parallel unless it is a segop of a
//! lower level: inner combinators have become loops.
//!
//! The [`Decomp`] fixes how the work falls apart (design contract 1); who runs
//! a part is the runtime's business.

use crate::folds::Folds;
use crate::name::Name;
use crate::soac::{AccInput, HistOp};
use crate::syntax::{Body, Exp, Lambda, Level};
use crate::tunable::TunableId;
use crate::types::{Dim, Space, Type};
use crate::walk::with_stack;
use std::ops::Range;

/// The level whose operations are segmented operations.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Segs;

impl Level for Segs {
    type Op = SegOp<Segs>;
    type Ann = ();
    const NAME: &'static str = "segs";
    const ORDERS: bool = true;
}

/// The index space of a segop.
#[derive(Clone, PartialEq, Debug)]
pub struct SegSpace {
    /// Index name (`i64`) and size of each dimension, outermost first.
    pub dims: Vec<(Name, Dim)>,
    /// Which dimension runs in the lanes of a vector, if any.
    pub lane: Option<u32>,
}

impl SegSpace {
    /// The types of what folds over the space give, of points with results of these types:
    /// a value for each segment of what is reduced, one for each point of the rest.
    pub fn fold_types<L: Level>(&self, folds: &Folds<L>, ret: &[Type]) -> Vec<Type> {
        let dims: Vec<Dim> = self.dims.iter().map(|(_, dim)| *dim).collect();
        let segments = &dims[..dims.len().saturating_sub(1)];
        let over = |ty: &Type, dims: &[Dim]| {
            let dims = dims.iter().rev();
            dims.fold(ty.clone(), |ty, dim| ty.array_of(*dim))
        };
        let reduced = folds.reduced_types().map(|ty| over(ty, segments));
        let elements = folds.element_types(ret);
        let arrays = elements.iter().map(|ty| over(ty, &dims));
        reduced.chain(arrays).collect()
    }
}

/// How a segop's innermost dimension (for `segmap`: the whole space, flattened)
/// falls apart into chunks, from sizes alone. Of `n` points, `step` go together:
/// the greatest power of two that is no more than `width` or `streams * depth` and
/// leaves [`FULL_CHUNKS`] chunks. The number of chunks is
/// `clamp(n / max(grain, step), 1, max_chunks)`. Chunk `c` of `k` begins at
/// `c * (n / step) / k * step`; the last one ends at `n`.
///
/// A `seghist` takes `max(grain, bins)` for the grain, `bins` being the size of
/// its largest histogram; a segop that passes accumulators with an operator takes
/// `max(grain, bins / writes)`, `bins` being the size of the largest of them. If that
/// makes one chunk, its points go to the destination in their order. If it makes
/// several, each has copies of its own that start from the neutral elements and take
/// its points in order; then each bin of the destination takes the copies' bins, from
/// the first chunk to the last. This holds for all operators; those that are exact
/// cannot tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decomp {
    /// Points that a chunk has at least (but for the only chunk).
    pub grain: i64,
    /// The parameter of the function that takes the grain's place; `grain` is its default.
    pub tunable: Option<TunableId>,
    /// Most chunks.
    pub max_chunks: i64,
    /// Partial accumulators per chunk: point `i` of the chunk goes to
    /// accumulator `i mod width`; they combine by halves: with `h` half as many,
    /// rounded up, accumulator `h + i` goes to accumulator `i`, until one is left. 1
    /// unless the operator commutes.
    pub width: u32,
    /// How many stretches of a chunk are folded in step, a multiple of `depth`;
    /// 1 if the chunk is folded from the first point to the last. See
    /// [`Decomp::stretches`]. Only where `width` is 1.
    pub streams: u32,
    /// A power of two. Stretches are multiples of so many points long. A chunk is
    /// scanned in blocks of so many points, if it is above 1: element `w` of a
    /// block takes element `w - d` (the neutral element where there is none) on
    /// its left, for `d` of 1, 2, 4 and so on up to half of the block; then all
    /// take what was scanned before; what is left over is scanned point by point.
    pub depth: u32,
    /// Estimated cost of one point in nanoseconds times 16, for the scheduler.
    pub cost: i64,
    /// How many updates of accumulators with an operator a point is taken to make, at
    /// least 1 where it passes any, else 0. Then `width`, `streams` and `depth` are 1,
    /// and nothing is scanned.
    pub writes: u32,
}

/// Stretches of a chunk, one after another, that are folded in step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stretches {
    /// How many there are.
    pub count: i64,
    /// How many points each of them has.
    pub length: i64,
}

/// Points that are folded in stretches of one length: so few that memory is read line after
/// line, so many that combining what the stretches come to is little beside.
pub const PIECE: i64 = 256;

/// Chunks that fill all accumulators before any leaves some of its own empty.
pub const FULL_CHUNKS: i64 = 16;

impl Decomp {
    /// All points in one chunk, one after another.
    pub const WHOLE: Self =
        Self { grain: 1, tunable: None, max_chunks: 1, width: 1, streams: 1, depth: 1, cost: 1, writes: 0 };

    /// The number of chunks of `n` points.
    pub fn chunks(self, n: i64) -> i64 {
        (n / self.grain.max(self.step(n))).clamp(1, self.max_chunks.max(1))
    }

    /// The points of each chunk of `n` points.
    pub fn bounds(self, n: i64) -> impl Iterator<Item = Range<i64>> {
        let (count, step) = (self.chunks(n), self.step(n));
        let bound = move |c: i64| {
            let steps = i128::from(c) * i128::from(n / step) / i128::from(count);
            if c == count { n } else { steps as i64 * step }
        };
        (0..count).map(move |c| bound(c)..bound(c + 1))
    }

    /// How the points of a chunk are folded: several times `count` stretches of
    /// `length` points, each from the neutral elements on, their results combined
    /// in pairs and these in pairs until one is left; that one combines with what
    /// was folded before, the neutral elements at first. The points left over go to it one
    /// by one. None where there is one stream.
    ///
    /// Most stretches are short, in pieces of [`PIECE`] points or more. Of what is left, some
    /// are whole squares of `depth` points by `depth` stretches; the last are as long as such a
    /// square reads no further than the chunk.
    pub fn stretches(self, points: i64) -> impl Iterator<Item = Stretches> {
        let depth = i64::from(self.depth.max(1));
        let most = if self.streams > 1 { i64::from(self.streams) / depth } else { 0 };
        let piece = Stretches { count: most * depth, length: self.squares() * depth };
        let pieces = points.checked_div(piece.count * piece.length).unwrap_or(0);
        let mut left = points - pieces * piece.count * piece.length;
        let pieces = (0..pieces).map(move |_| piece);
        let squares = (1..=most).rev().map(Some);
        let last = (most > 0).then_some(None);
        pieces.chain(squares.chain(last).map(move |vectors| {
            let count = vectors.unwrap_or(1) * depth;
            let length = match vectors {
                Some(_) => left / (count * depth) * depth,
                None => (left - depth).max(0) / (depth - 1).max(1),
            };
            left -= count * length;
            Stretches { count, length }
        }))
    }

    /// How many squares a stretch of a piece is.
    pub fn squares(self) -> i64 {
        (PIECE / (i64::from(self.streams) * i64::from(self.depth)).max(1)).max(1)
    }

    /// Of `n` points, how many go together.
    fn step(self, n: i64) -> i64 {
        let most = (n / FULL_CHUNKS).clamp(1, self.whole());
        1 << most.ilog2()
    }

    /// How many points fill all accumulators or stretches, at least 1.
    pub fn whole(self) -> i64 {
        let stretches = i64::from(self.streams) * i64::from(self.depth);
        stretches.max(i64::from(self.width)).max(1)
    }

    /// The decomposition of a `seghist` whose largest histogram has `bins` bins, or of
    /// a segop that passes accumulators with an operator, the largest of so many
    /// elements.
    #[must_use]
    pub fn with_bins(self, bins: i64) -> Self {
        let points = bins / i64::from(self.writes.max(1));
        Self { grain: self.grain.max(points), ..self }
    }
}

/// What a segop does with its body's results.
#[derive(Clone, PartialEq, Debug)]
pub enum SegKind<L: Level> {
    /// Results are scanned and reduced along the innermost dimension, or are
    /// elements of arrays over the whole space. (A post lambda sees the indices: at
    /// the level of memory, places of results mention them.)
    Folds(Folds<L>),
    /// Results are, for each histogram, its indices, then for each its values.
    Hist(Vec<HistOp<L>>),
    /// Results are a size, `?0` in the types of the others, arrays of that size, which
    /// are concatenated, and elements of arrays over the space, which has one dimension.
    /// (At the level of memory each array made by concatenation comes after its block.)
    FlatMap,
}

/// The types of what a flat map over so many points gives, of points with results of
/// these types: the sum of the sizes (`?0` in the others), then the arrays.
pub fn flat_map_types<L: Level>(width: Dim, ret: &[Type]) -> Vec<Type> {
    let mut types = Vec::with_capacity(ret.len());
    for (i, ty) in ret.iter().enumerate() {
        if is_concatenated(ty) && L::BLOCKS {
            types.push(Type::Mem(Space::Host));
        }
        types.push(if i == 0 || is_concatenated(ty) { ty.clone() } else { ty.array_of(width) });
    }
    types
}

/// Whether a result of a flat map's point is concatenated with those of the others.
pub fn is_concatenated(ty: &Type) -> bool {
    ty.shape().first() == Some(&Dim::Ext(0))
}

impl<L: Level> SegKind<L> {
    /// Results are elements of the result arrays.
    pub fn map() -> Self {
        Self::Folds(Folds::default())
    }

    /// Whether results are elements of the result arrays and nothing else.
    pub fn is_map(&self) -> bool {
        match self {
            Self::Folds(folds) => folds.is_map(),
            Self::Hist(_) | Self::FlatMap => false,
        }
    }
}

/// The segops of a body that stand in no other.
pub fn outermost<L: Level<Op = SegOp<L>>>(body: &Body<L>) -> Vec<&SegOp<L>> {
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
    /// Hardware level: 1 = tasks over all workers, 0 = lanes of one worker.
    pub level: u8,
    /// Index space.
    pub space: SegSpace,
    /// What is done with the results.
    pub kind: SegKind<L>,
    /// One point.
    pub body: Body<L>,
    /// Types of the body's results.
    pub ret: Vec<Type>,
    /// How it falls apart.
    pub decomp: Decomp,
    /// Tells points that change nothing: it takes what all operators have folded so
    /// far, then a point's values, and where it is true the operators give back what
    /// they had. A fact; see [`facts`](crate::facts).
    pub keeps: Option<Lambda<L>>,
}

impl<L: Level> Seg<L> {
    /// Whether it is a map of one point, the work of one thread.
    pub fn is_one_point(&self) -> bool {
        self.kind.is_map() && matches!(self.space.dims[..], [(_, Dim::Const(1))])
    }
}

/// An operation of a segmented level.
#[allow(clippy::large_enum_variant, reason = "nearly all are segops, and no code holds many")]
#[derive(Clone, PartialEq, Debug)]
pub enum SegOp<L: Level> {
    /// A segmented operation.
    Seg(Seg<L>),
    /// As [`Soac::WithAcc`](crate::soac::Soac::WithAcc).
    WithAcc {
        /// The arrays.
        inputs: Vec<AccInput<L>>,
        /// What is done with them.
        lambda: Lambda<L>,
    },
}
