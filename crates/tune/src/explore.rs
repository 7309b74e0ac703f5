//! Which settings are worth a run: every path of one data set, and none twice.
//!
//! Before: a forest, and a way to run the program. After: runs, and *terms*, of which those
//! that a setting is in add up to its time.
//!
//! Sizes are not known before the program has run. The default is run first; its comparisons
//! say for which settings nothing would change (a [`Region`]). What is outside of it is open.
//! From what is open, a setting is taken, as a rule the one nearest to the default ([`Order`]);
//! if the sizes known so far tell that it leads to versions that were run already, this is taken
//! down, else it is run. Either way all settings with these comparisons are covered. So each run
//! takes another path, and when nothing is open, every path has been run.
//!
//! Trees that stand side by side take time one after another, so one is explored while the
//! others stay as they are, and what changes is added up: a forest of trees with 3 and 5
//! paths takes 1 + 2 + 4 runs rather than 15. The same goes for trees inside of a version, in a
//! run that takes this version. Where this would be wrong, it shows: if comparisons outside
//! of a tree, or how often they are made, change with it, or trees share a parameter, these
//! trees are explored together, each combination by itself (*jointly*). That times add up is an assumption;
//! [`crate::tuner`] holds what comes of it against measurements.
//!
//! Guarantees: for a program that does the same for the same comparisons, no two runs meet the
//! same comparisons with the same outcomes.

use crate::forest::{Forest, Signature, Sizes, Tree, way};
use crate::order::Order;
use crate::region::{Param, Region, Setting, Span};
use std::collections::BTreeSet;

/// A comparison: the parameter, the size, and how often it was made.
pub type Met = (Param, i64, u64);

/// What came of a run.
#[derive(Clone, PartialEq, Debug)]
pub enum Outcome {
    /// It came to its end.
    Ran {
        /// Run times in microseconds, at least one.
        micros: Vec<u64>,
        /// The comparisons that were made, in the order in which they first were.
        met: Vec<Met>,
        /// The parameters that points were divided by.
        used: Vec<Param>,
    },
    /// It was ended when it had taken too long, or it failed; it counts as this many
    /// microseconds.
    Cut(f64),
}

/// What runs the program.
pub trait Machine {
    /// Runs it on a data set with a setting. `against` is the time of the run that this one is
    /// held against: one that takes much longer may be cut off. Nothing if no
    /// further runs are wanted.
    fn run(&mut self, data: usize, setting: &[i64], against: Option<f64>) -> Option<Outcome>;

    /// So much is known to be open where the search is now, what is run next included: parts of
    /// the settings, each of them a path or more (or none, where sizes turn out to be the same),
    /// or values of a parameter.
    fn open(&mut self, parts: usize) {
        let _ = parts;
    }

    /// Runs it again, so many times; run times in microseconds. They are fewer where it is
    /// not worth while to run it that often, and then it need not be asked again. What is
    /// `decisive` is worth more: the best setting is held against another one.
    fn again(&mut self, data: usize, setting: &[i64], times: usize, decisive: bool) -> Option<Vec<u64>>;
}

/// A run.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    /// The setting.
    pub setting: Setting,
    /// The comparisons that were made.
    pub met: Vec<Met>,
    /// The parameters that points were divided by.
    pub used: Vec<Param>,
    /// All settings that do the same.
    pub region: Region,
    /// Run times in microseconds; none if it was cut off.
    pub micros: Vec<u64>,
    /// Those of the first time that it ran.
    pub first: Vec<u64>,
    /// What it counts as if it was cut off.
    pub cut: Option<f64>,
    /// Whether it need not be run again.
    pub settled: bool,
}

impl Run {
    /// The run with a setting that had this outcome. Where it was cut off nobody knows its
    /// comparisons: it covers `blind`.
    pub fn of(outcome: Outcome, setting: &[i64], blind: Region) -> Self {
        match outcome {
            Outcome::Ran { micros, met, used } => Self {
                setting: setting.to_vec(),
                region: Region::around(met.iter().map(|(param, size, _)| (*param, *size)), setting),
                met,
                used,
                first: micros.clone(),
                micros,
                cut: None,
                settled: false,
            },
            Outcome::Cut(time) => Self {
                setting: setting.to_vec(),
                met: Vec::new(),
                used: Vec::new(),
                region: blind,
                micros: Vec::new(),
                first: Vec::new(),
                cut: Some(time),
                settled: true,
            },
        }
    }

