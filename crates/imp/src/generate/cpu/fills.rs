//! How loops that fill arrays fall apart: copies, iotas, replicates, the bins of
//! histograms. All of them do the same for every row of an index space, in any
//! order, and no result depends on which task does which rows.
//!
//! ```text
//! for lo in 0 .. n tasks#3 "main.iota" ... pieces chunks to hi ... {
//!   <fill the rows lo .. hi>
//! }
//! ```
//!
//! A fill that is a single piece for sure, or part of a task, is no loop of tasks.

use crate::generate::expr::{add, div, max, mul};
use crate::generate::function::Gen;
use crate::syntax::{Expr, Var};
use ir::name::Name;
use ir::{PassError, Prov};
use prim::{PrimType, Scalar};
use target::tasks::{FILL_GRAIN, MAX_CHUNKS};

/// What is filled.
pub(crate) struct Fill<'a> {
    /// For people: the operation.
    pub(crate) what: &'a str,
    /// Where it stands.
    pub(crate) prov: Prov,
    /// How many rows there are.
    pub(crate) count: Expr,
    /// Elements of a row, about four of which take a nanosecond.
    pub(crate) row: Expr,
    /// Blocks that nothing else denotes.
    pub(crate) fresh: Vec<Name>,
}

impl Gen<'_, '_> {
    /// Fills rows: `f` gets the bounds of a piece of them.
    pub(crate) fn fill(
        &mut self,
        fill: Fill<'_>,
        f: impl FnOnce(&mut Self, Expr, Expr) -> Result<(), PassError>,
    ) -> Result<(), PassError> {
        let Fill { what, prov, count, row, fresh } = fill;
        if let Some(team) = self.team {
            let from = Expr::i64(0);
            return self.together(team, |g, thread| {
                g.share_out((&from, &count), true, thread, |g, at| {
                    let next = add(at.clone(), Expr::i64(1));
                    f(g, at, next)
                })
            });
        }
        if self.device.is_some() && !self.in_task() {
            return self.each_point((what, prov), count, |g, at| {
                let next = add(at.clone(), Expr::i64(1));
                f(g, at, next)
            });
        }
        if self.in_task() || pieces(&count, &row) == Some(1) {
            return f(self, Expr::i64(0), count);
        }
        let distinct: Vec<Var> = fresh.iter().map(|&block| self.var(block)).collect::<Result<_, _>>()?;
        let n = self.name_value(count, PrimType::I64, "n");
        let cost = div(mul(n.clone(), row.clone()), Expr::i64(4));
        let grain = div(Expr::i64(FILL_GRAIN), max(row, Expr::i64(1)));
        let grain = self.name_value(max(grain, Expr::i64(1)), PrimType::I64, "grain");
        let chunks = self.n_chunks(n.clone(), grain, MAX_CHUNKS);
        let cost = self.name_value(cost, PrimType::I64, "cost");
        self.for_pieces(what, prov, (n, chunks), cost, distinct, f)
    }

    /// Fills rows one by one, in a loop whose iterations are independent.
    pub(crate) fn fill_each(
        &mut self,
        fill: Fill<'_>,
        f: impl FnOnce(&mut Self, Var) -> Result<(), PassError>,
    ) -> Result<(), PassError> {
        self.fill(fill, |g, lo, hi| g.for_seq("i", lo, hi, true, f))
    }
}

/// How many pieces there are, as far as it is known.
fn pieces(count: &Expr, row: &Expr) -> Option<i64> {
    let constant = |e: &Expr| {
        if let Expr::Const(Scalar::I64(x)) = e { Some(*x) } else { None }
    };
    let grain = (FILL_GRAIN / constant(row)?.max(1)).max(1);
    Some((constant(count)? / grain).clamp(1, MAX_CHUNKS))
}
