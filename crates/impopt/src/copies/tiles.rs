//! Tiled transposition: rows of a tile are contiguous in the source, columns in the destination.
//!
//! ```text
//! for each full tile: each row of the source -> a row of the square, by memcpy
//!                     each column of the square -> a row of the destination
//! ```
//!
//! Partial tiles at the edges do not go through the square. The inner loop over tiles is along the
//! shorter dimension: where a cache line belongs to two tiles, the second one follows soon.

use super::nest::{Copier, Dim, Positions};
use imp::build::{and, min, select};
use imp::expr;
use imp::{Expr, Stmt, Tile, VarType};
use prim::PrimType;

/// Copies `rows` by `columns` elements.
pub(super) fn tiles(c: &mut Copier<'_>, at: &Positions, (rows, columns): (&Dim, &Dim), tile: Tile) {
    let side = Expr::i64(i64::from(tile.extent));
    let square = c.var("square", VarType::HOST);
    c.emit(Stmt::Frame {
        buffer: square,
        elem: c.elem(),
        count: u64::from(tile.extent) * u64::from(tile.pitch),
    });
    let pitch = Expr::i64(i64::from(tile.pitch));
    // The number of tiles along a dimension, the last one perhaps partial.
    let count = |dim: &Dim| {
        let up = dim.n.clone() + (i64::from(tile.extent) - 1);
        up / side.clone()
    };
    let (n_rows, n_columns) = (count(rows), count(columns));
    let few = c.name("few", PrimType::Bool, expr!(rows.n.clone() < columns.n.clone()));
    let outer = c.int("outer", select(&few, &n_columns, &n_rows));
    let inner = c.int("inner", select(&few, &n_rows, &n_columns));
    c.each(outer, false, |c, outer| {
        c.each(inner, false, |c, inner| {
            let i = c.int("i", select(&few, &inner, &outer));
            let j = c.int("j", select(&few, &outer, &inner));
            let row = c.int("row", i * side.clone());
            let height = min(rows.n.clone() - row.clone(), side.clone());
            let height = c.int("height", height);
            let column = c.int("column", j * side.clone());
            let width = min(columns.n.clone() - column.clone(), side.clone());
            let width = c.int("width", width);
            let at = at.along(rows, &row).along(columns, &column);
            let at = Positions { to: c.int("to_at", at.to), from: c.int("from_at", at.from) };
            let whole = |n: &Expr| expr!(n.clone() == side.clone());
            c.either(
                and(whole(&height), whole(&width)),
                |c| {
                    c.each(side.clone(), false, |c, j| {
                        let line = (square, j.clone() * pitch.clone());
                        let from = at.from.clone() + j * columns.from.clone();
                        c.memory(line, (c.from, from), side.clone());
                    });
                    c.each(side.clone(), true, |c, i| {
                        let to = at.to.clone() + i.clone() * rows.to.clone();
                        c.each(side.clone(), true, |c, j| {
                            let x = c.load(square, &i, vec![(j.clone(), pitch.clone())]);
                            c.store(&to, vec![(j, Expr::i64(1))], x);
                        });
                    });
                },
                |c| {
                    c.each(height.clone(), true, |c, i| {
                        let width = Dim { n: width.clone(), ..columns.clone() };
                        c.copy_row(&at.along(rows, &i), &width);
                    });
                },
            );
        });
    });
}
