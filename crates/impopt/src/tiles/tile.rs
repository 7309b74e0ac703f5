//! The code of a tiled nest: its blocks, in which values are packed ([`pack`](super::pack)) and the kernel runs
//! ([`kernel`](super::kernel)).

use super::emit::{Emit, Names};
use super::nest::Counted;
use super::reuse::{Plan, Side, sets};
use super::sizes::TileSizes;
use imp::build::{Operand, max, min, product, select};
use imp::walk::{Use, each_stmt, each_use};
use imp::{Expr, Stmt, Var, bind, expr};
use prim::PrimType;
use rustc_hash::FxHashSet;

/// By this factor the parts of a fold are shorter where there is one block of rows.
const FEWER: i64 = 8;

/// A tiled nest under construction.
pub(super) struct Tile<'e, 'v, 'p, 'n> {
    pub(super) g: &'e mut Emit<'v>,
    pub(super) plan: &'p Plan<'n>,
    pub(super) height: i64,
    pub(super) lanes: i64,
    /// The distance of packed rows: a power of two, so that lines of them are packed as squares.
    pub(super) row_width: i64,
    /// The number of rows and of columns.
    pub(super) rows: Operand,
    pub(super) columns: Operand,
    /// The trip count of each loop of the fold, outermost first.
    pub(super) trips: Vec<Operand>,
    /// The iterations of the fold for one of its outermost loop.
    pub(super) inner: Operand,
    pub(super) row_blocks: Vec<Var>,
    pub(super) column_blocks: Vec<Var>,
    pub(super) state_blocks: Vec<Var>,
    /// The number of panels of rows.
    pub(super) row_panels: Operand,
    /// The counters of the loops around.
    pub(super) outer: Names,
    /// The variables that the packed values of each side are computed from.
    pub(super) needed: [FxHashSet<Var>; 2],
}

/// A part of the fold's outermost loop.
#[derive(Clone, Copy)]
pub(super) struct Depth {
    pub(super) first: Operand,
    pub(super) count: Operand,
    /// The distance between panels: one more than the iterations of the fold in the part, as powers of two
    /// would put all panels into the same sets of a cache.
    pub(super) pitch: Operand,
    pub(super) is_first: Operand,
    pub(super) is_last: Operand,
}

/// Emits the nest.
pub(super) fn tiled(g: &mut Emit<'_>, plan: &Plan<'_>, sizes: TileSizes) {
    let mut tile = Tile {
        height: plan.height.into(),
        lanes: plan.lanes.into(),
        row_width: plan.height.next_power_of_two().into(),
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
        let whole = |most: Expr, unit: i64| max(most / unit, 1) * unit;
        bind!(most_rows = g(whole(sizes.rows(g, rows), height)));
        // Columns that are packed for one block of rows are used once: they stay in the second-level cache.
        let most = sizes.depth(g, depth * inner);
        bind!(most = g(select(expr!(most_rows < rows), most.clone(), max(most / FEWER, 1))));
        let part = if inner == Operand::from(1) { most.into() } else { max(most / max(inner, 1), 1) };
        bind!(part = g(min(part, depth)));
        bind!(part = g(max(part, 1)));
        bind!(parts = g((depth + (part - 1)) / part));
        bind!(pitch = g(part * inner + 1));
        bind!(row_panels = g((rows + (height - 1)) / height));
        self.row_panels = row_panels;
        bind!(padded_rows = g(row_panels * height));
        bind!(padded_columns = g((columns + (lanes - 1)) / lanes * lanes));
        bind!(block_rows = g(min(padded_rows, most_rows)));
        let most_columns = whole(sizes.columns(g, columns), lanes);
        bind!(block_columns = g(min(padded_columns, most_columns)));
        for (_, ty) in &plan.row_values {
            self.row_blocks.push(g.block(*ty, pitch * (block_rows / height * self.row_width), "rows"));
        }
        for (_, ty) in &plan.column_values {
            self.column_blocks.push(g.block(*ty, pitch * block_columns, "columns"));
        }
        bind!(state = g(select(expr!(1 < parts), padded_rows * block_columns, 0)));
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
}
