//! Single-pass scans with decoupled look-back (Merrill and Garland), which read and write each
//! element once.
//!
//! The iterations of all segments form one linear sequence, which is partitioned into tiles that
//! fit into shared memory. A block takes the next tile:
//!
//! ```text
//! number = counter++                          the tile of the block
//! for its iterations, a block's worth at a time: <body>; tile[i] = x
//! thread, for consecutive iterations:         acc = op acc tile[i]
//! part[thread] = acc, and part is scanned     yields before, and last of the whole tile
//! aggregate[number] = last                    state[number] = AGGREGATE is signalled
//! nearest = the last tile before it whose state is PREFIX, after waiting for the tiles between
//! carry = op .. (op prefix[nearest] aggregate[nearest + 1]) .. aggregate[number - 1]
//! prefix[number] = op carry last              state[number] = PREFIX is signalled
//! acc = op carry before
//! thread, for consecutive iterations:         acc = op acc tile[i]; tile[i] = acc
//! for its iterations, a block's worth at a time: element = tile[i]; <post>
//! ```
//!
//! `prefix` is a tile's inclusive prefix, `carry` its exclusive prefix.
//!
//! A full tile has no bounds checks. The last tile is padded with neutral elements in shared
//! memory, so that the sequential parts need no bounds checks either.
//!
//! **Status words.** For integers of four or eight bytes, with operators that are insensitive to
//! order ([`atomic_operator`]), state and value are one signal: each four bytes of the value have a
//! 64-bit word, with the value in the upper half and the state in the lower. So there is one round
//! trip to memory, and no fence; a thread that finds different states in the words of one value
//! polls again. All threads of the block combine the words of the tiles before it. For other
//! operators, one thread combines them from left to right.
//!
//! **Determinism.** `prefix` is the left-to-right fold of all tiles so far, and `carry` is computed
//! from it as exactly that fold, whichever tile is the nearest: so results do not depend on timing.
//!
//! **Forward progress.** A block waits for blocks with smaller numbers only, which have begun, and
//! which signal their aggregates before they wait for anything. So the device has to guarantee
//! forward progress of blocks that have begun
//! ([`Device::progress`](target::device::Device::progress)).
//!
//! No barrier is in a conditional, although conditions are block-uniform: PoCL 3.1, with
//! optimisation, computed wrong results for such code.
//!
//! **Segments.** At the beginning of a segment, nothing from before is combined. If a segment
//! begins inside a tile, the tile's inclusive prefix is known without look-back; if one begins with
//! the tile, the block does not look back. The beginnings of segments are computed from sizes.

mod inclusive_prefixes;
mod status_words;
mod thread_runs;

use super::reduce::Reduction;
use super::segments::Segments;
use crate::gpu::DeviceSchedule;
use crate::mems::{Operator, Param, ScanReduce, Seg};
use crate::operators::{div_up, element_of_buffer, operator_types, prim_of};
use crate::schedule::Generator;
use crate::{OrBug, Result};
use analysis::exact::atomic_operator;
use imp::build::{Operand, min};
use imp::device::{RELAXED_TYPE, RELEASE_TYPE};
use imp::{AtomicUpdate, DeviceOp, Expr, MemoryId, Stmt, Var, VarType, bind, emit, expr};
use ir::name::Name;
use ir::syntax::Atom;
use ir::types::{Dim, Type};
use ir::{PassError, Prov};
use prim::{BinOp, CmpOp, ConvOp, PrimType, Scalar};

/// The state of a tile whose aggregate is available.
const AGGREGATE: i32 = 1;
/// The state of a tile whose inclusive prefix is available.
const PREFIX: i32 = 2;

/// A scan and its tiles.
struct Tiled<'s> {
    dims: &'s [(Name, Dim)],
    operators: Vec<&'s Operator>,
    types: Vec<PrimType>,
    /// The number of iterations.
    iterations: Operand,
    /// The number of iterations of a segment, if there are several segments.
    width: Option<Operand>,
    /// Iterations per thread.
    own: i64,
    /// Iterations per tile.
    size: i64,
    /// The number of tiles.
    count: Operand,
    /// The tile counter, followed by the states of the tiles, if these are not in status words.
    state: Var,
    published: Published,
}

