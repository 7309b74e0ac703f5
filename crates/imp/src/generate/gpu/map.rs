//! Segmaps whose iterations share no reads: one thread for each iteration over all dimensions, or
//! one for several if iterations compute little (`several`).

use crate::generate::function::Gen;
use crate::syntax::{Expr, Var};
use ir::mem::{Block, MemAnn};
use ir::name::Name;
use ir::seg::Seg;
use ir::syntax::{Atom, DimIndex, Param};
use ir::types::{Dim, Type};
use ir::{Mems, PassError, Prov};
use prim::PrimType;

/// The maximum number of statements of an iteration that computes little.
const LITTLE: usize = 24;

impl Gen<'_, '_> {
    /// A segmap with one thread for each iteration, or for several.
    pub(super) fn plain_map(
        &mut self,
        pat: &[Param<Mems>],
        seg: &Seg<Mems>,
        prov: Prov,
    ) -> Result<(), PassError> {
        let n = self.product(&seg.space.dims, "n")?;
        if self.is_little(pat, seg, LITTLE) {
            return self.map_several(pat, seg, (n, prov));
        }
        self.each_point(("segmap", prov), n, |g, point| g.map_point(pat, seg, &point))
    }

    /// A segmap with several iterations per thread.
    fn map_several(
        &mut self,
        pat: &[Param<Mems>],
        seg: &Seg<Mems>,
        (n, prov): (Expr, Prov),
    ) -> Result<(), PassError> {
        let dims = seg.space.dims.as_slice();
        let types: Vec<PrimType> = seg.ret.iter().filter_map(Type::elem).collect();
        let read = |g: &mut Self, point: Expr| {
            g.bind_point(dims, &point)?;
            let mut values = Vec::new();
            g.point(&seg.body, |g, results| {
                values = g.values(&results, &types)?;
                Ok(())
            })?;
            let indices = dims.iter().map(|(index, _)| g.var(*index));
            Ok((indices.collect::<Result<Vec<Var>, _>>()?, values))
        };
        let grain = self.thread_grain(seg)?;
        let many = self.in_inverse(self.many_points(), &grain);
        self.several_points(("segmap", prov), (n, many), read, |g, (indices, values)| {
            for ((index, _), var) in dims.iter().zip(indices) {
                g.set_var(*index, var);
            }
            g.write_vars(pat, dims, &values)
        })
    }

    /// The body of one iteration of a segmap, and its results.
    pub(super) fn map_point(
        &mut self,
        pat: &[Param<Mems>],
        seg: &Seg<Mems>,
        point: &Expr,
    ) -> Result<(), PassError> {
        let dims = seg.space.dims.as_slice();
        self.bind_point(dims, point)?;
        self.point(&seg.body, |g, results| g.write_elements(pat, dims, &results))
    }

    /// Writes the results of an iteration into arrays over a space, at its indices.
    pub(super) fn write_elements(
        &mut self,
        pat: &[Param<Mems>],
        dims: &[(Name, Dim)],
        results: &[Atom],
    ) -> Result<(), PassError> {
        for (param, &value) in pat.iter().zip(results) {
            let MemAnn::In { block: Block::Var(block), lmad } = &param.ann else {
                continue;
            };
            let full = |&count: &Dim| DimIndex::Slice { start: Atom::i64(0), count, stride: Atom::i64(1) };
            let point = dims.iter().map(|(index, _)| DimIndex::Fix(Atom::Var(*index)));
            let rest = param.ty.shape().iter().skip(dims.len()).map(full);
            let slice: Vec<DimIndex> = point.chain(rest).collect();
            self.write(&param.ty, *block, lmad, &slice, value)?;
        }
        Ok(())
    }
}
