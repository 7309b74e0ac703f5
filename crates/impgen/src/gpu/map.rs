//! Segmaps whose iterations share no reads: one thread for each iteration over all dimensions, or
//! one for several if iterations compute little (`several`).

use super::tiles::is_straight_line;
use crate::Result;
use crate::gpu::DeviceSchedule;
use crate::mems::{Param, Seg};
use crate::schedule::Generator;
use imp::Var;
use imp::build::Operand;
use ir::Prov;
use ir::facts::FactFlag;
use ir::syntax::Aux;
use ir::types::Type;
use prim::PrimType;

/// The maximum number of statements of an iteration of which a thread runs several, in registers.
const MAX_COARSENED_STATEMENTS: usize = 24;

impl Generator<'_, DeviceSchedule> {
    /// A segmap with one thread for each iteration, or for several.
    pub(super) fn untiled_map(&mut self, pat: &[Param], seg: &Seg, aux: &Aux) -> Result {
        let prov = aux.prov;
        let n = self.extent_product(&seg.space.dims, "n")?;
        if aux.facts.has(FactFlag::Scalars) && is_straight_line(&seg.body, MAX_COARSENED_STATEMENTS) {
            return self.coarsened_map(pat, seg, (n, prov));
        }
        self.each_iteration(("segmap", prov), n, |g, iteration| g.map_iteration(pat, seg, iteration))
    }

    /// A segmap with several iterations per thread.
    fn coarsened_map(&mut self, pat: &[Param], seg: &Seg, (n, prov): (Operand, Prov)) -> Result {
        let dims = seg.space.dims.as_slice();
        let types: Vec<PrimType> = seg.ret.iter().filter_map(Type::elem).collect();
        let read = |g: &mut Self, iteration: Operand| {
            g.delinearise(dims, iteration)?;
            let mut values = Vec::new();
            g.iteration(&seg.body, |g, results| {
                values = g.copy_operands(&results, &types)?;
                Ok(())
            })?;
            let indices = dims.iter().map(|(index, _)| g.var(*index));
            Ok((indices.collect::<Result<Vec<Var>, _>>()?, values))
        };
        let grain = self.thread_grain_size(seg)?;
        let many = self.inversely_scaled(self.coarsening_threshold(), grain);
        self.coarsened(("segmap", prov), (n, many), read, |g, (indices, values)| {
            for ((index, _), var) in dims.iter().zip(indices) {
                g.set_var(*index, var);
            }
            g.store_results(pat, dims, &values)
        })
    }

    /// The body of one iteration of a segmap, and its results.
    pub(super) fn map_iteration(&mut self, pat: &[Param], seg: &Seg, iteration: Operand) -> Result {
        let dims = seg.space.dims.as_slice();
        self.delinearise(dims, iteration)?;
        self.iteration(&seg.body, |g, results| g.write_elements(pat, dims, &results))
    }
}
