//! Trip-count bounds: ends loops that do nothing from some index on.
//!
//! ```text
//! for j in lo .. hi {                      if lo < hi {
//!   t = ts[k]                                t = ts[k]
//!   n = ns[t]                                n = ns[t]
//!   if j < n { at = .. }                     for j in lo .. min(hi, n) {
//!   else { at = -1 }                =>         if j < n { at = .. }
//!   if at <u m { ys[at] = x }                  else { at = -1 }
//! }                                            if at <u m { ys[at] = x }
//!                                            }
//!                                          }
//! ```
//!
//! Programs pad rows of different lengths to the longest, so that they are one regular array, and
//! test if each element exists. A loop along such a row then visits the existing elements only. A
//! condition is found by trial: once it no longer holds, its consequences are propagated, and no
//! side effect may remain. Then the computation of the bound moves before the loop; loads do so
//! where the loop writes nothing that they read.
//!
//! Needs: numbered statements ([`DefUse`]). Guarantees: the same writes in the same order.

use super::delinearise::{indices, sets};
use super::legality;
use imp::build::{and, max, min};
use imp::def_use::DefUse;
use imp::expr;
use imp::walk::{divides, each_stmt, each_use, each_var, is_at_most};
use imp::{Access, Expr, For, Function, LoopMode, Stmt, Var, VarInfo};
use ir::Fuel;
use prim::{BinOp, CmpOp, ConvOp, PrimType, Scalar, ScalarOp};
use rustc_hash::{FxHashMap, FxHashSet};

/// The largest number of statements of a loop's body.
const MOST: usize = 200;
/// The largest number of conditions that are tried.
const TRIED: usize = 4;

/// Bounds the loops of a function, each for one unit of fuel; returns true if there are any:
/// statements have other numbers then.
pub(super) fn bound_trips(function: &mut Function, def_use: &DefUse, fuel: &mut Fuel) -> bool {
    let mut ends = TripBounds { vars: &function.vars, def_use, fuel, scattered: Vec::new(), any: false };
    ends.block(&mut function.body, DefUse::FIRST);
    ends.any
}

struct TripBounds<'f> {
    vars: &'f [VarInfo],
    def_use: &'f DefUse,
    fuel: &'f mut Fuel,
    /// Buffers that the enclosing launches scatter into; the buffers that they read are disjoint
    /// from these.
    scattered: Vec<Var>,
    /// True if a loop was bounded.
    any: bool,
}

/// A condition that is constant from some index on, and its value then.
struct Bound {
    cond: Expr,
    then: bool,
    /// The operand that the index is compared with, and its type.
    with: Expr,
    ty: PrimType,
    /// True if the condition is constant only for indices above the operand, not for an equal one.
    inclusive: bool,
}

