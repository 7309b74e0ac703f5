//! Strip-mining of iterations whose updates are sequential while the rest of the body is
//! independent, so that the lanes pass finds a loop of independent iterations.
//!
//! ```text
//! iterations lo..hi    for each strip of L iterations (the last may be shorter)
//!                        for w < L: <body>; v[w] = results      (in any order)
//!                        for w < L: f v[w]                      (sequential)
//! ```
//!
//! If the body is cheap, storing its results would cost more than lanes gain.

use super::segops::SegSpace;
use crate::Result;
use crate::cpu::CpuSchedule;
use crate::schedule::Generator;
use analysis::thresholds;
use imp::build::{Operand, binary, min};
use imp::{bind, emit};
use ir::syntax::Atom;
use prim::{BinOp, PrimType};

/// Iterations of a strip: with 32, histograms take up to a quarter longer, with 256 between a tenth
/// less and a tenth more.
const STRIP: i64 = 64;

/// Returns true if the chunks of a segop should be strip-mined.
pub(crate) const fn pays_off(space: &SegSpace<'_>) -> bool {
    space.decomp.cost >= thresholds::STRIP_MINED
}

impl Generator<'_, CpuSchedule> {
    /// The iterations `lo..hi` in strips; `f` consumes the results, which have these types,
    /// sequentially.
    pub(crate) fn strip_mined(
        &mut self,
        space: &SegSpace<'_>,
        types: &[PrimType],
        (lo, hi): (Operand, Operand),
        f: impl FnOnce(&mut Self, &[Atom]) -> Result,
    ) -> Result {
        let arrays = self.lane_arrays("strip", types, STRIP);
        let count = hi - lo;
        let whole = count + (STRIP - 1);
        bind!(strips = self(binary(BinOp::SDiv, whole, STRIP)));
        emit!(for strip in self(0..strips) {
            bind!(first = self(lo + strip * STRIP));
            bind!(left = self(min(hi - first, STRIP)));
            let mut results = Vec::new();
            self.independent_iterations(space, first, left, |g, w, atoms| {
                let values = g.copy_operands(&atoms, types)?;
                g.store_all(&arrays, types, w, &values);
                results = atoms;
                Ok(())
            })?;
            emit!(for w in self(0..left) {
                self.set_index(space.index, first + w);
                let values = self.load_all(&arrays, types, w, "result");
                self.with_vars(&results, &values, |g| f(g, &results))?;
            });
        });
        Ok(())
    }
}
