//! Histograms with more bins than the scratchpad has room for, by operators that devices
//! apply at once: in the histogram itself, or where many threads would meet there, in several
//! copies of it; and what copies come to, by any operator.

use super::{Bins, Hists};
use crate::generate::accs::flat;
use crate::generate::expr::{add, binary, compare, div, max, min, mul, sub};
use crate::generate::function::Gen;
use crate::generate::operators::at;
use crate::syntax::{Expr, Stmt, Var};
use ir::PassError;
use prim::{BinOp, CmpOp, PrimType};

impl Gen<'_, '_> {
    /// The points' updates, wherever their bins are.
    pub(super) fn hist_everywhere(
        &mut self,
        hists: &Hists<'_>,
        operators: &[(BinOp, PrimType)],
    ) -> Result<(), PassError> {
        let Hists {
            seg,
            ops,
            bins,
            most,
            prov,
        } = hists;
        let dims = seg.space.dims.as_slice();
        let device = self.layout();
        let segments = self.product(&dims[..dims.len().saturating_sub(1)], "segments")?;
        let n = self.product(dims, "n")?;
        let all = max(mul(segments.clone(), most.clone()), Expr::i64(1));
        let meeting = mul(all, Expr::i64(device.bins.meeting));
        let meeting = self.name_value(meeting, PrimType::I64, "meeting");
        let copies = min(
            div(Expr::i64(device.blocks * device.block), meeting.clone()),
            div(n.clone(), meeting),
        );
        let copies = self.name_value(copies, PrimType::I64, "copies");
        let several = self.collect(|g| {
            let mut counts = Vec::with_capacity(bins.len());
            let mut arrays = Vec::with_capacity(bins.len());
            for hist in bins {
                let count = mul(segments.clone(), hist.own.clone());
                let count = g.name_value(count, PrimType::I64, "count");
                let all = mul(copies.clone(), count.clone());
                let all = g.name_value(all, PrimType::I64, "all");
                let own = g.device_arrays("copies", &hist.types, &all, *prov);
                g.each_point(("seghist.start", *prov), all, |g, place| {
                    let neutral = g.neutral(&[hist.op], &hist.types)?;
                    g.store_all(&own, &hist.types, place, &neutral);
                    Ok(())
                })?;
                counts.push(count);
                arrays.push(own);
            }
            g.each_point(("seghist", *prov), n.clone(), |g, point| {
                let block = div(point.clone(), Expr::i64(device.block));
                let copy = binary(BinOp::UMod, block, copies.clone());
                let copy = g.name_value(copy, PrimType::I64, "copy");
                g.bind_point(dims, &point)?;
                g.point(&seg.body, |g, results| {
                    g.each_bin(bins, ops, dims, &results, |g, k, index, values| {
                        let (op, elem) = operators[k];
                        let bin = flat(index, &bins[k].extents);
                        let place = add(mul(copy.clone(), counts[k].clone()), bin);
                        let value = g.atom(values[0])?;
                        g.apply_at_once(at(arrays[k][0], elem, place), op, value);
                        Ok(())
                    })
                })
            })?;
            for ((hist, own), count) in bins.iter().zip(&arrays).zip(&counts) {
                g.combine_copies(hist, own, (&Expr::i64(1), &copies, count), hists)?;
                g.release_arrays(own);
            }
            Ok(())
        })?;
        let one = self.collect(|g| {
            g.each_point(("seghist", *prov), n.clone(), |g, point| {
                g.bind_point(dims, &point)?;
                g.update_at_once(seg, ops, bins, operators)
            })
        })?;
        let is_more = compare(CmpOp::SLt, Expr::i64(1), copies);
        self.emit(Stmt::If(is_more, several, one));
        Ok(())
    }

    /// Each bin takes the bins of the copies that its segment has, in their order: segments,
    /// copies and bins lie in row-major order. Groups of threads take a bin each, as many as
    /// have a few copies.
    pub(super) fn combine_copies(
        &mut self,
        hist: &Bins<'_>,
        arrays: &[Var],
        (segments, copies, own): (&Expr, &Expr, &Expr),
        hists: &Hists<'_>,
    ) -> Result<(), PassError> {
        let all = mul(segments.clone(), own.clone());
        let all = self.name_value(all, PrimType::I64, "all");
        let group = self.few_threads(copies);
        let blocks = self.blocks_for(&group, &all);
        self.kernel(("seghist.total", hists.prov), blocks, |g, block| {
            let part = g.scratchpad("part", &hist.types, hists.prov)?;
            g.threads(hists.prov, |g, thread| {
                let member = g.member(&group, (block, &thread), &all);
                let accs = g.neutral(&[hist.op], &hist.types)?;
                g.inside(&member, |g| {
                    let bin = member.chunk.clone();
                    let before = mul(div(bin.clone(), own.clone()), own.clone());
                    let others = mul(before, sub(copies.clone(), Expr::i64(1)));
                    let first = g.name_value(add(bin, others), PrimType::I64, "first");
                    let among = (&member.place, &group.threads);
                    let range = (&Expr::i64(0), copies);
                    g.share_out_among(range, false, among, |g, copy| {
                        let place = add(first, mul(copy, own.clone()));
                        let values = g.load_all(arrays, &hist.types, place, "own");
                        g.combine(&[hist.op], &accs, &values)
                    })
                })?;
                let halvings = group.halvings.clone();
                g.reduce_groups((&[hist.op], &hist.types), &part, &accs, (&thread, halvings))?;
                g.inside(&member, |g| {
                    g.first_thread(&member.place, |g| {
                        let total = g.load_all(&part, &hist.types, thread, "total");
                        g.add_to_bin(hist, &member.chunk, &total)
                    })
                })
            })
        })
    }

    /// A bin takes a value, which one thread has.
    pub(super) fn add_to_bin(
        &mut self,
        hist: &Bins<'_>,
        bin: &Expr,
        values: &[Var],
    ) -> Result<(), PassError> {
        let places = self.places_of(hist, bin)?;
        let olds = self.load_places(&places, "old");
        self.combine(&[hist.op], &olds, values)?;
        for (place, old) in places.into_iter().zip(olds) {
            self.store(place, Expr::Var(old));
        }
        Ok(())
    }
}