/// The memory in which tiles publish their aggregates and inclusive prefixes.
enum Published {
    /// Status words: one array for each four bytes of a value.
    StatusWords(Vec<Var>),
    /// Separate element arrays, guarded by the states.
    Elements {
        /// The aggregate of each tile.
        aggregates: Vec<Var>,
        /// The inclusive prefix of each tile.
        inclusive_prefixes: Vec<Var>,
    },
}

impl Published {
    fn arrays(&self) -> Vec<Var> {
        match self {
            Self::StatusWords(words) => words.clone(),
            Self::Elements { aggregates, inclusive_prefixes: prefixes } => {
                [&aggregates[..], &prefixes[..]].concat()
            }
        }
    }
}

/// The shared-memory buffers of a block.
struct SharedBuffers {
    /// The values of the tile's iterations.
    tile: Vec<Var>,
    /// One value for each thread.
    part: Vec<Var>,
    /// The tile's number.
    number: Var,
    /// The values that each thread has read from the status words of a tile.
    loaded: Vec<Var>,
    /// With status words: 1 if the value is an inclusive prefix. With elements: the number of a
    /// tile that has one, or -1.
    prefix_flags: Var,
}

/// The tile of a block.
struct Tile {
    /// The tile's number.
    number: Operand,
    /// The index of its first iteration.
    from: Operand,
    /// The index after its last iteration.
    to: Operand,
    /// True if the tile is full.
    full: Operand,
    /// True if the tile continues a segment that began before it.
    continues_segment: Operand,
    /// True if a segment begins in the tile.
    has_segment_start: Operand,
    /// The index where the segment of the tile's last iteration begins.
    begin: Operand,
}

/// The tile of a block, and a thread of the block.
#[derive(Clone, Copy)]
struct BlockTile<'t> {
    tiled: &'t Tiled<'t>,
    shared_buffers: &'t SharedBuffers,
    tile: &'t Tile,
    thread: Operand,
}

/// One iteration of a thread in its tile.
struct TileIteration {
    /// The round in which the thread reaches it.
    round: Operand,
    /// The position in the tile.
    position: Operand,
    /// The index in the space.
    iteration: Operand,
}

/// The condition that a shared number equals this one.
fn equals(value: Var, number: i32) -> Expr {
    Expr::compare(CmpOp::Eq, PrimType::I32, value.into(), Scalar::I32(number).into())
}

/// Returns true if tiles publish their values in status words.
fn uses_status_words(operators: &[Operator]) -> bool {
    let mut operators = operators.iter();
    operators.all(|operator| atomic_operator(&operator.op).is_some())
}

/// The number of status words of a value.
fn n_status_words(ty: PrimType) -> usize {
    ty.size().div_ceil(4) as usize
}

