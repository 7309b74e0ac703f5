//! Index-set splitting: loops whose indices jump once.
//!
//! ```text
//! for i in lo .. hi independent {        if .. {
//!   j = k + i                              for i in lo .. p independent { x = xs[k + i] .. }
//!   beyond = n <= j                  =>    for i in p .. hi independent { x = xs[k + i - n] .. }
//!   r = select(beyond, j - n, j)         } else { .. the original loop .. }
//!   x = xs[r] ..                         }
//! }
//! ```
//!
//! Rotated arrays are read so. Each part reads neighbouring elements, which vectors load at once. The
//! value that is compared grows by one in each iteration; where it might wrap, the original loop runs.
//!
//! Runs before loops are chosen, up to twice for a loop. Needs: independent loops with short
//! straight-line bodies. Guarantees that every iteration computes what it did.

use crate::loop_copies::LoopCopies;
use crate::loops::ReplaceLoops;
use imp::build::{and, select};
use imp::def_use::DefUse;
use imp::rename::own_exprs_mut;
use imp::walk::{each_part_mut, each_stmt, each_stmt_mut, each_var};
use imp::{Expr, For, Function, Launch, LoopMode, Stmt, Var, VarType, expr};
use ir::Fuel;
use prim::{BinOp, CmpOp, PrimType, ScalarOp};
use rustc_hash::{FxHashMap, FxHashSet};

/// The largest number of statements of a body.
const MAX_STATEMENTS: usize = 32;
/// The number of times that a loop is split.
const ROUNDS: usize = 2;

/// Splits the loops of a function. Returns the numbers of its statements.
pub(super) fn split(function: &mut Function, mut def_use: DefUse, fuel: &mut Fuel) -> DefUse {
    // The counters of the parts made by the round before.
    let mut parts: Option<FxHashSet<Var>> = None;
    for _ in 0..ROUNDS {
        let copies = LoopCopies::of(function, def_use);
        let mut pass = Splitter { copies, fuel, only: parts, made: FxHashSet::default() };
        let body = std::mem::take(&mut function.body);
        function.body = pass.block(body, DefUse::FIRST);
        def_use = pass.copies.finish(function);
        if pass.made.is_empty() {
            break;
        }
        parts = Some(pass.made);
    }
    def_use
}

struct Splitter<'f> {
    copies: LoopCopies,
    fuel: &'f mut Fuel,
    /// The counters of the loops to split; all if absent.
    only: Option<FxHashSet<Var>>,
    /// The counters of the parts.
    made: FxHashSet<Var>,
}

/// The variables that a body sets, as expressions of the counter and of invariant values, where their
/// increment is known.
type Values = FxHashMap<Var, Option<Expr>>;

/// A condition that changes once: it has the value `first` as long as `grows` is below the threshold.
struct Jump {
    cond: Var,
    first: bool,
    /// The value that grows by one, at the loop's first iteration.
    start: Expr,
    /// The threshold is the bound, or one more.
    bound: Expr,
    above: bool,
}

impl ReplaceLoops for Splitter<'_> {
    type Mark = usize;

    fn def_use(&self) -> &DefUse {
        &self.copies.def_use
    }

    fn replace(&mut self, f: For, at: u32, out: &mut Vec<Stmt>) -> Option<For> {
        match self.jump(&f, at).filter(|_| self.fuel.take()) {
            Some(jump) => self.parts(f, at, &jump, out),
            None => return Some(f),
        }
        None
    }

    fn mark(&self) -> usize {
        self.copies.mark()
    }

    fn leave(&mut self, mark: usize, launch: &mut Launch) {
        self.copies.leave(mark, launch);
    }
}

