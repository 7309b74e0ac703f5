//! Points whose updates wait for each other, while what they compute does not: in
//! strips, so that the lanes pass finds a loop of independent points.
//!
//! ```text
//! points lo..hi    for each strip of L points (the last may be shorter)
//!                    for w < L: <body>; v[w] = results      (in any order)
//!                    for w < L: f v[w]                      (in order)
//! ```
//!
//! Where the body is cheap, storing the results would cost more than lanes gain.

use super::segops::Space;
use crate::generate::expr::{add, binary, min, mul, sub};
use crate::generate::function::Gen;
use crate::syntax::Expr;
use ir::PassError;
use ir::syntax::Atom;
use prim::{BinOp, PrimType};

/// Points of a strip: with 32, histograms take up to a fourth longer, with 256 from a tenth
/// less to a tenth more.
const STRIP: i64 = 64;
/// Cost of a point (as decompositions estimate it) from which on strips are made: with 20 they
/// take 1.4 times as long, with 28 0.9, with 44 0.8, with 140 0.4 (a million points, bins by
/// some multiplications, one thread with AVX-512).
const DEAR: i64 = 48;

/// Whether the points of a segop go in strips.
pub(crate) const fn pays(space: &Space<'_>) -> bool {
    space.decomp.cost >= DEAR
}

impl Gen<'_, '_> {
    /// The points `lo..hi`, of whose results of these types `f` makes something in order.
    pub(crate) fn strips(
        &mut self,
        space: &Space<'_>,
        types: &[PrimType],
        (lo, hi): (Expr, Expr),
        f: impl FnOnce(&mut Self, &[Atom]) -> Result<(), PassError>,
    ) -> Result<(), PassError> {
        let arrays = self.lane_arrays("strip", types, STRIP);
        let count = sub(hi.clone(), lo.clone());
        let whole = add(count, Expr::i64(STRIP - 1));
        let strips = binary(BinOp::SDiv, whole, Expr::i64(STRIP));
        let strips = self.name_value(strips, PrimType::I64, "strips");
        self.for_seq("strip", Expr::i64(0), strips, false, |g, strip| {
            let first = add(lo, mul(Expr::Var(strip), Expr::i64(STRIP)));
            let first = g.name_value(first, PrimType::I64, "first");
            let left = min(sub(hi, first.clone()), Expr::i64(STRIP));
            let left = g.name_value(left, PrimType::I64, "left");
            let mut results = Vec::new();
            g.for_seq("w", Expr::i64(0), left.clone(), true, |g, w| {
                g.at_point(space, add(first.clone(), Expr::Var(w)));
                g.point(space.body, |g, atoms| {
                    let values = g.values(&atoms, types)?;
                    g.store_all(&arrays, types, Expr::Var(w), &values);
                    results = atoms;
                    Ok(())
                })
            })?;
            g.for_seq("w", Expr::i64(0), left, false, |g, w| {
                g.at_point(space, add(first, Expr::Var(w)));
                let values = g.load_all(&arrays, types, Expr::Var(w), "result");
                g.with_vars(&results, &values, |g| f(g, &results))
            })
        })
    }
}
