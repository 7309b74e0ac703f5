//! Packing: the values of the rows or columns of a block, computed and stored in the order in which the kernel reads
//! them.

use super::emit::{Names, element};
use super::lines::lines;
use super::nest::FoldLoop;
use super::reuse::{Side, sets};
use super::tile::{Depth, Tile};
use imp::build::{Operand, min, select};
use imp::{Expr, Stmt, Var, bind, expr};
use prim::{PrimType, Scalar};

/// Iterations of the fold that are packed for one row or column after another, where it is not along these that arrays
/// are contiguous: what they write stays in the first-level cache.
pub(super) const STRIP: i64 = 16;

impl Tile<'_, '_, '_, '_> {
    /// Packs a side before the loops around the tile, if a condition holds. Returns a variable with that
    /// condition; `None` if there are no such loops, or what is packed depends on them.
    pub(super) fn pack_once(&mut self, side: Side, count: Operand, is_one: Expr) -> Option<Operand> {
        let needed = &self.needed[side as usize];
        if self.plan.outer.is_empty() || self.plan.outer.iter().any(|head| needed.contains(&head.var)) {
            return None;
        }
        let g = &mut *self.g;
        let once = g.var(PrimType::Bool, "once");
        g.emit(Stmt::Set(once, is_one));
        g.open();
        let depth = self.trips[0];
        bind!(pitch = g(depth * self.inner + 1));
        let (first, all) = (0.into(), Operand::Const(Scalar::Bool(true)));
        self.pack(side, Depth { first, count: depth, pitch, is_first: all, is_last: all }, first, count);
        let g = &mut *self.g;
        let pack = g.close();
        g.emit(Stmt::If(once.into(), pack, Vec::new()));
        Some(once.into())
    }

    /// Packs a block, unless it was packed before.
    pub(super) fn pack_unless(
        &mut self,
        once: Option<Operand>,
        (side, of, first, count): (Side, Depth, Operand, Operand),
    ) {
        let Some(once) = once else {
            return self.pack(side, of, first, count);
        };
        self.g.open();
        self.pack(side, of, first, count);
        let g = &mut *self.g;
        let pack = g.close();
        g.emit(Stmt::If(once.into(), Vec::new(), pack));
    }

    /// Packs the values of the rows or columns of a block: for each panel, the values of a position
    /// together. The inner loop is the one along which arrays are contiguous.
    fn pack(&mut self, side: Side, of: Depth, first: Operand, count: Operand) {
        let (step, width, all) = match side {
            Side::Row => (self.height, self.row_width, self.rows),
            Side::Column => (self.lanes, self.lanes, self.columns),
        };
        if self.plan.is_contiguous(side) {
            self.pack_across(side, of, (first, count, all), (step, width));
        } else {
            self.pack_along(side, of, (first, count, all), (step, width));
        }
    }

    /// Packs the neighbours of a panel together, where these are neighbours in arrays.
    fn pack_across(
        &mut self,
        side: Side,
        of: Depth,
        (first, count, all): (Operand, Operand, Operand),
        widths: (i64, i64),
    ) {
        let g = &mut *self.g;
        bind!(full = g(count / widths.0));
        self.positions(of, side, &mut |tile, names, position, stmts| {
            let panel = tile.g.counter("panel");
            tile.g.open();
            let at = (panel.into(), of.pitch, &position);
            tile.neighbours(side, (first, widths, None), at, names, stmts);
            let body = tile.g.close();
            tile.g.emit_loop(false, (panel, Expr::i64(0), full.into()), body);
        });
        self.g.open();
        self.positions(of, side, &mut |tile, names, position, stmts| {
            tile.neighbours(side, (first, widths, Some(all)), (full, of.pitch, &position), names, stmts);
        });
        let rest = self.g.close();
        self.g.emit(Stmt::If(expr!(full * widths.0 < count), rest, Vec::new()));
    }

    /// Packs one row or column after another, some iterations of the fold at a time: whole squares of lines in
    /// registers.
    fn pack_along(
        &mut self,
        side: Side,
        of: Depth,
        (first, count, all): (Operand, Operand, Operand),
        (step, width): (i64, i64),
    ) {
        let lines = lines(self.plan, side, width);
        let panel = self.g.counter("panel");
        self.g.open();
        let mut strips_done = Expr::i64(0);
        if let Some(lines) = lines {
            let g = &mut *self.g;
            bind!(first = g(first + panel * step));
            bind!(whole = g(select(expr!(first + width <= all), of.count / STRIP, 0)));
            let strip = g.counter("strip");
            g.open();
            bind!(done = g(strip * STRIP));
            self.squares(side, of, &lines, (first, panel.into(), done, width));
            let g = &mut *self.g;
            let body = g.close();
            g.emit_loop(false, (strip, Expr::i64(0), whole.into()), body);
            strips_done = whole.into();
        }
        let strip = self.g.counter("strip");
        self.g.open();
        let g = &mut *self.g;
        bind!(done = g(strip * STRIP));
        bind!(first_here = g(of.first + done));
        bind!(count_here = g(min(of.count - done, STRIP)));
        let here = Depth { first: first_here, count: count_here, ..of };
        let w = g.counter("w");
        g.open();
        bind!(index = g(min(first + panel * step + w, all - 1)));
        self.positions_from(done.into(), here, side, &mut |tile, names, position, stmts| {
            let at = (panel * of.pitch + position) * width + w;
            tile.value_of(side, index.into(), names, stmts, at);
        });
        let body = self.g.close();
        self.g.emit_loop(false, (w, Expr::i64(0), Expr::i64(step)), body);
        let g = &mut *self.g;
        let body = g.close();
        bind!(strips = g((of.count + (STRIP - 1)) / STRIP));
        g.emit_loop(false, (strip, strips_done, strips.into()), body);
        let body = g.close();
        bind!(panels = g((count + (step - 1)) / step));
        g.emit_loop(false, (panel, Expr::i64(0), panels.into()), body);
    }

