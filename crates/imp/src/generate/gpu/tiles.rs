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
//! by sizes when it runs. Reductions whose segments share are [`split`].

mod reads;
mod sides;
mod split;
mod turns;

use crate::copies::constant;
use crate::generate::expr::{and, compare, mul};
use crate::generate::function::Gen;
use crate::generate::operators::div_up;
use crate::syntax::{Expr, Stmt};
use ir::name::Name;
use ir::seg::Seg;
use ir::syntax::Param;
use ir::types::Dim;
use ir::{Mems, PassError, Prov};
use prim::{CmpOp, PrimType, Scalar};
use reads::Plan;
use sides::{Shape, Side, points};
use turns::Turns;

/// A loop is tiled if it has at least a part of a tile's turns.
const PART: i64 = 4;

/// What is made.
#[derive(Clone, Copy)]
struct Tiling<'s> {
    pat: &'s [Param<Mems>],
    seg: &'s Seg<Mems>,
    plan: &'s Plan<'s>,
    prov: Prov,
    /// How many blocks of squares there have to be.
    fill: &'s Expr,
}

impl<'s> Tiling<'s> {
    /// The dimensions that count rectangles, and those of a rectangle.
    fn dims(&self) -> (&'s [(Name, Dim)], &'s [(Name, Dim)]) {
        let dims = self.seg.space.dims.as_slice();
        let inner = if self.plan.square { 2 } else { 1 };
        dims.split_at(dims.len().saturating_sub(inner))
    }
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
        let shape = |points| Shape { threads: device.sides(), points, depth: device.tiles.depth };
        let mut fill = Expr::i64(device.tiles.fill);
        let mut shapes = Vec::new();
        if plan.square {
            fill = self.blocks_for_tiles(seg)?;
            if plan.is_small {
                shapes.push(shape(device.tiles.points));
            }
            shapes.push(shape(1));
        } else {
            shapes.push(Shape { threads: (1, device.block), points: 1, depth: device.block });
        }
        let tiling = Tiling { pat, seg, plan: &plan, prov, fill: &fill };
        self.versions(tiling, &shapes)
    }

    /// The first of the shapes that the sizes are large enough for, else a thread for each
    /// point.
    fn versions(&mut self, tiling: Tiling<'_>, shapes: &[Shape]) -> Result<(), PassError> {
        let Some((&shape, others)) = shapes.split_first() else {
            return self.plain_map(tiling.pat, tiling.seg, tiling.prov);
        };
        let (outer, inner) = tiling.dims();
        let mut needed = Vec::new();
        for ((_, dim), length) in inner.iter().zip(shape.lengths(inner.len())) {
            needed.push((Expr::i64(length), self.dim(*dim)?));
        }
        for shared in &tiling.plan.loops {
            let least = Expr::i64(up(shape.depth, PART));
            needed.push((least, self.atom(shared.bound)?));
        }
        if is_too_small(&needed) {
            return self.versions(tiling, others);
        }
        let spaces = self.product(outer, "spaces")?;
        let sides = self.sides(inner, shape)?;
        let blocks = sides.iter().fold(spaces, |all, side| mul(all, side.blocks.clone()));
        let blocks = self.name_value(blocks, PrimType::I64, "blocks");
        if tiling.plan.square {
            needed.push((tiling.fill.clone(), blocks.clone()));
        }
        let fits = is_large(needed);
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
            let rest = g.first_indices(&mut sides, shape, block);
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
                        tiles,
                        from: &Expr::i64(0),
                        bound: &count.0,
                        count: &count.1,
                        thread: &thread,
                    };
                    g.tiled_loop(&turns, &stms[shared.at], shape, &sides, &mut points)?;
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
                    g.emit(Stmt::If(point.is_inside(&sides), end, Vec::new()));
                }
                Ok(())
            })
        })
    }
}

/// Whether a size is less than it has to be, as is known.
fn is_too_small(needed: &[(Expr, Expr)]) -> bool {
    let mut sizes = needed.iter();
    sizes.any(|(least, size)| constant(size).zip(constant(least)).is_some_and(|(n, least)| n < least))
}

/// Whether sizes are as large as they have to be, as those are that are known.
fn is_large(mut needed: Vec<(Expr, Expr)>) -> Expr {
    needed.retain(|(least, size)| constant(size).is_none() || constant(least).is_none());
    needed.into_iter().fold(yes(), |large, (least, size)| and(large, compare(CmpOp::SLe, least, size)))
}

/// What always holds.
const fn yes() -> Expr {
    Expr::Const(Scalar::Bool(true))
}

/// `ceil(a / b)`.
const fn up(a: i64, b: i64) -> i64 {
    (a + b - 1) / b
}
