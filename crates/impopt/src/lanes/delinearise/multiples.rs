//! Sizes that are constant multiples of others, at each loop.
//!
//! ```text
//! d = size * 2
//! for i in .. { i / d, i / size }        here d is 2 * size
//! size = d                               and no longer here
//! ```

use imp::def_use::DefUse;
use imp::walk::{Use, each_stmt, each_use};
use imp::{Expr, For, Stmt, Var};
use prim::{BinOp, PrimType, Scalar, ScalarOp};
use rustc_hash::FxHashMap;

/// The largest factor: its products with sizes that fit in 32 bits do not overflow.
const LARGEST_FACTOR: i64 = 1 << 20;

/// `i64` variables that are a constant multiple, from 2 to [`LARGEST_FACTOR`], of another one.
pub(in crate::lanes) type Multiples = FxHashMap<Var, (Var, i64)>;

/// Calls `f` on all loops, with their numbers and the multiples at each.
pub(super) fn each_loop(stmts: &[Stmt], def_use: &DefUse, f: &mut dyn FnMut(&For, u32, &Multiples)) {
    Walk { def_use, f }.block(stmts, DefUse::FIRST, &mut Multiples::default());
}

struct Walk<'w> {
    def_use: &'w DefUse,
    f: &'w mut dyn FnMut(&For, u32, &Multiples),
}

impl Walk<'_> {
    fn block(&mut self, stmts: &[Stmt], mut at: u32, known: &mut Multiples) {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            for stmt in stmts {
                match stmt {
                    Stmt::If(_, yes, no) => {
                        self.block(yes, at + 1, &mut known.clone());
                        self.block(no, self.def_use.else_start(at), &mut known.clone());
                        forget(stmt, known);
                    }
                    Stmt::While(_, body) => {
                        forget(stmt, known);
                        self.block(body, at + 1, &mut known.clone());
                    }
                    Stmt::For(inner) => {
                        forget(stmt, known);
                        (self.f)(inner, at, known);
                        self.block(&inner.body, at + 1, &mut known.clone());
                    }
                    imp::leaf_stmt!() => {
                        forget(stmt, known);
                        known.extend(multiple(stmt));
                    }
                }
                at = self.def_use.end(at);
            }
        });
    }
}

/// The variable that a statement sets to a multiple.
fn multiple(stmt: &Stmt) -> Option<(Var, (Var, i64))> {
    let Stmt::Set(var, Expr::Scalar(ScalarOp::Binary(BinOp::Mul, PrimType::I64, x, y))) = stmt else {
        return None;
    };
    let ((Expr::Var(size), Expr::Const(Scalar::I64(factor)))
    | (Expr::Const(Scalar::I64(factor)), Expr::Var(size))) = (&**x, &**y)
    else {
        return None;
    };
    ((2..=LARGEST_FACTOR).contains(factor) && var != size).then_some((*var, (*size, *factor)))
}

/// Removes what a statement, or one inside of it, changes.
fn forget(stmt: &Stmt, known: &mut Multiples) {
    if known.is_empty() {
        return;
    }
    each_stmt(std::slice::from_ref(stmt), &mut |stmt| {
        each_use(stmt, &mut |var, used| {
            if used == Use::Sets {
                known.retain(|multiple, (size, _)| *multiple != var && *size != var);
            }
        });
    });
}
