//! Equal functions: one of them remains, and calls of the others become calls of it.

use super::canonical::{canonical, list_shape, nested_shape, own_shape};
use imp::walk::{each_stmt, each_stmt_mut};
use imp::{FunId, Function, Program, Stmt};
use ir::Context;
use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use rustc_hash::{FxHashMap, FxHashSet};

/// Merges equal functions.
pub(super) fn merge(program: &mut Program, context: &mut Context) {
    let functions = &program.functions;
    let mut shapes: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
    let shape_of: Vec<u64> = functions.iter().map(|function| block_shape(&function.body)).collect();
    for (at, shape) in shape_of.iter().enumerate() {
        shapes.entry(*shape).or_default().push(at);
    }
    let fixed: FxHashSet<usize> =
        (program.entries.iter().map(|entry| entry.fun)).chain(program.init).map(FunId::index).collect();
    let mut representatives: Vec<FunId> = (0..functions.len()).map(FunId::new).collect();
    let mut distinct: FxHashMap<u64, Vec<(usize, Function)>> = FxHashMap::default();
    // Callees come first, so that their callers may be equal.
    for at in bottom_up(functions) {
        let alike = shapes.get(&shape_of[at]).is_some_and(|group| group.len() > 1);
        if !alike || fixed.contains(&at) || has_launch(&functions[at]) {
            continue;
        }
        let representative = |fun: FunId| representatives.get(fun.index()).copied().unwrap_or(fun);
        let found = canonical(functions[at].clone(), &representative);
        let known = distinct.entry(shape_of[at]).or_default();
        match known.iter().find(|(_, function)| *function == found) {
            Some((first, _)) => {
                if context.fuel.take() {
                    representatives[at] = FunId::new(*first);
                }
            }
            None => known.push((at, found)),
        }
    }
    keep_representatives(program, &representatives);
}

/// The shape of a list, nested statements included.
fn block_shape(stmts: &[Stmt]) -> u64 {
    stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
        list_shape(stmts.iter().map(|stmt| match stmt.blocks() {
            [[], []] => own_shape(stmt),
            [first, second] => nested_shape(own_shape(stmt), block_shape(first), block_shape(second)),
        }))
    })
}

/// Returns true if a function has task loops or kernels, which have names of their own.
fn has_launch(function: &Function) -> bool {
    let mut found = false;
    each_stmt(&function.body, &mut |stmt| {
        found |= matches!(stmt, Stmt::For(f) if f.mode.launch().is_some());
    });
    found
}

/// The functions' positions, callees before callers where there is no recursion. Calls of functions
/// marked recursive count too, unlike in [`walk::callees_first`](imp::walk::callees_first): parts of
/// split functions are marked.
fn bottom_up(functions: &[Function]) -> Vec<usize> {
    let mut graph = DiGraph::<(), ()>::with_capacity(functions.len(), functions.len());
    let nodes: Vec<_> = functions.iter().map(|_| graph.add_node(())).collect();
    for (function, node) in functions.iter().zip(&nodes) {
        each_stmt(&function.body, &mut |stmt| {
            if let Stmt::Call { fun, .. } = stmt
                && let Some(callee) = nodes.get(fun.index())
            {
                graph.update_edge(*node, *callee, ());
            }
        });
    }
    kosaraju_scc(&graph).into_iter().flatten().map(NodeIndex::index).collect()
}

/// Removes the functions that have another representative, and calls the representatives.
fn keep_representatives(program: &mut Program, representatives: &[FunId]) {
    let kept = |at: usize| representatives.get(at).is_some_and(|fun| fun.index() == at);
    let mut count = 0;
    let numbers: Vec<u32> = (0..representatives.len())
        .map(|at| {
            let number = count;
            count += u32::from(kept(at));
            number
        })
        .collect();
    if count as usize == representatives.len() {
        return;
    }
    let new = |fun: FunId| {
        let representative = representatives.get(fun.index()).copied().unwrap_or(fun);
        FunId(numbers.get(representative.index()).copied().unwrap_or(representative.0))
    };
    let mut at = 0;
    program.functions.retain(|_| {
        at += 1;
        kept(at - 1)
    });
    for function in &mut program.functions {
        each_stmt_mut(&mut function.body, &mut |stmt| {
            if let Stmt::Call { fun, .. } = stmt {
                *fun = new(*fun);
            }
        });
    }
    program.entries.iter_mut().for_each(|entry| entry.fun = new(entry.fun));
    program.init = program.init.map(new);
}
