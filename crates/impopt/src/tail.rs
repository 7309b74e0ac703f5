//! Tail-call elimination: functions that call themselves in tail position become loops.
//!
//! A call is in tail position if the statements that follow it, in all lists around it, only move
//! its results on to the function's results and release blocks. It becomes an assignment to the
//! parameters and another iteration:
//! ```text
//! recursive fun f(n, xs) -> (r) {       fun f(n, xs) -> (r) {
//!                                         own = share xs
//!                                         again = true
//!                                         while again {
//!                                           again = false
//!   if n == 0 { a = share xs }      =>      if n == 0 { a = share own }
//!   else {                                  else {
//!     ys = alloc ...                          ys = alloc ...
//!     (b) = f(n - 1, ys)                      n' = n - 1; ys' = share ys
//!     release ys                              release ys
//!     a = share b                             n = n'; own = share ys'; release ys'
//!     release b                               again = true
//!   }                                       }
//!   r = share a                             if again { } else { r = share a }
//! }                                       }
//!                                       }
//! ```
//!
//! Arguments that are the parameters themselves cost nothing. Other recursive calls of the
//! function, if any, remain.
//!
//! Needs: a verified program as `impgen` makes it, in which an owned variable
//! that is set again releases its old block. Guarantees: a verified program with the same results,
//! in constant stack for such calls.

use imp::captures;
use imp::rename::each_var_mut;
use imp::walk::each_stmt;
use imp::{Arg, Expr, FunId, Function, Program, Stmt, Var, VarInfo, VarType};
use ir::Context;
use prim::{PrimType, Scalar};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Rewrites all functions with such calls, each recursive function for one unit of fuel.
pub fn tail_calls(mut program: Program, context: &mut Context) -> Program {
    let ids = (0..).map(FunId);
    let functions = ids.zip(program.functions).collect();
    program.functions = context.over(functions, |(id, mut function), own| {
        if function.recursive && own.fuel.take() {
            rewrite(&mut function, id);
            captures::fill(&mut function);
        }
        function
    });
    // A function that called no recursive function but itself is no longer recursive.
    for at in 0..program.functions.len() {
        if program.functions[at].recursive {
            let mut calls = Vec::new();
            each_stmt(&program.functions[at].body, &mut |stmt| {
                if let Stmt::Call { fun, .. } = stmt {
                    calls.push(*fun);
                }
            });
            let functions = &program.functions;
            let recursive = |fun: FunId| functions.get(fun.index()).is_some_and(|f| f.recursive);
            let still = calls.into_iter().any(recursive);
            program.functions[at].recursive = still;
        }
    }
    program
}

fn rewrite(function: &mut Function, id: FunId) {
    let results: FxHashSet<Var> = function.results.iter().copied().collect();
    if results.len() < function.results.len() || function.params.iter().any(|param| results.contains(param)) {
        return;
    }
    let again = Var::new(function.vars.len());
    let mut pass = Tail {
        id,
        params: function.params.clone(),
        vars: std::mem::take(&mut function.vars),
        owned: Vec::new(),
        holders: FxHashMap::default(),
        repeat: again,
        found: false,
    };
    pass.fresh(VarType::Scalar(PrimType::Bool), "repeat");
    let body = std::mem::take(&mut function.body);
    let mut body = pass.list(body, function.results.clone()).0;
    if pass.found {
        let holders = pass.holders;
        each_var_mut(&mut body, &mut |var| {
            if let Some(holder) = holders.get(var) {
                *var = *holder;
            }
        });
        let set = |value| Stmt::Set(again, Expr::Const(Scalar::Bool(value)));
        body.insert(0, set(false));
        let held = function.params.iter().filter_map(|param| {
            let holder = holders.get(param)?;
            Some(Stmt::Share(*holder, *param))
        });
        function.body = held.collect();
        function.body.push(set(true));
        function.body.push(Stmt::While(again, body));
    } else {
        pass.vars.truncate(again.index());
        function.body = body;
    }
    function.vars = pass.vars;
    function.owned.extend(pass.owned);
}

struct Tail {
    id: FunId,
    params: Vec<Var>,
    vars: Vec<VarInfo>,
    /// New owned variables.
    owned: Vec<Var>,
    /// The owned variables that hold buffer parameters which change.
    holders: FxHashMap<Var, Var>,
    /// The `bool` variable that is true if there is another iteration.
    repeat: Var,
    found: bool,
}

