//! Segmaps whose iterations share the reads of their loops ([`shared_reads`]): the threads of a
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

mod shared_reads;
mod split_k;
mod tile_extents;
mod tiled_loop;

use crate::function::Gen;
use crate::operators::div_up;
use imp::build::{and, compare, mul};
use imp::copy_plan::constant;
use imp::{Expr, Stmt};
use ir::name::Name;
use ir::seg::Seg;
use ir::syntax::Param;
use ir::types::Dim;
use ir::{Mems, PassError, Prov};
use prim::{CmpOp, PrimType, Scalar};
use shared_reads::TilingPlan;
use tile_extents::{Shape, TileExtent, register_tile};
use tiled_loop::TiledLoop;

/// A loop is tiled if its trip count is at least this fraction (one in `MIN_DEPTH_FRACTION`) of a tile's depth.
const MIN_DEPTH_FRACTION: i64 = 4;

/// A segmap to be tiled, and its plan.
#[derive(Clone, Copy)]
struct Tiling<'s> {
    pat: &'s [Param<Mems>],
    seg: &'s Seg<Mems>,
    plan: &'s TilingPlan<'s>,
    prov: Prov,
    /// The minimum number of blocks for two-dimensional tiles.
    min_blocks: &'s Expr,
}

impl<'s> Tiling<'s> {
    /// The dimensions that count rectangles, and the dimensions of a rectangle.
    fn dims(&self) -> (&'s [(Name, Dim)], &'s [(Name, Dim)]) {
        let dims = self.seg.space.dims.as_slice();
        let inner = if self.plan.square { 2 } else { 1 };
        dims.split_at(dims.len().saturating_sub(inner))
    }
}

impl Gen<'_, '_> {
    /// A segmap: in tiles if its iterations share reads.
    pub(super) fn kernel_map(
        &mut self,
        pat: &[Param<Mems>],
        seg: &Seg<Mems>,
        prov: Prov,
    ) -> Result<(), PassError> {
        let Some(plan) = self.tiling_plan(pat, seg).filter(|_| self.fuel.take()) else {
            return self.untiled_map(pat, seg, prov);
        };
        let device = self.layout();
        let shape =
            |iterations| Shape { threads: device.thread_grid(), iterations, depth: device.tiles.depth };
        let mut fill = Expr::i64(device.tiles.busy_blocks);
        let mut shapes = Vec::new();
        if plan.square {
            fill = self.min_blocks_for_tiles(seg)?;
            if plan.is_small {
                shapes.push(shape(device.tiles.iterations));
            }
            shapes.push(shape(1));
        } else {
            shapes.push(Shape { threads: (1, device.block), iterations: 1, depth: device.block });
        }
        let tiling = Tiling { pat, seg, plan: &plan, prov, min_blocks: &fill };
        self.tiled_versions(tiling, &shapes)
    }

    /// Uses the first of the shapes that the sizes are large enough for, otherwise one thread for
    /// each iteration.
    fn tiled_versions(&mut self, tiling: Tiling<'_>, shapes: &[Shape]) -> Result<(), PassError> {
        let Some((&shape, others)) = shapes.split_first() else {
            return self.untiled_map(tiling.pat, tiling.seg, tiling.prov);
        };
        let (outer, inner) = tiling.dims();
        let mut needed = Vec::new();
        for ((_, dim), length) in inner.iter().zip(shape.lengths(inner.len())) {
            needed.push((Expr::i64(length), self.dim(*dim)?));
        }
        for shared in &tiling.plan.loops {
            let least = Expr::i64(div_up_const(shape.depth, MIN_DEPTH_FRACTION));
            needed.push((least, self.atom(shared.bound)?));
        }
        if is_too_small(&needed) {
            return self.tiled_versions(tiling, others);
        }
        let spaces = self.extent_product(outer, "spaces")?;
        let extents = self.tile_extents(inner, shape)?;
        let blocks = extents.iter().fold(spaces, |all, extent| mul(all, extent.blocks.clone()));
        let blocks = self.bind_value(blocks, PrimType::I64, "blocks");
        if tiling.plan.square {
            needed.push((tiling.min_blocks.clone(), blocks.clone()));
        }
        let fits = is_large(needed);
        let tiled = self.collect(|g| g.tiled_kernel(tiling, shape, extents, blocks))?;
        if let Expr::Const(_) = fits {
            tiled.into_iter().for_each(|stmt| self.emit(stmt));
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
        blocks: Expr,
    ) -> Result<(), PassError> {
        let (outer, _) = tiling.dims();
        let prov = tiling.prov;
        let mut counts = Vec::with_capacity(tiling.plan.loops.len());
        for shared in &tiling.plan.loops {
            let bound = self.atom(shared.bound)?;
            let count = div_up(bound.clone(), shape.depth);
            counts.push((bound, self.bind_value(count, PrimType::I64, "tiles")));
        }
        self.kernel(("segmap.tiled", prov), blocks, |g, block| {
            let rest = g.block_origin(&mut extents, shape, block);
            g.delinearise(outer, &rest)?;
            let mut bytes = 0;
            let mut tiles = Vec::with_capacity(counts.len());
            for shared in &tiling.plan.loops {
                tiles.push(g.tiles(shared, shape, &mut bytes));
            }
            g.threads(|g, thread| {
                g.thread_indices(&mut extents, &thread, shape);
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
                    let around = std::mem::replace(&mut g.prov, stms[shared.at].aux.prov);
                    let tiled_loop = TiledLoop {
                        shared,
                        tiles,
                        from: &Expr::i64(0),
                        bound: &count.0,
                        count: &count.1,
                        thread: &thread,
                    };
                    g.tiled_loop(&tiled_loop, &stms[shared.at], shape, &extents, &mut iterations)?;
                    g.prov = around;
                    done = shared.at + 1;
                }
                for iteration in &iterations {
                    g.bind_iteration(iteration);
                    let end = g.collect(|g| {
                        for stm in &stms[done..] {
                            g.stm(stm)?;
                        }
                        let dims = &tiling.seg.space.dims;
                        g.write_elements(tiling.pat, dims, &tiling.seg.body.result)
                    })?;
                    g.emit(Stmt::If(iteration.is_inside(&extents), end, Vec::new()));
                }
                Ok(())
            })
        })
    }
}

/// Returns true if a size is known to be less than required.
fn is_too_small(needed: &[(Expr, Expr)]) -> bool {
    let mut sizes = needed.iter();
    sizes.any(|(least, size)| constant(size).zip(constant(least)).is_some_and(|(n, least)| n < least))
}

/// The condition that all sizes are as large as required; sizes known at compile time are left out.
fn is_large(mut needed: Vec<(Expr, Expr)>) -> Expr {
    needed.retain(|(least, size)| constant(size).is_none() || constant(least).is_none());
    needed.into_iter().fold(yes(), |large, (least, size)| and(large, compare(CmpOp::SLe, least, size)))
}

/// The constant `true`.
const fn yes() -> Expr {
    Expr::Const(Scalar::Bool(true))
}

/// `ceil(a / b)`.
const fn div_up_const(a: i64, b: i64) -> i64 {
    (a + b - 1) / b
}
