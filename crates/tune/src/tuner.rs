//! Tuning: the setting of all parameters that minimises the cost over all data sets.
//!
//! 1. The default is run on each data set, then the setting of an earlier tuning if there is one.
//!    So the earlier best is known even if tuning ends early. Each data set is explored
//!    ([`crate::explore`]): every path of every tree is run once.
//! 2. If two runs that differ in one tree are so close that their confidence intervals overlap,
//!    both are run again, with increasing repetition, until the intervals are disjoint, or the
//!    difference is too small to matter. Runs that take much longer than the best of the data set
//!    are not repeated: they are inside a version that is not taken.
//! 3. The best setting is computed ([`crate::solve`]). Differences that are not certain count as 0,
//!    so that no parameter leaves its default because of noise.
//! 4. Its paths are run unless they have been. If one takes longer than the sum of differences
//!    predicts, trees depend on each other: the sum is corrected for all settings that take that
//!    path, and step 3 is repeated.
//! 5. It is compared with the default, which is kept unless the setting is better.
//! 6. Of the parameters that choose no version, those used by the versions of that setting are tuned
//!    from there ([`crate::coordinate`]).
//!
//! If all paths of all trees are run jointly, step 3 is exact; otherwise it is exact as far as
//! times add up, and step 4 detects where they do not.

use crate::coordinate::{Measured, Search, Trial, search};
use crate::cost::Cost;
use crate::explore::{Executor, Explored, Run, explore};
use crate::forest::{Forest, Sizes, follow};
use crate::region::{Param, Region, Setting, Span};
use crate::solve::{Problem, Term, TooManyCombinations, solve};
use crate::statistics::Statistics;
use std::collections::BTreeSet;

/// Options of tuning.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// True if all combinations of paths are run.
    pub joint: bool,
    /// The least number of runs of a path that is close to another one.
    pub runs: usize,
    /// The largest number of runs.
    pub max_runs: usize,
    /// The relative difference of times that does not matter.
    pub tolerance: f64,
}

/// The input of tuning.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// The choices.
    pub forest: &'a Forest,
    /// The number of data sets.
    pub data_sets: usize,
    /// The cost function, which is minimised.
    pub cost: &'a Cost,
    /// The options.
    pub options: Options,
    /// The setting of an earlier tuning.
    pub earlier: Option<&'a [i64]>,
}

/// The result of tuning.
#[derive(Clone, PartialEq, Debug)]
pub struct Tuned {
    /// The best setting.
    pub setting: Setting,
    /// Its time on each data set, in microseconds.
    pub times: Vec<f64>,
    /// The default's time on each data set.
    pub default: Vec<f64>,
    /// The exploration of each data set.
    pub explored: Vec<Explored>,
    /// Corrections of sums: the data set, the settings, the predicted time, and the measured one.
    pub corrections: Vec<(usize, Region, f64, f64)>,
    /// Values that were tried of parameters that choose no version.
    pub tried: Vec<Trial>,
    /// True if tuning was completed; else this is the best so far.
    pub complete: bool,
}

/// The reason why there is no result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// The default could not be run on this data set.
    Fails(usize),
    /// Tuning was stopped before each data set was run once.
    Stopped,
    /// The cost function leaves too many combinations of times.
    TooManyCombinations,
}

