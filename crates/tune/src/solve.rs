//! The best setting, exactly, given the times of all paths.
//!
//! Input: for each data set a time and *terms*, (region, amount): a setting's time is the time
//! plus the amounts of all terms whose region contains it. Output: a setting of minimal cost.
//!
//! This is dynamic programming over the forest:
//!
//! 1. A parameter's values are partitioned into *cells* at the ends of the terms' spans. Two
//!    settings whose values are in the same cells are in the same regions, so they take the same
//!    times, and one of each is enough. Cells with the same terms are merged.
//! 2. Once the cell of a parameter is chosen, terms that need another one are gone, and the others
//!    no longer mention it. Terms that share no parameter, not even transitively, are
//!    *independent*: no choice that concerns the one concerns the other. So when the root of a tree
//!    is chosen, its parameters are partitioned, for each data set, into the ones that matter if it
//!    holds and the ones that matter if it does not.
//! 3. A subproblem is identified by its remaining terms and undecided parameters; it is solved
//!    once, whatever decisions led to it.
//!
//! *Proof of optimality.* Let a *front* be a set of pairs (times by data set, choices) that for
//! each setting of some parameters has an element at most as large in each data set. (a) The front
//! of a parameter's cell is that of the remaining subproblem, and all cells together are all
//! settings by 1, so the union of their fronts is a front. (b) If x is in the front of one of two
//! independent parts and y in that of the other, x + y are the times of both choices together; and
//! for any setting of both there are such x and y at most as large as its parts, so x + y is at
//! most as large as the whole. (c) Leaving out an element that another one is at most as large as
//! in each data set leaves a front. A cost function that does not decrease when a time increases
//! has its minimum over all settings on a front. For a weighted sum, (d) the minimum of x + y is
//! that of x and that of y, so one element is enough. For a cost function that may decrease,
//! elements are left out only if they are equal, which (a) and (b) allow without any condition.
//!
//! Of equally good settings, the one is taken that leaves most parameters in the cell of their
//! default; values are as near to the defaults as their cells permit.

use crate::region::{Param, Region, Setting, Span};
use rustc_hash::FxHashMap;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::rc::Rc;

/// An amount that the settings in a region take longer.
#[derive(Clone, PartialEq, Debug)]
pub struct Term {
    /// The data set.
    pub data: usize,
    /// The settings.
    pub region: Region,
    /// The amount in microseconds; it may be negative.
    pub amount: f64,
}

/// Properties of a cost function.
pub enum Shape {
    /// The weighted sum of times, with weights that are not negative.
    WeightedSum(Vec<f64>),
    /// It does not decrease when a time increases.
    Monotone,
    /// No property is known.
    Any,
}

/// The input of the solver.
pub struct Problem<'a> {
    /// The time of each data set for a setting in no region.
    pub times: &'a [f64],
    /// The terms.
    pub terms: &'a [Term],
    /// The default of each parameter; the value of parameters that do not matter.
    pub defaults: &'a [i64],
    /// The cost function's shape.
    pub shape: Shape,
    /// The cost function, of the time of each data set.
    pub cost: &'a dyn Fn(&[f64]) -> f64,
}

/// A best setting.
#[derive(Clone, PartialEq, Debug)]
pub struct Solution {
    /// The setting.
    pub setting: Setting,
    /// The time of each data set.
    pub times: Vec<f64>,
    /// Its cost.
    pub cost: f64,
}

/// The error that there are too many combinations of times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooManyCombinations;

/// The largest number of elements of a front.
const MAX_FRONT: usize = 20_000;

/// An element of a front.
#[derive(Clone)]
struct Entry {
    /// Amounts by data set.
    times: Vec<f64>,
    /// The number of parameters outside the cell of their default.
    changed: u32,
    chosen: Option<Rc<Chosen>>,
}

/// Choices.
enum Chosen {
    One(Param, Span, Option<Rc<Chosen>>),
    Both(Rc<Chosen>, Rc<Chosen>),
}

