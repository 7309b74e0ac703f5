//! How large a function may be that is copied wherever it is called.
//!
//! Needs what is known of each function, its calls and the order, callees first.
//! Guarantees that the choice depends on the program alone, and takes time linear
//! in its functions and calls.

use super::{Callee, GROWTH, LIMITS, PROGRAM};

/// The functions of a program.
pub(super) struct Functions<'a> {
    /// What is known of each before inlining.
    pub(super) known: &'a [Callee],
    /// What each calls, as often as it does.
    pub(super) calls: &'a [Vec<usize>],
    /// Those that are reached, callees first.
    pub(super) order: &'a [usize],
    /// Those of the entry points.
    pub(super) roots: &'a [usize],
}

/// The largest of the limits with which the program stays within its budget; the
/// least, if none does.
pub(super) fn limit(functions: &Functions<'_>) -> usize {
    let sizes = functions.order.iter().map(|i| functions.known[*i].size);
    let budget = PROGRAM.max(GROWTH * sizes.sum::<usize>());
    let fits = |limit: &usize| functions.after(*limit) <= budget;
    let [.., least] = LIMITS;
    LIMITS.into_iter().find(fits).unwrap_or(least)
}

impl Functions<'_> {
    /// Statements of the program after inlining with a limit.
    fn after(&self, limit: usize) -> usize {
        let mut known = self.known.to_vec();
        let mut stays = vec![false; known.len()];
        self.roots.iter().for_each(|root| stays[*root] = true);
        for &i in self.order {
            for &callee in &self.calls[i] {
                if known[callee].pays(known[i].size, limit) {
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
        Callee { size, wanted: false, unwanted: false, forbidden: false, calls, combinators: true }
    }

    /// So many entry points that each call one function of this size so often.
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
    fn few_copies_are_made_whatever_their_size() {
        assert_eq!(callers(3, 2, 1900), LIMITS[0]);
    }

    #[test]
    fn many_copies_are_made_of_what_is_small_only() {
        assert_eq!(callers(30, 3, 1200), 1000);
        assert_eq!(callers(300, 30, 150), 100);
    }
}
