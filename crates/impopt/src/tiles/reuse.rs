//! Reuse: the values of a nest's fold that the elements of a row share, or of a column.
//!
//! Of two of the independent loops, one counts *rows* and one *columns*. What a statement of the
//! fold computes depends on the row, on the column, on both or on neither. A value that depends on
//! the row alone is the same for all columns and the other way round; these values are what packing
//! stores. The rest is the *kernel*.

use super::nest::{Counted, Nest};
use crate::lanes::strides::IterationStrides;
use imp::walk::{Use, each_stmt, each_use, scalar_type};
use imp::{Stmt, Var, VarInfo};
use prim::PrimType;
use rustc_hash::{FxHashMap, FxHashSet};
use target::Machine;

/// The largest number of statements of a kernel for one element.
const MAX_KERNEL: usize = 16;
/// The largest number of statements of a kernel's copies.
const MAX_COPIES: usize = 160;
/// The largest number of vectors of a row.
const VECTORS: u32 = 2;
/// The largest number of rows of a register tile.
const MAX_ROWS: u32 = 16;

/// A side of a tile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Side {
    Row,
    Column,
}

/// What a value depends on.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct DependsOn {
    pub(super) row: bool,
    pub(super) column: bool,
}

impl DependsOn {
    const BOTH: Self = Self { row: true, column: true };

    fn and(self, other: Self) -> Self {
        Self { row: self.row || other.row, column: self.column || other.column }
    }

    /// Returns true if it depends on nothing but this side.
    pub(super) fn at_most(self, side: Side) -> bool {
        match side {
            Side::Row => !self.column,
            Side::Column => !self.row,
        }
    }

    /// The side, if it depends on exactly one.
    fn side(self) -> Option<Side> {
        match (self.row, self.column) {
            (true, false) => Some(Side::Row),
            (false, true) => Some(Side::Column),
            _ => None,
        }
    }
}

/// The tiling of a nest.
#[derive(Debug)]
pub(super) struct Plan<'n> {
    pub(super) nest: &'n Nest,
    /// The loops around the tile.
    pub(super) outer: Vec<&'n Counted>,
    pub(super) rows: &'n Counted,
    pub(super) columns: &'n Counted,
    depends: FxHashMap<Var, DependsOn>,
    /// The packed values of each side.
    pub(super) row_values: Vec<(Var, PrimType)>,
    pub(super) column_values: Vec<(Var, PrimType)>,
    /// The variables that the fold carries.
    pub(super) carried: Vec<(Var, PrimType)>,
    /// The rows of a register tile.
    pub(super) height: u32,
    /// The columns of a register tile: lanes.
    pub(super) lanes: u32,
    /// The size of a vector register.
    pub(super) vector_bytes: u32,
}

impl<'n> Plan<'n> {
    /// The first pair of loops, innermost ones first, whose values are shared on both sides.
    pub(super) fn of(nest: &'n Nest, vars: &[VarInfo], machine: Machine) -> Option<Self> {
        let n = nest.loops.len();
        (0..n).rev().find_map(|column| {
            (0..column).rev().find_map(|row| {
                let [by_row, by_column] = [row, column].map(|at| stores_along(nest, nest.loops[at].var));
                let pair = if by_row && !by_column { (column, row) } else { (row, column) };
                Self::of_pair(nest, pair, vars, machine)
            })
        })
    }

    fn of_pair(
        nest: &'n Nest,
        (row, column): (usize, usize),
        vars: &[VarInfo],
        machine: Machine,
    ) -> Option<Self> {
        let (rows, columns) = (&nest.loops[row], &nest.loops[column]);
        let carried = carried(nest);
        let depends = depends(nest, (rows.var, columns.var), &carried);
        let of = |var: Var| depends.get(&var).copied().unwrap_or_default();
        let (mut row_values, mut column_values) = (Vec::new(), Vec::new());
        let (mut kernel, mut loads) = (0, [false; 2]);
        let innermost = nest.fold.levels().last()?;
        let inside: FxHashSet<Var> = nest.fold.stmts().flat_map(sets).collect();
        for level in nest.fold.levels() {
            for stmt in level.before.iter().chain(&level.after) {
                let own = stmt_depends(stmt, &of);
                if let (Stmt::Load(..), Some(side)) = (stmt, own.side()) {
                    loads[side as usize] = true;
                }
                if own != DependsOn::BOTH {
                    continue;
                }
                if matches!(stmt, Stmt::Load(..)) {
                    return None;
                }
                kernel += 1;
                let mut outside = false;
                each_stmt(std::slice::from_ref(stmt), &mut |stmt| {
                    each_use(stmt, &mut |var, used| {
                        if used != Use::Reads || !inside.contains(&var) {
                            return;
                        }
                        let values = match of(var).side() {
                            Some(Side::Row) => &mut row_values,
                            Some(Side::Column) => &mut column_values,
                            None => return,
                        };
                        outside |= !std::ptr::eq(level, innermost);
                        if !values.contains(&var) {
                            values.push(var);
                        }
                    });
                });
                if outside {
                    return None;
                }
            }
        }
        if kernel > MAX_KERNEL || loads != [true; 2] || row_values.is_empty() || column_values.is_empty() {
            return None;
        }
        let typed = |list: Vec<Var>| -> Option<Vec<(Var, PrimType)>> {
            list.into_iter().map(|var| Some((var, scalar_type(vars, var)?))).collect()
        };
        let (row_values, column_values, carried) =
            (typed(row_values)?, typed(column_values)?, typed(carried)?);
        let (height, lanes) = register_tile(&column_values, &carried, kernel, machine)?;
        let height = height.min((MAX_COPIES / kernel.max(1)) as u32);
        let outer = nest.loops.iter().enumerate().filter(|(at, _)| *at != row && *at != column);
        (height >= 2).then(|| Self {
            nest,
            outer: outer.map(|(_, head)| head).collect(),
            rows,
            columns,
            row_values,
            column_values,
            carried,
            height,
            lanes,
            vector_bytes: machine.bytes,
            depends,
        })
    }

