//! Segops of a single thread, as loops: inside of iterations that one thread runs, and in
//! block-level segops ([`block_segops`](super::block_segops)) the parts that its threads cannot
//! share, and segments.

use crate::gpu::DeviceSchedule;
use crate::mems::{HistOp, Operator, Param, ScanReduce, Seg};
use crate::operators::operator_types;
use crate::schedule::Generator;
use crate::{OrBug, Result};
use imp::{Var, emit};
use ir::PassError;
use ir::name::Name;
use ir::seg::SegKind;
use ir::syntax::Atom;
use ir::types::Dim;

impl Generator<'_, DeviceSchedule> {
    /// A segop of one thread.
    pub(super) fn seg_sequential(&mut self, pat: &[Param], seg: &Seg) -> Result {
        let dims = seg.space.dims.as_slice();
        match &seg.kind {
            SegKind::ScanReduce(scan_reduce) if scan_reduce.is_map() => self.loop_nest(dims, &mut |g| {
                g.iteration(&seg.body, |g, results| g.write_elements(pat, dims, &results))
            }),
            SegKind::ScanReduce(scan_reduce) => self.reduce_sequential(pat, seg, scan_reduce),
            SegKind::Hist(ops) => self.loop_nest(dims, &mut |g| {
                g.iteration(&seg.body, |g, results| g.hist_sequential(dims, ops, &results))
            }),
            SegKind::FlatMap => Err(PassError::bug("a flat map is in a kernel")),
        }
    }

    /// Nested loops over dimensions.
    fn loop_nest(&mut self, dims: &[(Name, Dim)], f: &mut dyn FnMut(&mut Self) -> Result) -> Result {
        let Some(((index, dim), rest)) = dims.split_first() else {
            return f(self);
        };
        let to = self.dim(*dim)?;
        emit!(for i in self(0..to) {
            self.set_var(*index, i);
            self.loop_nest(rest, f)?;
        });
        Ok(())
    }

    fn reduce_sequential(&mut self, pat: &[Param], seg: &Seg, scan_reduce: &ScanReduce) -> Result {
        let dims = seg.space.dims.as_slice();
        let (inner, outer) = dims.split_last().or_bug("an index space has no dimensions")?;
        let (reduced, _) = scan_reduce.results(pat);
        let mut scalars: Vec<Var> = Vec::new();
        self.loop_nest(outer, &mut |g| {
            let totals = g.reduce_segment(pat, seg, scan_reduce, inner)?;
            if outer.is_empty() {
                scalars = totals;
                return Ok(());
            }
            g.store_results(reduced, outer, &totals)
        })?;
        self.set_vars(reduced, scalars);
        Ok(())
    }

    /// Folds the current segment along a dimension; returns the reduced values.
    pub(super) fn reduce_segment(
        &mut self,
        pat: &[Param],
        seg: &Seg,
        scan_reduce: &ScanReduce,
        inner: &(Name, Dim),
    ) -> Result<Vec<Var>> {
        let dims = seg.space.dims.as_slice();
        let operators: Vec<&Operator> = scan_reduce.operators().collect();
        let types = operator_types(&operators)?;
        let (_, elements) = scan_reduce.results(pat);
        let n_scanned = scan_reduce.n_scanned();
        let accs = self.neutral(&operators, &types)?;
        self.loop_nest(std::slice::from_ref(inner), &mut |g| {
            g.iteration(&seg.body, |g, results| {
                let n = types.len().min(results.len());
                let (accumulated, mapped) = results.split_at(n);
                let values = g.copy_operands(accumulated, &types)?;
                g.combine(&operators, &accs, &values)?;
                let (scanned, _) = accs.split_at(n_scanned);
                match &scan_reduce.post {
                    None => {
                        g.store_results(&elements[..n_scanned], dims, scanned)?;
                        g.write_elements(&elements[n_scanned..], dims, mapped)
                    }
                    Some(post) => {
                        g.set_post_params(post, scanned, mapped)?;
                        g.iteration(&post.body, |g, results| g.write_elements(elements, dims, &results))
                    }
                }
            })
        })?;
        Ok(accs.split_at(n_scanned).1.to_vec())
    }

    /// One iteration's updates of histograms.
    pub(super) fn hist_sequential(
        &mut self,
        dims: &[(Name, Dim)],
        ops: &[HistOp],
        results: &[Atom],
    ) -> Result {
        let outer = &dims[..dims.len().saturating_sub(1)];
        let hists = self.bins_of(ops, outer)?;
        self.each_bin(&hists, dims, results, |g, k, index, values| {
            let hist = &hists[k];
            let elements = g.bin_elements(hist, index)?;
            let values = g.copy_operands(values, &hist.types)?;
            g.combine_elements(hist.op, elements, &values)
        })
    }
}
