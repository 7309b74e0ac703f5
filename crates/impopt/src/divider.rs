//! Balances square roots and quotients between the divider and the multipliers.
//!
//! A processor core has one unit for quotients and square roots, which is busy for many cycles with
//! each vector of doubles, and several units that multiply and add. Where a loop keeps the divider
//! busy and leaves the others idle, every other square root is faster by multiplications: from an
//! estimate, by iterations that double its digits, with the same bits in the result. That takes two
//! vector registers at a time, so the vectoriser gives such a loop twice the lanes, and when all
//! loops have their final form, [`share`] marks the roots to split.
//!
//! Quotients of singles are computed by multiplications too, a register at a time: as many of a
//! loop's as balance the divider with the other units. Their latency is higher then, so the ones on
//! a loop-carried path remain.
//!
//! [`should_split_roots`] considers only the operators of the code, scalar or vector.

mod quotients;

use imp::walk::{each_operand, each_part_mut, lanes_of};
use imp::{Expr, For, Function, LoopMode, ROOT_LANES, Stmt, VarInfo};
use ir::Fuel;
use prim::{BinOp, PrimType, ScalarOp, UnOp};
use target::Machine;

/// The number of lanes of a register.
const LANES: f64 = ROOT_LANES as f64 / 2.0;
/// The multipliers' operations for a quotient, and for a root, in addition to the divider.
const QUOTIENT_STEPS: f64 = 3.0;
const ROOT_STEPS: f64 = 2.0;
/// The multipliers' operations for a root without the divider.
const ROOT_BY_PRODUCTS: f64 = 15.0;
/// The same for a quotient of singles, and for a reciprocal.
const QUOTIENT_BY_PRODUCTS: f64 = 17.0;
const RECIPROCAL_BY_PRODUCTS: f64 = 11.0;
/// The largest ratio of the new to the old cycles for which splitting pays.
const WORTH: f64 = 0.9;

/// Returns true if a loop with this body, without inner loops, is faster with every other square
/// root of doubles computed without the divider, which requires the estimate instructions of
/// processors with masks.
pub fn should_split_roots(body: &[Stmt], machine: Machine) -> bool {
    if !machine.has_masks() {
        return false;
    }
    let mut load = Load::default();
    load.block(body);
    let Load { quotients, roots, others } = load;
    let (quotient, root) = (machine.uarch.quotient_f64, machine.uarch.root_f64);
    let divider = |by_divider: f64| LANES * (quotient * quotients + root * by_divider);
    let multipliers = |by_divider: f64| {
        let operations = others
            + QUOTIENT_STEPS * quotients
            + ROOT_STEPS * by_divider
            + ROOT_BY_PRODUCTS * (roots - by_divider);
        LANES * machine.uarch.product_f64 * operations
    };
    let cycles = |by_divider: f64| divider(by_divider).max(multipliers(by_divider));
    roots > 0.0 && cycles(roots / 2.0) <= WORTH * cycles(roots)
}

/// Splits the square roots and quotients of a function's loops that are bound by the divider, all
/// of them for one unit of fuel.
pub(crate) fn split_roots(function: &mut Function, machine: Machine, fuel: &mut Fuel) {
    if machine.has_masks() && fuel.take() {
        let share = Split { vars: &function.vars, machine };
        share.block(&mut function.body, false);
    }
}

struct Split<'f> {
    vars: &'f [VarInfo],
    machine: Machine,
}

impl Split<'_> {
    /// Visits the statements of a loop; `shares` is true if its roots are split.
    fn block(&self, stmts: &mut [Stmt], shares: bool) {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            for stmt in stmts {
                match stmt {
                    // The same expressions as `Load` counts.
                    Stmt::Set(_, e)
                    | Stmt::Store(_, e)
                    | Stmt::StoreLanes { value: e, .. }
                    | Stmt::Check { cond: e, .. }
                        if shares =>
                    {
                        self.expr(e);
                    }
                    Stmt::If(cond, yes, no) => {
                        if shares {
                            self.expr(cond);
                        }
                        self.block(yes, shares);
                        self.block(no, shares);
                    }
                    Stmt::While(_, body) => self.body(body),
                    Stmt::For(For { mode: how, body, .. }) => match how {
                        LoopMode::Seq { .. } | LoopMode::Lanes(_) => self.body(body),
                        // The pipelined loop was estimated with the divider alone, so it is treated
                        // as the loop around it.
                        LoopMode::Scheduled => self.block(body, shares),
                        LoopMode::Tasks(_) => self.block(body, false),
                        LoopMode::Grid(_) | LoopMode::Threads(_) => {}
                    },
                    imp::leaf_stmt!() => {}
                }
            }
        });
    }

    fn body(&self, body: &mut [Stmt]) {
        let shares = should_split_roots(body, self.machine);
        self.block(body, shares);
        quotients::share(self.vars, self.machine, body);
    }

    /// Marks the roots in an expression.
    fn expr(&self, e: &mut Expr) {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            each_part_mut(e, &mut |part| self.expr(part));
            if let Expr::Scalar(ScalarOp::Unary(UnOp::FSqrt, PrimType::F64, x)) = e
                && lanes_of(self.vars, x) == Some(ROOT_LANES)
            {
                let x = std::mem::replace(x, Box::new(Expr::i64(0)));
                *e = Expr::SplitSqrt(x);
            }
        });
    }
}