    /// What a variable depends on.
    pub(super) fn of_var(&self, var: Var) -> DependsOn {
        self.depends.get(&var).copied().unwrap_or_default()
    }

    /// Returns true if neighbouring rows, or columns, are neighbours in the arrays that their values are
    /// loaded from.
    pub(super) fn is_contiguous(&self, side: Side) -> bool {
        let counter = match side {
            Side::Row => self.rows.var,
            Side::Column => self.columns.var,
        };
        let mut steps = IterationStrides::of(counter);
        let mut contiguous = false;
        for stmt in self.nest.before.iter().chain(self.nest.fold.stmts()) {
            if let Stmt::Load(_, access) = stmt {
                contiguous |= steps.of_access(access).is_some_and(|step| step.unsigned_abs() == 1);
            }
            for var in sets(stmt) {
                let value = if let Stmt::Set(_, value) = stmt { Some(value) } else { None };
                steps.set(var, value);
            }
        }
        contiguous
    }

    /// What a statement's values depend on.
    pub(super) fn of_stmt(&self, stmt: &Stmt) -> DependsOn {
        stmt_depends(stmt, &|var| self.of_var(var))
    }
}

/// Returns true if the iterations of a loop store neighbouring elements.
fn stores_along(nest: &Nest, counter: Var) -> bool {
    let steps = IterationStrides::of(counter);
    let mut along = false;
    each_stmt(&nest.after, &mut |stmt| {
        if let Stmt::Store(access, _) = stmt {
            along |= steps.of_access(access) == Some(1);
        }
    });
    along
}

/// Rows and lanes of a register tile: the carried values of all its elements stay in registers.
fn register_tile(
    columns: &[(Var, PrimType)],
    carried: &[(Var, PrimType)],
    kernel: usize,
    machine: Machine,
) -> Option<(u32, u32)> {
    let registers: u32 = if machine.has_masks() { 32 } else { 16 };
    let size = |values: &[(Var, PrimType)]| -> u32 { values.iter().map(|(_, ty)| ty.size() as u32).sum() };
    let widest = columns.iter().chain(carried).map(|(_, ty)| ty.size() as u32).max()?;
    let per_vector = |values| size(values).div_ceil(widest);
    let lanes = machine.bytes / widest;
    for vectors in [VECTORS, 1] {
        // Operands of one instruction, and values between several.
        let operands = if kernel > 1 { 2 + vectors } else { 2 };
        let free = (registers - operands).checked_sub(vectors * per_vector(columns))?;
        let rows = free / (vectors * per_vector(carried)).max(1);
        let rows = rows.min(MAX_ROWS) / 2 * 2;
        if rows >= 4 {
            return Some((rows, vectors * lanes));
        }
    }
    None
}

/// The variables that the fold sets and that are set before it, too.
fn carried(nest: &Nest) -> Vec<Var> {
    let before: FxHashSet<Var> = nest.before.iter().flat_map(sets).collect();
    let mut carried: Vec<Var> = Vec::new();
    for var in nest.fold.stmts().flat_map(sets) {
        if before.contains(&var) && !carried.contains(&var) {
            carried.push(var);
        }
    }
    carried
}

/// The variables that a statement sets, nested ones included.
pub(super) fn sets(stmt: &Stmt) -> Vec<Var> {
    let mut all = Vec::new();
    each_stmt(std::slice::from_ref(stmt), &mut |stmt| {
        each_use(stmt, &mut |var, used| {
            if used == Use::Sets {
                all.push(var);
            }
        });
    });
    all
}

/// What all variables depend on. Variables that are carried, or set in several places of the fold, belong
/// to the kernel.
fn depends(nest: &Nest, (row, column): (Var, Var), carried: &[Var]) -> FxHashMap<Var, DependsOn> {
    let mut depends = FxHashMap::default();
    depends.insert(row, DependsOn { row: true, column: false });
    depends.insert(column, DependsOn { row: false, column: true });
    let mut times: FxHashMap<Var, u32> = FxHashMap::default();
    for stmt in nest.fold.stmts() {
        let conditional = matches!(stmt, Stmt::If(..));
        for var in sets(stmt) {
            *times.entry(var).or_default() += if conditional { 2 } else { 1 };
        }
    }
    let several = times.into_iter().filter(|(_, times)| *times > 1).map(|(var, _)| var);
    depends.extend(several.chain(carried.iter().copied()).map(|var| (var, DependsOn::BOTH)));
    loop {
        let mut changed = false;
        for stmt in nest.before.iter().chain(nest.fold.stmts()) {
            let reads = reads_depend(stmt, &|var| depends.get(&var).copied().unwrap_or_default());
            for var in sets(stmt) {
                let known = depends.entry(var).or_default();
                let all = known.and(reads);
                changed |= all != *known;
                *known = all;
            }
        }
        if !changed {
            return depends;
        }
    }
}

fn reads_depend(stmt: &Stmt, of: &dyn Fn(Var) -> DependsOn) -> DependsOn {
    let mut all = DependsOn::default();
    each_stmt(std::slice::from_ref(stmt), &mut |stmt| {
        each_use(stmt, &mut |var, used| {
            if used == Use::Reads {
                all = all.and(of(var));
            }
        });
    });
    all
}

fn stmt_depends(stmt: &Stmt, of: &dyn Fn(Var) -> DependsOn) -> DependsOn {
    sets(stmt).into_iter().fold(reads_depend(stmt, of), |all, var| all.and(of(var)))
}
