//! How vectors reach their elements in memory, by where these lie.
//!
//! Before: the position of an access, seen over all lanes. After: one of
//! [`LanePositions`], each of which is one way to go about it:
//!
//! - lanes one after another, forwards or backwards, are one access;
//! - loads of lanes a small constant distance apart read the gaps too, unless there
//!   is a mask, and sort what they read ([`throughput::NEAR`]);
//! - other regular distances are an access for each lane; with a mask, and for loads in
//!   loops where the processor gathers well, the lanes have addresses of their own, like all
//!   else (`misc/ocean-sim` of `bench/run.py reference`).

use super::value::{Shapes, Stride, Val};
use crate::syntax::{Expr, LanePositions};
use target::throughput;

/// Whether lanes lie one after another.
pub(super) const fn is_unit(position: &Val) -> bool {
    matches!(position, Val::Affine(_, _, Stride::Const(1)))
}

/// How a load goes about it; regular distances may be gathers.
pub(super) fn load_positions(
    shapes: &Shapes<'_>,
    position: Val,
    masked: bool,
    gathers: bool,
) -> LanePositions {
    let near = if masked { 1 } else { throughput::NEAR };
    let at = positions(shapes, position.clone(), masked, near);
    if gathers && matches!(at, LanePositions::Strided(..)) {
        return LanePositions::Each(shapes.vector(position));
    }
    at
}

/// How a store goes about it.
pub(super) fn store_positions(shapes: &Shapes<'_>, position: Val, masked: bool) -> LanePositions {
    positions(shapes, position, masked, 1)
}

fn positions(shapes: &Shapes<'_>, position: Val, masked: bool, near: u64) -> LanePositions {
    match position {
        Val::Affine(_, base, Stride::Const(1)) => LanePositions::Unit(base),
        Val::Affine(_, base, Stride::Const(by)) if (1..=near).contains(&by.unsigned_abs()) => {
            LanePositions::Near(base, by)
        }
        Val::Affine(_, base, Stride::Const(by)) if !masked => LanePositions::Strided(base, Expr::i64(by)),
        Val::Affine(_, base, Stride::Of(by)) if !masked => LanePositions::Strided(base, by),
        position @ (Val::Uniform(_) | Val::Affine(..) | Val::Vector(_)) => {
            LanePositions::Each(shapes.vector(position))
        }
    }
}
