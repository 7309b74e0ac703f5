//! Indices as a counter plus an interval.

use imp::{Expr, Var};
use prim::{BinOp, PrimType, Scalar, ScalarOp};
use rustc_hash::FxHashMap;

/// A value between two bounds that do not change in a loop, or the loop's counter plus such a value.
#[derive(Clone, Debug)]
pub(super) struct Form {
    /// True if the counter is added.
    pub(super) moves: bool,
    pub(super) lo: Expr,
    pub(super) hi: Expr,
}

impl Form {
    /// A value that does not change.
    pub(super) fn fixed(value: &Expr) -> Self {
        Self { moves: false, lo: value.clone(), hi: value.clone() }
    }

    /// The counter of the loop.
    pub(super) fn counter() -> Self {
        Self { moves: true, ..Self::fixed(&Expr::i64(0)) }
    }

    fn between(lo: i64, hi: i64) -> Self {
        Self { moves: false, lo: Expr::i64(lo), hi: Expr::i64(hi) }
    }

    fn plus(self, other: Self) -> Option<Self> {
        (!(self.moves && other.moves)).then(|| Self {
            moves: self.moves || other.moves,
            lo: self.lo + other.lo,
            hi: self.hi + other.hi,
        })
    }

    fn minus(self, other: Self) -> Option<Self> {
        (!other.moves).then(|| Self { moves: self.moves, lo: self.lo - other.hi, hi: self.hi - other.lo })
    }
}

/// The forms of the `i64` variables that a loop's body sets; `None` for others that it sets.
pub(super) type Forms = FxHashMap<Var, Option<Form>>;

/// The form of an expression.
pub(super) fn form(e: &Expr, forms: &Forms) -> Option<Form> {
    if let Expr::Var(var) = e
        && let Some(known) = forms.get(var)
    {
        return known.clone();
    }
    if let Expr::Scalar(ScalarOp::Binary(op, PrimType::I64, x, y)) = e {
        return binary(*op, x, y, forms);
    }
    matches!(e, Expr::Const(Scalar::I64(_)) | Expr::Var(_)).then(|| Form::fixed(e))
}

fn binary(op: BinOp, x: &Expr, y: &Expr, forms: &Forms) -> Option<Form> {
    match (op, y) {
        (BinOp::Add, _) => form(x, forms)?.plus(form(y, forms)?),
        (BinOp::Sub, _) => form(x, forms)?.minus(form(y, forms)?),
        (BinOp::UMod | BinOp::SMod, Expr::Const(Scalar::I64(n))) if *n > 0 => Some(Form::between(0, n - 1)),
        (BinOp::UDiv | BinOp::SDiv, Expr::Const(Scalar::I64(n))) if *n > 0 => {
            let x = form(x, forms)?;
            match (&x.lo, &x.hi) {
                (Expr::Const(Scalar::I64(lo)), Expr::Const(Scalar::I64(hi)))
                    if !x.moves && 0 <= *lo && lo <= hi =>
                {
                    Some(Form::between(lo / n, hi / n))
                }
                _ => None,
            }
        }
        _ => None,
    }
}
