//! Reductions whose segments share operands in two dimensions, above all matrix products with few
//! results and long sums. Segments are partitioned into chunks (split-k); for each chunk, blocks
//! reduce rectangles of segments from tiles; then the partial results of each segment's chunks are
//! combined.
//!
//! ```text
//! block of a chunk and of segments
//!     for each segment of the thread: acc = ne
//!     for each tile of the chunk {
//!       barrier; each thread loads a few elements of each tile; barrier
//!       for the loop iterations of the tile: acc = op acc <body>, for each segment of the thread
//!     }
//!     partial[chunk][segment] = acc, for segments of the space
//! block of segments
//!     groups of threads reduce partial[0 ..][segment]
//! ```
//!
//! There are enough chunks to keep a device busy with all rectangles together, with several tiles
//! each; a segment of one chunk has its result after the first kernel. Operators need not commute:
//! loop iterations, chunks and neighbours of a group are combined left to right.
//!
//! A rectangle has several segments per thread (register tiling), so that an element that is loaded
//! from shared memory is used several times, if there are more segments than fit into a rectangle
//! with half the side length; the smallest rectangle is at least half full. Tiles of smaller
//! rectangles have proportionally more loop iterations, so that threads load as many elements at a
//! time. The host chooses by sizes at run time. With fewer segments, and with too little work to
//! keep a device busy, blocks reduce chunks of one segment each ([`reduce`](super::super::reduce)).

use super::shared_reads::TilingPlan;
use super::tile_extents::{Shape, ThreadIteration, TileExtent, register_tile};
use super::tiled_loop::TiledLoop;
use super::{is_large, is_too_small};
use crate::function::Gen;
use crate::gpu::reduce::Reduction;
use crate::operators::{div_up, div_up_by};
use imp::build::{add, binary, compare, div, max, min, mul, or, select, sub};
use imp::{Expr, Stmt, Var};
use ir::name::Name;
use ir::scan_reduce::ScanReduce;
use ir::seg::Seg;
use ir::syntax::Param;
use ir::types::Dim;
use ir::{Mems, PassError, Prov};
use prim::{BinOp, CmpOp, PrimType};

/// The minimum number of tiles of a chunk, for several segments per thread: so the partial results
/// are small compared to the elements read.
const TILES: i64 = 4;

/// The reduction.
struct SplitReduction<'s> {
    seg: &'s Seg<Mems>,
    reduction: &'s Reduction<'s>,
    plan: &'s TilingPlan<'s>,
    prov: Prov,
    /// The dimensions that count rectangles, and the dimensions of a rectangle.
    outer: &'s [(Name, Dim)],
    inner: &'s [(Name, Dim)],
    /// The number of segments.
    count: Expr,
    /// Iterations of a segment.
    width: Expr,
    /// The minimum number of blocks.
    fill: Expr,
}

/// A partitioning into rectangles and chunks.
struct Partitioning {
    shape: Shape,
    extents: Vec<TileExtent>,
    /// Rectangles of a chunk.
    rectangles: Expr,
    /// Iterations of a chunk, a multiple of a tile's depth.
    length: Expr,
    chunks: Expr,
    /// The condition that sizes are large enough.
    fits: Expr,
}

