//! Which part of an iteration runs ahead.
//!
//! A part is all that one statement needs, or all that is there by some time if
//! nothing has to wait for units: the one keeps little where an iteration is one
//! long chain, the other cuts chains side by side at once. It has no stores, needs
//! nothing of the iteration before, and loads only where no iteration stores. The
//! best one leaves the shortest chains on both sides and little to keep between
//! them.

use super::graph::{Graph, Memory};
use crate::syntax::Var;
use target::memory::{KEPT_REGISTERS, WINDOW};

/// A chain shorter than this part of what the multipliers have to do costs nothing.
const WAITING: f64 = 0.6;
/// The longest chain that is left must be shorter than this part of the whole.
const WORTH: f64 = 0.8;
/// What a register that is kept from one part to the other costs, in cycles.
const KEPT: f64 = 2.0;

/// The part that runs ahead.
pub(super) struct Cut {
    /// For each statement, whether it is in the part.
    pub(super) early: Vec<bool>,
    /// What the rest needs of it.
    pub(super) crossing: Vec<Var>,
}

/// The best part, if any is worth it. `local` says of a variable that nothing
/// outside of the loop names it.
pub(super) fn choose(graph: &Graph, local: impl Fn(Var) -> bool) -> Option<Cut> {
    let nodes = &graph.nodes;
    let operations: f64 = nodes.iter().map(|node| node.cost.operations).sum();
    let busy: f64 = nodes.iter().map(|node| node.cost.busy).sum();
    let finished = graph.finished(|_| true);
    let chain = longest(&finished, |_| true);
    if operations < WINDOW || chain < WAITING * busy {
        return None;
    }
    let bound: Vec<bool> =
        (0..nodes.len()).map(|at| bound(graph, at) || nodes[at].sets.is_none_or(|var| !local(var))).collect();
    let mut best: Option<(f64, Cut)> = None;
    for at in 0..nodes.len() {
        // What is as long before as after, more or less.
        if finished[at] < 0.2 * chain || finished[at] > WORTH * chain {
            continue;
        }
        let parts = [cone(graph, at, &bound), Some(level(graph, &finished, finished[at], &bound))];
        for early in parts.into_iter().flatten() {
            let crossing = crossing(graph, &early);
            let kept: f64 = crossing.iter().map(|at| nodes[*at].registers).sum();
            if kept > KEPT_REGISTERS {
                continue;
            }
            let before = longest(&finished, |at| early[at]);
            let after = longest(&graph.finished(|at| !early[at]), |_| true);
            let left = before.max(after);
            let price = left + KEPT * kept;
            if left <= WORTH * chain && best.as_ref().is_none_or(|(least, _)| price < *least) {
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

/// Whether a statement cannot run ahead.
fn bound(graph: &Graph, at: usize) -> bool {
    let node = &graph.nodes[at];
    let meets = |other: &super::graph::Node| graph.meet(other.memory, node.memory);
    node.carried || node.traps || matches!(node.memory, Memory::Store(_)) || graph.nodes.iter().any(meets)
}

/// All that a statement needs, itself included, if all of it can run ahead.
fn cone(graph: &Graph, at: usize, bound: &[bool]) -> Option<Vec<bool>> {
    let mut early = vec![false; graph.nodes.len()];
    let mut todo = vec![at];
    while let Some(at) = todo.pop() {
        if bound[at] {
            return None;
        }
        if !std::mem::replace(&mut early[at], true) {
            todo.extend(&graph.nodes[at].before);
        }
    }
    Some(early)
}

/// All that can run ahead and is there by a time.
fn level(graph: &Graph, finished: &[f64], time: f64, bound: &[bool]) -> Vec<bool> {
    let mut early = vec![false; graph.nodes.len()];
    for (at, node) in graph.nodes.iter().enumerate() {
        early[at] = finished[at] <= time && !bound[at] && node.before.iter().all(|before| early[*before]);
    }
    early
}

/// The statements of a part whose results the rest reads.
fn crossing(graph: &Graph, early: &[bool]) -> Vec<usize> {
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
