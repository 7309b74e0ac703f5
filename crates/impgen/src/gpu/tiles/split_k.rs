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

use super::plan::TilingPlan;
use super::tile_extents::{Shape, ThreadIteration, TileExtent, register_tile};
use super::tiled_loop::TiledLoop;
use super::{is_large, is_too_small};
use crate::gpu::DeviceSchedule;
use crate::gpu::reduce::Reduction;
use crate::mems::{Param, ScanReduce, Seg};
use crate::operators::div_up;
use crate::schedule::Generator;
use crate::{OrBug, Result};
use imp::build::{Operand, max, min, or, product, select};
use imp::{Expr, Stmt, Var, bind, emit, expr};
use ir::name::Name;
use ir::types::Dim;
use ir::{PassError, Prov};

/// The minimum number of tiles of a chunk, for several segments per thread: so the partial results
/// are small compared to the elements read.
const TILES: i64 = 4;

/// The reduction.
struct SplitReduction<'s> {
    seg: &'s Seg,
    reduction: &'s Reduction<'s>,
    plan: &'s TilingPlan<'s>,
    prov: Prov,
    /// The dimensions that count rectangles, and the dimensions of a rectangle.
    outer: &'s [(Name, Dim)],
    inner: &'s [(Name, Dim)],
    /// The number of segments.
    count: Operand,
    /// Iterations of a segment.
    width: Operand,
    /// The minimum number of blocks.
    fill: Operand,
}

/// A partitioning into rectangles and chunks.
struct Partitioning {
    shape: Shape,
    extents: Vec<TileExtent>,
    /// Rectangles of a chunk.
    rectangles: Operand,
    /// Iterations of a chunk, a multiple of a tile's depth.
    length: Operand,
    chunks: Operand,
    /// The condition that sizes are large enough.
    fits: Operand,
}

