//! The versions that each nest runs on each data set, and the times of the alternatives.
//!
//! A nest is a tree of choices, at top level or inside a version. Its paths are the sets of
//! versions that its own choices lead to. The time of a path is the least time of a run that took
//! it, among runs that differ only in this nest (`DataSet::alternatives`).

use super::record::{DataSet, Record, Sizes};
use ir::forest::{Choice, ChoiceTrees, Node};
use std::collections::{BTreeMap, BTreeSet};

/// The numbers of the versions that run.
pub type Versions = BTreeSet<u32>;

pub struct Nest<'f> {
    /// The function.
    pub function: &'f str,
    /// The enclosing version, if any.
    pub inside: Option<u32>,
    /// The root of the tree.
    pub root: &'f Node,
    /// The same node as a choice.
    pub choice: &'f Choice,
    /// The outcome on each data set; `None` if the nest is not reached.
    pub outcomes: Vec<Option<Outcome>>,
}

/// A path, and its time in microseconds if it was run.
#[derive(Clone, PartialEq, Debug)]
pub struct Path {
    /// The versions.
    pub versions: Versions,
    /// The time.
    pub micros: Option<f64>,
}

/// The outcome of a nest on a data set.
pub struct Outcome {
    /// The path taken.
    pub chosen: Path,
    /// The path taken with the default values.
    pub default: Path,
    /// The fastest of the other paths that were run.
    pub next: Option<Path>,
}

impl Outcome {
    /// The time of the fastest other path divided by that of the chosen one.
    pub fn speedup(&self) -> Option<f64> {
        let next = self.next.as_ref()?.micros?;
        Some(super::show::ratio(next, self.chosen.micros?))
    }
}

/// Values of parameters by name.
type Values<'v> = &'v dyn Fn(&str) -> i64;

/// Returns all nests of a program, outer ones before inner ones. `tuned` gives the values of
/// parameters.
pub fn nests<'f>(
    forest: impl Iterator<Item = &'f ChoiceTrees>,
    record: &Record,
    tuned: Values<'_>,
) -> Vec<Nest<'f>> {
    let mut nests = Vec::new();
    for trees in forest {
        find(&trees.roots, &trees.function.0, None, &mut nests);
    }
    let known: Vec<(&DataSet, Sizes)> = record.sets.iter().map(|set| (set, set.sizes())).collect();
    for nest in &mut nests {
        let outcomes =
            known.iter().map(|(set, sizes)| outcome(nest.root, nest.choice, set, sizes, record, tuned));
        nest.outcomes = outcomes.collect();
    }
    nests
}

fn find<'f>(nodes: &'f [Node], function: &'f str, inside: Option<u32>, out: &mut Vec<Nest<'f>>) {
    for node in nodes {
        match node {
            Node::Choice(choice) => {
                out.push(Nest { function, inside, root: node, choice, outcomes: Vec::new() });
                let mut versions = BTreeMap::new();
                versions_of(node, &mut versions);
                for (number, nested) in versions {
                    find(nested, function, Some(number), out);
                }
            }
            Node::Version(version) => {
                find(&version.inside, function, Some(version.number), out);
            }
        }
    }
}

/// Collects the versions that choices lead to, with the nests inside them.
fn versions_of<'f>(node: &'f Node, out: &mut BTreeMap<u32, &'f [Node]>) {
    match node {
        Node::Choice(choice) => {
            let all = choice.if_true.iter().chain(&choice.if_false);
            all.for_each(|node| versions_of(node, out));
        }
        Node::Version(version) => {
            out.insert(version.number, &version.inside);
        }
    }
}

/// Returns the versions that parameter values lead to; `None` if a size is unknown.
fn versions_of_path(node: &Node, sizes: &Sizes, value: Values<'_>) -> Option<Versions> {
    let choice = match node {
        Node::Version(version) => return Some(Versions::from([version.number])),
        Node::Choice(choice) => choice,
    };
    let (compared, threshold) = (sizes.get(&choice.name)?, value(&choice.name));
    let outcomes: BTreeSet<bool> = compared.iter().map(|size| threshold <= *size).collect();
    let mut versions = Versions::new();
    for holds in outcomes {
        let branch = if holds { &choice.if_true } else { &choice.if_false };
        for node in branch {
            versions.extend(versions_of_path(node, sizes, value)?);
        }
    }
    Some(versions)
}

/// The outcome of a nest on a data set; `None` if it is not reached.
fn outcome(
    root: &Node,
    choice: &Choice,
    set: &DataSet,
    sizes: &Sizes,
    record: &Record,
    tuned: Values<'_>,
) -> Option<Outcome> {
    // A run with the same outcomes of comparisons is more precise than all runs together.
    let versions_with = |value: Values<'_>| {
        let run = set.run(record, value);
        match run {
            Some(run) if run.comparisons.contains_key(&choice.name) => {
                versions_of_path(root, &run.comparisons, value)
            }
            Some(_) => None,
            None => versions_of_path(root, sizes, value),
        }
    };
    let chosen = versions_with(tuned)?;
    let default = versions_with(&|name| record.default(name).unwrap_or(i64::MAX));
    let mut best: BTreeMap<Versions, f64> = BTreeMap::new();
    for group in &set.alternatives {
        let mut times: BTreeMap<Versions, f64> = BTreeMap::new();
        for run in group.iter().filter_map(|at| set.runs.get(*at)) {
            let value = |name: &str| run.value(name, record);
            let versions = versions_of_path(root, &run.comparisons, &value);
            if let (Some(versions), Some(micros)) = (versions, run.micros) {
                let least = times.entry(versions).or_insert(micros);
                *least = least.min(micros);
            }
        }
        if times.contains_key(&chosen) && times.len() > best.len() {
            best = times;
        }
    }
    let timed =
        |versions: &Versions| Path { versions: versions.clone(), micros: best.get(versions).copied() };
    let others = best.iter().filter(|(versions, _)| **versions != chosen);
    let next = others.min_by(|(_, x), (_, y)| x.total_cmp(y));
    Some(Outcome {
        default: timed(default.as_ref().unwrap_or(&chosen)),
        next: next.map(|(versions, _)| timed(versions)),
        chosen: timed(&chosen),
    })
}
