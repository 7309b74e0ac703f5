//! Exploration: runs every path of one data set, and none twice.
//!
//! Input: a forest, and an [`Executor`] of the program. Output: runs, and *differences*
//! ([`Difference`]): the time of a setting is the default's plus the differences of the regions that
//! contain it.
//!
//! Sizes are not known before the program has run. The default is run first; its comparisons
//! determine the settings for which nothing would change (a [`Region`]). Settings outside of it are
//! open. From the open regions a setting is taken, usually the one nearest to the default
//! ([`Order`]). If the sizes known so far imply that it leads to versions that have been run, this
//! is recorded, else it is run. Either way all settings with these comparisons are covered. So each
//! run takes another path, and when nothing is open, every path has been run.
//!
//! Sibling trees run one after another, so one is explored while the others stay as they are, and
//! the differences are added: a forest of trees with 3 and 5 paths takes 1 + 2 + 4 runs rather than
//! 15. The same holds for trees inside a version, in a run that takes this version. Where this
//! would be wrong, it is detected: if comparisons outside a tree, or their number, change with it,
//! or trees share a parameter, these trees are explored together, each combination by itself
//! (*jointly*). That times add up is an assumption; [`crate::tuner`] checks the results against
//! measurements.
//!
//! Guarantee: for a program that is deterministic given the outcomes of its comparisons, no two runs
//! make the same comparisons with the same outcomes.

use crate::forest::{Forest, Sizes, Tree, VersionSet, follow};
use crate::order::Order;
use crate::region::{Param, Region, Setting, Span};
use std::collections::BTreeSet;

/// A comparison: the parameter, the size, and how often it was made.
pub type Comparison = (Param, i64, u64);

/// The outcome of a run.
#[derive(Clone, PartialEq, Debug)]
pub enum Outcome {
    /// The run was completed.
    Completed {
        /// Run times in microseconds, at least one.
        micros: Vec<u64>,
        /// The comparisons that were made, in the order of their first occurrences.
        comparisons: Vec<Comparison>,
        /// The parameters that were used as grain sizes.
        used: Vec<Param>,
    },
    /// The run was cut off because it took too long, or it failed; it counts as this many
    /// microseconds.
    CutOff(f64),
}

/// An executor of the program.
pub trait Executor {
    /// Runs it on a data set with a setting. `against` is the time of the run that this one is
    /// compared with: one that takes much longer may be cut off. `None` stops the search.
    fn run(&mut self, data: usize, setting: &[i64], against: Option<f64>) -> Option<Outcome>;

    /// Reports the number of parts that are known to be open at this point of the search, including
    /// the next run: parts of the settings, each of them a path or more (or none, if sizes turn out
    /// to be the same), or values of a parameter.
    fn report_open(&mut self, parts: usize) {
        let _ = parts;
    }

    /// Runs it `times` more times; returns run times in microseconds. They may be fewer if more
    /// runs are not worth the time; then it is not asked again. `decisive` runs are worth more: the
    /// best setting is compared with another one. `None` stops the search.
    fn repeat(&mut self, data: usize, setting: &[i64], times: usize, decisive: bool) -> Option<Vec<u64>>;
}

/// A run.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    /// The setting.
    pub setting: Setting,
    /// The comparisons that were made.
    pub comparisons: Vec<Comparison>,
    /// The parameters that were used as grain sizes.
    pub used: Vec<Param>,
    /// All settings with the same outcomes.
    pub region: Region,
    /// Run times in microseconds; none if it was cut off.
    pub micros: Vec<u64>,
    /// The run times of the first execution.
    pub first: Vec<u64>,
    /// The time that it counts as if it was cut off.
    pub cut_off: Option<f64>,
    /// True if it need not be run again.
    pub exhausted: bool,
}

impl Run {
    /// The run with a setting that had this outcome. If it was cut off, its comparisons are
    /// unknown: it covers `cut_off_region`.
    pub fn of(outcome: Outcome, setting: &[i64], cut_off_region: Region) -> Self {
        match outcome {
            Outcome::Completed { micros, comparisons, used } => Self {
                setting: setting.to_vec(),
                region: Region::around(comparisons.iter().map(|(param, size, _)| (*param, *size)), setting),
                comparisons,
                used,
                first: micros.clone(),
                micros,
                cut_off: None,
                exhausted: false,
            },
            Outcome::CutOff(time) => Self {
                setting: setting.to_vec(),
                comparisons: Vec::new(),
                used: Vec::new(),
                region: cut_off_region,
                micros: Vec::new(),
                first: Vec::new(),
                cut_off: Some(time),
                exhausted: true,
            },
        }
    }

