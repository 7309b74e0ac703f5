//! `cargo xtask figures [FOLDER]`: draws the papers' figures from measurements.
//!
//! Reads `data.json` in the folder (default `docs/figures`), which `bench/figures.py` writes, and
//! writes a plot per figure (SVG) and the report `index.html` beside it. The output depends on the
//! data alone, not on the machine: text uses generic fonts, so the same data give the same bytes.
//!
//! [`papers`] defines the figures and the papers' claims, [`data`] reads the file, [`plot`] and
//! [`page`] define the layout.

mod claims;
mod data;
mod page;
mod papers;
mod plot;

use crate::Outcome;
use std::path::Path;

/// A file of the report: its name and text.
type File = (String, String);

/// Runs the task.
pub fn task(root: &Path) -> Outcome {
    let mut args = std::env::args().skip(2);
    let folder = args.next().map_or_else(|| root.join("docs/figures"), Into::into);
    if let Some(other) = args.next() {
        return Err(format!("unexpected argument `{other}`: at most one folder is expected"));
    }
    let path = folder.join("data.json");
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    for (name, text) in render(&text).map_err(|e| format!("{}: {e}", path.display()))? {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        println!("{}", path.display());
    }
    Ok(())
}

/// Returns all files of the report on these data.
fn render(data: &str) -> Result<Vec<File>, String> {
    let figures = data::read(data)?;
    let sections = papers::sections(&figures);
    let mut files = Vec::new();
    for section in &sections {
        if let Some(plot) = &section.plot {
            files.push((format!("{}.svg", section.id), plot.draw()?));
        }
    }
    files.push(("index.html".to_owned(), page::page(&sections)));
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A figure of run times of two contestants, and one of run counts.
    const DATA: &str = r#"{"figures": {
        "redomap": {"command": "python3 bench/figures.py redomap", "backend": "cpu",
            "machine": {"processor": "P <1>", "cores": 2},
            "absent": {"futhark c": "not <there>"},
            "rows": {
                "b": {"group": "mssp", "x": 10000000, "place": 1, "agree": true, "notes": ["a & b"],
                    "date": "2026-01-02", "load": 0.5, "times": {
                        "bindrune": {"median": 1000, "least": 900, "most": 1100, "rounds": [900, 1000, 1100]},
                        "no redomap": {"median": 4000, "least": 3600, "most": 4400, "rounds": [3600, 4000, 4400]}}},
                "a": {"group": "mssp", "x": 100, "place": 0, "agree": true, "notes": [],
                    "date": "2026-01-01", "load": 0.25, "times": {
                        "bindrune": {"median": 2, "least": 2, "most": 2, "rounds": [2, 2, 2]}}}}},
        "tuning": {"command": "c", "backend": "cpu", "machine": {}, "absent": {},
            "rows": {"m": {"group": "matmul", "x": 11, "place": 0, "agree": true, "notes": [],
                "date": "2026-01-01", "load": 0.25, "counts": {"each path once": 40, "blind, all paths": 4000}}}}}}"#;

    fn file(files: &[File], name: &str) -> String {
        let found = files.iter().find(|(other, _)| other == name);
        found.map(|(_, text)| text.clone()).unwrap_or_default()
    }

    #[test]
    fn rendering_is_deterministic() {
        let files = render(DATA).expect("valid data");
        assert_eq!(files, render(DATA).expect("valid data"));
        let names: Vec<&str> = files.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, ["redomap.svg", "tuning.svg", "index.html"]);
    }

    #[test]
    fn the_report_names_machine_command_and_dates() {
        let files = render(DATA).expect("valid data");
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

    /// The committed report is up to date with the data.
    #[test]
    fn the_report_in_the_repository_is_up_to_date() {
        let folder = crate::root().join("docs/figures");
        let read = |name: &str| {
            let path = folder.join(name);
            std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
        };
        for (name, text) in render(&read("data.json")).expect("valid data") {
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
            let error = render(&wrong).expect_err("invalid data");
            assert!(error.contains(said), "{said}: {error}");
        }
    }
}