impl Generator<'_, DeviceSchedule> {
    /// The number of iterations per thread in a tile, if the scan can run as a single pass.
    pub(super) fn tile_iterations_per_thread(&self, scan_reduce: &ScanReduce, segments: bool) -> Option<i64> {
        let device = self.schedule.layout;
        // A reduction in the same segop has one partial result per tile, which cannot be split by
        // segment.
        if !device.progress || segments && !scan_reduce.reduces.is_empty() {
            return None;
        }
        let bytes = |operators: &[Operator]| -> u64 {
            let types = operators.iter().flat_map(|op| &op.op.ret);
            types.filter_map(Type::elem).map(PrimType::size).sum()
        };
        let own = bytes(&scan_reduce.scans);
        let loaded = if uses_status_words(&scan_reduce.scans) { own } else { 0 };
        let other_bytes = bytes(&scan_reduce.reduces) + loaded + PrimType::I32.size();
        device.scans.iterations(own, other_bytes, device.block)
    }

    /// A single-pass scan with `own` iterations per thread in a tile.
    pub(super) fn scan_by_tiles(
        &mut self,
        pat: &[Param],
        seg: &Seg,
        scan_reduce: &ScanReduce,
        (own, prov): (i64, Prov),
    ) -> Result {
        let (reduced, elements) = scan_reduce.results(pat);
        let reduction = Reduction::of(scan_reduce, reduced)?;
        let tiled = self.tiled_scan(seg, scan_reduce, own, prov)?;
        let partials = self.device_arrays("partial", &reduction.types, tiled.count, prov);
        self.each_iteration(("segscan.begin", prov), tiled.count + 1, |g, state| {
            g.init_states(&tiled, state);
            Ok(())
        })?;
        self.kernel(("segscan", prov), tiled.count, |g, _| {
            let shared_buffers = g.shared_buffers(&tiled);
            let sums = g.shared_arrays("sum", &reduction.types);
            g.threads(|g, thread| {
                let tile = g.take_tile(&tiled, &shared_buffers, thread)?;
                let accs = g.neutral(&reduction.operators, &reduction.types)?;
                let kept = g.alloc_kept(scan_reduce, scan_reduce.values(&seg.ret).mapped, own);
                let at = BlockTile { tiled: &tiled, shared_buffers: &shared_buffers, tile: &tile, thread };
                g.tile_iterations(
                    at,
                    &|g, it| {
                        g.delinearise(tiled.dims, it.iteration)?;
                        g.iteration(&seg.body, |g, results| {
                            let values = scan_reduce.values(&results);
                            g.store_atoms(&shared_buffers.tile, &tiled.types, it.position, values.scanned)?;
                            let ys = g.copy_operands(values.reduced, &reduction.types)?;
                            g.combine(&reduction.operators, &accs, &ys)?;
                            match &scan_reduce.post {
                                Some(_) => g.keep(&kept, it.round, values.mapped),
                                None => {
                                    let (_, mapped) = elements.split_at(tiled.types.len());
                                    g.write_elements(mapped, tiled.dims, values.mapped)
                                }
                            }
                        })
                    },
                    &|g, it| {
                        let neutral = g.neutral(&tiled.operators, &tiled.types)?;
                        g.store_all(&shared_buffers.tile, &tiled.types, it.position, &neutral);
                        Ok(())
                    },
                )?;
                g.barrier();
                let run = g.run_of(at);
                let sums_of_run = g.sum_run(at, &run)?;
                let segment_threads = g.threads_of_segment(at, &run);
                let typed_operators = (tiled.operators.as_slice(), tiled.types.as_slice());
                g.scan_subgroups(
                    typed_operators,
                    &shared_buffers.part,
                    &sums_of_run,
                    (thread, segment_threads),
                )?;
                let left_values = g.look_back(at, &run)?;
                g.scan_run(at, &run, &left_values)?;
                g.barrier();
                g.tile_iterations(
                    at,
                    &|g, it| {
                        g.delinearise(tiled.dims, it.iteration)?;
                        let values = g.load_all(&shared_buffers.tile, &tiled.types, it.position, "scanned");
                        let Some(post) = &scan_reduce.post else {
                            return g.store_results(&elements[..values.len()], tiled.dims, &values);
                        };
                        let mapped = g.load_kept(&kept, it.round);
                        let values = values.into_iter().map(Some).chain(mapped);
                        g.post_iteration(post, values, elements, tiled.dims)
                    },
                    &|_, _| Ok(()),
                )?;
                if reduction.types.is_empty() {
                    return Ok(());
                }
                g.reduce_block(&reduction, &sums, &accs, thread)?;
                g.first_thread(thread, |g| {
                    let sums = g.load_all(&sums, &reduction.types, 0, "sum");
                    g.store_all(&partials, &reduction.types, tile.number, &sums);
                    Ok(())
                })
            })
        })?;
        self.release_all(&[tiled.state]);
        self.release_all(&tiled.published.arrays());
        if reduction.types.is_empty() {
            return Ok(());
        }
        let ((index, _), outer) = tiled.dims.split_last().or_bug("an index space has no dimensions")?;
        let segments = Segments {
            outer,
            index: *index,
            width: tiled.iterations,
            count: 1.into(),
            chunks: tiled.count,
            grain: self.schedule.layout.grain.into(),
        };
        self.reduce_chunks(segments, &reduction, partials, prov)
    }

    fn tiled_scan<'s>(
        &mut self,
        seg: &'s Seg,
        scan_reduce: &'s ScanReduce,
        own: i64,
        prov: Prov,
    ) -> Result<Tiled<'s>> {
        let dims = seg.space.dims.as_slice();
        let ((_, width), outer) = dims.split_last().or_bug("an index space has no dimensions")?;
        let operators: Vec<_> = scan_reduce.scans.iter().collect();
        let types = operator_types(&operators)?;
        let iterations = self.extent_product(dims, "iterations")?;
        let width = self.dim(*width)?;
        let width = (!outer.is_empty()).then(|| self.bind(width, "width"));
        let size = own * self.schedule.layout.block;
        let count = self.bind(div_up(iterations, size), "tiles");
        let by_words = uses_status_words(&scan_reduce.scans);
        let states = if by_words { 0.into() } else { count };
        let states = self.device_arrays("state", &[RELEASE_TYPE], states + 1, prov);
        let [state] = states.as_slice() else {
            return Err(PassError::bug("a device array has not exactly one buffer"));
        };
        Ok(Tiled {
            dims,
            published: if by_words {
                let words = types.iter().map(|ty| n_status_words(*ty)).sum();
                let words = vec![RELAXED_TYPE; words];
                Published::StatusWords(self.device_arrays("word", &words, count, prov))
            } else {
                Published::Elements {
                    aggregates: self.device_arrays("aggregate", &types, count, prov),
                    inclusive_prefixes: self.device_arrays("prefix", &types, count, prov),
                }
            },
            operators,
            types,
            iterations,
            width,
            own,
            size,
            count,
            state: *state,
        })
    }

    fn shared_buffers(&mut self, tiled: &Tiled<'_>) -> SharedBuffers {
        let block = self.schedule.layout.block;
        let mut tile = Vec::with_capacity(tiled.types.len());
        for &elem in &tiled.types {
            tile.push(self.frame_array(MemoryId::Shared, "tile", elem, tiled.size));
        }
        SharedBuffers {
            tile,
            part: self.shared_arrays("part", &tiled.types),
            number: self.frame_array(MemoryId::Shared, "number", PrimType::I32, 1),
            loaded: match tiled.published {
                Published::StatusWords(_) => self.shared_arrays("loaded", &tiled.types),
                Published::Elements { .. } => Vec::new(),
            },
            prefix_flags: self.frame_array(MemoryId::Shared, "prefix_flag", PrimType::I32, block),
        }
    }

    /// Initialises the tile counter, and the states of all tiles to empty.
    fn init_states(&mut self, tiled: &Tiled<'_>, state: Operand) {
        match &tiled.published {
            Published::StatusWords(words) => self.init_status_words(tiled, words, state),
            Published::Elements { .. } => {
                let state = element_of_buffer(tiled.state, RELEASE_TYPE, state);
                self.emit(Stmt::Store(state, Scalar::I32(0).into()));
            }
        }
    }

    /// Takes the next tile for the block.
    fn take_tile(
        &mut self,
        tiled: &Tiled<'_>,
        shared_buffers: &SharedBuffers,
        thread: Operand,
    ) -> Result<Tile> {
        self.first_thread(thread, |g| {
            let number = g.scalar(PrimType::I32, "number");
            g.emit(Stmt::Device(DeviceOp::Update(Box::new(AtomicUpdate {
                old: Some(number),
                at: element_of_buffer(tiled.state, RELEASE_TYPE, 0),
                op: BinOp::Add,
                value: Expr::Const(Scalar::I32(1)),
            }))));
            let element = element_of_buffer(shared_buffers.number, PrimType::I32, 0);
            g.emit(Stmt::Store(element, number.into()));
            Ok(())
        })?;
        self.barrier();
        let number = self.load_i32(shared_buffers.number, 0, "number");
        bind!(from = self(number * tiled.size));
        bind!(to = self(min(from + tiled.size, tiled.iterations)));
        let full = expr!(to - from == tiled.size);
        let (continues, has_start, begin) = match tiled.width {
            None => (expr!(0 < number), expr!(number == 0), 0.into()),
            Some(width) => {
                let last = to - 1;
                bind!(begin = self(&last - &last % width));
                (expr!(0 < from % width), expr!(from <= begin), begin)
            }
        };
        Ok(Tile {
            number,
            from,
            to,
            full: self.bind(full, "full"),
            continues_segment: self.bind(continues, "continues"),
            has_segment_start: self.bind(has_start, "has_start"),
            begin,
        })
    }

    /// Loads an `i32` from shared memory.
    fn load_i32(&mut self, buffer: Var, index: impl Into<Expr>, hint: &str) -> Operand {
        let var = self.scalar(PrimType::I32, hint);
        self.emit(Stmt::Load(var, element_of_buffer(buffer, PrimType::I32, index)));
        let wide = Expr::convert(ConvOp::SExt, PrimType::I32, PrimType::I64, Expr::Var(var));
        self.bind(wide, hint)
    }

    /// The thread's iterations of a tile, strided by the block size; `after` is called for
    /// positions after the last iteration. The code exists twice: the version for full tiles has no
    /// bounds checks.
    fn tile_iterations(
        &mut self,
        at: BlockTile<'_>,
        f: &dyn Fn(&mut Self, &TileIteration) -> Result,
        after: &dyn Fn(&mut Self, &TileIteration) -> Result,
    ) -> Result {
        let tile = at.tile;
        emit!(if self(tile.full) {
            self.tile_positions(at, f)?;
        } else {
            self.tile_positions(at, &|g, it| {
                emit!(if g(it.iteration < tile.to) {
                    f(g, it)?;
                } else {
                    after(g, it)?;
                });
                Ok(())
            })?;
        });
        Ok(())
    }

    /// The thread's positions in a tile, strided by the block size.
    fn tile_positions(
        &mut self,
        at: BlockTile<'_>,
        f: &dyn Fn(&mut Self, &TileIteration) -> Result,
    ) -> Result {
        let BlockTile { tiled, tile, thread, .. } = at;
        let block = self.schedule.layout.block;
        emit!(for round in self(0..tiled.own) {
            bind!(position = self(round * block + thread));
            bind!(iteration = self(tile.from + position));
            f(self, &TileIteration { round: round.into(), position, iteration })?;
        });
        Ok(())
    }

    /// Stores operands into buffers at an index.
    pub(super) fn store_atoms(
        &mut self,
        buffers: &[Var],
        types: &[PrimType],
        index: Operand,
        atoms: &[Atom],
    ) -> Result {
        for ((&buffer, &elem), &atom) in buffers.iter().zip(types).zip(atoms) {
            let value = self.atom(atom)?;
            self.emit(Stmt::Store(element_of_buffer(buffer, elem, index), value.into()));
        }
        Ok(())
    }

    /// Allocates private arrays of a thread for the mapped values that a post lambda takes, one
    /// element for each of its iterations.
    fn alloc_kept(
        &mut self,
        scan_reduce: &ScanReduce,
        types: &[Type],
        count: i64,
    ) -> Vec<Option<(Var, PrimType)>> {
        if scan_reduce.post.is_none() {
            return Vec::new();
        }
        types
            .iter()
            .map(|ty| {
                prim_of(ty).map(|elem| {
                    let buffer = self.value(VarType::Buffer(MemoryId::Private), "kept");
                    self.emit(Stmt::Frame { buffer, elem, count: count.unsigned_abs() });
                    (buffer, elem)
                })
            })
            .collect()
    }

    fn keep(&mut self, kept: &[Option<(Var, PrimType)>], round: Operand, values: &[Atom]) -> Result {
        for (slot, &value) in kept.iter().zip(values) {
            if let Some((buffer, elem)) = *slot {
                let value = self.atom(value)?;
                self.emit(Stmt::Store(element_of_buffer(buffer, elem, round), value.into()));
            }
        }
        Ok(())
    }

    fn load_kept(&mut self, kept: &[Option<(Var, PrimType)>], round: Operand) -> Vec<Option<Var>> {
        let mut values = Vec::with_capacity(kept.len());
        for slot in kept {
            values.push(slot.map(|(buffer, elem)| {
                let var = self.scalar(elem, "mapped");
                self.emit(Stmt::Load(var, element_of_buffer(buffer, elem, round)));
                var
            }));
        }
        values
    }
}
