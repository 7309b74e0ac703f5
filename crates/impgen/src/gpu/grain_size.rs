//! Grain size: the number of iterations per thread.
//!
//! It is the device's parameter ([`Device::grain`](target::device::Device)), or the function's
//! tuning parameter in its place (pass `grain-sizes`), whose default is the same value. Twice the grain
//! size doubles the minimum number of iterations of a chunk and of a thread in a short segment, and
//! halves the number of iterations from which on threads get several, or tiles get several of each
//! thread.

use crate::Result;
use crate::gpu::DeviceSchedule;
use crate::mems::Seg;
use crate::schedule::Generator;
use imp::Expr;
use imp::build::{Operand, max, min};
use imp::copy_plan::constant;

/// An upper bound of grain sizes that keeps derived sizes from overflowing.
const MOST: i64 = 1 << 32;

impl Generator<'_, DeviceSchedule> {
    /// The minimum number of iterations per thread of a segop, in a host variable. If it is a
    /// tuning parameter, the context logs the comparison.
    pub(super) fn thread_grain_size(&mut self, seg: &Seg) -> Result<Operand> {
        if seg.decomp.tunable.is_none() {
            return Ok(self.schedule.layout.grain.into());
        }
        let n = self.extent_product(&seg.space.dims, "iterations")?;
        let grain = min(self.grain_size(seg.decomp, n)?, MOST);
        Ok(self.bind(grain, "grain"))
    }

    /// The minimum number of blocks of a segop for tiles with several iterations per thread.
    pub(super) fn min_blocks_for_tiles(&mut self, seg: &Seg) -> Result<Operand> {
        let grain = self.thread_grain_size(seg)?;
        Ok(self.inversely_scaled(self.schedule.layout.tiles.busy_blocks, grain))
    }

    /// A parameter of the device, scaled by the ratio of `grain` to the device's grain size; at
    /// least 1.
    pub(super) fn scaled(&mut self, number: i64, grain: Operand) -> Operand {
        self.divided(number * grain, self.schedule.layout.grain.into())
    }

    /// A parameter of the device, scaled by the inverse ratio; at least 1.
    pub(super) fn inversely_scaled(&mut self, number: i64, grain: Operand) -> Operand {
        let all = Expr::i64(number.saturating_mul(self.schedule.layout.grain));
        self.divided(all, grain)
    }

    fn divided(&mut self, all: Expr, of: Operand) -> Operand {
        let share = match (constant(&all), of.as_i64()) {
            (Some(all), Some(of)) => Expr::i64((all / of.max(1)).max(1)),
            _ => max(all / of, 1),
        };
        self.bind(share, "share")
    }
}
