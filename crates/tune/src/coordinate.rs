//! Coordinate search over parameters that are not compared with sizes.
//!
//! Such a parameter (`#[param(NAME)]`) is used by the program in its own way, or it is the grain
//! size of chunks; only run times are known. Input: the best setting of all parameters that choose
//! versions, and its run times. Output: a setting with other values of the remaining parameters that
//! is faster with certainty, or the same setting.
//!
//! 1. Each parameter by itself is tried with powers of two that are far apart; one with a default
//!    size, with much smaller and larger values. If none of them is faster by more than the error
//!    of a single run, it stays.
//! 2. Parameters with the largest gains are first. From its best value, a parameter is doubled or
//!    halved for as long as that is faster.
//! 3. The value found is run repeatedly, and so is the best setting so far. It replaces the latter
//!    if it is faster by more than the uncertainty of both.
//! 4. Once more around the values found, since parameters may depend on each other.
//!
//! Single runs are compared with single runs of the best setting: when a program runs many times in
//! a row, memory is warm, and each run takes less time.
//!
//! A setting is abandoned as soon as the data sets that it has run on cost more than all do with
//! the best one, unless the cost function may decrease when a time increases.

use crate::cost::Cost;
use crate::explore::{Executor, Outcome};
use crate::region::{Param, Setting, Span};
use crate::solve::Shape;
use crate::statistics::Statistics;
use crate::tuner::{MIN_RUNS, Options, SINGLE_RUN_ERROR};
use std::collections::BTreeMap;

/// The first values tried of a parameter without a default.
const PROBES: [i64; 7] = [1, 8, 64, 512, 4096, 1 << 15, 1 << 18];
/// The factor between a parameter's default and the first values tried.
const PROBE_FACTOR: i64 = 16;
/// The least relative gain of a first run from which the search continues.
const MIN_GAIN: f64 = 0.05;
/// The number of rounds over all parameters.
const ROUNDS: usize = 2;

/// The input of a search.
pub struct Search<'a> {
    /// The parameters and their permitted values; a value of an earlier tuning is tried in
    /// addition.
    pub params: &'a [(Param, Span)],
    /// The defaults of all parameters; a value out of the permitted ones means that there is no
    /// default.
    pub defaults: &'a [i64],
    /// Run times of the first runs of the initial setting, by data set.
    pub first: &'a [Vec<u64>],
    /// The cost function, which is minimised.
    pub cost: &'a Cost,
    /// The default's time on each data set.
    pub default: &'a [f64],
    /// The numbers of runs.
    pub options: &'a Options,
    /// The setting of an earlier tuning, whose values are also tried.
    pub earlier: Option<&'a [i64]>,
}

/// A value that was tried.
#[derive(Clone, PartialEq, Debug)]
pub struct Trial {
    /// The parameter.
    pub param: Param,
    /// The value.
    pub value: i64,
    /// Its cost; `None` if it was abandoned or fails.
    pub cost: Option<f64>,
}

/// A setting and its run times.
#[derive(Clone, PartialEq, Debug)]
pub struct Measured {
    /// The setting.
    pub setting: Setting,
    /// Run times in microseconds, by data set.
    pub micros: Vec<Vec<u64>>,
}

impl Measured {
    fn statistics(&self) -> impl Iterator<Item = Statistics> {
        self.micros.iter().map(|micros| Statistics::of(micros))
    }

    /// The mean time on each data set.
    pub fn times(&self) -> Vec<f64> {
        self.statistics().map(|one| one.mean).collect()
    }
}

/// The result of a search.
#[derive(Clone, PartialEq, Debug)]
pub struct SearchResult {
    /// The best setting.
    pub best: Measured,
    /// The values that were tried, in order.
    pub tried: Vec<Trial>,
    /// True if the search was completed.
    pub complete: bool,
}

/// Searches from a setting on.
pub fn search(search: &Search<'_>, start: Measured, executor: &mut dyn Executor) -> SearchResult {
    let first = Measured { setting: start.setting.clone(), micros: search.first.to_vec() };
    let mut climb = HillClimb {
        search,
        executor,
        known: BTreeMap::from([(start.setting.clone(), Some(first))]),
        best: start,
        tried: Vec::new(),
    };
    let complete = climb.all().is_ok();
    SearchResult { best: climb.best, tried: climb.tried, complete }
}