/// Finds the best setting.
///
/// # Errors
/// The default fails, tuning was stopped too early, or there are too many combinations.
pub fn tune(task: &Task<'_>, executor: &mut dyn Executor) -> Result<Tuned, Failure> {
    let Task { forest, data_sets, cost, options, earlier } = task;
    let mut tuner = Tuner {
        forest,
        defaults: &forest.defaults,
        cost,
        options,
        executor,
        complete: true,
        explored: vec![Explored::default(); *data_sets],
        corrections: Vec::new(),
        measured: Vec::new(),
        earlier: None,
    };
    for data in 0..*data_sets {
        let run = tuner.first(data, &forest.defaults, None);
        let run = run.ok_or(Failure::Stopped)?;
        if tuner.explored[data].runs[run].cut_off.is_some() {
            return Err(Failure::Fails(data));
        }
    }
    if let Some(earlier) = earlier {
        tuner.earlier(earlier, forest).ok_or(Failure::Stopped)?;
    }
    for data in 0..*data_sets {
        let known = std::mem::take(&mut tuner.explored[data].runs);
        let found = explore(forest, data, options.joint, known, &mut *tuner.executor);
        tuner.complete &= found.complete;
        tuner.explored[data] = found;
    }
    tuner.repeat_close_alternatives();
    let setting = tuner.best().map_err(|TooManyCombinations| Failure::TooManyCombinations)?;
    let setting = tuner.against_default(setting);
    let times = tuner.times(&setting);
    let default = tuner.times(&forest.defaults).unwrap_or_default();
    let runs = (0..*data_sets).filter_map(|data| {
        let run = tuner.known(data, &setting)?;
        tuner.explored[data].runs.get(run).cloned()
    });
    let best: Vec<Run> = runs.collect();
    let mut tuned = Tuned {
        times: times.unwrap_or_else(|| default.clone()),
        setting,
        tried: Vec::new(),
        complete: tuner.complete,
        explored: tuner.explored,
        corrections: tuner.corrections,
        default,
    };
    if tuned.complete && !forest.free_params.is_empty() {
        tuned.tune_free_params(task, &best, tuner.executor);
    }
    Ok(tuned)
}

impl Tuned {
    /// Tunes the parameters that choose no version; `best` are the runs of the setting so far, by
    /// data set.
    fn tune_free_params(&mut self, task: &Task<'_>, best: &[Run], executor: &mut dyn Executor) {
        let start = Measured {
            micros: best.iter().map(|run| run.micros.clone()).collect(),
            setting: self.setting.clone(),
        };
        if best.len() < task.data_sets || start.micros.iter().any(Vec::is_empty) {
            // A run was cut off, so there are no times to start from.
            return;
        }
        let first: Vec<Vec<u64>> = best.iter().map(|run| run.first.clone()).collect();
        let used: BTreeSet<Param> = best.iter().flat_map(|run| &run.used).copied().collect();
        let Forest { free_params, defaults, .. } = task.forest;
        let has_default = |param: Param, span: Span| {
            let default = defaults.get(param);
            default.is_some_and(|default| span.contains(*default))
        };
        let params = free_params.iter().map(|(param, span)| (*param, *span));
        let params: Vec<_> =
            params.filter(|(param, span)| used.contains(param) || !has_default(*param, *span)).collect();
        let input = Search {
            params: &params,
            defaults,
            first: &first,
            cost: task.cost,
            default: &self.default,
            options: &task.options,
            earlier: task.earlier,
        };
        let found = search(&input, start, executor);
        if found.best.setting != self.setting {
            self.times = found.best.times();
        }
        self.setting = found.best.setting;
        self.tried = found.tried;
        self.complete &= found.complete;
    }
}

struct Tuner<'a> {
    forest: &'a Forest,
    defaults: &'a [i64],
    cost: &'a Cost,
    options: &'a Options,
    executor: &'a mut dyn Executor,
    explored: Vec<Explored>,
    corrections: Vec<(usize, Region, f64, f64)>,
    /// Settings that ran on all data sets.
    measured: Vec<Setting>,
    /// The setting of an earlier tuning.
    earlier: Option<Setting>,
    complete: bool,
}

/// The least number of run times from which a variance is estimated.
pub(crate) const MIN_RUNS: usize = 3;

/// The assumed relative error of a single run.
pub(crate) const SINGLE_RUN_ERROR: f64 = 0.25;

/// The mean of a run's times, and its uncertainty.
fn estimate(run: &Run) -> (f64, f64) {
    let Statistics { mean, margin, .. } = Statistics::of(&run.micros);
    match run.cut_off {
        Some(time) => (time, 0.0),
        None if run.micros.len() < MIN_RUNS => (mean, SINGLE_RUN_ERROR * mean),
        None => (mean, margin),
    }
}

