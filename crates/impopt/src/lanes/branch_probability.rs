//! Branch probability: conditions that nearly always hold, namely that a magnitude is at most a
//! bound that few numbers reach. The other branch is rare then, and neither its cost nor the width
//! of its operands counts for much: trigonometric functions have another path for arguments of very
//! large magnitude (`prelude/libm32.fut`).

use imp::walk::each_stmt;
use imp::{Expr, Stmt, Var};
use prim::{CmpOp, PrimType, Scalar, ScalarOp, UnOp};
use rustc_hash::FxHashMap;

/// The least bound that few numbers reach.
const LARGE: f64 = 65536.0;

/// The conditions of a function that nearly always hold.
pub(super) struct LikelyConditions(FxHashMap<Var, bool>);

impl LikelyConditions {
    /// Finds them in the statements of a function.
    pub(super) fn of(body: &[Stmt]) -> Self {
        let mut magnitudes: FxHashMap<Var, bool> = FxHashMap::default();
        let mut found: FxHashMap<Var, bool> = FxHashMap::default();
        each_stmt(body, &mut |stmt| {
            let Stmt::Set(var, e) = stmt else {
                return;
            };
            // A variable that is set more than once has to qualify each time.
            let is = is_magnitude(e, &magnitudes);
            *magnitudes.entry(*var).or_insert(true) &= is;
            let is = is_bounded(e, &magnitudes);
            *found.entry(*var).or_insert(true) &= is;
        });
        Self(found)
    }

    /// Returns true if a condition nearly always holds.
    pub(super) fn holds(&self, cond: &Expr) -> bool {
        if let Expr::Var(var) = cond {
            self.0.get(var).copied().unwrap_or(false)
        } else {
            is_bounded(cond, &FxHashMap::default())
        }
    }
}

fn is_magnitude(e: &Expr, known: &FxHashMap<Var, bool>) -> bool {
    if let Expr::Var(var) = e {
        return known.get(var).copied().unwrap_or(false);
    }
    matches!(e, Expr::Scalar(ScalarOp::Unary(UnOp::FAbs, ..)))
}

/// Returns true if an expression compares a magnitude with a large upper bound.
fn is_bounded(e: &Expr, magnitudes: &FxHashMap<Var, bool>) -> bool {
    let Expr::Scalar(ScalarOp::Compare(CmpOp::FLe | CmpOp::FLt, PrimType::F32 | PrimType::F64, x, bound)) = e
    else {
        return false;
    };
    let large = if let Expr::Const(Scalar::F32(bound)) = **bound {
        f64::from(bound) >= LARGE
    } else {
        matches!(**bound, Expr::Const(Scalar::F64(bound)) if bound >= LARGE)
    };
    large && is_magnitude(x, magnitudes)
}
