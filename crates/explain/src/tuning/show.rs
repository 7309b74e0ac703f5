//! The tuning report as terminal output and as JSON.

use super::nests::{Nest, Outcome, Path, Versions};
use super::record::Record;
use crate::forest;
use crate::json::location;
use crate::lines::Terminal;
use crate::names::UserSource;
use ir::forest::Choice;
use serde_json::{Map, Value, json};

/// The version of the JSON format, incremented by changes that a reader of an older version would
/// misread.
const VERSION: u32 = 1;

/// The contents of the report.
pub struct Report<'a> {
    /// The program's file.
    pub program: String,
    /// The nests.
    pub nests: Vec<Nest<'a>>,
    /// Custom parameters, with their values in the tuning file.
    pub custom: Vec<(String, Option<i64>)>,
    /// Size parameters that differ from their defaults: name, default, value.
    pub sizes: Vec<(String, i64, i64)>,
    /// The measurements.
    pub record: &'a Record,
    /// The program's text.
    pub source: &'a UserSource<'a>,
    /// Values of parameters.
    pub value: &'a dyn Fn(&str) -> i64,
}

fn micros(micros: Option<f64>) -> String {
    micros.map_or_else(|| "not run".to_owned(), |micros| format!("{micros:.0} us"))
}

fn names(versions: &Versions) -> String {
    let names: Vec<String> = versions.iter().map(|number| format!("V{number}")).collect();
    names.join(" and ")
}

/// The ratio of two times in microseconds, each at least the clock's resolution of 1 us.
pub fn ratio(before: f64, after: f64) -> f64 {
    before.max(1.0) / after.max(1.0)
}

/// The sign and text for a nest on a data set.
fn describe(outcome: &Outcome) -> (char, String) {
    let Outcome { chosen, default, next } = outcome;
    let taken = format!("{}, {}", names(&chosen.versions), micros(chosen.micros));
    let mut sign = '.';
    let gain = match (next, outcome.speedup()) {
        (Some(next), Some(speedup)) => {
            let (factor, word) = if speedup >= 1.0 {
                (speedup, "faster")
            } else {
                sign = '!';
                (1.0 / speedup, "slower")
            };
            let (other, time) = (names(&next.versions), micros(next.micros));
            format!("{factor:.2}x {word} than {other}, {time}")
        }
        (Some(_) | None, _) => "no other path was run".to_owned(),
    };
    let by_default = if default.versions == chosen.versions {
        "the same by default".to_owned()
    } else {
        if sign == '.' {
            sign = '+';
        }
        let (other, time) = (names(&default.versions), micros(default.micros));
        format!("by default {other}, {time}")
    };
    (sign, format!("{taken}; {gain}; {by_default}"))
}