impl Tuner<'_> {
    /// Repeats alternatives that are close to the best of their group until none is.
    fn repeat_close_alternatives(&mut self) {
        for data in 0..self.explored.len() {
            for at in 0..self.explored[data].alternatives.len() {
                let alternatives = self.explored[data].alternatives[at].clone();
                while let Some(close) = self.close_alternatives(data, &alternatives) {
                    let more = close.into_iter().all(|run| self.repeat(data, run, false));
                    if !more {
                        return;
                    }
                }
            }
        }
    }

    /// The best of these runs and runs that may be equally fast, as far as they may be repeated; `None`
    /// if the best is certain.
    fn close_alternatives(&self, data: usize, alternatives: &[usize]) -> Option<Vec<usize>> {
        let runs = &self.explored[data].runs;
        let estimates = alternatives.iter().map(|run| (*run, estimate(&runs[*run])));
        let mut estimates: Vec<_> = estimates.collect();
        estimates.sort_by(|(_, (x, _)), (_, (y, _))| x.total_cmp(y));
        let (&(_, (best, margin)), others) = estimates.split_first()?;
        let least = runs.iter().map(Run::time).fold(f64::INFINITY, f64::min);
        if best > least * (1.0 + SINGLE_RUN_ERROR) {
            return None;
        }
        let is_close = |&&(_, (mean, own_margin)): &&(usize, (f64, f64))| {
            let difference = mean - best;
            let is_negligible = difference + margin + own_margin < self.options.tolerance * best;
            difference < margin + own_margin && !is_negligible
        };
        let close = others.iter().filter(is_close).map(|(run, _)| *run);
        let mut close: Vec<usize> = close.collect();
        if close.is_empty() {
            return None;
        }
        close.push(estimates[0].0);
        close.retain(|run| {
            let run = &runs[*run];
            run.micros.len() < self.options.max_runs && !run.exhausted && run.cut_off.is_none()
        });
        (!close.is_empty()).then_some(close)
    }

    /// Repeats a run, as often as it has been run so far, but the first time as often as the
    /// options require. Returns false if tuning is stopped.
    fn repeat(&mut self, data: usize, run: usize, decisive: bool) -> bool {
        let Some(run) = self.explored[data].runs.get_mut(run) else {
            return true;
        };
        // A single run is not comparable with many runs in a row.
        let known = if run.micros.len() < MIN_RUNS { 0 } else { run.micros.len() };
        let more = known.max(self.options.runs).max(MIN_RUNS);
        let micros = self.executor.repeat(data, &run.setting, more, decisive);
        match micros {
            Some(micros) => {
                run.micros.truncate(if micros.len() < MIN_RUNS { usize::MAX } else { known });
                run.exhausted |= micros.len() < more;
                run.micros.extend(micros);
                true
            }
            None => {
                self.complete = false;
                false
            }
        }
    }

    /// The run on the path of a setting, or one that reaches the same versions on another path.
    fn known(&self, data: usize, setting: &[i64]) -> Option<usize> {
        let runs = &self.explored[data].runs;
        let same = runs.iter().position(|run| run.region.contains(setting));
        same.or_else(|| {
            let sizes = self.sizes(data);
            let signature = |setting: &[i64]| {
                let path = follow(&self.forest.trees, setting, &sizes, true);
                path.ok().map(|path| path.signature)
            };
            let wanted = signature(setting)?;
            let same_versions = |run: &Run| {
                run.cut_off.is_none() && signature(&run.setting).is_some_and(|other| other == wanted)
            };
            runs.iter().position(same_versions)
        })
    }

    /// The sizes that parameters with fixed sizes were compared with on a data set.
    fn sizes(&self, data: usize) -> Sizes {
        let mut sizes: Sizes = vec![BTreeSet::new(); self.defaults.len()];
        let runs = self.explored[data].runs.iter();
        for (param, size, _) in runs.flat_map(|run| &run.comparisons) {
            if self.forest.has_fixed_sizes.get(*param).is_some_and(|fixed| *fixed) {
                sizes[*param].insert(*size);
            }
        }
        sizes
    }

    /// The measured times of a setting, if it was run on all data sets.
    fn times(&self, setting: &[i64]) -> Option<Vec<f64>> {
        let times = (0..self.explored.len()).map(|data| {
            let run = self.known(data, setting)?;
            Some(self.explored[data].runs[run].time())
        });
        times.collect()
    }

    /// All differences and corrections, as terms.
    fn terms(&self) -> Vec<Term> {
        let mut terms = Vec::new();
        for (data, found) in self.explored.iter().enumerate() {
            for difference in &found.differences {
                let run = estimate(&found.runs[difference.run]);
                let against = estimate(&found.runs[difference.against]);
                let amount = run.0 - against.0;
                let certain =
                    run.1.min(SINGLE_RUN_ERROR * run.0) + against.1.min(SINGLE_RUN_ERROR * against.0);
                let least = self.options.tolerance * against.0;
                let repeated = found.runs[difference.run].micros.len() >= MIN_RUNS;
                let noise = amount.abs() < least || (repeated && amount.abs() < certain);
                terms.push(Term {
                    data,
                    region: difference.region.clone(),
                    amount: if noise && self.options.tolerance > 0.0 { 0.0 } else { amount },
                });
            }
        }
        terms.extend(self.corrections.iter().map(|(data, region, predicted, measured)| Term {
            data: *data,
            region: region.clone(),
            amount: measured - predicted,
        }));
        terms
    }

    /// Runs the setting of an earlier tuning.
    fn earlier(&mut self, earlier: &[i64], forest: &Forest) -> Option<()> {
        let mut setting = earlier.to_vec();
        for param in forest.free_params.keys() {
            if let (Some(value), Some(default)) = (setting.get_mut(*param), forest.defaults.get(*param)) {
                *value = *default;
            }
        }
        for data in 0..self.explored.len() {
            if self.known(data, &setting).is_none() {
                let against = self.explored[data].runs[0].time();
                self.first(data, &setting, Some(against))?;
            }
        }
        self.measured.push(setting.clone());
        self.earlier = Some(setting);
        Some(())
    }

    /// The best setting, all of whose paths have been run.
    fn best(&mut self) -> Result<Setting, TooManyCombinations> {
        let default = self.default();
        // Each iteration but the last corrects a path. Few are enough unless trees depend on each
        // other strongly; then the best measured setting is taken.
        let max_iterations = 16 + 2 * self.defaults.len();
        for _ in 0..max_iterations {
            let terms = self.terms();
            let solution = solve(&Problem {
                times: &default,
                terms: &terms,
                defaults: self.defaults,
                shape: self.cost.shape(),
                cost: &|times| self.cost.of(times, &default),
            })?;
            let mut is_consistent = true;
            for data in 0..self.explored.len() {
                let predicted = solution.times[data];
                let Some(measured) = self.measure(data, &solution.setting) else {
                    self.complete = false;
                    return Ok(self.best_so_far());
                };
                if measured > predicted * (1.0 + 3.0 * self.options.tolerance) {
                    is_consistent = false;
                    let region = self.path(data, &solution.setting);
                    self.corrections.push((data, region, predicted, measured));
                }
            }
            self.measured.push(solution.setting);
            if is_consistent {
                break;
            }
        }
        Ok(self.best_of(&self.measured))
    }

    fn default(&self) -> Vec<f64> {
        let runs = self.explored.iter().map(|found| &found.runs[0]);
        runs.map(Run::time).collect()
    }

    /// The cheapest of the settings that ran on all data sets, the first of equal ones.
    fn best_of<'s>(&self, settings: impl IntoIterator<Item = &'s Setting>) -> Setting {
        let default = self.default();
        let costs = settings.into_iter().filter_map(|setting| {
            let times = self.times(setting)?;
            Some((self.cost.of(&times, &default), setting))
        });
        let best = costs.min_by(|(x, _), (y, _)| x.total_cmp(y));
        best.map_or_else(|| self.defaults.to_vec(), |(_, setting)| setting.clone())
    }

    /// The cheapest of all settings whose times are known on all data sets.
    fn best_so_far(&self) -> Setting {
        let runs = self.explored.iter().flat_map(|found| &found.runs);
        self.best_of(self.measured.iter().chain(runs.map(|run| &run.setting)))
    }

    /// The time of a setting on a data set; its path is run unless it has been. `None` if tuning is
    /// stopped.
    fn measure(&mut self, data: usize, setting: &[i64]) -> Option<f64> {
        let run = if let Some(known) = self.known(data, setting) {
            known
        } else {
            let against = self.explored[data].runs[0].time();
            let run = self.first(data, setting, Some(against))?;
            if self.explored[data].runs[run].cut_off.is_none() && !self.repeat(data, run, false) {
                return None;
            }
            run
        };
        Some(self.explored[data].runs[run].time())
    }

    /// Runs a setting; returns the run's index, or `None` if tuning is stopped.
    fn first(&mut self, data: usize, setting: &[i64], against: Option<f64>) -> Option<usize> {
        let outcome = self.executor.run(data, setting, against)?;
        let runs = &mut self.explored[data].runs;
        runs.push(Run::of(outcome, setting, exactly(setting)));
        Some(runs.len() - 1)
    }

    /// All settings with the same outcomes of comparisons as this one, which was run.
    fn path(&self, data: usize, setting: &[i64]) -> Region {
        let mut runs = self.explored[data].runs.iter();
        if let Some(run) = runs.find(|run| run.region.contains(setting)) {
            return run.region.clone();
        }
        let sizes = self.sizes(data);
        let path = follow(&self.forest.trees, setting, &sizes, true);
        path.map_or_else(|_| exactly(setting), |path| path.region)
    }

    /// The setting if it is better than the default, else the default. If tuning is not complete,
    /// it has to be better than that of an earlier tuning, if there is one.
    fn against_default(&mut self, setting: Setting) -> Setting {
        let earlier = self.earlier.as_ref().filter(|_| !self.complete);
        let from = earlier.map_or_else(|| self.defaults.to_vec(), Setting::clone);
        if setting == from {
            return setting;
        }
        let mut candidates = vec![from.clone(), setting.clone()];
        for data in 0..self.explored.len() {
            let runs: Vec<Option<usize>> =
                candidates.iter().map(|setting| self.known(data, setting)).collect();
            if runs[0] == runs[1] {
                continue;
            }
            for run in runs.into_iter().flatten() {
                let measured = &self.explored[data].runs[run];
                let needs_runs = measured.micros.len() < self.options.runs && measured.cut_off.is_none();
                let needs_runs = needs_runs && !measured.exhausted;
                if needs_runs && !self.repeat(data, run, true) {
                    break;
                }
            }
        }
        let (Some(before), Some(times)) = (self.times(&from), self.times(&setting)) else {
            return from;
        };
        let default = self.default();
        let (old, new) = (self.cost.of(&before, &default), self.cost.of(&times, &default));
        // If not all runs could be repeated often enough, single runs are compared.
        let tolerance = if self.complete { self.options.tolerance / 2.0 } else { SINGLE_RUN_ERROR / 2.0 };
        let better = old - new > tolerance * old.abs();
        candidates.swap_remove(usize::from(better))
    }
}

/// The region of this setting alone.
fn exactly(setting: &[i64]) -> Region {
    let mut region = Region::default();
    for (param, value) in setting.iter().enumerate() {
        let exact = Span { min: *value, max: *value };
        if let Some(narrowed) = region.clone().with(param, exact) {
            region = narrowed;
        }
    }
    region
}
