//! Reduction of chunks by operators that need not commute, as several contiguous streams that are
//! read in lockstep.
//!
//! ```text
//! chunk lo..hi              total = ne;  length = T*L
//!                           for iterations lo..lo + S*length, and so on:
//!                             acc[0..S] = ne
//!                             for first in 0, L, 2L .. length
//!                               tile[k][w] = xs[lo + w*length + first + k]    k < L, w < S
//!                               for k < L: for w < S: acc[w] = op acc[w] <body on tile[k][w]>
//!                             total = op total acc[0] .. acc[S-1]
//! rest of the chunk         the same with length = (hi - lo) / (S*L) * L
//!                           total = op total acc[0] .. acc[S-1]
//! rest of that              the same with length = (hi - lo - L) / (L - 1), S = L: one tile, of
//!                             which the first iterations of each sub-chunk count
//!                           total = op total acc[0] .. acc[S-1] <iterations lo + S*length .. hi>
//! ```
//!
//! `L` and `S` are the decomposition's `depth` and `streams`: the lanes of a vector, and one or two
//! times as many. One long chain of dependent operations becomes `S` independent chains. Each
//! stream reads its own contiguous sub-chunk of memory, so elements that the body reads at its
//! index are brought into lane order by transposing square tiles, which stay in registers or the
//! first-level cache: the CPU's form of the coalescing in section 4 of the redomap paper.
//! Sub-chunks are short, so that memory is read cache line after cache line: `T` is small
//! ([`Decomp::sub_chunks`](ir::seg::Decomp::sub_chunks)).

use super::reduce_chunk::ChunkReduction;
use super::segops::SegSpace;
use crate::function::Gen;
use crate::operators::element_of_buffer;
use imp::build::{add, div, max, min, mul, sub};
use imp::{Access, Expr, Region, Stmt, Var};
use ir::PassError;
use ir::facts::FactFlag;
use ir::name::Name;
use ir::syntax::{BasicOp, Exp};
use ir::types::Type;
use prim::PrimType;

/// The square tiles of a sub-chunk.
struct Tiles {
    count: Expr,
    /// The number of iterations per tile that belong to the sub-chunk: all of them, except in the
    /// single short tile at the end.
    depth: Expr,
}

impl Tiles {
    const fn full(side: i64, count: Expr) -> Self {
        let iterations = Expr::i64(side);
        Self { count, depth: iterations }
    }
}

/// An element that the body reads at its index.
struct Input {
    name: Name,
    elem: PrimType,
    /// The array, with the stride of the index.
    array: Region,
    tile: Var,
}

impl Gen<'_, '_> {
    /// The accumulators of one chunk after the iterations `lo..hi`.
    pub(crate) fn reduce_streams(
        &mut self,
        fold: &ChunkReduction<'_>,
        mut lo: Expr,
        hi: Expr,
    ) -> Result<Vec<Var>, PassError> {
        let decomp = fold.space.decomp;
        let (side, streams) = (i64::from(decomp.scan_block), i64::from(decomp.accumulators));
        let vectors = streams / side;
        let accs = self.neutral(fold.operators, fold.types)?;
        let tiles = decomp.squares();
        let size = Expr::i64(streams * side * tiles);
        let sub_chunks = div(sub(hi.clone(), lo.clone()), size.clone());
        let sub_chunks = self.bind_value(sub_chunks, PrimType::I64, "sub_chunks");
        self.for_seq("sub_chunk", Expr::i64(0), sub_chunks.clone(), false, |g, sub_chunk| {
            let first = add(lo.clone(), mul(Expr::Var(sub_chunk), size.clone()));
            let first = g.bind_value(first, PrimType::I64, "first");
            let (part, _) = g.reduce_tiles(fold, vectors, first, Tiles::full(side, Expr::i64(tiles)))?;
            g.combine(fold.operators, &accs, &part)
        })?;
        lo = self.bind_value(add(lo, mul(sub_chunks, size)), PrimType::I64, "lo");
        for vectors in (1..=vectors).rev() {
            let n = sub(hi.clone(), lo.clone());
            let tiles = div(n, Expr::i64(side * side * vectors));
            let tiles = self.bind_value(tiles, PrimType::I64, "tiles");
            let (part, rest) = self.reduce_tiles(fold, vectors, lo, Tiles::full(side, tiles))?;
            self.combine(fold.operators, &accs, &part)?;
            lo = self.bind_value(rest, PrimType::I64, "rest");
        }
        // The row of a tile for the last stream must not reach beyond the end of the chunk.
        let left = sub(sub(hi.clone(), lo.clone()), Expr::i64(side));
        let iterations = div(max(left, Expr::i64(0)), Expr::i64(side - 1));
        let iterations = self.bind_value(iterations, PrimType::I64, "trips");
        let short = Tiles { count: min(iterations.clone(), Expr::i64(1)), depth: iterations };
        let (part, rest) = self.reduce_tiles(fold, 1, lo, short)?;
        self.combine(fold.operators, &accs, &part)?;
        lo = self.bind_value(rest, PrimType::I64, "rest");
        self.reduce_iterations(fold, &accs, lo, hi)?;
        Ok(accs)
    }