    /// The mean of its run times, or the time that it counts as.
    pub fn time(&self) -> f64 {
        let mean = crate::statistics::Statistics::of(&self.micros).mean;
        self.cut_off.unwrap_or(mean)
    }
}

/// The settings in a region take longer by the difference of two runs.
#[derive(Clone, PartialEq, Debug)]
pub struct Difference {
    /// The settings.
    pub region: Region,
    /// The run on this path.
    pub run: usize,
    /// The run that it is compared with.
    pub against: usize,
}

/// The result of exploring a data set.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Explored {
    /// The runs, the default's first.
    pub runs: Vec<Run>,
    /// The time of a setting is the default's plus the differences of the regions that contain it.
    pub differences: Vec<Difference>,
    /// Groups of runs that differ in one tree, or in several that are explored jointly.
    pub alternatives: Vec<Vec<usize>>,
    /// True if nothing is left open.
    pub complete: bool,
}

/// Explores a data set. With `joint`, all trees are explored jointly. `known` are runs that were
/// made already, the default's first.
pub fn explore(
    forest: &Forest,
    data: usize,
    joint: bool,
    known: Vec<Run>,
    executor: &mut dyn Executor,
) -> Explored {
    let mut search = Search {
        executor,
        data,
        has_fixed_sizes: &forest.has_fixed_sizes,
        sizes: vec![BTreeSet::new(); forest.defaults.len()],
        found: Explored::default(),
        unrelated: BTreeSet::new(),
    };
    for run in known {
        search.add_run(run);
    }
    let complete = search.all(&forest.trees, &forest.defaults, joint).is_ok();
    Explored { complete, ..search.found }
}

/// The reason why a part of the search ends early.
enum Halt {
    /// The caller has stopped the runs.
    Stopped,
    /// Comparisons with these parameters depend on a unit that was explored by itself.
    Dependent(BTreeSet<Param>),
}

struct Search<'m> {
    executor: &'m mut dyn Executor,
    data: usize,
    has_fixed_sizes: &'m [bool],
    /// The sizes that parameters with fixed sizes are compared with.
    sizes: Sizes,
    found: Explored,
    /// Parameters that occur in no tree.
    unrelated: BTreeSet<Param>,
}

/// Trees that are explored as one.
struct Unit<'t> {
    trees: Vec<&'t Tree>,
    /// True if they are explored jointly with everything inside them, false for their outermost
    /// choices alone.
    whole: bool,
}

impl Unit<'_> {
    fn params(&self, whole: bool) -> BTreeSet<Param> {
        let mut params = BTreeSet::new();
        for tree in &self.trees {
            tree.params(whole, &mut |param| {
                params.insert(param);
            });
        }
        params
    }
}

/// Settings that lead to the same versions.
struct SettingClass {
    run: usize,
    /// The first setting found.
    setting: Setting,
    signature: VersionSet,
    regions: Vec<Region>,
}

/// Divides trees into units: trees that share no parameter are separate; trees that share one are
/// joint, and so is a tree whose outermost choices share one with trees inside its versions.
fn units<'t>(trees: impl IntoIterator<Item = &'t Tree>) -> Vec<Unit<'t>> {
    let mut units: Vec<Unit<'t>> = Vec::new();
    for tree in trees {
        let mut unit = Unit { trees: vec![tree], whole: false };
        let outer = unit.params(false);
        tree.inside(&mut |tree| {
            tree.params(true, &mut |param| unit.whole |= outer.contains(&param));
        });
        let params = unit.params(true);
        units.push(unit);
        merge(&mut units, &params);
    }
    units
}

/// Merges the units that have any of these parameters.
fn merge(units: &mut Vec<Unit<'_>>, params: &BTreeSet<Param>) {
    let uses_params = |unit: &Unit<'_>| !unit.params(true).is_disjoint(params);
    let Some(first) = units.iter().position(uses_params) else {
        return;
    };
    let mut at = first + 1;
    while at < units.len() {
        if uses_params(&units[at]) {
            let other = units.remove(at);
            units[first].trees.extend(other.trees);
            units[first].whole = true;
        } else {
            at += 1;
        }
    }
}