    /// Its time.
    pub fn time(&self) -> f64 {
        let mean = crate::statistics::Statistics::of(&self.micros).mean;
        self.cut.unwrap_or(mean)
    }
}

/// The settings in a region take as much more as one run took more than another.
#[derive(Clone, PartialEq, Debug)]
pub struct Difference {
    /// The settings.
    pub region: Region,
    /// The run that takes this way.
    pub run: usize,
    /// The run that it was held against.
    pub against: usize,
}

/// All that was found out about a data set.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Explored {
    /// The runs, the default's first.
    pub runs: Vec<Run>,
    /// The differences: the default's time and those that a setting is in are its time.
    pub differences: Vec<Difference>,
    /// Runs that differ in one tree, or in several that are explored jointly.
    pub rivals: Vec<Vec<usize>>,
    /// Whether nothing is left open.
    pub complete: bool,
}

/// Explores a data set. With `joint`, all trees are explored jointly. `known` are runs that
/// were made already, the default's first.
pub fn explore(
    forest: &Forest,
    data: usize,
    joint: bool,
    known: Vec<Run>,
    machine: &mut dyn Machine,
) -> Explored {
    let mut search = Search {
        machine,
        data,
        plain: &forest.plain,
        sizes: vec![BTreeSet::new(); forest.defaults.len()],
        found: Explored::default(),
        strangers: BTreeSet::new(),
    };
    for run in known {
        search.take(run);
    }
    let complete = search.all(&forest.trees, &forest.defaults, joint).is_ok();
    Explored { complete, ..search.found }
}

/// Why a part of the search ends early.
enum Halt {
    /// No further runs are wanted.
    Stopped,
    /// Comparisons with these parameters change with what was explored by itself.
    Depends(BTreeSet<Param>),
}

struct Search<'m> {
    machine: &'m mut dyn Machine,
    data: usize,
    plain: &'m [bool],
    /// The sizes of plain parameters.
    sizes: Sizes,
    found: Explored,
    /// Parameters that stand in no tree.
    strangers: BTreeSet<Param>,
}

/// Trees that are explored as one.
struct Unit<'t> {
    trees: Vec<&'t Tree>,
    /// Jointly with all that is inside of them, not their outermost choices alone.
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
struct Ways {
    run: usize,
    /// The setting by which it was found.
    setting: Setting,
    signature: Signature,
    regions: Vec<Region>,
}

/// Trees that share no parameter, each by itself; those that share one, jointly, and so those
/// whose own choices share one with what is inside of their versions.
fn units<'t>(trees: impl IntoIterator<Item = &'t Tree>) -> Vec<Unit<'t>> {
    let mut units: Vec<Unit<'t>> = Vec::new();
    for tree in trees {
        let mut own = Unit { trees: vec![tree], whole: false };
        let outer = own.params(false);
        tree.inside(&mut |tree| {
            tree.params(true, &mut |param| own.whole |= outer.contains(&param));
        });
        let params = own.params(true);
        units.push(own);
        merge(&mut units, &params);
    }
    units
}

