//! How tiles learn what came before them: totals and endings, and the signals that they are
//! there.

use super::runs::Run;
use super::{ENDING, Pads, TOTAL, Tile, Tiled};
use crate::device::SIGNAL;
use crate::generate::expr::{add, and, compare, min, mul, sub};
use crate::generate::function::Gen;
use crate::generate::operators::{at, div_up};
use crate::syntax::{DeviceOp, Expr, Stmt, Update, Var};
use ir::PassError;
use prim::{BinOp, CmpOp, ConvOp, PrimType, Scalar};

impl Gen<'_, '_> {
    /// The tile's total is signalled; what came before the tile is found, and what it ends
    /// with is signalled. Gives what came before the thread's points, since a segment began.
    pub(super) fn look_back(
        &mut self,
        tiled: &Tiled<'_>,
        pads: &Pads,
        tile: &Tile,
        (run, thread): (&Run, &Expr),
    ) -> Result<Vec<Var>, PassError> {
        let (operators, types) = (&tiled.operators, &tiled.types);
        let lefts = self.neutral(operators, types)?;
        let body = self.collect(|g| {
            let other = sub(thread.clone(), Expr::i64(1));
            let parts = g.load_all(&pads.part, types, other, "left");
            for (&left, part) in lefts.iter().zip(parts) {
                g.emit(Stmt::Set(left, Expr::Var(part)));
            }
            Ok(())
        })?;
        let (above, within) = (
            compare(CmpOp::SLt, Expr::i64(0), thread.clone()),
            compare(CmpOp::SLt, run.begin.clone(), run.from.clone()),
        );
        self.emit(Stmt::If(and(above, within), body, Vec::new()));
        let last = Expr::i64(self.layout().block - 1);
        let lasts = self.load_all(&pads.part, types, last, "last");
        self.first_thread(thread, |g| {
            let ending = g.collect(|g| g.signal(tiled, tile, (&tiled.endings, ENDING), &lasts))?;
            let total = g.collect(|g| g.signal(tiled, tile, (&tiled.totals, TOTAL), &lasts))?;
            g.emit(Stmt::If(tile.closed.clone(), ending, total));
            Ok(())
        })?;
        let near = self.nearest(tiled, pads, tile, thread)?;
        let carries = self.neutral(operators, types)?;
        self.first_of_tiles(tile, thread, |g| {
            let endings = g.load_all(&tiled.endings, types, near.clone(), "ending");
            for (&carry, ending) in carries.iter().zip(endings) {
                g.emit(Stmt::Set(carry, Expr::Var(ending)));
            }
            Ok(())
        })?;
        self.fold_totals(tiled, pads, tile, (&near, thread), &carries)?;
        self.first_of_tiles(tile, thread, |g| {
            g.store_all(&pads.part, types, Expr::i64(0), &carries);
            let body = g.collect(|g| {
                g.combine(operators, &carries, &lasts)?;
                g.signal(tiled, tile, (&tiled.endings, ENDING), &carries)
            })?;
            g.emit(Stmt::If(tile.closed.clone(), Vec::new(), body));
            Ok(())
        })?;
        self.barrier();
        // What goes on from before the tile.
        let body = self.collect(|g| {
            let carries = g.load_all(&pads.part, types, Expr::i64(0), "carry");
            g.combine(operators, &carries, &lefts)?;
            for (&left, carry) in lefts.iter().zip(carries) {
                g.emit(Stmt::Set(left, Expr::Var(carry)));
            }
            Ok(())
        })?;
        let goes_on = compare(CmpOp::SLt, run.begin.clone(), tile.from.clone());
        self.emit(Stmt::If(goes_on, body, Vec::new()));
        Ok(lefts)
    }

    /// What the first thread does where the tile goes on from what came before.
    fn first_of_tiles(
        &mut self,
        tile: &Tile,
        thread: &Expr,
        f: impl FnOnce(&mut Self) -> Result<(), PassError>,
    ) -> Result<(), PassError> {
        let body = self.collect(f)?;
        let first = compare(CmpOp::Eq, thread.clone(), Expr::i64(0));
        self.emit(Stmt::If(and(first, tile.goes_on.clone()), body, Vec::new()));
        Ok(())
    }

    /// Values of the tile are signalled.
    fn signal(
        &mut self,
        tiled: &Tiled<'_>,
        tile: &Tile,
        (buffers, state): (&[Var], i32),
        values: &[Var],
    ) -> Result<(), PassError> {
        self.store_all(buffers, &tiled.types, tile.number.clone(), values);
        self.emit(Stmt::Device(DeviceOp::Signal {
            at: at(tiled.state, SIGNAL, add(tile.number.clone(), Expr::i64(1))),
            value: Expr::Const(Scalar::I32(state)),
        }));
        Ok(())
    }

