//! Executes the calls of the search: processes, their times and their comparisons.
//!
//! The first call of a path logs comparisons, and its results are compared with those in the test
//! block, or, if a custom parameter differs from its default, with the results of the default.
//! Further calls do neither, because logging takes time. If the first call logged much, the time is
//! that of a second call.

use super::Tuning;
use super::executables::TblockExecutables;
use super::journal::Journal;
use super::program::{DataSet, Prepared};
use crate::executable::{CallOptions, NO_LIMIT, read_times};
use crate::setup::data_set_name;
use harness::process::End;
use harness::programs::{Outcome as CallOutcome, compare_outcome};
use harness::{Expected, compare_all};
use ir::tunable::UNSET;
use runtime::tuning_params::Assignment;
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tune::explore::{Comparison, Executor, Outcome};
use value::Value as ResultValue;

/// The time limit of all runs of a path that reduce the uncertainty of its time.
const PATH_REPEAT_LIMIT: Duration = Duration::from_secs(10);
/// The time limit of such runs of all paths of a data set: this fraction of the time of first
/// calls, or this duration, whichever is longer.
const REPEAT_BUDGET: (f64, Duration) = (0.25, Duration::from_secs(2));
/// The extra time limit of a process, for reading its input.
const STARTUP_ALLOWANCE: Duration = Duration::from_secs(10);
/// Paths that take longer have no warm-up run.
const NO_WARM_UP_ABOVE: Duration = Duration::from_millis(100);
/// The time to log a comparison with several threads, in microseconds, and the fraction of a run
/// that logging may take. Above it, the time is measured by a run without logging.
const LOG_OVERHEAD: (f64, f64) = (0.1, 0.02);
/// The number of comparisons whose logging takes negligible time.
const NEGLIGIBLE_COMPARISONS: u64 = 50;

/// Executes calls as processes.
pub struct ProcessRunner<'a> {
    tuning: &'a Tuning<'a>,
    folder: &'a Path,
    prepared: &'a Prepared,
    executables: TblockExecutables<'a>,
    /// Parameter indices by name.
    parameter_indices: FxHashMap<&'a str, usize>,
    /// The journal of calls.
    pub journal: Journal,
    began: Instant,
    /// The time of all runs of each path, by data set and setting, and their number.
    path_time: BTreeMap<(usize, Vec<i64>), (Duration, u32)>,
    /// The time of first calls and of repeated ones, by data set.
    data_set_time: Vec<(Duration, Duration)>,
    /// The default's results on each data set, computed on demand.
    results: Vec<Option<Vec<ResultValue>>>,
    /// The number of first calls and of repeated ones.
    pub calls: (usize, usize),
    /// The number of known alternatives left to try, while the search explores.
    alternatives_left: Option<usize>,
    /// The reason why the default fails or tuning cannot continue.
    pub failure: Option<String>,
}

impl<'a> ProcessRunner<'a> {
    /// Creates the state for a program; `began` is the start of the time budget.
    pub fn new(
        tuning: &'a Tuning<'a>,
        file: &'a Path,
        prepared: &'a Prepared,
        mut journal: Journal,
        began: Instant,
    ) -> Result<Self, String> {
        let inputs = prepared.data_sets.iter().map(|data| {
            // A hash that identifies the data set's input.
            let sum = data.input.iter().fold(0u64, |sum, byte| {
                sum.wrapping_mul(0x0100_0000_01b3).wrapping_add(u64::from(*byte) + 1)
            });
            format!("{} {sum:x}", data.entry)
        });
        let inputs: Vec<String> = inputs.collect();
        journal.begin(&format!("{} {inputs:?}", prepared.fingerprint))?;
        let names = prepared.parameters.iter().map(|(name, _)| name.as_str());
        let results = prepared.data_sets.iter().map(|_| None).collect();
        Ok(Self {
            tuning,
            folder: file.parent().unwrap_or(file),
            prepared,
            executables: TblockExecutables::new(tuning, file, prepared),
            parameter_indices: names.zip(0..).collect(),
            journal,
            began,
            path_time: BTreeMap::new(),
            data_set_time: vec![(Duration::ZERO, Duration::ZERO); prepared.data_sets.len()],
            results,
            calls: (0, 0),
            alternatives_left: None,
            failure: None,
        })
    }

