//! Minimum cut of a network, by Dinic's method: while the sink is reachable, a blocking flow along
//! all shortest paths is added.
//!
//! The result is the smallest source side of all minimum cuts: the nodes that the source still
//! reaches.

/// The capacity of an arc that is never cut.
pub(super) const INFINITE: u64 = u64::MAX / 4;

/// The largest number of rounds. Each takes about linear time.
const MOST_ROUNDS: usize = 64;

const NONE: u32 = u32::MAX;

/// Nodes, and arcs with residual capacities. An arc and its reverse are neighbours in the tables.
pub(super) struct Network {
    /// The first arc of each node.
    first: Vec<u32>,
    /// The next arc of the same node, for each arc.
    next: Vec<u32>,
    /// The target node of each arc.
    to: Vec<u32>,
    /// The residual capacity of each arc.
    residual: Vec<u64>,
}

impl Network {
    /// Creates a network without arcs.
    pub(super) fn new(nodes: usize) -> Self {
        Self { first: vec![NONE; nodes], next: Vec::new(), to: Vec::new(), residual: Vec::new() }
    }

    /// Adds an arc with capacity `carries`.
    pub(super) fn arc(&mut self, from: u32, to: u32, capacity: u64) {
        for (from, to, carries) in [(from, to, capacity), (to, from, 0)] {
            let arc = self.to.len() as u32;
            self.to.push(to);
            self.residual.push(carries);
            self.next.push(self.first[from as usize]);
            self.first[from as usize] = arc;
        }
    }

    /// Returns, for each node, whether it is on the source's side of the minimum cut. `None` if the
    /// rounds do not suffice.
    pub(super) fn source_side(&mut self, source: u32, sink: u32) -> Option<Vec<bool>> {
        for _ in 0..MOST_ROUNDS {
            let levels = self.levels(source);
            if levels[sink as usize] == NONE {
                return Some(levels.into_iter().map(|level| level != NONE).collect());
            }
            self.blocking_flow(source, sink, &levels);
        }
        None
    }

    /// The number of arcs with residual capacity between the source and each node (breadth-first).
    fn levels(&self, source: u32) -> Vec<u32> {
        let mut levels = vec![NONE; self.first.len()];
        levels[source as usize] = 0;
        let mut queue = vec![source];
        let mut at = 0;
        while let Some(&node) = queue.get(at) {
            at += 1;
            let mut arc = self.first[node as usize];
            while arc != NONE {
                let to = self.to[arc as usize];
                if self.residual[arc as usize] > 0 && levels[to as usize] == NONE {
                    levels[to as usize] = levels[node as usize] + 1;
                    queue.push(to);
                }
                arc = self.next[arc as usize];
            }
        }
        levels
    }

    /// Adds a blocking flow: saturates paths to the sink whose arcs each go up by a level, until
    /// there are none.
    fn blocking_flow(&mut self, source: u32, sink: u32, levels: &[u32]) {
        // The arc to try next at each node.
        let mut current = self.first.clone();
        let mut way: Vec<u32> = Vec::new();
        loop {
            let node = way.last().map_or(source, |arc| self.to[*arc as usize]);
            if node == sink {
                self.push(&mut way);
                continue;
            }
            let arc = current[node as usize];
            if arc == NONE {
                let Some(back) = way.pop() else {
                    return;
                };
                let before = self.to[back as usize ^ 1];
                current[before as usize] = self.next[back as usize];
                continue;
            }
            let to = self.to[arc as usize] as usize;
            if self.residual[arc as usize] > 0 && levels[to] == levels[node as usize] + 1 {
                way.push(arc);
            } else {
                current[node as usize] = self.next[arc as usize];
            }
        }
    }

    /// Sends as much along a path as it carries, and backtracks to its first saturated arc.
    fn push(&mut self, path: &mut Vec<u32>) {
        let carries = path.iter().map(|arc| self.residual[*arc as usize]).min();
        let carries = carries.unwrap_or(0);
        let mut full = path.len();
        for (at, arc) in path.iter().enumerate().rev() {
            self.residual[*arc as usize] -= carries;
            self.residual[*arc as usize ^ 1] += carries;
            if self.residual[*arc as usize] == 0 {
                full = at;
            }
        }
        path.truncate(full);
    }
}

#[cfg(test)]
mod tests {
    use super::{INFINITE, Network};

    #[test]
    fn the_minimum_cut_is_found() {
        // Two values that are read, and one computed from both.
        let mut network = Network::new(8);
        for (from, to, carries) in [
            (0, 2, INFINITE),
            (0, 4, INFINITE),
            (2, 3, 1),
            (4, 5, 1),
            (3, 6, INFINITE),
            (5, 6, INFINITE),
            (6, 7, 1),
            (7, 1, INFINITE),
        ] {
            network.arc(from, to, carries);
        }
        let side = network.source_side(0, 1).expect("the search stays below its limit");
        assert_eq!(side, [true, false, true, true, true, true, true, false]);
    }

    #[test]
    fn among_equal_cuts_the_one_nearest_the_source_is_chosen() {
        let mut network = Network::new(4);
        network.arc(0, 2, 3);
        network.arc(2, 3, 3);
        network.arc(3, 1, 3);
        let side = network.source_side(0, 1).expect("the search stays below its limit");
        assert_eq!(side, [true, false, false, false]);
    }
}
