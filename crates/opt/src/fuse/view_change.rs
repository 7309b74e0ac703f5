//! The effect of views on the index space of a nest of maps, and on the arrays that it reads.

use super::nest::Read;
use ir::Name;
use ir::syntax::{Atom, BasicOp, DimIndex, ReshapeKind};
use ir::types::{Dim, Type};

/// The effect of a view on the levels of a nest.
pub(super) enum IndexSpaceChange {
    /// A permutation: new level `i` is level `order[i]`.
    Order(Vec<usize>),
    /// The outermost level is split into several.
    Split(Vec<Dim>),
    /// The outer levels, with these widths, become one of the total width. The inner ones are
    /// constants.
    Join { parts: Vec<Dim>, total: Dim },
    /// Replaces the widths of the outer levels by equal ones.
    Rename(Vec<Dim>),
    /// Slices the outer levels.
    Slices(Vec<DimIndex>),
}

impl IndexSpaceChange {
    /// Returns the effect of a view on an array of this type, or `None` if it is not supported.
    pub(super) fn of(op: &BasicOp, of: &Type) -> Option<Self> {
        let dims = of.shape();
        if let BasicOp::Rearrange { perm, .. } = op {
            let moved = (0..perm.len()).rev().find(|i| perm[*i] != *i)?;
            return Some(Self::Order(perm[..=moved].to_vec()));
        }
        if let BasicOp::Reshape { kind, shape, .. } = op {
            return match kind {
                ReshapeKind::Coerce => {
                    let last = (0..dims.len()).rev().find(|i| shape[*i] != dims[*i])?;
                    Some(Self::Rename(shape[..=last].to_vec()))
                }
                ReshapeKind::Arbitrary if shape.len() < dims.len() => {
                    let joined = dims.len() + 1 - shape.len();
                    let inner = dims[1..joined].iter().all(|dim| matches!(dim, Dim::Const(n) if *n > 0));
                    let joins = inner && shape[1..] == dims[joined..];
                    joins.then(|| Self::Join { parts: dims[..joined].to_vec(), total: shape[0] })
                }
                ReshapeKind::Arbitrary => {
                    let parts = (shape.len() + 1).checked_sub(dims.len())?;
                    let splits = parts > 1 && shape[parts..] == dims[1..];
                    splits.then(|| Self::Split(shape[..parts].to_vec()))
                }
            };
        }
        let BasicOp::Index { slice, .. } = op else {
            return None;
        };
        let last = (0..dims.len()).rev().find(|i| slice[*i] != whole(dims[*i]))?;
        let slices = slice[..=last].to_vec();
        let rows = slices.iter().any(|index| matches!(index, DimIndex::Fix(_)));
        (!rows).then_some(Self::Slices(slices))
    }

    /// The nest depth that the change requires.
    pub(super) fn depth(&self) -> usize {
        match self {
            Self::Order(order) => order.len(),
            Self::Split(_) => 1,
            Self::Join { parts, total: _ } => parts.len(),
            Self::Rename(dims) => dims.len(),
            Self::Slices(slices) => slices.len(),
        }
    }

    /// The widths after the change.
    pub(super) fn levels(&self, before: &[Dim]) -> Vec<Dim> {
        match self {
            Self::Order(order) => order.iter().map(|level| before[*level]).collect(),
            Self::Split(parts) => parts.clone(),
            Self::Join { parts, total } => {
                std::iter::once(*total).chain(before[parts.len()..].iter().copied()).collect()
            }
            Self::Rename(dims) => dims.clone(),
            Self::Slices(slices) => {
                let count = |(index, dim): (&DimIndex, &Dim)| match index {
                    DimIndex::Slice { count, .. } => *count,
                    DimIndex::Fix(_) => *dim,
                };
                slices.iter().zip(before).map(count).collect()
            }
        }
    }

    /// The levels that index an array after the change, and the view of the array that this
    /// requires, if any. `dims` is the array's shape.
    pub(super) fn read(&self, read: &Read, dims: &[Dim]) -> (Vec<usize>, Option<BasicOp>) {
        let array = read.array;
        let rest = || dims[read.levels.len()..].iter().copied();
        match self {
            Self::Order(order) => {
                // Its dimensions, in the order of the new levels.
                let position_of = |level: usize| order.iter().position(|old| *old == level);
                let mut own: Vec<(usize, usize)> = read
                    .levels
                    .iter()
                    .enumerate()
                    .map(|(dim, level)| (position_of(*level).unwrap_or(*level), dim))
                    .collect();
                own.sort_unstable();
                let levels = own.iter().map(|(level, _)| *level).collect();
                let moved = own.iter().map(|(_, dim)| *dim);
                let perm: smallvec::SmallVec<[usize; 3]> = moved.chain(own.len()..dims.len()).collect();
                let view = (!perm.is_sorted()).then_some(BasicOp::Rearrange { perm, array });
                (levels, view)
            }
            Self::Split(parts) => {
                let more = parts.len() - 1;
                let (&first, others) = match read.levels.split_first() {
                    Some((first, others)) => (first, others),
                    None => (&0, &[] as &[usize]),
                };
                if first != 0 {
                    return (read.levels.iter().map(|level| level + more).collect(), None);
                }
                let levels = (0..=more).chain(others.iter().map(|level| level + more));
                let shape = parts.iter().copied().chain(dims[1..].iter().copied());
                let view = BasicOp::Reshape { kind: ReshapeKind::Arbitrary, shape: shape.collect(), array };
                (levels.collect(), Some(view))
            }
            Self::Join { parts, total } => {
                let less = parts.len() - 1;
                if read.levels.first() != Some(&0) {
                    return (read.levels.iter().map(|level| level - less).collect(), None);
                }
                // It has all joined levels; the others are computed (`join`).
                let levels = std::iter::once(0).chain(read.levels[parts.len()..].iter().map(|l| l - less));
                let shape = std::iter::once(*total).chain(dims[parts.len()..].iter().copied());
                let view = BasicOp::Reshape { kind: ReshapeKind::Arbitrary, shape: shape.collect(), array };
                (levels.collect(), Some(view))
            }
            Self::Rename(to) => {
                let own = read.levels.iter().map(|level| to[*level]);
                let shape = own.chain(rest()).collect();
                let view = BasicOp::Reshape { kind: ReshapeKind::Coerce, shape, array };
                (read.levels.clone(), Some(view))
            }
            Self::Slices(slices) => {
                let own = read.levels.iter().map(|level| slices[*level]);
                let slice = own.chain(rest().map(whole)).collect();
                (read.levels.clone(), Some(BasicOp::Index { array, slice }))
            }
        }
    }
}

/// The slice of a whole dimension.
pub(super) fn whole(dim: Dim) -> DimIndex {
    DimIndex::Slice { start: Atom::i64(0), count: dim, stride: Atom::i64(1) }
}

/// The array that an operation is a view of.
pub(super) fn viewed(op: &BasicOp) -> Option<Name> {
    if let BasicOp::Rearrange { array, .. } | BasicOp::Reshape { array, .. } | BasicOp::Index { array, .. } =
        op
    {
        Some(*array)
    } else {
        None
    }
}

/// Returns true if two views are equal except for their arrays.
pub(super) fn alike(one: &BasicOp, other: &BasicOp) -> bool {
    let mut one = one.clone();
    if let (
        BasicOp::Rearrange { array, .. } | BasicOp::Reshape { array, .. } | BasicOp::Index { array, .. },
        Some(name),
    ) = (&mut one, viewed(other))
    {
        *array = name;
    }
    one == *other
}
