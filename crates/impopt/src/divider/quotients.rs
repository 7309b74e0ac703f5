//! The choice of the quotients of singles in a loop's body that are computed by multiplications.
//!
//! Quotients on a loop-carried path remain: they depend on variables or memory set in the previous
//! iteration. Quotients in bodies with inner loops remain too, as the inner loops' iterations take
//! the time there.

use super::{LANES, QUOTIENT_BY_PRODUCTS, RECIPROCAL_BY_PRODUCTS, WORTH};
use imp::walk::{Use, each_operand, each_part_mut, each_stmt, each_use, lanes_of};
use imp::{Expr, ROOT_LANES, Stmt, Var, VarInfo};
use prim::{BinOp, PrimType, Scalar, ScalarOp, UnOp};
use rustc_hash::FxHashSet;
use target::Machine;

/// Marks as many quotients of a body without loops as make it faster; reciprocals first, which take
/// fewer operations.
pub(super) fn share(vars: &[VarInfo], machine: Machine, body: &mut [Stmt]) {
    let (none, mut any) = (FxHashSet::default(), false);
    block(body, &mut |e| any |= has_quotient(vars, &none, e));
    if !any || has_loops(body) {
        return;
    }
    let mut load = Load {
        vars,
        machine,
        waiting: carried(body),
        reciprocals: 0,
        others: 0,
        divider: 0.0,
        multipliers: 0.0,
    };
    block(body, &mut |e| load.expr(e));
    let operation = LANES * machine.uarch.product_f64;
    let quotient = f64::from(ROOT_LANES) * machine.uarch.quotient_f32;
    let all = load.reciprocals + load.others;
    let cycles = |shared: usize| {
        let reciprocals = shared.min(load.reciprocals);
        let steps = RECIPROCAL_BY_PRODUCTS * reciprocals as f64
            + QUOTIENT_BY_PRODUCTS * (shared - reciprocals) as f64;
        let divider = load.divider + quotient * (all - shared) as f64;
        divider.max(load.multipliers + operation * steps)
    };
    let (mut best, mut shared) = (cycles(0) * WORTH, 0);
    for count in 1..=all {
        if cycles(count) < best {
            (best, shared) = (cycles(count), count);
        }
    }
    let mut left = (shared.min(load.reciprocals), shared.saturating_sub(load.reciprocals));
    if shared > 0 {
        block(body, &mut |e| mark(vars, &load.waiting, &mut left, e));
    }
}

fn has_loops(stmts: &[Stmt]) -> bool {
    let mut found = false;
    each_stmt(stmts, &mut |stmt| found |= matches!(stmt, Stmt::For(_) | Stmt::While(..)));
    found
}

/// The work of a body, in cycles.
struct Load<'v> {
    vars: &'v [VarInfo],
    machine: Machine,
    waiting: FxHashSet<Var>,
    /// Quotients that may be computed by multiplications.
    reciprocals: usize,
    others: usize,
    /// The other cycles of the divider.
    divider: f64,
    multipliers: f64,
}

impl Load<'_> {
    fn expr(&mut self, e: &Expr) {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            let make = self.machine.uarch;
            let lanes = lanes_of(self.vars, e).map_or(1.0, |_| f64::from(ROOT_LANES));
            if let Some(reciprocal) = quotient(self.vars, &self.waiting, e) {
                *(if reciprocal { &mut self.reciprocals } else { &mut self.others }) += 1;
            } else if let Expr::Scalar(ScalarOp::Binary(BinOp::FDiv, ty, ..)) = e {
                let each = if *ty == PrimType::F32 { make.quotient_f32 } else { make.quotient_f64 };
                self.divider += lanes * each;
            } else if let Expr::Scalar(ScalarOp::Unary(UnOp::FSqrt, ty, _)) = e {
                let each = if *ty == PrimType::F32 { make.root_f32 } else { make.root_f64 };
                self.divider += lanes * each;
            } else if operates(e) {
                self.multipliers += LANES * make.product_f64;
            }
            each_operand(e, &mut |part| self.expr(part));
        });
    }
}

/// Returns true if an expression occupies the multipliers, which also add and compare.
fn operates(e: &Expr) -> bool {
    if let Expr::Scalar(ScalarOp::Binary(_, ty, ..)) = e {
        return ty.is_float() || *ty == PrimType::I32;
    }
    matches!(
        e,
        Expr::Scalar(
            ScalarOp::Fma(..) | ScalarOp::Compare(..) | ScalarOp::Convert { .. } | ScalarOp::Select { .. }
        )
    )
}

