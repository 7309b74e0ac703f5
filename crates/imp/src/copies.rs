//! How copies go about it.
//!
//! The order in which a copy visits its elements is free, and matters much where
//! the two sides lie in different orders. A [`Plan`] stands in each copy; [`Stmt::copy`]
//! makes the best one for what is constant in the copy:
//!
//! - a row that is contiguous on both sides moves as memory;
//! - a small square of constant size that is transposed goes through registers;
//! - one dimension with other strides that are constant goes element by element, of
//!   which LLVM makes vectors that skip what lies between;
//! - all else looks at its strides when it runs ([`Plan::Strides`]); several
//!   dimensions go in tiles where the sides turn out to disagree about which one
//!   is contiguous, so that both use whole cache lines. That is one piece of code
//!   for a rank, so it is the plan even where both sides are known to be rows.
//!
//! In the end [`calls`] makes the last kind calls of functions.

mod nest;
mod strided;
mod tiles;

pub use strided::calls;

use crate::syntax::{Expr, Plan, Region, Stmt, Tile};
use prim::{PrimType, Scalar};

/// Longest side of a square in registers: so many vectors fit.
pub(crate) const MOST_IN_REGISTERS: u32 = 16;

/// Tiles of other copies. The pitch is odd, so that the elements of a tile's
/// column lie in different cache sets.
const TILE: Tile = Tile { side: 32, pitch: 33 };

impl Stmt {
    /// A copy with the plan for it.
    pub fn copy(to: Region, from: Region, elem: PrimType, extents: Vec<Expr>) -> Self {
        let plan = if is_row(&to, &from, &extents) {
            Plan::Memory
        } else if let Some(side) = square(&to, &from, &extents) {
            Plan::Registers(side)
        } else if let ([to], [from]) = (to.strides.as_slice(), from.strides.as_slice())
            && constant(to).and(constant(from)).is_some()
        {
            Plan::Each
        } else {
            Plan::Strides((extents.len() > 1).then_some(TILE))
        };
        Self::Copy { to, from, elem, extents, plan }
    }
}

pub(crate) fn constant(e: &Expr) -> Option<i64> {
    if let Expr::Const(Scalar::I64(x)) = e { Some(*x) } else { None }
}

/// Whether a copy is that of one row, contiguous on both sides.
pub(crate) fn is_row(to: &Region, from: &Region, extents: &[Expr]) -> bool {
    let mut strides = to.strides.iter().chain(&from.strides);
    extents.len() <= 1 && strides.all(|stride| constant(stride) == Some(1))
}

/// The side of the square that a copy transposes, if it is one for registers: its
/// rows are contiguous in the source, its columns in the target, a constant
/// distance apart.
pub(crate) fn square(to: &Region, from: &Region, extents: &[Expr]) -> Option<u32> {
    let [rows, columns] = extents else {
        return None;
    };
    let side = u32::try_from(constant(rows)?).ok()?;
    let fits = constant(columns)? == i64::from(side)
        && (2..=MOST_IN_REGISTERS).contains(&side)
        && side.is_power_of_two();
    let source_rows = from.strides.last().and_then(constant) == Some(1);
    let to_strides: Vec<_> = to.strides.iter().map(constant).collect();
    let pitched = matches!(to_strides[..], [Some(1), Some(pitch)] if pitch >= i64::from(side));
    (fits && source_rows && pitched).then_some(side)
}
