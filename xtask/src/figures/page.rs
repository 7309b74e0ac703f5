//! The report as an HTML page: conditions of measurement, commands, plots, the papers' claims, and
//! all measurements as tables.

use super::claims::Verdict;
use super::data::{Figure, Position, Row};
use super::metrics::Metrics;
use super::papers::Section;
use super::plot::{Unit, rank, shown};
use std::fmt::Write as _;

const STYLE: &str = "\
body { font-family: sans-serif; line-height: 1.45; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 3rem; }
img { max-width: 100%; height: auto; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 0.9rem; }
th, td { border-bottom: 1px solid #ddd; padding: 0.25rem 0.6rem; text-align: left; vertical-align: top; }
td.n, th.n { text-align: right; white-space: nowrap; }
.spread { color: #666; font-size: 0.8em; display: block; }
.agrees { color: #00604a; } .differs { color: #a34400; font-weight: bold; }
code { background: #f3f3f3; padding: 0.1rem 0.3rem; }
dl { display: grid; grid-template-columns: max-content auto; gap: 0.2rem 1rem; } dt { color: #666; } dd { margin: 0; }
";

/// Returns the page, with a section on the compiler's metrics if there are any.
pub fn page(sections: &[Section<'_>], metrics: Option<&Metrics>) -> String {
    let mut out = String::new();
    put(&mut out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    put(&mut out, "<meta name=\"viewport\" content=\"width=device-width\">\n");
    put(
        &mut out,
        &format!("<title>The papers' figures</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n"),
    );
    put(&mut out, "<h1>The papers' figures, reproduced with Bindrune</h1>\n");
    put(
        &mut out,
        "<p>Made by <code>make figures</code>: <code>bench/figures.py</code> measures, <code>cargo xtask \
         figures</code> draws this page from <a href=\"data.json\">data.json</a>. A run time is the median \
         over rounds, in each of which all implementations run in turn; the time of a round is the median of its \
         runs (one run if it takes a second). Thin lines in plots and ranges in tables extend from the \
         minimum to the maximum over the rounds. A ratio is the median over the rounds of the ratio within a \
         round; ratios within 5 % of 1 count as no difference. Columns called <em>here</em> were measured on \
         the machine and by the command listed for each figure.</p>\n<ul>\n",
    );
    for section in sections {
        put(&mut out, &format!("<li><a href=\"#{}\">{}</a></li>\n", section.id, escaped(section.title)));
    }
    if metrics.is_some() {
        put(&mut out, "<li><a href=\"#metrics\">Metrics</a></li>\n");
    }
    put(&mut out, "</ul>\n");
    for section in sections {
        one(&mut out, section);
    }
    if let Some(metrics) = metrics {
        metrics.write(&mut out);
    }
    put(&mut out, "</body>\n</html>\n");
    out
}

fn one(out: &mut String, section: &Section<'_>) {
    let figure = section.figure;
    put(out, &format!("<h2 id=\"{}\">{}</h2>\n", section.id, escaped(section.title)));
    put(
        out,
        &format!(
            "<p><strong>The paper.</strong> {}. {}</p>\n",
            escaped(section.source),
            escaped(section.paper_statement)
        ),
    );
    if !section.our_conditions.is_empty() {
        put(out, &format!("<p><strong>Here.</strong> {}</p>\n", escaped(section.our_conditions)));
    }
    facts(out, figure);
    if section.plot.is_some() {
        let alt = escaped(section.title);
        put(out, &format!("<p><img src=\"{}.svg\" alt=\"{alt}\"></p>\n", section.id));
    }
    claims(out, section);
    put(out, "<details>\n<summary>All figures</summary>\n");
    table(out, figure);
    put(out, "</details>\n");
}

/// The conditions of measurement and the command.
fn facts(out: &mut String, figure: &Figure) {
    put(out, "<dl>\n");
    let mut fact = |name: &str, text: String| {
        put(out, &format!("<dt>{}</dt><dd>{text}</dd>\n", escaped(name)));
    };
    fact("command", format!("<code>{}</code>", escaped(&figure.command)));
    fact("backend", escaped(&figure.backend));
    for (name, text) in &figure.machine {
        fact(name, escaped(text));
    }
    let dates = || figure.rows.iter().map(|row| &*row.date);
    if let (Some(first), Some(last)) = (dates().min(), dates().max()) {
        let load = figure.rows.iter().map(|row| row.load).fold(0.0, f64::max);
        let days = if first == last { first.to_owned() } else { format!("{first} to {last}") };
        fact("measured", format!("{}; load at most {load:.1}", escaped(&days)));
    }
    for (what, why) in &figure.missing {
        fact("without", format!("{}: {}", escaped(what), escaped(why)));
    }
    for row in &figure.rows {
        if !row.agree || !row.notes.is_empty() {
            let result = if row.agree { "" } else { "results differ; " };
            fact("note", escaped(&format!("{}: {result}{}", row.name, row.notes.join("; "))));
        }
    }
    put(out, "</dl>\n");
}

fn claims(out: &mut String, section: &Section<'_>) {
    if section.claims.is_empty() {
        return;
    }
    put(
        out,
        "<table>\n<tr><th>what</th><th>the paper</th><th class=\"n\">here</th><th>direction</th></tr>\n",
    );
    for claim in &section.claims {
        let class = match claim.verdict {
            Verdict::Agrees => "agrees",
            Verdict::Differs => "differs",
            Verdict::Neither | Verdict::Open => "open",
        };
        let (what, paper, here) = (escaped(&claim.what), escaped(&claim.paper), escaped(&claim.here));
        let verdict = claim.verdict.text();
        put(
            out,
            &format!(
                "<tr><td>{what}</td><td>{paper}</td><td class=\"n\">{here}</td><td class=\"{class}\">{verdict}</td></tr>\n"
            ),
        );
    }
    put(out, "</table>\n");
}

/// The table of medians with their spread, and of counts.
fn table(out: &mut String, figure: &Figure) {
    let mut names: Vec<&str> = Vec::new();
    for row in &figure.rows {
        let times = row.times.iter().map(|(who, _)| &**who);
        for name in times.chain(row.counts.iter().map(|(what, _)| &**what)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names.sort_by_key(|name| rank(name));
    put(out, "<table>\n<tr><th></th><th class=\"n\"></th>");
    for name in &names {
        put(out, &format!("<th class=\"n\">{}</th>", escaped(name)));
    }
    put(out, "</tr>\n");
    for row in &figure.rows {
        let x = match &row.x {
            Position::Name(name) => escaped(name),
            Position::Number(x) => format!("{x}"),
        };
        put(out, &format!("<tr><td>{}</td><td class=\"n\">{x}</td>", escaped(&row.group)));
        for name in &names {
            put(out, &format!("<td class=\"n\">{}</td>", cell(row, name)));
        }
        put(out, "</tr>\n");
    }
    put(out, "</table>\n");
}

fn cell(row: &Row, name: &str) -> String {
    let time = |x| shown(Unit::Micros, x);
    if let Some(times) = row.times_of(name) {
        let spread = format!("{} to {}", time(times.min), time(times.max));
        return format!("{}<span class=\"spread\">{spread}</span>", time(times.median));
    }
    let count = row.counts.iter().find(|(what, _)| what == name);
    count.map(|(_, count)| format!("{count}")).unwrap_or_default()
}

/// Appends text.
pub fn put(out: &mut String, text: &str) {
    let written = out.write_str(text);
    debug_assert!(written.is_ok(), "writing to a string does not fail");
}

/// Replaces the characters that have a meaning in HTML.
pub fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}
