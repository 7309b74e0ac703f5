//! Loop versioning: by the trip count for loops in lanes, by the number of elements for loops over
//! short rows ([`short_rows`](super::short_rows)), and the two-loop version of a loop over pairs of
//! indices ([`delinearise`](super::delinearise)).
//!
//! ```text
//! for i in lo .. hi independent {        if hi - lo < least {
//!   .. for j in 0 .. m independent         for i' in lo .. hi { .. lanes may take j' .. }
//!   ..                              =>   } else {
//! }                                        for i in lo .. hi independent { .. lanes take i .. }
//!                                        }
//! ```
//!
//! Few iterations of a loop in lanes leave lanes idle: a chunk has few expensive iterations. They
//! are faster sequentially, with lanes for inner loops where these can have them. A version has
//! variables of its own, as those of the original become vectors. Runs before statements are
//! finally numbered.

use super::delinearise::{Rows, is_expensive, substitute_index};
use crate::loop_copies::{Renamed, apply, each_local};
use crate::loops::ReplaceLoops;
use imp::build::{and, max, min};
use imp::def_use::DefUse;
use imp::expr;
use imp::rename::replace;
use imp::{Expr, For, Function, Launch, LoopMode, Stmt, Var, VarInfo};
use prim::{ConvOp, PrimType, Scalar};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;
use target::chunks::{MAX_SPECIALISED_ROW, MIN_DELINEARISED_EXPENSIVE_ROW, MIN_DELINEARISED_ROW};

/// The largest index or size that is the same in 32 bits.
const SMALL: i64 = i32::MAX as i64;

/// The criterion of a loop version.
#[derive(Clone)]
pub(super) enum LoopVersion {
    /// By trip count: fewer iterations than this bound are sequential.
    TripCount(i64),
    /// Delinearised: two loops, over rows and in each, where rows have enough elements and all
    /// numbers are small.
    Delinearised(Rows),
    /// By the number of a row's elements, a variable: a version for each value up to
    /// [`MAX_SPECIALISED_ROW`].
    RowLength(Var),
}

/// Makes the versions of loops, given by their numbers.
pub(super) fn make_versions(
    function: &mut Function,
    def_use: &DefUse,
    loop_versions: &BTreeMap<u32, LoopVersion>,
) {
    let mut split =
        Split { vars: std::mem::take(&mut function.vars), def_use, loop_versions, renamed: Vec::new() };
    let body = std::mem::take(&mut function.body);
    function.body = split.block(body, DefUse::FIRST);
    function.vars = split.vars;
    // The variables outside of tasks.
    list_copies(&mut function.owned, &split.renamed);
}

/// Adds the copies of the variables in a list to it.
fn list_copies(list: &mut Vec<Var>, renamed: &[(Var, Var)]) {
    let mut listed: FxHashSet<Var> = list.iter().copied().collect();
    for (old, new) in renamed {
        if listed.contains(old) {
            listed.insert(*new);
            list.push(*new);
        }
    }
}

struct Split<'p> {
    vars: Vec<VarInfo>,
    def_use: &'p DefUse,
    loop_versions: &'p BTreeMap<u32, LoopVersion>,
    /// Variables of the innermost frame and their copies.
    renamed: Vec<(Var, Var)>,
}

impl ReplaceLoops for Split<'_> {
    type Mark = usize;

    fn def_use(&self) -> &DefUse {
        self.def_use
    }

    fn replace(&mut self, f: For, at: u32, out: &mut Vec<Stmt>) -> Option<For> {
        out.push(match self.loop_versions.get(&at) {
            Some(&LoopVersion::TripCount(least)) => self.short_trip_version(f, at, least),
            Some(LoopVersion::Delinearised(rows)) => self.delinearised(f, at, rows),
            Some(&LoopVersion::RowLength(size)) => self.by_size(f, at, size),
            None => return Some(f),
        });
        None
    }

    fn mark(&self) -> usize {
        self.renamed.len()
    }

    fn leave(&mut self, mark: usize, launch: &mut Launch) {
        let renamed = self.renamed.split_off(mark);
        for own in [&mut launch.locals, &mut launch.owned, &mut launch.distinct, &mut launch.scattered] {
            list_copies(own, &renamed);
        }
    }
}