impl Search<'_> {
    fn all(&mut self, trees: &[Tree], defaults: &[i64], joint: bool) -> Result<(), Halt> {
        let first = self.run(defaults, None, None)?;
        let everything = [Region::default()];
        let mut units =
            if joint { vec![Unit { trees: trees.iter().collect(), whole: true }] } else { units(trees) };
        let mut at = 0;
        let mut done: Vec<(usize, usize)> = Vec::new();
        while at < units.len() {
            let before = (self.found.differences.len(), self.found.alternatives.len());
            match self.unit(&units[at], first, defaults, &everything) {
                Ok(()) => {
                    done.push(before);
                    at += 1;
                }
                Err(Halt::Stopped) => return Err(Halt::Stopped),
                Err(Halt::Dependent(mut params)) => {
                    // Returns to the first dependent unit; runs are kept.
                    params.extend(units[at].params(true));
                    let first_dependent =
                        units.iter().position(|unit| !unit.params(true).is_disjoint(&params));
                    at = first_dependent.map_or(at, |first| first.min(at));
                    let (differences, alternatives) = done.get(at).copied().unwrap_or(before);
                    self.found.differences.truncate(differences);
                    self.found.alternatives.truncate(alternatives);
                    done.truncate(at);
                    let number = units.len();
                    merge(&mut units, &params);
                    let nothing_merged = units.len() == number;
                    if let Some(unit) = units.get_mut(at) {
                        if unit.whole && nothing_merged {
                            self.unrelated.extend(params);
                        }
                        unit.whole = true;
                    }
                }
            }
        }
        Ok(())
    }

    /// The run on the path of a setting, made if there is none. If it is cut off, its comparisons
    /// are unknown: it covers `region`.
    fn run(&mut self, setting: &[i64], against: Option<f64>, region: Option<&Region>) -> Result<usize, Halt> {
        let known = self.found.runs.iter();
        if let Some(known) = known.into_iter().position(|run| run.region.contains(setting)) {
            return Ok(known);
        }
        let outcome = self.executor.run(self.data, setting, against);
        let cut_off_region = region.cloned().unwrap_or_default();
        let run = Run::of(outcome.ok_or(Halt::Stopped)?, setting, cut_off_region);
        Ok(self.add_run(run))
    }

    /// Adds a run, and the sizes in its comparisons; returns its index.
    fn add_run(&mut self, run: Run) -> usize {
        for (param, size, _) in &run.comparisons {
            let is_fixed = self.has_fixed_sizes.get(*param).is_some_and(|fixed| *fixed);
            if let Some(sizes) = self.sizes.get_mut(*param).filter(|_| is_fixed) {
                sizes.insert(*size);
            }
        }
        self.found.runs.push(run);
        self.found.runs.len() - 1
    }

    /// The comparisons of a run with parameters that are not among these.
    fn outside(&self, run: usize, params: &BTreeSet<Param>) -> BTreeSet<Comparison> {
        let comparisons = self.found.runs.get(run).into_iter().flat_map(|run| &run.comparisons);
        let outside =
            comparisons.filter(|(param, ..)| !params.contains(param) && !self.unrelated.contains(param));
        outside.copied().collect()
    }

    /// Explores a unit, while everything else stays as in the run `context`, whose setting is
    /// `base`. The differences found hold for the settings in any of `guards`.
    fn unit(&mut self, unit: &Unit<'_>, context: usize, base: &[i64], guards: &[Region]) -> Result<(), Halt> {
        let (subject, all_params) = (unit.params(unit.whole), unit.params(true));
        let is_reached = |run: &Run| run.comparisons.iter().any(|(param, ..)| subject.contains(param));
        if !self.found.runs.get(context).is_some_and(is_reached) {
            return Ok(());
        }
        let outside = self.outside(context, &all_params);
        let comparisons = self.found.runs.get(context).map_or(&[][..], |run| &run.comparisons);
        let order = Order::of(comparisons, &subject);
        let start = guards.iter().find(|guard| guard.contains(base)).cloned();
        let mut open = vec![start.unwrap_or_default()];
        let mut classes: Vec<SettingClass> = Vec::new();
        let mut halted = None;
        // Everything that is covered; the regions of `classes` are disjoint.
        let mut done: Vec<Region> = Vec::new();
        while let Some((open_region, setting)) = order.next(&mut open, base, done.is_empty()) {
            let path = follow(unit.trees.iter().copied(), &setting, &self.sizes, unit.whole);
            let known = path.as_ref().ok().and_then(|path| {
                let known = classes.iter().position(|class| class.signature == path.signature);
                known.map(|at| (at, path.region.of(|param| subject.contains(&param))))
            });
            let (at, covered) = if let Some(known) = known {
                known
            } else {
                // The settings that are covered if the run is cut off.
                let cut_off_region = match &path {
                    Ok(path) => path.region.of(|param| subject.contains(&param)),
                    Err(unknown) => uncertain_region(&open_region, *unknown),
                };
                let cut_off_here = open_region.and(&cut_off_region).unwrap_or_else(|| open_region.clone());
                let against = self.found.runs.get(context).map(Run::time);
                self.executor.report_open(open.len() + 1);
                let run = match self.run(&setting, against, Some(&cut_off_here)) {
                    Ok(run) => run,
                    Err(halt) => {
                        halted = Some(halt);
                        break;
                    }
                };
                let is_cut_off = self.found.runs[run].cut_off.is_some();
                if !is_cut_off {
                    let new_outside = self.outside(run, &all_params);
                    if new_outside != outside {
                        let changed = new_outside.symmetric_difference(&outside);
                        return Err(Halt::Dependent(changed.map(|(param, ..)| *param).collect()));
                    }
                }
                let region = if is_cut_off {
                    cut_off_region
                } else {
                    let region = &self.found.runs[run].region;
                    region.of(|param| subject.contains(&param))
                };
                (self.record(unit, &mut classes, run, setting, &subject), region)
            };
            let fresh = done.iter().fold(vec![covered.clone()], |parts, other| {
                parts.iter().flat_map(|part| part.minus(other)).collect()
            });
            if let Some(class) = classes.get_mut(at) {
                class.regions.extend(fresh);
            }
            done.push(covered.clone());
            open = open.iter().chain([&open_region]).flat_map(|part| part.minus(&covered)).collect();
        }
        for class in classes.iter().filter(|class| class.run != context) {
            for region in intersections(guards, &class.regions) {
                self.found.differences.push(Difference { region, run: class.run, against: context });
            }
        }
        let alternatives: BTreeSet<usize> = classes.iter().map(|class| class.run).chain([context]).collect();
        self.found.alternatives.push(alternatives.into_iter().collect());
        if let Some(halt) = halted {
            return Err(halt);
        }
        if unit.whole {
            return Ok(());
        }
        for class in classes {
            if self.found.runs[class.run].cut_off.is_some() {
                continue;
            }
            let sizes = &self.sizes;
            let Ok(path) = follow(unit.trees.iter().copied(), &class.setting, sizes, false) else {
                continue;
            };
            let inside = path.versions.iter().flat_map(|version| match version {
                Tree::Version { inside, .. } => inside.as_slice(),
                Tree::Choice { .. } => &[],
            });
            let guards = intersections(guards, &class.regions);
            for inner in units(inside) {
                self.unit(&inner, class.run, &class.setting, &guards)?;
            }
        }
        Ok(())
    }

    /// Records the versions that a run leads to; returns the index in `classes`.
    fn record(
        &self,
        unit: &Unit<'_>,
        classes: &mut Vec<SettingClass>,
        run: usize,
        setting: Setting,
        subject: &BTreeSet<Param>,
    ) -> usize {
        let path = follow(unit.trees.iter().copied(), &setting, &self.sizes, unit.whole);
        let signature = path.map_or_else(
            |_| {
                // If sizes are not known, only the comparisons distinguish paths.
                let comparisons = self.found.runs[run].comparisons.iter();
                let comparisons = comparisons.filter(|(param, ..)| subject.contains(param));
                let outcome = |(param, size, _): &Comparison| {
                    let value = setting.get(*param).copied().unwrap_or(i64::MAX);
                    (*param, *size, value <= *size)
                };
                (BTreeSet::new(), comparisons.map(outcome).collect())
            },
            |path| path.signature,
        );
        let is_cut_off = self.found.runs[run].cut_off.is_some();
        let known = classes.iter().position(|class| class.signature == signature && !is_cut_off);
        known.unwrap_or_else(|| {
            classes.push(SettingClass { run, setting, signature, regions: Vec::new() });
            classes.len() - 1
        })
    }
}

/// The region covered by a run that was cut off before the sizes of a parameter were known: the
/// settings of a region except those whose comparisons certainly hold, or fail.
fn uncertain_region(region: &Region, unknown: Param) -> Region {
    let inner = Span { min: i64::MIN + 1, max: i64::MAX - 1 };
    let whole = region.clone();
    whole.with(unknown, inner).unwrap_or_else(|| region.clone())
}

/// The intersections of a guard with a region.
fn intersections(guards: &[Region], regions: &[Region]) -> Vec<Region> {
    let pairs = guards.iter().flat_map(|guard| regions.iter().map(move |region| guard.and(region)));
    pairs.flatten().collect()
}
