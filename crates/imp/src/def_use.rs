//! Definitions and uses of a function's variables, by statement numbers.
//!
//! Statements are numbered in preorder; a statement and its nested ones have the numbers from its
//! own up to its end. So locality of a variable to a region is a comparison of numbers, and one
//! walk over the function computes everything.

use crate::syntax::{Function, Stmt, Var};
use crate::walk::{Use, each_stmt, each_use};
use ir::walk::with_stack;

/// The numbers of one function.
pub struct DefUse {
    ends: Vec<u32>,
    others: Vec<u32>,
    vars: Vec<Occurrences>,
}

/// The occurrences of one variable.
#[derive(Clone, Copy)]
struct Occurrences {
    first: u32,
    last: u32,
    /// The number of statements that set it; a parameter is set once more.
    sets: u32,
    /// The end of the list in which the first statement to name the variable sets it; if it is
    /// above `last`, that list has all occurrences.
    block_end: u32,
}

impl DefUse {
    /// Numbers a function.
    pub fn new(function: &Function) -> Self {
        let mut def_use = Self::of(&function.params, &function.body, function.vars.len());
        // Results are read after the last statement.
        let end = def_use.ends.len() as u32;
        for var in &function.results {
            def_use.name(*var, end, Use::Reads);
        }
        def_use
    }

    /// Numbers statements of a function with `n_vars` variables, as if they were all of it.
    pub fn of_stmts(stmts: &[Stmt], n_vars: usize) -> Self {
        Self::of(&[], stmts, n_vars)
    }

    fn of(params: &[Var], stmts: &[Stmt], n_vars: usize) -> Self {
        let unnamed = Occurrences { first: u32::MAX, last: 0, sets: 0, block_end: 0 };
        let mut def_use = Self { ends: vec![0], others: vec![0], vars: vec![unnamed; n_vars] };
        // Parameters are set before the first statement.
        for var in params {
            def_use.name(*var, 0, Use::Sets);
        }
        let mut open = Vec::new();
        def_use.block(stmts, &mut open);
        def_use
    }

    /// The number of a function's first statement.
    pub const FIRST: u32 = 1;

    fn name(&mut self, var: Var, at: u32, used: Use) {
        if let Some(named) = self.vars.get_mut(var.index()) {
            named.first = named.first.min(at);
            named.last = named.last.max(at);
            named.sets += u32::from(used == Use::Sets);
        }
    }

    /// Numbers a list; `open` collects the variables whose first definition is directly in it.
    fn block(&mut self, stmts: &[Stmt], open: &mut Vec<Var>) {
        if stmts.is_empty() {
            return;
        }
        with_stack(|| {
            let before = open.len();
            for stmt in stmts {
                self.stmt(stmt, open);
            }
            let end = self.ends.len() as u32;
            for var in open.drain(before..) {
                self.vars[var.index()].block_end = end;
            }
        });
    }

    fn stmt(&mut self, stmt: &Stmt, open: &mut Vec<Var>) {
        let at = self.ends.len() as u32;
        self.ends.push(at + 1);
        self.others.push(at + 1);
        each_use(stmt, &mut |var, used| {
            let new = self.vars.get(var.index()).is_some_and(|named| named.first == u32::MAX);
            if new && used == Use::Sets {
                open.push(var);
            }
            self.name(var, at, used);
        });
        let [first, second] = stmt.blocks();
        self.block(first, open);
        self.others[at as usize] = self.ends.len() as u32;
        self.block(second, open);
        self.ends[at as usize] = self.ends.len() as u32;
    }

    /// The number of the next statement after this one and its nested ones.
    pub fn end(&self, stmt: u32) -> u32 {
        self.ends[stmt as usize]
    }

    /// The number of the first statement of a conditional's second branch.
    pub fn else_start(&self, stmt: u32) -> u32 {
        self.others[stmt as usize]
    }

    /// Returns true if only statements from `from` to before `to` name a variable.
    pub fn is_local(&self, var: Var, from: u32, to: u32) -> bool {
        let named = self.vars[var.index()];
        named.first >= from && named.last < to
    }

    /// Returns true if a variable is a parameter.
    pub fn is_param(&self, var: Var) -> bool {
        self.vars[var.index()].first == 0
    }

    /// Returns true if a statement with this number or a later one names a variable.
    pub fn is_used_after(&self, var: Var, from: u32) -> bool {
        self.vars[var.index()].last >= from
    }

    /// The number of the last statement that names a variable.
    pub fn last(&self, var: Var) -> u32 {
        self.vars[var.index()].last
    }

    /// The first statement that names a variable, if it sets it and all other occurrences follow in
    /// the same list or nested in it: then every read sees a value of the same execution of that
    /// list.
    pub fn dominating_def(&self, var: Var) -> Option<u32> {
        let named = self.vars[var.index()];
        (named.block_end > named.last).then_some(named.first)
    }

    /// Returns true if one statement sets a variable, or it is a parameter that keeps its value.
    pub fn is_set_once(&self, var: Var) -> bool {
        self.vars[var.index()].sets == 1
    }
}

/// The variables, by index, that one statement sets before all reads: then each has one value in an
/// execution of that statement's list. Counters of loops are read in the loop only. Owned variables
/// are not among them: they are null at first.
pub fn set_once(function: &Function) -> Vec<bool> {
    let def_use = DefUse::new(function);
    let mut once: Vec<bool> = (0..function.vars.len() as u32)
        .map(Var)
        .map(|var| {
            def_use.is_set_once(var) && (def_use.is_param(var) || def_use.dominating_def(var).is_some())
        })
        .collect();
    let mut owned: Vec<Var> = function.owned.clone();
    let mut at = DefUse::FIRST;
    each_stmt(&function.body, &mut |stmt| {
        if let Stmt::For(f) = stmt {
            for var in f.counters() {
                once[var.index()] &= def_use.is_local(var, at, def_use.end(at));
            }
            owned.extend(f.mode.launch().into_iter().flat_map(|launch| &launch.owned));
        }
        at += 1;
    });
    for var in owned {
        once[var.index()] = false;
    }
    once
}
