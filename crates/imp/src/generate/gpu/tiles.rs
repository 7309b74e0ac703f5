//! Segmaps whose points share what their loops read ([`reads`]): the threads of a block load
//! it together, a tile at a time, and compute out of the scratchpad ([`turns`]).
//!
//! ```text
//! block of points     what comes before the loop, for each point of the thread
//!                     for each tile of turns {
//!                       barrier; each thread loads a few elements of each tile; barrier
//!                       for the turns of the tile: the turn's body, for each point
//!                     }
//!                     if the point is one of the space: what comes after, its results
//! ```
//!
//! Where points share in two dimensions, as those of a matrix product do, a block is a
//! rectangle of them. A thread computes one, or where little is to be kept for each several,
//! a rectangle's side apart: so an element that is loaded from the scratchpad is used for a
//! row or a column of them. Where points share along the innermost dimension only, a block
//! is a stretch of that.
//!
//! Threads at the edge of the space do as if they had the last point, and store nothing: so
//! all of them load and come to the barriers, and no element is read that no point reads. Each
//! point takes its turns in their order; its results have the bits that a thread for each
//! point gives. A barrier stands before the tiles are loaded too: where a check has failed,
//! nothing that relies on it is loaded.
//!
//! Small spaces and short loops take a thread for each point. Which it is, the host decides
//! by sizes when it runs.

mod reads;
mod turns;

use crate::copies::constant;
use crate::generate::expr::{add, and, binary, compare, div, min, mul, sub};
use crate::generate::function::Gen;
use crate::generate::operators::div_up;
use crate::syntax::{Expr, Stmt, Var};
use ir::name::Name;
use ir::seg::Seg;
use ir::syntax::Param;
use ir::types::Dim;
use ir::{Mems, PassError, Prov};
use prim::{BinOp, CmpOp, PrimType, Scalar};
use reads::{By, Plan};
use turns::Turns;

/// A loop is tiled if it has at least a part of a tile's turns.
const PART: i64 = 4;

/// How the points of a block lie.
#[derive(Clone, Copy)]
struct Shape {
    /// Threads along the outer dimension and along the innermost one.
    threads: (i64, i64),
    /// Points of a side of what a thread computes.
    points: i64,
    /// Turns of a tile.
    depth: i64,
}

impl Shape {
    const fn height(self) -> i64 {
        self.threads.0 * self.points
    }

    const fn width(self) -> i64 {
        self.threads.1 * self.points
    }

    /// How many elements of a turn a tile has, and how far apart turns lie.
    const fn line(self, by: By) -> (i64, i64) {
        match by {
            By::Row => (self.height(), self.height() + 1),
            By::Column => (self.width(), self.width() + 1),
            By::Turn => (1, 1),
        }
    }
}

/// What is made.
#[derive(Clone, Copy)]
struct Tiling<'s> {
    pat: &'s [Param<Mems>],
    seg: &'s Seg<Mems>,
    plan: &'s Plan<'s>,
    prov: Prov,
}

impl<'s> Tiling<'s> {
    /// The dimensions that count rectangles, and those of a rectangle.
    fn dims(&self) -> (&'s [(Name, Dim)], &'s [(Name, Dim)]) {
        let dims = self.seg.space.dims.as_slice();
        let inner = if self.plan.square { 2 } else { 1 };
        dims.split_at(dims.len().saturating_sub(inner))
    }
}

/// A dimension of a block of points.
struct Side {
    index: Name,
    /// Its size.
    size: Expr,
    /// How many blocks lie along it.
    blocks: Expr,
    /// The block's first index.
    first: Expr,
    /// The thread's place, and how many threads there are.
    own: Expr,
    threads: i64,
    /// The indices of the thread's points, and the points whose place they take.
    points: Vec<(Expr, Var)>,
}

/// A point of a thread: where it lies, and the variables that names stand for.
struct Point {
    /// For each side, the outer one first, which of the thread's indices it has.
    places: Vec<usize>,
    vars: Vec<(Name, Var)>,
}