impl Tail {
    fn fresh(&mut self, ty: VarType, hint: &str) -> Var {
        let var = Var::new(self.vars.len());
        self.vars.push(VarInfo { ty, hint: Arc::from(hint) });
        if ty.is_buffer() {
            self.owned.push(var);
        }
        var
    }

    /// Rewrites a list after which the function's results are the values of `wanted`; also returns
    /// true if it has a tail call.
    fn list(&mut self, mut stmts: Vec<Stmt>, mut wanted: Vec<Var>) -> (Vec<Stmt>, bool) {
        let mut after = Vec::new();
        let mut handed: FxHashSet<Var> = wanted.iter().copied().collect();
        while let Some(stmt) = stmts.pop_if(|stmt| forwards(stmt, &mut wanted, &mut handed)) {
            after.push(stmt);
        }
        after.reverse();
        let (list, found) = match stmts.pop() {
            Some(Stmt::If(cond, yes, no)) => {
                let (yes, first) = self.deeper(yes, wanted.clone());
                let (no, second) = self.deeper(no, wanted);
                stmts.push(Stmt::If(cond, yes, no));
                if first || second {
                    let kept = |stmt: &Stmt| matches!(stmt, Stmt::Release(var) if !handed.contains(var));
                    let (releases, moves): (Vec<_>, Vec<_>) = after.into_iter().partition(kept);
                    if !moves.is_empty() {
                        stmts.push(Stmt::If(Expr::Var(self.repeat), Vec::new(), moves));
                    }
                    stmts.extend(releases);
                    return (stmts, true);
                }
                (after, false)
            }
            Some(Stmt::Call { fun, args, results, .. }) if fun == self.id && results == wanted => {
                let blocks = after
                    .into_iter()
                    .filter(|stmt| matches!(stmt, Stmt::Release(var) if !handed.contains(var)));
                self.next_iteration(args, blocks.collect(), &mut stmts);
                self.found = true;
                (Vec::new(), true)
            }
            last => {
                stmts.extend(last);
                (after, false)
            }
        };
        stmts.extend(list);
        (stmts, found)
    }

    fn deeper(&mut self, stmts: Vec<Stmt>, wanted: Vec<Var>) -> (Vec<Stmt>, bool) {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || self.list(stmts, wanted))
    }

    /// Sets the parameters to the arguments, after which blocks are released.
    fn next_iteration(&mut self, args: Vec<Arg>, releases: Vec<Stmt>, out: &mut Vec<Stmt>) {
        let mut set = Vec::new();
        for (param, arg) in self.params.clone().into_iter().zip(args) {
            match arg {
                Arg::Scalar(Expr::Var(var)) | Arg::Buffer(var) if var == param => {}
                Arg::Scalar(value) => {
                    let next = self.fresh(self.vars[param.index()].ty, "next");
                    out.push(Stmt::Set(next, value));
                    set.push(Stmt::Set(param, Expr::Var(next)));
                }
                Arg::Buffer(from) => {
                    let ty = self.vars[param.index()].ty;
                    let next = self.fresh(ty, "next");
                    out.push(Stmt::Share(next, from));
                    let holder = match self.holders.get(&param) {
                        Some(holder) => *holder,
                        None => {
                            let holder = self.fresh(ty, "owned");
                            self.holders.insert(param, holder);
                            holder
                        }
                    };
                    set.push(Stmt::Share(holder, next));
                    set.push(Stmt::Release(next));
                }
            }
        }
        out.extend(releases);
        out.append(&mut set);
        out.push(Stmt::Set(self.repeat, Expr::Const(Scalar::Bool(true))));
    }
}

/// Returns true if a statement only moves values on to variables in `wanted`, or releases other
/// blocks; `wanted` is then updated to the variables before the statement.
fn forwards(stmt: &Stmt, wanted: &mut [Var], forwarded: &mut FxHashSet<Var>) -> bool {
    if let Stmt::Release(var) = stmt {
        return !wanted.contains(var);
    }
    let (Stmt::Set(to, Expr::Var(from)) | Stmt::Share(to, from)) = stmt else {
        return false;
    };
    let (to, from) = (*to, *from);
    let Some(at) = wanted.iter().position(|var| *var == to) else {
        return false;
    };
    if wanted.contains(&from) {
        return false;
    }
    wanted[at] = from;
    forwarded.insert(from);
    true
}