impl Generator<'_, DeviceSchedule> {
    /// A reduction whose segments share operands.
    pub(in crate::gpu) fn reduce_in_tiles(
        &mut self,
        pat: &[Param],
        seg: &Seg,
        (scan_reduce, reduction): (&ScanReduce, &Reduction<'_>),
        plan: &TilingPlan<'_>,
        prov: Prov,
    ) -> Result {
        let ((_, width), segments) =
            seg.space.dims.split_last().or_bug("an index space has no dimensions")?;
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
        let mut iterations = if plan.is_small { self.schedule.layout.tiles.iterations } else { 1 };
        while iterations > 0 {
            cuts.extend(self.partitioning(&split, iterations)?);
            iterations /= 2;
        }
        let Some(any) = cuts.iter().map(|cut| Expr::from(cut.fits)).reduce(or) else {
            return self.reduce_by_blocks(pat, seg, (scan_reduce, reduction), prov);
        };
        let mut chunks = Expr::i64(1);
        for cut in cuts.iter().rev() {
            chunks = select(cut.fits, cut.chunks, chunks);
        }
        bind!(chunks = self(chunks));
        emit!(if self(any) {
            bind!(kept = self(select(expr!(1 < chunks), split.count * chunks, 0)));
            let partials = self.device_arrays("partial", &reduction.types, kept, prov);
            self.rectangle_kernels(&split, cuts, &partials)?;
            emit!(if self(1 < chunks) {
                self.combine_chunks(&split, &partials, chunks)?;
            });
            self.release_all(&partials);
        } else {
            self.reduce_by_blocks(pat, seg, (scan_reduce, reduction), prov)?;
        });
        Ok(())
    }

    /// The partitioning with a register tile of side length `iterations`; `None` if there are known
    /// to be too few segments.
    fn partitioning(&mut self, split: &SplitReduction<'_>, iterations: i64) -> Result<Option<Partitioning>> {
        let device = self.schedule.layout;
        let shape = Shape {
            threads: device.thread_grid(),
            iterations,
            depth: device.tiles.depth * (device.tiles.iterations / iterations).max(1),
        };
        let mut needed = vec![(Operand::from(device.tiles.depth), Expr::from(split.width))];
        for ((_, dim), length) in split.inner.iter().zip(shape.lengths(2)) {
            let more = i64::from(iterations > 1);
            needed.push(((length / 2 + more).into(), self.dim(*dim)?.into()));
        }
        if is_too_small(&needed) {
            return Ok(None);
        }
        let spaces = self.extent_product(split.outer, "spaces")?;
        let extents = self.tile_extents(split.inner, shape)?;
        bind!(
            rectangles =
                self(product(std::iter::once(spaces).chain(extents.iter().map(|extent| extent.blocks))))
        );
        let enough = split.width / (TILES * device.tiles.depth);
        let most = device.blocks / max(rectangles, 1);
        bind!(wanted = self(max(min(enough, most), 1)));
        let work = rectangles * wanted;
        needed.push((split.fill, work * (iterations * iterations)));
        let length = div_up(split.width, wanted);
        let depth = shape.depth;
        bind!(length = self(max(div_up(length, shape.depth), 1) * depth));
        bind!(chunks = self(div_up(split.width, length)));
        let fits = is_large(needed);
        Ok(Some(Partitioning { shape, extents, rectangles, length, chunks, fits: self.bind(fits, "fits") }))
    }

    /// The kernel of the first partitioning that fits; the last one is used unconditionally.
    fn rectangle_kernels(
        &mut self,
        split: &SplitReduction<'_>,
        cuts: Vec<Partitioning>,
        partials: &[Var],
    ) -> Result {
        let mut others = Vec::new();
        for cut in cuts.into_iter().rev() {
            let fits = cut.fits;
            let body = self.collect(|g| g.reduce_rectangles(split, cut, partials))?;
            others = if others.is_empty() { body } else { vec![Stmt::If(fits.into(), body, others)] };
        }
        self.emit_all(others);
        Ok(())
    }

    /// A kernel whose blocks reduce chunks of rectangles.
    fn reduce_rectangles(
        &mut self,
        split: &SplitReduction<'_>,
        cut: Partitioning,
        partials: &[Var],
    ) -> Result {
        let Partitioning { shape, mut extents, rectangles, length, chunks, .. } = cut;
        let spaces = self.extent_product(split.outer, "spaces")?;
        let SplitReduction { reduction, prov, .. } = *split;
        let [shared] = split.plan.loops.as_slice() else {
            return Err(PassError::bug("a split reduction does not have exactly one loop"));
        };
        bind!(blocks = self(rectangles * chunks));
        self.kernel(("segred.tiled", prov), blocks, |g, block| {
            let rest = g.block_origin(&mut extents, shape, block);
            let (chunk, space) = if split.outer.is_empty() {
                (rest, 0.into())
            } else {
                bind!(space = g(rest % spaces));
                g.delinearise(split.outer, space)?;
                (g.bind(rest / spaces, "chunk"), space)
            };
            bind!(from = g(chunk * length));
            bind!(to = g(min(from + length, split.width)));
            let count = g.bind(div_up(to - from, shape.depth), "tiles");
            let tiles = g.tiles(shared, shape, &mut 0);
            g.threads(|g, thread| {
                g.thread_indices(&mut extents, thread, shape);
                let iterations = register_tile(&extents);
                let mut accs = Vec::with_capacity(iterations.len());
                for iteration in &iterations {
                    g.bind_iteration(iteration);
                    accs.push(g.neutral(&reduction.operators, &reduction.types)?);
                }
                let extents = extents.as_slice();
                let tiled_loop =
                    TiledLoop { shared, tiles: &tiles, from, bound: to, count, thread, shape, extents };
                g.tiled_iterations(&tiled_loop, &iterations, |g, number| {
                    g.iteration(&split.seg.body, |g, results| {
                        let values = g.copy_operands(&results, &reduction.types)?;
                        let accs = accs.get(number).map_or(&[][..], Vec::as_slice);
                        g.combine(&reduction.operators, accs, &values)
                    })
                })?;
                let first = chunk * split.count;
                let whole = g.each_segment(extents, &iterations, &accs, |g, _, accs| {
                    let dims = &split.seg.space.dims;
                    g.store_results(reduction.pat, &dims[..dims.len() - 1], accs)
                })?;
                let piece = g.each_segment(extents, &iterations, &accs, |g, iteration, accs| {
                    let mut at = Expr::from(space);
                    for (extent, &number) in extents.iter().zip(&iteration.numbers) {
                        let (index, _) = extent.iterations[number];
                        at = at * extent.size + index;
                    }
                    bind!(at = g(first.clone() + at));
                    g.store_all(partials, &reduction.types, at, accs);
                    Ok(())
                })?;
                let is_whole = expr!(chunks == 1);
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
        mut f: impl FnMut(&mut Self, &ThreadIteration, &[Var]) -> Result,
    ) -> Result<Vec<Stmt>> {
        self.collect(|g| {
            for (iteration, accs) in iterations.iter().zip(accs) {
                g.bind_iteration(iteration);
                emit!(if g(iteration.is_inside(extents)) {
                    f(g, iteration, accs)?;
                });
            }
            Ok(())
        })
    }

    /// Combines the partial results of each segment's chunks to the results, by groups of threads.
    /// Neighbouring threads read the partial results of neighbouring segments.
    fn combine_chunks(&mut self, split: &SplitReduction<'_>, partials: &[Var], chunks: Operand) -> Result {
        let Reduction { operators, types, pat } = split.reduction;
        let prov = split.prov;
        let (rows, _) = self.schedule.layout.thread_grid();
        let group = self.few_threads_of(rows, chunks);
        let blocks = self.blocks_for(&group, split.count);
        self.kernel(("segred.total", prov), blocks, |g, block| {
            let part = g.shared_arrays("part", types);
            g.threads(|g, thread| {
                let (own, among) = g.strided_member(&group, (block, thread), split.count);
                let accs = g.neutral(operators, types)?;
                g.if_in_bounds(&own, |g| {
                    g.distribute_among((0, chunks), false, (own.index, group.threads), |g, chunk| {
                        let at = chunk * split.count + own.chunk;
                        let values = g.load_all(partials, types, at, "partial");
                        g.combine(operators, &accs, &values)
                    })
                })?;
                g.store_all(&part, types, among, &accs);
                let halvings = group.log2_threads;
                g.reduce_stored((operators, types), &part, (thread, halvings))?;
                g.if_in_bounds(&own, |g| {
                    g.first_thread(own.index, |g| {
                        let sums = g.load_all(&part, types, among, "sum");
                        let dims = &split.seg.space.dims;
                        let dims = &dims[..dims.len() - 1];
                        g.delinearise(dims, own.chunk)?;
                        g.store_results(pat, dims, &sums)
                    })
                })
            })
        })
    }
}