impl Gen<'_, '_> {
    /// A segmap: in tiles where points share what they read.
    pub(super) fn kernel_map(
        &mut self,
        pat: &[Param<Mems>],
        seg: &Seg<Mems>,
        prov: Prov,
    ) -> Result<(), PassError> {
        let Some(plan) = self.sharing(pat, seg).filter(|_| self.fuel.take()) else {
            return self.plain_map(pat, seg, prov);
        };
        let device = self.layout();
        let shape = |points| Shape {
            threads: device.sides(),
            points,
            depth: device.tiles.depth,
        };
        let mut shapes = Vec::new();
        if plan.square {
            if plan.is_small {
                shapes.push(shape(device.tiles.points));
            }
            shapes.push(shape(1));
        } else {
            shapes.push(Shape {
                threads: (1, device.block),
                points: 1,
                depth: device.block,
            });
        }
        let tiling = Tiling {
            pat,
            seg,
            plan: &plan,
            prov,
        };
        self.versions(tiling, &shapes)
    }

    /// The first of the shapes that the sizes are large enough for, else a thread for each
    /// point.
    fn versions(&mut self, tiling: Tiling<'_>, shapes: &[Shape]) -> Result<(), PassError> {
        let Some((&shape, others)) = shapes.split_first() else {
            return self.plain_map(tiling.pat, tiling.seg, tiling.prov);
        };
        let (outer, inner) = tiling.dims();
        let lines = [
            (shape.height(), shape.threads.0),
            (shape.width(), shape.threads.1),
        ];
        let lines = &lines[lines.len() - inner.len()..];
        let mut needed = Vec::new();
        for ((_, dim), (length, _)) in inner.iter().zip(lines) {
            needed.push((*length, self.dim(*dim)?));
        }
        for shared in &tiling.plan.loops {
            needed.push((up(shape.depth, PART), self.atom(shared.bound)?));
        }
        let is_less = |(least, size): &(i64, Expr)| constant(size).is_some_and(|n| n < *least);
        if needed.iter().any(is_less) {
            return self.versions(tiling, others);
        }
        let mut sides = Vec::with_capacity(inner.len());
        let mut blocks = self.product(outer, "spaces")?;
        for ((index, dim), (length, threads)) in inner.iter().zip(lines) {
            let size = self.dim(*dim)?;
            let along = div_up(size.clone(), *length);
            let along = self.name_value(along, PrimType::I64, "along");
            blocks = mul(blocks, along.clone());
            sides.push(Side {
                index: *index,
                size,
                blocks: along,
                first: Expr::i64(0),
                own: Expr::i64(0),
                threads: *threads,
                points: Vec::new(),
            });
        }
        let blocks = self.name_value(blocks, PrimType::I64, "blocks");
        if tiling.plan.square {
            needed.push((self.layout().tiles.fill, blocks.clone()));
        }
        needed.retain(|(_, size)| constant(size).is_none());
        let fits = needed.into_iter().fold(yes(), |fits, (least, size)| {
            and(fits, compare(CmpOp::SLe, Expr::i64(least), size))
        });
        let tiled = self.collect(|g| g.tiled(tiling, shape, sides, blocks))?;
        if let Expr::Const(_) = fits {
            tiled.into_iter().for_each(|stmt| self.emit(stmt));
            return Ok(());
        }
        let other = self.collect(|g| g.versions(tiling, others))?;
        self.emit(Stmt::If(fits, tiled, other));
        Ok(())
    }

