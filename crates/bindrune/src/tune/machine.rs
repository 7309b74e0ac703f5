//! Runs of an executable for the search: processes, their times and what they compare.
//!
//! A path's first call logs comparisons, and its results are held against the test block, or,
//! where parameters differ that the program gives a meaning, against those of the default.
//! Further calls do neither, as what is logged takes time; where much of it is, the time is
//! that of a second call.

use super::Tuning;
use super::blocks::Blocks;
use super::journal::Journal;
use super::program::{DataSet, Prepared};
use crate::backend::{Call, FOREVER};
use crate::progress::Progress;
use harness::process::End;
use harness::programs::{Outcome as Came, judge};
use harness::{Expected, compare_all};
use ir::tunable::NOT_GIVEN;
use runtime::tuning::Assignment;
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tune::explore::{Machine, Met, Outcome};
use value::Value as Datum;

/// How long all runs of a path may take that are made to be certain of its time.
const PATIENCE: Duration = Duration::from_secs(10);
/// Those of all paths of a data set together may take this part of what first calls took, or
/// so long.
const REPEATS: (f64, Duration) = (0.25, Duration::from_secs(2));
/// A process may take so much longer than its runs, to begin with: it has to read its input.
const START: Duration = Duration::from_secs(10);
/// Paths that take longer are not run to warm up before they are run.
const LONG: Duration = Duration::from_millis(100);
/// Microseconds that it takes to log a comparison where threads do so at once, and the part of
/// a run that this may take; else a run that logs nothing tells the time.
const LOGGED: (f64, f64) = (0.1, 0.02);
/// So few comparisons take no time.
const FEW: u64 = 50;

/// Runs processes.
pub struct Processes<'a> {
    tuning: &'a Tuning<'a>,
    folder: &'a Path,
    prepared: &'a Prepared,
    blocks: Blocks<'a>,
    /// Numbers of parameters by their names.
    places: FxHashMap<&'a str, usize>,
    /// What was run before.
    pub journal: Journal,
    progress: &'a Progress,
    began: Instant,
    /// How long the runs of each path took, by data set and setting, and how many there were.
    spent: BTreeMap<(usize, Vec<i64>), (Duration, u32)>,
    /// How long first calls took, and calls that repeat one, by data set.
    took: Vec<(Duration, Duration)>,
    /// The default's results on each data set, once they are needed.
    results: Vec<Option<Vec<Datum>>>,
    /// How many processes there were, and how many of them to be certain of a time.
    pub calls: (usize, usize),
    /// How much is known to be left to try, while the search tries something new.
    open: Option<usize>,
    /// Why the default fails, or nothing more can be run.
    pub failure: Option<String>,
}

impl<'a> Processes<'a> {
    /// For a program; `began` is when its time began to run.
    pub fn new(
        tuning: &'a Tuning<'a>,
        file: &'a Path,
        prepared: &'a Prepared,
        mut journal: Journal,
        progress: &'a Progress,
        began: Instant,
    ) -> Result<Self, String> {
        let inputs = prepared.data_sets.iter().map(|data| {
            // Enough to tell whether a data set is still the same.
            let sum = data.input.iter().fold(0u64, |sum, byte| {
                sum.wrapping_mul(0x0100_0000_01b3).wrapping_add(u64::from(*byte) + 1)
            });
            format!("{} {sum:x}", data.entry)
        });
        let inputs: Vec<String> = inputs.collect();
        journal.begin(&format!("{} {inputs:?}", prepared.mark))?;
        let names = prepared.parameters.iter().map(|(name, _)| name.as_str());
        let results = prepared.data_sets.iter().map(|_| None).collect();
        Ok(Self {
            tuning,
            folder: file.parent().unwrap_or(file),
            prepared,
            blocks: Blocks::new(tuning, file, prepared),
            places: names.zip(0..).collect(),
            journal,
            progress,
            began,
            spent: BTreeMap::new(),
            took: vec![(Duration::ZERO, Duration::ZERO); prepared.data_sets.len()],
            results,
            calls: (0, 0),
            open: None,
            failure: None,
        })
    }

    /// Whether no further runs are wanted.
    fn is_over(&self) -> bool {
        let budget = self.tuning.args.budget.map(Duration::from_secs);
        let late = budget.is_some_and(|budget| self.began.elapsed() > budget);
        late || self.failure.is_some() || self.tuning.stop.load(Ordering::Relaxed)
    }

    /// The parameters that are not at their defaults.
    fn moved(&self, setting: &[i64]) -> Vec<Assignment> {
        let pairs = self.prepared.parameters.iter().zip(setting);
        let moved = pairs.filter(|((_, default), value)| default != *value);
        let assignment = |((name, _), value): (&(String, i64), &i64)| Assignment {
            name: name.clone(),
            value: *value,
            place: String::new(),
        };
        moved.map(assignment).collect()
    }

