//! Computes values where they are moved to: `t = e; y = t` becomes `y = e`.

use imp::def_use::DefUse;
use imp::walk::each_use;
use imp::{Expr, For, Function, Stmt, Var, VarInfo};
use ir::walk::with_stack;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

/// Coalesces the variables of a function that are only moved.
pub(super) fn coalesce(function: &mut Function) {
    let def_use = DefUse::new(function);
    let mut counters = FxHashSet::default();
    let mut named = vec![SmallVec::new(); function.vars.len()];
    let mut at = DefUse::FIRST;
    imp::walk::each_stmt(&function.body, &mut |stmt| {
        each_use(stmt, &mut |var, _| named[var.index()].push(at));
        if let Stmt::For(f) = stmt {
            counters.extend(f.counters());
        }
        at += 1;
    });
    let mut body = std::mem::take(&mut function.body);
    let mut coalesce =
        Coalesce { vars: &function.vars, results: &function.results, def_use: &def_use, counters, named };
    coalesce.block(&mut body, DefUse::FIRST);
    function.body = body;
}

struct Coalesce<'f> {
    vars: &'f [VarInfo],
    results: &'f [Var],
    def_use: &'f DefUse,
    /// The counters of loops.
    counters: FxHashSet<Var>,
    /// The numbers of the statements that name each variable, in order.
    named: Vec<SmallVec<[u32; 4]>>,
}

impl Coalesce<'_> {
    fn block(&mut self, stmts: &mut Vec<Stmt>, mut at: u32) {
        with_stack(|| {
            let mut numbers = Vec::with_capacity(stmts.len());
            for stmt in stmts.iter_mut() {
                numbers.push(at);
                match stmt {
                    Stmt::If(_, yes, no) => {
                        self.block(yes, at + 1);
                        self.block(no, self.def_use.else_start(at));
                    }
                    Stmt::For(f) if f.mode.is_kernel() => {}
                    Stmt::While(_, body) | Stmt::For(For { body, .. }) => self.block(body, at + 1),
                    imp::leaf_stmt!() => {}
                }
                at = self.def_use.end(at);
            }
            let mut moved = vec![false; stmts.len()];
            for i in 0..stmts.len() {
                if let Stmt::Set(to, Expr::Var(from)) = stmts[i]
                    && let Some(def) = self.definition(from, to, numbers[i])
                    && let Ok(def) = numbers.binary_search(&def)
                    && let Stmt::Set(var, _) | Stmt::Load(var, _) | Stmt::LoadLanes { var, .. } =
                        &mut stmts[def]
                {
                    *var = to;
                    self.replace(to, numbers[i], numbers[def]);
                    moved[i] = true;
                }
            }
            let mut moved = moved.iter();
            stmts.retain(|_| moved.next() == Some(&false));
        });
    }

    /// The statement that computes `from`, if nothing but the move to `to` at this statement reads it,
    /// and nothing in between names `to`.
    fn definition(&self, from: Var, to: Var, at: u32) -> Option<u32> {
        let [def, read] = self.named[from.index()][..] else {
            return None;
        };
        let only_moved = read == at && self.def_use.dominating_def(from) == Some(def);
        let is_free = !self.results.contains(&from) && !self.counters.contains(&to);
        let same_type = self.vars[from.index()].ty == self.vars[to.index()].ty;
        let others = &self.named[to.index()];
        let after = others.partition_point(|number| *number <= def);
        let unnamed = others.get(after) == Some(&at);
        (only_moved && is_free && same_type && unnamed).then_some(def)
    }

    /// Records that `var` is set at another statement; none in between names it.
    fn replace(&mut self, var: Var, before: u32, now: u32) {
        let named = &mut self.named[var.index()];
        if let Ok(place) = named.binary_search(&before) {
            named[place] = now;
        }
    }
}