    /// Returns true if no further runs are made: the budget is spent, a failure occurred, or the
    /// user interrupted.
    fn is_over(&self) -> bool {
        let is_spent = self.tuning.budget.is_some_and(|budget| self.began.elapsed() > budget);
        is_spent || self.failure.is_some() || self.tuning.stop.load(Ordering::Relaxed)
    }

    /// The parameters that differ from their defaults.
    fn changed_parameters(&self, setting: &[i64]) -> Vec<Assignment> {
        let pairs = self.prepared.parameters.iter().zip(setting);
        let changed = pairs.filter(|((_, default), value)| default != *value);
        changed.map(|((name, _), value)| Assignment::new(name.clone(), *value)).collect()
    }

    /// [`Self::changed_parameters`] as text, separated by spaces.
    fn setting_text(&self, setting: &[i64]) -> String {
        let changed = self.changed_parameters(setting).into_iter();
        let changed = changed.map(|one| format!("{}={}", one.name, one.value));
        changed.collect::<Vec<_>>().join(" ")
    }

    /// Runs a path `runs` times after a warm-up run, or once without warm-up if `runs` is `None`.
    fn call(
        &self,
        data: &DataSet,
        setting: &[i64],
        runs: Option<usize>,
        mode: CallMode<'_>,
        limit: Duration,
    ) -> Result<CallResult, CallError> {
        let fails = |why: String| CallError::Fails(why);
        let stop = &self.tuning.stop;
        let executable = self.executables.executable_for(setting);
        if stop.load(Ordering::Relaxed) {
            return Err(CallError::Interrupted);
        }
        let (executable, listed) = executable.map_err(fails)?;
        let times = self.tuning.work.join("times");
        let mut options = vec![format!("--write-runtime-to={}", times.display())];
        options.extend(runs.map(|runs| format!("-r{runs}")));
        if !matches!(mode, CallMode::No) {
            options.push("--log-versions".to_owned());
        }
        options.extend(self.tuning.setup.pass.iter().cloned());
        // Only parameters that this executable has are passed.
        options.extend(driver::tuning::options(listed, &self.changed_parameters(setting)).0);
        let compared = match mode {
            CallMode::No => false,
            CallMode::Results | CallMode::CompareWith(_) => true,
            CallMode::Yes => matches!(data.case.expected, Expected::Values(_)),
        };
        let call = CallOptions { options: &options, results: compared, limit };
        let mut finished = executable.run(&data.entry, &data.input, &call, stop).map_err(fails)?;
        if stop.load(Ordering::Relaxed) {
            return Err(CallError::Interrupted);
        }
        if finished.end == End::Timeout {
            return Err(CallError::Slow);
        }
        let (comparisons, count) = self.comparisons(&finished.stderr);
        let mut used = self.used_sizes(&finished.stderr);
        used.extend(self.prepared.block);
        finished.stderr = finished
            .stderr
            .lines()
            .filter(|line| !(line.starts_with("Compared ") || line.starts_with("Divided ")))
            .fold(String::new(), |text, line| text + line + "\n");
        let outcome = CallOutcome::of(finished, compared);
        let results = match (outcome, mode) {
            (CallOutcome::Values(values), CallMode::CompareWith(expected)) => {
                compare_all(expected, &values)
                    .map_err(|why| fails(format!("the results differ from those of the default: {why}")))?;
                values
            }
            (CallOutcome::Values(values), CallMode::No | CallMode::Results) => values,
            (CallOutcome::Opaque(_), CallMode::No | CallMode::Yes) => Vec::new(),
            (CallOutcome::Opaque(why), CallMode::Results | CallMode::CompareWith(_)) => {
                return Err(fails(why));
            }
            (outcome, _) => {
                compare_outcome(&data.case, &outcome, self.folder, || Ok(None)).map_err(fails)?;
                Vec::new()
            }
        };
        let micros = read_times(&times).map_err(fails)?;
        Ok(CallResult { micros, comparisons, used, count, results })
    }

