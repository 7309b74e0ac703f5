//! What a piece of code needs of what is around it, and what it leaves there.

use crate::syntax::{For, How, Launch, Stmt, Var};
use crate::walk::{Use, names};
use rustc_hash::{FxHashMap, FxHashSet};

/// How a piece of code uses a variable.
#[derive(Clone, Copy, Default)]
pub(super) struct Uses {
    /// How often it is named.
    pub(super) count: u32,
    /// Whether it is set, other than by giving it back.
    pub(super) set: bool,
    /// Whether it is read where it need not have been set before.
    pub(super) exposed: bool,
    /// Whether it is given back by one of the outermost statements.
    pub(super) released: bool,
    /// Whether it is given back by a statement inside of another.
    pub(super) released_inside: bool,
    /// Whether it is the counter of a loop.
    pub(super) counter: bool,
    /// Whether it is owned by a loop of tasks that is part of the code.
    pub(super) of_task: bool,
}

/// The uses of all variables of a piece of code.
#[derive(Default)]
pub(super) struct Flow {
    /// By variable.
    pub(super) uses: FxHashMap<Var, Uses>,
    /// The variables in the order in which they are named first.
    pub(super) order: Vec<Var>,
    /// What is set whichever way the code takes.
    pub(super) assigned: FxHashSet<Var>,
    /// Whether a global is written.
    pub(super) writes_global: bool,
}

impl Flow {
    /// Of statements that follow one another.
    pub(super) fn of(stmts: &[Stmt]) -> Self {
        let mut flow = Self::default();
        flow.block(stmts, true);
        flow
    }

    fn block(&mut self, stmts: &[Stmt], outermost: bool) {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            for stmt in stmts {
                self.stmt(stmt, outermost);
            }
        });
    }

    fn uses(&mut self, var: Var) -> &mut Uses {
        self.uses.entry(var).or_insert_with(|| {
            self.order.push(var);
            Uses::default()
        })
    }

    fn stmt(&mut self, stmt: &Stmt, outermost: bool) {
        let release = matches!(stmt, Stmt::Release(_));
        let counter = matches!(stmt, Stmt::For(_));
        names(stmt, &mut |var, used| {
            let known = self.assigned.contains(&var);
            let uses = self.uses(var);
            uses.count += 1;
            match used {
                Use::Reads if release => {}
                Use::Reads => uses.exposed |= !known,
                Use::Sets if release => {
                    uses.released |= outermost;
                    uses.released_inside |= !outermost;
                }
                Use::Sets => {
                    uses.set = true;
                    uses.counter |= counter;
                    self.assigned.insert(var);
                }
            }
        });
        match stmt {
            Stmt::WriteGlobal(..) => self.writes_global = true,
            Stmt::If(_, yes, no) => {
                let before = self.assigned.clone();
                self.block(yes, false);
                let after = std::mem::replace(&mut self.assigned, before);
                self.block(no, false);
                self.assigned.retain(|var| after.contains(var));
            }
            Stmt::While(_, body) => self.perhaps(body),
            Stmt::For(For { how, body, .. }) => {
                self.perhaps(body);
                if let How::Tasks(Launch {
                    owned,
                    locals,
                    distinct,
                    ..
                }) = how
                {
                    for var in owned.iter().chain(locals).chain(distinct) {
                        self.uses(*var);
                    }
                    for var in owned {
                        self.uses(*var).of_task = true;
                    }
                }
            }
            _ => {}
        }
    }

    /// Statements that may not run at all.
    fn perhaps(&mut self, body: &[Stmt]) {
        let before = self.assigned.clone();
        self.block(body, false);
        self.assigned = before;
    }
}
