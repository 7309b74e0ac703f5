//! A loop whose turns run out of tiles.
//!
//! A tile has a line for each turn: the elements that the block's points take then, one for
//! each row of points or each column, or a single one. Lines lie an element further apart than
//! they are long, so that what is loaded along turns goes to different banks. Threads side by
//! side load what lies side by side in the array, be that along turns or along points.
//!
//! Elements behind the last turn are not loaded. In a turn, a thread takes what its points
//! need from the tiles once, then runs the turn's body for each of them.

use super::reads::{By, Read, Shared};
use super::{Point, Shape, Side, up};
use crate::generate::expr::{add, and, binary, compare, div, min, mul, sub};
use crate::generate::function::Gen;
use crate::generate::operators::at;
use crate::syntax::{Access, Expr, Stmt, Var};
use ir::syntax::{Atom, Stm};
use ir::{Mems, PassError};
use prim::{BinOp, CmpOp, PrimType};
use target::device::TILE_BYTES;

/// An array in the scratchpad.
pub(super) struct Tile<'s> {
    read: &'s Read,
    buffer: Var,
}

/// A loop that is tiled.
pub(super) struct Turns<'t> {
    pub(super) shared: &'t Shared<'t>,
    pub(super) stm: &'t Stm<Mems>,
    pub(super) tiles: &'t [Tile<'t>],
    /// How many turns there are.
    pub(super) bound: &'t Expr,
    /// How many tiles these are.
    pub(super) count: &'t Expr,
    pub(super) thread: &'t Expr,
}

