//! Segops of a single thread, as loops: inside of iterations that one thread runs, and in
//! block-level segops ([`block_segops`](super::block_segops)) the parts that its threads cannot
//! share, and segments.

use crate::function::Gen;
use crate::operators::operator_types;
use imp::{Expr, Stmt, Var};
use ir::mem::{Block, MemAnn};
use ir::name::Name;
use ir::scan_reduce::ScanReduce;
use ir::seg::{Seg, SegKind};
use ir::soac::{HistOp, Operator};
use ir::syntax::{Atom, Param};
use ir::types::Dim;
use ir::{Mems, PassError};

impl Gen<'_, '_> {
    /// A segop of one thread.
    pub(super) fn seg_sequential(&mut self, pat: &[Param<Mems>], seg: &Seg<Mems>) -> Result<(), PassError> {
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
    fn loop_nest(
        &mut self,
        dims: &[(Name, Dim)],
        f: &mut dyn FnMut(&mut Self) -> Result<(), PassError>,
    ) -> Result<(), PassError> {
        let Some(((index, dim), rest)) = dims.split_first() else {
            return f(self);
        };
        let to = self.dim(*dim)?;
        self.for_seq("i", Expr::i64(0), to, false, |g, i| {
            g.set_var(*index, i);
            g.loop_nest(rest, f)
        })
    }

    fn reduce_sequential(
        &mut self,
        pat: &[Param<Mems>],
        seg: &Seg<Mems>,
        scan_reduce: &ScanReduce<Mems>,
    ) -> Result<(), PassError> {
        let dims = seg.space.dims.as_slice();
        let Some((inner, outer)) = dims.split_last() else {
            return Err(PassError::bug("an index space has no dimensions"));
        };
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
        for (param, var) in reduced.iter().zip(scalars) {
            self.set_var(param.name, var);
        }
        Ok(())
    }

    /// Folds the current segment along a dimension; returns the reduced values.
    pub(super) fn reduce_segment(
        &mut self,
        pat: &[Param<Mems>],
        seg: &Seg<Mems>,
        scan_reduce: &ScanReduce<Mems>,
        inner: &(Name, Dim),
    ) -> Result<Vec<Var>, PassError> {
        let dims = seg.space.dims.as_slice();
        let operators: Vec<&Operator<Mems>> = scan_reduce.operators().collect();
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
                        let (first, others) = post.params.split_at(n_scanned.min(post.params.len()));
                        for (param, &value) in first.iter().zip(scanned) {
                            g.set_param(param, Expr::Var(value))?;
                        }
                        for (param, &value) in others.iter().zip(mapped) {
                            if param.ty.is_prim() {
                                let value = g.atom(value)?;
                                g.set_param(param, value)?;
                            }
                        }
                        g.iteration(&post.body, |g, results| g.write_elements(elements, dims, &results))
                    }
                }
            })
        })?;
        Ok(accs.split_at(n_scanned).1.to_vec())
    }

    pub(super) fn set_param(&mut self, param: &Param<Mems>, value: Expr) -> Result<(), PassError> {
        let var = self.bind_borrowed(param);
        let var = var.ok_or_else(|| PassError::bug("a parameter of a post lambda is an array"))?;
        self.emit(Stmt::Set(var, value));
        Ok(())
    }

    /// Stores variables into arrays over dimensions, at the current indices.
    pub(super) fn store_results(
        &mut self,
        pat: &[Param<Mems>],
        dims: &[(Name, Dim)],
        vars: &[Var],
    ) -> Result<(), PassError> {
        for (param, &value) in pat.iter().zip(vars) {
            let MemAnn::In { block: Block::Var(block), lmad } = &param.ann else {
                return Err(PassError::bug("a result array has no memory"));
            };
            let mut indices = Vec::with_capacity(dims.len());
            for (index, _) in dims {
                indices.push(Expr::Var(self.var(*index)?));
            }
            let elem = Self::elem_of(&param.ty)?;
            let access = self.element(elem, *block, lmad, indices)?;
            self.store(access, Expr::Var(value));
        }
        Ok(())
    }

    /// One iteration's updates of histograms.
    pub(super) fn hist_sequential(
        &mut self,
        dims: &[(Name, Dim)],
        ops: &[HistOp<Mems>],
        results: &[Atom],
    ) -> Result<(), PassError> {
        let outer = &dims[..dims.len().saturating_sub(1)];
        let hists = self.bins_of(ops, outer)?;
        self.each_bin(&hists, ops, dims, results, |g, k, index, values| {
            let hist = &hists[k];
            let mut elements = Vec::with_capacity(hist.destinations.len());
            for ((_, block, lmad), &elem) in hist.destinations.iter().zip(&hist.types) {
                elements.push(g.element(elem, *block, lmad, index.to_vec())?);
            }
            let values = g.copy_operands(values, &hist.types)?;
            g.combine_elements(hist.op, elements, &values)
        })
    }
}
