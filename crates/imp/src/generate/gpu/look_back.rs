//! Scans in one kernel, which reads and writes each element once (Merrill and Garland:
//! decoupled look-back).
//!
//! The points of all segments lie one behind another, and fall into tiles that the
//! scratchpad has room for. A block takes the next tile:
//!
//! ```text
//! number = counter++                          the tile of the block
//! for its points, a block's worth at a time:  <body>; tile[point] = x
//! thread, for points side by side:            acc = op acc tile[point]
//! part[thread] = acc, and part is scanned     gives before, and last of the whole tile
//! total[number] = last                        state[number] = TOTAL is signalled
//! near = the last tile before it whose state is ENDING, once those behind that have one
//! carry = op .. (op ending[near] total[near + 1]) .. total[number - 1]
//! ending[number] = op carry last              state[number] = ENDING is signalled
//! acc = op carry before
//! thread, for points side by side:            acc = op acc tile[point]; tile[point] = acc
//! for its points, a block's worth at a time:  element = tile[point]; <post>
//! ```
//!
//! A tile that is full asks of none of its points whether there is one. What stands in the
//! last tile behind the points is neutral, so that threads need not ask again.
//!
//! **Words.** Of whole numbers of four or eight bytes, and operators on them that show no
//! order ([`atomic_operator`]), the state and the value are one signal: a word for each four
//! bytes has the value in its upper half, and the state in its lower. So there is one trip to
//! memory, and no fence; who finds different states in the words of a value looks again. All
//! threads of the block put together what the tiles before it tell. Of other operators, one
//! does so from left to right.
//!
//! **The same bits.** `ending` is what the tiles so far come to from left to right, and what
//! `carry` is put together from is just that, whichever tile is the nearest: so timing does
//! not show.
//!
//! **Progress.** A block awaits signals of blocks whose numbers are smaller, which have begun;
//! those signal their totals before they await anything. So it takes a device that lets
//! blocks go on ([`Device::progress`](target::device::Device::progress)).
//!
//! No barrier stands in a conditional, though all threads of a block decide alike: of such
//! code, with optimisation, PoCL 3.1 made results that were wrong.
//!
//! **Segments.** Where a segment begins, nothing from before is combined. Where one begins in
//! a tile, what the tile ends with is known without looking back, and where one begins with
//! it, the block does not look. Where segments begin follows from sizes.

mod chain;
mod runs;
mod words;

use super::reduce::Reduction;
use super::segments::Segments;
use crate::device::{SIGNAL, WORD};
use crate::generate::expr::{add, binary, compare, min, mul, sub};
use crate::generate::function::Gen;
use crate::generate::operators::{at, div_up, operator_types};
use crate::syntax::{DeviceOp, Expr, Space, Stmt, Update, Var, VarType};
use ir::exact::atomic_operator;
use ir::folds::Folds;
use ir::name::Name;
use ir::seg::Seg;
use ir::soac::Operator;
use ir::syntax::{Atom, Param};
use ir::types::{Dim, Type};
use ir::{Mems, PassError, Prov};
use prim::{BinOp, CmpOp, ConvOp, PrimType, Scalar};

/// The state of a tile whose total is there.
const TOTAL: i32 = 1;
/// The state of a tile of which is known what the tiles up to its end come to.
const ENDING: i32 = 2;

/// A scan and its tiles.
struct Tiled<'s> {
    dims: &'s [(Name, Dim)],
    operators: Vec<&'s Operator<Mems>>,
    types: Vec<PrimType>,
    /// How many points there are.
    points: Expr,
    /// Points of a segment, where there are several.
    width: Option<Expr>,
    /// Points of a thread.
    own: i64,
    /// Points of a tile.
    size: i64,
    /// How many tiles there are.
    count: Expr,
    /// The counter, then the states of the tiles, if they are not told with values.
    state: Var,
    told: Told,
}

/// Where tiles tell what they come to.
enum Told {
    /// In words, as many for each value as it has four bytes.
    Words(Vec<Var>),
    /// In elements, which stand behind the states.
    Elements {
        /// What each tile comes to.
        totals: Vec<Var>,
        /// What the tiles up to the end of each come to.
        endings: Vec<Var>,
    },
}

