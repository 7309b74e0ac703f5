//! List scheduling by the critical path: an order of statements in which operands are ready when
//! they are needed.

use super::graph::DependenceGraph;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The indices of the statements in scheduled order.
pub(super) fn schedule(graph: &DependenceGraph) -> Vec<usize> {
    let nodes = &graph.nodes;
    let count = nodes.len();
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (at, node) in nodes.iter().enumerate() {
        for before in &node.before {
            after[*before].push(at);
        }
    }
    let mut follows = vec![0.0_f64; count];
    for at in (0..count).rev() {
        let rest = after[at].iter().map(|next| follows[*next]);
        follows[at] = rest.fold(0.0, f64::max) + nodes[at].cost.latency;
    }
    let mut waiting: Vec<usize> = nodes.iter().map(|node| node.before.len()).collect();
    let mut ready_at = vec![0.0_f64; count];
    // Costs are not negative, and the bits of such floats have the same order.
    let mut soon: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    // The longest remaining path first; of equals, the first statement.
    let mut ready: BinaryHeap<(u64, Reverse<usize>)> = BinaryHeap::new();
    soon.extend((0..count).filter(|at| waiting[*at] == 0).map(|at| Reverse((0, at))));
    let mut order = Vec::with_capacity(count);
    let mut now = 0.0_f64;
    loop {
        if let (true, Some(Reverse((next, _)))) = (ready.is_empty(), soon.peek()) {
            now = now.max(f64::from_bits(*next));
        }
        while let Some(Reverse((at_bits, at))) = soon.peek().copied()
            && f64::from_bits(at_bits) <= now
        {
            soon.pop();
            ready.push((follows[at].to_bits(), Reverse(at)));
        }
        let Some((_, Reverse(at))) = ready.pop() else {
            break;
        };
        order.push(at);
        let done = now + nodes[at].cost.latency;
        now += nodes[at].cost.busy;
        for next in &after[at] {
            ready_at[*next] = ready_at[*next].max(done);
            waiting[*next] -= 1;
            if waiting[*next] == 0 {
                soon.push(Reverse((ready_at[*next].to_bits(), *next)));
            }
        }
    }
    order
}
