//! The section on the compiler's metrics: their values by version, and plots of them from two
//! versions on.

use super::claims::mean;
use super::page::{escaped, put};
use super::plot::{Body, Line, Panel, Plot, Point, Unit};
use crate::metrics::records::{self, Record, Row, versions};
use crate::metrics::{TOTAL, grouped};

/// The metrics of all versions.
pub struct Metrics {
    rows: Vec<Row>,
    /// The plot; `None` with one version.
    pub plot: Option<Plot>,
}

/// A number per version, computed from rows.
struct Series {
    /// The name in legends.
    name: &'static str,
    /// The heading in the table.
    heading: &'static str,
    metric: &'static str,
    subjects: Subjects,
    format: fn(f64) -> String,
}

#[derive(Clone, Copy)]
enum Subjects {
    /// The value of one subject.
    One(&'static str),
    /// The geometric mean over all subjects.
    Mean,
}

/// A plot: title, label of the vertical axis, lines.
type Chart = (&'static str, &'static str, &'static [Series]);

const CHARTS: [Chart; 4] = [
    (
        "code",
        "lines",
        &[
            series("code", "code, lines", "code", Subjects::One(TOTAL), whole),
            series("test code", "test code, lines", "test code", Subjects::One(TOTAL), whole),
        ],
    ),
    (
        "instructions, geometric mean",
        "instructions",
        &[
            series("check", "check, 10⁶ instructions", "check", Subjects::Mean, millions),
            series("middle end", "middle end, 10⁶ instructions", "middle end", Subjects::Mean, millions),
        ],
    ),
    (
        "size of the binary",
        "bytes",
        &[series("bindrune", "binary, bytes", "binary", Subjects::One("bindrune"), whole)],
    ),
    (
        "time of tests",
        "seconds",
        &[
            series("tier check", "tests, tier check, s", "test time", Subjects::One("check"), whole),
            series("tier test", "tier test, s", "test time", Subjects::One("test"), whole),
            series("tier all", "tier all, s", "test time", Subjects::One("all"), whole),
        ],
    ),
];

const fn series(
    name: &'static str,
    heading: &'static str,
    metric: &'static str,
    subjects: Subjects,
    format: fn(f64) -> String,
) -> Series {
    Series { name, heading, metric, subjects, format }
}

/// Reads the recorded metrics; `None` if there are none.
pub fn read(csv: &str) -> Result<Option<Metrics>, String> {
    let rows = records::read(csv)?;
    let plot = plot(&rows);
    Ok((!rows.is_empty()).then_some(Metrics { rows, plot }))
}

impl Series {
    /// The number of a version; `None` if it was not measured.
    fn value(&self, rows: &[Row], version: &Record) -> Option<f64> {
        let rows = rows.iter().filter(|row| row.record == *version && row.metric == self.metric);
        let values = |rows: &mut dyn Iterator<Item = &Row>| -> Vec<f64> {
            rows.filter_map(|row| row.value).map(|value| value as f64).collect()
        };
        match self.subjects {
            Subjects::One(subject) => values(&mut rows.filter(|row| row.subject == subject)).first().copied(),
            Subjects::Mean => mean(&values(&mut rows.filter(|row| row.value != Some(0)))),
        }
    }
}

fn plot(rows: &[Row]) -> Option<Plot> {
    let versions = versions(rows);
    if versions.len() < 2 {
        return None;
    }
    let line = |series: &Series| {
        let values = versions.iter().map(|version| series.value(rows, version)).enumerate();
        // The axis is logarithmic.
        let values = values.filter_map(|(x, value)| Some((x as f64, value.filter(|value| *value > 0.0)?)));
        let points = values.map(|(x, y)| Point { x, y, least: y, most: y });
        Line { implementation: series.name.to_owned(), points: points.collect() }
    };
    let panel = |(title, y_label, series): &Chart| {
        let mut lines: Vec<Line> = series.iter().map(line).collect();
        lines.retain(|line| !line.points.is_empty());
        let names = versions.iter().map(|version| version.version.clone()).collect();
        (!lines.is_empty()).then(|| Panel {
            title: (*title).to_owned(),
            x_label: "version".to_owned(),
            y_label: (*y_label).to_owned(),
            body: Body::Series { names, y: Unit::Amount, lines },
        })
    };
    let panels: Vec<Panel> = CHARTS.iter().filter_map(panel).collect();
    (!panels.is_empty()).then_some(Plot { panels, columns: 2 })
}

impl Metrics {
    /// Appends the section.
    pub fn write(&self, out: &mut String) {
        put(out, "<h2 id=\"metrics\">Metrics</h2>\n");
        put(
            out,
            "<p>Metrics of the compiler by version, recorded by <code>cargo xtask metrics --record</code> in <a \
             href=\"../metrics.csv\">metrics.csv</a>. Lines with code are counted, tests separately. \
             Instructions are those of the compiler on five programs, counted by callgrind: of \
             <code>bindrune check</code>, and from <code>lower</code> to <code>imp</code> with printing; means \
             are geometric. The time of tests is that of the tier's last run before recording.</p>\n",
        );
        if self.plot.is_some() {
            put(out, "<p><img src=\"metrics.svg\" alt=\"Metrics by version\"></p>\n");
        }
        self.summary(out);
        put(out, "<details>\n<summary>All figures</summary>\n");
        self.table(out);
        put(out, "</details>\n");
    }

    /// The table of the plotted numbers, with one row per version.
    fn summary(&self, out: &mut String) {
        let all = || CHARTS.iter().flat_map(|(_, _, series)| *series);
        let headings = all().map(|series| number_cell("th", series.heading)).collect::<String>();
        put(out, &format!("<table>\n<tr><th>version</th><th>date</th><th>commit</th>{headings}</tr>\n"));
        for version in versions(&self.rows) {
            let Record { version: name, date, commit } = version;
            let cells = all().map(|series| {
                let value = series.value(&self.rows, version);
                number_cell("td", &value.map(series.format).unwrap_or_default())
            });
            let (name, date, commit) = (escaped(name), escaped(date), escaped(commit));
            let cells: String = cells.collect();
            put(out, &format!("<tr><td>{name}</td><td>{date}</td><td>{commit}</td>{cells}</tr>\n"));
        }
        put(out, "</table>\n");
    }

    /// The table of all values, with one column per version.
    fn table(&self, out: &mut String) {
        let versions = versions(&self.rows);
        let headings = versions.iter().map(|version| number_cell("th", &version.version));
        let headings: String = headings.collect();
        put(out, &format!("<table>\n<tr><th>metric</th><th>subject</th><th>unit</th>{headings}</tr>\n"));
        let mut keys: Vec<(&str, &str, &str)> = Vec::new();
        for row in &self.rows {
            let key = (&*row.metric, &*row.subject, &*row.unit);
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        for (metric, subject, unit) in keys {
            let cells = versions.iter().map(|version| {
                let found = self
                    .rows
                    .iter()
                    .find(|row| row.record == **version && row.metric == metric && row.subject == subject);
                let value = found.and_then(|row| row.value);
                number_cell("td", &value.map(grouped).unwrap_or_default())
            });
            let cells: String = cells.collect();
            let (metric, subject, unit) = (escaped(metric), escaped(subject), escaped(unit));
            put(out, &format!("<tr><td>{metric}</td><td>{subject}</td><td>{unit}</td>{cells}</tr>\n"));
        }
        put(out, "</table>\n");
    }
}

/// A cell that is aligned to the right.
fn number_cell(tag: &str, text: &str) -> String {
    format!("<{tag} class=\"n\">{}</{tag}>", escaped(text))
}

fn whole(value: f64) -> String {
    grouped(value.round() as u64)
}

fn millions(value: f64) -> String {
    let value = value / 1e6;
    if value < 1.0 { format!("{value:.3}") } else { format!("{value:.1}") }
}