impl Report<'_> {
    fn tuned(&self, choice: &Choice) -> Option<i64> {
        let value = (self.value)(&choice.name);
        (value != choice.tunable.default).then_some(value)
    }

    /// Returns the report as text, with ANSI colours if `colour` is set.
    pub fn text(&self, colour: bool) -> String {
        let mut lines = Terminal::new(colour);
        let record = self.record;
        lines.title(&format!("{}: tuned for `{}`", self.program, record.cost));
        if !record.complete {
            lines.put("  tuning was interrupted; these are the best values so far");
        }
        let width = record.sets.iter().map(|set| set.name.chars().count()).max();
        let width = width.unwrap_or(0);
        for set in &record.sets {
            let (name, before, after) = (&set.name, set.default, set.tuned);
            let gain = ratio(before, after);
            lines.put(format!("  {name:width$}  {before:>12.0} us -> {after:>12.0} us  {gain:>6.2}x"));
        }
        // Nests inside versions that never run appear only in the tree of the enclosing nest.
        let reached = |nest: &&Nest<'_>| nest.outcomes.iter().any(Option::is_some);
        let outer = |nest: &&Nest<'_>| nest.inside.is_none();
        for nest in self.nests.iter().filter(|nest| outer(nest) || reached(nest)) {
            let span = self.source.innermost_user_span(&nest.choice.spans);
            lines.put("");
            let inside = nest.inside.map(|version| format!(", inside V{version}"));
            let title = format!("{}{}", nest.function, inside.unwrap_or_default());
            lines.title(&title);
            if let Some(span) = span {
                let line = self.source.line(span.file, span.line);
                lines.source(span.line, line);
            }
            let tuned = |choice: &Choice| self.tuned(choice);
            for line in forest::tree(nest.root, &tuned).lines() {
                lines.put(format!("      {line}"));
            }
            for (set, outcome) in record.sets.iter().zip(&nest.outcomes) {
                let Some(outcome) = outcome else { continue };
                let (sign, text) = describe(outcome);
                let sign = lines.sign(sign);
                lines.put(format!("      {sign} {:width$}  {text}", set.name));
            }
            if nest.outcomes.iter().all(Option::is_none) {
                lines.put("      . no data set reaches this nest");
            }
        }
        if self.nests.is_empty() {
            lines.put("  the program has no choices between versions");
        }
        for (name, value) in &self.custom {
            lines.put("");
            let value = value.map_or_else(|| "the program's own value".to_owned(), |value| value.to_string());
            lines.put(format!("{name} (custom): {value}; {} tried", record.trials(name).count()));
        }
        for (name, default, value) in &self.sizes {
            lines.put("");
            let tried = record.trials(name).count();
            lines.put(format!("{name} (size): {value}, {default} by default; {tried} tried"));
        }
        lines.finish()
    }

    /// Returns the report as JSON text.
    pub fn json(&self) -> String {
        let record = self.record;
        let sets = record.sets.iter().map(|set| {
            json!({
                "name": set.name,
                "entry": set.entry,
                "default": set.default,
                "tuned": set.tuned,
            })
        });
        let custom = self.custom.iter().map(|(name, value)| {
            let tried = record.trials(name).map(|(_, value, cost)| json!({ "value": value, "cost": cost }));
            let tried: Vec<Value> = tried.collect();
            json!({ "parameter": name, "value": value, "tried": tried })
        });
        let sizes = self
            .sizes
            .iter()
            .map(|(name, default, value)| json!({ "parameter": name, "value": value, "default": default }));
        let nests: Vec<Value> = self.nests.iter().map(|nest| self.nest(nest)).collect();
        let whole = json!({
            "version": VERSION,
            "program": self.program,
            "cost": record.cost,
            "before": record.default_cost,
            "after": record.tuned_cost,
            "complete": record.complete,
            "datasets": sets.collect::<Vec<Value>>(),
            "nests": nests,
            "custom": custom.collect::<Vec<Value>>(),
            "sizes": sizes.collect::<Vec<Value>>(),
        });
        format!("{whole:#}\n")
    }

    fn nest(&self, nest: &Nest<'_>) -> Value {
        let span = self.source.innermost_user_span(&nest.choice.spans);
        let span = span.map(|span| location(span, self.source.file_name(span.file)));
        let mut parameters = Map::new();
        forest::choices(nest.root, &mut |choice| {
            let value = (self.value)(&choice.name);
            let default = choice.tunable.default;
            let parameter = json!({ "default": default, "value": value, "size": choice.size });
            parameters.insert(choice.name.clone(), parameter);
        });
        let mut sets = Map::new();
        for (set, outcome) in self.record.sets.iter().zip(&nest.outcomes) {
            let outcome = outcome.as_ref().map(|outcome| {
                json!({
                    "chosen": path_data(&outcome.chosen),
                    "default": path_data(&outcome.default),
                    "next": outcome.next.as_ref().map(path_data),
                    "won": outcome.speedup(),
                })
            });
            sets.insert(set.name.clone(), json!(outcome));
        }
        json!({
            "function": nest.function,
            "inside": nest.inside,
            "location": span,
            "parameters": parameters,
            "tree": forest::tree_data(nest.root),
            "datasets": sets,
        })
    }
}

fn path_data(path: &Path) -> Value {
    json!({ "versions": path.versions, "micros": path.micros })
}
