//! The sizes of tiles as tuning parameters.
//!
//! | parameter | meaning |
//! |---|---|
//! | `FUNCTION.suff_tile_work_N` | the number of iterations from which on the nest is tiled |
//! | `FUNCTION.tile_depth_N` | iterations of the fold in a part: values of a panel of columns stay in the second-level cache |
//! | `FUNCTION.tile_rows_N`, `FUNCTION.tile_columns_N` | rows and columns of a block |

use super::emit::Emit;
use super::reuse::{Plan, Side};
use imp::build::max;
use imp::{Expr, Stmt, Tunable, TunableClass, TunableId};
use ir::name::FunName;

/// Default bytes of a panel of columns.
const PANEL_BYTES: i64 = 128 * 1024;
/// Default rows and columns of a block, before they are rounded to register tiles.
const ROWS: i64 = 112;
const COLUMNS: i64 = 1024;
/// The smallest number of iterations that are worth packing: where neighbouring columns are neighbours in
/// memory, the original nest reads small arrays as fast; elsewhere it gathers them.
const MIN_ITERATIONS: i64 = 1 << 17;
const MIN_GATHERED_ITERATIONS: i64 = 1 << 12;

/// The parameters that a pass over one function makes.
pub(super) struct Made {
    first: usize,
    nests: usize,
    pub(super) tunables: Vec<Tunable>,
}

impl Made {
    /// None; the first gets this number.
    pub(super) fn none(first: usize) -> Self {
        Self { first, nests: 0, tunables: Vec::new() }
    }

    fn make(&mut self, function: &FunName, rule: &str, class: TunableClass, default: i64) -> TunableId {
        let id = TunableId::new(self.first + self.tunables.len());
        let name = format!("{function}.{rule}_{}", self.nests).into();
        self.tunables.push(Tunable { name, class, default });
        id
    }
}

/// The parameters of a nest.
#[derive(Clone, Copy)]
pub(super) struct TileSizes {
    pub(super) work: TunableId,
    depth: TunableId,
    rows: TunableId,
    columns: TunableId,
}

impl TileSizes {
    /// Makes the parameters of a nest.
    pub(super) fn make(made: &mut Made, function: &FunName, plan: &Plan<'_>) -> Self {
        let contiguous = plan.is_contiguous(Side::Column);
        let work = if contiguous { MIN_ITERATIONS } else { MIN_GATHERED_ITERATIONS };
        let bytes: i64 = plan.column_values.iter().map(|(_, ty)| ty.size() as i64).sum();
        let depth = (PANEL_BYTES / (bytes * i64::from(plan.lanes)).max(1)).max(16);
        let mut make = |rule, class, default| made.make(function, rule, class, default);
        let sizes = Self {
            work: make("suff_tile_work", TunableClass::Threshold, work),
            depth: make("tile_depth", TunableClass::Size, depth),
            rows: make("tile_rows", TunableClass::Size, ROWS),
            columns: make("tile_columns", TunableClass::Size, COLUMNS),
        };
        made.nests += 1;
        sizes
    }

    /// Iterations of the fold in a part.
    pub(super) fn depth(self, g: &mut Emit<'_>, of: impl Into<Expr>) -> Expr {
        size(g, self.depth, of)
    }

    /// Rows of a block.
    pub(super) fn rows(self, g: &mut Emit<'_>, of: impl Into<Expr>) -> Expr {
        size(g, self.rows, of)
    }

    /// Columns of a block.
    pub(super) fn columns(self, g: &mut Emit<'_>, of: impl Into<Expr>) -> Expr {
        size(g, self.columns, of)
    }
}

/// The value of a size that divides an index space.
fn size(g: &mut Emit<'_>, id: TunableId, of: impl Into<Expr>) -> Expr {
    record(g, id, of);
    max(Expr::Tunable(id), 1)
}

/// Records the size that a parameter is compared with.
pub(super) fn record(g: &mut Emit<'_>, id: TunableId, size: impl Into<Expr>) {
    let record = vec![Stmt::RecordComparison(id, size.into())];
    g.emit(Stmt::If(Expr::LogsComparisons, record, Vec::new()));
}
