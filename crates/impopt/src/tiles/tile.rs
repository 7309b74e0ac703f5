//! The code of a tiled nest: blocks, packing, the kernel.

use super::emit::{Emit, Names, element};
use super::nest::{Counted, FoldLoop};
use super::reuse::{Plan, Side, sets};
use super::sizes::TileSizes;
use imp::build::{Operand, max, min, product};
use imp::walk::{Use, each_stmt, each_use};
use imp::{Expr, For, LoopMode, Stmt, Var, bind, expr};
use prim::{PrimType, Scalar};
use rustc_hash::FxHashSet;

/// Iterations of the fold that are packed for one row or column after another, where it is not along these that arrays
/// are contiguous: what they write stays in the first-level cache.
const STRIP: i64 = 16;

/// A tiled nest under construction.
struct Tile<'e, 'v, 'p, 'n> {
    g: &'e mut Emit<'v>,
    plan: &'p Plan<'n>,
    height: i64,
    lanes: i64,
    /// The number of rows and of columns.
    rows: Operand,
    columns: Operand,
    /// The trip count of each loop of the fold, outermost first.
    trips: Vec<Operand>,
    /// The iterations of the fold for one of its outermost loop.
    inner: Operand,
    row_blocks: Vec<Var>,
    column_blocks: Vec<Var>,
    state_blocks: Vec<Var>,
    /// The number of panels of rows.
    row_panels: Operand,
    /// The counters of the loops around.
    outer: Names,
    /// The variables that the packed values of each side are computed from.
    needed: [FxHashSet<Var>; 2],
}

/// A part of the fold's outermost loop.
#[derive(Clone, Copy)]
struct Depth {
    first: Operand,
    count: Operand,
    /// The distance between panels: one more than the iterations of the fold in the part, as powers of two
    /// would put all panels into the same sets of a cache.
    pitch: Operand,
    is_first: Operand,
    is_last: Operand,
}

/// Emits the nest.
pub(super) fn tiled(g: &mut Emit<'_>, plan: &Plan<'_>, sizes: TileSizes) {
    let mut tile = Tile {
        height: plan.height.into(),
        lanes: plan.lanes.into(),
        rows: 0.into(),
        columns: 0.into(),
        trips: Vec::new(),
        inner: 1.into(),
        row_blocks: Vec::new(),
        column_blocks: Vec::new(),
        state_blocks: Vec::new(),
        row_panels: 0.into(),
        outer: Names::default(),
        needed: [Side::Row, Side::Column].map(|side| needed(plan, side)),
        g,
        plan,
    };
    tile.nest(sizes);
}

/// The variables that the packed values of a side are computed from, these included.
fn needed(plan: &Plan<'_>, side: Side) -> FxHashSet<Var> {
    let values = match side {
        Side::Row => &plan.row_values,
        Side::Column => &plan.column_values,
    };
    let mut needed: FxHashSet<Var> = values.iter().map(|(var, _)| *var).collect();
    let stmts: Vec<&Stmt> = plan.nest.before.iter().chain(plan.nest.fold.stmts()).collect();
    loop {
        let before = needed.len();
        for stmt in &stmts {
            if sets(stmt).iter().any(|var| needed.contains(var)) {
                each_stmt(std::slice::from_ref(*stmt), &mut |stmt| {
                    each_use(stmt, &mut |var, used| {
                        if used == Use::Reads {
                            needed.insert(var);
                        }
                    });
                });
            }
        }
        if needed.len() == before {
            return needed;
        }
    }
}

