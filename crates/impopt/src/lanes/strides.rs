//! Strides: the distances by which accesses move per iteration of the innermost loop.
//!
//! ```text
//! for i in lo .. hi lanes {
//!   for j in 0 .. m {
//!     k = j + 1
//!     x = xs[f32: i * m + k]        one element further each iteration
//! ```
//!
//! Lanes far apart have cache lines of their own. Where each moves along its row, the line is in
//! the cache for the next elements, which [`cost`](super::cost) takes into account.

use imp::walk::each_operand;
use imp::{Access, Expr, Var};
use prim::{BinOp, PrimType, Scalar, ScalarOp};
use rustc_hash::FxHashMap;

/// The largest distance along a row per iteration: a cache line has several more elements.
const ALONG: u64 = 2;

/// The increments per iteration of variables that the innermost loop sets, where they are known;
/// other variables are invariant.
pub(crate) struct IterationStrides(FxHashMap<Var, Option<i64>>);

impl IterationStrides {
    /// The state at the start of a loop with this counter.
    pub(crate) fn of(counter: Var) -> Self {
        Self(std::iter::once((counter, Some(1))).collect())
    }

    /// A variable is set to a value, or to an unknown one.
    pub(crate) fn set(&mut self, var: Var, value: Option<&Expr>) {
        let step = value.and_then(|value| self.step(value));
        self.0.insert(var, step);
    }

    /// Returns true if an access moves along a row.
    pub(crate) fn moves_along_row(&self, access: &Access) -> bool {
        self.of_access(access).is_some_and(|step| step != 0 && step.unsigned_abs() <= ALONG)
    }

    /// The distance by which an access moves, in elements, if it is known.
    pub(crate) fn of_access(&self, access: &Access) -> Option<i64> {
        let dims = access.dims.iter().map(|(index, by)| self.times(index, by));
        std::iter::once(self.step(&access.offset)).chain(dims).sum()
    }

    fn step(&self, e: &Expr) -> Option<i64> {
        if let Expr::Var(var) = e {
            return self.0.get(var).copied().unwrap_or(Some(0));
        }
        if let Expr::Scalar(ScalarOp::Binary(op, PrimType::I64, x, y)) = e {
            if *op == BinOp::Add {
                return self.step(x)?.checked_add(self.step(y)?);
            } else if *op == BinOp::Sub {
                return self.step(x)?.checked_sub(self.step(y)?);
            } else if *op == BinOp::Mul {
                return self.times(x, y);
            }
        }
        let mut stays = true;
        each_operand(e, &mut |part| stays &= self.step(part) == Some(0));
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
