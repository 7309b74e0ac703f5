//! Comparison of two results of `bench --json`.

use serde_json::Value;
use std::cmp::Ordering;
use std::fmt::Write as _;
use tune::statistics::Statistics;

/// The order of programs in a comparison.
#[derive(Clone, Copy)]
pub enum Order {
    /// By name.
    Name,
    /// By the number of significant slowdowns.
    Significant,
    /// By the geometric mean of speedups, of all data sets or only the significant ones.
    Mean {
        /// True for significant ones only.
        significant: bool,
    },
}

/// A program with the data sets that both results contain.
struct ProgramComparison {
    name: String,
    rows: Vec<DataSetComparison>,
}

/// Mean run times of a data set, in microseconds.
struct DataSetComparison {
    name: String,
    before: f64,
    after: f64,
    significant: bool,
}

impl DataSetComparison {
    fn speedup(&self) -> f64 {
        self.before / self.after
    }
}

impl ProgramComparison {
    /// The geometric mean of the speedups, of all rows or only the significant ones; 1 if there are
    /// none.
    fn mean(&self, significant: bool) -> f64 {
        let rows = self.rows.iter().filter(|row| row.significant || !significant);
        let logs: Vec<f64> = rows.map(|row| row.speedup().ln()).collect();
        if logs.is_empty() {
            return 1.0;
        }
        (logs.iter().sum::<f64>() / logs.len() as f64).exp()
    }

    /// The number of data sets with a significant slowdown of more than 1 %.
    fn slower(&self) -> usize {
        let slower = |row: &&DataSetComparison| row.significant && row.speedup() < 0.99;
        self.rows.iter().filter(slower).count()
    }
}

/// Returns the comparison as text, with ANSI colours if `colour` is set.
pub fn compare(before: &Value, after: &Value, order: Order, best_first: bool, colour: bool) -> String {
    let mut groups = groups(before, after);
    let compare = |x: f64, y: f64| {
        let order = x.partial_cmp(&y).unwrap_or(Ordering::Equal);
        if best_first { order.reverse() } else { order }
    };
    match order {
        // The program with the most regressions counts as the worst.
        Order::Significant => groups.sort_by(|x, y| compare(y.slower() as f64, x.slower() as f64)),
        Order::Mean { significant } => {
            groups.sort_by(|x, y| compare(x.mean(significant), y.mean(significant)));
        }
        Order::Name => {}
    }
    let mut out = String::new();
    let rows = groups.iter().flat_map(|group| &group.rows);
    let width = rows.map(|row| row.name.chars().count()).max().unwrap_or(0);
    for group in &groups {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "\n{}", group.name);
        for row in &group.rows {
            let speedup = format!("{:>7.2}x", row.speedup());
            let shown = match (row.significant, row.speedup() > 1.0) {
                (true, true) if colour => format!("\x1b[32m{speedup}\x1b[0m"),
                (true, false) if colour => format!("\x1b[31m{speedup}\x1b[0m"),
                (true, true) => format!("{speedup} +"),
                (true, false) => format!("{speedup} -"),
                (false, _) => speedup,
            };
            let _ = writeln!(out, "  {:width$}  {shown}", row.name);
        }
        let _ = writeln!(out, "  {:width$}  {:>7.2}x", "geometric mean", group.mean(false));
    }
    for (name, one, other) in [("before", before, after), ("after", after, before)] {
        for key in one.as_object().into_iter().flat_map(|all| all.keys()) {
            if other.get(key).is_none() {
                let _ = writeln!(out, "\n{key}: only {name}");
            }
        }
    }
    out
}

fn groups(before: &Value, after: &Value) -> Vec<ProgramComparison> {
    let mut groups = Vec::new();
    for (name, program) in before.as_object().into_iter().flatten() {
        let (Some(old), Some(new)) = (
            program.get("datasets").and_then(Value::as_object),
            after.get(name).and_then(|program| program.get("datasets")),
        ) else {
            continue;
        };
        let mut rows: Vec<DataSetComparison> = old
            .iter()
            .filter_map(|(dataset, old)| {
                let (old, new) = (times(old)?, times(new.get(dataset)?)?);
                let (x, y) = (Statistics::of(&old), Statistics::of(&new));
                Some(DataSetComparison {
                    name: dataset.clone(),
                    before: x.mean.max(0.5),
                    after: y.mean.max(0.5),
                    significant: (x.mean - y.mean).abs() > x.deviation / 2.0 + y.deviation / 2.0,
                })
            })
            .collect();
        rows.sort_by(|x, y| x.name.cmp(&y.name));
        groups.push(ProgramComparison { name: name.clone(), rows });
    }
    groups.sort_by(|x, y| x.name.cmp(&y.name));
    groups
}

/// The run times of a data set; `None` if its measurement failed.
fn times(dataset: &Value) -> Option<Vec<u64>> {
    let times = dataset.get("runtimes")?.as_array()?;
    let times: Option<Vec<u64>> = times.iter().map(|time| Some(time.as_f64()? as u64)).collect();
    times.filter(|times| !times.is_empty())
}
