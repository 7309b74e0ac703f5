//! The choice of the part of an iteration that runs ahead.
//!
//! A candidate is the backward slice of one statement, or all statements that finish by some time
//! with unlimited units: the former has few live values where an iteration is one long chain, the
//! latter cuts parallel chains at once. It has no stores, no loop-carried inputs, and loads only
//! where no iteration stores. The best one leaves the shortest critical paths on both sides and few
//! live values between them.

use super::graph::{DependenceGraph, Memory};
use imp::Var;
use target::memory::{MAX_LIVE_REGISTERS, WINDOW};

/// A critical path shorter than this share of the multipliers' busy time costs nothing.
const WAITING: f64 = 0.6;
/// The longest remaining path must be at most this share of the whole.
const WORTH: f64 = 0.8;
/// The cost of a register that is live across the cut, in cycles.
const LIVE_COST: f64 = 2.0;

/// The part that runs ahead.
pub(super) struct Cut {
    /// True for each statement in the part.
    pub(super) early: Vec<bool>,
    /// The variables of the part that the rest reads.
    pub(super) crossing: Vec<Var>,
}

/// The best part, if any is worth it. `local` returns true if a variable is named only in the loop.
pub(super) fn choose(graph: &DependenceGraph, local: impl Fn(Var) -> bool) -> Option<Cut> {
    let nodes = &graph.nodes;
    let operations: f64 = nodes.iter().map(|node| node.cost.operations).sum();
    let busy: f64 = nodes.iter().map(|node| node.cost.busy).sum();
    let finished = graph.finished(|_| true);
    let critical_path = longest(&finished, |_| true);
    if operations < WINDOW || critical_path < WAITING * busy {
        return None;
    }
    let pinned: Vec<bool> = (0..nodes.len())
        .map(|at| is_pinned(graph, at) || nodes[at].sets.is_none_or(|var| !local(var)))
        .collect();
    let mut best: Option<(f64, Cut)> = None;
    for at in 0..nodes.len() {
        // Only cuts that leave a substantial path on both sides.
        if finished[at] < 0.2 * critical_path || finished[at] > WORTH * critical_path {
            continue;
        }
        let parts =
            [backward_slice(graph, at, &pinned), Some(ready_by(graph, &finished, finished[at], &pinned))];
        for early in parts.into_iter().flatten() {
            let crossing = crossing(graph, &early);
            let live: f64 = crossing.iter().map(|at| nodes[*at].registers).sum();
            if live > MAX_LIVE_REGISTERS {
                continue;
            }
            let before = longest(&finished, |at| early[at]);
            let after = longest(&graph.finished(|at| !early[at]), |_| true);
            let left = before.max(after);
            let price = left + LIVE_COST * live;
            if left <= WORTH * critical_path && best.as_ref().is_none_or(|(least, _)| price < *least) {
                let crossing = crossing.iter().filter_map(|at| nodes[*at].sets).collect();
                best = Some((price, Cut { early, crossing }));
            }
        }
    }
    best.map(|(_, cut)| cut)
}

fn longest(finished: &[f64], counts: impl Fn(usize) -> bool) -> f64 {
    let all = finished.iter().enumerate().filter(|(at, _)| counts(*at));
    all.map(|(_, time)| *time).fold(0.0, f64::max)
}

/// Returns true if a statement cannot run ahead.
fn is_pinned(graph: &DependenceGraph, at: usize) -> bool {
    let node = &graph.nodes[at];
    let conflicts = |other: &super::graph::Node| graph.conflict(other.memory, node.memory);
    node.carried || node.traps || matches!(node.memory, Memory::Store(_)) || graph.nodes.iter().any(conflicts)
}

/// The backward slice of a statement, itself included, if all of it can run ahead.
fn backward_slice(graph: &DependenceGraph, at: usize, pinned: &[bool]) -> Option<Vec<bool>> {
    let mut early = vec![false; graph.nodes.len()];
    let mut todo = vec![at];
    while let Some(at) = todo.pop() {
        if pinned[at] {
            return None;
        }
        if !std::mem::replace(&mut early[at], true) {
            todo.extend(&graph.nodes[at].before);
        }
    }
    Some(early)
}

/// The statements that can run ahead and finish by a time.
fn ready_by(graph: &DependenceGraph, finished: &[f64], time: f64, pinned: &[bool]) -> Vec<bool> {
    let mut early = vec![false; graph.nodes.len()];
    for (at, node) in graph.nodes.iter().enumerate() {
        early[at] = finished[at] <= time && !pinned[at] && node.before.iter().all(|before| early[*before]);
    }
    early
}

/// The statements of a part whose results the rest reads.
fn crossing(graph: &DependenceGraph, early: &[bool]) -> Vec<usize> {
    let mut crossing: Vec<usize> = graph
        .nodes
        .iter()
        .zip(early)
        .filter(|(_, early)| !**early)
        .flat_map(|(node, _)| node.operands.iter().copied().filter(|at| early[*at]))
        .collect();
    crossing.sort_unstable();
    crossing.dedup();
    crossing
}
