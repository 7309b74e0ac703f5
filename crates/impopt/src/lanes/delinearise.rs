//! Delinearisation: finds loops over pairs of indices that are counted as one.
//!
//! ```text
//! for i in lo .. hi independent {        if 8 <= m && .. {
//!   k = udiv.i64(i, m)                     for k in lo / m .. (hi + m - 1) / m independent {
//!   j = umod.i64(i, m)            =>         for j in .. independent { i = k * m + j; .. } }
//!   ..                                   } else {
//! }                                        for i in lo .. hi independent { .. }
//!                                        }
//! ```
//!
//! Programs flatten two dimensions into one where that suits another machine. In two loops, values
//! that depend on one index are uniform over a row, accesses by the other index have unit stride
//! over the lanes, and there is no division ([`versions`](super::versions) makes the versions).
//! 32-bit numbers equal the index below 2^31, which the guard checks as well. The order is the
//! same, so loops need not be independent.
//!
//! Where the index is also divided by a constant multiple `c * m` of the size, the quotient is `k / c`, uniform over a
//! row, and the remainder `k % c * m + j`.

mod multiples;

use super::versions::LoopVersion;
use imp::build::Operand;
use imp::def_use::DefUse;
use imp::walk::{Use, each_stmt, each_use, is_at_most};
use imp::{Expr, For, Function, LoopMode, Stmt, Var};
use multiples::Multiples;
use prim::{BinClass, ConvOp, PrimType, ScalarOp};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// The largest number of statements of a loop's body.
const MOST: usize = 200;
/// From this number of statements on, or with loops in it, a body is expensive.
const EXPENSIVE: usize = 64;

/// The loop's index is divided by this variable of a type.
#[derive(Clone)]
pub(super) struct Rows {
    pub(super) ty: PrimType,
    pub(super) size: Var,
    /// The multiples of sizes.
    multiples: Multiples,
}

/// Returns true if a loop's body takes much longer than a quotient, so that lanes have to be full.
pub(super) fn is_expensive(f: &For) -> bool {
    let (mut count, mut loops) = (0, false);
    each_stmt(&f.body, &mut |stmt| {
        count += 1;
        loops |= matches!(stmt, Stmt::For(_) | Stmt::While(..));
    });
    loops || count >= EXPENSIVE
}

/// The loops of a function whose index is divided, by their numbers.
pub(super) fn find(function: &Function, def_use: &DefUse) -> BTreeMap<u32, LoopVersion> {
    let mut found = BTreeMap::new();
    multiples::each_loop(&function.body, def_use, &mut |f, at, known| {
        if let Some(rows) = rows(f, known) {
            found.insert(at, LoopVersion::Delinearised(rows));
        }
    });
    found
}

fn rows(f: &For, multiples: &Multiples) -> Option<Rows> {
    if !matches!(f.mode, LoopMode::Seq { .. }) {
        return None;
    }
    let mut divided = f.body.iter().filter_map(quotient_or_remainder).peekable();
    // A cheap test before the whole body is visited.
    divided.peek()?;
    let index = indices(f);
    let (_, _, ty, mut size) = divided.find(|(x, ..)| index.contains(x))?;
    let mut divides = |by| divided.any(|(x, _, _, size)| index.contains(&x) && size == by);
    if let Some((base, _)) = multiples.get(&size)
        && divides(*base)
    {
        size = *base;
    }
    if !is_at_most(&f.body, MOST) {
        return None;
    }
    let mut shared = false;
    each_stmt(&f.body, &mut |stmt| {
        shared |= matches!(stmt, Stmt::For(inner) if inner.mode.launch().is_some());
    });
    let own = size == f.var || sets(&f.body).contains_key(&size);
    (!own && !shared).then(|| Rows { ty, size, multiples: multiples.clone() })
}

/// The number of statements that set each variable.
pub(super) fn sets(stmts: &[Stmt]) -> FxHashMap<Var, usize> {
    let mut sets = FxHashMap::default();
    each_stmt(stmts, &mut |stmt| {
        each_use(stmt, &mut |var, used| {
            if used == Use::Sets {
                *sets.entry(var).or_default() += 1;
            }
        });
    });
    sets
}

/// The variables of a loop's body that equal its index throughout, where the index is small.
pub(super) fn indices(f: &For) -> FxHashSet<Var> {
    let sets = sets(&f.body);
    let same = f.body.iter().filter_map(|stmt| {
        let Stmt::Set(var, e) = stmt else {
            return None;
        };
        let index = if let Expr::Scalar(ScalarOp::Convert {
            op: ConvOp::SExt | ConvOp::ZExt,
            from: PrimType::I64,
            to,
            arg: x,
        }) = e
            && matches!(to, PrimType::I32 | PrimType::I64)
        {
            x
        } else {
            e
        };
        (*index == Expr::Var(f.var) && sets.get(var) == Some(&1)).then_some(*var)
    });
    same.chain([f.var]).collect()
}

/// The dividend of a statement, true for a quotient or false for a remainder, their type, and the divisor.
fn quotient_or_remainder(stmt: &Stmt) -> Option<(Var, bool, PrimType, Var)> {
    let Stmt::Set(_, Expr::Scalar(ScalarOp::Binary(op, ty, x, y))) = stmt else {
        return None;
    };
    let (Expr::Var(x), Expr::Var(size)) = (&**x, &**y) else {
        return None;
    };
    let quotient = op.class() == BinClass::Quotient;
    let remainder = op.class() == BinClass::Remainder;
    let wide = matches!(ty, PrimType::I32 | PrimType::I64);
    ((quotient || remainder) && wide).then_some((*x, quotient, *ty, *size))
}

/// Replaces the quotient and remainder of the loop's index by the given row and position.
pub(super) fn substitute_index(f: &mut For, rows: &Rows, row: Var, column: Var) {
    let index = indices(f);
    for stmt in &mut f.body {
        let (Some((x, quotient, ty, by)), Stmt::Set(_, e)) = (quotient_or_remainder(stmt), &mut *stmt) else {
            continue;
        };
        if !index.contains(&x) || ty != rows.ty {
            continue;
        }
        let value = if by == rows.size {
            Expr::Var(if quotient { row } else { column })
        } else if let Some((size, factor)) = rows.multiples.get(&by)
            && *size == rows.size
        {
            let row = Operand::Var(row);
            if quotient { row / *factor } else { row % *factor * rows.size + column }
        } else {
            continue;
        };
        *e = if rows.ty == PrimType::I64 {
            value
        } else {
            Expr::convert(ConvOp::SExt, PrimType::I64, rows.ty, value)
        };
    }
}
