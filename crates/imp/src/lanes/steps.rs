//! How far accesses move from one turn of the loop around them to the next.
//!
//! ```text
//! for i in lo .. hi lanes {
//!   for j in 0 .. m {
//!     k = j + 1
//!     x = xs[f32: i * m + k]        one element further each turn
//! ```
//!
//! Lanes far apart have cache lines of their own. Where each goes on along its row, a line is
//! there when its next elements are asked for, which [`cost`](super::cost) counts.

use crate::syntax::{Access, Expr, Var};
use crate::walk::each_part;
use prim::{BinOp, PrimType, Scalar};
use rustc_hash::FxHashMap;

/// Elements that a turn may move on: a line of the cache has several more.
const ALONG: u64 = 2;

/// By how much variables that the innermost loop sets are more from turn to turn, where that
/// is known; others stay as they are.
pub(super) struct Steps(FxHashMap<Var, Option<i64>>);

impl Steps {
    /// The beginning of a loop with this counter.
    pub(super) fn of(counter: Var) -> Self {
        Self(std::iter::once((counter, Some(1))).collect())
    }

    /// A variable gets a value; nothing is known of one without.
    pub(super) fn set(&mut self, var: Var, value: Option<&Expr>) {
        let step = value.and_then(|value| self.step(value));
        self.0.insert(var, step);
    }

    /// Whether each turn finds its element beside that of the turn before.
    pub(super) fn along(&self, access: &Access) -> bool {
        let dims = access.dims.iter().map(|(index, by)| self.times(index, by));
        let steps = std::iter::once(self.step(&access.offset)).chain(dims);
        let sum = steps.sum::<Option<i64>>();
        sum.is_some_and(|sum| sum != 0 && sum.unsigned_abs() <= ALONG)
    }

    fn step(&self, e: &Expr) -> Option<i64> {
        if let Expr::Var(var) = e {
            return self.0.get(var).copied().unwrap_or(Some(0));
        }
        if let Expr::Binary(op, PrimType::I64, x, y) = e {
            if *op == BinOp::Add {
                return self.step(x)?.checked_add(self.step(y)?);
            } else if *op == BinOp::Sub {
                return self.step(x)?.checked_sub(self.step(y)?);
            } else if *op == BinOp::Mul {
                return self.times(x, y);
            }
        }
        let mut stays = true;
        each_part(e, &mut |part| stays &= self.step(part) == Some(0));
        stays.then_some(0)
    }

    fn times(&self, x: &Expr, y: &Expr) -> Option<i64> {
        match (self.step(x)?, self.step(y)?, x, y) {
            (0, 0, ..) => Some(0),
            (step, 0, _, Expr::Const(Scalar::I64(by))) | (0, step, Expr::Const(Scalar::I64(by)), _) => {
                step.checked_mul(*by)
            }
            _ => None,
        }
    }
}
