//! Segmaps whose iterations share the reads of their loops ([`plan`]): the threads of a
//! block load tiles of the shared arrays into shared memory, and compute from there
//! ([`tiled_loop`]).
//!
//! ```text
//! block of iterations    the statements before the loop, for each iteration of the thread
//!                        for each tile of the loop {
//!                          barrier; each thread loads a few elements of each tile; barrier
//!                          for the loop iterations of the tile: the loop body, for each iteration
//!                        }
//!                        if the iteration is in the space: the statements after, its results
//! ```
//!
//! If iterations share in two dimensions, as in a matrix product, a block computes a rectangle of
//! them (block tiling). A thread computes one iteration, or, if little state has to be kept for
//! each, a rectangle of several (register tiling), so that an element that is loaded from shared
//! memory is used for a whole row or column of them. If iterations share along the innermost
//! dimension only, a block is a contiguous range of it.
//!
//! Threads at the edge of the space run the last iteration and store nothing: so all of them take
//! part in loads and barriers, and only elements that some iteration reads are loaded. The loop of
//! each iteration runs sequentially, so results have the same bits as with one thread per
//! iteration. There is a barrier before the loads as well: after a failed check, nothing that
//! relies on it is loaded.
//!
//! Small spaces and short loops use one thread for each iteration; the host chooses by sizes at run
//! time. For reductions whose segments share operands see [`split_k`].

mod plan;
mod split_k;
mod tile_extents;
mod tiled_loop;

use crate::Result;
use crate::gpu::DeviceSchedule;
use crate::mems::{Param, Seg};
use crate::operators::div_up;
use crate::schedule::Generator;
use imp::build::{Operand, TRUE, and, product};
use imp::copy_plan::constant;
use imp::{Expr, Stmt, bind, emit, expr};
use ir::name::Name;
use ir::syntax::Aux;
use ir::types::Dim;
use tile_extents::{Shape, TileExtent, register_tile};
use tiled_loop::TiledLoop;

pub(super) use plan::{TilingPlan, is_straight_line};

/// A loop is tiled if its trip count is at least this fraction (one in `MIN_DEPTH_FRACTION`) of a tile's depth.
const MIN_DEPTH_FRACTION: i64 = 4;

/// A segmap to be tiled, and its plan.
#[derive(Clone, Copy)]
struct Tiling<'s> {
    pat: &'s [Param],
    seg: &'s Seg,
    plan: &'s TilingPlan<'s>,
    aux: &'s Aux,
    /// The minimum number of blocks for two-dimensional tiles.
    min_blocks: Operand,
}

impl<'s> Tiling<'s> {
    /// The dimensions that count rectangles, and the dimensions of a rectangle.
    fn dims(&self) -> (&'s [(Name, Dim)], &'s [(Name, Dim)]) {
        let dims = self.seg.space.dims.as_slice();
        let inner = if self.plan.square { 2 } else { 1 };
        dims.split_at(dims.len().saturating_sub(inner))
    }
}

