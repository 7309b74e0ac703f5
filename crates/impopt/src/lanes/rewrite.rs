//! Rewriting of statements with fresh variables, before statements are numbered.
//!
//! The common part of [`expand`](super::expand) and [`sink`](super::sink): the traversal, and the
//! ownership of new variables in a task's body by the task.

use imp::{For, Function, LoopMode, Stmt, Var, VarInfo, VarType};
use prim::PrimType;
use std::sync::Arc;

/// The variables of the function that is rewritten.
pub(super) struct Fresh {
    pub(super) vars: Vec<VarInfo>,
    /// New variables of the innermost frame.
    fresh: Vec<Var>,
}

impl Fresh {
    pub(super) fn var(&mut self, ty: PrimType, hint: &str) -> Var {
        self.vars.push(VarInfo { ty: VarType::Scalar(ty), hint: Arc::from(hint) });
        let var = Var::new(self.vars.len() - 1);
        self.fresh.push(var);
        var
    }
}

/// A rewriting rule: appends the replacement of a statement to a list. Nested statements were
/// rewritten before; the flag is true in an independent loop.
pub(super) trait Rule {
    fn rewrite(&mut self, fresh: &mut Fresh, stmt: Stmt, independent: bool, out: &mut Vec<Stmt>);
}

/// Rewrites a function by a rule.
pub(super) fn rewrite(function: &mut Function, rule: &mut dyn Rule) {
    let mut fresh = Fresh { vars: std::mem::take(&mut function.vars), fresh: Vec::new() };
    block(&mut fresh, &mut function.body, false, rule);
    function.vars = fresh.vars;
}

fn block(fresh: &mut Fresh, stmts: &mut Vec<Stmt>, independent: bool, rule: &mut dyn Rule) {
    stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
        let before = std::mem::take(stmts);
        stmts.reserve(before.len());
        for mut stmt in before {
            inside(fresh, &mut stmt, independent, rule);
            rule.rewrite(fresh, stmt, independent, stmts);
        }
    });
}

fn inside(fresh: &mut Fresh, stmt: &mut Stmt, independent: bool, rule: &mut dyn Rule) {
    match stmt {
        Stmt::If(_, yes, no) => {
            block(fresh, yes, independent, rule);
            block(fresh, no, independent, rule);
        }
        Stmt::While(_, body) => block(fresh, body, independent, rule),
        Stmt::For(f) if f.mode.is_kernel() => {}
        Stmt::For(For { mode: how, body, .. }) => {
            let before = fresh.fresh.len();
            let independent = match how {
                LoopMode::Seq { independent: true } | LoopMode::Lanes(_) => true,
                LoopMode::Seq { independent: false } | LoopMode::Scheduled => independent,
                LoopMode::Tasks(_) | LoopMode::Grid(_) | LoopMode::Threads(_) => false,
            };
            block(fresh, body, independent, rule);
            if let LoopMode::Tasks(launch) = how {
                launch.locals.extend(fresh.fresh.drain(before..));
            }
        }
        imp::leaf_stmt!() => {}
    }
}
