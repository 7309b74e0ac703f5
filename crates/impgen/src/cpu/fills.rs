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

use crate::copies::{ArrayCopy, copy_stmt};
use crate::cpu::CpuSchedule;
use crate::schedule::{Fill, Generator};
use crate::{OrBug, Result};
use imp::build::{Operand, max, product, select};
use imp::copy_plan::constant;
use imp::{Expr, Region, Var, bind};
use ir::Prov;
use target::chunks::{FILL_CHUNK, MAX_CHUNKS};

impl Generator<'_, CpuSchedule> {
    /// Fills rows: `f` is called with the bounds of a slice of them.
    pub(super) fn fill(
        &mut self,
        fill: Fill<'_>,
        f: impl FnOnce(&mut Self, Operand, Expr) -> Result,
    ) -> Result {
        let Fill { operation, prov, count, row, unaliased } = fill;
        if self.in_task() || n_slices(count, row) == Some(1) {
            return f(self, 0.into(), count.into());
        }
        let distinct: Vec<Var> = unaliased.iter().map(|&block| self.var(block)).collect::<Result<_>>()?;
        bind!(n = self(count));
        let cost = n * row / 4;
        bind!(grain = self(max(Expr::i64(FILL_CHUNK) / max(row, 1), 1)));
        let chunks = self.n_chunks(n, grain, MAX_CHUNKS);
        bind!(cost = self(cost));
        self.for_slices((operation, prov), (n, chunks, false), cost, distinct, f)
    }

    /// Copies an array with at least one dimension, in slices of the outer dimension; a transposed
    /// matrix in slices of its longer dimension.
    pub(super) fn copy_in_slices(&mut self, copy: ArrayCopy) -> Result {
        let ArrayCopy { mut to, mut from, elem, mut extents } = copy;
        if let ([_, to_by], [from_by, _], [rows, columns]) =
            (to.strides.as_slice(), from.strides.as_slice(), extents.as_slice())
            && [to_by, from_by].map(constant) == [Some(1); 2]
            && rows.as_i64().and(columns.as_i64()).is_none()
        {
            bind!(is_wide = self(*rows < *columns));
            for pair in [&mut to.strides, &mut from.strides] {
                let (outer, inner) = self.swapped(is_wide, &pair[0], &pair[1]);
                *pair = vec![outer.into(), inner.into()];
            }
            let (outer, inner) = self.swapped(is_wide, *rows, *columns);
            extents = vec![outer, inner];
        }
        let (&outer, rest) = extents.split_first().or_bug("a copied array has no dimensions")?;
        bind!(row = self(product(rest)));
        let rows = Fill { operation: "copy", prov: Prov::NONE, count: outer, row, unaliased: Vec::new() };
        self.fill(rows, |g, lo, hi| {
            let shift = |mut part: Region| {
                if let Some(stride) = part.strides.first() {
                    part.offset = part.offset + lo * stride;
                }
                part
            };
            let outer = std::iter::once(hi - lo).chain(rest.iter().map(Expr::from));
            g.emit(copy_stmt(shift(to), shift(from), elem, outer));
            Ok(())
        })
    }

    /// Two values, swapped if a condition holds.
    fn swapped<T: Into<Expr> + Clone>(&mut self, cond: Operand, a: T, b: T) -> (Operand, Operand) {
        let (first, second) = (select(cond, b.clone(), a.clone()), select(cond, a, b));
        bind!(outer = self(first));
        bind!(inner = self(second));
        (outer, inner)
    }
}

/// The number of slices, if it is known at compile time.
fn n_slices(count: Operand, row: Operand) -> Option<i64> {
    let grain = (FILL_CHUNK / row.as_i64()?.max(1)).max(1);
    Some((count.as_i64()? / grain).clamp(1, MAX_CHUNKS))
}
