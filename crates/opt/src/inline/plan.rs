//! Chooses the size limit of inlined functions for a program.
//!
//! Needs the facts about each function, its calls, and the order, callees first. Guarantees that
//! the choice depends on the program alone. Time is linear in functions and calls.

use super::{Callee, GROWTH_FACTOR, LIMITS, MIN_PROGRAM_BUDGET};

/// The call graph of a program.
pub(super) struct Functions<'a> {
    /// The facts about each function before inlining.
    pub(super) known: &'a [Callee],
    /// The callees of each function, once per call.
    pub(super) calls: &'a [Vec<usize>],
    /// The reachable functions, callees first.
    pub(super) order: &'a [usize],
    /// The functions of the entry points.
    pub(super) roots: &'a [usize],
}

/// Returns the largest limit that keeps the program within its budget, or the least limit if none
/// does.
pub(super) fn limit(functions: &Functions<'_>) -> usize {
    let sizes = functions.order.iter().map(|i| functions.known[*i].size);
    let budget = MIN_PROGRAM_BUDGET.max(GROWTH_FACTOR * sizes.sum::<usize>());
    let fits = |limit: &usize| functions.after(*limit) <= budget;
    let [.., least] = LIMITS;
    LIMITS.into_iter().find(fits).unwrap_or(least)
}

impl Functions<'_> {
    /// The number of statements of the program after inlining with a limit.
    fn after(&self, limit: usize) -> usize {
        let mut known = self.known.to_vec();
        let mut stays = vec![false; known.len()];
        self.roots.iter().for_each(|root| stays[*root] = true);
        for &i in self.order {
            for &callee in &self.calls[i] {
                if known[callee].should_inline(known[i].size, limit) {
                    known[i].size += known[callee].size;
                    known[i].combinators |= known[callee].combinators;
                } else {
                    stays[callee] = true;
                }
            }
        }
        let staying = self.order.iter().filter(|i| stays[**i]);
        staying.map(|i| known[*i].size).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(size: usize, calls: usize) -> Callee {
        Callee {
            size,
            inline_attr: false,
            no_inline_attr: false,
            never_inline: false,
            calls,
            combinators: true,
        }
    }

    /// The limit for `count` entry points that each call one function of this size `times` times.
    fn callers(count: usize, times: usize, size: usize) -> usize {
        let known: Vec<Callee> = std::iter::once(function(size, count * times))
            .chain((0..count).map(|_| function(10, 2)))
            .collect();
        let calls: Vec<Vec<usize>> =
            std::iter::once(Vec::new()).chain((0..count).map(|_| vec![0; times])).collect();
        let order: Vec<usize> = (0..=count).collect();
        limit(&Functions { known: &known, calls: &calls, order: &order, roots: &order[1..] })
    }

    #[test]
    fn a_few_copies_are_inlined_at_any_size() {
        assert_eq!(callers(3, 2, 1900), LIMITS[0]);
    }

    #[test]
    fn many_copies_are_inlined_only_of_small_functions() {
        assert_eq!(callers(30, 3, 1200), 1000);
        assert_eq!(callers(300, 30, 150), 100);
    }
}
