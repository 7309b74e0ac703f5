//! Finds loops over rows that may have few elements.
//!
//! ```text
//! for i in lo .. hi independent {        if n == 1 { .. } else if n == 2 { .. } .. else {
//!   acc = 0                                for i in lo .. hi independent { .. }
//!   for j in 0 .. n {               =>   }
//!     acc += xs[i * n + j]
//!   }
//!   ys[i] = acc
//! }
//! ```
//!
//! The overhead of a loop over one or two elements is larger than its work. With a constant number
//! of elements the body is straight-line code, adjacent rows are in vectors, and their elements are
//! a small distance apart. So loops that do little but reduce rows, which are consecutive in
//! memory, have versions for the smallest row lengths ([`versions`](super::versions)). All versions
//! combine the elements of a row in the same order.

use super::choose::is_plain;
use super::versions::LoopVersion;
use imp::def_use::DefUse;
use imp::walk::{Use, each_operand, each_stmt, each_use};
use imp::{Access, Expr, For, Function, LoopMode, Stmt, Var};
use prim::{BinOp, ScalarOp};
use std::collections::BTreeMap;
use target::Machine;
use target::chunks::ROW_STATEMENTS;

/// The loops of a function over rows, by their numbers.
pub(super) fn find(function: &Function, def_use: &DefUse, machine: Machine) -> BTreeMap<u32, LoopVersion> {
    let mut found = BTreeMap::new();
    each_loop(&function.body, DefUse::FIRST, def_use, &mut |f, at| {
        if let Some(size) = rows(f, machine) {
            found.insert(at, LoopVersion::RowLength(size));
        }
    });
    found
}

/// Calls `f` on all loops, with their numbers.
pub(super) fn each_loop(stmts: &[Stmt], mut at: u32, def_use: &DefUse, f: &mut dyn FnMut(&For, u32)) {
    stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
        for stmt in stmts {
            match stmt {
                Stmt::If(_, yes, no) => {
                    each_loop(yes, at + 1, def_use, f);
                    each_loop(no, def_use.else_start(at), def_use, f);
                }
                Stmt::While(_, body) => each_loop(body, at + 1, def_use, f),
                Stmt::For(inner) => {
                    f(inner, at);
                    each_loop(&inner.body, at + 1, def_use, f);
                }
                imp::leaf_stmt!() => {}
            }
            at = def_use.end(at);
        }
    });
}

/// The variable with the number of elements of a row, if a loop reduces rows and does little else.
fn rows(f: &For, machine: Machine) -> Option<Var> {
    if f.mode != (LoopMode::Seq { independent: true }) {
        return None;
    }
    let mut fold = None;
    for stmt in &f.body {
        if let Stmt::For(inner) = stmt {
            if fold.replace(inner).is_some() {
                return None;
            }
        } else if !matches!(stmt, Stmt::Set(..) | Stmt::Load(..) | Stmt::Store(..)) {
            return None;
        }
    }
    let fold = fold?;
    let in_order = fold.mode == (LoopMode::Seq { independent: false });
    let (Expr::Var(size), true) = (&fold.to, in_order && fold.from == Expr::i64(0)) else {
        return None;
    };
    let (mut count, mut own) = (0, *size == f.var || *size == fold.var);
    each_stmt(&f.body, &mut |stmt| {
        count += 1;
        each_use(stmt, &mut |var, used| {
            own |= var == *size && used == Use::Sets;
        });
    });
    let little = count <= ROW_STATEMENTS && is_plain(&fold.body, machine);
    let in_rows = fold.body.iter().any(|stmt| {
        if let Stmt::Load(_, access) | Stmt::Store(access, _) = stmt {
            is_row(access, f.var, *size)
        } else {
            false
        }
    });
    (little && in_rows && !own).then_some(*size)
}

/// Returns true if an access is in the given row, of `size` elements.
fn is_row(access: &Access, row: Var, size: Var) -> bool {
    let (row, size) = (Expr::Var(row), Expr::Var(size));
    let by_index = |(index, stride): &(Expr, Expr)| *index == row && *stride == size;
    access.dims.iter().any(by_index) || multiplies(&access.offset, &row, &size)
}

/// Returns true if a product is part of an expression.
fn multiplies(e: &Expr, x: &Expr, y: &Expr) -> bool {
    if let Expr::Scalar(ScalarOp::Binary(BinOp::Mul, _, a, b)) = e
        && (**a == *x && **b == *y || **a == *y && **b == *x)
    {
        return true;
    }
    let mut found = false;
    each_operand(e, &mut |part| found |= multiplies(part, x, y));
    found
}
