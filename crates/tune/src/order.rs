//! The order in which open settings are run.
//!
//! Input: the regions that no run covers yet. Output: one of them, removed, and a setting in it.
//!
//! Usually it is the region that was opened last, and the setting nearest to the default: few
//! parameters change then. If a program compares one parameter with many sizes, for example each
//! row of an array, this would go from one size to the next and not get far in the available time.
//! Then it is the region with most sizes, and their median: the first runs are far apart, and later
//! ones are between them. In the end all are run, either way.

use crate::explore::Comparison;
use crate::region::{Param, Region, Setting, Span};
use std::collections::{BTreeMap, BTreeSet};

/// Regions with more sizes than this are bisected.
const FEW: usize = 32;

/// The order for one unit of trees.
pub struct Order {
    /// The parameters that are compared with many sizes, and these sizes, sorted.
    many_sizes: Vec<(Param, Vec<i64>)>,
}

impl Order {
    /// The order for these parameters, given the comparisons of a run.
    pub fn of(comparisons: &[Comparison], subject: &BTreeSet<Param>) -> Self {
        let mut sizes: BTreeMap<Param, BTreeSet<i64>> = BTreeMap::new();
        for (param, size, _) in comparisons.iter().filter(|(param, ..)| subject.contains(param)) {
            sizes.entry(*param).or_default().insert(*size);
        }
        let many = sizes.into_iter().filter(|(_, sizes)| sizes.len() > FEW);
        Self { many_sizes: many.map(|(p, s)| (p, s.into_iter().collect())).collect() }
    }

    /// Takes an open region, and one of its settings; the first time `base`, which is in one.
    pub fn next(&self, open: &mut Vec<Region>, base: &[i64], is_first: bool) -> Option<(Region, Setting)> {
        if self.many_sizes.is_empty() || is_first {
            let region = open.pop()?;
            let setting = region.nearest(base);
            return Some((region, setting));
        }
        let sizes_in = |region: &Region| {
            let many = self.many_sizes.iter();
            let each = many.map(|(param, sizes)| between(sizes, region.span(*param)).len());
            each.max().unwrap_or(0)
        };
        let regions = open.iter().enumerate();
        let (at, _) = regions.max_by_key(|(_, region)| sizes_in(region))?;
        let region = open.swap_remove(at);
        let mut setting = region.nearest(base);
        for (param, sizes) in &self.many_sizes {
            let sizes = between(sizes, region.span(*param));
            let median = sizes.get(sizes.len() / 2);
            if let (Some(median), Some(value)) = (median, setting.get_mut(*param)) {
                *value = *median;
            }
        }
        Some((region, setting))
    }
}

/// The sizes, of a sorted slice, that are in a span.
fn between(sizes: &[i64], span: Span) -> &[i64] {
    let from = sizes.partition_point(|size| *size < span.min);
    let to = sizes.partition_point(|size| *size <= span.max);
    sizes.get(from..to).unwrap_or(&[])
}

#[cfg(test)]
mod tests {
    use crate::explore::{Executor, Outcome, explore};
    use crate::forest::{Forest, Tree};

    /// A program that compares each of its rows, of 1 to 1000 elements, with a parameter, and is
    /// fastest at 700.
    struct Rows {
        left: usize,
    }

    fn time(value: i64) -> u64 {
        1000 + (value.clamp(0, 1001) - 700).unsigned_abs()
    }

    impl Executor for Rows {
        fn run(&mut self, _: usize, setting: &[i64], _: Option<f64>) -> Option<Outcome> {
            self.left = self.left.checked_sub(1)?;
            Some(Outcome::Completed {
                micros: vec![time(setting[0])],
                comparisons: (1..=1000).map(|size| (0, size, 1)).collect(),
                used: Vec::new(),
            })
        }

        fn repeat(&mut self, _: usize, _: &[i64], _: usize, _: bool) -> Option<Vec<u64>> {
            Some(Vec::new())
        }
    }

    fn runs(left: usize) -> (Vec<i64>, bool) {
        let version = |number| Tree::Version { number, inside: Vec::new() };
        let forest = Forest {
            trees: vec![Tree::Choice { param: 0, holds: vec![version(0)], fails: vec![version(1)] }],
            defaults: vec![16],
            has_fixed_sizes: vec![false],
            free_params: std::collections::BTreeMap::new(),
        };
        let found = explore(&forest, 0, false, Vec::new(), &mut Rows { left });
        let values = found.runs.iter().map(|run| run.setting[0]);
        (values.collect(), found.complete)
    }

    #[test]
    fn first_runs_are_far_apart() {
        let (values, complete) = runs(16);
        assert!(!complete && values.len() == 16);
        assert_eq!(values[..2], [16, 509]);
        let nearest = values.iter().map(|value| (value - 700).abs()).min();
        assert!(nearest.is_some_and(|off| off <= 40), "{values:?}");
    }

    #[test]
    fn all_paths_are_run_eventually() {
        // One for each number of rows that are at least as long as the parameter: 0 to 1000.
        let (mut values, complete) = runs(2000);
        assert!(complete);
        values.sort_unstable();
        values.dedup();
        assert_eq!(values.len(), 1001);
    }
}