impl Split<'_> {
    /// A scalar version for few iterations, and the loop.
    fn short_trip_version(&mut self, f: For, at: u32, least: i64) -> Stmt {
        let mut few = vec![Stmt::For(For { mode: LoopMode::Seq { independent: false }, ..f.clone() })];
        self.rename(&mut few, at);
        let count = f.to.clone() - f.from.clone();
        let cond = expr!(count < least);
        Stmt::If(cond, few, vec![Stmt::For(f)])
    }

    /// The delinearised version, and the loop.
    fn delinearised(&mut self, f: For, at: u32, rows: &Rows) -> Stmt {
        let mut copy = vec![Stmt::For(f.clone())];
        self.rename(&mut copy, at);
        let Some(Stmt::For(mut inner)) = copy.pop() else {
            return Stmt::For(f);
        };
        let [row, column] = [f.var; 2].map(|index| self.like(index));
        substitute_index(&mut inner, rows, row, column);
        let size = Expr::Var(rows.size);
        let size = if rows.ty == PrimType::I64 {
            size
        } else {
            Expr::convert(ConvOp::SExt, rows.ty, PrimType::I64, size)
        };
        let (lo, hi) = (f.from.clone(), f.to.clone());
        let first = row * size.clone();
        let index = first.clone() + column;
        inner.body.insert(0, Stmt::Set(inner.var, index));
        let outer = For {
            mode: f.mode.clone(),
            var: row,
            from: lo.clone() / size.clone(),
            to: (hi.clone() + (size.clone() - 1)) / size.clone(),
            body: vec![Stmt::For(For {
                var: column,
                from: max(lo.clone() - first.clone(), 0),
                to: min(hi.clone() - first, size.clone()),
                ..inner
            })],
        };
        let shortest = if is_expensive(&f) { MIN_DELINEARISED_EXPENSIVE_ROW } else { MIN_DELINEARISED_ROW };
        let least = |x, y| expr!(x <= y);
        let conds = [
            least(Expr::i64(shortest), size.clone()),
            least(size, Expr::i64(SMALL)),
            least(hi, Expr::i64(SMALL)),
            least(Expr::i64(0), lo),
        ];
        let cond = conds.into_iter().reduce(and);
        let cond = cond.unwrap_or(Expr::Const(Scalar::Bool(false)));
        Stmt::If(cond, vec![Stmt::For(outer)], vec![Stmt::For(f)])
    }

    /// A new variable like another.
    fn like(&mut self, var: Var) -> Var {
        let new = Var::new(self.vars.len());
        self.vars.push(self.vars[var.index()].clone());
        self.renamed.push((var, new));
        new
    }

    /// Versions for short rows, and the loop.
    fn by_size(&mut self, f: For, at: u32, size: Var) -> Stmt {
        let mut rest = Stmt::For(f.clone());
        for n in (1..=MAX_SPECIALISED_ROW).rev() {
            let mut rows = vec![Stmt::For(f.clone())];
            replace(&mut rows, size, &Expr::i64(n));
            self.rename(&mut rows, at);
            let cond = expr!(size == n);
            rest = Stmt::If(cond, rows, vec![rest]);
        }
        rest
    }

    /// Renames the variables in a copy of the loop with this number.
    fn rename(&mut self, copy: &mut [Stmt], at: u32) {
        let renamed = self.fresh(copy, at);
        apply(copy, &renamed);
    }

    /// New variables for the local variables that a loop sets.
    fn fresh(&mut self, stmts: &[Stmt], at: u32) -> Renamed {
        let mut renamed = Renamed::default();
        each_local(stmts, at, self.def_use, |var| {
            renamed.entry(var).or_insert_with(|| self.like(var));
        });
        renamed
    }
}
