//! The kernel: the nest for the rows and columns of a register tile, over packed values.
//!
//! A panel of rows that has only some is computed by a kernel of [`FEW`] rows, repeated.

use super::emit::{Names, element};
use super::nest::FoldLoop;
use super::reuse::{Side, sets};
use super::tile::{Depth, Tile};
use imp::build::{Operand, min};
use imp::{Expr, For, LoopMode, Stmt, Var, bind, expr};
use prim::{PrimType, Scalar};

/// The rows of the smaller kernel: with two vectors of columns, as many accumulators as hide the latency of a
/// multiplication and addition.
const FEW: i64 = 4;
/// The rows of register tiles beside which there is a smaller one, and the greatest number of rows that it computes: for more,
/// the large one takes no longer.
const MIN_HEIGHT: i64 = 3 * FEW;
const MOST_LEFT: i64 = 2 * FEW;

/// The rows of a kernel within a panel: the first, and their number.
#[derive(Clone, Copy)]
struct PanelRows {
    first: Operand,
    count: i64,
}

/// The panels of rows and of columns that a kernel computes, with their first row and column.
#[derive(Clone, Copy)]
struct Panels {
    row_panel: Var,
    first_row: Operand,
    column_panel: Var,
    first_column: Operand,
    /// The number of the register tile.
    tile: Operand,
}

impl Tile<'_, '_, '_, '_> {
    /// The kernels of a block.
    pub(super) fn kernels(&mut self, of: Depth, rows: (Operand, Operand), columns: (Operand, Operand)) {
        let (height, lanes) = (self.height, self.lanes);
        let (column_panel, row_panel) = (self.g.counter("panel"), self.g.counter("panel"));
        self.g.open();
        self.g.open();
        let g = &mut *self.g;
        bind!(first_row = g(rows.0 + row_panel * height));
        bind!(first_column = g(columns.0 + column_panel * lanes));
        bind!(tile = g(column_panel * self.row_panels + first_row / height));
        let panels = Panels { row_panel, first_row, column_panel, first_column, tile };
        g.open();
        self.kernel(of, panels, PanelRows { first: 0.into(), count: height });
        let full = self.g.close();
        if height < MIN_HEIGHT {
            self.g.emit_all(full);
        } else {
            let g = &mut *self.g;
            bind!(left = g(min(rows.0 + rows.1 - first_row, height)));
            let part = g.counter("part");
            g.open();
            g.open();
            bind!(first = g(part * FEW));
            self.kernel(of, panels, PanelRows { first, count: FEW });
            let g = &mut *self.g;
            let body = g.close();
            g.emit_loop(false, (part, Expr::i64(0), (left + (FEW - 1)) / FEW), body);
            let few = g.close();
            g.emit(Stmt::If(expr!(MOST_LEFT < left), full, few));
        }
        let g = &mut *self.g;
        let body = g.close();
        bind!(row_panels = g((rows.1 + (height - 1)) / height));
        g.emit_loop(false, (row_panel, Expr::i64(0), row_panels.into()), body);
        let body = g.close();
        bind!(column_panels = g((columns.1 + (lanes - 1)) / lanes));
        g.emit_loop(false, (column_panel, Expr::i64(0), column_panels.into()), body);
    }

    /// The kernel of some rows of a register tile.
    fn kernel(&mut self, of: Depth, panels: Panels, of_rows: PanelRows) {
        let c = self.g.counter("c");
        self.g.open();
        self.kernel_column(of, panels, of_rows, c);
        let g = &mut *self.g;
        let body = g.close();
        let mode = LoopMode::Lanes(self.plan.lanes);
        g.emit(Stmt::For(For { mode, var: c, from: Expr::i64(0), to: Expr::i64(self.lanes), body }));
    }

    /// The kernel for one column.
    fn kernel_column(&mut self, of: Depth, panels: Panels, of_rows: PanelRows, c: Var) {
        let Panels { first_row, first_column, tile, .. } = panels;
        let plan = self.plan;
        let mut shared = self.outer.clone();
        let g = &mut *self.g;
        let column = g.like(plan.columns.var, &mut shared);
        g.emit(Stmt::Set(column, plan.columns.from.clone() + (first_column + c)));
        let is_column = g.var(PrimType::Bool, "is_column");
        g.emit(Stmt::Set(is_column, expr!(first_column + c < self.columns)));
        bind!(first_row = g(first_row + of_rows.first));
        bind!(first_at = g(tile * self.height + of_rows.first));
        let mut rows: Vec<Names> = Vec::new();
        let mut state: Vec<Operand> = Vec::new();
        for r in 0..of_rows.count {
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
            bind!(at = g((first_at + r) * self.lanes));
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
            (Expr::i64(0), panels, of_rows.first, c),
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
        (outer, panels, first, c): (Expr, Panels, Operand, Var),
        shared: &mut Names,
        rows: &mut Vec<Names>,
    ) {
        let counter = self.g.counter("k");
        self.g.open();
        let g = &mut *self.g;
        let (start, count): (Operand, Operand) =
            if number == 0 { (of.first, of.count) } else { (0.into(), self.trips[number]) };
        let var = g.like(level.head.var, shared);
        g.emit(Stmt::Set(var, level.head.from.clone() + (start + counter)));
        for names in rows.iter_mut() {
            names.insert(level.head.var, var);
        }
        let position = if number == 0 { counter.into() } else { outer * self.trips[number] + counter };
        if let Some(inner) = &level.inner {
            self.kernel_stmts(&level.before, shared, rows);
            self.kernel_level(inner, number + 1, of, (position, panels, first, c), shared, rows);
            self.kernel_stmts(&level.after, shared, rows);
        } else {
            let plan = self.plan;
            let lanes = self.lanes;
            bind!(column_at = g((panels.column_panel * of.pitch + position.clone()) * lanes));
            for ((var, ty), block) in plan.column_values.iter().zip(&self.column_blocks) {
                let new = g.like(*var, shared);
                g.emit(Stmt::Load(new, element(*block, *ty, column_at + c)));
                for names in rows.iter_mut() {
                    names.insert(*var, new);
                }
            }
            bind!(row_at = g((panels.row_panel * of.pitch + position) * self.row_width + first));
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
