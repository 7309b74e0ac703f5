//! `cargo xtask figures [FOLDER]`: draws the papers' figures from measurements.
//!
//! Reads `data.json` in the folder (default `docs/figures`), which `bench/figures.py` writes, and
//! writes a plot per figure (SVG) and the report `index.html` beside it. The report ends with the
//! metrics in `metrics.csv` beside the folder, if there is such a file. The output depends on the
//! data alone, not on the machine: text uses generic fonts, so the same data give the same bytes.
//!
//! [`papers`] defines the figures and the papers' claims, [`data`] reads the file, [`metrics`]
//! defines the section on metrics, [`plot`] and [`page`] define the layout.

mod claims;
mod data;
mod metrics;
mod page;
mod papers;
mod plot;

use crate::Outcome;
use metrics::Metrics;
use std::path::Path;

/// The recorded metrics, relative to the folder.
const METRICS: &str = "../metrics.csv";

/// A file of the report: its name and text.
type File = (String, String);

/// Runs the task.
pub fn task(root: &Path) -> Outcome {
    let mut args = std::env::args().skip(2);
    let folder = args.next().map_or_else(|| root.join("docs/figures"), Into::into);
    if let Some(other) = args.next() {
        return Err(format!("unexpected argument `{other}`: at most one folder is expected"));
    }
    for (name, text) in render_folder(&folder)? {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        println!("{}", path.display());
    }
    Ok(())
}

/// Returns all files of the report on the data in a folder.
fn render_folder(folder: &Path) -> Result<Vec<File>, String> {
    let read = |path: &Path| std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()));
    let path = folder.join(METRICS);
    let metrics = if path.exists() { read(&path)? } else { String::new() };
    let metrics = metrics::read(&metrics).map_err(|e| format!("{}: {e}", path.display()))?;
    let path = folder.join("data.json");
    render(&read(&path)?, metrics.as_ref()).map_err(|e| format!("{}: {e}", path.display()))
}

