//! `bindrune benchcmp`: compares two results of `bench --json`.

use crate::common;
use serde_json::Value;
use std::cmp::Ordering;
use std::fmt::Write as _;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tune::statistics::Statistics;

/// Arguments of `benchcmp`.
#[derive(clap::Args)]
pub struct Args {
    /// The results before, written by `bench --json`.
    before: PathBuf,
    /// The results after.
    after: PathBuf,
    /// The measure by which programs are sorted.
    #[arg(long, value_parser = ["significant", "geomean-significant", "geomean-all"])]
    sort_by: Option<String>,
    /// The order of programs sorted by the measure.
    #[arg(long, default_value = "worst-first", value_parser = ["worst-first", "best-first"])]
    order: String,
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

/// Prints the comparison.
pub fn run(args: Args) -> ExitCode {
    let compared = read(&args.before)
        .and_then(|before| Ok((before, read(&args.after)?)))
        .map(|(before, after)| table(&before, &after, &args));
    match compared {
        Ok(text) => match common::write_stdout(&text) {
            Ok(()) => ExitCode::SUCCESS,
            Err(code) => code,
        },
        Err(message) => common::report_error(message),
    }
}

fn read(file: &Path) -> Result<Value, String> {
    let shown = file.display();
    let text = std::fs::read_to_string(file).map_err(|e| format!("cannot read {shown}: {e}"))?;
    let json: Value = serde_json::from_str(&text).map_err(|e| format!("{shown}: {e}"))?;
    if json.is_object() { Ok(json) } else { Err(format!("{shown} is not a result of `bench --json`")) }
}

fn table(before: &Value, after: &Value, args: &Args) -> String {
    let mut groups = groups(before, after);
    let best_first = args.order == "best-first";
    let order = |x: f64, y: f64| {
        let order = x.partial_cmp(&y).unwrap_or(Ordering::Equal);
        if best_first { order.reverse() } else { order }
    };
    match args.sort_by.as_deref() {
        // The program with the most regressions counts as the worst.
        Some("significant") => {
            groups.sort_by(|x, y| order(y.slower() as f64, x.slower() as f64));
        }
        Some("geomean-significant") => groups.sort_by(|x, y| order(x.mean(true), y.mean(true))),
        Some(_) => groups.sort_by(|x, y| order(x.mean(false), y.mean(false))),
        None => {}
    }
    let colour = std::io::stdout().is_terminal();
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
