//! Tiled loops: execution of a loop from tiles in shared memory.
//!
//! A tile has one line for each loop iteration: the elements that the block reads in it, one for
//! each row of the block or each column, or a single one. Lines are padded, so that elements loaded
//! along the loop are in different banks. Neighbouring threads load neighbouring elements of the
//! array, whether these are along the loop or along the block's side.
//!
//! ```text
//! barrier; each thread loads a few elements of the first tiles into variables
//! for each tile of the loop {
//!   store the loaded elements into the tiles; barrier
//!   each thread loads a few elements of the next tiles, overlapped with the computation
//!   for the loop iterations of the tile: the loop body, for each iteration of the thread
//!   barrier
//! }
//! ```
//!
//! Elements after the last loop iteration are not loaded. In a loop iteration, a thread reads the
//! elements that its iterations require from the tiles once, then runs the loop body for each of
//! them.

use super::plan::{SharedLoop, TileRead};
use super::tile_extents::{Shape, ThreadIteration, TileExtent};
use crate::emitter::HeldRead;
use crate::gpu::DeviceSchedule;
use crate::mems::Stm;
use crate::operators::element_of_buffer;
use crate::schedule::Generator;
use crate::{OrBug, Result};
use imp::build::{Operand, TRUE, and, min};
use imp::{Access, Expr, MemoryId, Stmt, Var, bind, emit, expr};
use ir::facts::SharedBy;
use ir::syntax::Atom;
use prim::{PrimType, Scalar};
use target::device::TILE_BYTES;

/// A tile: an array in shared memory.
pub(super) struct Tile<'s> {
    read: &'s TileRead<'s>,
    buffer: Var,
}

/// A loop that is executed from tiles.
pub(super) struct TiledLoop<'t> {
    pub(super) shared: &'t SharedLoop<'t>,
    pub(super) tiles: &'t [Tile<'t>],
    /// The first loop iteration.
    pub(super) from: Operand,
    /// The upper bound, exclusive.
    pub(super) bound: Operand,
    /// The number of tiles.
    pub(super) count: Operand,
    pub(super) thread: Operand,
    pub(super) shape: Shape,
    pub(super) extents: &'t [TileExtent],
}

impl TiledLoop<'_> {
    /// The side of the block along which a read has elements of its own.
    fn extent(&self, read: &TileRead<'_>) -> Option<&TileExtent> {
        match read.shared.by {
            SharedBy::Loop => None,
            SharedBy::Row => self.extents.first(),
            SharedBy::Column => self.extents.last(),
        }
    }
}