/// The remaining terms, by their indices, and the remaining spans of their regions.
type Subproblem = Vec<(u32, Region)>;

struct Solver<'a> {
    problem: &'a Problem<'a>,
    known: FxHashMap<(Vec<u32>, Vec<Param>), Rc<Vec<Entry>>>,
}

/// A best setting.
///
/// # Errors
/// There are too many combinations.
pub fn solve(problem: &Problem<'_>) -> Result<Solution, TooManyCombinations> {
    let mut solver = Solver { problem, known: FxHashMap::default() };
    let terms = problem.terms.iter();
    let terms = (0..).zip(terms.map(|term| term.region.clone()));
    let front = solver.pareto_front(terms.collect())?;
    let best = front.iter().map(|entry| {
        let pairs = problem.times.iter().zip(&entry.times);
        let times: Vec<f64> = pairs.map(|(base, more)| base + more).collect();
        ((problem.cost)(&times), entry, times)
    });
    let best = best.min_by(|(x, one, _), (y, other, _)| x.total_cmp(y).then(one.changed.cmp(&other.changed)));
    let (cost, entry, times) = best.ok_or(TooManyCombinations)?;
    let mut setting = problem.defaults.to_vec();
    apply(entry.chosen.as_deref(), &mut setting);
    Ok(Solution { setting, times, cost })
}

fn apply(mut chosen: Option<&Chosen>, setting: &mut Setting) {
    while let Some(choice) = chosen {
        match choice {
            Chosen::One(param, span, rest) => {
                if let Some(value) = setting.get_mut(*param) {
                    *value = span.nearest(*value);
                }
                chosen = rest.as_deref();
            }
            Chosen::Both(one, other) => {
                apply(Some(one), setting);
                chosen = Some(other);
            }
        }
    }
}

