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
            Self::Rename(dims) => dims.len(),
            Self::Slices(slices) => slices.len(),
        }
    }

    /// The widths after the change.
    pub(super) fn levels(&self, before: &[Dim]) -> Vec<Dim> {
        match self {
            Self::Order(order) => order.iter().map(|level| before[*level]).collect(),
            Self::Split(parts) => parts.clone(),
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
fn whole(dim: Dim) -> DimIndex {
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
