//! The forward walk: propagation of copies and constants, folding, and loops of at most one
//! iteration.

use super::fold::fold;
use crate::moves::windows::Windows;
use imp::def_use::DefUse;
use imp::rename::own_exprs_mut;
use imp::walk::each_part_mut;
use imp::{Expr, For, Function, LoopMode, Stmt, Var};
use ir::walk::with_stack;
use prim::Scalar;
use rustc_hash::FxHashMap;

/// Propagates copies and constants.
pub(crate) fn propagate(function: &mut Function) {
    run(function, false);
}

/// Propagates copies and constants; loops of one iteration outside of other loops become their
/// bodies.
pub(super) fn propagate_and_unroll(function: &mut Function) {
    run(function, true);
}

fn run(function: &mut Function, unroll: bool) {
    let windows = Windows::new(function);
    let mut propagate = Propagate { windows: &windows, values: FxHashMap::default(), unroll, loops: 0 };
    let body = std::mem::take(&mut function.body);
    function.body = propagate.block(body, DefUse::FIRST);
}

struct Propagate<'f> {
    windows: &'f Windows,
    /// The constants and variables that variables are equal to.
    values: FxHashMap<Var, Expr>,
    /// True if loops of one iteration outside of other loops become their bodies.
    unroll: bool,
    /// The number of sequential loops around the current statement in its frame.
    loops: u32,
}

impl Propagate<'_> {
    fn block(&mut self, stmts: Vec<Stmt>, mut at: u32) -> Vec<Stmt> {
        with_stack(|| {
            let mut out = Vec::with_capacity(stmts.len());
            for stmt in stmts {
                let next = self.windows.def_use.end(at);
                self.stmt(stmt, at, &mut out);
                at = next;
            }
            out
        })
    }

    fn stmt(&mut self, mut stmt: Stmt, at: u32, out: &mut Vec<Stmt>) {
        own_exprs_mut(&mut stmt, &mut |e| self.expr(e));
        if let Stmt::Set(var, e) = &stmt {
            self.record(*var, e, at);
        }
        match stmt {
            Stmt::If(Expr::Const(Scalar::Bool(true)), yes, _) => out.extend(self.block(yes, at + 1)),
            Stmt::If(Expr::Const(Scalar::Bool(false)), _, no) => {
                out.extend(self.block(no, self.windows.def_use.else_start(at)));
            }
            Stmt::If(cond, yes, no) => {
                let yes = self.block(yes, at + 1);
                out.push(Stmt::If(cond, yes, self.block(no, self.windows.def_use.else_start(at))));
            }
            Stmt::While(cond, body) => out.push(Stmt::While(cond, self.loop_body(body, at, self.loops + 1))),
            Stmt::For(f) if f.mode.is_kernel() => out.push(Stmt::For(f)),
            Stmt::For(f) if matches!(f.mode, LoopMode::Tasks(_)) => {
                out.push(Stmt::For(For { body: self.loop_body(f.body, at, 0), ..f }));
            }
            Stmt::For(f) => match iterations(&f) {
                Some(0) => {}
                Some(1) if self.unroll && self.loops == 0 => {
                    self.record(f.var, &f.from, at);
                    out.push(Stmt::Set(f.var, f.from));
                    out.extend(self.block(f.body, at + 1));
                }
                _ => {
                    let body = self.loop_body(f.body, at, self.loops + 1);
                    out.push(Stmt::For(For { body, ..f }));
                }
            },
            imp::leaf_stmt!() => out.push(stmt),
        }
    }

    /// The body of the loop with this number, with a number of sequential loops around it.
    fn loop_body(&mut self, body: Vec<Stmt>, at: u32, loops: u32) -> Vec<Stmt> {
        let outer = std::mem::replace(&mut self.loops, loops);
        let body = self.block(body, at + 1);
        self.loops = outer;
        body
    }

    /// Substitutes known values and folds constants.
    fn expr(&self, e: &mut Expr) {
        if let Expr::Var(var) = e {
            if let Some(value) = self.values.get(var) {
                *e = value.clone();
            }
        } else if !matches!(e, imp::leaf_expr!()) {
            with_stack(|| each_part_mut(e, &mut |part| self.expr(part)));
            fold(e);
        }
    }

    /// Records that a statement sets a variable to a value, if the variable keeps it and all reads
    /// follow.
    fn record(&mut self, var: Var, value: &Expr, at: u32) {
        let keeps = match value {
            Expr::Var(source) => self.windows.is_copy(var, *source, at),
            Expr::Const(_) => self.windows.is_copy(var, var, at),
            Expr::Scalar(_) | Expr::Tunable(_) | Expr::LogsComparisons | imp::vector_expr!() => false,
        };
        if keeps {
            self.values.insert(var, value.clone());
        }
    }
}

/// The number of iterations of a sequential loop, if it is constant.
fn iterations(f: &For) -> Option<u64> {
    if !matches!(f.mode, LoopMode::Seq { .. } | LoopMode::Scheduled) {
        return None;
    }
    let (Expr::Const(from), Expr::Const(to)) = (&f.from, &f.to) else {
        return None;
    };
    let (from, to) = (from.as_i64()?, to.as_i64()?);
    Some(u64::try_from(i128::from(to) - i128::from(from)).unwrap_or(0))
}