impl Solver<'_> {
    /// The front of a subproblem.
    fn pareto_front(&mut self, remaining: Subproblem) -> Result<Vec<Entry>, TooManyCombinations> {
        let mut sums = vec![0.0; self.problem.times.len()];
        let mut open = Subproblem::new();
        for (number, region) in remaining {
            if !region.spans().is_empty() {
                open.push((number, region));
                continue;
            }
            let term = &self.problem.terms[number as usize];
            if let Some(sum) = sums.get_mut(term.data) {
                *sum += term.amount;
            }
        }
        let mut front = vec![Entry { times: sums, changed: 0, chosen: None }];
        for connected in independent(open) {
            let other = self.connected_front(connected)?;
            if front.len().saturating_mul(other.len()) > 16 * MAX_FRONT {
                return Err(TooManyCombinations);
            }
            let pairs = front.iter().flat_map(|x| other.iter().map(move |y| combine(x, y)));
            front = self.prune(pairs.collect())?;
        }
        Ok(front)
    }

    /// The front of connected terms.
    fn connected_front(&mut self, terms: Subproblem) -> Result<Rc<Vec<Entry>>, TooManyCombinations> {
        let numbers: Vec<u32> = terms.iter().map(|(number, _)| *number).collect();
        let params: BTreeSet<Param> =
            terms.iter().flat_map(|(_, region)| region.spans().iter().map(|(param, _)| *param)).collect();
        let key = (numbers, params.iter().copied().collect::<Vec<_>>());
        if let Some(known) = self.known.get(&key) {
            return Ok(Rc::clone(known));
        }
        let mentions = |param: Param| {
            let mentioned = terms.iter().filter(|(_, region)| {
                let mut spans = region.spans().iter();
                spans.any(|(other, _)| *other == param)
            });
            mentioned.count()
        };
        // The first parameter with the most terms: the root of a tree.
        let Some(param) = params.iter().copied().rev().max_by_key(|param| mentions(*param)) else {
            return Err(TooManyCombinations);
        };
        let default = self.problem.defaults.get(param).copied().unwrap_or(0);
        let mut cells = cells(terms.iter().map(|(_, region)| region.span(param)));
        cells.sort_by_key(|cell| cell.nearest(default).abs_diff(default));
        let mut seen = BTreeSet::new();
        let mut entries = Vec::new();
        for cell in cells {
            let rest: Subproblem = terms
                .iter()
                .filter(|(_, region)| region.span(param).and(cell).is_some())
                .map(|(number, region)| (*number, region.of(|other| other != param)))
                .collect();
            let numbers: Vec<u32> = rest.iter().map(|(number, _)| *number).collect();
            if !seen.insert(numbers) {
                continue;
            }
            let changed = u32::from(!cell.contains(default));
            for entry in self.pareto_front(rest)? {
                entries.push(Entry {
                    times: entry.times,
                    changed: entry.changed + changed,
                    chosen: Some(Rc::new(Chosen::One(param, cell, entry.chosen))),
                });
            }
        }
        let front = Rc::new(self.prune(entries)?);
        self.known.insert(key, Rc::clone(&front));
        Ok(front)
    }

    /// Removes entries that cannot be part of the best setting.
    fn prune(&self, mut entries: Vec<Entry>) -> Result<Vec<Entry>, TooManyCombinations> {
        match &self.problem.shape {
            Shape::WeightedSum(weights) => {
                let weighted = |entry: &Entry| -> f64 {
                    let pairs = entry.times.iter().zip(weights);
                    pairs.map(|(time, weight)| time * weight).sum()
                };
                let least = entries.into_iter().min_by(|x, y| {
                    let times = weighted(x).total_cmp(&weighted(y));
                    times.then(x.changed.cmp(&y.changed))
                });
                return Ok(least.into_iter().collect());
            }
            Shape::Monotone | Shape::Any => {}
        }
        // An entry that is at most as large as another one in all data sets is sorted before it.
        entries.sort_by(|x, y| {
            let pairs = x.times.iter().zip(&y.times).map(|(x, y)| x.total_cmp(y));
            let times = pairs.fold(Ordering::Equal, Ordering::then);
            times.then(x.changed.cmp(&y.changed))
        });
        let monotone = matches!(self.problem.shape, Shape::Monotone);
        let mut front: Vec<Entry> = Vec::new();
        for entry in entries {
            let covers = |other: &Entry| {
                let mut pairs = other.times.iter().zip(&entry.times);
                pairs.all(|(x, y)| if monotone { x <= y } else { x == y })
            };
            // With up to two data sets, and for equal times, comparing with the last one is enough.
            let few = entry.times.len() <= 2 || !monotone;
            let known = if few { front.len().saturating_sub(1) } else { 0 };
            if !front[known..].iter().any(covers) {
                front.push(entry);
            }
            if front.len() > MAX_FRONT {
                return Err(TooManyCombinations);
            }
        }
        Ok(front)
    }
}

/// The entry of both choices together.
fn combine(x: &Entry, y: &Entry) -> Entry {
    let times = x.times.iter().zip(&y.times).map(|(x, y)| x + y);
    let chosen = match (&x.chosen, &y.chosen) {
        (Some(x), Some(y)) => Some(Rc::new(Chosen::Both(Rc::clone(x), Rc::clone(y)))),
        (one, other) => one.clone().or_else(|| other.clone()),
    };
    Entry { times: times.collect(), changed: x.changed + y.changed, chosen }
}

/// The cells into which these spans divide all values.
fn cells(spans: impl Iterator<Item = Span>) -> Vec<Span> {
    let mut starts = BTreeSet::from([i64::MIN]);
    for span in spans {
        starts.insert(span.min);
        starts.extend(span.max.checked_add(1));
    }
    let starts: Vec<i64> = starts.into_iter().collect();
    let ends = starts.iter().skip(1).map(|next| next - 1);
    let ends = ends.chain([i64::MAX]);
    let cells = starts.iter().zip(ends);
    cells.map(|(min, max)| Span { min: *min, max }).collect()
}