    /// The nearest tile before the block's of which is known what all up to its end come to;
    /// of those between, the totals are there. The block looks at a window of tiles at once.
    /// Where the tile does not go on from any, the one before it.
    fn nearest(
        &mut self,
        tiled: &Tiled<'_>,
        pads: &Pads,
        tile: &Tile,
        thread: &Expr,
    ) -> Result<Expr, PassError> {
        let window = self.layout().scans.window;
        let near = self.scalar(PrimType::I64, "near");
        let (end, goes_on) = (
            self.scalar(PrimType::I64, "end"),
            self.scalar(PrimType::Bool, "goes_on"),
        );
        self.emit(Stmt::Set(end, tile.number.clone()));
        let before = sub(tile.number.clone(), Expr::i64(1));
        self.emit(Stmt::Set(near, before));
        self.emit(Stmt::Set(goes_on, tile.goes_on.clone()));
        let body = self.collect(|g| {
            let other = sub(sub(Expr::Var(end), Expr::i64(1)), thread.clone());
            let other = g.name_value(other, PrimType::I64, "other");
            let body = g.collect(|g| {
                let state = g.scalar(SIGNAL, "state");
                g.emit(Stmt::Device(DeviceOp::Await {
                    var: state,
                    at: at(tiled.state, SIGNAL, add(other.clone(), Expr::i64(1))),
                }));
                let narrow = Expr::Convert(
                    ConvOp::SExt,
                    PrimType::I64,
                    PrimType::I32,
                    Box::new(other.clone()),
                );
                let found = Stmt::Device(DeviceOp::Update(Box::new(Update {
                    old: None,
                    at: at(pads.told, PrimType::I32, Expr::i64(1)),
                    op: BinOp::SMax,
                    value: narrow,
                })));
                let ends = Expr::Compare(
                    CmpOp::Eq,
                    SIGNAL,
                    Box::new(Expr::Var(state)),
                    Box::new(Expr::Const(Scalar::I32(ENDING))),
                );
                g.emit(Stmt::If(ends, vec![found], Vec::new()));
                Ok(())
            })?;
            let looks = and(
                compare(CmpOp::SLt, thread.clone(), Expr::i64(window)),
                compare(CmpOp::SLe, Expr::i64(0), other),
            );
            g.emit(Stmt::If(looks, body, Vec::new()));
            g.barrier();
            let found = g.load_i32(pads.told, 1, "found");
            g.emit(Stmt::Set(near, found.clone()));
            g.emit(Stmt::Set(end, sub(Expr::Var(end), Expr::i64(window))));
            g.emit(Stmt::Set(goes_on, compare(CmpOp::SLt, found, Expr::i64(0))));
            g.barrier();
            Ok(())
        })?;
        self.emit(Stmt::While(goes_on, body));
        Ok(Expr::Var(near))
    }

    /// The first thread combines what the tiles up to one come to with the totals of those
    /// behind it, from left to right; all threads load these.
    fn fold_totals(
        &mut self,
        tiled: &Tiled<'_>,
        pads: &Pads,
        tile: &Tile,
        (near, thread): (&Expr, &Expr),
        carries: &[Var],
    ) -> Result<(), PassError> {
        let (size, types) = (self.layout().block, &tiled.types);
        let first = self.name_value(add(near.clone(), Expr::i64(1)), PrimType::I64, "first");
        let count = sub(tile.number.clone(), first.clone());
        let count = self.name_value(count, PrimType::I64, "count");
        let rounds = div_up(count.clone(), size);
        self.for_seq("round", Expr::i64(0), rounds, false, |g, round| {
            let before = mul(Expr::Var(round), Expr::i64(size));
            let before = g.name_value(before, PrimType::I64, "before");
            let rest = g.name_value(sub(count, before.clone()), PrimType::I64, "rest");
            let body = g.collect(|g| {
                let other = add(first, add(before, thread.clone()));
                let totals = g.load_all(&tiled.totals, types, other, "total");
                g.store_all(&pads.part, types, thread.clone(), &totals);
                Ok(())
            })?;
            let inside = compare(CmpOp::SLt, thread.clone(), rest.clone());
            g.emit(Stmt::If(inside, body, Vec::new()));
            g.barrier();
            g.first_thread(thread, |g| {
                let to = min(rest, Expr::i64(size));
                g.for_seq("k", Expr::i64(0), to, false, |g, k| {
                    let totals = g.load_all(&pads.part, types, Expr::Var(k), "total");
                    g.combine(&tiled.operators, carries, &totals)
                })
            })?;
            g.barrier();
            Ok(())
        })
    }
}