impl Told {
    fn arrays(&self) -> Vec<Var> {
        match self {
            Self::Words(words) => words.clone(),
            Self::Elements { totals, endings } => [&totals[..], &endings[..]].concat(),
        }
    }
}

/// What the threads of a block share.
struct Pads {
    /// The values of the points.
    tile: Vec<Var>,
    /// A value of each thread.
    part: Vec<Var>,
    /// The tile's number.
    number: Var,
    /// What each thread has heard of a tile, where they put that together.
    heard: Vec<Var>,
    /// Whether that is what all tiles up to the end of this one come to; or which tile that
    /// is so of.
    ended: Var,
}

/// The tile of a block.
struct Tile {
    /// Its number.
    number: Expr,
    /// Its first point.
    from: Expr,
    /// The point behind its last.
    to: Expr,
    /// Whether it has as many points as there is room for.
    full: Expr,
    /// Whether it goes on with a segment.
    goes_on: Expr,
    /// Whether a segment begins in it.
    closed: Expr,
    /// The point where the segment of its last one began.
    begin: Expr,
}

/// A place of a thread in its tile.
struct Spot {
    /// In which round the thread comes there.
    round: Expr,
    place: Expr,
    point: Expr,
}

/// Whether a number that threads tell each other is this one.
fn is(told: Var, number: i32) -> Expr {
    Expr::Compare(
        CmpOp::Eq,
        PrimType::I32,
        Box::new(Expr::Var(told)),
        Box::new(Expr::Const(Scalar::I32(number))),
    )
}

/// Whether tiles tell what they come to in words.
fn by_words(operators: &[Operator<Mems>]) -> bool {
    let mut operators = operators.iter();
    operators.all(|operator| atomic_operator(&operator.op).is_some())
}

/// How many words tell a value.
fn words_of(ty: PrimType) -> usize {
    ty.size().div_ceil(4) as usize
}

impl Gen<'_, '_> {
    /// How many points a thread has in a tile, if the scan can go by tiles.
    pub(super) fn points_in_tiles(&self, folds: &Folds<Mems>, segments: bool) -> Option<i64> {
        let device = self.layout();
        // What is reduced beside has a partial result for each tile.
        if !device.progress || segments && !folds.reduces.is_empty() {
            return None;
        }
        let bytes = |operators: &[Operator<Mems>]| -> u64 {
            let types = operators.iter().flat_map(|op| &op.op.ret);
            types.filter_map(Type::elem).map(PrimType::size).sum()
        };
        let own = bytes(&folds.scans);
        let heard = if by_words(&folds.scans) { own } else { 0 };
        let beside = bytes(&folds.reduces) + heard + PrimType::I32.size();
        device.scans.points(own, beside, device.block)
    }

