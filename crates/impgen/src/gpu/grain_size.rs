//! Grain size: the number of iterations per thread.
//!
//! It is the device's parameter ([`Device::grain`](target::device::Device)), or the function's
//! tuning parameter in its place (pass `grain-sizes`), whose default is the same value. Twice the grain
//! size doubles the minimum number of iterations of a chunk and of a thread in a short segment, and
//! halves the number of iterations from which on threads get several, or tiles get several of each
//! thread.

use crate::function::Gen;
use imp::Expr;
use imp::build::{div, max, min, mul};
use imp::copy_plan::constant;
use ir::seg::Seg;
use ir::{Mems, PassError};
use prim::PrimType;

/// An upper bound of grain sizes that keeps derived sizes from overflowing.
const MOST: i64 = 1 << 32;

impl Gen<'_, '_> {
    /// The minimum number of iterations per thread of a segop, in a host variable. If it is a
    /// tuning parameter, the context logs the comparison.
    pub(super) fn thread_grain_size(&mut self, seg: &Seg<Mems>) -> Result<Expr, PassError> {
        if seg.decomp.tunable.is_none() {
            return Ok(Expr::i64(self.layout().grain));
        }
        let n = self.extent_product(&seg.space.dims, "iterations")?;
        let grain = min(self.grain_size(seg.decomp, &n)?, Expr::i64(MOST));
        Ok(self.bind_value(grain, PrimType::I64, "grain"))
    }

    /// The minimum number of blocks of a segop for tiles with several iterations per thread.
    pub(super) fn min_blocks_for_tiles(&mut self, seg: &Seg<Mems>) -> Result<Expr, PassError> {
        let grain = self.thread_grain_size(seg)?;
        Ok(self.inversely_scaled(self.layout().tiles.busy_blocks, &grain))
    }

    /// A parameter of the device, scaled by the ratio of `grain` to the device's grain size; at
    /// least 1.
    pub(super) fn scaled(&mut self, number: i64, grain: &Expr) -> Expr {
        let all = mul(Expr::i64(number), grain.clone());
        self.divided(all, Expr::i64(self.layout().grain))
    }

    /// A parameter of the device, scaled by the inverse ratio; at least 1.
    pub(super) fn inversely_scaled(&mut self, number: i64, grain: &Expr) -> Expr {
        let all = Expr::i64(number.saturating_mul(self.layout().grain));
        self.divided(all, grain.clone())
    }

    fn divided(&mut self, all: Expr, of: Expr) -> Expr {
        let share = match (constant(&all), constant(&of)) {
            (Some(all), Some(of)) => Expr::i64((all / of.max(1)).max(1)),
            _ => max(div(all, of), Expr::i64(1)),
        };
        self.bind_value(share, PrimType::I64, "share")
    }
}
