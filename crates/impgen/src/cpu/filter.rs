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
use crate::function::Gen;
use imp::build::{add, and, compare, div, mul, sub};
use imp::{Expr, Stmt, Var, VarType};
use ir::PassError;
use ir::facts::Filter;
use ir::syntax::Atom;
use prim::{CmpOp, PrimType};

/// Iterations of a block; half as many if values are wide.
const BLOCK: u32 = 16;
/// The maximum size in bytes of values that use full blocks.
const NARROW: u64 = 4;
impl Gen<'_, '_> {
    /// The iterations `lo..hi` of a filtering scan; `accs` holds the number of values kept before.
    pub(crate) fn filter_chunk(
        &mut self,
        scan: &Scan<'_>,
        filter: &Filter,
        scatter: &Scatter,
        accs: &[Var],
        (lo, hi): (Expr, Expr),
    ) -> Result<(), PassError> {
        let &[acc] = accs else {
            return Err(PassError::bug("a filter does not have exactly one count"));
        };
        let elems = &scatter.types[1..];
        let narrow = elems.iter().all(|elem| elem.size() <= NARROW);
        let lanes = if narrow { BLOCK } else { BLOCK / 2 };
        let width = i64::from(lanes);
        let flags = self.lane_arrays("flags", &[PrimType::Bool], width);
        let values = self.lane_arrays("values", elems, width);
        let blocks = div(sub(hi.clone(), lo.clone()), Expr::i64(width));
        let blocks = self.bind_value(blocks, PrimType::I64, "blocks");
        self.for_seq("block", Expr::i64(0), blocks.clone(), false, |g, block| {
            let first = add(lo.clone(), mul(Expr::Var(block), Expr::i64(width)));
            let first = g.bind_value(first, PrimType::I64, "first");
            g.for_seq("w", Expr::i64(0), Expr::i64(width), true, |g, w| {
                g.set_index(scan.space, add(first, Expr::Var(w)));
                g.iteration(scan.space.body, |g, results| {
                    let mapped = scan.operation.values(&results).mapped;
                    let flag = g.copy_operands(&[mapped[filter.flag]], &[PrimType::Bool])?;
                    g.store_all(&flags, &[PrimType::Bool], Expr::Var(w), &flag);
                    let atoms: Vec<Atom> = filter.values.iter().map(|at| mapped[*at]).collect();
                    let loaded = g.copy_operands(&atoms, elems)?;
                    g.store_all(&values, elems, Expr::Var(w), &loaded);
                    Ok(())
                })
            })?;
            g.write_filtered(filter, scatter, acc, (flags[0], &values), lanes)
        })?;
        let rest = self.bind_value(add(lo, mul(blocks, Expr::i64(width))), PrimType::I64, "rest");
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
    ) -> Result<(), PassError> {
        let width = i64::from(lanes);
        let size = self.dim(scatter.size)?;
        let flagged = self.frame_vector(flags, PrimType::Bool, (lanes, 0), "flagged");
        let kept = Expr::Count(Box::new(flagged.clone()));
        let kept = self.bind_value(kept, PrimType::I64, "kept");
        let first = add(Expr::Var(acc), Expr::i64(filter.offset + 1));
        let first = self.bind_value(first, PrimType::I64, "first");
        let end = self.bind_value(add(first.clone(), kept.clone()), PrimType::I64, "end");
        let together = self.collect(|g| {
            let there = compare(
                CmpOp::SLt,
                Expr::LaneIds(PrimType::I64, lanes),
                Expr::Splat(lanes, Box::new(kept.clone())),
            );
            let mask = g.value(VarType::Vector(PrimType::Bool, lanes), "there");
            g.emit(Stmt::Set(mask, there));
            let block = Packed {
                lanes,
                start: 0,
                first: first.clone(),
                chosen: flagged.clone(),
                occupied: Expr::Var(mask),
            };
            g.store_packed(scatter, values, &block)?;
            g.emit(Stmt::Set(acc, add(Expr::Var(acc), kept)));
            Ok(())
        })?;
        let one_by_one = self.collect(|g| {
            g.for_seq("w", Expr::i64(0), Expr::i64(width), false, |g, w| {
                let flag = g.load_all(&[flags], &[PrimType::Bool], Expr::Var(w), "flag");
                let elems = &scatter.types[1..];
                let loaded = g.load_all(values, elems, Expr::Var(w), "x");
                let stored = g.collect(|g| {
                    g.emit(Stmt::Set(acc, add(Expr::Var(acc), Expr::i64(1))));
                    let index = add(Expr::Var(acc), Expr::i64(filter.offset));
                    let index = g.bind_value(index, PrimType::I64, "lane");
                    g.scatter_at(scatter, index, &loaded)
                })?;
                g.emit(Stmt::If(Expr::Var(flag[0]), stored, Vec::new()));
                Ok(())
            })
        })?;
        let starts = compare(CmpOp::SLe, Expr::i64(0), first);
        let fits = and(starts, compare(CmpOp::SLe, end, size));
        self.emit(Stmt::If(fits, together, one_by_one));
        Ok(())
    }
}