impl Gen<'_, '_> {
    /// A reduction whose segments share operands.
    pub(in crate::gpu) fn reduce_in_tiles(
        &mut self,
        pat: &[Param<Mems>],
        seg: &Seg<Mems>,
        (scan_reduce, reduction): (&ScanReduce<Mems>, &Reduction<'_>),
        plan: &TilingPlan<'_>,
        prov: Prov,
    ) -> Result<(), PassError> {
        let Some(((_, width), segments)) = seg.space.dims.split_last() else {
            return Err(PassError::bug("an index space has no dimensions"));
        };
        let (outer, inner) = segments.split_at(segments.len().saturating_sub(2));
        let split = SplitReduction {
            fill: self.min_blocks_for_tiles(seg)?,
            seg,
            reduction,
            plan,
            prov,
            outer,
            inner,
            count: self.extent_product(segments, "segments")?,
            width: self.dim(*width)?,
        };
        let mut cuts = Vec::new();
        let mut iterations = if plan.is_small { self.layout().tiles.iterations } else { 1 };
        while iterations > 0 {
            cuts.extend(self.partitioning(&split, iterations)?);
            iterations /= 2;
        }
        let Some(any) = cuts.iter().map(|cut| cut.fits.clone()).reduce(or) else {
            return self.reduce_by_blocks(pat, seg, (scan_reduce, reduction), prov);
        };
        let mut chunks = Expr::i64(1);
        for cut in cuts.iter().rev() {
            chunks = select(&cut.fits, &cut.chunks, &chunks);
        }
        let chunks = self.bind_value(chunks, PrimType::I64, "chunks");
        let tiled = self.collect(|g| {
            let all = mul(split.count.clone(), chunks.clone());
            let several = compare(CmpOp::SLt, Expr::i64(1), chunks.clone());
            let kept = select(&several, &all, &Expr::i64(0));
            let kept = g.bind_value(kept, PrimType::I64, "kept");
            let partials = g.device_arrays("partial", &reduction.types, &kept, prov);
            g.rectangle_kernels(&split, cuts, &partials)?;
            let totals = g.collect(|g| g.combine_chunks(&split, &partials, &chunks))?;
            g.emit(Stmt::If(several, totals, Vec::new()));
            g.release_arrays(&partials);
            Ok(())
        })?;
        let others = self.collect(|g| g.reduce_by_blocks(pat, seg, (scan_reduce, reduction), prov))?;
        self.emit(Stmt::If(any, tiled, others));
        Ok(())
    }

    /// The partitioning with a register tile of side length `iterations`; `None` if there are known
    /// to be too few segments.
    fn partitioning(
        &mut self,
        split: &SplitReduction<'_>,
        iterations: i64,
    ) -> Result<Option<Partitioning>, PassError> {
        let device = self.layout();
        let shape = Shape {
            threads: device.thread_grid(),
            iterations,
            depth: device.tiles.depth * (device.tiles.iterations / iterations).max(1),
        };
        let mut needed = vec![(Expr::i64(device.tiles.depth), split.width.clone())];
        for ((_, dim), length) in split.inner.iter().zip(shape.lengths(2)) {
            let more = i64::from(iterations > 1);
            needed.push((Expr::i64(length / 2 + more), self.dim(*dim)?));
        }
        if is_too_small(&needed) {
            return Ok(None);
        }
        let spaces = self.extent_product(split.outer, "spaces")?;
        let extents = self.tile_extents(split.inner, shape)?;
        let rectangles = extents.iter().fold(spaces, |all, extent| mul(all, extent.blocks.clone()));
        let rectangles = self.bind_value(rectangles, PrimType::I64, "rectangles");
        let enough = div(split.width.clone(), Expr::i64(TILES * device.tiles.depth));
        let most = div(Expr::i64(device.blocks), max(rectangles.clone(), Expr::i64(1)));
        let wanted = max(min(enough, most), Expr::i64(1));
        let wanted = self.bind_value(wanted, PrimType::I64, "wanted");
        let work = mul(rectangles.clone(), wanted.clone());
        needed.push((split.fill.clone(), mul(work, Expr::i64(iterations * iterations))));
        let length = div_up_by(split.width.clone(), wanted);
        let depth = Expr::i64(shape.depth);
        let length = mul(max(div_up(length, shape.depth), Expr::i64(1)), depth);
        let length = self.bind_value(length, PrimType::I64, "length");
        let chunks = div_up_by(split.width.clone(), length.clone());
        let chunks = self.bind_value(chunks, PrimType::I64, "chunks");
        let fits = is_large(needed);
        Ok(Some(Partitioning {
            shape,
            extents,
            rectangles,
            length,
            chunks,
            fits: self.bind_value(fits, PrimType::Bool, "fits"),
        }))
    }

    /// The kernel of the first partitioning that fits; the last one is used unconditionally.
    fn rectangle_kernels(
        &mut self,
        split: &SplitReduction<'_>,
        cuts: Vec<Partitioning>,
        partials: &[Var],
    ) -> Result<(), PassError> {
        let mut others = Vec::new();
        for cut in cuts.into_iter().rev() {
            let fits = cut.fits.clone();
            let body = self.collect(|g| g.reduce_rectangles(split, cut, partials))?;
            others = if others.is_empty() { body } else { vec![Stmt::If(fits, body, others)] };
        }
        others.into_iter().for_each(|stmt| self.emit(stmt));
        Ok(())
    }

    /// A kernel whose blocks reduce chunks of rectangles.
    fn reduce_rectangles(
        &mut self,
        split: &SplitReduction<'_>,
        cut: Partitioning,
        partials: &[Var],
    ) -> Result<(), PassError> {
        let Partitioning { shape, mut extents, rectangles, length, chunks, .. } = cut;
        let spaces = self.extent_product(split.outer, "spaces")?;
        let SplitReduction { reduction, prov, .. } = *split;
        let [shared] = split.plan.loops.as_slice() else {
            return Err(PassError::bug("a split reduction does not have exactly one loop"));
        };
        let blocks = mul(rectangles, chunks.clone());
        let blocks = self.bind_value(blocks, PrimType::I64, "blocks");
        self.kernel(("segred.tiled", prov), blocks, |g, block| {
            let rest = g.block_origin(&mut extents, shape, block);
            let (chunk, space) = if split.outer.is_empty() {
                (rest, Expr::i64(0))
            } else {
                let space = binary(BinOp::UMod, rest.clone(), spaces.clone());
                let space = g.bind_value(space, PrimType::I64, "space");
                g.delinearise(split.outer, &space)?;
                let chunk = div(rest, spaces.clone());
                (g.bind_value(chunk, PrimType::I64, "chunk"), space)
            };
            let from = g.bind_value(mul(chunk.clone(), length.clone()), PrimType::I64, "from");
            let to = min(add(from.clone(), length.clone()), split.width.clone());
            let to = g.bind_value(to, PrimType::I64, "to");
            let count = div_up(sub(to.clone(), from.clone()), shape.depth);
            let count = g.bind_value(count, PrimType::I64, "tiles");
            let tiles = g.tiles(shared, shape, &mut 0);
            g.threads(|g, thread| {
                g.thread_indices(&mut extents, &thread, shape);
                let iterations = register_tile(&extents);
                let mut accs = Vec::with_capacity(iterations.len());
                for iteration in &iterations {
                    g.bind_iteration(iteration);
                    accs.push(g.neutral(&reduction.operators, &reduction.types)?);
                }
                let tiled_loop = TiledLoop {
                    shared,
                    tiles: &tiles,
                    from: &from,
                    bound: &to,
                    count: &count,
                    thread: &thread,
                };
                g.tiled_iterations(&tiled_loop, shape, (&extents, &iterations), |g, number| {
                    g.iteration(&split.seg.body, |g, results| {
                        let values = g.copy_operands(&results, &reduction.types)?;
                        let accs = accs.get(number).map_or(&[][..], Vec::as_slice);
                        g.combine(&reduction.operators, accs, &values)
                    })
                })?;
                let first = mul(chunk, split.count.clone());
                let extents = extents.as_slice();
                let whole = g.each_segment(extents, &iterations, &accs, |g, _, accs| {
                    let dims = &split.seg.space.dims;
                    g.store_results(reduction.pat, &dims[..dims.len() - 1], accs)
                })?;
                let piece = g.each_segment(extents, &iterations, &accs, |g, iteration, accs| {
                    let mut at = space.clone();
                    for (extent, &number) in extents.iter().zip(&iteration.numbers) {
                        let (index, _) = extent.iterations[number].clone();
                        at = add(mul(at, extent.size.clone()), index);
                    }
                    let at = g.bind_value(add(first.clone(), at), PrimType::I64, "at");
                    g.store_all(partials, &reduction.types, at, accs);
                    Ok(())
                })?;
                let is_whole = compare(CmpOp::Eq, chunks, Expr::i64(1));
                g.emit(Stmt::If(is_whole, whole, piece));
                Ok(())
            })
        })
    }

    /// Emits `f` for the accumulators of each segment of a thread that is in the space.
    fn each_segment(
        &mut self,
        extents: &[TileExtent],
        iterations: &[ThreadIteration],
        accs: &[Vec<Var>],
        mut f: impl FnMut(&mut Self, &ThreadIteration, &[Var]) -> Result<(), PassError>,
    ) -> Result<Vec<Stmt>, PassError> {
        self.collect(|g| {
            for (iteration, accs) in iterations.iter().zip(accs) {
                g.bind_iteration(iteration);
                let body = g.collect(|g| f(g, iteration, accs))?;
                g.emit(Stmt::If(iteration.is_inside(extents), body, Vec::new()));
            }
            Ok(())
        })
    }

    /// Combines the partial results of each segment's chunks to the results, by groups of threads.
    /// Neighbouring threads read the partial results of neighbouring segments.
    fn combine_chunks(
        &mut self,
        split: &SplitReduction<'_>,
        partials: &[Var],
        chunks: &Expr,
    ) -> Result<(), PassError> {
        let Reduction { operators, types, pat } = split.reduction;
        let prov = split.prov;
        let (rows, _) = self.layout().thread_grid();
        let group = self.few_threads_of(rows, chunks);
        let blocks = self.blocks_for(&group, &split.count);
        self.kernel(("segred.total", prov), blocks, |g, block| {
            let part = g.shared_arrays("part", types);
            g.threads(|g, thread| {
                let (own, among) = g.strided_member(&group, (block, &thread), &split.count);
                let accs = g.neutral(operators, types)?;
                g.if_in_bounds(&own, |g| {
                    let range = (&Expr::i64(0), chunks);
                    let threads = (&own.index, &group.threads);
                    g.distribute_among(range, false, threads, |g, chunk| {
                        let at = add(mul(chunk, split.count.clone()), own.chunk.clone());
                        let values = g.load_all(partials, types, at, "partial");
                        g.combine(operators, &accs, &values)
                    })
                })?;
                g.store_all(&part, types, among.clone(), &accs);
                let halvings = group.log2_threads.clone();
                g.reduce_stored((operators, types), &part, (&thread, halvings))?;
                g.if_in_bounds(&own, |g| {
                    g.first_thread(&own.index, |g| {
                        let sums = g.load_all(&part, types, among, "sum");
                        let dims = &split.seg.space.dims;
                        let dims = &dims[..dims.len() - 1];
                        g.delinearise(dims, &own.chunk)?;
                        g.store_results(pat, dims, &sums)
                    })
                })
            })
        })
    }
}