impl Tile<'_, '_, '_, '_> {
    fn nest(&mut self, sizes: TileSizes) {
        let plan = self.plan;
        let (g, height, lanes) = (&mut *self.g, self.height, self.lanes);
        bind!(rows = g(plan.rows.to.clone() - plan.rows.from.clone()));
        bind!(columns = g(plan.columns.to.clone() - plan.columns.from.clone()));
        (self.rows, self.columns) = (rows, columns);
        for level in plan.nest.fold.levels() {
            let Counted { from, to, .. } = &level.head;
            bind!(trips = g(max(to.clone() - from.clone(), 0)));
            self.trips.push(trips);
        }
        let depth = self.trips[0];
        bind!(inner = g(product(&self.trips[1..])));
        self.inner = inner;
        let most = sizes.depth(g, depth * inner);
        let part = if inner == Operand::from(1) { most } else { max(most / max(inner, 1), 1) };
        bind!(part = g(min(part, depth)));
        bind!(part = g(max(part, 1)));
        bind!(parts = g((depth + (part - 1)) / part));
        bind!(pitch = g(part * inner + 1));
        bind!(row_panels = g((rows + (height - 1)) / height));
        self.row_panels = row_panels;
        bind!(padded_rows = g(row_panels * height));
        bind!(padded_columns = g((columns + (lanes - 1)) / lanes * lanes));
        let whole = |most: Expr, unit: i64| max(most / unit, 1) * unit;
        let most_rows = whole(sizes.rows(g, rows), height);
        bind!(block_rows = g(min(padded_rows, most_rows)));
        let most_columns = whole(sizes.columns(g, columns), lanes);
        bind!(block_columns = g(min(padded_columns, most_columns)));
        for (_, ty) in &plan.row_values {
            self.row_blocks.push(g.block(*ty, pitch * block_rows, "rows"));
        }
        for (_, ty) in &plan.column_values {
            self.column_blocks.push(g.block(*ty, pitch * block_columns, "columns"));
        }
        bind!(state = g(imp::build::select(expr!(1 < parts), padded_rows * block_columns, 0)));
        for (_, ty) in &plan.carried {
            self.state_blocks.push(g.block(*ty, state.into(), "state"));
        }
        // What no loop around the tile changes is packed before these, if it is one block.
        let whole = [
            (Side::Row, rows, block_rows, padded_rows),
            (Side::Column, columns, block_columns, padded_columns),
        ];
        let [rows_once, columns_once] = whole.map(|(side, all, block, padded)| {
            self.pack_once(side, all, expr!(block == padded && parts == 1))
        });
        self.outer_loops(&mut |tile| {
            let g = &mut *tile.g;
            bind!(column_count = g((columns + (block_columns - 1)) / max(block_columns, 1)));
            let block = g.counter("block");
            g.open();
            bind!(first_column = g(block * block_columns));
            bind!(some_columns = g(min(columns - first_column, block_columns)));
            let part_at = g.counter("part");
            g.open();
            bind!(first = g(part_at * part));
            bind!(count = g(min(depth - first, part)));
            bind!(pitch = g(count * inner + 1));
            let is_first = g.var(PrimType::Bool, "is_first");
            g.emit(Stmt::Set(is_first, expr!(part_at == 0)));
            let is_last = g.var(PrimType::Bool, "is_last");
            g.emit(Stmt::Set(is_last, expr!(part_at + 1 == parts)));
            let of = Depth { first, count, pitch, is_first: is_first.into(), is_last: is_last.into() };
            tile.pack_unless(columns_once, (Side::Column, of, first_column, some_columns));
            let g = &mut *tile.g;
            let row_block = g.counter("block");
            g.open();
            bind!(first_row = g(row_block * block_rows));
            bind!(some_rows = g(min(rows - first_row, block_rows)));
            tile.pack_unless(rows_once, (Side::Row, of, first_row, some_rows));
            tile.kernels(of, (first_row, some_rows), (first_column, some_columns));
            let g = &mut *tile.g;
            let body = g.close();
            bind!(row_blocks = g((rows + (block_rows - 1)) / max(block_rows, 1)));
            g.emit_loop(false, (row_block, Expr::i64(0), row_blocks.into()), body);
            let body = g.close();
            g.emit_loop(false, (part_at, Expr::i64(0), parts.into()), body);
            let body = g.close();
            g.emit_loop(false, (block, Expr::i64(0), column_count.into()), body);
        });
        let blocks = [&self.row_blocks, &self.column_blocks, &self.state_blocks];
        for block in blocks.into_iter().flatten().copied().collect::<Vec<_>>() {
            self.g.emit(Stmt::Release(block));
        }
    }

