//! The measurements of a tuning run, as `bindrune tune` leaves them beside a tuning file.

use driver::tuning::RECORD_VERSION;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The record of a tuning run.
pub struct Record {
    /// The value of `--backend`; older records have none.
    pub backend: Option<String>,
    /// The cost function.
    pub cost: String,
    /// The cost with the default values.
    pub default_cost: f64,
    /// The cost with the tuned values.
    pub tuned_cost: f64,
    /// True if tuning was not interrupted.
    pub complete: bool,
    /// The parameters; custom ones have no default.
    pub defaults: BTreeMap<String, Option<i64>>,
    /// The data sets.
    pub sets: Vec<DataSet>,
    /// Trial values of parameters that choose no version, and their cost if known.
    pub tried: Vec<(String, i64, Option<f64>)>,
}

/// The runs on a data set.
pub struct DataSet {
    /// Its name.
    pub name: String,
    /// Its entry point.
    pub entry: String,
    /// The time with the default values, in microseconds.
    pub default: f64,
    /// The time with the tuned values, in microseconds.
    pub tuned: f64,
    /// The runs; that with the default values is first.
    pub runs: Vec<Run>,
    /// Groups of runs that differ only in one nest, or in several nests explored together.
    pub alternatives: Vec<Vec<usize>>,
}

/// A run of a path.
pub struct Run {
    /// The values that differ from the defaults.
    setting: BTreeMap<String, i64>,
    /// The mean time in microseconds; `None` if the run timed out or failed.
    pub micros: Option<f64>,
    /// The sizes that were compared, by parameter.
    pub comparisons: Sizes,
}

/// Sizes by parameter.
pub type Sizes = BTreeMap<String, BTreeSet<i64>>;

impl Record {
    /// Reads a record from text; `name` is its file.
    ///
    /// # Errors
    /// The text is not a valid record.
    pub fn parse(text: &str, name: &str) -> Result<Self, String> {
        let damaged = || format!("{name} is not a tuning record, or is damaged; `bindrune tune` writes one");
        let value: Value = serde_json::from_str(text).map_err(|_| damaged())?;
        if value["version"].as_u64().is_some_and(|v| v != u64::from(RECORD_VERSION)) {
            return Err(format!("{name} was written by another version of bindrune; tune again"));
        }
        Self::of(&value).ok_or_else(damaged)
    }

    fn of(value: &Value) -> Option<Self> {
        let defaults = value["defaults"].as_object()?.iter();
        let mut sets = Vec::new();
        for (name, set) in value["datasets"].as_object()? {
            let runs = set["runs"].as_array()?.iter().map(Run::of);
            let runs: Vec<Run> = runs.collect::<Option<_>>()?;
            let alternatives = set["rivals"].as_array()?.iter().map(|group| {
                let group = group.as_array()?.iter();
                let indices = group.map(|index| Some(index.as_u64()? as usize));
                let indices: Vec<usize> = indices.collect::<Option<_>>()?;
                indices.iter().all(|index| *index < runs.len()).then_some(indices)
            });
            let alternatives = alternatives.collect::<Option<_>>()?;
            let data_set = DataSet {
                name: name.clone(),
                entry: set["entry"].as_str()?.to_owned(),
                default: set["default"].as_f64()?,
                tuned: set["tuned"].as_f64()?,
                alternatives,
                runs,
            };
            sets.push((set["number"].as_u64()?, data_set));
        }
        sets.sort_by_key(|(number, _)| *number);
        let tried = value["tried"].as_array()?.iter().map(|one| {
            let parameter = one["parameter"].as_str()?.to_owned();
            Some((parameter, one["value"].as_i64()?, one["cost"].as_f64()))
        });
        Some(Self {
            backend: value["backend"].as_str().map(str::to_owned),
            cost: value["cost"].as_str()?.to_owned(),
            default_cost: value["before"].as_f64()?,
            tuned_cost: value["after"].as_f64()?,
            complete: value["complete"].as_bool()?,
            defaults: defaults.map(|(k, v)| (k.clone(), v.as_i64())).collect(),
            sets: sets.into_iter().map(|(_, set)| set).collect(),
            tried: tried.collect::<Option<_>>()?,
        })
    }

    /// A parameter's default, if it is known and has one.
    pub fn default(&self, name: &str) -> Option<i64> {
        self.defaults.get(name).copied().flatten()
    }

    /// The names of custom parameters.
    pub fn custom(&self) -> impl Iterator<Item = &String> {
        self.defaults.iter().filter(|(_, default)| default.is_none()).map(|(name, _)| name)
    }

    /// The trial values of a parameter.
    pub fn trials(&self, name: &str) -> impl Iterator<Item = &(String, i64, Option<f64>)> {
        self.tried.iter().filter(move |(other, ..)| *other == *name)
    }
}

impl Run {
    fn of(value: &Value) -> Option<Self> {
        let setting = value["setting"].as_object()?.iter();
        let setting = setting.map(|(name, value)| Some((name.clone(), value.as_i64()?)));
        let times = value["runtimes"].as_array()?.iter().map(Value::as_f64);
        let times: Vec<f64> = times.collect::<Option<_>>()?;
        let mut comparisons = Sizes::new();
        for one in value["compared"].as_array()? {
            let sizes = comparisons.entry(one["parameter"].as_str()?.to_owned());
            sizes.or_default().insert(one["size"].as_i64()?);
        }
        let is_complete = value["cut"].is_null() && !times.is_empty();
        Some(Self {
            setting: setting.collect::<Option<_>>()?,
            micros: is_complete.then(|| times.iter().sum::<f64>() / times.len() as f64),
            comparisons,
        })
    }

    /// The value of a parameter in this run; `i64::MAX` if it is unknown.
    pub fn value(&self, name: &str, record: &Record) -> i64 {
        let value = self.setting.get(name).copied();
        value.or_else(|| record.default(name)).unwrap_or(i64::MAX)
    }
}

impl DataSet {
    /// Returns a completed run whose comparisons all have the outcomes that these values give.
    pub fn run(&self, record: &Record, value: &dyn Fn(&str) -> i64) -> Option<&Run> {
        self.runs.iter().find(|run| {
            let mut comparisons = run.comparisons.iter();
            let same_outcomes = comparisons.all(|(name, sizes)| {
                let (threshold, other) = (run.value(name, record), value(name));
                sizes.iter().all(|size| (threshold <= *size) == (other <= *size))
            });
            run.micros.is_some() && same_outcomes
        })
    }

    /// All sizes that were compared, by parameter.
    pub fn sizes(&self) -> Sizes {
        let mut all = Sizes::new();
        for (name, sizes) in self.runs.iter().flat_map(|run| &run.comparisons) {
            all.entry(name.clone()).or_default().extend(sizes);
        }
        all
    }
}
