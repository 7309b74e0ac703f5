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
use crate::function::Gen;
use analysis::thresholds;
use imp::Expr;
use imp::build::{add, binary, min, mul, sub};
use ir::PassError;
use ir::syntax::Atom;
use prim::{BinOp, PrimType};

/// Iterations of a strip: with 32, histograms take up to a quarter longer, with 256 between a tenth
/// less and a tenth more.
const STRIP: i64 = 64;

/// Returns true if the chunks of a segop should be strip-mined.
pub(crate) const fn pays_off(space: &SegSpace<'_>) -> bool {
    space.decomp.cost >= thresholds::STRIP_MINED
}

impl Gen<'_, '_> {
    /// The iterations `lo..hi` in strips; `f` consumes the results, which have these types,
    /// sequentially.
    pub(crate) fn strip_mined(
        &mut self,
        space: &SegSpace<'_>,
        types: &[PrimType],
        (lo, hi): (Expr, Expr),
        f: impl FnOnce(&mut Self, &[Atom]) -> Result<(), PassError>,
    ) -> Result<(), PassError> {
        let arrays = self.lane_arrays("strip", types, STRIP);
        let count = sub(hi.clone(), lo.clone());
        let whole = add(count, Expr::i64(STRIP - 1));
        let strips = binary(BinOp::SDiv, whole, Expr::i64(STRIP));
        let strips = self.bind_value(strips, PrimType::I64, "strips");
        self.for_seq("strip", Expr::i64(0), strips, false, |g, strip| {
            let first = add(lo, mul(Expr::Var(strip), Expr::i64(STRIP)));
            let first = g.bind_value(first, PrimType::I64, "first");
            let left = min(sub(hi, first.clone()), Expr::i64(STRIP));
            let left = g.bind_value(left, PrimType::I64, "left");
            let mut results = Vec::new();
            g.for_seq("w", Expr::i64(0), left.clone(), true, |g, w| {
                g.set_index(space, add(first.clone(), Expr::Var(w)));
                g.iteration(space.body, |g, atoms| {
                    let values = g.copy_operands(&atoms, types)?;
                    g.store_all(&arrays, types, Expr::Var(w), &values);
                    results = atoms;
                    Ok(())
                })
            })?;
            g.for_seq("w", Expr::i64(0), left, false, |g, w| {
                g.set_index(space, add(first, Expr::Var(w)));
                let values = g.load_all(&arrays, types, Expr::Var(w), "result");
                g.with_vars(&results, &values, |g| f(g, &results))
            })
        })
    }
}
