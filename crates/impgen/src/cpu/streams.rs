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
use crate::Result;
use crate::cpu::CpuSchedule;
use crate::emitter::HeldRead;
use crate::operators::element_of_buffer;
use crate::schedule::Generator;
use imp::build::{Operand, max, min};
use imp::{Access, Expr, MemoryId, Region, Stmt, Var, bind, emit};
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
    depth: Operand,
}

impl Tiles {
    fn full(side: i64, count: impl Into<Expr>) -> Self {
        Self { count: count.into(), depth: side.into() }
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

impl Generator<'_, CpuSchedule> {
    /// The accumulators of one chunk after the iterations `lo..hi`.
    pub(crate) fn reduce_streams(
        &mut self,
        fold: &ChunkReduction<'_>,
        mut lo: Operand,
        hi: Operand,
    ) -> Result<Vec<Var>> {
        let decomp = fold.space.decomp;
        let (side, streams) = (i64::from(decomp.scan_block), i64::from(decomp.accumulators));
        let vectors = streams / side;
        let accs = self.neutral(fold.operators, fold.types)?;
        let tiles = decomp.squares();
        let size = streams * side * tiles;
        bind!(sub_chunks = self((hi - lo) / size));
        emit!(for sub_chunk in self(0..sub_chunks) {
            bind!(first = self(lo + sub_chunk * size));
            let (part, _) = self.reduce_tiles(fold, vectors, first, Tiles::full(side, tiles))?;
            self.combine(fold.operators, &accs, &part)?;
        });
        lo = self.bind(lo + sub_chunks * size, "lo");
        for vectors in (1..=vectors).rev() {
            let n = hi - lo;
            bind!(tiles = self(n / (side * side * vectors)));
            let (part, rest) = self.reduce_tiles(fold, vectors, lo, Tiles::full(side, tiles))?;
            self.combine(fold.operators, &accs, &part)?;
            lo = self.bind(rest, "rest");
        }
        // The row of a tile for the last stream must not reach beyond the end of the chunk.
        let left = hi - lo - side;
        let iterations = self.bind(max(left, 0) / (side - 1), "trips");
        let short = Tiles { count: min(iterations, 1), depth: iterations };
        let (part, rest) = self.reduce_tiles(fold, 1, lo, short)?;
        self.combine(fold.operators, &accs, &part)?;
        lo = self.bind(rest, "rest");
        self.reduce_iterations(fold, &accs, lo, hi)?;
        Ok(accs)
    }

    /// Folds `tiles` of streams, which fill `vectors` vectors, from `lo` on. Returns the
    /// accumulators and the first iteration after them.
    fn reduce_tiles(
        &mut self,
        fold: &ChunkReduction<'_>,
        vectors: i64,
        lo: Operand,
        tiles: Tiles,
    ) -> Result<(Vec<Var>, Expr)> {
        let (types, independent) = (fold.types, fold.space.independent);
        let side = i64::from(fold.space.decomp.scan_block);
        let count = side * vectors;
        let (depth, streams) = (side, count);
        let buffers = self.accumulators(fold, count)?;
        bind!(length = self(&tiles.count * tiles.depth));
        let inputs = self.tiled_inputs(fold.space, side * count)?;
        emit!(for tile in self(0..tiles.count) {
            bind!(first = self(lo + tile * depth));
            for input in &inputs {
                self.fill_tile(input, side, vectors, first, length);
            }
            emit!(for k in self(0..tiles.depth) {
                bind!(step = self(first + k));
                emit!(for w in self.independent_if(independent, 0..streams) {
                    let position = k * streams + w;
                    for input in &inputs {
                        let access = element_of_buffer(input.tile, input.elem, &position);
                        self.held_reads.insert(input.name, HeldRead::Tile(access));
                    }
                    self.reduce_iteration(fold, &buffers, step + w * length, w, None)?;
                });
            });
        });
        for input in &inputs {
            self.held_reads.remove(&input.name);
        }
        self.scan_lanes(fold.operators, types, &buffers, count)?;
        let accs = self.load_all(&buffers, types, count - 1, "acc");
        Ok((accs, lo + length * streams))
    }

    /// The elements that the body reads at its index, each with a tile.
    fn tiled_inputs(&mut self, space: &SegSpace<'_>, size: i64) -> Result<Vec<Input>> {
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
                tile: self.frame_array(MemoryId::Host, "tile", elem, size),
            });
        }
        Ok(inputs)
    }

    /// Loads each stream's next elements: one row of the source becomes one column of the tile, in
    /// squares of the width of a vector.
    fn fill_tile(&mut self, input: &Input, side: i64, vectors: i64, first: Operand, length: Operand) {
        let Some(stride) = input.array.strides.first() else {
            return;
        };
        for vector in 0..vectors {
            let skipped = length * (vector * side);
            let offset = input.array.offset.clone() + (first + skipped) * stride.clone();
            self.emit(Stmt::copy(
                Region {
                    buffer: input.tile,
                    offset: Expr::i64(vector * side),
                    strides: vec![Expr::i64(1), Expr::i64(side * vectors)],
                },
                Region {
                    buffer: input.array.buffer,
                    offset,
                    strides: vec![length * stride.clone(), stride.clone()],
                },
                input.elem,
                vec![Expr::i64(side), Expr::i64(side)],
            ));
        }
    }
}
