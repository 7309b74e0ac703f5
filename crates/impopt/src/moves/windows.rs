//! When variables are set, as ranges of statement numbers: decides whether a variable keeps its value
//! from one statement to another.

use imp::def_use::DefUse;
use imp::walk::{Use, each_use};
use imp::{For, Function, Stmt, Var};
use ir::walk::with_stack;
use rustc_hash::FxHashMap;

/// The sets of a function's variables.
pub(crate) struct Windows {
    pub(crate) def_use: DefUse,
    /// For each variable that several statements set, their numbers with the innermost loops around.
    sets: FxHashMap<Var, Vec<Set>>,
    /// The loop around each loop, by number; 0 if there is none.
    outer: FxHashMap<u32, u32>,
}

/// A statement that sets a variable.
#[derive(Clone, Copy)]
struct Set {
    at: u32,
    /// The innermost loop around it, 0 if there is none.
    inside: u32,
    is_leaf: bool,
}

impl Windows {
    /// The sets of a function.
    pub(crate) fn new(function: &Function) -> Self {
        let def_use = DefUse::new(function);
        let mut windows = Self { def_use, sets: FxHashMap::default(), outer: FxHashMap::default() };
        windows.block(&function.body, DefUse::FIRST, 0);
        windows
    }

    fn block(&mut self, stmts: &[Stmt], mut at: u32, inside: u32) {
        with_stack(|| {
            for stmt in stmts {
                let is_leaf = matches!(stmt, imp::leaf_stmt!());
                each_use(stmt, &mut |var, used| {
                    if used == Use::Sets && !self.def_use.is_set_once(var) {
                        self.sets.entry(var).or_default().push(Set { at, inside, is_leaf });
                    }
                });
                match stmt {
                    Stmt::If(_, yes, no) => {
                        self.block(yes, at + 1, inside);
                        self.block(no, self.def_use.else_start(at), inside);
                    }
                    Stmt::While(_, body) | Stmt::For(For { body, .. }) => {
                        self.outer.insert(at, inside);
                        self.block(body, at + 1, at);
                    }
                    imp::leaf_stmt!() => {}
                }
                at = self.def_use.end(at);
            }
        });
    }

    /// Returns true if all reads of `copy`, which statement `at` sets to `source`, see the value that
    /// `source` has at that time.
    pub(crate) fn is_copy(&self, copy: Var, source: Var, at: u32) -> bool {
        if !self.def_use.is_set_once(copy) || self.def_use.dominating_def(copy) != Some(at) {
            return false;
        }
        let Some(sets) = self.sets.get(&source) else {
            return true;
        };
        let last = self.def_use.last(copy);
        match sets.get(sets.partition_point(|set| set.at <= at)) {
            None => true,
            // A statement reads before it sets.
            Some(next) if next.at == last => next.is_leaf && next.inside < at,
            Some(next) => next.at > last && !self.is_repeated(last, *next, at),
        }
    }

    /// Returns true if a loop that begins after statement `from` contains statement `read` and, later
    /// in its body, `set`.
    fn is_repeated(&self, read: u32, set: Set, from: u32) -> bool {
        let mut around = set.inside;
        while around > from {
            if around <= read {
                return true;
            }
            around = self.outer.get(&around).copied().unwrap_or(0);
        }
        false
    }
}
