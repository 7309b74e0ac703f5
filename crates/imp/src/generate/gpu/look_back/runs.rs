//! What a thread has of a tile: points side by side, which it scans in order.
//!
//! First without what came before them; then what did is put on their left, up to where a
//! segment begins.

use super::{Pads, Tile, Tiled};
use crate::generate::expr::{add, binary, compare, div, max, min, mul, sub};
use crate::generate::function::Gen;
use crate::syntax::{Expr, Stmt, Var};
use ir::PassError;
use prim::{BinOp, CmpOp, PrimType};

/// The points of a thread.
pub(super) struct Run {
    /// The place of the first in the tile.
    pub(super) place: Expr,
    /// The first point.
    pub(super) from: Expr,
    /// The point where the segment of the first one began.
    pub(super) begin: Expr,
    /// The first point, this one or behind it, where a segment begins; where there is only
    /// one segment, behind the tile.
    pub(super) next: Expr,
}

impl Gen<'_, '_> {
    pub(super) fn run_of(&mut self, tiled: &Tiled<'_>, tile: &Tile, thread: &Expr) -> Run {
        let place = mul(thread.clone(), Expr::i64(tiled.own));
        let place = self.name_value(place, PrimType::I64, "place");
        let from = add(tile.from.clone(), place.clone());
        let from = self.name_value(from, PrimType::I64, "first");
        let (begin, next) = match &tiled.width {
            None => (Expr::i64(0), tile.to.clone()),
            Some(width) => {
                let inside = binary(BinOp::UMod, from.clone(), width.clone());
                let begin = sub(from.clone(), inside);
                let begin = self.name_value(begin, PrimType::I64, "begin");
                let opens = compare(CmpOp::Eq, begin.clone(), from.clone());
                let behind = add(begin.clone(), width.clone());
                let next = Expr::Select(
                    PrimType::I64,
                    Box::new(opens),
                    Box::new(from.clone()),
                    Box::new(behind),
                );
                (begin, self.name_value(next, PrimType::I64, "next"))
            }
        };
        Run {
            place,
            from,
            begin,
            next,
        }
    }

    /// The thread's points are scanned in the tile; gives what the last ones come to, since a
    /// segment began among them.
    pub(super) fn scan_run(
        &mut self,
        tiled: &Tiled<'_>,
        pads: &Pads,
        tile: &Tile,
        run: &Run,
    ) -> Result<Vec<Var>, PassError> {
        let (operators, types) = (&tiled.operators, &tiled.types);
        let accs = self.neutral(operators, types)?;
        let begin = self.scalar(PrimType::I64, "begin");
        if tiled.width.is_some() {
            self.emit(Stmt::Set(begin, run.next.clone()));
        }
        let own = Expr::i64(tiled.own);
        self.for_seq("k", Expr::i64(0), own, false, |g, k| {
            let point = add(run.from.clone(), Expr::Var(k));
            let point = g.name_value(point, PrimType::I64, "point");
            let inside = compare(CmpOp::SLt, point.clone(), tile.to.clone());
            let body = g.collect(|g| {
                if let Some(width) = &tiled.width {
                    let body = g.collect(|g| {
                        let neutral = g.neutral(operators, types)?;
                        for (&acc, neutral) in accs.iter().zip(neutral) {
                            g.emit(Stmt::Set(acc, Expr::Var(neutral)));
                        }
                        let next = add(Expr::Var(begin), width.clone());
                        g.emit(Stmt::Set(begin, next));
                        Ok(())
                    })?;
                    let begins = compare(CmpOp::Eq, point, Expr::Var(begin));
                    g.emit(Stmt::If(begins, body, Vec::new()));
                }
                let place = add(run.place.clone(), Expr::Var(k));
                let place = g.name_value(place, PrimType::I64, "place");
                let xs = g.load_all(&pads.tile, types, place.clone(), "x");
                g.combine(operators, &accs, &xs)?;
                g.store_all(&pads.tile, types, place, &accs);
                Ok(())
            })?;
            g.emit(Stmt::If(inside, body, Vec::new()));
            Ok(())
        })?;
        Ok(accs)
    }

    /// How many threads to the left have points of the segment that the thread's last point
    /// is in, and none of another one behind these.
    pub(super) fn threads_of_segment(
        &mut self,
        tiled: &Tiled<'_>,
        tile: &Tile,
        run: &Run,
        thread: &Expr,
    ) -> Expr {
        let Some(width) = &tiled.width else {
            return thread.clone();
        };
        let last = min(
            add(run.from.clone(), Expr::i64(tiled.own - 1)),
            sub(tile.to.clone(), Expr::i64(1)),
        );
        let last = self.name_value(last, PrimType::I64, "last");
        let begin = sub(last.clone(), binary(BinOp::UMod, last, width.clone()));
        let skipped = div(
            max(sub(begin, tile.from.clone()), Expr::i64(0)),
            Expr::i64(tiled.own),
        );
        self.name_value(sub(thread.clone(), skipped), PrimType::I64, "joined")
    }

    /// What came before the thread's points is put on the left of those up to where a segment
    /// begins.
    pub(super) fn join_run(
        &mut self,
        tiled: &Tiled<'_>,
        pads: &Pads,
        tile: &Tile,
        (run, lefts): (&Run, &[Var]),
    ) -> Result<(), PassError> {
        let (operators, types) = (&tiled.operators, &tiled.types);
        let stop = match &tiled.width {
            None => tile.to.clone(),
            Some(_) => min(run.next.clone(), tile.to.clone()),
        };
        let stop = self.name_value(stop, PrimType::I64, "stop");
        let own = Expr::i64(tiled.own);
        self.for_seq("k", Expr::i64(0), own, false, |g, k| {
            let point = add(run.from.clone(), Expr::Var(k));
            let body = g.collect(|g| {
                let place = add(run.place.clone(), Expr::Var(k));
                let place = g.name_value(place, PrimType::I64, "place");
                let accs = g.copied(types, lefts, "acc");
                let xs = g.load_all(&pads.tile, types, place.clone(), "x");
                g.combine(operators, &accs, &xs)?;
                g.store_all(&pads.tile, types, place, &accs);
                Ok(())
            })?;
            g.emit(Stmt::If(compare(CmpOp::SLt, point, stop), body, Vec::new()));
            Ok(())
        })
    }
}
