//! Which variables of others a run of statements needs and gives.
//!
//! One walk, in time linear in the statements (the variables set in both arms of
//! a conditional are found by going through both lists).

use crate::syntax::{Slots, Stmt, Var};
use crate::walk::{Use, names};
use rustc_hash::FxHashSet;

/// The state of the walk: what was set on every way to this point.
pub(super) struct Flow<'p> {
    /// Whether a variable is named nowhere else.
    local: &'p dyn Fn(Var) -> bool,
    /// What belongs to loops of tasks among the statements. Loops side by side may
    /// have the same variables.
    of_tasks: FxHashSet<Var>,
    certain: FxHashSet<Var>,
    /// What was added to `certain`, in order.
    log: Vec<Var>,
    needed: Vec<Var>,
    needed_set: FxHashSet<Var>,
    given: Vec<Var>,
    given_set: FxHashSet<Var>,
    /// A block that others own is given back, or a global is written.
    refused: bool,
}

impl<'p> Flow<'p> {
    /// Nothing was looked at.
    pub(super) fn new(local: &'p dyn Fn(Var) -> bool) -> Self {
        Self {
            local,
            of_tasks: FxHashSet::default(),
            certain: FxHashSet::default(),
            log: Vec::new(),
            needed: Vec::new(),
            needed_set: FxHashSet::default(),
            given: Vec::new(),
            given_set: FxHashSet::default(),
            refused: false,
        }
    }

    /// What is read before it was set for certain, in order; none if the
    /// statements do what a function cannot do for others.
    pub(super) fn needed(&self) -> Option<Vec<Var>> {
        (!self.refused).then(|| self.needed.clone())
    }

    /// What is set, in order.
    pub(super) fn given(&self) -> &[Var] {
        &self.given
    }

    /// Whether it is set on every way through the statements.
    pub(super) fn is_certain(&self, var: Var) -> bool {
        self.certain.contains(&var)
    }

    /// Goes on with a statement.
    pub(super) fn stmt(&mut self, stmt: &Stmt) {
        let in_loop = matches!(stmt, Stmt::For(_));
        names(stmt, &mut |var, used| {
            if (self.local)(var) || self.of_tasks.contains(&var) {
                return;
            }
            match used {
                Use::Reads => {
                    if !self.certain.contains(&var) && self.needed_set.insert(var) {
                        self.needed.push(var);
                    }
                }
                Use::Sets => {
                    if self.given_set.insert(var) {
                        self.given.push(var);
                    }
                    // A counter is set if there is an iteration.
                    if !in_loop && self.certain.insert(var) {
                        self.log.push(var);
                    }
                }
            }
        });
        match stmt {
            Stmt::Release(var) | Stmt::Slots(Slots::Keep { block: var, .. }) => {
                self.refused |= !(self.local)(*var) && !self.of_tasks.contains(var);
            }
            Stmt::WriteGlobal(..) => self.refused = true,
            Stmt::If(_, yes, no) => {
                let first = self.undone(yes, Vec::new());
                let second = self.undone(no, Vec::new());
                let (few, many) = if first.len() < second.len() { (first, second) } else { (second, first) };
                let few: FxHashSet<Var> = few.into_iter().collect();
                for var in many.into_iter().filter(|var| few.contains(var)) {
                    if self.certain.insert(var) {
                        self.log.push(var);
                    }
                }
            }
            Stmt::While(_, body) => {
                self.undone(body, Vec::new());
            }
            Stmt::For(f) => {
                if let Some(launch) = f.how.launch() {
                    self.of_tasks.extend(&launch.owned);
                    self.of_tasks.extend(&launch.locals);
                }
                self.undone(&f.body, f.counters().collect());
            }
            Stmt::Device(_)
            | Stmt::Set(..)
            | Stmt::Load(..)
            | Stmt::Store(..)
            | Stmt::LoadLanes { .. }
            | Stmt::StoreLanes { .. }
            | Stmt::Alloc(..)
            | Stmt::Frame { .. }
            | Stmt::Share(..)
            | Stmt::Borrow(..)
            | Stmt::Slots(Slots::New(..) | Slots::Kept { .. })
            | Stmt::Copy { .. }
            | Stmt::ConstData(..)
            | Stmt::Call { .. }
            | Stmt::Check { .. }
            | Stmt::Compared(..)
            | Stmt::ReadGlobal(..) => {}
        }
    }

    /// Walks a list that may not run, with counters set before; what it sets for
    /// certain.
    fn undone(&mut self, stmts: &[Stmt], counters: Vec<Var>) -> Vec<Var> {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            let before = self.log.len();
            for counter in counters {
                if !(self.local)(counter) && self.certain.insert(counter) {
                    self.log.push(counter);
                }
            }
            for stmt in stmts {
                self.stmt(stmt);
            }
            let set = self.log.split_off(before);
            for var in &set {
                self.certain.remove(var);
            }
            set
        })
    }
}