    /// Folds `tiles` of streams, which fill `vectors` vectors, from `lo` on. Returns the
    /// accumulators and the first iteration after them.
    fn reduce_tiles(
        &mut self,
        fold: &ChunkReduction<'_>,
        vectors: i64,
        lo: Expr,
        tiles: Tiles,
    ) -> Result<(Vec<Var>, Expr), PassError> {
        let (types, independent) = (fold.types, fold.space.independent);
        let side = i64::from(fold.space.decomp.scan_block);
        let count = side * vectors;
        let (depth, streams) = (Expr::i64(side), Expr::i64(count));
        let buffers = self.accumulators(fold, count)?;
        let length = mul(tiles.count.clone(), tiles.depth.clone());
        let length = self.bind_value(length, PrimType::I64, "length");
        let inputs = self.tiled_inputs(fold.space, side * count)?;
        self.for_seq("tile", Expr::i64(0), tiles.count, false, |g, tile| {
            let first = add(lo.clone(), mul(Expr::Var(tile), depth.clone()));
            let first = g.bind_value(first, PrimType::I64, "first");
            for input in &inputs {
                g.fill_tile(input, side, vectors, &first, &length);
            }
            g.for_seq("k", Expr::i64(0), tiles.depth, false, |g, k| {
                let step = add(first, Expr::Var(k));
                let step = g.bind_value(step, PrimType::I64, "step");
                g.for_seq("w", Expr::i64(0), streams.clone(), independent, |g, w| {
                    let position = add(mul(Expr::Var(k), streams.clone()), Expr::Var(w));
                    for input in &inputs {
                        let access = element_of_buffer(input.tile, input.elem, position.clone());
                        g.tiled_reads.insert(input.name, access);
                    }
                    let index = add(step, mul(Expr::Var(w), length.clone()));
                    g.reduce_iteration(fold, &buffers, index, w, None)
                })
            })
        })?;
        for input in &inputs {
            self.tiled_reads.remove(&input.name);
        }
        self.scan_lanes(fold.operators, types, &buffers, count)?;
        let accs = self.load_all(&buffers, types, Expr::i64(count - 1), "acc");
        Ok((accs, add(lo, mul(length, streams))))
    }

    /// The elements that the body reads at its index, each with a tile.
    fn tiled_inputs(&mut self, space: &SegSpace<'_>, size: i64) -> Result<Vec<Input>, PassError> {
        let mut inputs = Vec::new();
        for stm in &space.body.stms {
            let Exp::Basic(BasicOp::Index { array, .. }) = &stm.exp else {
                continue;
            };
            let [param] = stm.pat.as_slice() else {
                continue;
            };
            let Type::Prim(elem) = param.ty else {
                continue;
            };
            if !stm.aux.facts.has(FactFlag::Streamed) {
                continue;
            }
            let (_, block, lmad) = self.location(*array)?;
            let Access { buffer, elem: _, offset, dims } =
                self.element(elem, block, &lmad, vec![Expr::i64(0)])?;
            let strides = dims.into_iter().map(|(_, stride)| stride).collect();
            inputs.push(Input {
                name: param.name,
                elem,
                array: Region { buffer, offset, strides },
                tile: self.frame_array("tile", elem, size),
            });
        }
        Ok(inputs)
    }

    /// Loads each stream's next elements: one row of the source becomes one column of the tile, in
    /// squares of the width of a vector.
    fn fill_tile(&mut self, input: &Input, side: i64, vectors: i64, first: &Expr, length: &Expr) {
        let Some(stride) = input.array.strides.first() else {
            return;
        };
        for vector in 0..vectors {
            let skipped = mul(length.clone(), Expr::i64(vector * side));
            let offset = add(input.array.offset.clone(), mul(add(first.clone(), skipped), stride.clone()));
            self.emit(Stmt::copy(
                Region {
                    buffer: input.tile,
                    offset: Expr::i64(vector * side),
                    strides: vec![Expr::i64(1), Expr::i64(side * vectors)],
                },
                Region {
                    buffer: input.array.buffer,
                    offset,
                    strides: vec![mul(length.clone(), stride.clone()), stride.clone()],
                },
                input.elem,
                vec![Expr::i64(side), Expr::i64(side)],
            ));
        }
    }
}
