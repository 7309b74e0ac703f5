//! Segmaps whose points share nothing: a thread for each, over all dimensions.

use crate::generate::function::Gen;
use crate::syntax::Expr;
use ir::mem::{Block, MemAnn};
use ir::name::Name;
use ir::seg::Seg;
use ir::syntax::{Atom, DimIndex, Param};
use ir::types::Dim;
use ir::{Mems, PassError, Prov};

impl Gen<'_, '_> {
    /// A thread for each point.
    pub(super) fn plain_map(
        &mut self,
        pat: &[Param<Mems>],
        seg: &Seg<Mems>,
        prov: Prov,
    ) -> Result<(), PassError> {
        let n = self.product(&seg.space.dims, "n")?;
        self.each_point(("segmap", prov), n, |g, point| {
            g.map_point(pat, seg, &point)
        })
    }

    /// What a point of a segmap computes, and its results.
    pub(super) fn map_point(
        &mut self,
        pat: &[Param<Mems>],
        seg: &Seg<Mems>,
        point: &Expr,
    ) -> Result<(), PassError> {
        let dims = seg.space.dims.as_slice();
        self.bind_point(dims, point)?;
        self.point(&seg.body, |g, results| {
            g.write_elements(pat, dims, &results)
        })
    }

    /// Writes what a point gives into arrays over a space, at the point.
    pub(super) fn write_elements(
        &mut self,
        pat: &[Param<Mems>],
        dims: &[(Name, Dim)],
        results: &[Atom],
    ) -> Result<(), PassError> {
        for (param, &value) in pat.iter().zip(results) {
            let MemAnn::In {
                block: Block::Var(block),
                lmad,
            } = &param.ann
            else {
                continue;
            };
            let full = |&count: &Dim| DimIndex::Slice {
                start: Atom::i64(0),
                count,
                stride: Atom::i64(1),
            };
            let point = dims
                .iter()
                .map(|(index, _)| DimIndex::Fix(Atom::Var(*index)));
            let rest = param.ty.shape().iter().skip(dims.len()).map(full);
            let slice: Vec<DimIndex> = point.chain(rest).collect();
            self.write(&param.ty, *block, lmad, &slice, value)?;
        }
        Ok(())
    }
}