/// Makes one of the units that have any of these parameters.
fn merge(units: &mut Vec<Unit<'_>>, params: &BTreeSet<Param>) {
    let concerned = |unit: &Unit<'_>| !unit.params(true).is_disjoint(params);
    let Some(first) = units.iter().position(concerned) else {
        return;
    };
    let mut at = first + 1;
    while at < units.len() {
        if concerned(&units[at]) {
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
            let before = (self.found.differences.len(), self.found.rivals.len());
            match self.unit(&units[at], first, defaults, &everything) {
                Ok(()) => {
                    done.push(before);
                    at += 1;
                }
                Err(Halt::Stopped) => return Err(Halt::Stopped),
                Err(Halt::Depends(mut params)) => {
                    // Back to before the first unit that is concerned; runs are kept.
                    params.extend(units[at].params(true));
                    let concerned = units.iter().position(|unit| !unit.params(true).is_disjoint(&params));
                    at = concerned.map_or(at, |first| first.min(at));
                    let (differences, rivals) = done.get(at).copied().unwrap_or(before);
                    self.found.differences.truncate(differences);
                    self.found.rivals.truncate(rivals);
                    done.truncate(at);
                    let number = units.len();
                    merge(&mut units, &params);
                    let alone = units.len() == number;
                    if let Some(unit) = units.get_mut(at) {
                        if unit.whole && alone {
                            self.strangers.extend(params);
                        }
                        unit.whole = true;
                    }
                }
            }
        }
        Ok(())
    }

    /// The run that takes the way of a setting, made unless there is one. Where it is cut off
    /// nobody knows its comparisons: it covers `region`.
    fn run(&mut self, setting: &[i64], against: Option<f64>, region: Option<&Region>) -> Result<usize, Halt> {
        let known = self.found.runs.iter();
        if let Some(known) = known.into_iter().position(|run| run.region.contains(setting)) {
            return Ok(known);
        }
        let outcome = self.machine.run(self.data, setting, against);
        let blind = region.cloned().unwrap_or_default();
        let run = Run::of(outcome.ok_or(Halt::Stopped)?, setting, blind);
        Ok(self.take(run))
    }

    /// Takes a run down, and the sizes that it tells; its number.
    fn take(&mut self, run: Run) -> usize {
        for (param, size, _) in &run.met {
            let plain = self.plain.get(*param).is_some_and(|plain| *plain);
            if let Some(sizes) = self.sizes.get_mut(*param).filter(|_| plain) {
                sizes.insert(*size);
            }
        }
        self.found.runs.push(run);
        self.found.runs.len() - 1
    }

    /// The comparisons of a run with parameters that are not among these.
    fn outside(&self, run: usize, own: &BTreeSet<Param>) -> BTreeSet<Met> {
        let met = self.found.runs.get(run).into_iter().flat_map(|r| &r.met);
        let met = met.filter(|(param, ..)| !own.contains(param) && !self.strangers.contains(param));
        met.copied().collect()
    }

    /// Explores a unit, while all else stays as in the run `context`, whose setting is
    /// `base`. What is found goes for the settings in any of `guards`.
    fn unit(&mut self, unit: &Unit<'_>, context: usize, base: &[i64], guards: &[Region]) -> Result<(), Halt> {
        let (subject, own) = (unit.params(unit.whole), unit.params(true));
        let is_met = |run: &Run| run.met.iter().any(|(param, ..)| subject.contains(param));
        if !self.found.runs.get(context).is_some_and(is_met) {
            return Ok(());
        }
        let outside = self.outside(context, &own);
        let met = self.found.runs.get(context).map_or(&[][..], |run| &run.met);
        let order = Order::of(met, &subject);
        let start = guards.iter().find(|guard| guard.contains(base)).cloned();
        let mut open = vec![start.unwrap_or_default()];
        let mut ways: Vec<Ways> = Vec::new();
        let mut halted = None;
        // All that is covered; the regions of ways have nothing in common.
        let mut done: Vec<Region> = Vec::new();
        while let Some((place, point)) = order.next(&mut open, base, done.is_empty()) {
            let told = way(unit.trees.iter().copied(), &point, &self.sizes, unit.whole);
            let known = told.as_ref().ok().and_then(|told| {
                let known = ways.iter().position(|w| w.signature == told.signature);
                known.map(|at| (at, told.region.of(|param| subject.contains(&param))))
            });
            let (at, covered) = if let Some(known) = known {
                known
            } else {
                // What is covered if the run is cut off.
                let blind = match &told {
                    Ok(told) => told.region.of(|param| subject.contains(&param)),
                    Err(unknown) => unsure(&place, *unknown),
                };
                let blind_here = place.and(&blind).unwrap_or_else(|| place.clone());
                let against = self.found.runs.get(context).map(Run::time);
                self.machine.open(open.len() + 1);
                let run = match self.run(&point, against, Some(&blind_here)) {
                    Ok(run) => run,
                    Err(halt) => {
                        halted = Some(halt);
                        break;
                    }
                };
                let cut = self.found.runs[run].cut.is_some();
                if !cut {
                    let now = self.outside(run, &own);
                    if now != outside {
                        let changed = now.symmetric_difference(&outside);
                        return Err(Halt::Depends(changed.map(|(param, ..)| *param).collect()));
                    }
                }
                let region = if cut {
                    blind
                } else {
                    let region = &self.found.runs[run].region;
                    region.of(|param| subject.contains(&param))
                };
                (self.take_down(unit, &mut ways, run, point, &subject), region)
            };
            let fresh = done.iter().fold(vec![covered.clone()], |parts, other| {
                parts.iter().flat_map(|part| part.minus(other)).collect()
            });
            if let Some(ways) = ways.get_mut(at) {
                ways.regions.extend(fresh);
            }
            done.push(covered.clone());
            open = open.iter().chain([&place]).flat_map(|part| part.minus(&covered)).collect();
        }
        for ways in ways.iter().filter(|ways| ways.run != context) {
            for region in guarded(guards, &ways.regions) {
                self.found.differences.push(Difference { region, run: ways.run, against: context });
            }
        }
        let rivals: BTreeSet<usize> = ways.iter().map(|ways| ways.run).chain([context]).collect();
        self.found.rivals.push(rivals.into_iter().collect());
        if let Some(halt) = halted {
            return Err(halt);
        }
        if unit.whole {
            return Ok(());
        }
        for ways in ways {
            if self.found.runs[ways.run].cut.is_some() {
                continue;
            }
            let sizes = &self.sizes;
            let Ok(taken) = way(unit.trees.iter().copied(), &ways.setting, sizes, false) else {
                continue;
            };
            let inside = taken.versions.iter().flat_map(|version| match version {
                Tree::Version { inside, .. } => inside.as_slice(),
                Tree::Choice { .. } => &[],
            });
            let guards = guarded(guards, &ways.regions);
            for inner in units(inside) {
                self.unit(&inner, ways.run, &ways.setting, &guards)?;
            }
        }
        Ok(())
    }

    /// Notes where a run leads; the place among the ways.
    fn take_down(
        &self,
        unit: &Unit<'_>,
        ways: &mut Vec<Ways>,
        run: usize,
        setting: Setting,
        subject: &BTreeSet<Param>,
    ) -> usize {
        let told = way(unit.trees.iter().copied(), &setting, &self.sizes, unit.whole);
        let signature = told.map_or_else(
            |_| {
                // Where sizes are not known, only the comparisons tell.
                let met = self.found.runs[run].met.iter();
                let met = met.filter(|(param, ..)| subject.contains(param));
                let outcome = |(param, size, _): &Met| {
                    let value = setting.get(*param).copied().unwrap_or(i64::MAX);
                    (*param, *size, value <= *size)
                };
                (BTreeSet::new(), met.map(outcome).collect())
            },
            |told| told.signature,
        );
        let cut = self.found.runs[run].cut.is_some();
        let known = ways.iter().position(|w| w.signature == signature && !cut);
        known.unwrap_or_else(|| {
            ways.push(Ways { run, setting, signature, regions: Vec::new() });
            ways.len() - 1
        })
    }
}

/// What a run covers that was cut off before anybody knew the sizes of a parameter: the
/// settings of a place but those that are certain to hold, or to fail.
fn unsure(place: &Region, unknown: Param) -> Region {
    let inner = Span { least: i64::MIN + 1, most: i64::MAX - 1 };
    let whole = place.clone();
    whole.with(unknown, inner).unwrap_or_else(|| place.clone())
}

/// What lies both in one of the guards and in one of the regions.
fn guarded(guards: &[Region], regions: &[Region]) -> Vec<Region> {
    let pairs = guards.iter().flat_map(|guard| regions.iter().map(move |region| guard.and(region)));
    pairs.flatten().collect()
}
