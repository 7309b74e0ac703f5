//! Chunks of filters: scans that count flags, with a post lambda that scatters the flagged values
//! to their counts.
//!
//! ```text
//! segscan (i < n) (+, 0) { (btoi c, c, v) }     for each block of L iterations
//!   post (s, c, v) {                              for w < L: c[w], v[w] = <body>
//!     out with [if c then s - 1 else -1] <- v  => first = acc;  acc = acc + count c
//!   }                                             out[first ..] = pack v c
//!                                               the remaining iterations one by one
//! ```
//!
//! The destination indices of flagged values are consecutive for any flags, so they need not be
//! computed. A block that is not entirely within the array is written one value at a time.

use super::scan::Scan;
use super::scatter::{Packed, Scatter};
use crate::Result;
use crate::cpu::CpuSchedule;
use crate::schedule::Generator;
use imp::build::{Operand, and};
use imp::{Expr, Var, VarType, bind, emit, expr};
use ir::PassError;
use ir::facts::Filter;
use ir::syntax::Atom;
use prim::PrimType;

/// Iterations of a block; half as many if values are wide.
const BLOCK: u32 = 16;
/// The maximum size in bytes of values that use full blocks.
const NARROW: u64 = 4;
impl Generator<'_, CpuSchedule> {
    /// The iterations `lo..hi` of a filtering scan; `accs` holds the number of values kept before.
    pub(crate) fn filter_chunk(
        &mut self,
        scan: &Scan<'_>,
        filter: &Filter,
        scatter: &Scatter,
        accs: &[Var],
        (lo, hi): (Operand, Operand),
    ) -> Result {
        let &[acc] = accs else {
            return Err(PassError::bug("a filter does not have exactly one count"));
        };
        let elems = &scatter.types[1..];
        let narrow = elems.iter().all(|elem| elem.size() <= NARROW);
        let lanes = if narrow { BLOCK } else { BLOCK / 2 };
        let width = i64::from(lanes);
        let flags = self.lane_arrays("flags", &[PrimType::Bool], width);
        let values = self.lane_arrays("values", elems, width);
        bind!(blocks = self((hi - lo) / width));
        emit!(for block in self(0..blocks) {
            bind!(first = self(lo + block * width));
            self.independent_iterations(scan.space, first, width, |g, w, results| {
                let mapped = scan.operation.values(&results).mapped;
                let flag = g.copy_operands(&[mapped[filter.flag]], &[PrimType::Bool])?;
                g.store_all(&flags, &[PrimType::Bool], w, &flag);
                let atoms: Vec<Atom> = filter.values.iter().map(|at| mapped[*at]).collect();
                let loaded = g.copy_operands(&atoms, elems)?;
                g.store_all(&values, elems, w, &loaded);
                Ok(())
            })?;
            self.write_filtered(filter, scatter, acc, (flags[0], &values), lanes)?;
        });
        bind!(rest = self(lo + blocks * width));
        self.scan_points(scan, accs, rest, hi)
    }

    /// Writes the flagged values of a block, and adds their number to the count.
    fn write_filtered(
        &mut self,
        filter: &Filter,
        scatter: &Scatter,
        acc: Var,
        (flags, values): (Var, &[Var]),
        lanes: u32,
    ) -> Result {
        let width = i64::from(lanes);
        let size = self.dim(scatter.size)?;
        let flagged = self.frame_vector(flags, PrimType::Bool, (lanes, 0), "flagged");
        bind!(kept = self(Expr::Count(Box::new(flagged.into()))));
        bind!(first = self(acc + (filter.offset + 1)));
        bind!(end = self(first + kept));
        let starts = expr!(0 <= first);
        emit!(if self(and(starts, expr!(end <= size))) {
            let there =
                expr!(Expr::LaneIds(PrimType::I64, lanes) < Expr::Splat(lanes, Box::new(kept.into())));
            let mask = self.value(VarType::Vector(PrimType::Bool, lanes), "there");
            self.set(mask, there);
            let block = Packed { lanes, start: 0, first, chosen: flagged, occupied: mask.into() };
            self.store_packed(scatter, values, &block)?;
            self.set(acc, acc + kept);
        } else {
            emit!(for w in self(0..width) {
                let flag = self.load_all(&[flags], &[PrimType::Bool], w, "flag");
                let elems = &scatter.types[1..];
                let loaded = self.load_all(values, elems, w, "x");
                emit!(if self(flag[0]) {
                    self.set(acc, acc + 1);
                    let index = self.bind(acc + filter.offset, "lane");
                    self.scatter_at(scatter, index, &loaded)?;
                });
            });
        });
        Ok(())
    }
}
