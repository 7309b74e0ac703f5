//! Entry points whose code a pass left unchanged: evaluating them again would be redundant.

use driver::Ir;
use ir::syntax::{EntryPoint, FunKind};
use ir::walk::callees;
use ir::{FunId, FunName, Level, Program};
use std::collections::{BTreeMap, BTreeSet};

/// The names of entry points that run the same code in both programs; none at different levels.
pub fn unchanged_entries(before: &Ir, now: &Ir) -> BTreeSet<String> {
    match (before, now) {
        (Ir::Soacs(before), Ir::Soacs(now)) => same(before, now),
        (Ir::Segs(before), Ir::Segs(now)) => same(before, now),
        (Ir::Mems(before), Ir::Mems(now)) => same(before, now),
        _ => BTreeSet::new(),
    }
}

fn same<L: Level>(before: &Program<L>, now: &Program<L>) -> BTreeSet<String> {
    // Functions are compared by name, with the ids of their callees in `now`.
    let ids = now.functions.iter().enumerate().map(|(at, function)| (&function.name, FunId::new(at)));
    let ids: BTreeMap<&FunName, FunId> = ids.collect();
    let unknown = FunId::new(now.functions.len());
    let id = |fun: FunId| ids.get(&before.function(fun).name).copied().unwrap_or(unknown);
    let mut alike = vec![false; now.functions.len()];
    for function in &before.functions {
        let mut renumbered = function.clone();
        renumbered.renumber_calls(id);
        if let Some(same) = ids.get(&function.name) {
            alike[same.index()] = *now.function(*same) == renumbered;
        }
    }
    let constants = |program: &Program<L>| -> Vec<FunName> {
        let all = program.functions.iter();
        let constants = all.filter(|function| function.kind == FunKind::Constant);
        constants.map(|function| function.name.clone()).collect()
    };
    // Constants are computed before any call.
    let roots = constants(now);
    let around = (&before.levels, &before.files, &before.opaques) == (&now.levels, &now.files, &now.opaques);
    if !around || constants(before) != roots {
        return BTreeSet::new();
    }
    let same_entry = |entry: &EntryPoint| {
        before.entries.iter().any(|old| old.signature == entry.signature && id(old.fun) == entry.fun)
    };
    let kept = now.entries.iter().filter(|entry| {
        let mut open: Vec<FunId> = roots.iter().map(|name| ids[name]).collect();
        open.push(entry.fun);
        let mut seen: BTreeSet<FunId> = BTreeSet::new();
        while let Some(fun) = open.pop() {
            if seen.insert(fun) {
                if !alike[fun.index()] {
                    return false;
                }
                callees(&now.function(fun).body, |callee| open.push(callee));
            }
        }
        same_entry(entry)
    });
    kept.map(|entry| entry.signature.name.to_string()).collect()
}

/// The names of entry points that run the same code in both programs, at the imperative level.
pub fn unchanged_loops(before: &imp::Program, now: &imp::Program) -> BTreeSet<String> {
    // All fields except for functions, which are compared where they are reached.
    let imp::Program {
        source_name: _,
        functions: _,
        opaques,
        entries,
        checks,
        data,
        globals,
        tunables,
        init,
    } = before;
    let tables = (opaques, entries, checks, data, globals, tunables, init);
    let own = (&now.opaques, &now.entries, &now.checks, &now.data, &now.globals, &now.tunables, &now.init);
    if tables != own {
        return BTreeSet::new();
    }
    let is_same = |at: usize| before.functions.get(at) == now.functions.get(at);
    let from_start = now.init.into_iter().all(|init| call_closure(now, init).into_iter().all(is_same));
    let entries = now.entries.iter().filter(|_| from_start);
    let same = entries.filter(|entry| call_closure(now, entry.fun).into_iter().all(is_same));
    same.map(|entry| entry.signature.name.to_string()).collect()
}

/// The names of the functions that calls of an entry point run.
pub fn called_functions<'p>(program: &'p imp::Program, entry: &str) -> impl Iterator<Item = &'p str> {
    let entries = program.entries.iter().filter(move |known| *known.signature.name == *entry);
    let all: BTreeSet<usize> = entries.flat_map(|entry| call_closure(program, entry.fun)).collect();
    all.into_iter().map(|at| &*program.functions[at].name)
}

/// The indices of a function and of all functions that it calls directly or indirectly.
fn call_closure(program: &imp::Program, from: FunId) -> BTreeSet<usize> {
    let (mut open, mut seen) = (vec![from.index()], BTreeSet::new());
    while let Some(at) = open.pop() {
        if seen.insert(at) {
            imp::walk::each_stmt(&program.functions[at].body, &mut |stmt| {
                if let imp::Stmt::Call { fun, .. } = stmt {
                    open.push(fun.index());
                }
            });
        }
    }
    seen
}