    /// Returns true if the setting has values of custom parameters.
    fn has_custom_values(&self, setting: &[i64]) -> bool {
        let (defaults, free_params) = (&self.prepared.forest.defaults, &self.prepared.forest.free_params);
        free_params.keys().any(|param| defaults[*param] == UNSET && setting[*param] != UNSET)
    }

    /// Computes the default's results on a data set, unless they are known.
    fn know_results(&mut self, data: usize) -> Result<(), CallError> {
        if self.results[data].is_none() {
            let (set, setting) = (&self.prepared.data_sets[data], &self.prepared.forest.defaults);
            let limit = self.tuning.default_time_limit();
            let called = self.call(set, setting, None, CallMode::Results, limit)?;
            self.results[data] = Some(called.results);
        }
        Ok(())
    }

    /// The parameters that a log mentions as chunk sizes.
    fn used_sizes(&self, log: &str) -> Vec<usize> {
        let names = log.lines().filter_map(|line| {
            let (_, rest) = line.strip_prefix("Divided ")?.split_once(" iterations by ")?;
            rest.split_once(';').map(|(name, _)| name)
        });
        let used: BTreeSet<usize> =
            names.filter_map(|name| self.parameter_indices.get(name).copied()).collect();
        used.into_iter().collect()
    }

    /// The distinct comparisons in a log, and the total number of comparisons.
    fn comparisons(&self, log: &str) -> (Vec<Comparison>, u64) {
        let mut comparisons: Vec<Comparison> = Vec::new();
        let mut known: FxHashMap<(usize, i64), usize> = FxHashMap::default();
        let (mut number, mut more) = (0, 0);
        for line in log.lines() {
            let omitted = line.strip_prefix("There were ");
            let omitted = omitted.and_then(|line| line.strip_suffix(" more comparisons."));
            more += omitted.and_then(|count| count.parse().ok()).unwrap_or(0);
            let rest = line.strip_prefix("Compared ").and_then(|line| line.split_once(": "));
            let Some((name, size)) = rest.and_then(|(pair, _)| pair.rsplit_once(" <= ")) else {
                continue;
            };
            let (Some(param), Ok(size)) = (self.parameter_indices.get(name), size.parse()) else {
                continue;
            };
            let at = *known.entry((*param, size)).or_insert_with(|| {
                comparisons.push((*param, size, 0));
                comparisons.len() - 1
            });
            comparisons[at].2 += 1;
            number += 1;
        }
        if more > 0 {
            // The log was truncated, so the number of each comparison is unknown.
            comparisons.iter_mut().for_each(|known| known.2 = 1);
        }
        (comparisons, number + more)
    }

    /// Prints a call and its outcome if `--verbose` is set.
    fn report_call(&self, data: usize, setting: &[i64], outcome: &str) {
        if !self.tuning.verbose {
            return;
        }
        let mut values = self.setting_text(setting);
        if values.is_empty() {
            "defaults".clone_into(&mut values);
        }
        let entry = &self.prepared.data_sets[data].entry;
        let name = data_set_name(data, &self.prepared.data_sets[data].case);
        self.tuning.log.note(&format!("{entry}, {name}: {outcome}: {values}"));
    }

    fn show(&self, data: usize, setting: &[i64]) {
        let (number, values) = (self.prepared.data_sets.len(), self.setting_text(setting));
        let (first, repeated) = self.calls;
        let open = self.alternatives_left.map(|open| format!("{open} alternatives left, "));
        self.tuning.log.begin(&format!(
            "data set {} of {number}, {}{first} paths run, {repeated} repeated: {}",
            data + 1,
            open.unwrap_or_default(),
            values
        ));
    }

    /// Returns the outcome of a call, from the journal or from `make`, which also returns whether
    /// to record it. `None` if no further runs are made.
    fn replay_or_run(
        &mut self,
        call: &Value,
        make: impl FnOnce(&mut Self) -> Option<(Value, bool)>,
    ) -> Option<Value> {
        if let Some(known) = self.journal.replay(call) {
            return Some(known);
        }
        if self.is_over() {
            return None;
        }
        let (outcome, is_recorded) = make(self)?;
        if is_recorded && let Err(why) = self.journal.record(call, &outcome) {
            self.failure = Some(why);
            return None;
        }
        Some(outcome)
    }