impl TripBounds<'_> {
    fn block(&mut self, stmts: &mut [Stmt], mut at: u32) {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            for stmt in stmts {
                match stmt {
                    Stmt::If(_, yes, no) => {
                        self.block(yes, at + 1);
                        self.block(no, self.def_use.else_start(at));
                    }
                    Stmt::While(_, body) => self.block(body, at + 1),
                    Stmt::For(f) if f.mode.is_kernel() => {}
                    Stmt::For(f) => {
                        let before = self.scattered.len();
                        if let LoopMode::Tasks(launch) = &f.mode {
                            self.scattered.extend(&launch.scattered);
                        }
                        self.block(&mut f.body, at + 1);
                        self.scattered.truncate(before);
                        if let Some(ended) = self.ended(f, at) {
                            *stmt = ended;
                            self.any = true;
                        }
                    }
                    imp::leaf_stmt!() => {}
                }
                at = self.def_use.end(at);
            }
        });
    }

    /// The replacement of a loop, if it can be bounded.
    fn ended(&mut self, f: &For, at: u32) -> Option<Stmt> {
        if !matches!(f.mode, LoopMode::Seq { .. }) || !is_simple(&f.body) {
            return None;
        }
        let sets = sets(&f.body);
        let before = self.invariant_prefix(f, &sets);
        let moved: FxHashSet<Var> = before.iter().filter_map(set).collect();
        let same = |var: Var| var != f.var && (!sets.contains_key(&var) || moved.contains(&var));
        let index = indices(f);
        let bounds = bounds(&f.body, &index, &same);
        let bound = bounds.into_iter().take(TRIED).find(|bound| {
            let mut known = Known { bound, vars: FxHashMap::default() };
            known.is_idle(&f.body)
        })?;
        // No variable is loop-carried, or read after the loop.
        legality::analyse(self.vars, self.def_use, f, at).ok()?;
        if !self.fuel.take() {
            return None;
        }
        let mut body = f.body.clone();
        body.retain(|stmt| set(stmt).is_none_or(|var| !moved.contains(&var)));
        let ended =
            Stmt::For(For { mode: f.mode.clone(), var: f.var, from: f.from.clone(), to: bound.end(f), body });
        if before.is_empty() {
            return Some(ended);
        }
        let runs = expr!(f.from.clone() < f.to.clone());
        let mut stmts = before;
        stmts.push(ended);
        Some(Stmt::If(runs, stmts, Vec::new()))
    }

    /// The loop-invariant statements at the start of a loop's body.
    fn invariant_prefix(&self, f: &For, sets: &FxHashMap<Var, usize>) -> Vec<Stmt> {
        let written = written(&f.body);
        let independent = f.mode == (LoopMode::Seq { independent: true });
        let invariant_memory = |access: &Access| {
            independent
                || !written.contains(&access.buffer)
                    && written.iter().all(|buffer| self.scattered.contains(buffer))
        };
        let mut same: FxHashSet<Var> = FxHashSet::default();
        let mut before = Vec::new();
        for stmt in &f.body {
            let Some(var) = set(stmt) else {
                break;
            };
            let mut is_invariant = sets.get(&var) == Some(&1);
            if let Stmt::Load(_, access) = stmt {
                is_invariant &= invariant_memory(access);
            }
            each_use(stmt, &mut |used, _| {
                let own = used == f.var || sets.contains_key(&used);
                is_invariant &= used == var || !own || same.contains(&used);
            });
            if is_invariant {
                same.insert(var);
                before.push(stmt.clone());
            }
        }
        before
    }
}

impl Bound {
    /// The new bound of a loop. Narrow operands equal the index only where it fits.
    fn end(&self, f: &For) -> Expr {
        let mut with = self.with.clone();
        if self.ty != PrimType::I64 {
            with = Expr::convert(ConvOp::SExt, self.ty, PrimType::I64, with);
        }
        if self.inclusive {
            // No index is above the largest number.
            with = min(with, i64::MAX - 1) + 1;
        }
        let end = min(f.to.clone(), with);
        if self.ty == PrimType::I64 {
            // The operand may be any number; the trip count must not wrap.
            return max(end, f.from.clone());
        }
        let least = |x, y| expr!(x <= y);
        let fits = and(least(Expr::i64(0), f.from.clone()), least(f.to.clone(), Expr::i64(i32::MAX.into())));
        Expr::select(PrimType::I64, fits, end, f.to.clone())
    }
}

/// Returns true if a body is short, and all its possible writes are in conditionals.
fn is_simple(body: &[Stmt]) -> bool {
    let plain = |stmt: &Stmt| matches!(stmt, Stmt::Set(..) | Stmt::Load(..) | Stmt::If(..));
    let has_conditional = body.iter().any(|stmt| matches!(stmt, Stmt::If(..)));
    has_conditional && body.iter().all(plain) && is_at_most(body, MOST)
}

/// The variable that a statement sets.
fn set(stmt: &Stmt) -> Option<Var> {
    let (Stmt::Set(var, _) | Stmt::Load(var, _)) = stmt else {
        return None;
    };
    Some(*var)
}

/// Returns true if a statement, without its nested ones, writes no memory.
fn is_pure(stmt: &Stmt) -> bool {
    let computes = matches!(stmt, Stmt::Set(..) | Stmt::Load(..) | Stmt::Check { .. });
    computes || matches!(stmt, Stmt::If(..) | Stmt::While(..) | Stmt::For(_))
}

/// The buffers that statements may write.
fn written(body: &[Stmt]) -> FxHashSet<Var> {
    let mut written = FxHashSet::default();
    each_stmt(body, &mut |stmt| {
        if let Stmt::Store(access, _) = stmt {
            written.insert(access.buffer);
        } else if !is_pure(stmt) {
            each_use(stmt, &mut |var, _| {
                written.insert(var);
            });
        }
    });
    written
}

