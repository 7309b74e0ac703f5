//! An order of statements in which operands are ready when they are wanted: list
//! scheduling, by the longest chain that still follows.

use super::graph::Graph;

/// The statements' numbers in the order in which they should stand.
pub(super) fn schedule(graph: &Graph) -> Vec<usize> {
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
    let mut open: Vec<usize> = (0..count).filter(|at| waiting[*at] == 0).collect();
    let mut order = Vec::with_capacity(count);
    let mut now = 0.0_f64;
    while !open.is_empty() {
        let soonest = open
            .iter()
            .map(|at| ready_at[*at])
            .fold(f64::INFINITY, f64::min);
        now = now.max(soonest);
        // Of those that are ready the one with the longest rest, the first of equals.
        let chosen = (0..open.len())
            .filter(|k| ready_at[open[*k]] <= now)
            .reduce(|x, y| {
                let (a, b) = (open[x], open[y]);
                if follows[b] > follows[a] || (follows[b] == follows[a] && b < a) {
                    y
                } else {
                    x
                }
            });
        let Some(chosen) = chosen else { break };
        let at = open.swap_remove(chosen);
        order.push(at);
        let done = now + nodes[at].cost.latency;
        now += nodes[at].cost.busy;
        for next in &after[at] {
            ready_at[*next] = ready_at[*next].max(done);
            waiting[*next] -= 1;
            if waiting[*next] == 0 {
                open.push(*next);
            }
        }
    }
    order
}
