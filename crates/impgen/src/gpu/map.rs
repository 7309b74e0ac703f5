//! Segmaps whose iterations share no reads: one thread for each iteration over all dimensions, or
//! one for several if iterations compute little (`several`).

use crate::function::Gen;
use imp::{Expr, Var};
use ir::mem::{Block, MemAnn};
use ir::name::Name;
use ir::seg::Seg;
use ir::syntax::{Atom, DimIndex, Param};
use ir::types::{Dim, Type};
use ir::{Mems, PassError, Prov};
use prim::PrimType;

/// The maximum number of statements of an iteration of which a thread runs several, in registers.
const MAX_COARSENED_STATEMENTS: usize = 24;

impl Gen<'_, '_> {
    /// A segmap with one thread for each iteration, or for several.
    pub(super) fn untiled_map(
        &mut self,
        pat: &[Param<Mems>],
        seg: &Seg<Mems>,
        prov: Prov,
    ) -> Result<(), PassError> {
        let n = self.extent_product(&seg.space.dims, "n")?;
        if self.is_short(pat, seg, MAX_COARSENED_STATEMENTS) {
            return self.coarsened_map(pat, seg, (n, prov));
        }
        self.each_iteration(("segmap", prov), n, |g, iteration| g.map_iteration(pat, seg, &iteration))
    }

    /// A segmap with several iterations per thread.
    fn coarsened_map(
        &mut self,
        pat: &[Param<Mems>],
        seg: &Seg<Mems>,
        (n, prov): (Expr, Prov),
    ) -> Result<(), PassError> {
        let dims = seg.space.dims.as_slice();
        let types: Vec<PrimType> = seg.ret.iter().filter_map(Type::elem).collect();
        let read = |g: &mut Self, iteration: Expr| {
            g.delinearise(dims, &iteration)?;
            let mut values = Vec::new();
            g.iteration(&seg.body, |g, results| {
                values = g.copy_operands(&results, &types)?;
                Ok(())
            })?;
            let indices = dims.iter().map(|(index, _)| g.var(*index));
            Ok((indices.collect::<Result<Vec<Var>, _>>()?, values))
        };
        let grain = self.thread_grain_size(seg)?;
        let many = self.inversely_scaled(self.coarsening_threshold(), &grain);
        self.coarsened(("segmap", prov), (n, many), read, |g, (indices, values)| {
            for ((index, _), var) in dims.iter().zip(indices) {
                g.set_var(*index, var);
            }
            g.store_results(pat, dims, &values)
        })
    }

    /// The body of one iteration of a segmap, and its results.
    pub(super) fn map_iteration(
        &mut self,
        pat: &[Param<Mems>],
        seg: &Seg<Mems>,
        iteration: &Expr,
    ) -> Result<(), PassError> {
        let dims = seg.space.dims.as_slice();
        self.delinearise(dims, iteration)?;
        self.iteration(&seg.body, |g, results| g.write_elements(pat, dims, &results))
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
            let indices = dims.iter().map(|(index, _)| DimIndex::Fix(Atom::Var(*index)));
            let rest = param.ty.shape().iter().skip(dims.len()).map(full);
            let slice: Vec<DimIndex> = indices.chain(rest).collect();
            self.store_slice(&param.ty, *block, lmad, &slice, value)?;
        }
        Ok(())
    }
}