    /// Makes the first call of a path.
    fn first_call(&mut self, data: usize, setting: &[i64], against: Option<f64>) -> Option<(Value, bool)> {
        self.show(data, setting);
        let factor = self.tuning.cut_off;
        let max_micros = against.map(|micros| micros * factor + 1e6);
        let warm_up = against.is_none_or(|micros| micros < NO_WARM_UP_ABOVE.as_micros() as f64);
        // A warm-up run and a measured one.
        let runs = 1 + u32::from(warm_up);
        let limit = max_micros.map_or(self.tuning.default_time_limit(), |micros| {
            let seconds = f64::from(runs) * micros / 1e6;
            STARTUP_ALLOWANCE + Duration::try_from_secs_f64(seconds).unwrap_or(NO_LIMIT)
        });
        if self.executables.needs_compilation(setting) {
            self.tuning.log.begin(&format!("compiling: {}", self.setting_text(setting)));
            // An error is reported by the call below.
            let _ = self.executables.executable_for(setting);
            self.show(data, setting);
        }
        let has_custom = self.has_custom_values(setting);
        let known = if has_custom { self.know_results(data) } else { Ok(()) };
        let begin = Instant::now();
        let called = known.and_then(|()| {
            let results = self.results[data].as_deref().filter(|_| has_custom);
            let mode = results.map_or(CallMode::Yes, CallMode::CompareWith);
            let set = &self.prepared.data_sets[data];
            self.call(set, setting, warm_up.then_some(1), mode, limit)
        });
        self.calls.0 += 1;
        let is_undisturbed = |called: &CallResult| {
            let least = called.micros.iter().min().map_or(0.0, |least| *least as f64);
            called.count as f64 * LOG_OVERHEAD.0 <= least.max(1.0) * LOG_OVERHEAD.1
        };
        let (called, begin) = match called {
            Ok(called) if called.count <= NEGLIGIBLE_COMPARISONS || is_undisturbed(&called) => {
                (Ok(called), begin)
            }
            Ok(called) => {
                let (set, begin) = (&self.prepared.data_sets[data], Instant::now());
                let quiet = self.call(set, setting, warm_up.then_some(1), CallMode::No, limit);
                self.calls.1 += 1;
                (
                    quiet.map(|quiet| CallResult {
                        comparisons: called.comparisons,
                        used: called.used,
                        ..quiet
                    }),
                    begin,
                )
            }
            Err(error) => (Err(error), begin),
        };
        let (value, text) = match called {
            Ok(CallResult { micros, comparisons, used, .. }) => {
                let took = begin.elapsed();
                self.data_set_time[data].0 += took;
                self.path_time.insert((data, setting.to_vec()), (took, runs));
                let text = format!("{} us", micros.first().copied().unwrap_or(0));
                (json!({ "micros": micros, "met": comparisons, "used": used }), text)
            }
            Err(CallError::Interrupted) => return None,
            Err(CallError::Slow) if against.is_none() => {
                let why = "it exceeds the time limit; see --timeout".to_owned();
                (json!({ "cut": f64::MAX }), why)
            }
            Err(CallError::Slow) => {
                let micros = max_micros.unwrap_or(f64::MAX);
                let text = format!("cut off after {} us", micros.round());
                (json!({ "cut": micros }), text)
            }
            Err(CallError::Fails(why)) => (json!({ "cut": FAILED_MICROS }), why),
        };
        self.report_call(data, setting, &text);
        // A failure of the default is not recorded, as it may succeed on the next attempt.
        let fails = against.is_none() && value.get("cut").is_some();
        if fails {
            self.failure = Some(text);
        }
        Some((value, !fails))
    }