/// The operators of a body, each counted once.
#[derive(Default)]
struct Load {
    quotients: f64,
    roots: f64,
    /// The multipliers' other operations.
    others: f64,
}

impl Load {
    fn block(&mut self, stmts: &[Stmt]) {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            for stmt in stmts {
                match stmt {
                    Stmt::Set(_, e) | Stmt::Store(_, e) => self.expr(e),
                    Stmt::StoreLanes { value, .. } => self.expr(value),
                    Stmt::Check { cond, .. } => self.expr(cond),
                    Stmt::If(cond, yes, no) => {
                        self.expr(cond);
                        self.block(yes);
                        self.block(no);
                    }
                    imp::leaf_stmt!() | imp::nested_stmt!() => {}
                }
            }
        });
    }

    fn expr(&mut self, expr: &Expr) {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            if let Expr::Scalar(ScalarOp::Unary(UnOp::FSqrt, PrimType::F64, _)) = expr {
                self.roots += 1.0;
            } else if let Expr::Scalar(ScalarOp::Binary(op, ty, _, _)) = expr {
                if (*op, *ty) == (BinOp::FDiv, PrimType::F64) {
                    self.quotients += 1.0;
                } else if matches!(op, BinOp::FMul | BinOp::Mul) {
                    self.others += 1.0;
                } else if matches!(op, BinOp::FMin | BinOp::FMax) {
                    self.others += 4.0;
                }
            } else if matches!(
                expr,
                Expr::Scalar(ScalarOp::Fma(..) | ScalarOp::Compare(..) | ScalarOp::Convert { .. })
            ) {
                self.others += 1.0;
            }
            each_operand(expr, &mut |part| self.expr(part));
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use imp::Var;
    use target::Microarchitecture;

    #[test]
    fn square_roots_are_split_if_the_multipliers_are_idle() {
        let x = || Box::new(Expr::Var(Var(0)));
        let root = Stmt::Set(Var(1), Expr::Scalar(ScalarOp::Unary(UnOp::FSqrt, PrimType::F64, x())));
        let single = Stmt::Set(Var(1), Expr::Scalar(ScalarOp::Unary(UnOp::FSqrt, PrimType::F32, x())));
        let product = || {
            let e = Expr::Scalar(ScalarOp::Binary(BinOp::FMul, PrimType::F64, x(), x()));
            Stmt::Set(Var(2), e)
        };
        let with_products = |count: usize| {
            let products = std::iter::repeat_with(product).take(count);
            std::iter::once(root.clone()).chain(products).collect()
        };
        let cases: [(Vec<Stmt>, bool); 5] = [
            (vec![], false),
            (vec![single], false),
            (with_products(0), true),
            (with_products(5), true),
            (with_products(12), false),
        ];
        for (body, wanted) in cases {
            let machine = Machine::of(64);
            assert_eq!(should_split_roots(&body, machine), wanted, "{body:?}");
            assert!(!should_split_roots(&body, Machine::of(32)));
            let inside = Stmt::While(Var(3), body);
            assert!(!should_split_roots(&[inside], machine));
        }
        // The slower the divider, the sooner.
        let of = |make| Machine { uarch: make, ..Machine::of(64) };
        let body: Vec<Stmt> = with_products(15);
        assert!(!should_split_roots(&body, of(Microarchitecture::ZEN4)));
        assert!(should_split_roots(&body, of(Microarchitecture::INTEL)));
        let body: Vec<Stmt> = with_products(8);
        assert!(should_split_roots(&body, of(Microarchitecture::INTEL)));
        assert!(!should_split_roots(&body, of(Microarchitecture::ZEN5)));
    }
}
