//! The contents of plots: lines of run times, bars of speed-ups and counts.

use super::{basis_part, distinct, group, name, number};
use crate::figures::data::{Figure, Row};
use crate::figures::plot::{Bar, Body, Line, Panel, Point, Unit, raised, rank};

/// Returns a line per implementation over the sizes of rows. `name` names the line, or excludes the
/// implementation.
fn lines<'a>(rows: impl Iterator<Item = &'a Row>, name: impl Fn(&Row, &str) -> Option<String>) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for row in rows {
        for (who, times) in &row.times {
            let (Some(x), Some(who)) = (number(row), name(row, who)) else {
                continue;
            };
            let point = Point { x, y: times.median, least: times.min, most: times.max };
            match lines.iter_mut().find(|line| line.implementation == who) {
                Some(line) => line.points.push(point),
                None => lines.push(Line { implementation: who, points: vec![point] }),
            }
        }
    }
    lines
}

/// Run times over sizes, with one panel per program.
pub fn redomap(figure: &Figure) -> Vec<Panel> {
    let programs = distinct(&figure.rows, |row| &row.group);
    let panel = |name: &&str| Panel {
        title: (*name).to_owned(),
        x_label: "elements".to_owned(),
        y_label: "run time".to_owned(),
        body: Body::Lines {
            x: Unit::Count,
            y: Unit::Micros,
            lines: lines(group(figure, name), |_, who| Some(who.to_owned())),
        },
    };
    programs.iter().map(panel).collect()
}

/// Run times over shapes, with one panel per amount of work.
pub fn products(figure: &Figure) -> Vec<Panel> {
    let works = distinct(&figure.rows, |row| &row.group);
    let panel = |name: &&str| Panel {
        title: format!("work {}", raised(name)),
        x_label: "n, of 2ⁿ rows and columns".to_owned(),
        y_label: "run time".to_owned(),
        body: Body::Lines {
            x: Unit::Number,
            y: Unit::Micros,
            lines: lines(group(figure, name), |_, who| Some(who.to_owned())),
        },
    };
    works.iter().map(panel).collect()
}

/// Speed-ups over moderate flattening.
pub fn speed_ups(figure: &Figure) -> Vec<Panel> {
    let groups = figure.rows.iter().filter_map(|row| {
        let bars = row
            .times
            .iter()
            .filter(|(who, _)| who != "MF")
            .filter_map(|(who, _)| Some(Bar { who: who.clone(), value: row.ratio("MF", who)? }));
        let bars: Vec<Bar> = ordered(bars.collect());
        (!bars.is_empty()).then(|| (name(row), bars))
    });
    let groups: Vec<_> = groups.collect();
    panel_of_bars(groups, Unit::Ratio, "speed-up over moderate flattening (MF)")
}

fn panel_of_bars(groups: Vec<(String, Vec<Bar>)>, unit: Unit, x_label: &str) -> Vec<Panel> {
    if groups.is_empty() {
        return Vec::new();
    }
    vec![Panel {
        title: String::new(),
        x_label: x_label.to_owned(),
        y_label: String::new(),
        body: Body::Bars { unit, groups },
    }]
}

/// Sorts bars in the order of the legend.
fn ordered(mut bars: Vec<Bar>) -> Vec<Bar> {
    bars.sort_by_key(|bar| rank(&bar.who));
    bars
}

/// The number of runs that searches take.
pub fn tuning(figure: &Figure) -> Vec<Panel> {
    let groups = figure.rows.iter().map(|row| {
        let bars = row.counts.iter().filter(|(what, _)| what != "data sets");
        let bars = bars.map(|(who, value)| Bar { who: who.clone(), value: *value });
        (row.group.clone(), ordered(bars.collect()))
    });
    panel_of_bars(groups.collect(), Unit::Count, "runs of the program")
}

/// Run times over sizes, with one panel per function.
pub fn basis(figure: &Figure) -> Vec<Panel> {
    let functions = distinct(&figure.rows, |row| basis_part(&row.group).0);
    let panel = |function: &&str| {
        let rows = figure.rows.iter();
        let rows = rows.filter(|row| basis_part(&row.group).0 == *function);
        Panel {
            title: function.replace('_', " "),
            x_label: "elements".to_owned(),
            y_label: "run time".to_owned(),
            body: Body::Lines {
                x: Unit::Count,
                y: Unit::Micros,
                lines: lines(rows, |row, who| {
                    (who == "bindrune").then(|| basis_part(&row.group).1.to_owned())
                }),
            },
        }
    };
    functions.iter().map(panel).collect()
}