    /// The same as they are written, with spaces between.
    fn written(&self, setting: &[i64]) -> String {
        let moved = self.moved(setting).into_iter();
        let moved = moved.map(|one| format!("{}={}", one.name, one.value));
        moved.collect::<Vec<_>>().join(" ")
    }

    /// Runs so many times, or once without a run before to warm up.
    fn call(
        &self,
        data: &DataSet,
        setting: &[i64],
        runs: Option<usize>,
        first: First<'_>,
        limit: Duration,
    ) -> Result<Called, Trouble> {
        let broken = |why: String| Trouble::Fails(why);
        let stop = &self.tuning.stop;
        let made = self.blocks.of(setting);
        if stop.load(Ordering::Relaxed) {
            return Err(Trouble::Over);
        }
        let (executable, listed) = made.map_err(broken)?;
        let times = self.tuning.work.path().join("times");
        let mut options = vec![format!("--write-runtime-to={}", times.display())];
        options.extend(runs.map(|runs| format!("-r{runs}")));
        if !matches!(first, First::No) {
            options.push("--log-versions".to_owned());
        }
        options.extend(self.tuning.args.pass_option.iter().cloned());
        // What an executable does not have, it does not ask about.
        options.extend(crate::tuning::options(listed, &self.moved(setting)).0);
        let compared = match first {
            First::No => false,
            First::Results | First::Against(_) => true,
            First::Yes => matches!(data.case.expected, Expected::Values(_)),
        };
        let call = Call { options: &options, results: compared, limit };
        let mut finished = executable.finish(&data.entry, &data.input, &call, stop).map_err(broken)?;
        if stop.load(Ordering::Relaxed) {
            return Err(Trouble::Over);
        }
        if finished.end == End::Timeout {
            return Err(Trouble::Slow);
        }
        let (met, comparisons) = self.met(&finished.stderr);
        let mut used = self.used(&finished.stderr);
        used.extend(self.prepared.block);
        finished.stderr = finished
            .stderr
            .lines()
            .filter(|line| !(line.starts_with("Compared ") || line.starts_with("Divided ")))
            .fold(String::new(), |text, line| text + line + "\n");
        let came = Came::of(finished, compared);
        let results = match (came, first) {
            (Came::Values(values), First::Against(expected)) => {
                compare_all(expected, &values)
                    .map_err(|why| broken(format!("the results are not those of the default: {why}")))?;
                values
            }
            (Came::Values(values), First::No | First::Results) => values,
            (Came::Opaque(_), First::No | First::Yes) => Vec::new(),
            (Came::Opaque(why), First::Results | First::Against(_)) => return Err(broken(why)),
            (came, _) => {
                judge(&data.case, &came, self.folder, || Ok(None)).map_err(broken)?;
                Vec::new()
            }
        };
        let text = std::fs::read_to_string(&times).map_err(|e| broken(e.to_string()))?;
        let micros: Result<Vec<u64>, _> = text.lines().map(|line| line.trim().parse()).collect();
        let micros = micros.map_err(|_| broken("run times that are no numbers".to_owned()))?;
        Ok(Called { micros, met, used, compared: comparisons, results })
    }

    /// Whether a setting has values that the program gives a meaning.
    fn has_own(&self, setting: &[i64]) -> bool {
        let (defaults, others) = (&self.prepared.forest.defaults, &self.prepared.forest.others);
        others.keys().any(|param| defaults[*param] == NOT_GIVEN && setting[*param] != NOT_GIVEN)
    }

    /// Sees to it that the default's results on a data set are known.
    fn know_results(&mut self, data: usize) -> Result<(), Trouble> {
        if self.results[data].is_none() {
            let (set, setting) = (&self.prepared.data_sets[data], &self.prepared.forest.defaults);
            let limit = self.tuning.patience();
            let called = self.call(set, setting, None, First::Results, limit)?;
            self.results[data] = Some(called.results);
        }
        Ok(())
    }

    /// The parameters that a log tells of as dividing points.
    fn used(&self, log: &str) -> Vec<usize> {
        let names = log.lines().filter_map(|line| {
            let (_, rest) = line.strip_prefix("Divided ")?.split_once(" points by ")?;
            rest.split_once(';').map(|(name, _)| name)
        });
        let used: BTreeSet<usize> = names.filter_map(|name| self.places.get(name).copied()).collect();
        used.into_iter().collect()
    }

