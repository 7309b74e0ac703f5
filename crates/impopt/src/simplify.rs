//! Simplifies loops and scalars before back ends see them: less text, the same code.
//!
//! - Loops of one iteration outside of other loops become their bodies, loops of none disappear.
//!   Vector lanes leave many. Inside of loops they remain: LLVM unrolls and schedules loops by their
//!   nesting, and the inner loop of a reduction of 2x2 matrices took 1.6 times as long without.
//! - Copies of variables and constants are propagated, constants folded; conditionals of constants
//!   become one branch.
//! - Values that nothing reads are not computed.
//!
//! LLVM does all this too, but only after its first passes, and prepares each loop for its loop
//! passes before.
//!
//! Needs: a verified program; runs after `pipeline`, whose choices depend on the loops. Guarantees: a
//! verified program with the same results. Kernels are not changed.

mod dead;
mod fold;

use fold::fold;
use imp::captures;
use imp::def_use::DefUse;
use imp::rename::own_exprs_mut;
use imp::walk::each_part_mut;
use imp::{Expr, For, Function, LoopMode, Program, Stmt, Var};
use ir::Context;
use prim::Scalar;
use rustc_hash::FxHashMap;

/// Simplifies functions, each for one unit of fuel.
pub fn simplify(mut program: Program, context: &mut Context) -> Program {
    program.functions = context.over(program.functions, |mut function, own| {
        if own.fuel.take() {
            simplify_function(&mut function);
        }
        function
    });
    program
}

fn simplify_function(function: &mut Function) {
    let def_use = DefUse::new(function);
    let mut propagate = Propagate { def_use: &def_use, values: FxHashMap::default(), loops: 0 };
    let body = std::mem::take(&mut function.body);
    function.body = propagate.block(body, DefUse::FIRST);
    dead::remove(function);
    captures::fill(function);
}

/// The forward walk: propagation, folding, and loops of at most one iteration.
struct Propagate<'f> {
    def_use: &'f DefUse,
    /// The constants and variables that variables are equal to.
    values: FxHashMap<Var, Expr>,
    /// The number of sequential loops around the current statement in its frame.
    loops: u32,
}

impl Propagate<'_> {
    fn block(&mut self, stmts: Vec<Stmt>, mut at: u32) -> Vec<Stmt> {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            let mut out = Vec::with_capacity(stmts.len());
            for stmt in stmts {
                let next = self.def_use.end(at);
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
                out.extend(self.block(no, self.def_use.else_start(at)));
            }
            Stmt::If(cond, yes, no) => {
                let yes = self.block(yes, at + 1);
                out.push(Stmt::If(cond, yes, self.block(no, self.def_use.else_start(at))));
            }
            Stmt::While(cond, body) => out.push(Stmt::While(cond, self.loop_body(body, at, self.loops + 1))),
            Stmt::For(f) if f.mode.is_kernel() => out.push(Stmt::For(f)),
            Stmt::For(f) if matches!(f.mode, LoopMode::Tasks(_)) => {
                out.push(Stmt::For(For { body: self.loop_body(f.body, at, 0), ..f }));
            }
            Stmt::For(f) => match iterations(&f) {
                Some(0) => {}
                Some(1) if self.loops == 0 => {
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
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            if let Expr::Var(var) = e {
                if let Some(value) = self.values.get(var) {
                    *e = value.clone();
                }
            } else {
                each_part_mut(e, &mut |part| self.expr(part));
                fold(e);
            }
        });
    }

    /// Records that a statement sets a variable to a value, if the variable keeps it and all reads
    /// follow.
    fn record(&mut self, var: Var, value: &Expr, at: u32) {
        let once = |var: Var| self.def_use.is_set_once(var);
        let keeps =
            if let Expr::Var(source) = value { once(*source) } else { matches!(value, Expr::Const(_)) };
        if keeps && once(var) && self.def_use.dominating_def(var) == Some(at) {
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
