//! Transposing copies in tiles: rows of a tile are contiguous in the source, columns
//! in the target.
//!
//! ```text
//! for each whole tile: each line of the source -> a line of the square, as memory
//!                      each column of the square -> a line of the target
//! ```
//!
//! What is left at the edges is no whole tile and does not go through the square.

use super::nest::{Copier, Dim, Places};
use crate::generate::expr::{add, and, compare, div, min, mul, sub};
use crate::syntax::{Expr, Stmt, Tile, VarType};
use prim::CmpOp;

/// Copies `rows` by `columns` elements.
pub(super) fn tiles(c: &mut Copier<'_>, at: &Places, (rows, columns): (&Dim, &Dim), tile: Tile) {
    let side = Expr::i64(i64::from(tile.side));
    let square = c.var("square", VarType::HOST);
    c.emit(Stmt::Frame {
        buffer: square,
        elem: c.elem(),
        count: u64::from(tile.side) * u64::from(tile.pitch),
    });
    let pitch = Expr::i64(i64::from(tile.pitch));
    // How many pieces of a side there are, the last one perhaps shorter.
    let count = |dim: &Dim| {
        let up = add(dim.n.clone(), Expr::i64(i64::from(tile.side) - 1));
        div(up, side.clone())
    };
    c.each(count(rows), false, |c, i| {
        let row = c.int("row", mul(i, side.clone()));
        let height = min(sub(rows.n.clone(), row.clone()), side.clone());
        let height = c.int("height", height);
        c.each(count(columns), false, |c, j| {
            let column = c.int("column", mul(j, side.clone()));
            let width = min(sub(columns.n.clone(), column.clone()), side.clone());
            let width = c.int("width", width);
            let at = at.along(rows, &row).along(columns, &column);
            let at = Places {
                to: c.int("to_at", at.to),
                from: c.int("from_at", at.from),
            };
            let whole = |n: &Expr| compare(CmpOp::Eq, n.clone(), side.clone());
            c.either(
                and(whole(&height), whole(&width)),
                |c| {
                    c.each(side.clone(), false, |c, j| {
                        let line = (square, mul(j.clone(), pitch.clone()));
                        let from = add(at.from.clone(), mul(j, columns.from.clone()));
                        c.memory(line, (c.from, from), side.clone());
                    });
                    c.each(side.clone(), true, |c, i| {
                        let to = add(at.to.clone(), mul(i.clone(), rows.to.clone()));
                        c.each(side.clone(), true, |c, j| {
                            let x = c.load(square, &i, vec![(j.clone(), pitch.clone())]);
                            c.store(&to, vec![(j, Expr::i64(1))], x);
                        });
                    });
                },
                |c| {
                    c.each(height.clone(), true, |c, i| {
                        let width = Dim {
                            n: width.clone(),
                            ..columns.clone()
                        };
                        c.walk(&at.along(rows, &i), &width);
                    });
                },
            );
        });
    });
}