    /// Repeats a path up to `times` times.
    fn repeat_call(
        &mut self,
        data: usize,
        setting: &[i64],
        times: usize,
        decisive: bool,
    ) -> Option<(Value, bool)> {
        self.show(data, setting);
        let key = (data, setting.to_vec());
        let (spent, before) = self.path_time.get(&key).copied().unwrap_or_default();
        let each = (spent / before.max(1)).max(Duration::from_micros(1));
        let (first, repeats) = self.data_set_time[data];
        let budget = first.mul_f64(REPEAT_BUDGET.0).max(REPEAT_BUDGET.1);
        let mut left = PATH_REPEAT_LIMIT.saturating_sub(spent);
        if !decisive {
            left = left.min(budget.saturating_sub(repeats));
        }
        let runs = (left.as_micros() / each.as_micros()).min(times as u128) as usize;
        let mut micros = Vec::new();
        if runs > 0 {
            let begin = Instant::now();
            let set = &self.prepared.data_sets[data];
            match self.call(set, setting, Some(runs), CallMode::No, NO_LIMIT) {
                Ok(called) => micros = called.micros,
                Err(CallError::Interrupted) => return None,
                // The first call succeeded, so its time is used.
                Err(CallError::Slow | CallError::Fails(_)) => {}
            }
            self.calls.1 += 1;
            let (time, number) = self.path_time.entry(key).or_default();
            let took = begin.elapsed();
            self.data_set_time[data].1 += took;
            *time += took;
            *number += u32::try_from(runs).unwrap_or(u32::MAX - 1) + 1;
            self.report_call(data, setting, &format!("{} runs", micros.len()));
        }
        Some((json!(micros), true))
    }
}

/// The time that a failing path counts as, in microseconds.
const FAILED_MICROS: f64 = 1e15;

/// The mode of a call: first or repeated, and the check of its results.
#[derive(Clone, Copy)]
enum CallMode<'v> {
    /// A repeated call; results are not read.
    No,
    /// A first call; results are compared with the test block.
    Yes,
    /// A call of the default that returns its results.
    Results,
    /// A first call; results are compared with these.
    CompareWith(&'v [ResultValue]),
}

/// The outcome of a successful call.
struct CallResult {
    micros: Vec<u64>,
    comparisons: Vec<Comparison>,
    /// The size parameters that were used.
    used: Vec<usize>,
    /// The number of comparisons, with repetitions.
    count: u64,
    /// The results, if they were read.
    results: Vec<ResultValue>,
}

/// The reason why a call has no outcome.
enum CallError {
    /// The user interrupted tuning.
    Interrupted,
    /// The call exceeded its time limit.
    Slow,
    /// The call failed, or its results are wrong.
    Fails(String),
}

/// Parses an outcome of the journal.
fn outcome(value: &Value) -> Option<Outcome> {
    if let Some(cut) = value["cut"].as_f64() {
        return Some(Outcome::CutOff(cut));
    }
    let comparisons = value["met"].as_array()?.iter().map(|one| {
        let (param, size) = (one[0].as_u64()?, one[1].as_i64()?);
        Some((param as usize, size, one[2].as_u64()?))
    });
    let micros = numbers(&value["micros"])?;
    Some(Outcome::Completed {
        micros: if micros.is_empty() { vec![0] } else { micros },
        comparisons: comparisons.collect::<Option<Vec<Comparison>>>()?,
        used: numbers(&value["used"])?.into_iter().map(|param| param as usize).collect(),
    })
}

fn numbers(value: &Value) -> Option<Vec<u64>> {
    value.as_array()?.iter().map(Value::as_u64).collect()
}

impl Executor for ProcessRunner<'_> {
    fn run(&mut self, data: usize, setting: &[i64], against: Option<f64>) -> Option<Outcome> {
        let call = json!([data, setting, "first"]);
        let value = self.replay_or_run(&call, |runner| runner.first_call(data, setting, against));
        self.alternatives_left = None;
        outcome(&value?)
    }

    fn report_open(&mut self, parts: usize) {
        self.alternatives_left = Some(parts);
    }

    fn repeat(&mut self, data: usize, setting: &[i64], times: usize, decisive: bool) -> Option<Vec<u64>> {
        let call = json!([data, setting, times]);
        let value = self.replay_or_run(&call, |runner| runner.repeat_call(data, setting, times, decisive))?;
        numbers(&value)
    }
}