/// Divides terms into groups that share no parameter.
fn independent(terms: Subproblem) -> Vec<Subproblem> {
    // Union-find: each term points to an earlier one of its group, or to itself.
    let mut parents: Vec<usize> = (0..terms.len()).collect();
    fn root(parents: &mut [usize], mut at: usize) -> usize {
        while parents[at] != at {
            parents[at] = parents[parents[at]];
            at = parents[at];
        }
        at
    }
    let mut owners: FxHashMap<Param, usize> = FxHashMap::default();
    for (at, (_, region)) in terms.iter().enumerate() {
        for (param, _) in region.spans() {
            let owner = *owners.entry(*param).or_insert(at);
            let (x, y) = (root(&mut parents, owner), root(&mut parents, at));
            parents[x.max(y)] = x.min(y);
        }
    }
    let mut parts: Vec<Subproblem> = Vec::new();
    let mut indices: FxHashMap<usize, usize> = FxHashMap::default();
    for (at, term) in terms.into_iter().enumerate() {
        let root = root(&mut parents, at);
        let index = *indices.entry(root).or_insert_with(|| {
            parts.push(Subproblem::new());
            parts.len() - 1
        });
        parts[index].push(term);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(spans: &[(Param, i64, i64)]) -> Region {
        spans.iter().fold(Region::default(), |region, (param, min, max)| {
            let span = Span { min: *min, max: *max };
            region.with(*param, span).expect("a non-empty region")
        })
    }

    fn solved(terms: &[Term], shape: Shape, cost: &dyn Fn(&[f64]) -> f64) -> Solution {
        solve(&Problem { times: &[100.0, 100.0], terms, defaults: &[16, 16], shape, cost })
            .expect("few combinations")
    }

    fn term(data: usize, spans: &[(Param, i64, i64)], amount: f64) -> Term {
        Term { data, region: region(spans), amount }
    }

    const MIN: i64 = i64::MIN;
    const MAX: i64 = i64::MAX;

    /// The first data set is faster with the parameter above 5, the second at or below 40.
    fn terms() -> [Term; 3] {
        [
            term(0, &[(0, MIN, 5)], 50.0),
            term(1, &[(0, 41, MAX)], 30.0),
            term(1, &[(0, MIN, 40), (1, MIN, 9)], -60.0),
        ]
    }

    #[test]
    fn best_setting_for_both_data_sets_is_found() {
        let best = solved(&terms(), Shape::WeightedSum(vec![1.0, 1.0]), &|t| t[0] + t[1]);
        assert_eq!(best.setting, [16, 9], "nearest to the defaults");
        assert_eq!((best.times, best.cost), (vec![100.0, 40.0], 140.0));
    }

    #[test]
    fn parameters_without_gain_keep_their_defaults() {
        let none = [term(0, &[(0, MIN, 5)], 50.0), term(1, &[(1, 17, MAX)], 0.0)];
        let best = solved(&none, Shape::Monotone, &|t| t[0].max(t[1]));
        assert_eq!(best.setting, [16, 16]);
    }

    #[test]
    fn best_setting_depends_on_the_cost_function() {
        // Either data set can be made fast, not both.
        let either = [term(0, &[(0, MIN, 7)], -90.0), term(1, &[(0, 8, MAX)], -60.0)];
        let sum = solved(&either, Shape::WeightedSum(vec![1.0, 1.0]), &|t| t[0] + t[1]);
        assert_eq!(sum.times, [10.0, 100.0]);
        let weighted = solved(&either, Shape::WeightedSum(vec![1.0, 2.0]), &|t| t[0] + 2.0 * t[1]);
        assert_eq!(weighted.times, [100.0, 40.0]);
        let falling = solved(&either, Shape::Any, &|t| t[1] - t[0]);
        assert_eq!(falling.times, [100.0, 40.0]);
    }
}
