//! Partitioning of loops that fill arrays: copies, iotas, replicates, the bins of histograms. They
//! do the same for every row of an index space, in any order, and no result depends on the
//! assignment of rows to tasks.
//!
//! ```text
//! for lo in 0 .. n tasks#3 "main.iota" ... slices chunks to hi ... {
//!   <fill the rows lo .. hi>
//! }
//! ```
//!
//! A fill that certainly has a single slice, or is part of a task, is not a loop of tasks.

use crate::function::Gen;
use imp::build::{add, div, max, mul};
use imp::{Expr, Var};
use ir::name::Name;
use ir::{PassError, Prov};
use prim::{PrimType, Scalar};
use target::chunks::{FILL_CHUNK, MAX_CHUNKS};

/// An array fill.
pub(crate) struct Fill<'a> {
    /// The name of the operation, for display.
    pub(crate) operation: &'a str,
    /// Its provenance.
    pub(crate) prov: Prov,
    /// The number of rows.
    pub(crate) count: Expr,
    /// The number of elements per row, of which about four take a nanosecond.
    pub(crate) row: Expr,
    /// Blocks that have no aliases.
    pub(crate) unaliased: Vec<Name>,
}

impl Gen<'_, '_> {
    /// Fills rows: `f` is called with the bounds of a slice of them.
    pub(crate) fn fill(
        &mut self,
        fill: Fill<'_>,
        f: impl FnOnce(&mut Self, Expr, Expr) -> Result<(), PassError>,
    ) -> Result<(), PassError> {
        let Fill { operation: what, prov, count, row, unaliased: fresh } = fill;
        if let Some(thread_block) = self.thread_block {
            let from = Expr::i64(0);
            return self.distributed(thread_block, |g, thread| {
                g.distribute((&from, &count), true, thread, |g, at| {
                    let next = add(at.clone(), Expr::i64(1));
                    f(g, at, next)
                })
            });
        }
        if self.device.is_some() && !self.in_task() {
            return self.each_iteration((what, prov), count, |g, at| {
                let next = add(at.clone(), Expr::i64(1));
                f(g, at, next)
            });
        }
        if self.in_task() || n_slices(&count, &row) == Some(1) {
            return f(self, Expr::i64(0), count);
        }
        let distinct: Vec<Var> = fresh.iter().map(|&block| self.var(block)).collect::<Result<_, _>>()?;
        let n = self.bind_value(count, PrimType::I64, "n");
        let cost = div(mul(n.clone(), row.clone()), Expr::i64(4));
        let grain = div(Expr::i64(FILL_CHUNK), max(row, Expr::i64(1)));
        let grain = self.bind_value(max(grain, Expr::i64(1)), PrimType::I64, "grain");
        let chunks = self.n_chunks(n.clone(), grain, MAX_CHUNKS);
        let cost = self.bind_value(cost, PrimType::I64, "cost");
        self.for_slices(what, prov, (n, chunks), cost, distinct, f)
    }

    /// Fills rows one by one, in a loop with independent iterations.
    pub(crate) fn fill_each(
        &mut self,
        fill: Fill<'_>,
        f: impl FnOnce(&mut Self, Var) -> Result<(), PassError>,
    ) -> Result<(), PassError> {
        self.fill(fill, |g, lo, hi| g.for_seq("i", lo, hi, true, f))
    }
}

/// The number of slices, if it is known at compile time.
fn n_slices(count: &Expr, row: &Expr) -> Option<i64> {
    let constant = |e: &Expr| {
        if let Expr::Const(Scalar::I64(x)) = e { Some(*x) } else { None }
    };
    let grain = (FILL_CHUNK / constant(row)?.max(1)).max(1);
    Some((constant(count)? / grain).clamp(1, MAX_CHUNKS))
}