/// The caller has stopped the runs.
struct Stopped;

struct HillClimb<'a> {
    search: &'a Search<'a>,
    executor: &'a mut dyn Executor,
    best: Measured,
    /// Times of first runs by setting; `None` for abandoned ones.
    known: BTreeMap<Setting, Option<Measured>>,
    tried: Vec<Trial>,
}

impl HillClimb<'_> {
    fn cost(&self, measured: &Measured) -> f64 {
        self.search.cost.of(&measured.times(), self.search.default)
    }

    /// The best setting's first runs.
    fn best_first(&self) -> &Measured {
        let known = self.known.get(&self.best.setting);
        known.and_then(Option::as_ref).unwrap_or(&self.best)
    }

    fn all(&mut self) -> Result<(), Stopped> {
        let mut order = Vec::new();
        let params = self.search.params.iter();
        let probes: Vec<_> =
            params.map(|(param, span)| (*param, *span, self.probes(*param, *span))).collect();
        let mut open: usize = probes.iter().map(|(.., values)| values.len()).sum();
        for (param, span, values) in probes {
            let current = self.current(param, span);
            let cost_to_beat = self.cost(self.best_first()) * (1.0 - MIN_GAIN);
            let mut least = current.map(|value| (cost_to_beat, value));
            for value in values {
                self.executor.report_open(open.max(1));
                open = open.saturating_sub(1);
                if let Some(cost) = self.value(param, value)?
                    && least.is_none_or(|(least, _)| cost < least)
                {
                    least = Some((cost, value));
                }
            }
            let least = least.filter(|(_, value)| current != Some(*value));
            order.extend(least.map(|(cost, value)| (cost, (param, span), value)));
        }
        order.sort_by(|(x, ..), (y, ..)| x.total_cmp(y));
        for round in 0..ROUNDS {
            let before = self.best.setting.clone();
            for (_, (param, span), value) in &order {
                // The value found before is better than the first one tried.
                let current = self.current(*param, *span).filter(|_| round > 0);
                self.hill_climb(*param, *span, current.unwrap_or(*value))?;
            }
            if self.best.setting == before {
                break;
            }
        }
        Ok(())
    }

    /// The value of a parameter in the best setting so far, if it is a permitted one.
    fn current(&self, param: Param, span: Span) -> Option<i64> {
        let value = self.best.setting.get(param).copied();
        value.filter(|value| span.contains(*value))
    }

    /// The first values to be tried of a parameter.
    fn probes(&self, param: Param, span: Span) -> Vec<i64> {
        let default = self.search.defaults.get(param).copied();
        let mut values = match default.filter(|default| span.contains(*default)) {
            Some(default) => [default / PROBE_FACTOR, default.saturating_mul(PROBE_FACTOR)]
                .map(|far| span.nearest(far))
                .to_vec(),
            None => PROBES.to_vec(),
        };
        values.extend(self.search.earlier.and_then(|earlier| earlier.get(param)));
        let current = self.best.setting.get(param);
        values.retain(|value| Some(value) != current);
        values
    }

    /// The best setting so far with another value of a parameter.
    fn with(&self, param: Param, value: i64) -> Setting {
        let mut setting = self.best.setting.clone();
        if let Some(changed) = setting.get_mut(param) {
            *changed = value;
        }
        setting
    }

    /// The cost of a value, by first runs.
    fn value(&mut self, param: Param, value: i64) -> Result<Option<f64>, Stopped> {
        let setting = self.with(param, value);
        if let Some(known) = self.known.get(&setting) {
            return Ok(known.as_ref().map(|known| self.cost(known)));
        }
        let measured = self.first(&setting)?;
        let cost = measured.as_ref().map(|measured| self.cost(measured));
        self.known.insert(setting, measured);
        self.tried.push(Trial { param, value, cost });
        Ok(cost)
    }

    /// Runs a setting once on each data set; `None` if it was abandoned.
    fn first(&mut self, setting: &[i64]) -> Result<Option<Measured>, Stopped> {
        let best = self.best_first();
        let (times, least) = (best.times(), self.cost(best));
        let may_decrease = matches!(self.search.cost.shape(), Shape::Any);
        let mut measured = Measured { setting: setting.to_vec(), micros: Vec::new() };
        for (data, against) in times.iter().enumerate() {
            let outcome = self.executor.run(data, setting, Some(*against));
            match outcome.ok_or(Stopped)? {
                Outcome::CutOff(_) => return Ok(None),
                Outcome::Completed { micros, .. } => measured.micros.push(micros),
            }
            let mut lower_bounds = measured.times();
            lower_bounds.resize(times.len(), 0.0);
            let lower_bound = self.search.cost.of(&lower_bounds, self.search.default);
            if !may_decrease && lower_bound > least * (1.0 + SINGLE_RUN_ERROR) {
                return Ok(None);
            }
        }
        Ok(Some(measured))
    }

    /// Doubles or halves a parameter for as long as that is faster.
    fn hill_climb(&mut self, param: Param, span: Span, from: i64) -> Result<(), Stopped> {
        let Some(cost) = self.value(param, from)? else {
            return Ok(());
        };
        let (mut best, mut at) = (cost, from);
        for step in [|x: i64| x.saturating_mul(2), |x: i64| x / 2] {
            let before = at;
            loop {
                let next = step(at);
                if !span.contains(next) {
                    break;
                }
                match self.value(param, next)? {
                    Some(cost) if cost < best => (best, at) = (cost, next),
                    Some(_) | None => break,
                }
            }
            if at != before {
                break;
            }
        }
        self.confirm(param, at)
    }

    /// Compares a value with the best setting by repeated runs, and takes it if it is faster with
    /// certainty.
    fn confirm(&mut self, param: Param, value: i64) -> Result<(), Stopped> {
        let setting = self.with(param, value);
        let Some(Some(mut new)) = self.known.get(&setting).cloned() else {
            return Ok(());
        };
        if self.cost(&new) > self.cost(self.best_first()) * (1.0 + SINGLE_RUN_ERROR) {
            return Ok(());
        }
        let mut old = self.best.clone();
        let mut runs = self.search.options.runs.max(MIN_RUNS);
        let better = loop {
            let mut more = false;
            for measured in [&mut new, &mut old] {
                more |= self.repeat(measured, runs)?;
            }
            let gain = self.cost(&old) - self.cost(&new);
            let uncertain = self.uncertain(&new, 1.0) + self.uncertain(&old, -1.0);
            let least = self.search.options.tolerance * self.cost(&old).abs();
            if gain.abs() > uncertain || uncertain < least || !more {
                break gain > uncertain.max(least);
            }
            runs *= 2;
            if runs > self.search.options.max_runs {
                break false;
            }
        };
        self.best = if better { new } else { old };
        Ok(())
    }

    /// The uncertainty of the cost in this direction.
    fn uncertain(&self, measured: &Measured, sign: f64) -> f64 {
        let ends = measured.statistics();
        let ends: Vec<f64> = ends.map(|one| one.mean + sign * one.margin).collect();
        let end = self.search.cost.of(&ends, self.search.default);
        (end - self.cost(measured)).abs()
    }

    /// Runs a setting until it has this number of run times for each data set; returns true if
    /// there are new ones.
    fn repeat(&mut self, measured: &mut Measured, runs: usize) -> Result<bool, Stopped> {
        let mut more = false;
        for (data, micros) in measured.micros.iter_mut().enumerate() {
            if micros.len() >= runs {
                continue;
            }
            let new_times = self.executor.repeat(data, &measured.setting, runs, true);
            let new_times = new_times.ok_or(Stopped)?;
            // A single run is not comparable with many runs in a row.
            if new_times.len() >= MIN_RUNS && micros.len() < MIN_RUNS {
                micros.clear();
            }
            more |= !new_times.is_empty();
            micros.extend(new_times);
        }
        Ok(more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of a parameter without a default.
    const UNSET: i64 = i64::MIN;
    const SIZES: Span = Span { min: 1, max: 1 << 24 };

    /// Times of two parameters: the first is best at 256, and its unset value counts as 16; the
    /// second has no influence; values above 2000 fail.
    struct Fake {
        runs: Vec<Setting>,
        left: usize,
    }

    fn time(setting: &[i64], data: usize) -> u64 {
        let first = if setting[0] == UNSET { 16 } else { setting[0] };
        let off = (first as f64).log2() - 8.0;
        (data as u64 + 1) * (1000.0 + 100.0 * off * off) as u64
    }

    impl Executor for Fake {
        fn run(&mut self, data: usize, setting: &[i64], _: Option<f64>) -> Option<Outcome> {
            self.left = self.left.checked_sub(1)?;
            self.runs.push(setting.to_vec());
            if setting.iter().any(|value| *value > 2000) {
                return Some(Outcome::CutOff(1e15));
            }
            Some(Outcome::Completed {
                micros: vec![time(setting, data)],
                comparisons: Vec::new(),
                used: Vec::new(),
            })
        }

        fn repeat(&mut self, data: usize, setting: &[i64], times: usize, _: bool) -> Option<Vec<u64>> {
            Some(vec![time(setting, data); times])
        }
    }

    fn found(left: usize) -> (SearchResult, Vec<Setting>) {
        found_from([UNSET, UNSET], [SIZES; 2], left)
    }

    fn found_from(defaults: [i64; 2], spans: [Span; 2], left: usize) -> (SearchResult, Vec<Setting>) {
        let (cost, options) =
            (Cost::Sum(vec![1.0; 2]), Options { joint: false, runs: 5, max_runs: 10, tolerance: 0.01 });
        let setting = defaults.to_vec();
        let micros = vec![vec![time(&setting, 0)], vec![time(&setting, 1)]];
        let default: Vec<f64> = micros.iter().map(|one| one[0] as f64).collect();
        let input = Search {
            params: &[(0, spans[0]), (1, spans[1])],
            defaults: &defaults,
            first: &micros,
            cost: &cost,
            default: &default,
            options: &options,
            earlier: None,
        };
        let mut executor = Fake { runs: Vec::new(), left };
        let micros = micros.clone();
        let found = search(&input, Measured { setting, micros }, &mut executor);
        (found, executor.runs)
    }

    #[test]
    fn best_value_is_found_and_irrelevant_parameters_stay_unset() {
        let (found, runs) = found(usize::MAX);
        assert!(found.complete);
        assert_eq!(found.best.setting, [256, UNSET]);
        // By hand: (1000 + 0) and twice that.
        assert_eq!(found.best.times(), [1000.0, 2000.0]);
        // A setting that costs more on one data set than the best on both would not run on the
        // other; none does here: 1 takes 7400 there, and the start takes 7800 on both. Failing
        // settings (4096) run on one data set only.
        let count = |value: i64| runs.iter().filter(|s| s[0] == value).count();
        assert_eq!((count(4096), count(64), count(512)), (1, 2, 2), "{runs:?}");
        assert!(runs.len() < 50, "{} runs", runs.len());
    }

    #[test]
    fn sizes_are_probed_around_their_defaults_and_kept_without_gain() {
        // The first is 16 by default, best at 256; the second has no influence.
        let (found, runs) = found_from([16, 100], [SIZES; 2], usize::MAX);
        assert!(found.complete);
        assert_eq!(found.best.setting, [256, 100]);
        let tried = |param: usize| -> Vec<i64> {
            let trials = found.tried.iter().filter(|tried| tried.param == param);
            trials.map(|tried| tried.value).collect()
        };
        // A sixteenth and sixteen times, then double and half of the faster one.
        assert_eq!(tried(0)[..4], [1, 256, 512, 128]);
        assert_eq!(tried(1), [6, 1600]);
        assert!(runs.iter().all(|setting| setting[1] <= 1600));
    }

    #[test]
    fn only_permitted_values_are_tried() {
        // Its optimum of 256 is not permitted.
        let span = Span { min: 8, max: 128 };
        let (found, runs) = found_from([32, 100], [span, SIZES], usize::MAX);
        assert_eq!(found.best.setting, [128, 100]);
        let tried = found.tried.iter().filter(|tried| tried.param == 0);
        assert_eq!(tried.map(|tried| tried.value).collect::<Vec<_>>(), [8, 128, 64]);
        assert!(runs.iter().all(|setting| span.contains(setting[0])));
    }

    #[test]
    fn stopped_search_returns_the_best_so_far() {
        let (found, runs) = found(20);
        assert!(!found.complete);
        assert_eq!(runs.len(), 20);
        assert_eq!(found.best.setting, [UNSET, UNSET]);
        let all = found.tried.iter().map(|tried| tried.value);
        assert_eq!(all.take(7).collect::<Vec<_>>(), PROBES);
    }
}