    /// The kernel.
    fn tiled(
        &mut self,
        tiling: Tiling<'_>,
        shape: Shape,
        mut sides: Vec<Side>,
        blocks: Expr,
    ) -> Result<(), PassError> {
        let (outer, _) = tiling.dims();
        let prov = tiling.prov;
        let mut counts = Vec::with_capacity(tiling.plan.loops.len());
        for shared in &tiling.plan.loops {
            let bound = self.atom(shared.bound)?;
            let count = div_up(bound.clone(), shape.depth);
            counts.push((bound, self.name_value(count, PrimType::I64, "tiles")));
        }
        self.kernel(("segmap.tiled", prov), blocks, |g, block| {
            let mut rest = Expr::Var(block);
            for (side, length) in sides.iter_mut().rev().zip([shape.width(), shape.height()]) {
                let number = binary(BinOp::UMod, rest.clone(), side.blocks.clone());
                let first = mul(number, Expr::i64(length));
                side.first = g.name_value(first, PrimType::I64, "first");
                rest = div(rest, side.blocks.clone());
                rest = g.name_value(rest, PrimType::I64, "rest");
            }
            g.bind_point(outer, &rest)?;
            let mut bytes = 0;
            let mut tiles = Vec::with_capacity(counts.len());
            for shared in &tiling.plan.loops {
                tiles.push(g.tiles(shared, shape, &mut bytes));
            }
            g.threads(prov, |g, thread| {
                g.thread_indices(&mut sides, &thread, shape);
                let mut points = points(&sides);
                let stms = &tiling.seg.body.stms;
                let mut done = 0;
                for ((shared, tiles), count) in tiling.plan.loops.iter().zip(&tiles).zip(&counts) {
                    if tiles.is_empty() {
                        continue;
                    }
                    for stm in &stms[done..shared.at] {
                        for point in &mut points {
                            g.enter(point);
                            g.stm(stm)?;
                            g.leave(point, &stm.pat);
                        }
                    }
                    let around = std::mem::replace(&mut g.prov, stms[shared.at].aux.prov);
                    let turns = Turns {
                        shared,
                        stm: &stms[shared.at],
                        tiles,
                        bound: &count.0,
                        count: &count.1,
                        thread: &thread,
                    };
                    g.tiled_loop(&turns, shape, &sides, &mut points)?;
                    g.prov = around;
                    done = shared.at + 1;
                }
                for point in &points {
                    g.enter(point);
                    let end = g.collect(|g| {
                        for stm in &stms[done..] {
                            g.stm(stm)?;
                        }
                        let dims = &tiling.seg.space.dims;
                        g.write_elements(tiling.pat, dims, &tiling.seg.body.result)
                    })?;
                    let mut inside = yes();
                    for (side, &place) in sides.iter().zip(&point.places) {
                        let (index, _) = side.points[place].clone();
                        inside = and(inside, compare(CmpOp::SLt, index, side.size.clone()));
                    }
                    g.emit(Stmt::If(inside, end, Vec::new()));
                }
                Ok(())
            })
        })
    }

    /// Where a thread stands in its block, and the indices of its points.
    fn thread_indices(&mut self, sides: &mut [Side], thread: &Expr, shape: Shape) {
        let (_, columns) = shape.threads;
        let owns = if sides.len() == 1 {
            vec![thread.clone()]
        } else {
            let row = div(thread.clone(), Expr::i64(columns));
            let column = binary(BinOp::UMod, thread.clone(), Expr::i64(columns));
            vec![row, column]
        };
        for (side, own) in sides.iter_mut().zip(owns) {
            side.own = self.name_value(own, PrimType::I64, "own");
            let hint = self.function.names.hint(side.index).clone();
            let last = sub(side.size.clone(), Expr::i64(1));
            for number in 0..shape.points {
                let apart = add(side.own.clone(), Expr::i64(number * side.threads));
                let index = add(side.first.clone(), apart);
                let index = self.name_value(index, PrimType::I64, "index");
                let var = self.scalar(PrimType::I64, &hint);
                self.emit(Stmt::Set(var, min(index.clone(), last.clone())));
                side.points.push((index, var));
            }
        }
    }

    /// Names stand for a point's variables.
    fn enter(&mut self, point: &Point) {
        for &(name, var) in &point.vars {
            self.set_var(name, var);
        }
    }

    /// What has been bound stands for these variables at a point.
    fn leave(&self, point: &mut Point, pat: &[Param<Mems>]) {
        for param in pat {
            if let Ok(var) = self.var(param.name) {
                point.vars.push((param.name, var));
            }
        }
    }
}

/// A thread's points, with the indices that they have.
fn points(sides: &[Side]) -> Vec<Point> {
    let mut points = vec![Point {
        places: Vec::new(),
        vars: Vec::new(),
    }];
    for side in sides {
        let mut more = Vec::with_capacity(points.len() * side.points.len());
        for point in &points {
            for (place, &(_, var)) in side.points.iter().enumerate() {
                let (mut places, mut vars) = (point.places.clone(), point.vars.clone());
                places.push(place);
                vars.push((side.index, var));
                more.push(Point { places, vars });
            }
        }
        points = more;
    }
    points
}

/// What always holds.
const fn yes() -> Expr {
    Expr::Const(Scalar::Bool(true))
}

/// `ceil(a / b)`.
const fn up(a: i64, b: i64) -> i64 {
    (a + b - 1) / b
}
