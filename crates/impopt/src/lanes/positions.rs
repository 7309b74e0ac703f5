//! The choice of the instructions for vector accesses, by the positions of the elements.
//!
//! Before: the position of an access, over all lanes. After: one of [`LanePositions`], each of
//! which is one strategy:
//!
//! - contiguous lanes, forwards or backwards, are one access;
//! - unmasked loads of lanes a small constant distance apart read the gaps too, and are sorted by
//!   shuffles ([`MAX_SHUFFLED_STRIDE`](target::throughput::MAX_SHUFFLED_STRIDE));
//! - other regular distances are a scalar access per lane; with a mask, and for loads in loops
//!   where the processor has fast gathers, each lane has an address of its own, as for irregular
//!   positions (`misc/ocean-sim` of `bench/run.py reference`).

use super::value::{LaneValue, Shapes, Stride};
use imp::{Expr, LanePositions};
use target::throughput;

/// Returns true if lanes are contiguous.
pub(super) const fn is_unit(position: &LaneValue) -> bool {
    matches!(position, LaneValue::Affine(_, _, Stride::Const(1)))
}

/// The positions of a load; with `gathers`, regular distances are gathers.
pub(super) fn load_positions(
    shapes: &Shapes<'_>,
    position: LaneValue,
    masked: bool,
    gathers: bool,
) -> LanePositions {
    let near = if masked { 1 } else { throughput::MAX_SHUFFLED_STRIDE };
    let at = positions(shapes, position.clone(), masked, near);
    if gathers && matches!(at, LanePositions::Strided(..)) {
        return LanePositions::Gather(shapes.vector(position));
    }
    at
}

/// The positions of a store.
pub(super) fn store_positions(shapes: &Shapes<'_>, position: LaneValue, masked: bool) -> LanePositions {
    positions(shapes, position, masked, 1)
}

fn positions(shapes: &Shapes<'_>, position: LaneValue, masked: bool, near: u64) -> LanePositions {
    match position {
        LaneValue::Affine(_, base, Stride::Const(1)) => LanePositions::Unit(base),
        LaneValue::Affine(_, base, Stride::Const(by)) if (1..=near).contains(&by.unsigned_abs()) => {
            LanePositions::SmallStride(base, by)
        }
        LaneValue::Affine(_, base, Stride::Const(by)) if !masked => {
            LanePositions::Strided(base, Expr::i64(by))
        }
        LaneValue::Affine(_, base, Stride::Of(by)) if !masked => LanePositions::Strided(base, by),
        position @ (LaneValue::Uniform(_) | LaneValue::Affine(..) | LaneValue::Vector(_)) => {
            LanePositions::Gather(shapes.vector(position))
        }
    }
}
