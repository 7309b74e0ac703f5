//! Plans of copies.
//!
//! The order in which a copy visits its elements is free, and matters much where the layouts of the
//! two sides differ. Each copy has a [`CopyPlan`]; [`Stmt::copy`] chooses the best one for the
//! constants in the copy:
//!
//! - a row that is contiguous on both sides is a `memcpy`;
//! - a small square of constant size that is transposed goes through registers;
//! - one dimension with other constant strides is copied element by element, which LLVM vectorises
//!   with strided accesses;
//! - every other copy considers its strides at run time ([`CopyPlan::Dynamic`]); several dimensions
//!   are tiled where the sides turn out to differ in which one is contiguous, so that both use
//!   whole cache lines. There is one function for a rank, so this is the plan even where both sides
//!   are known to be rows.
//!
//! Finally the pass `copies` replaces copies of the last kind by calls of functions.

use crate::syntax::{CopyPlan, Expr, Region, Stmt, Tile};
use prim::{PrimType, Scalar};

/// The largest extent of a square in registers, and the number of vectors for it.
pub const MOST_IN_REGISTERS: u32 = 16;

/// The tiles of other copies. The pitch is odd, so that the elements of a tile's column are in
/// different cache sets.
const TILE: Tile = Tile { extent: 32, pitch: 33 };

impl Stmt {
    /// A copy with the best plan for its constants.
    pub fn copy(to: Region, from: Region, elem: PrimType, extents: Vec<Expr>) -> Self {
        let plan = if is_row(&to, &from, &extents) {
            CopyPlan::Memory
        } else if let Some(side) = square(&to, &from, &extents) {
            CopyPlan::InRegister(side)
        } else if let ([to], [from]) = (to.strides.as_slice(), from.strides.as_slice())
            && constant(to).and(constant(from)).is_some()
        {
            CopyPlan::Elements
        } else {
            CopyPlan::Dynamic((extents.len() > 1).then_some(TILE))
        };
        Self::Copy { to, from, elem, extents, plan }
    }
}

/// The value of an `i64` constant.
pub fn constant(e: &Expr) -> Option<i64> {
    if let Expr::Const(Scalar::I64(x)) = e { Some(*x) } else { None }
}

/// Returns true if a copy is one row, contiguous on both sides.
pub fn is_row(to: &Region, from: &Region, extents: &[Expr]) -> bool {
    let mut strides = to.strides.iter().chain(&from.strides);
    extents.len() <= 1 && strides.all(|stride| constant(stride) == Some(1))
}

/// The extent of the square that a copy transposes, if it fits in registers: its rows are
/// contiguous in the source, its columns in the destination, at a constant distance.
pub fn square(to: &Region, from: &Region, extents: &[Expr]) -> Option<u32> {
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
