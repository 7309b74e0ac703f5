//! The loop-carried critical path of an innermost loop: the longest path from the values that an
//! iteration gets from the previous one to the values that it passes to the next. Where that is long
//! relative to the work of an iteration, the machine is idle, and more lanes cost nothing.

use crate::pipeline::cost;
use imp::walk::each_operand;
use imp::{Access, Expr, Stmt, Var};
use prim::ScalarOp;
use rustc_hash::{FxHashMap, FxHashSet};
use target::latency;

/// The cycles of a remainder or quotient by a constant.
const BY_CONSTANT: f64 = 14.0;

/// The length in cycles of the loop-carried path of a body without loops, and the number of
/// loop-carried variables; `condition` is tested before each iteration.
pub(super) fn carried_path(body: &[Stmt], condition: Option<Var>) -> Option<(f64, usize)> {
    let mut all = CarriedPath::default();
    all.used.extend(condition);
    all.block(body)?;
    let carried = all.used.iter().filter(|var| all.times.contains_key(var));
    let mut flow = CarriedPath { carried: Some(carried.copied().collect()), ..CarriedPath::default() };
    flow.block(body)?;
    let carried = flow.carried.unwrap_or_default();
    let times = carried.iter().filter_map(|var| *flow.times.get(var)?);
    Some((times.fold(0.0, f64::max), carried.len()))
}

/// The times at which values are available, relative to those of the previous iteration.
#[derive(Default)]
struct CarriedPath {
    /// The loop-carried variables, once they are known; until then, all variables used before they
    /// are set count.
    carried: Option<FxHashSet<Var>>,
    /// The variables set in this iteration with their times; `None` for one that is not on the
    /// path.
    times: FxHashMap<Var, Option<f64>>,
    /// The variables used before they are set.
    used: FxHashSet<Var>,
}

impl CarriedPath {
    fn block(&mut self, stmts: &[Stmt]) -> Option<()> {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || stmts.iter().try_for_each(|stmt| self.stmt(stmt)))
    }

    /// Returns `None` for statements that are not analysed.
    fn stmt(&mut self, stmt: &Stmt) -> Option<()> {
        match stmt {
            Stmt::Set(var, e) => {
                let time = self.expr(e);
                self.times.insert(*var, time);
            }
            Stmt::Load(var, access) => {
                let time = self.access(access).map(|time| time + latency::LOAD.0);
                self.times.insert(*var, time);
            }
            Stmt::Store(access, e) => {
                self.access(access);
                self.expr(e);
            }
            Stmt::Check { cond, .. } => {
                self.expr(cond);
            }
            Stmt::If(cond, yes, no) => {
                let chosen = self.expr(cond);
                // As if both were executed, one after the other, and then selected from.
                self.block(yes)?;
                self.block(no)?;
                for var in own_sets(yes).chain(own_sets(no)) {
                    let time = self.times.get(&var).copied().flatten();
                    let latest = [time, chosen].into_iter().flatten().reduce(f64::max);
                    let latest = latest.map(|time| time + latency::SELECT.0);
                    self.times.insert(var, latest);
                }
            }
            imp::leaf_stmt!() | imp::nested_stmt!() => return None,
        }
        Some(())
    }

    fn access(&mut self, access: &Access) -> Option<f64> {
        let mut latest = self.expr(&access.offset);
        for (index, stride) in &access.dims {
            for part in [index, stride] {
                latest = [latest, self.expr(part)].into_iter().flatten().reduce(f64::max);
            }
        }
        latest
    }

    fn expr(&mut self, e: &Expr) -> Option<f64> {
        if let Expr::Var(var) = e {
            return match self.times.get(var) {
                Some(time) => *time,
                None => {
                    self.used.insert(*var);
                    let carried = self.carried.as_ref();
                    carried.is_none_or(|all| all.contains(var)).then_some(0.0)
                }
            };
        }
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            let mut latest: Option<f64> = None;
            each_operand(e, &mut |part| {
                let time = self.expr(part);
                latest = [latest, time].into_iter().flatten().reduce(f64::max);
            });
            latest.map(|time| time + own(e))
        })
    }
}

/// The variables that statements set, without nested statements.
fn own_sets(stmts: &[Stmt]) -> impl Iterator<Item = Var> {
    let set = |stmt: &Stmt| {
        if let Stmt::Set(var, _) | Stmt::Load(var, _) = stmt { Some(*var) } else { None }
    };
    stmts.iter().filter_map(set)
}

/// The latency from the operands of an expression to its value.
fn own(e: &Expr) -> f64 {
    if let Expr::Scalar(ScalarOp::Binary(op, _, _, y)) = e
        && op.is_division()
        && matches!(**y, Expr::Const(_))
    {
        return BY_CONSTANT;
    }
    cost::operation(e).0
}
