//! Detection of loop-carried variables: variables that iterations set for a later iteration, or for
//! code after the loop. The order of such iterations cannot be changed, even if they are
//! independent in memory.

use crate::walk::{Use, each_stmt, each_use};
use crate::{For, Function, Stmt, Var};
use rustc_hash::{FxHashMap, FxHashSet};

/// The results for loops and functions so far, by their addresses in the program.
#[derive(Default)]
pub(super) struct Carried {
    loops: FxHashMap<usize, Option<Var>>,
    occurrences: FxHashMap<usize, Vec<u32>>,
}

impl Carried {
    /// A loop-carried variable of a loop of this function, if any.
    pub(super) fn of(&mut self, function: &Function, f: &For) -> Option<Var> {
        let Self { loops, occurrences } = self;
        let (owner, at) = (std::ptr::from_ref(function), std::ptr::from_ref(f));
        *loops.entry(at.addr()).or_insert_with(|| {
            let everywhere = occurrences.entry(owner.addr());
            carried(f, everywhere.or_insert_with(|| named(function)))
        })
    }
}

/// The number of occurrences of each variable in a function's statements and results.
fn named(function: &Function) -> Vec<u32> {
    let mut counts = vec![0; function.vars.len()];
    let mut count = |var: Var| {
        if let Some(count) = counts.get_mut(var.index()) {
            *count += 1;
        }
    };
    each_stmt(&function.body, &mut |stmt| {
        each_use(stmt, &mut |var, _| count(var));
    });
    function.results.iter().for_each(|var| count(*var));
    counts
}

fn carried(f: &For, occurrences: &[u32]) -> Option<Var> {
    let mut counts: FxHashMap<Var, u32> = FxHashMap::default();
    let mut sets = Vec::new();
    each_stmt(&f.body, &mut |stmt| {
        each_use(stmt, &mut |var, how| {
            *counts.entry(var).or_default() += 1;
            if how == Use::Sets {
                sets.push(var);
            }
        });
    });
    let everywhere = |var: &Var| occurrences.get(var.index()).copied();
    let after = sets.iter().find(|var| everywhere(var) != counts.get(*var).copied());
    if let Some(var) = after {
        return Some(*var);
    }
    let mut flow = Flow {
        of_loop: sets.into_iter().collect(),
        set: FxHashSet::default(),
        trail: Vec::new(),
        read_early: None,
    };
    flow.block(&f.body);
    flow.read_early
}

struct Flow {
    /// The variables that iterations set.
    of_loop: FxHashSet<Var>,
    /// The variables set on every path so far, and the order of setting.
    set: FxHashSet<Var>,
    trail: Vec<Var>,
    /// The first variable that is read where it may not have been set.
    read_early: Option<Var>,
}

impl Flow {
    fn block(&mut self, stmts: &[Stmt]) {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            stmts.iter().for_each(|stmt| self.stmt(stmt));
        });
    }

    fn sets(&mut self, var: Var) {
        if self.set.insert(var) {
            self.trail.push(var);
        }
    }

    /// The variables set by `walk`, which may not be executed.
    fn conditionally(&mut self, walk: impl FnOnce(&mut Self)) -> Vec<Var> {
        let before = self.trail.len();
        walk(self);
        let more = self.trail.split_off(before);
        for var in &more {
            self.set.remove(var);
        }
        more
    }

    fn stmt(&mut self, stmt: &Stmt) {
        let mut bound = Vec::new();
        each_use(stmt, &mut |var, how| match how {
            Use::Sets => bound.push(var),
            Use::Reads if self.of_loop.contains(&var) && !self.set.contains(&var) => {
                self.read_early.get_or_insert(var);
            }
            Use::Reads => {}
        });
        match stmt {
            Stmt::If(_, yes, no) => {
                let some = self.conditionally(|flow| flow.block(yes));
                let others = self.conditionally(|flow| flow.block(no));
                let others: FxHashSet<Var> = others.into_iter().collect();
                for var in some {
                    if others.contains(&var) {
                        self.sets(var);
                    }
                }
            }
            Stmt::While(_, body) => {
                self.conditionally(|flow| flow.block(body));
            }
            Stmt::For(f) => {
                self.conditionally(|flow| {
                    flow.sets(f.var);
                    flow.block(&f.body);
                });
            }
            crate::leaf_stmt!() => bound.into_iter().for_each(|var| self.sets(var)),
        }
    }
}