impl Gen<'_, '_> {
    /// Arrays for what a loop's turns read, as far as they fit.
    pub(super) fn tiles<'s>(
        &mut self,
        shared: &'s Shared<'_>,
        shape: Shape,
        bytes: &mut u64,
    ) -> Vec<Tile<'s>> {
        let mut tiles = Vec::with_capacity(shared.reads.len());
        for read in &shared.reads {
            let (_, pitch) = shape.line(read.by);
            let count = shape.depth * pitch;
            let more = read.elem.size() * count.unsigned_abs();
            if *bytes + more > TILE_BYTES {
                continue;
            }
            *bytes += more;
            let buffer = self.tile_array("tile", read.elem, count);
            tiles.push(Tile { read, buffer });
        }
        tiles
    }

    /// A loop whose turns run out of tiles.
    pub(super) fn tiled_loop(
        &mut self,
        turns: &Turns<'_>,
        shape: Shape,
        sides: &[Side],
        points: &mut [Point],
    ) -> Result<(), PassError> {
        let shared = turns.shared;
        let mut carried = Vec::with_capacity(points.len());
        for point in &mut *points {
            self.enter(point);
            let mut own = Vec::with_capacity(shared.params.len());
            for p in shared.params {
                let init = self.atom(p.init)?;
                let var = self.bind_borrowed(&p.param);
                let var = var.ok_or_else(|| PassError::bug("a tiled loop carries an array"))?;
                self.emit(Stmt::Set(var, init));
                point.vars.push((p.param.name, var));
                own.push(Some(var));
            }
            carried.push(own);
        }
        let depth = Expr::i64(shape.depth);
        let hint = self.function.names.hint(shared.counter).clone();
        self.for_seq(
            "tile",
            Expr::i64(0),
            turns.count.clone(),
            false,
            |g, tile| {
                let first = mul(Expr::Var(tile), depth.clone());
                let first = g.name_value(first, PrimType::I64, "first");
                g.barrier();
                for tile in turns.tiles {
                    g.load_tile(turns, tile, shape, sides, &first)?;
                }
                g.barrier();
                let left = sub(turns.bound.clone(), first.clone());
                let count = g.name_value(min(left, depth), PrimType::I64, "turns");
                g.for_seq("turn", Expr::i64(0), count, false, |g, turn| {
                    let counter = g.scalar(PrimType::I64, &hint);
                    g.emit(Stmt::Set(counter, add(first, Expr::Var(turn))));
                    g.set_var(shared.counter, counter);
                    let held: Vec<Vec<Var>> = turns
                        .tiles
                        .iter()
                        .map(|tile| g.hold(tile, shape, sides, turn))
                        .collect();
                    for (point, own) in points.iter().zip(&carried) {
                        g.enter(point);
                        for (tile, vars) in turns.tiles.iter().zip(&held) {
                            let place = match tile.read.by {
                                By::Turn => Some(&0),
                                By::Row => point.places.first(),
                                By::Column => point.places.last(),
                            };
                            if let Some(&var) = place.and_then(|&place| vars.get(place)) {
                                g.held.insert(tile.read.name, var);
                            }
                        }
                        g.iteration(shared.params, own, shared.body)?;
                    }
                    Ok(())
                })
            },
        )?;
        for tile in turns.tiles {
            self.held.remove(&tile.read.name);
        }
        for (point, own) in points.iter_mut().zip(carried) {
            for (param, var) in turns.stm.pat.iter().zip(own) {
                point.vars.extend(var.map(|var| (param.name, var)));
            }
        }
        Ok(())
    }

    /// The block's threads load a tile, from a turn on.
    fn load_tile(
        &mut self,
        turns: &Turns<'_>,
        tile: &Tile<'_>,
        shape: Shape,
        sides: &[Side],
        first: &Expr,
    ) -> Result<(), PassError> {
        let read = tile.read;
        let side = match read.by {
            By::Turn => None,
            By::Row => sides.first(),
            By::Column => sides.last(),
        };
        let (length, pitch) = shape.line(read.by);
        let count = shape.depth * length;
        let block = self.layout().block;
        let rounds = Expr::i64(up(count, block));
        self.for_seq("round", Expr::i64(0), rounds, false, |g, round| {
            let number = add(
                mul(Expr::Var(round), Expr::i64(block)),
                turns.thread.clone(),
            );
            let number = g.name_value(number, PrimType::I64, "number");
            let by = Expr::i64(if read.along_turns {
                shape.depth
            } else {
                length
            });
            let fast = binary(BinOp::UMod, number.clone(), by.clone());
            let fast = g.name_value(fast, PrimType::I64, "fast");
            let slow = g.name_value(div(number.clone(), by), PrimType::I64, "slow");
            let (turn, place) = if read.along_turns {
                (fast, slow)
            } else {
                (slow, fast)
            };
            let counter = g.scalar(PrimType::I64, "at");
            g.emit(Stmt::Set(counter, add(first.clone(), turn.clone())));
            let mut inside = compare(CmpOp::SLt, Expr::Var(counter), turns.bound.clone());
            if count % block != 0 {
                let in_tile = compare(CmpOp::SLt, number, Expr::i64(count));
                inside = and(in_tile, inside);
            }
            let (mut names, mut vars) = (vec![Atom::Var(turns.shared.counter)], vec![counter]);
            if let Some(side) = side {
                let index = add(side.first.clone(), place.clone());
                let last = sub(side.size.clone(), Expr::i64(1));
                let index_var = g.scalar(PrimType::I64, "index");
                g.emit(Stmt::Set(index_var, min(index, last)));
                names.push(Atom::Var(side.index));
                vars.push(index_var);
            }
            let offset = g.with_vars(&names, &vars, |g| g.poly(&read.place))?;
            let from = Access {
                buffer: g.var(read.block)?,
                elem: read.elem,
                offset,
                dims: Vec::new(),
            };
            let to = add(mul(turn, Expr::i64(pitch)), place);
            let to = at(tile.buffer, read.elem, to);
            let loaded = g.collect(|g| {
                let value = g.scalar(read.elem, "value");
                g.emit(Stmt::Load(value, from));
                g.emit(Stmt::Store(to, Expr::Var(value)));
                Ok(())
            })?;
            g.emit(Stmt::If(inside, loaded, Vec::new()));
            Ok(())
        })
    }

    /// Variables with the elements that a thread's points take of a turn.
    fn hold(&mut self, tile: &Tile<'_>, shape: Shape, sides: &[Side], turn: Var) -> Vec<Var> {
        let Tile { read, buffer } = tile;
        let side = match read.by {
            By::Turn => None,
            By::Row => sides.first(),
            By::Column => sides.last(),
        };
        let (_, pitch) = shape.line(read.by);
        let line = mul(Expr::Var(turn), Expr::i64(pitch));
        let places = match side {
            None => vec![Expr::i64(0)],
            Some(side) => (0..shape.points)
                .map(|number| add(side.own.clone(), Expr::i64(number * side.threads)))
                .collect(),
        };
        let mut vars = Vec::with_capacity(places.len());
        for place in places {
            let var = self.scalar(read.elem, "held");
            let from = at(*buffer, read.elem, add(line.clone(), place));
            self.emit(Stmt::Load(var, from));
            vars.push(var);
        }
        vars
    }
}
