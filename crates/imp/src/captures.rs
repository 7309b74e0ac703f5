//! What the bodies of loops of tasks take from around them.
//!
//! A loop of tasks, or a kernel, *captures* the variables that its body names and that do not
//! belong to it: they are neither in its lists of owned and local variables, nor
//! its counters, nor counters of loops in its body, nor its threads' (in tasks there, what these
//! capture counts as named). Where tasks take pieces, each finds its bounds, and
//! what these need counts as named before the body. Captures stand in the [`Launch`](crate::Launch) in the
//! order in which the body names them first, as [`names`] has it.
//!
//! Passes that change bodies call [`fill`] at their end; the verifier compares.
//! Both take time linear in the program and its lists of captures.

use crate::syntax::{For, Function, How, Launch, Stmt, Var};
use crate::walk::{in_expr, names};
use rustc_hash::FxHashSet;

/// Sets the captures of a function's loops of tasks to what they are.
pub fn fill(function: &mut Function) {
    let mut found = of(&function.body).into_iter();
    set(&mut function.body, &mut found);
}

fn set(stmts: &mut [Stmt], found: &mut dyn Iterator<Item = Vec<Var>>) {
    stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
        for stmt in stmts {
            match stmt {
                Stmt::If(_, yes, no) => {
                    set(yes, found);
                    set(no, found);
                }
                Stmt::While(_, body) => set(body, found),
                Stmt::For(f) => {
                    if let Some(launch) = f.how.launch_mut() {
                        launch.captures = found.next().unwrap_or_default();
                    }
                    set(&mut f.body, found);
                }
                crate::leaf_stmt!() => {}
            }
        }
    });
}

/// Whether a loop captures a variable.
pub(crate) fn captured(launch: &Launch, var: Var) -> bool {
    launch.captures.contains(&var)
}

/// The captures of the loops of tasks among statements, outer loops first.
pub(crate) fn of(stmts: &[Stmt]) -> Vec<Vec<Var>> {
    let mut walk = Walk::default();
    walk.block(stmts);
    walk.found
}

#[derive(Default)]
struct Walk {
    found: Vec<Vec<Var>>,
    /// The bodies around, innermost last.
    bodies: Vec<Body>,
}

/// What is known of a body.
#[derive(Default)]
struct Body {
    /// In order, each once.
    named: Vec<Var>,
    seen: FxHashSet<Var>,
    /// What belongs to the loop.
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
            names(stmt, &mut |var, _| body.name(var));
        }
        match stmt {
            Stmt::If(_, yes, no) => {
                self.block(yes);
                self.block(no);
            }
            Stmt::While(_, body) => self.block(body),
            Stmt::For(f) => self.for_loop(f),
            crate::leaf_stmt!() => {}
        }
    }

    fn for_loop(&mut self, f: &For) {
        if let Some(body) = self.bodies.last_mut() {
            body.own.extend(f.counters());
        }
        let Some(launch) = f.how.launch() else {
            if let (How::Block(locals), Some(body)) = (&f.how, self.bodies.last_mut()) {
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
        if let Some(pieces) = f.pieces() {
            for bound in [&f.to, &pieces.count] {
                in_expr(bound, &mut |var, _| body.name(var));
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