impl Generator<'_, DeviceSchedule> {
    /// Allocates tiles for the shared reads of a loop, as long as they fit.
    pub(super) fn tiles<'s>(
        &mut self,
        shared: &'s SharedLoop<'_>,
        shape: Shape,
        bytes: &mut u64,
    ) -> Vec<Tile<'s>> {
        let mut tiles = Vec::with_capacity(shared.reads.len());
        for read in &shared.reads {
            let (_, pitch) = shape.line_layout(read.shared.by);
            let count = shape.depth * pitch;
            let more = read.elem.size() * count.unsigned_abs();
            if *bytes + more > TILE_BYTES {
                continue;
            }
            *bytes += more;
            let buffer = self.frame_array(MemoryId::Shared, "tile", read.elem, count);
            tiles.push(Tile { read, buffer });
        }
        tiles
    }

    /// A loop of the segmap's body, executed from tiles.
    pub(super) fn tiled_loop(
        &mut self,
        tiled: &TiledLoop<'_>,
        stm: &Stm,
        iterations: &mut [ThreadIteration],
    ) -> Result {
        let shared = tiled.shared;
        let mut carried = Vec::with_capacity(iterations.len());
        for iteration in &mut *iterations {
            self.bind_iteration(iteration);
            let mut own = Vec::with_capacity(shared.params.len());
            for p in shared.params {
                let init = self.atom(p.init)?;
                let var = self.bind_borrowed(&p.param);
                let var = var.or_bug("a tiled loop carries an array")?;
                self.set(var, init);
                iteration.vars.push((p.param.name, var));
                own.push(Some(var));
            }
            carried.push(own);
        }
        self.tiled_iterations(tiled, iterations, |g, number| {
            let own = carried.get(number).map_or(&[][..], Vec::as_slice);
            g.loop_iteration(shared.params, own, shared.body)
        })?;
        for (iteration, own) in iterations.iter_mut().zip(carried) {
            for (param, var) in stm.pat.iter().zip(own) {
                iteration.vars.extend(var.map(|var| (param.name, var)));
            }
        }
        Ok(())
    }

    /// A loop executed from tiles: `each` emits one loop iteration of an iteration of the thread,
    /// given by its number.
    pub(super) fn tiled_iterations(
        &mut self,
        tiled: &TiledLoop<'_>,
        iterations: &[ThreadIteration],
        mut each: impl FnMut(&mut Self, usize) -> Result,
    ) -> Result {
        let shared = tiled.shared;
        let depth = tiled.shape.depth;
        let hint = self.hint(shared.counter);
        self.barrier();
        let mut loaded = Vec::with_capacity(tiled.tiles.len());
        for tile in tiled.tiles {
            let rounds = tiled.shape.rounds(tile.read.shared.by, self.schedule.layout.block);
            let own: Vec<Var> = (0..rounds).map(|_| self.scalar(tile.read.elem, "next")).collect();
            self.prefetch(tiled, tile, (tiled.from, &own))?;
            loaded.push(own);
        }
        emit!(for tile in self(0..tiled.count) {
            let before = tile * depth;
            bind!(first = self(tiled.from + before));
            for (tile, own) in tiled.tiles.iter().zip(&loaded) {
                self.store_tile(tiled, tile, own);
            }
            self.barrier();
            bind!(next = self(first + depth));
            for (tile, own) in tiled.tiles.iter().zip(&loaded) {
                self.prefetch(tiled, tile, (next, own))?;
            }
            let left = tiled.bound - first;
            let count = self.bind(min(left, depth), "trips");
            emit!(for iteration in self(0..count) {
                let counter = self.scalar(PrimType::I64, &hint);
                self.set(counter, first + iteration);
                self.set_var(shared.counter, counter);
                let held: Vec<Vec<Var>> =
                    tiled.tiles.iter().map(|tile| self.load_registers(tiled, tile, iteration)).collect();
                for (number, own) in iterations.iter().enumerate() {
                    self.bind_iteration(own);
                    for (tile, vars) in tiled.tiles.iter().zip(&held) {
                        let number = match tile.read.shared.by {
                            SharedBy::Loop => Some(&0),
                            SharedBy::Row => own.numbers.first(),
                            SharedBy::Column => own.numbers.last(),
                        };
                        if let Some(&var) = number.and_then(|&number| vars.get(number)) {
                            self.held_reads.insert(tile.read.name, HeldRead::Register(var));
                        }
                    }
                    each(self, number)?;
                }
            });
            self.barrier();
        });
        for tile in tiled.tiles {
            self.held_reads.remove(&tile.read.name);
        }
        Ok(())
    }

    /// Loads the elements of a tile, from loop iteration `first` on, into variables of the block's
    /// threads.
    fn prefetch(
        &mut self,
        tiled: &TiledLoop<'_>,
        tile: &Tile<'_>,
        (first, own): (Operand, &[Var]),
    ) -> Result {
        let read = tile.read;
        let extent = tiled.extent(read);
        for (round, &value) in own.iter().enumerate() {
            let (step, offset, in_tile) = self.position_in_tile(tiled, tile, round);
            let counter = self.scalar(PrimType::I64, "at");
            self.set(counter, first + step);
            let inside = and(in_tile, expr!(counter < tiled.bound));
            let (mut names, mut vars) = (vec![Atom::Var(tiled.shared.counter)], vec![counter]);
            if let Some(extent) = extent {
                let index = extent.first + offset;
                let last = extent.size - 1;
                let index_var = self.scalar(PrimType::I64, "index");
                self.set(index_var, min(index, last));
                names.push(Atom::Var(extent.index));
                vars.push(index_var);
            }
            let offset = self.with_vars(&names, &vars, |g| g.poly(&read.shared.offset))?;
            let from =
                Access { buffer: self.var(read.shared.block)?, elem: read.elem, offset, dims: Vec::new() };
            self.set(value, Scalar::zero(read.elem));
            self.emit(Stmt::If(inside, vec![Stmt::Load(value, from)], Vec::new()));
        }
        Ok(())
    }

    /// Stores the loaded elements into the tile.
    fn store_tile(&mut self, tiled: &TiledLoop<'_>, tile: &Tile<'_>, own: &[Var]) {
        let (_, pitch) = tiled.shape.line_layout(tile.read.shared.by);
        for (round, &value) in own.iter().enumerate() {
            let (step, offset, in_tile) = self.position_in_tile(tiled, tile, round);
            let to = step * pitch + offset;
            let store = Stmt::Store(element_of_buffer(tile.buffer, tile.read.elem, to), value.into());
            if in_tile == TRUE {
                self.emit(store);
            } else {
                self.emit(Stmt::If(in_tile, vec![store], Vec::new()));
            }
        }
    }

    /// The element of a tile that a thread loads in a round: its loop iteration, its position in
    /// the line, and the condition that it exists.
    fn position_in_tile(
        &mut self,
        tiled: &TiledLoop<'_>,
        tile: &Tile<'_>,
        round: usize,
    ) -> (Expr, Expr, Expr) {
        let (length, _) = tiled.shape.line_layout(tile.read.shared.by);
        let count = tiled.shape.depth * length;
        let block = self.schedule.layout.block;
        bind!(number = self(block * round as i64 + tiled.thread));
        let by = if tile.read.along_loop { tiled.shape.depth } else { length };
        let (fast, slow) = (number % by, number / by);
        let in_tile = if (round as i64 + 1) * block <= count { TRUE } else { expr!(number < count) };
        if tile.read.along_loop { (fast, slow, in_tile) } else { (slow, fast, in_tile) }
    }

    /// Loads the elements that a thread's iterations use in one loop iteration into variables.
    fn load_registers(&mut self, tiled: &TiledLoop<'_>, tile: &Tile<'_>, step: Var) -> Vec<Var> {
        let Tile { read, buffer } = tile;
        let extent = tiled.extent(read);
        let (_, pitch) = tiled.shape.line_layout(read.shared.by);
        let line = step * pitch;
        let offsets = match extent {
            None => vec![Expr::i64(0)],
            Some(extent) => (0..tiled.shape.iterations).map(|number| extent.offset(number)).collect(),
        };
        offsets
            .into_iter()
            .map(|offset| {
                let var = self.scalar(read.elem, "held");
                let from = element_of_buffer(*buffer, read.elem, line.clone() + offset);
                self.emit(Stmt::Load(var, from));
                var
            })
            .collect()
    }
}