    /// A scan whose threads have so many points of a tile each.
    pub(super) fn scan_by_tiles(
        &mut self,
        pat: &[Param<Mems>],
        seg: &Seg<Mems>,
        folds: &Folds<Mems>,
        (own, prov): (i64, Prov),
    ) -> Result<(), PassError> {
        let (reduced, elements) = folds.results(pat);
        let reduction = Reduction::of(folds, reduced)?;
        let tiled = self.tiled_scan(seg, folds, own, prov)?;
        let partials = self.device_arrays("partial", &reduction.types, &tiled.count, prov);
        let states = add(tiled.count.clone(), Expr::i64(1));
        self.each_point(("segscan.begin", prov), states, |g, place| {
            g.nothing_told(&tiled, &place);
            Ok(())
        })?;
        self.kernel(("segscan", prov), tiled.count.clone(), |g, _| {
            let pads = g.pads(&tiled, prov)?;
            let sums = g.scratchpad("sum", &reduction.types, prov)?;
            g.threads(prov, |g, thread| {
                let tile = g.take_tile(&tiled, &pads, &thread)?;
                let accs = g.neutral(&reduction.operators, &reduction.types)?;
                let kept = g.kept(folds, folds.values(&seg.ret).mapped, (own, prov))?;
                let places = (&tiled, &tile, &thread);
                g.points_of_tile(
                    places,
                    &|g, it| {
                        g.bind_point(tiled.dims, &it.point)?;
                        g.point(&seg.body, |g, results| {
                            let values = folds.values(&results);
                            g.store_atoms(&pads.tile, &tiled.types, &it.place, values.scanned)?;
                            let ys = g.values(values.reduced, &reduction.types)?;
                            g.combine(&reduction.operators, &accs, &ys)?;
                            match &folds.post {
                                Some(_) => g.keep(&kept, &it.round, values.mapped),
                                None => {
                                    let (_, mapped) = elements.split_at(tiled.types.len());
                                    g.write_elements(mapped, tiled.dims, values.mapped)
                                }
                            }
                        })
                    },
                    &|g, it| {
                        let neutral = g.neutral(&tiled.operators, &tiled.types)?;
                        g.store_all(&pads.tile, &tiled.types, it.place.clone(), &neutral);
                        Ok(())
                    },
                )?;
                g.barrier();
                let run = g.run_of(&tiled, &tile, &thread);
                let sums_of_run = g.sum_run(&tiled, &pads, &run)?;
                let joined = g.threads_of_segment(&tiled, &tile, &run, &thread);
                let folded = (tiled.operators.as_slice(), tiled.types.as_slice());
                g.scan_groups(folded, &pads.part, &sums_of_run, (&thread, &joined))?;
                let lefts = g.look_back(&tiled, &pads, &tile, (&run, &thread))?;
                g.scan_run(&tiled, &pads, &run, &lefts)?;
                g.barrier();
                g.points_of_tile(
                    places,
                    &|g, it| {
                        g.bind_point(tiled.dims, &it.point)?;
                        let values = g.load_all(&pads.tile, &tiled.types, it.place.clone(), "scanned");
                        let Some(post) = &folds.post else {
                            return g.write_vars(&elements[..values.len()], tiled.dims, &values);
                        };
                        let mapped = g.taken_up(&kept, &it.round);
                        let values = values.into_iter().map(Some).chain(mapped);
                        for (param, value) in post.params.iter().zip(values) {
                            if let Some(value) = value {
                                g.set_param(param, Expr::Var(value))?;
                            }
                        }
                        g.point(&post.body, |g, results| g.write_elements(elements, tiled.dims, &results))
                    },
                    &|_, _| Ok(()),
                )?;
                if reduction.types.is_empty() {
                    return Ok(());
                }
                g.reduce_block(&reduction, &sums, &accs, &thread)?;
                g.first_thread(&thread, |g| {
                    let sums = g.load_all(&sums, &reduction.types, Expr::i64(0), "sum");
                    g.store_all(&partials, &reduction.types, tile.number, &sums);
                    Ok(())
                })
            })
        })?;
        self.release_arrays(&[tiled.state]);
        self.release_arrays(&tiled.told.arrays());
        if reduction.types.is_empty() {
            return Ok(());
        }
        let Some(((index, _), outer)) = tiled.dims.split_last() else {
            return Err(PassError::bug("a space without dimensions"));
        };
        let segments = Segments {
            outer,
            index: *index,
            width: tiled.points,
            count: Expr::i64(1),
            chunks: tiled.count,
            grain: Expr::i64(self.layout().grain),
        };
        self.reduce_chunks(segments, &reduction, partials, prov)
    }