/// Returns all files of the report on these data.
fn render(data: &str, metrics: Option<&Metrics>) -> Result<Vec<File>, String> {
    let figures = data::read(data)?;
    let sections = papers::sections(&figures);
    let mut files = Vec::new();
    for section in &sections {
        if let Some(plot) = &section.plot {
            files.push((format!("{}.svg", section.id), plot.draw()?));
        }
    }
    if let Some(plot) = metrics.and_then(|metrics| metrics.plot.as_ref()) {
        files.push(("metrics.svg".to_owned(), plot.draw()?));
    }
    files.push(("index.html".to_owned(), page::page(&sections, metrics)));
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A figure of run times of two implementations, and one of run counts.
    const DATA: &str = r#"{"figures": {
        "redomap": {"command": "python3 bench/figures.py redomap", "backend": "cpu",
            "machine": {"processor": "P <1>", "cores": 2},
            "absent": {"futhark c": "not <there>"},
            "rows": {
                "b": {"group": "mssp", "x": 10000000, "rank": 1, "agree": true, "notes": ["a & b"],
                    "date": "2026-01-02", "load": 0.5, "times": {
                        "bindrune": {"median": 1000, "least": 900, "most": 1100, "rounds": [900, 1000, 1100]},
                        "no redomap": {"median": 4000, "least": 3600, "most": 4400, "rounds": [3600, 4000, 4400]}}},
                "a": {"group": "mssp", "x": 100, "rank": 0, "agree": true, "notes": [],
                    "date": "2026-01-01", "load": 0.25, "times": {
                        "bindrune": {"median": 2, "least": 2, "most": 2, "rounds": [2, 2, 2]}}}}},
        "tuning": {"command": "c", "backend": "cpu", "machine": {}, "absent": {},
            "rows": {"m": {"group": "matmul", "x": 11, "rank": 0, "agree": true, "notes": [],
                "date": "2026-01-01", "load": 0.25, "counts": {"each path once": 40, "blind, all paths": 4000}}}}}}"#;

    fn file(files: &[File], name: &str) -> String {
        let found = files.iter().find(|(other, _)| other == name);
        found.map(|(_, text)| text.clone()).unwrap_or_default()
    }

    #[test]
    fn rendering_is_deterministic() {
        let files = render(DATA, None).expect("valid data");
        assert_eq!(files, render(DATA, None).expect("valid data"));
        let names: Vec<&str> = files.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, ["redomap.svg", "tuning.svg", "index.html"]);
    }

    #[test]
    fn the_report_names_machine_command_and_dates() {
        let files = render(DATA, None).expect("valid data");
        let page = file(&files, "index.html");
        for part in [
            "python3 bench/figures.py redomap",
            "P &lt;1&gt;",
            "not &lt;there&gt;",
            "a &amp; b",
            "2026-01-01 to 2026-01-02",
            "src=\"redomap.svg\"",
            "1.00 ms",
            "4.00×",
            "agrees",
        ] {
            assert!(page.contains(part), "{part}");
        }
        let plot = file(&files, "redomap.svg");
        for part in ["mssp", "no redomap", "10⁷", "1 ms", "10 µs"] {
            assert!(plot.contains(part), "{part}");
        }
        assert!(file(&files, "tuning.svg").contains("matmul"));
    }

    #[test]
    fn metrics_are_drawn_from_two_versions_on() {
        let rows = "VERSION,2026-01-02,abc+,code,a<b>,7,lines\nVERSION,2026-01-02,abc+,code,total,LINES,lines\n\
                    VERSION,2026-01-02,abc+,check,p,2000,instructions\n\
                    VERSION,2026-01-02,abc+,check,q,8000,instructions\n\
                    VERSION,2026-01-02,abc+,test time,all,,seconds\n";
        let mut csv = "version,date,commit,metric,subject,value,unit\n".to_owned();
        let mut files = |version: &str, lines: &str| {
            csv += &rows.replace("VERSION", version).replace("LINES", lines);
            let metrics = metrics::read(&csv).expect("valid rows");
            render(DATA, metrics.as_ref()).expect("valid data")
        };
        let one = files("0.1.0", "71234");
        assert_eq!(file(&one, "metrics.svg"), "");
        let page = file(&one, "index.html");
        for part in ["href=\"#metrics\"", "71,234", "a&lt;b&gt;", "0.004", "2026-01-02", "abc+"] {
            assert!(page.contains(part), "{part}");
        }
        assert!(!page.contains("metrics.svg"));
        let two = files("0.2.0", "73456");
        let page = file(&two, "index.html");
        for part in ["71,234", "73,456", "src=\"metrics.svg\""] {
            assert!(page.contains(part), "{part}");
        }
        let plot = file(&two, "metrics.svg");
        for part in ["0.1.0", "0.2.0", "75 k", "instructions"] {
            assert!(plot.contains(part), "{part}");
        }
        assert!(!plot.contains("test time"));
    }

    /// The committed report is up to date with the data.
    #[test]
    fn the_report_in_the_repository_is_up_to_date() {
        let folder = crate::root().join("docs/figures");
        let read = |name: &str| {
            let path = folder.join(name);
            std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
        };
        for (name, text) in render_folder(&folder).expect("valid data") {
            assert!(read(&name) == text, "{name}: run `cargo xtask figures`");
        }
    }

    #[test]
    fn invalid_data_are_reported_with_their_path() {
        for (from, to, said) in [
            ("\"figures\"", "\"figure\"", "figures: missing"),
            ("[3600,", "[\"x\",", "figures.redomap.rows.b.times.no redomap.rounds[0]: not a number"),
            ("\"rounds\": [3600, 4000, 4400]", "\"rounds\": []", "no redomap.rounds: empty"),
            ("\"median\": 4000", "\"median\": 0", "no redomap.median: not above 0"),
            ("\"group\": \"matmul\"", "\"group\": 3", "tuning.rows.m.group: not a text"),
            ("{\"figures\"", "figures", "expected ident at line 1"),
        ] {
            let wrong = DATA.replacen(from, to, 1);
            let error = render(&wrong, None).expect_err("invalid data");
            assert!(error.contains(said), "{said}: {error}");
        }
    }
}
