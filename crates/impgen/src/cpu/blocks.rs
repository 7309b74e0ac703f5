//! Maps whose iterations share columns (fact `columns`): a task takes as many iterations as there are
//! for a worker, or part of the columns for all of them.
//!
//! ```text
//! segmap (i < n) { .. for j in 0 .. m { <body> } }
//!
//!   by_columns = n < m && MIN_COLUMNS <= m
//!   for tasks over slices of the rows or of the columns
//!     for i in <rows> { .. for j in <columns> { <body> } }
//! ```
//!
//! Every task reads all that its iterations share: of two dimensions the greater one is divided.

use super::segops::SegSpace;
use crate::Result;
use crate::cpu::CpuSchedule;
use crate::mems::Param;
use crate::schedule::Generator;
use imp::build::{Operand, max, min, select};
use imp::{Expr, For, LoopMode, Stmt, Var, bind, expr};
use prim::{PrimType, Scalar};
use target::chunks::{LANES_CHUNK, MAX_CHUNKS, MIN_LANES_CHUNK};

/// The number of columns from which they may be divided.
const MIN_COLUMNS: i64 = 8 * LANES_CHUNK;
/// The number of rows from which tasks take multiples of some.
const MANY_ROWS: i64 = 16 * MIN_LANES_CHUNK;

/// By this factor a tile takes less time than the loops that costs are estimated for.
const TILED: i64 = 16;

/// The division of a map's work.
struct Division {
    rows: Operand,
    /// True if the columns are divided.
    by_columns: Var,
    chunks: Operand,
}

impl Generator<'_, CpuSchedule> {
    /// A map whose iterations share columns.
    pub(super) fn seg_map_in_blocks(&mut self, pat: &[Param], space: &SegSpace<'_>) -> Result {
        let distinct = self.unaliased_blocks(pat, space.body)?;
        let cost = self.cost(space)?;
        bind!(cost = self(cost / TILED));
        bind!(rows = self(space.width));
        let grain = self.grain_size(space.decomp, rows)?;
        let step = select(expr!(rows < MANY_ROWS), 1, MIN_LANES_CHUNK);
        bind!(row_chunks = self(max(rows / max(grain, step), 1)));
        let by_columns = self.scalar(PrimType::Bool, "by_columns");
        let chunks = self.counter("chunks");
        let division = Division { rows, by_columns, chunks: chunks.into() };
        let mut columns = None;
        let tasks = self.collect(|g| {
            let cut = (division.chunks, division.chunks, true);
            g.for_slices(("segmap", space.prov), cut, cost, distinct, |g, first, end| {
                columns = g.block(pat, space, &division, (first, end))?;
                Ok(())
            })
        })?;
        let (is_wide, count) = match columns {
            None => (Expr::Const(Scalar::Bool(false)), row_chunks.into()),
            Some(all) => (
                expr!(rows < all && Expr::i64(MIN_COLUMNS) <= all),
                select(by_columns, all / LANES_CHUNK, row_chunks),
            ),
        };
        self.emit(Stmt::Set(by_columns, is_wide));
        self.emit(Stmt::Set(chunks, min(count, MAX_CHUNKS)));
        self.emit_all(tasks);
        Ok(())
    }

    /// The iterations of a task for these chunks. Returns the number of columns, if they can be divided.
    fn block(
        &mut self,
        pat: &[Param],
        space: &SegSpace<'_>,
        division: &Division,
        (first, end): (Operand, Expr),
    ) -> Result<Option<Operand>> {
        let Division { rows, by_columns, chunks } = *division;
        let var = self.bind_index(space.index);
        let mut body = self
            .collect(|g| g.iteration(space.body, |g, results| g.write_elements(pat, space.dims, &results)))?;
        let inner = if space.independent { only_loop(&mut body) } else { None };
        let columns = inner.as_ref().map(|(_, all)| *all);
        bind!(lo = self(first * rows / chunks));
        bind!(hi = self(end.clone() * rows / chunks));
        let (mut from, mut to) = (lo.into(), hi.into());
        if let Some((inner, all)) = inner {
            (from, to) = (select(by_columns, 0, lo), select(by_columns, rows, hi));
            bind!(steps = self(all / LANES_CHUNK));
            bind!(lo = self(first * steps / chunks * LANES_CHUNK));
            bind!(hi = self(end.clone() * steps / chunks * LANES_CHUNK));
            let ends = expr!(end == chunks);
            inner.from = select(by_columns, lo, 0);
            inner.to = select(by_columns, select(ends, all, hi), all);
        }
        let mode = LoopMode::Seq { independent: space.independent };
        self.emit(Stmt::For(For { mode, var, from, to, body }));
        Ok(columns)
    }
}

/// The loop over `0 .. n`, with independent iterations, of code that besides it only computes scalars, and `n`,
/// which that code does not set.
fn only_loop(stmts: &mut [Stmt]) -> Option<(&mut For, Operand)> {
    let mut set = Vec::new();
    let mut found = None;
    for stmt in stmts {
        if let Stmt::Set(var, _) | Stmt::Load(var, _) = stmt {
            set.push(*var);
            continue;
        }
        let Stmt::For(inner) = stmt else {
            return None;
        };
        let all = if let Expr::Var(var) = &inner.to {
            Operand::Var(*var)
        } else if let Expr::Const(value) = &inner.to {
            Operand::Const(*value)
        } else {
            return None;
        };
        let independent = inner.mode == (LoopMode::Seq { independent: true });
        if found.is_some() || !independent || inner.from != Expr::i64(0) {
            return None;
        }
        found = Some((inner, all));
    }
    found.filter(|(_, all)| !matches!(all, Operand::Var(var) if set.contains(var)))
}
