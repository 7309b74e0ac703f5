//! Reductions in two kernels: the blocks of the first reduce chunks of the segments, a
//! block of the second what those of one segment came to.
//!
//! ```text
//! block of a chunk    thread: acc = ne; for its points { <body>; acc = op acc x }
//!                     part[thread] = acc; part is reduced in pairs of neighbours
//!                     partial[block] = part[0]
//! block of a segment  the same with the partials for points; result = part[0]
//! ```
//!
//! Neighbours combine left to right, so operators need not commute; of those that do,
//! threads take points that lie a block apart.

use super::segments::{Chunk, Segments};
use crate::generate::expr::{add, binary, compare, mul, sub};
use crate::generate::function::Gen;
use crate::generate::operators::{at, operator_types};
use crate::syntax::{Expr, Stmt, Var};
use ir::folds::Folds;
use ir::seg::Seg;
use ir::soac::Operator;
use ir::syntax::Param;
use ir::{Mems, PassError, Prov};
use prim::{BinOp, CmpOp, PrimType};

/// What is reduced.
pub(super) struct Reduction<'s> {
    pub(super) operators: Vec<&'s Operator<Mems>>,
    pub(super) types: Vec<PrimType>,
    /// What the results are bound to.
    pub(super) pat: &'s [Param<Mems>],
}

impl<'s> Reduction<'s> {
    pub(super) fn of(folds: &'s Folds<Mems>, pat: &'s [Param<Mems>]) -> Result<Self, PassError> {
        let operators: Vec<_> = folds.reduces.iter().collect();
        let types = operator_types(&operators)?;
        Ok(Self {
            operators,
            types,
            pat,
        })
    }
}

impl Gen<'_, '_> {
    pub(super) fn kernel_reduce(
        &mut self,
        pat: &[Param<Mems>],
        seg: &Seg<Mems>,
        folds: &Folds<Mems>,
        prov: Prov,
    ) -> Result<(), PassError> {
        let (reduced, mapped) = folds.results(pat);
        let reduction = Reduction::of(folds, reduced)?;
        let segments = self.segments(&seg.space)?;
        let all = self.all_chunks(&segments);
        let partials = self.device_arrays("partial", &reduction.types, &all, prov);
        let any_order = folds.reduces.iter().all(|op| op.comm);
        self.kernel(("segred", prov), all, |g, block| {
            let Chunk { from, to, .. } = g.chunk_of(&segments, block)?;
            let part = g.scratchpad("part", &reduction.types, prov)?;
            g.threads(prov, |g, thread| {
                let accs = g.neutral(&reduction.operators, &reduction.types)?;
                g.share_out((&from, &to), any_order, &thread, |g, i| {
                    g.bind_index_to(segments.index, i);
                    g.point(&seg.body, |g, results| {
                        let values = folds.values(&results);
                        let reduced = g.values(values.reduced, &reduction.types)?;
                        g.combine(&reduction.operators, &accs, &reduced)?;
                        g.write_elements(mapped, &seg.space.dims, values.mapped)
                    })
                })?;
                g.reduce_block(&reduction, &part, &accs, &thread)?;
                g.first_thread(&thread, |g| {
                    let types = &reduction.types;
                    let sums = g.load_all(&part, types, Expr::i64(0), "sum");
                    g.store_all(&partials, types, Expr::Var(block), &sums);
                    Ok(())
                })
            })
        })?;
        self.reduce_partials(&segments, &reduction, &partials, prov)
    }

    /// What the chunks of each segment came to is reduced to the results.
    pub(super) fn reduce_partials(
        &mut self,
        segments: &Segments<'_>,
        reduction: &Reduction<'_>,
        partials: &[Var],
        prov: Prov,
    ) -> Result<(), PassError> {
        let types = &reduction.types;
        let scalars = segments.outer.is_empty();
        let totals = if scalars {
            self.device_arrays("total", types, &Expr::i64(1), prov)
        } else {
            Vec::new()
        };
        let count = segments.count.clone();
        self.kernel(("segred.total", prov), count, |g, block| {
            g.bind_point(segments.outer, &Expr::Var(block))?;
            let from = mul(Expr::Var(block), segments.chunks.clone());
            let from = g.name_value(from, PrimType::I64, "from");
            let to = add(from.clone(), segments.chunks.clone());
            let to = g.name_value(to, PrimType::I64, "to");
            let part = g.scratchpad("part", types, prov)?;
            g.threads(prov, |g, thread| {
                let accs = g.neutral(&reduction.operators, types)?;
                g.share_out((&from, &to), false, &thread, |g, i| {
                    let values = g.load_all(partials, types, i, "partial");
                    g.combine(&reduction.operators, &accs, &values)
                })?;
                g.reduce_block(reduction, &part, &accs, &thread)?;
                g.first_thread(&thread, |g| {
                    let sums = g.load_all(&part, types, Expr::i64(0), "sum");
                    if scalars {
                        g.store_all(&totals, types, Expr::i64(0), &sums);
                        return Ok(());
                    }
                    g.write_vars(reduction.pat, segments.outer, &sums)
                })
            })
        })?;
        self.release_arrays(partials);
        for ((param, &total), &elem) in reduction.pat.iter().zip(&totals).zip(types) {
            let var = self
                .bind_borrowed(param)
                .ok_or_else(|| PassError::bug("what is reduced has no variable"))?;
            self.load(var, at(total, elem, Expr::i64(0)));
        }
        self.release_arrays(&totals);
        Ok(())
    }

    /// The threads' values are reduced in the scratchpad, to its first element.
    pub(super) fn reduce_block(
        &mut self,
        reduction: &Reduction<'_>,
        part: &[Var],
        accs: &[Var],
        thread: &Expr,
    ) -> Result<(), PassError> {
        let Reduction {
            operators, types, ..
        } = reduction;
        self.store_all(part, types, thread.clone(), accs);
        self.barrier();
        let rounds = i64::from(self.layout().block.trailing_zeros());
        self.for_seq(
            "round",
            Expr::i64(0),
            Expr::i64(rounds),
            false,
            |g, round| {
                let distance = binary(BinOp::Shl, Expr::i64(1), Expr::Var(round));
                let distance = g.name_value(distance, PrimType::I64, "distance");
                let pair = sub(mul(distance.clone(), Expr::i64(2)), Expr::i64(1));
                let first = binary(BinOp::And, thread.clone(), pair);
                let body = g.collect(|g| {
                    let left = g.load_all(part, types, thread.clone(), "left");
                    let other = add(thread.clone(), distance);
                    let right = g.load_all(part, types, other, "right");
                    g.combine(operators, &left, &right)?;
                    g.store_all(part, types, thread.clone(), &left);
                    Ok(())
                })?;
                let is_first = compare(CmpOp::Eq, first, Expr::i64(0));
                g.emit(Stmt::If(is_first, body, Vec::new()));
                g.barrier();
                Ok(())
            },
        )
    }

    /// What the first thread of a block does.
    pub(super) fn first_thread(
        &mut self,
        thread: &Expr,
        f: impl FnOnce(&mut Self) -> Result<(), PassError>,
    ) -> Result<(), PassError> {
        let body = self.collect(f)?;
        let first = compare(CmpOp::Eq, thread.clone(), Expr::i64(0));
        self.emit(Stmt::If(first, body, Vec::new()));
        Ok(())
    }
}
