//! Indices of 32 bits, seen over all lanes.
//!
//! ```text
//! j: i32 = sext.i64.i32(i) - 1
//! k: i64 = sext.i32.i64(j)            k + lane, wherever k + lane is an index
//! x: f32 = xs[f32: (k, 1)]
//! ```
//!
//! Arithmetic wraps at 32 bits, so over all lanes `k` is a vector: a lane behind the
//! greatest number of 32 bits has a negative one. But no element has a negative index:
//! such a lane is at no access. So where it stands as an index, what is extended from 32
//! bits and grows from lane to lane is taken to grow in 64 bits as well. What shrinks
//! from lane to lane is not: behind the least number comes the greatest, which may be an
//! index.
//!
//! Needs: indices in [`Access::dims`](crate::syntax::Access::dims) are those of an
//! array's elements, from 0 up, in each lane that is there; `generate` makes no others.

use super::value::{Shapes, Stride, Val};
use crate::places::Places;
use crate::syntax::{Expr, For, Stmt, Var};
use crate::walk::{Use, in_expr, names};
use prim::{BinOp, ConvOp, PrimType};
use rustc_hash::{FxHashMap, FxHashSet};

/// The greatest step from lane to lane: no more than 2^6 lanes reach over half of the
/// numbers of 32 bits with it.
const MOST_STEP: i64 = 1 << 16;
/// What may be added to an extended number: the least ones stay negative.
const MOST_ADDED: u64 = 1 << 30;

/// What variables of a loop's body are extended from, where those that read them may
/// compute it again: nothing that it names is set anew in between.
pub(super) fn extended(places: &Places, f: &For, own: &FxHashSet<Var>) -> FxHashMap<Var, (PrimType, Expr)> {
    let mut found = Found::default();
    found.block(&f.body);
    let Found { times, mut from } = found;
    // What is set once, in front of all that names it, has one value for all of them.
    let steady = |var: Var| {
        let once = times.get(&var).copied().unwrap_or(0) <= 1;
        var == f.var || !own.contains(&var) || once && places.leader(var).is_some()
    };
    from.retain(|var, (_, expr)| {
        let mut all = steady(*var);
        in_expr(expr, &mut |named, _| all &= steady(named));
        all
    });
    from
}

#[derive(Default)]
struct Found {
    /// How many statements set a variable.
    times: FxHashMap<Var, u32>,
    from: FxHashMap<Var, (PrimType, Expr)>,
}

impl Found {
    fn block(&mut self, stmts: &[Stmt]) {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            for stmt in stmts {
                names(stmt, &mut |var, used| {
                    if used == Use::Sets {
                        *self.times.entry(var).or_default() += 1;
                    }
                });
                match stmt {
                    Stmt::Set(var, Expr::Convert(ConvOp::SExt, from, PrimType::I64, x)) => {
                        self.from.insert(*var, (*from, (**x).clone()));
                    }
                    Stmt::If(_, yes, no) => {
                        self.block(yes);
                        self.block(no);
                    }
                    Stmt::While(_, body) | Stmt::For(For { body, .. }) => self.block(body),
                    crate::leaf_stmt!() => {}
                }
            }
        });
    }
}

impl Shapes<'_> {
    /// An index over all lanes.
    pub(super) fn index(&self, index: &Expr) -> Val {
        self.grown(index).unwrap_or_else(|| self.value(index))
    }

    /// An index that grows from lane to lane, if its extension to 64 bits is all that
    /// keeps it from doing so.
    fn grown(&self, index: &Expr) -> Option<Val> {
        if let Expr::Var(var) = index {
            let (from, x) = self.extended.get(var)?;
            return self.extension(*from, x);
        }
        if let Expr::Convert(ConvOp::SExt, from, PrimType::I64, x) = index {
            return self.extension(*from, x);
        }
        let Expr::Binary(op @ (BinOp::Add | BinOp::Sub), PrimType::I64, x, y) = index else {
            return None;
        };
        let added = if let Expr::Const(added) = &**y {
            added.as_i64()?.unsigned_abs()
        } else {
            return None;
        };
        let x = self.grown(x).filter(|_| added <= MOST_ADDED)?;
        Some(self.binary(*op, PrimType::I64, x, Val::Uniform((**y).clone())))
    }

    fn extension(&self, from: PrimType, x: &Expr) -> Option<Val> {
        match self.value(x) {
            Val::Affine(PrimType::I32, base, Stride::Const(step))
                if from == PrimType::I32 && (1..=MOST_STEP).contains(&i64::from(step as i32)) =>
            {
                let base = Expr::Convert(ConvOp::SExt, from, PrimType::I64, Box::new(base));
                let step = Stride::Const(i64::from(step as i32));
                Some(Val::Affine(PrimType::I64, base, step))
            }
            Val::Uniform(_) | Val::Affine(..) | Val::Vector(_) => None,
        }
    }
}