    /// The comparisons that a log tells of, and how many there were.
    fn met(&self, log: &str) -> (Vec<Met>, u64) {
        let mut met: Vec<Met> = Vec::new();
        let mut known: FxHashMap<(usize, i64), usize> = FxHashMap::default();
        let (mut number, mut more) = (0, 0);
        for line in log.lines() {
            let left = line.strip_prefix("There were ");
            let left = left.and_then(|line| line.strip_suffix(" more comparisons."));
            more += left.and_then(|left| left.parse().ok()).unwrap_or(0);
            let rest = line.strip_prefix("Compared ").and_then(|line| line.split_once(": "));
            let Some((name, size)) = rest.and_then(|(pair, _)| pair.rsplit_once(" <= ")) else {
                continue;
            };
            let (Some(param), Ok(size)) = (self.places.get(name), size.parse()) else {
                continue;
            };
            let at = *known.entry((*param, size)).or_insert_with(|| {
                met.push((*param, size, 0));
                met.len() - 1
            });
            met[at].2 += 1;
            number += 1;
        }
        if more > 0 {
            // How many of each there were, nobody knows.
            met.iter_mut().for_each(|known| known.2 = 1);
        }
        (met, number + more)
    }

    /// What is shown of a call.
    fn told(&self, data: usize, setting: &[i64], what: &str) {
        if self.tuning.args.verbose == 0 {
            return;
        }
        let mut moved = self.written(setting);
        if moved.is_empty() {
            "defaults".clone_into(&mut moved);
        }
        let entry = &self.prepared.data_sets[data].entry;
        let name = crate::bench::dataset(data, &self.prepared.data_sets[data].case);
        let line = format!("{entry}, {name}: {what}: {moved}");
        self.progress.pause(|| crate::common::say(&line));
    }

    fn show(&self, data: usize, setting: &[i64]) {
        let (number, moved) = (self.prepared.data_sets.len(), self.written(setting));
        let (first, again) = self.calls;
        let open = self.open.map(|open| format!("{open} to try here, "));
        self.progress.begin(&format!(
            "data set {} of {number}, {}{first} paths run, {again} repeated: {}",
            data + 1,
            open.unwrap_or_default(),
            moved
        ));
    }

    /// The outcome of a call: what the journal has, or what `make` gives, which is noted if
    /// it says so. Nothing if no further runs are wanted.
    fn ask(&mut self, call: &Value, make: impl FnOnce(&mut Self) -> Option<(Value, bool)>) -> Option<Value> {
        if let Some(known) = self.journal.known(call) {
            return Some(known);
        }
        if self.is_over() {
            return None;
        }
        let (outcome, noted) = make(self)?;
        if noted && let Err(why) = self.journal.note(call, &outcome) {
            self.failure = Some(why);
            return None;
        }
        Some(outcome)
    }

    /// The first call of a path.
    fn first(&mut self, data: usize, setting: &[i64], against: Option<f64>) -> Option<(Value, bool)> {
        self.show(data, setting);
        let factor = self.tuning.args.cut_off;
        let most = against.map(|micros| micros * factor + 1e6);
        let warm = against.is_none_or(|micros| micros < LONG.as_micros() as f64);
        // A run that warms up, and one that counts.
        let runs = 1 + u32::from(warm);
        let limit = most.map_or(self.tuning.patience(), |most| {
            let most = f64::from(runs) * most / 1e6;
            START + Duration::try_from_secs_f64(most).unwrap_or(FOREVER)
        });
        if self.blocks.is_open(setting) {
            self.progress.begin(&format!("compiling: {}", self.written(setting)));
            // What becomes of it, the call says.
            let _ = self.blocks.of(setting);
            self.show(data, setting);
        }
        let own = self.has_own(setting);
        let known = if own { self.know_results(data) } else { Ok(()) };
        let begin = Instant::now();
        let called = known.and_then(|()| {
            let results = self.results[data].as_deref().filter(|_| own);
            let first = results.map_or(First::Yes, First::Against);
            let set = &self.prepared.data_sets[data];
            self.call(set, setting, warm.then_some(1), first, limit)
        });
        self.calls.0 += 1;
        let is_right = |called: &Called| {
            let least = called.micros.iter().min().map_or(0.0, |least| *least as f64);
            called.compared as f64 * LOGGED.0 <= least.max(1.0) * LOGGED.1
        };
        let (called, begin) = match called {
            Ok(called) if called.compared <= FEW || is_right(&called) => (Ok(called), begin),
            Ok(called) => {
                let (set, begin) = (&self.prepared.data_sets[data], Instant::now());
                let quiet = self.call(set, setting, warm.then_some(1), First::No, limit);
                self.calls.1 += 1;
                (quiet.map(|quiet| Called { met: called.met, used: called.used, ..quiet }), begin)
            }
            Err(trouble) => (Err(trouble), begin),
        };
        let (value, said) = match called {
            Ok(Called { micros, met, used, .. }) => {
                let took = begin.elapsed();
                self.took[data].0 += took;
                self.spent.insert((data, setting.to_vec()), (took, runs));
                let said = format!("{} us", micros.first().copied().unwrap_or(0));
                (json!({ "micros": micros, "met": met, "used": used }), said)
            }
            Err(Trouble::Over) => return None,
            Err(Trouble::Slow) if against.is_none() => {
                let why = "it does not end in time; see --timeout".to_owned();
                (json!({ "cut": f64::MAX }), why)
            }
            Err(Trouble::Slow) => {
                let most = most.unwrap_or(f64::MAX);
                let said = format!("cut off after {} us", most.round());
                (json!({ "cut": most }), said)
            }
            Err(Trouble::Fails(why)) => (json!({ "cut": FAILED }), why),
        };
        self.told(data, setting, &said);
        // A default that fails may come to its end another time.
        let fails = against.is_none() && value.get("cut").is_some();
        if fails {
            self.failure = Some(said);
        }
        Some((value, !fails))
    }