    /// Packs a side before the loops around the tile, if a condition holds. Returns a variable with that
    /// condition; `None` if there are no such loops, or what is packed depends on them.
    fn pack_once(&mut self, side: Side, count: Operand, is_one: Expr) -> Option<Operand> {
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
    fn pack_unless(
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

    /// The independent loops around the tile.
    fn outer_loops(&mut self, f: &mut dyn FnMut(&mut Self)) {
        let mut vars = Vec::new();
        for head in self.plan.outer.clone() {
            let var = self.g.like(head.var, &mut self.outer);
            vars.push((var, head));
            self.g.open();
        }
        f(self);
        for (var, head) in vars.into_iter().rev() {
            let body = self.g.close();
            self.g.emit_loop(false, (var, head.from.clone(), head.to.clone()), body);
        }
    }

    /// Packs the values of the rows or columns of a block: for each panel, the values of a position
    /// together. The inner loop is the one along which arrays are contiguous.
    fn pack(&mut self, side: Side, of: Depth, first: Operand, count: Operand) {
        let (width, all) = match side {
            Side::Row => (self.height, self.rows),
            Side::Column => (self.lanes, self.columns),
        };
        if self.plan.is_contiguous(side) {
            let g = &mut *self.g;
            bind!(full = g(count / width));
            self.positions(of, side, &mut |tile, names, position, stmts| {
                let panel = tile.g.counter("panel");
                tile.g.open();
                tile.neighbours(
                    side,
                    (first, width, None),
                    (panel.into(), of.pitch, &position),
                    names,
                    stmts,
                );
                let body = tile.g.close();
                tile.g.emit_loop(false, (panel, Expr::i64(0), full.into()), body);
            });
            self.g.open();
            self.positions(of, side, &mut |tile, names, position, stmts| {
                tile.neighbours(side, (first, width, Some(all)), (full, of.pitch, &position), names, stmts);
            });
            let rest = self.g.close();
            self.g.emit(Stmt::If(expr!(full * width < count), rest, Vec::new()));
            return;
        }
        let panel = self.g.counter("panel");
        self.g.open();
        let strip = self.g.counter("strip");
        self.g.open();
        let g = &mut *self.g;
        bind!(done = g(strip * STRIP));
        bind!(first_here = g(of.first + done));
        bind!(count_here = g(min(of.count - done, STRIP)));
        let here = Depth { first: first_here, count: count_here, ..of };
        let w = g.counter("w");
        g.open();
        bind!(index = g(min(first + panel * width + w, all - 1)));
        self.positions_from(done.into(), here, side, &mut |tile, names, position, stmts| {
            let at = (panel * of.pitch + position) * width + w;
            tile.value_of(side, index.into(), names, stmts, at);
        });
        let body = self.g.close();
        self.g.emit_loop(false, (w, Expr::i64(0), Expr::i64(width)), body);
        let g = &mut *self.g;
        let body = g.close();
        bind!(strips = g((of.count + (STRIP - 1)) / STRIP));
        g.emit_loop(false, (strip, Expr::i64(0), strips.into()), body);
        let body = g.close();
        bind!(panels = g((count + (width - 1)) / width));
        g.emit_loop(false, (panel, Expr::i64(0), panels.into()), body);
    }

    /// Packs the values of a panel's neighbours at one position; the last ones are repeated if there are
    /// only `all`.
    fn neighbours(
        &mut self,
        side: Side,
        (first, width, all): (Operand, i64, Option<Operand>),
        (panel, pitch, position): (Operand, Operand, &Expr),
        names: &Names,
        stmts: &[&Stmt],
    ) {
        let w = self.g.counter("w");
        self.g.open();
        let index = first + panel * width + w;
        let index = if let Some(all) = all { min(index, all - 1) } else { index };
        self.value_of(side, index, names, stmts, (panel * pitch + position) * width + w);
        let body = self.g.close();
        self.g.emit_loop(all.is_none(), (w, Expr::i64(0), Expr::i64(width)), body);
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

    /// The kernels of a block.
    fn kernels(&mut self, of: Depth, rows: (Operand, Operand), columns: (Operand, Operand)) {
        let (height, lanes) = (self.height, self.lanes);
        let (column_panel, row_panel) = (self.g.counter("panel"), self.g.counter("panel"));
        self.g.open();
        self.g.open();
        let g = &mut *self.g;
        bind!(first_row = g(rows.0 + row_panel * height));
        bind!(first_column = g(columns.0 + column_panel * lanes));
        bind!(tile = g(column_panel * self.row_panels + first_row / height));
        let c = g.counter("c");
        g.open();
        self.kernel(of, (row_panel, first_row), (column_panel, first_column), (tile, c));
        let g = &mut *self.g;
        let body = g.close();
        let mode = LoopMode::Lanes(self.plan.lanes);
        g.emit(Stmt::For(For { mode, var: c, from: Expr::i64(0), to: Expr::i64(lanes), body }));
        let body = g.close();
        bind!(row_panels = g((rows.1 + (height - 1)) / height));
        g.emit_loop(false, (row_panel, Expr::i64(0), row_panels.into()), body);
        let body = g.close();
        bind!(column_panels = g((columns.1 + (lanes - 1)) / lanes));
        g.emit_loop(false, (column_panel, Expr::i64(0), column_panels.into()), body);
    }

    /// The kernel of a register tile, for one column.
    fn kernel(
        &mut self,
        of: Depth,
        (row_panel, first_row): (Var, Operand),
        (column_panel, first_column): (Var, Operand),
        (tile, c): (Operand, Var),
    ) {
        let plan = self.plan;
        let mut shared = self.outer.clone();
        let g = &mut *self.g;
        let column = g.like(plan.columns.var, &mut shared);
        g.emit(Stmt::Set(column, plan.columns.from.clone() + (first_column + c)));
        let is_column = g.var(PrimType::Bool, "is_column");
        g.emit(Stmt::Set(is_column, expr!(first_column + c < self.columns)));
        let mut rows: Vec<Names> = Vec::new();
        let mut state: Vec<Operand> = Vec::new();
        for r in 0..self.height {
            let mut names = shared.clone();
            let row = g.like(plan.rows.var, &mut names);
            let last = self.rows - 1;
            g.emit(Stmt::Set(row, plan.rows.from.clone() + min(first_row + r, last)));
            for stmt in &plan.nest.before {
                // Only elements of the space may be loaded.
                if matches!(stmt, Stmt::Load(..)) && !plan.of_stmt(stmt).at_most(Side::Row) {
                    for var in sets(stmt) {
                        let ty = g.type_of(var);
                        let new = g.like(var, &mut names);
                        g.emit(Stmt::Set(new, Expr::Const(Scalar::from_bits(ty, 0))));
                    }
                    g.open();
                    g.copy(stmt, &mut names);
                    let load = g.close();
                    g.emit(Stmt::If(is_column.into(), load, Vec::new()));
                } else {
                    g.copy(stmt, &mut names);
                }
            }
            bind!(at = g((tile * self.height + r) * self.lanes));
            state.push(at);
            rows.push(names);
        }
        // A later part of the fold continues with the state that the part before it left.
        g.open();
        for (names, at) in rows.iter().zip(&state) {
            for ((var, ty), block) in plan.carried.iter().zip(&self.state_blocks) {
                let var = names.get(var).copied().unwrap_or(*var);
                g.emit(Stmt::Load(var, element(*block, *ty, *at + c)));
            }
        }
        let again = g.close();
        g.emit(Stmt::If(of.is_first.into(), Vec::new(), again));
        self.kernel_level(
            &plan.nest.fold,
            0,
            of,
            (Expr::i64(0), row_panel, column_panel, c),
            &mut shared,
            &mut rows,
        );
        let g = &mut *self.g;
        for (r, (names, at)) in rows.iter_mut().zip(&state).enumerate() {
            g.open();
            for stmt in &plan.nest.after {
                g.copy(stmt, names);
            }
            let after = g.close();
            let is_row = expr!(first_row + r as i64 < self.rows);
            let store = Stmt::If(is_column.into(), after, Vec::new());
            let store = Stmt::If(is_row, vec![store], Vec::new());
            g.open();
            for ((var, ty), block) in plan.carried.iter().zip(&self.state_blocks) {
                let var = names.get(var).copied().unwrap_or(*var);
                g.emit(Stmt::Store(element(*block, *ty, *at + c), var.into()));
            }
            let keep = g.close();
            g.emit(Stmt::If(of.is_last.into(), vec![store], keep));
        }
    }

    fn kernel_level(
        &mut self,
        level: &FoldLoop,
        number: usize,
        of: Depth,
        (outer, row_panel, column_panel, c): (Expr, Var, Var, Var),
        shared: &mut Names,
        rows: &mut Vec<Names>,
    ) {
        let counter = self.g.counter("k");
        self.g.open();
        let g = &mut *self.g;
        let (first, count): (Operand, Operand) =
            if number == 0 { (of.first, of.count) } else { (0.into(), self.trips[number]) };
        let var = g.like(level.head.var, shared);
        g.emit(Stmt::Set(var, level.head.from.clone() + (first + counter)));
        for names in rows.iter_mut() {
            names.insert(level.head.var, var);
        }
        let position = if number == 0 { counter.into() } else { outer * self.trips[number] + counter };
        if let Some(inner) = &level.inner {
            self.kernel_stmts(&level.before, shared, rows);
            self.kernel_level(inner, number + 1, of, (position, row_panel, column_panel, c), shared, rows);
            self.kernel_stmts(&level.after, shared, rows);
        } else {
            let plan = self.plan;
            let (height, lanes) = (self.height, self.lanes);
            bind!(column_at = g((column_panel * of.pitch + position.clone()) * lanes));
            for ((var, ty), block) in plan.column_values.iter().zip(&self.column_blocks) {
                let new = g.like(*var, shared);
                g.emit(Stmt::Load(new, element(*block, *ty, column_at + c)));
                for names in rows.iter_mut() {
                    names.insert(*var, new);
                }
            }
            bind!(row_at = g((row_panel * of.pitch + position) * height));
            for (r, names) in rows.iter_mut().enumerate() {
                for ((var, ty), block) in plan.row_values.iter().zip(&self.row_blocks) {
                    let new = g.like(*var, names);
                    g.emit(Stmt::Load(new, element(*block, *ty, row_at + r as i64)));
                }
            }
            self.kernel_stmts(&level.before, shared, rows);
        }
        let body = self.g.close();
        self.g.emit_loop(false, (counter, Expr::i64(0), count.into()), body);
    }

    /// The statements of a kernel: once what depends on neither side, for each row what depends on both.
    fn kernel_stmts(&mut self, stmts: &[Stmt], shared: &mut Names, rows: &mut [Names]) {
        for stmt in stmts {
            let own = self.plan.of_stmt(stmt);
            if own.row || own.column {
                continue;
            }
            self.g.copy(stmt, shared);
            for var in sets(stmt) {
                if let Some(new) = shared.get(&var) {
                    for names in rows.iter_mut() {
                        names.insert(var, *new);
                    }
                }
            }
        }
        // A row's intermediate values are dead before the next row's.
        for names in rows.iter_mut() {
            for stmt in stmts {
                let own = self.plan.of_stmt(stmt);
                if own.row && own.column {
                    self.g.copy(stmt, names);
                }
            }
        }
    }
}
