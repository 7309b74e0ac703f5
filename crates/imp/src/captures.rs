//! The captures of task loops and kernels.
//!
//! A task loop, or a kernel, *captures* the variables that its body names and that do not belong to
//! it: they are neither in its lists of owned and local variables, nor its counters, nor counters
//! of loops in its body, nor local to its threads (for nested task loops, their captures count as
//! named). Where tasks take slices, each computes its bounds, and the variables in these count as
//! named before the body. Captures are listed in the [`Launch`](crate::Launch) in the order in
//! which the body names them first, by [`each_use`](crate::walk::each_use).
//!
//! Passes that change bodies call [`fill`] at their end; the verifier compares. Both take time
//! linear in the program and its lists of captures.

use crate::syntax::{For, Function, Launch, LoopMode, Stmt, Var};
use crate::walk::{each_stmt_mut, each_use, each_var};
use rustc_hash::FxHashSet;

/// Recomputes the captures of a function's task loops and kernels.
pub fn fill(function: &mut Function) {
    let mut found = of(&function.body).into_iter();
    each_stmt_mut(&mut function.body, &mut |stmt| {
        if let Stmt::For(f) = stmt
            && let Some(launch) = f.mode.launch_mut()
        {
            launch.captures = found.next().unwrap_or_default();
        }
    });
}

/// Returns true if a loop captures a variable.
pub fn captured(launch: &Launch, var: Var) -> bool {
    launch.captures.contains(&var)
}

/// The captures of the task loops and kernels among statements, outer loops first.
pub fn of(stmts: &[Stmt]) -> Vec<Vec<Var>> {
    let mut walk = Walk::default();
    walk.block(stmts);
    walk.found
}

#[derive(Default)]
struct Walk {
    found: Vec<Vec<Var>>,
    /// The bodies around the current statement, innermost last.
    bodies: Vec<Body>,
}

/// The variables of a body.
#[derive(Default)]
struct Body {
    /// The variables named so far, in order, without duplicates.
    named: Vec<Var>,
    seen: FxHashSet<Var>,
    /// The variables that belong to the loop.
    own: FxHashSet<Var>,
}

impl Body {
    fn name(&mut self, var: Var) {
        if self.seen.insert(var) {
            self.named.push(var);
        }
    }
}

impl Walk {
    fn block(&mut self, stmts: &[Stmt]) {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            for stmt in stmts {
                self.stmt(stmt);
            }
        });
    }

    fn stmt(&mut self, stmt: &Stmt) {
        if let Some(body) = self.bodies.last_mut() {
            each_use(stmt, &mut |var, _| body.name(var));
        }
        if let Stmt::For(f) = stmt {
            self.for_loop(f);
        } else {
            stmt.blocks().into_iter().for_each(|block| self.block(block));
        }
    }

    fn for_loop(&mut self, f: &For) {
        if let Some(body) = self.bodies.last_mut() {
            body.own.extend(f.counters());
        }
        let Some(launch) = f.mode.launch() else {
            if let (LoopMode::Threads(locals), Some(body)) = (&f.mode, self.bodies.last_mut()) {
                body.own.extend(locals);
            }
            self.block(&f.body);
            return;
        };
        let at = self.found.len();
        self.found.push(Vec::new());
        let mut body = Body::default();
        body.own.extend(f.counters());
        body.own.extend(launch.owned.iter().chain(&launch.locals));
        if let Some(slices) = f.slices() {
            for bound in [&f.to, &slices.count] {
                each_var(bound, &mut |var, _| body.name(var));
            }
        }
        self.bodies.push(body);
        self.block(&f.body);
        let Body { mut named, own, .. } = self.bodies.pop().unwrap_or_default();
        named.retain(|var| !own.contains(var));
        if let Some(around) = self.bodies.last_mut() {
            named.iter().for_each(|var| around.name(*var));
        }
        if let Some(captures) = self.found.get_mut(at) {
            *captures = named;
        }
    }
}