    /// A path again, so many times.
    fn repeat(
        &mut self,
        data: usize,
        setting: &[i64],
        times: usize,
        decisive: bool,
    ) -> Option<(Value, bool)> {
        self.show(data, setting);
        let key = (data, setting.to_vec());
        let (spent, before) = self.spent.get(&key).copied().unwrap_or_default();
        let each = (spent / before.max(1)).max(Duration::from_micros(1));
        let (first, repeats) = self.took[data];
        let all = first.mul_f64(REPEATS.0).max(REPEATS.1);
        let mut left = PATIENCE.saturating_sub(spent);
        if !decisive {
            left = left.min(all.saturating_sub(repeats));
        }
        let runs = (left.as_micros() / each.as_micros()).min(times as u128) as usize;
        let mut micros = Vec::new();
        if runs > 0 {
            let begin = Instant::now();
            let set = &self.prepared.data_sets[data];
            match self.call(set, setting, Some(runs), First::No, FOREVER) {
                Ok(called) => micros = called.micros,
                Err(Trouble::Over) => return None,
                // It ran before: what is known has to do.
                Err(Trouble::Slow | Trouble::Fails(_)) => {}
            }
            self.calls.1 += 1;
            let (time, number) = self.spent.entry(key).or_default();
            let took = begin.elapsed();
            self.took[data].1 += took;
            *time += took;
            *number += u32::try_from(runs).unwrap_or(u32::MAX - 1) + 1;
            self.told(data, setting, &format!("{} runs", micros.len()));
        }
        Some((json!(micros), true))
    }
}

/// What is counted in place of a time where a path fails, in microseconds.
const FAILED: f64 = 1e15;

/// Whether a call is a path's first, and what its results are held against.
#[derive(Clone, Copy)]
enum First<'v> {
    /// It is not.
    No,
    /// Its results are held against the test block.
    Yes,
    /// Its results are wanted.
    Results,
    /// They are held against these.
    Against(&'v [Datum]),
}

/// What a call gives.
struct Called {
    micros: Vec<u64>,
    met: Vec<Met>,
    /// The parameters that points were divided by.
    used: Vec<usize>,
    /// How many comparisons there were.
    compared: u64,
    /// If they were wanted.
    results: Vec<Datum>,
}

/// Why a call has no result.
enum Trouble {
    /// The user wants an end.
    Over,
    /// It takes too long.
    Slow,
    /// It fails, or its results are wrong.
    Fails(String),
}

/// An outcome as the journal has it.
fn outcome(value: &Value) -> Option<Outcome> {
    if let Some(cut) = value["cut"].as_f64() {
        return Some(Outcome::Cut(cut));
    }
    let met = value["met"].as_array()?.iter().map(|one| {
        let (param, size) = (one[0].as_u64()?, one[1].as_i64()?);
        Some((param as usize, size, one[2].as_u64()?))
    });
    let micros = numbers(&value["micros"])?;
    Some(Outcome::Ran {
        micros: if micros.is_empty() { vec![0] } else { micros },
        met: met.collect::<Option<Vec<Met>>>()?,
        used: numbers(&value["used"])?.into_iter().map(|param| param as usize).collect(),
    })
}

fn numbers(value: &Value) -> Option<Vec<u64>> {
    value.as_array()?.iter().map(Value::as_u64).collect()
}

impl Machine for Processes<'_> {
    fn run(&mut self, data: usize, setting: &[i64], against: Option<f64>) -> Option<Outcome> {
        let call = json!([data, setting, "first"]);
        let value = self.ask(&call, |own| own.first(data, setting, against));
        self.open = None;
        outcome(&value?)
    }

    fn open(&mut self, parts: usize) {
        self.open = Some(parts);
    }

    fn again(&mut self, data: usize, setting: &[i64], times: usize, decisive: bool) -> Option<Vec<u64>> {
        let call = json!([data, setting, times]);
        let value = self.ask(&call, |own| own.repeat(data, setting, times, decisive))?;
        numbers(&value)
    }
}
