//! How much a thread of a segop takes.
//!
//! The device says so ([`Device::grain`](target::device::Device)), or a parameter of the function
//! in its place (pass `grains`), which is as much by default: from twice as much on a chunk has
//! twice as many points at least, a thread of a short segment twice as many, and half as many
//! points are enough for threads that have several, or for tiles that have several of each
//! thread.

use crate::copies::constant;
use crate::generate::expr::{div, max, min, mul};
use crate::generate::function::Gen;
use crate::syntax::Expr;
use ir::seg::Seg;
use ir::{Mems, PassError};
use prim::PrimType;

/// More than any thread has; what follows from it stays in bounds.
const MOST: i64 = 1 << 32;

impl Gen<'_, '_> {
    /// How many points a thread of a segop takes at least, in a variable of the host's; the
    /// context takes note of it where that is a parameter.
    pub(super) fn thread_grain(&mut self, seg: &Seg<Mems>) -> Result<Expr, PassError> {
        if seg.decomp.tunable.is_none() {
            return Ok(Expr::i64(self.layout().grain));
        }
        let n = self.product(&seg.space.dims, "points")?;
        let grain = min(self.grain(seg.decomp, &n)?, Expr::i64(MOST));
        Ok(self.name_value(grain, PrimType::I64, "grain"))
    }

    /// How many blocks of a segop there have to be for tiles with several points a thread.
    pub(super) fn blocks_for_tiles(&mut self, seg: &Seg<Mems>) -> Result<Expr, PassError> {
        let grain = self.thread_grain(seg)?;
        Ok(self.in_inverse(self.layout().tiles.fill, &grain))
    }

    /// A number of the device's, as many times larger or smaller as a grain is; at least 1.
    pub(super) fn in_proportion(&mut self, number: i64, grain: &Expr) -> Expr {
        let all = mul(Expr::i64(number), grain.clone());
        self.share(all, Expr::i64(self.layout().grain))
    }

    /// The other way around: it is larger where the grain is smaller.
    pub(super) fn in_inverse(&mut self, number: i64, grain: &Expr) -> Expr {
        let all = Expr::i64(number.saturating_mul(self.layout().grain));
        self.share(all, grain.clone())
    }

    fn share(&mut self, all: Expr, of: Expr) -> Expr {
        let share = match (constant(&all), constant(&of)) {
            (Some(all), Some(of)) => Expr::i64((all / of.max(1)).max(1)),
            _ => max(div(all, of), Expr::i64(1)),
        };
        self.name_value(share, PrimType::I64, "share")
    }
}