/// The comparisons of a loop's index with loop-invariant operands in a body.
fn bounds(body: &[Stmt], index: &FxHashSet<Var>, invariant: &dyn Fn(Var) -> bool) -> Vec<Bound> {
    let mut found = Vec::new();
    for stmt in body {
        if let Stmt::Set(_, e) | Stmt::If(e, ..) = stmt {
            compared(e, index, invariant, &mut found);
        }
    }
    found
}

fn compared(e: &Expr, index: &FxHashSet<Var>, same: &dyn Fn(Var) -> bool, found: &mut Vec<Bound>) {
    if let Expr::Scalar(ScalarOp::Binary(BinOp::And | BinOp::Or, PrimType::Bool, x, y)) = e {
        compared(x, index, same, found);
        compared(y, index, same, found);
        return;
    }
    let Expr::Scalar(ScalarOp::Compare(op, ty, x, y)) = e else {
        return;
    };
    let either = match op {
        CmpOp::SLt => [(x, y, false, false), (y, x, true, true)],
        CmpOp::SLe => [(x, y, false, true), (y, x, true, false)],
        CmpOp::Eq | CmpOp::ULt | CmpOp::ULe | CmpOp::FLt | CmpOp::FLe | CmpOp::BLt | CmpOp::BLe => {
            return;
        }
    };
    for (x, with, then, behind) in either {
        let is_index = matches!(&**x, Expr::Var(x) if index.contains(x));
        let mut is_invariant = !divides(with);
        each_var(with, &mut |var, _| is_invariant &= same(var));
        if is_index && is_invariant && matches!(ty, PrimType::I32 | PrimType::I64) {
            found.push(Bound { cond: e.clone(), then, with: Expr::clone(with), ty: *ty, inclusive: behind });
        }
    }
}

/// Values of variables that follow from the constant condition.
#[derive(Clone)]
struct Known<'b> {
    bound: &'b Bound,
    vars: FxHashMap<Var, Scalar>,
}

impl Known<'_> {
    /// Returns true if statements only set variables.
    fn is_idle(&mut self, stmts: &[Stmt]) -> bool {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            stmts.iter().all(|stmt| {
                if let Stmt::If(cond, yes, no) = stmt {
                    return self.is_idle_if(cond, yes, no);
                }
                if let Stmt::Set(var, e) = stmt
                    && let Some(value) = self.value(e)
                {
                    self.vars.insert(*var, value);
                } else if let Some(var) = set(stmt) {
                    self.vars.remove(&var);
                } else {
                    return false;
                }
                true
            })
        })
    }

    fn is_idle_if(&mut self, cond: &Expr, yes: &[Stmt], no: &[Stmt]) -> bool {
        match self.value(cond) {
            Some(Scalar::Bool(true)) => self.is_idle(yes),
            Some(_) => self.is_idle(no),
            None => {
                let mut other = self.clone();
                let idle = self.is_idle(yes) && other.is_idle(no);
                let both = |var: &Var, value: &mut Scalar| other.vars.get(var) == Some(value);
                self.vars.retain(both);
                idle
            }
        }
    }

    /// The value of an expression, where it is known.
    fn value(&self, e: &Expr) -> Option<Scalar> {
        if *e == self.bound.cond {
            return Some(Scalar::Bool(self.bound.then));
        }
        if let Expr::Const(value) = e {
            return Some(*value);
        }
        if let Expr::Var(var) = e {
            return self.vars.get(var).copied();
        }
        if let Expr::Scalar(ScalarOp::Select { ty: _, cond, if_true: yes, if_false: no }) = e {
            let holds = self.value(cond)? == Scalar::Bool(true);
            return self.value(if holds { yes } else { no });
        }
        if let Expr::Scalar(ScalarOp::Binary(op @ (BinOp::And | BinOp::Or), PrimType::Bool, x, y)) = e {
            return self.either(x, y, *op == BinOp::Or);
        }
        // An index outside of every array.
        if let Expr::Scalar(ScalarOp::Compare(CmpOp::ULt, PrimType::I64, x, _)) = e {
            let outside = self.value(x)? == Scalar::I64(-1);
            return outside.then_some(Scalar::Bool(false));
        }
        None
    }

    /// The value of a conjunction or disjunction, which one operand `decides` if it has that value.
    fn either(&self, x: &Expr, y: &Expr, decides: bool) -> Option<Scalar> {
        let decides = Scalar::Bool(decides);
        let (x, y) = (self.value(x), self.value(y));
        if x == Some(decides) || y == Some(decides) {
            return Some(decides);
        }
        x.and(y)
    }
}
