//! The variables that have a value at the current point of the code, on every path to it.

use crate::walk::each_stmt;
use crate::{Expr, For, Slots, Stmt, Var};
use rustc_hash::{FxHashMap, FxHashSet};

/// The known facts; changes are recorded, so that they can be undone.
#[derive(Default)]
pub(super) struct Facts {
    known: FxHashSet<Var>,
    /// The changes so far: the variable, and if it was known before.
    trail: Vec<(Var, bool)>,
}

/// A point in the record of changes.
#[derive(Clone, Copy)]
pub(super) struct Mark(usize);

impl Facts {
    /// Adds facts that nothing undoes.
    pub(super) fn assume(&mut self, vars: impl Iterator<Item = Var>) {
        self.known.extend(vars);
    }

    pub(super) fn is_known(&self, var: Var) -> bool {
        self.known.contains(&var)
    }

    /// The variable has a value from here on.
    pub(super) fn know(&mut self, var: Var) {
        self.learn(var);
    }

    /// As [`Self::know`]; returns true if that is new.
    pub(super) fn learn(&mut self, var: Var) -> bool {
        let is_new = self.known.insert(var);
        if is_new {
            self.trail.push((var, false));
        }
        is_new
    }

    /// The variable may have no value from here on.
    pub(super) fn forget(&mut self, var: Var) {
        if self.known.remove(&var) {
            self.trail.push((var, true));
        }
    }

    pub(super) fn mark(&self) -> Mark {
        Mark(self.trail.len())
    }

    /// Undoes the changes since a point; returns the variables with the undone facts.
    pub(super) fn undo(&mut self, mark: Mark) -> FxHashMap<Var, bool> {
        let mut undone = FxHashMap::default();
        while self.trail.len() > mark.0 {
            if let Some((var, was_known)) = self.trail.pop() {
                undone.entry(var).or_insert_with(|| self.known.contains(&var));
                if was_known {
                    self.known.insert(var);
                } else {
                    self.known.remove(&var);
                }
            }
        }
        undone
    }

    /// Joins the facts of another path from the point, which [`Self::undo`] returned, with those of
    /// the current path from there.
    pub(super) fn join(&mut self, mark: Mark, other: &FxHashMap<Var, bool>) {
        let since = self.trail.get(mark.0..).unwrap_or_default();
        let before: FxHashMap<Var, bool> = since.iter().rev().copied().collect();
        // The order has no effect on the result.
        let mut forgotten: Vec<Var> =
            other.iter().filter(|(_, known)| !**known).map(|(var, _)| *var).collect();
        let unchanged = |var: &Var, was_known: bool| !was_known && other.get(var) != Some(&true);
        forgotten.extend(before.iter().filter(|(var, was)| unchanged(var, **was)).map(|(var, _)| *var));
        forgotten.sort_unstable();
        forgotten.into_iter().for_each(|var| self.forget(var));
    }

    /// Forgets what may be unset when an iteration of the loop begins.
    pub(super) fn forget_in_loop(&mut self, body: &[Stmt]) {
        each_stmt(body, &mut |stmt| {
            if let Stmt::Load(var, _)
            | Stmt::Set(var, Expr::Var(_))
            | Stmt::Release(var)
            | Stmt::Slots(Slots::Put { block: var, .. }) = stmt
            {
                self.forget(*var);
            } else if let Stmt::For(f) = stmt {
                self.forget_of_tasks(f);
            }
        });
    }

    /// Forgets the variables that have no value when a task begins.
    pub(super) fn forget_of_tasks(&mut self, f: &For) {
        if let Some(launch) = f.mode.launch() {
            launch.owned.iter().chain(&launch.locals).for_each(|var| self.forget(*var));
        }
    }
}