impl Splitter<'_> {
    /// The first condition of a loop's body that changes once and selects an index.
    fn jump(&self, f: &For, at: u32) -> Option<Jump> {
        let simple = |stmt: &Stmt| matches!(stmt, Stmt::Set(..) | Stmt::Load(..) | Stmt::Store(..));
        if f.mode != (LoopMode::Seq { independent: true })
            || self.copies.vars[f.var.index()].ty != VarType::Scalar(PrimType::I64)
            || f.body.len() > MAX_STATEMENTS
            || self.only.as_ref().is_some_and(|only| !only.contains(&f.var))
            || !f.body.iter().all(simple)
        {
            return None;
        }
        let def_use = &self.copies.def_use;
        let end = def_use.end(at);
        let local = |var: Var| {
            def_use.is_local(var, at, end)
                && def_use.is_set_once(var)
                && def_use.dominating_def(var).is_some()
        };
        let mut values = Values::default();
        let mut conds: Vec<Jump> = Vec::new();
        let mut indices: Vec<Var> = Vec::new();
        for stmt in &f.body {
            if let Stmt::Load(var, _) = stmt {
                values.insert(*var, None);
            }
            if let Stmt::Set(var, value) = stmt {
                if !local(*var) {
                    return None;
                }
                if let Some(jump) = jump_of(*var, value, f, &values) {
                    conds.push(jump);
                }
                let known = step(value, f.var, &values).is_some();
                values.insert(*var, known.then(|| substituted(value, &values)));
                indices.extend(selected_by(value, &conds).map(|_| *var));
            }
        }
        let mut names_index = false;
        each_stmt(&f.body, &mut |stmt| {
            if let Stmt::Load(_, access) | Stmt::Store(access, _) = stmt {
                for (index, _) in &access.dims {
                    each_var(index, &mut |var, _| names_index |= indices.contains(&var));
                }
            }
        });
        let used = f.body.iter().find_map(|stmt| {
            let Stmt::Set(_, value) = stmt else {
                return None;
            };
            selected_by(value, &conds)
        })?;
        let at = conds.iter().position(|jump| jump.cond == used)?;
        names_index.then(|| conds.swap_remove(at))
    }

    /// Two loops, and the original one.
    fn parts(&mut self, f: For, at: u32, jump: &Jump, out: &mut Vec<Stmt>) {
        let (lo, hi) = (f.from.clone(), f.to.clone());
        let mut bind = |value: Expr, hint: &str, ty: PrimType| {
            let var = self.copies.scalar(ty, hint);
            out.push(Stmt::Set(var, value));
            var
        };
        let first = bind(jump.start.clone(), "first", PrimType::I64);
        let last = bind(first + (hi.clone() - lo.clone()), "last", PrimType::I64);
        let bound = if jump.above { jump.bound.clone() + 1 } else { jump.bound.clone() };
        let bound = bind(bound, "bound", PrimType::I64);
        // The iterations before the bound; it is between the first and the last value then.
        let reached = select(expr!(bound < last), bound - first, last - first);
        let before = bind(select(expr!(first < bound), reached, 0), "before", PrimType::I64);
        let middle = lo.clone() + before;
        let mut grows = expr!(first <= last && lo.clone() <= hi.clone());
        if jump.above {
            grows = and(grows, expr!(jump.bound.clone() < bound));
        }
        let parts = [(jump.first, lo, middle.clone()), (!jump.first, middle, hi)].map(|(value, from, to)| {
            let mut part = vec![Stmt::For(For { from, to, ..f.clone() })];
            self.rename(&mut part, at, jump.cond, value);
            part
        });
        out.push(Stmt::If(grows, parts.into_iter().flatten().collect(), vec![Stmt::For(f)]));
    }

    /// Renames the variables of a copy of the loop with this number, in which a condition has a value.
    fn rename(&mut self, copy: &mut [Stmt], at: u32, cond: Var, value: bool) {
        each_stmt_mut(copy, &mut |stmt| own_exprs_mut(stmt, &mut |expr| decide(expr, cond, value)));
        let counter = if let [Stmt::For(f)] = &*copy { Some(f.var) } else { None };
        let renamed = self.copies.rename(copy, at);
        self.made.extend(counter.and_then(|counter| renamed.get(&counter)));
    }
}

/// The condition that a variable is set to, if it changes once.
fn jump_of(cond: Var, value: &Expr, f: &For, values: &Values) -> Option<Jump> {
    let Expr::Scalar(ScalarOp::Compare(op, PrimType::I64, x, y)) = value else {
        return None;
    };
    let [by_x, by_y] = [x, y].map(|side| step(side, f.var, values));
    let (grows, bound, left) = match (by_x?, by_y?) {
        (1, 0) => (x, y, true),
        (0, 1) => (y, x, false),
        _ => return None,
    };
    // `grows < bound`, `grows <= bound`, `bound < grows`, `bound <= grows`.
    let (first, above) = match (op, left) {
        (CmpOp::SLt, true) => (true, false),
        (CmpOp::SLe, true) => (true, true),
        (CmpOp::SLt, false) => (false, true),
        (CmpOp::SLe, false) => (false, false),
        _ => return None,
    };
    let start = replaced(&substituted(grows, values), f.var, &f.from);
    Some(Jump { cond, first, start, bound: substituted(bound, values), above })
}

/// The increment of an expression per iteration, if it is known; names of the body that `values` does not
/// have are unknown.
fn step(e: &Expr, counter: Var, values: &Values) -> Option<i64> {
    if let Expr::Var(var) = e {
        return match values.get(var) {
            _ if *var == counter => Some(1),
            None => Some(0),
            Some(value) => step(value.as_ref()?, counter, values),
        };
    }
    let Expr::Scalar(ScalarOp::Binary(op, PrimType::I64, x, y)) = e else {
        return matches!(e, Expr::Const(_)).then_some(0);
    };
    let (x, y) = (step(x, counter, values)?, step(y, counter, values)?);
    if *op == BinOp::Add {
        Some(x + y)
    } else if *op == BinOp::Sub {
        Some(x - y)
    } else {
        (x == 0 && y == 0).then_some(0)
    }
}

/// An expression in terms of the counter and of invariant values.
fn substituted(e: &Expr, values: &Values) -> Expr {
    let mut e = e.clone();
    substitute(&mut e, &|var| values.get(&var).cloned().flatten());
    e
}

fn replaced(e: &Expr, var: Var, by: &Expr) -> Expr {
    let mut e = e.clone();
    substitute(&mut e, &|other| (other == var).then(|| by.clone()));
    e
}

fn substitute(e: &mut Expr, by: &dyn Fn(Var) -> Option<Expr>) {
    if let Expr::Var(var) = e {
        if let Some(value) = by(*var) {
            *e = value;
        }
        return;
    }
    each_part_mut(e, &mut |part| substitute(part, by));
}

/// The condition among `conds` that a selection depends on.
fn selected_by(value: &Expr, conds: &[Jump]) -> Option<Var> {
    let Expr::Scalar(ScalarOp::Select { ty: PrimType::I64, cond, .. }) = value else {
        return None;
    };
    let Expr::Var(cond) = **cond else {
        return None;
    };
    conds.iter().any(|jump| jump.cond == cond).then_some(cond)
}

/// Replaces the selections by a condition by one of their operands.
fn decide(e: &mut Expr, cond: Var, value: bool) {
    if let Expr::Scalar(ScalarOp::Select { cond: of, if_true, if_false, .. }) = e
        && **of == Expr::Var(cond)
    {
        *e = if value { (**if_true).clone() } else { (**if_false).clone() };
        return decide(e, cond, value);
    }
    each_part_mut(e, &mut |part| decide(part, cond, value));
}