impl Generator<'_, DeviceSchedule> {
    /// A segmap: in tiles if its iterations share reads.
    pub(super) fn kernel_map(&mut self, pat: &[Param], seg: &Seg, aux: &Aux) -> Result {
        let Some(plan) = TilingPlan::of_map(seg).filter(|_| self.schedule.fuel.take()) else {
            return self.untiled_map(pat, seg, aux);
        };
        let device = self.schedule.layout;
        let shape =
            |iterations| Shape { threads: device.thread_grid(), iterations, depth: device.tiles.depth };
        let mut min_blocks = device.tiles.busy_blocks.into();
        let mut shapes = Vec::new();
        if plan.square {
            min_blocks = self.min_blocks_for_tiles(seg)?;
            if plan.is_small {
                shapes.push(shape(device.tiles.iterations));
            }
            shapes.push(shape(1));
        } else {
            shapes.push(Shape { threads: (1, device.block), iterations: 1, depth: device.block });
        }
        let tiling = Tiling { pat, seg, plan: &plan, aux, min_blocks };
        self.tiled_versions(tiling, &shapes)
    }

    /// Uses the first of the shapes that the sizes are large enough for, otherwise one thread for
    /// each iteration.
    fn tiled_versions(&mut self, tiling: Tiling<'_>, shapes: &[Shape]) -> Result {
        let Some((&shape, others)) = shapes.split_first() else {
            return self.untiled_map(tiling.pat, tiling.seg, tiling.aux);
        };
        let (outer, inner) = tiling.dims();
        let mut needed: Vec<(Operand, Expr)> = Vec::new();
        for ((_, dim), length) in inner.iter().zip(shape.lengths(inner.len())) {
            needed.push((length.into(), self.dim(*dim)?.into()));
        }
        for shared in &tiling.plan.loops {
            let least = div_up_const(shape.depth, MIN_DEPTH_FRACTION);
            needed.push((least.into(), self.atom(shared.bound)?.into()));
        }
        if is_too_small(&needed) {
            return self.tiled_versions(tiling, others);
        }
        let spaces = self.extent_product(outer, "spaces")?;
        let extents = self.tile_extents(inner, shape)?;
        bind!(
            blocks = self(product(std::iter::once(spaces).chain(extents.iter().map(|extent| extent.blocks))))
        );
        if tiling.plan.square {
            needed.push((tiling.min_blocks, blocks.into()));
        }
        let fits = is_large(needed);
        let tiled = self.collect(|g| g.tiled_kernel(tiling, shape, extents, blocks))?;
        if let Expr::Const(_) = fits {
            self.emit_all(tiled);
            return Ok(());
        }
        let other = self.collect(|g| g.tiled_versions(tiling, others))?;
        self.emit(Stmt::If(fits, tiled, other));
        Ok(())
    }

    /// The tiled kernel.
    fn tiled_kernel(
        &mut self,
        tiling: Tiling<'_>,
        shape: Shape,
        mut extents: Vec<TileExtent>,
        blocks: Operand,
    ) -> Result {
        let (outer, _) = tiling.dims();
        let prov = tiling.aux.prov;
        let mut counts = Vec::with_capacity(tiling.plan.loops.len());
        for shared in &tiling.plan.loops {
            let bound = self.atom(shared.bound)?;
            counts.push((bound, self.bind(div_up(bound, shape.depth), "tiles")));
        }
        self.kernel(("segmap.tiled", prov), blocks, |g, block| {
            let rest = g.block_origin(&mut extents, shape, block);
            g.delinearise(outer, rest)?;
            let mut bytes = 0;
            let mut tiles = Vec::with_capacity(counts.len());
            for shared in &tiling.plan.loops {
                tiles.push(g.tiles(shared, shape, &mut bytes));
            }
            g.threads(|g, thread| {
                g.thread_indices(&mut extents, thread, shape);
                let mut iterations = register_tile(&extents);
                let stms = &tiling.seg.body.stms;
                let mut done = 0;
                for ((shared, tiles), count) in tiling.plan.loops.iter().zip(&tiles).zip(&counts) {
                    if tiles.is_empty() {
                        continue;
                    }
                    for stm in &stms[done..shared.at] {
                        for iteration in &mut iterations {
                            g.bind_iteration(iteration);
                            g.stm(stm)?;
                            g.record_bindings(iteration, &stm.pat);
                        }
                    }
                    let tiled_loop = TiledLoop {
                        shared,
                        tiles,
                        from: 0.into(),
                        bound: count.0,
                        count: count.1,
                        thread,
                        shape,
                        extents: &extents,
                    };
                    let stm = &stms[shared.at];
                    g.at(stm.aux.prov, |g| g.tiled_loop(&tiled_loop, stm, &mut iterations))?;
                    done = shared.at + 1;
                }
                for iteration in &iterations {
                    g.bind_iteration(iteration);
                    emit!(if g(iteration.is_inside(&extents)) {
                        for stm in &stms[done..] {
                            g.stm(stm)?;
                        }
                        let dims = &tiling.seg.space.dims;
                        g.write_elements(tiling.pat, dims, &tiling.seg.body.result)?;
                    });
                }
                Ok(())
            })
        })
    }
}

/// Returns true if a size is known to be less than required.
fn is_too_small(needed: &[(Operand, Expr)]) -> bool {
    let mut sizes = needed.iter();
    sizes.any(|(least, size)| constant(size).zip(least.as_i64()).is_some_and(|(n, least)| n < least))
}

/// The condition that all sizes are as large as required; sizes known at compile time are left out.
fn is_large(mut needed: Vec<(Operand, Expr)>) -> Expr {
    needed.retain(|(least, size)| constant(size).is_none() || least.as_i64().is_none());
    needed.into_iter().fold(TRUE, |large, (least, size)| and(large, expr!(least <= size)))
}

/// `ceil(a / b)`.
const fn div_up_const(a: i64, b: i64) -> i64 {
    (a + b - 1) / b
}