/// For a quotient of vectors of singles that is on no loop-carried path: true if it is a
/// reciprocal.
fn quotient(vars: &[VarInfo], waiting: &FxHashSet<Var>, e: &Expr) -> Option<bool> {
    let Expr::Scalar(ScalarOp::Binary(BinOp::FDiv, PrimType::F32, x, y)) = e else {
        return None;
    };
    let full = lanes_of(vars, y).is_some_and(|lanes| lanes.is_multiple_of(ROOT_LANES));
    (full && !depends_on(x, waiting) && !depends_on(y, waiting)).then(|| is_one(x))
}

fn has_quotient(vars: &[VarInfo], waiting: &FxHashSet<Var>, e: &Expr) -> bool {
    let mut found = quotient(vars, waiting, e).is_some();
    each_operand(e, &mut |part| found |= has_quotient(vars, waiting, part));
    found
}

fn is_one(e: &Expr) -> bool {
    if let Expr::Splat(_, x) = e {
        return is_one(x);
    }
    *e == Expr::Const(Scalar::F32(1.0))
}

fn depends_on(e: &Expr, waiting: &FxHashSet<Var>) -> bool {
    let mut found = matches!(e, Expr::Var(var) if waiting.contains(var));
    each_operand(e, &mut |part| found |= depends_on(part, waiting));
    found
}

/// The variables of a body that depend on the previous iteration.
fn carried(body: &[Stmt]) -> FxHashSet<Var> {
    let (mut sets, mut stored) = (FxHashSet::default(), FxHashSet::default());
    each_stmt(body, &mut |stmt| {
        if let Stmt::Store(access, _) = stmt {
            stored.insert(access.buffer);
        } else if let Stmt::StoreLanes { to, .. } = stmt {
            stored.insert(to.buffer);
        }
        each_use(stmt, &mut |var, used| {
            if used == Use::Sets {
                sets.insert(var);
            }
        });
    });
    let (mut seen, mut waiting) = (FxHashSet::default(), FxHashSet::default());
    each_stmt(body, &mut |stmt| {
        let (mut waits, mut own) = (false, Vec::new());
        each_use(stmt, &mut |var, used| {
            if used == Use::Sets {
                own.push(var);
            } else if sets.contains(&var) && !seen.contains(&var) {
                waiting.insert(var);
            }
            waits |= used == Use::Reads && (waiting.contains(&var) || stored.contains(&var));
        });
        seen.extend(own.iter().copied());
        if waits {
            waiting.extend(own);
        }
    });
    waiting
}

/// Marks the quotients in an expression to compute by multiplications, while `left` allows:
/// reciprocals and others.
fn mark(vars: &[VarInfo], waiting: &FxHashSet<Var>, left: &mut (usize, usize), e: &mut Expr) {
    stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
        each_part_mut(e, &mut |part| mark(vars, waiting, left, part));
        let left = match quotient(vars, waiting, e) {
            Some(true) => &mut left.0,
            Some(false) => &mut left.1,
            None => return,
        };
        if *left > 0
            && let Expr::Scalar(ScalarOp::Binary(_, _, x, y)) = e
        {
            *left -= 1;
            let [x, y] = [x, y].map(|x| std::mem::replace(x, Box::new(Expr::i64(0))));
            *e = Expr::NewtonQuotient(x, y);
        }
    });
}

/// Calls `f` on the values of a body, without inner loops.
fn block(stmts: &mut [Stmt], f: &mut dyn FnMut(&mut Expr)) {
    stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
        for stmt in stmts {
            if let Stmt::Set(_, e) | Stmt::Store(_, e) | Stmt::StoreLanes { value: e, .. } = stmt {
                f(e);
            } else if let Stmt::If(cond, yes, no) = stmt {
                f(cond);
                block(yes, f);
                block(no, f);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use target::Microarchitecture;

    #[test]
    fn quotients_in_bodies_with_loops_remain() {
        let splat = |x| Box::new(Expr::Splat(ROOT_LANES, Box::new(x)));
        let (one, y) = (Expr::Const(Scalar::F32(1.0)), Expr::Var(Var(0)));
        let quotient = Expr::Scalar(ScalarOp::Binary(BinOp::FDiv, PrimType::F32, splat(one), splat(y)));
        let two = [Var(1), Var(2)].map(|var| Stmt::Set(var, quotient.clone()));
        let machine = Machine { uarch: Microarchitecture::INTEL, ..Machine::of(64) };
        let shared = |mut body: Vec<Stmt>| {
            share(&[], machine, &mut body);
            let mut count = 0;
            block(&mut body, &mut |e| {
                count += usize::from(matches!(e, Expr::NewtonQuotient(..)));
            });
            count
        };
        assert_eq!(shared(two.to_vec()), 1);
        let inner = Stmt::While(Var(3), Vec::new());
        let conditional = Stmt::If(Expr::Var(Var(3)), vec![inner.clone()], Vec::new());
        assert_eq!(shared([two.to_vec(), vec![inner]].concat()), 0);
        assert_eq!(shared([two.to_vec(), vec![conditional]].concat()), 0);
    }
}
