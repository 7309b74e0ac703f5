//! The live-in and live-out variables of a run of statements.
//!
//! One walk, in time linear in the statements (the variables set in both branches of a conditional
//! are found by going through both lists).

use imp::walk::{Use, each_use};
use imp::{Slots, Stmt, Var};
use rustc_hash::FxHashSet;

/// The state of the walk: the variables set on every path to this point.
pub(super) struct LiveInOut<'p> {
    /// Returns true if a variable is named only in these statements.
    local: &'p dyn Fn(Var) -> bool,
    /// The variables of task loops among the statements. Adjacent loops may have the same
    /// variables.
    of_tasks: FxHashSet<Var>,
    certain: FxHashSet<Var>,
    /// The variables added to `certain`, in order.
    log: Vec<Var>,
    needed: Vec<Var>,
    needed_set: FxHashSet<Var>,
    given: Vec<Var>,
    given_set: FxHashSet<Var>,
    /// True if a block that others own is released, or a global is written.
    refused: bool,
}

impl<'p> LiveInOut<'p> {
    /// The state before the first statement.
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

    /// The variables that may be read before they are set, in order; none if the statements do
    /// something that an outlined function cannot.
    pub(super) fn live_in(&self) -> Option<Vec<Var>> {
        (!self.refused).then(|| self.needed.clone())
    }

    /// The variables that are set, in order.
    pub(super) fn live_out(&self) -> &[Var] {
        &self.given
    }

    /// Returns true if a variable is set on every path through the statements.
    pub(super) fn is_certain(&self, var: Var) -> bool {
        self.certain.contains(&var)
    }

    /// Continues the walk with a statement.
    pub(super) fn stmt(&mut self, stmt: &Stmt) {
        let in_loop = matches!(stmt, Stmt::For(_));
        each_use(stmt, &mut |var, used| {
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
                    // A counter is set only if there is an iteration.
                    if !in_loop && self.certain.insert(var) {
                        self.log.push(var);
                    }
                }
            }
        });
        match stmt {
            Stmt::Release(var) | Stmt::Slots(Slots::Put { block: var, .. }) => {
                self.refused |= !(self.local)(*var) && !self.of_tasks.contains(var);
            }
            Stmt::WriteGlobal(..) => self.refused = true,
            Stmt::If(_, yes, no) => {
                let first = self.conditionally(yes, Vec::new());
                let second = self.conditionally(no, Vec::new());
                let (few, many) = if first.len() < second.len() { (first, second) } else { (second, first) };
                let few: FxHashSet<Var> = few.into_iter().collect();
                for var in many.into_iter().filter(|var| few.contains(var)) {
                    if self.certain.insert(var) {
                        self.log.push(var);
                    }
                }
            }
            Stmt::While(_, body) => {
                self.conditionally(body, Vec::new());
            }
            Stmt::For(f) => {
                if let Some(launch) = f.mode.launch() {
                    self.of_tasks.extend(&launch.owned);
                    self.of_tasks.extend(&launch.locals);
                }
                self.conditionally(&f.body, f.counters().collect());
            }
            imp::leaf_stmt!() => {}
        }
    }

    /// Walks a list that may not be executed, with counters set before; returns the variables that
    /// it sets on every path.
    fn conditionally(&mut self, stmts: &[Stmt], counters: Vec<Var>) -> Vec<Var> {
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