    /// Packs the values of a panel's neighbours at one position; the last ones are repeated if there are
    /// only `all`.
    fn neighbours(
        &mut self,
        side: Side,
        (first, (step, width), all): (Operand, (i64, i64), Option<Operand>),
        (panel, pitch, position): (Operand, Operand, &Expr),
        names: &Names,
        stmts: &[&Stmt],
    ) {
        let w = self.g.counter("w");
        self.g.open();
        let index = first + panel * step + w;
        let index = if let Some(all) = all { min(index, all - 1) } else { index };
        self.value_of(side, index, names, stmts, (panel * pitch + position) * width + w);
        let body = self.g.close();
        self.g.emit_loop(all.is_none(), (w, Expr::i64(0), Expr::i64(step)), body);
    }

    /// The loops of a part of the fold; `f` emits the innermost body.
    fn positions(&mut self, of: Depth, side: Side, f: &mut dyn FnMut(&mut Self, &Names, Expr, &[&Stmt])) {
        self.positions_from(Expr::i64(0), of, side, f);
    }

    /// As [`Self::positions`], for iterations of the outermost loop that follow `done` others of the part.
    fn positions_from(
        &mut self,
        done: Expr,
        of: Depth,
        side: Side,
        f: &mut dyn FnMut(&mut Self, &Names, Expr, &[&Stmt]),
    ) {
        let fold = &self.plan.nest.fold;
        self.level(fold, 0, of, (side, done), &mut self.outer.clone(), &mut Vec::new(), f);
    }

    #[allow(clippy::too_many_arguments, reason = "a recursion over levels")]
    fn level<'l>(
        &mut self,
        level: &'l FoldLoop,
        number: usize,
        of: Depth,
        (side, outer): (Side, Expr),
        names: &mut Names,
        stmts: &mut Vec<&'l Stmt>,
        f: &mut dyn FnMut(&mut Self, &Names, Expr, &[&Stmt]),
    ) {
        let needed: Vec<&Stmt> = level
            .before
            .iter()
            .chain(&level.after)
            .filter(|stmt| {
                self.plan.of_stmt(stmt).at_most(side)
                    && sets(stmt).iter().any(|var| self.needed[side as usize].contains(var))
            })
            .collect();
        stmts.extend(needed);
        let (count, body) = self.fold_loop(level, number, of, outer, names, &mut |tile, names, position| {
            if let Some(inner) = &level.inner {
                tile.level(inner, number + 1, of, (side, position), names, stmts, f);
            } else {
                f(tile, names, position, stmts);
            }
        });
        let (counter, count) = count;
        self.g.emit_loop(false, (counter, Expr::i64(0), count), body);
    }

    /// The body of a loop of the fold over a part: sets the loop's counter, then `f`, which is given the
    /// position within the part.
    fn fold_loop(
        &mut self,
        level: &FoldLoop,
        number: usize,
        of: Depth,
        outer: Expr,
        names: &mut Names,
        f: &mut dyn FnMut(&mut Self, &mut Names, Expr),
    ) -> ((Var, Expr), Vec<Stmt>) {
        let (first, count): (Operand, Operand) =
            if number == 0 { (of.first, of.count) } else { (0.into(), self.trips[number]) };
        let counter = self.g.counter("k");
        self.g.open();
        let var = self.g.like(level.head.var, names);
        self.g.emit(Stmt::Set(var, level.head.from.clone() + (first + counter)));
        let outer = if number == 0 { outer } else { outer * self.trips[number] };
        let position = outer + counter;
        f(self, names, position);
        ((counter, count.into()), self.g.close())
    }

    /// Computes and stores a side's values at one position.
    fn value_of(&mut self, side: Side, index: Expr, names: &Names, stmts: &[&Stmt], at: Expr) {
        let plan = self.plan;
        let (head, values, blocks) = match side {
            Side::Row => (plan.rows, &plan.row_values, self.row_blocks.clone()),
            Side::Column => (plan.columns, &plan.column_values, self.column_blocks.clone()),
        };
        let mut names = names.clone();
        let var = self.g.like(head.var, &mut names);
        self.g.emit(Stmt::Set(var, head.from.clone() + index));
        let before = plan.nest.before.iter().filter(|stmt| {
            plan.of_stmt(stmt).at_most(side)
                && sets(stmt).iter().any(|var| self.needed[side as usize].contains(var))
        });
        for stmt in before.chain(stmts.iter().copied()) {
            self.g.copy(stmt, &mut names);
        }
        let g = &mut *self.g;
        bind!(at = g(at));
        for ((value, ty), block) in values.iter().zip(blocks) {
            let value = names.get(value).copied().unwrap_or(*value);
            g.emit(Stmt::Store(element(block, *ty, at), value.into()));
        }
    }
}