    fn tiled_scan<'s>(
        &mut self,
        seg: &'s Seg<Mems>,
        folds: &'s Folds<Mems>,
        own: i64,
        prov: Prov,
    ) -> Result<Tiled<'s>, PassError> {
        let dims = seg.space.dims.as_slice();
        let Some(((_, width), outer)) = dims.split_last() else {
            return Err(PassError::bug("a space without dimensions"));
        };
        let operators: Vec<_> = folds.scans.iter().collect();
        let types = operator_types(&operators)?;
        let points = self.product(dims, "points")?;
        let width = self.dim(*width)?;
        let width = (!outer.is_empty()).then(|| self.name_value(width, PrimType::I64, "width"));
        let size = own * self.layout().block;
        let count = self.name_value(div_up(points.clone(), size), PrimType::I64, "tiles");
        let by_words = by_words(&folds.scans);
        let states = if by_words { Expr::i64(0) } else { count.clone() };
        let states = add(states, Expr::i64(1));
        let states = self.device_arrays("state", &[SIGNAL], &states, prov);
        let [state] = states.as_slice() else {
            return Err(PassError::bug("a type has one array"));
        };
        Ok(Tiled {
            dims,
            told: if by_words {
                let words = types.iter().map(|ty| words_of(*ty)).sum();
                let words = vec![WORD; words];
                Told::Words(self.device_arrays("word", &words, &count, prov))
            } else {
                Told::Elements {
                    totals: self.device_arrays("total", &types, &count, prov),
                    endings: self.device_arrays("ending", &types, &count, prov),
                }
            },
            operators,
            types,
            points,
            width,
            own,
            size,
            count,
            state: *state,
        })
    }

    fn pads(&mut self, tiled: &Tiled<'_>, prov: Prov) -> Result<Pads, PassError> {
        let mut tile = Vec::with_capacity(tiled.types.len());
        for &elem in &tiled.types {
            tile.push(self.tile_array("tile", elem, tiled.size));
        }
        Ok(Pads {
            tile,
            part: self.scratchpad("part", &tiled.types, prov)?,
            number: self.tile_array("number", PrimType::I32, 1),
            heard: match tiled.told {
                Told::Words(_) => self.scratchpad("heard", &tiled.types, prov)?,
                Told::Elements { .. } => Vec::new(),
            },
            ended: self.tile_array("ended", PrimType::I32, self.layout().block),
        })
    }

    /// Nothing has been told of any tile, and none is taken.
    fn nothing_told(&mut self, tiled: &Tiled<'_>, place: &Expr) {
        match &tiled.told {
            Told::Words(words) => self.nothing_told_in_words(tiled, words, place),
            Told::Elements { .. } => {
                let state = at(tiled.state, SIGNAL, place.clone());
                self.emit(Stmt::Store(state, Expr::Const(Scalar::I32(0))));
            }
        }
    }

    /// The next tile becomes the block's.
    fn take_tile(&mut self, tiled: &Tiled<'_>, pads: &Pads, thread: &Expr) -> Result<Tile, PassError> {
        self.first_thread(thread, |g| {
            let number = g.scalar(PrimType::I32, "number");
            g.emit(Stmt::Device(DeviceOp::Update(Box::new(Update {
                old: Some(number),
                at: at(tiled.state, SIGNAL, Expr::i64(0)),
                op: BinOp::Add,
                value: Expr::Const(Scalar::I32(1)),
            }))));
            let told = at(pads.number, PrimType::I32, Expr::i64(0));
            g.emit(Stmt::Store(told, Expr::Var(number)));
            Ok(())
        })?;
        self.barrier();
        let number = self.load_i32(pads.number, Expr::i64(0), "number");
        let from = mul(number.clone(), Expr::i64(tiled.size));
        let from = self.name_value(from, PrimType::I64, "from");
        let to = min(add(from.clone(), Expr::i64(tiled.size)), tiled.points.clone());
        let to = self.name_value(to, PrimType::I64, "to");
        let size = sub(to.clone(), from.clone());
        let full = compare(CmpOp::Eq, size, Expr::i64(tiled.size));
        let (goes_on, closed, begin) = match &tiled.width {
            None => (
                compare(CmpOp::SLt, Expr::i64(0), number.clone()),
                compare(CmpOp::Eq, number.clone(), Expr::i64(0)),
                Expr::i64(0),
            ),
            Some(width) => {
                let inside = |point: Expr| binary(BinOp::UMod, point, width.clone());
                let goes_on = compare(CmpOp::SLt, Expr::i64(0), inside(from.clone()));
                let last = sub(to.clone(), Expr::i64(1));
                let begin = sub(last.clone(), inside(last));
                let begin = self.name_value(begin, PrimType::I64, "begin");
                let closed = compare(CmpOp::SLe, from.clone(), begin.clone());
                (goes_on, closed, begin)
            }
        };
        Ok(Tile {
            number,
            from,
            to,
            full: self.name_value(full, PrimType::Bool, "full"),
            goes_on: self.name_value(goes_on, PrimType::Bool, "goes_on"),
            closed: self.name_value(closed, PrimType::Bool, "closed"),
            begin,
        })
    }

    /// An `i32` of the scratchpad.
    fn load_i32(&mut self, buffer: Var, index: Expr, hint: &str) -> Expr {
        let var = self.scalar(PrimType::I32, hint);
        self.emit(Stmt::Load(var, at(buffer, PrimType::I32, index)));
        let wide = Expr::Convert(ConvOp::SExt, PrimType::I32, PrimType::I64, Box::new(Expr::Var(var)));
        self.name_value(wide, PrimType::I64, hint)
    }

    /// The thread's points of a tile, a block's worth apart: a copy for tiles that are full
    /// does not ask whether there are such. `behind` gets places that have none.
    fn points_of_tile(
        &mut self,
        (tiled, tile, thread): (&Tiled<'_>, &Tile, &Expr),
        f: &dyn Fn(&mut Self, &Spot) -> Result<(), PassError>,
        behind: &dyn Fn(&mut Self, &Spot) -> Result<(), PassError>,
    ) -> Result<(), PassError> {
        let full = self.collect(|g| g.places_of_tile((tiled, tile, thread), f))?;
        let last = self.collect(|g| {
            g.places_of_tile((tiled, tile, thread), &|g, place| {
                let inside = compare(CmpOp::SLt, place.point.clone(), tile.to.clone());
                let there = g.collect(|g| f(g, place))?;
                let behind = g.collect(|g| behind(g, place))?;
                g.emit(Stmt::If(inside, there, behind));
                Ok(())
            })
        })?;
        self.emit(Stmt::If(tile.full.clone(), full, last));
        Ok(())
    }

    /// The thread's places in a tile, a block's worth apart.
    fn places_of_tile(
        &mut self,
        (tiled, tile, thread): (&Tiled<'_>, &Tile, &Expr),
        f: &dyn Fn(&mut Self, &Spot) -> Result<(), PassError>,
    ) -> Result<(), PassError> {
        let (rounds, block) = (Expr::i64(tiled.own), Expr::i64(self.layout().block));
        self.for_seq("round", Expr::i64(0), rounds, false, |g, round| {
            let round = Expr::Var(round);
            let place = add(mul(round.clone(), block), thread.clone());
            let place = g.name_value(place, PrimType::I64, "place");
            let point = add(tile.from.clone(), place.clone());
            let point = g.name_value(point, PrimType::I64, "point");
            f(g, &Spot { round, place, point })
        })
    }

    /// Stores operands into buffers at an index.
    pub(super) fn store_atoms(
        &mut self,
        buffers: &[Var],
        types: &[PrimType],
        index: &Expr,
        atoms: &[Atom],
    ) -> Result<(), PassError> {
        for ((&buffer, &elem), &atom) in buffers.iter().zip(types).zip(atoms) {
            let value = self.atom(atom)?;
            self.emit(Stmt::Store(at(buffer, elem, index.clone()), value));
        }
        Ok(())
    }

    /// Room of a thread for what is mapped and a post lambda takes, for each of its points.
    fn kept(
        &mut self,
        folds: &Folds<Mems>,
        types: &[Type],
        (count, prov): (i64, Prov),
    ) -> Result<Vec<Option<(Var, PrimType)>>, PassError> {
        if folds.post.is_none() {
            return Ok(Vec::new());
        }
        let mut kept = Vec::with_capacity(types.len());
        for ty in types {
            kept.push(match ty {
                Type::Prim(elem) => {
                    let (elem, count) = (*elem, count.unsigned_abs());
                    let buffer = self.value(VarType::Buffer(Space::Private), "kept");
                    self.emit(Stmt::Frame { buffer, elem, count });
                    Some((buffer, elem))
                }
                Type::Acc { .. } => None,
                Type::Array { .. } | Type::Cert | Type::Mem(_) => {
                    return Err(self.not_in_kernels("arrays that a scan passes on", prov));
                }
            });
        }
        Ok(kept)
    }

    fn keep(
        &mut self,
        kept: &[Option<(Var, PrimType)>],
        round: &Expr,
        values: &[Atom],
    ) -> Result<(), PassError> {
        for (place, &value) in kept.iter().zip(values) {
            if let Some((buffer, elem)) = *place {
                let value = self.atom(value)?;
                self.emit(Stmt::Store(at(buffer, elem, round.clone()), value));
            }
        }
        Ok(())
    }

    fn taken_up(&mut self, kept: &[Option<(Var, PrimType)>], round: &Expr) -> Vec<Option<Var>> {
        let mut values = Vec::with_capacity(kept.len());
        for place in kept {
            values.push(place.map(|(buffer, elem)| {
                let var = self.scalar(elem, "mapped");
                self.emit(Stmt::Load(var, at(buffer, elem, round.clone())));
                var
            }));
        }
        values
    }
}
