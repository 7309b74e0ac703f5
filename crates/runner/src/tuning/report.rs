//! The result of tuning: as text, and as JSON for `--json` and `explain --tuning`.

use super::program::Prepared;
use driver::tuning::RECORD_VERSION;
use ir::tunable::UNSET;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tune::cost::Cost;
use tune::explore::{Difference, Run};
use tune::region::{Region, Span};
use tune::tuner::Tuned;

/// The result of tuning a program.
pub struct TuningReport<'a> {
    /// The program.
    pub file: &'a Path,
    /// The names of the data sets.
    pub names: &'a [String],
    /// The program as it was run.
    pub prepared: &'a Prepared,
    /// The search's result.
    pub tuned: &'a Tuned,
    /// The cost function.
    pub cost: &'a Cost,
    /// The cost function as the user wrote it.
    pub cost_name: &'a str,
    /// The value of `--backend`.
    pub backend: &'a str,
    /// The number of first calls of paths, and of repeated ones.
    pub calls: (usize, usize),
    /// The duration of tuning.
    pub seconds: f64,
}

/// The note on a journal that can be resumed.
pub fn resume(journal: Option<&str>) -> String {
    journal.map_or_else(String::new, |journal| format!("; --resume continues from {journal}"))
}

impl TuningReport<'_> {
    /// Returns the values of all parameters that some data set compared, and of size and custom
    /// parameters that differ from their defaults.
    pub fn settings(&self) -> BTreeMap<String, i64> {
        let runs = self.tuned.explored.iter().flat_map(|found| &found.runs);
        let mut is_written = vec![false; self.prepared.parameters.len()];
        for (param, ..) in runs.flat_map(|run| &run.comparisons) {
            is_written[*param] = true;
        }
        for param in self.prepared.forest.free_params.keys() {
            is_written[*param] = !self.is_default(*param);
        }
        let named = self.prepared.parameters.iter().zip(&self.tuned.setting);
        let written = named.zip(is_written).filter(|(_, is_written)| *is_written);
        written.map(|(((name, _), value), _)| (name.clone(), *value)).collect()
    }

    /// Returns true if a parameter has its default.
    fn is_default(&self, param: usize) -> bool {
        self.tuned.setting[param] == self.prepared.forest.defaults[param]
    }

    /// Size and custom parameters whose default is best.
    pub fn removed_parameters(&self) -> BTreeSet<String> {
        let free_params = self.prepared.forest.free_params.keys();
        let removed = free_params.filter(|param| self.is_default(**param));
        // After an incomplete search, an earlier value may be better.
        let removed = removed.filter(|_| self.tuned.complete);
        removed.map(|param| self.name(*param).to_owned()).collect()
    }

    fn costs(&self) -> (f64, f64) {
        let Tuned { default, times, .. } = self.tuned;
        (self.cost.of(default, default), self.cost.of(times, default))
    }

    /// The report.
    pub fn text(&self, written: &str, journal: Option<&str>) -> String {
        let mut out = String::new();
        let mut put = |line: String| out.extend([&*line, "\n"]);
        put(self.file.display().to_string());
        let width = self.names.iter().map(|name| name.chars().count()).max();
        let width = width.unwrap_or(0);
        let Tuned { default, times, .. } = self.tuned;
        for ((name, before), after) in self.names.iter().zip(default).zip(times) {
            // The clock's resolution is 1 us.
            let ratio = before.max(1.0) / after.max(1.0);
            put(format!("  {name:width$}  {before:>12.0} us -> {after:>12.0} us  {ratio:>6.2}x"));
        }
        let (before, after) = self.costs();
        let (first, repeated) = self.calls;
        put(format!(
            "  cost `{}`: {before:.6} -> {after:.6}; {first} paths run, {repeated} repeated, {:.1} s",
            self.cost_name, self.seconds
        ));
        for (name, value) in self.settings() {
            put(format!("  {name}={value}"));
        }
        if self.tuned.complete {
            put(format!("  written to {written}"));
        } else {
            put(format!(
                "  tuning is incomplete; the best values so far are written to {written}{}",
                resume(journal)
            ));
        }
        out
    }

    fn name(&self, param: usize) -> &str {
        let known = self.prepared.parameters.get(param);
        known.map_or("", |(name, _)| name.as_str())
    }

    /// The whole result as JSON.
    pub fn json(&self) -> Value {
        let defaults = self.prepared.parameters.iter();
        let defaults: Map<String, Value> =
            defaults.map(|(name, value)| (name.clone(), json!((*value != UNSET).then_some(value)))).collect();
        let tried = self.tuned.tried.iter().map(|tried| {
            json!({
                "parameter": self.name(tried.param),
                "value": tried.value,
                "cost": tried.cost,
            })
        });
        let (before, after) = self.costs();
        let mut sets = Map::new();
        for (at, name) in self.names.iter().enumerate() {
            let found = &self.tuned.explored[at];
            let runs: Vec<Value> = found.runs.iter().map(|run| self.run(run)).collect();
            let differences = found.differences.iter();
            let differences: Vec<Value> = differences.map(|one| self.difference(one, &found.runs)).collect();
            sets.insert(
                name.clone(),
                json!({
                    "number": at,
                    "entry": self.prepared.data_sets[at].entry,
                    "default": self.tuned.default[at],
                    "tuned": self.tuned.times[at],
                    "runs": runs,
                    "differences": differences,
                    "rivals": found.alternatives,
                }),
            );
        }
        json!({
            "version": RECORD_VERSION,
            "backend": self.backend,
            "cost": self.cost_name,
            "before": before,
            "after": after,
            "complete": self.tuned.complete,
            "paths": self.calls.0,
            "repeated": self.calls.1,
            "seconds": self.seconds,
            "defaults": defaults,
            "setting": self.settings(),
            "tried": tried.collect::<Vec<Value>>(),
            "datasets": sets,
        })
    }

    fn run(&self, run: &Run) -> Value {
        let values = self.prepared.parameters.iter().zip(&run.setting);
        let changed = values.filter(|((_, default), value)| default != *value);
        let changed: Map<String, Value> =
            changed.map(|((name, _), value)| (name.clone(), json!(value))).collect();
        let comparisons = run.comparisons.iter().map(|(param, size, times)| {
            json!({
                "parameter": self.name(*param),
                "size": size,
                "holds": run.setting[*param] <= *size,
                "times": times,
            })
        });
        json!({
            "setting": changed,
            "runtimes": run.micros,
            "cut": run.cut_off,
            "compared": comparisons.collect::<Vec<Value>>(),
        })
    }

    /// The time of a path minus that of the path that it was compared with.
    fn difference(&self, one: &Difference, runs: &[Run]) -> Value {
        json!({
            "where": self.region(&one.region),
            "run": one.run,
            "against": one.against,
            "micros": runs[one.run].time() - runs[one.against].time(),
        })
    }

    fn region(&self, region: &Region) -> Value {
        let spans = region.spans().iter().map(|(param, span)| {
            let Span { min, max } = *span;
            let span = json!({
                "least": (min > i64::MIN).then_some(min),
                "most": (max < i64::MAX).then_some(max),
            });
            (self.name(*param).to_owned(), span)
        });
        Value::Object(spans.collect())
    }
}
