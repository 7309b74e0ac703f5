//! 32-bit indices over all lanes.
//!
//! ```text
//! j: i32 = sext.i64.i32(i) - 1
//! k: i64 = sext.i32.i64(j)            k + lane, wherever k + lane is an index
//! x: f32 = xs[f32: (k, 1)]
//! ```
//!
//! Arithmetic wraps at 32 bits, so over all lanes `k` is a vector: a lane above the greatest 32-bit
//! number has a negative one. But no element has a negative index: such a lane is inactive at every
//! access. So as an index, a value that is extended from 32 bits and increases from lane to lane is
//! taken to increase in 64 bits as well. A decreasing value is not: below the least number comes
//! the greatest, which may be an index.
//!
//! Needs: indices in [`Access::dims`](imp::Access::dims) are in the bounds of an array,
//! from 0 up, in each active lane; `generate` makes no others.

use super::value::{LaneValue, Shapes, Stride};
use imp::def_use::DefUse;
use imp::walk::{Use, each_stmt, each_use, each_var};
use imp::{Expr, For, Stmt, Var};
use prim::{BinOp, ConvOp, PrimType, ScalarOp};
use rustc_hash::{FxHashMap, FxHashSet};

/// The greatest stride from lane to lane: with it, up to 2^6 lanes span at most half of the 32-bit
/// numbers.
const MOST_STEP: i64 = 1 << 16;
/// The greatest summand to an extended number: the least ones remain negative.
const MOST_ADDED: u64 = 1 << 30;

/// The narrow expressions that variables of a loop's body are extended from, where the readers of
/// the variables may recompute them: nothing that they name is set in between.
pub(super) fn extended_from(
    def_use: &DefUse,
    f: &For,
    own: &FxHashSet<Var>,
) -> FxHashMap<Var, (PrimType, Expr)> {
    let mut found = Found::default();
    found.block(&f.body);
    let Found { times, mut from } = found;
    // A variable set once, before all its uses, has one value for all of them.
    let invariant = |var: Var| {
        let once = times.get(&var).copied().unwrap_or(0) <= 1;
        var == f.var || !own.contains(&var) || once && def_use.dominating_def(var).is_some()
    };
    from.retain(|var, (_, expr)| {
        let mut all = invariant(*var);
        each_var(expr, &mut |named, _| all &= invariant(named));
        all
    });
    from
}

#[derive(Default)]
struct Found {
    /// The number of statements that set each variable.
    times: FxHashMap<Var, u32>,
    from: FxHashMap<Var, (PrimType, Expr)>,
}

impl Found {
    fn block(&mut self, stmts: &[Stmt]) {
        each_stmt(stmts, &mut |stmt| {
            each_use(stmt, &mut |var, used| {
                if used == Use::Sets {
                    *self.times.entry(var).or_default() += 1;
                }
            });
            if let Stmt::Set(var, Expr::Scalar(op)) = stmt
                && let ScalarOp::Convert { op: ConvOp::SExt, from, to: PrimType::I64, arg: x } = op
            {
                self.from.insert(*var, (*from, (**x).clone()));
            }
        });
    }
}

impl Shapes<'_> {
    /// An index over all lanes.
    pub(super) fn index(&self, index: &Expr) -> LaneValue {
        self.widened(index).unwrap_or_else(|| self.value(index))
    }

    /// An index that is affine with an increasing stride if its extension to 64 bits is ignored.
    fn widened(&self, index: &Expr) -> Option<LaneValue> {
        if let Expr::Var(var) = index {
            let (from, x) = self.extended.get(var)?;
            return self.extension(*from, x);
        }
        if let Expr::Scalar(ScalarOp::Convert { op: ConvOp::SExt, from, to: PrimType::I64, arg: x }) = index {
            return self.extension(*from, x);
        }
        let Expr::Scalar(ScalarOp::Binary(op @ (BinOp::Add | BinOp::Sub), PrimType::I64, x, y)) = index
        else {
            return None;
        };
        let added = if let Expr::Const(added) = &**y {
            added.as_i64()?.unsigned_abs()
        } else {
            return None;
        };
        let x = self.widened(x).filter(|_| added <= MOST_ADDED)?;
        Some(self.binary(*op, PrimType::I64, x, LaneValue::Uniform((**y).clone())))
    }

    fn extension(&self, from: PrimType, x: &Expr) -> Option<LaneValue> {
        match self.value(x) {
            LaneValue::Affine(PrimType::I32, base, Stride::Const(step))
                if from == PrimType::I32 && (1..=MOST_STEP).contains(&i64::from(step as i32)) =>
            {
                let base = Expr::convert(ConvOp::SExt, from, PrimType::I64, base);
                let step = Stride::Const(i64::from(step as i32));
                Some(LaneValue::Affine(PrimType::I64, base, step))
            }
            LaneValue::Uniform(_) | LaneValue::Affine(..) | LaneValue::Vector(_) => None,
        }
    }
}
