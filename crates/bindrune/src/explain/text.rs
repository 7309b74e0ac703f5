//! The account on a terminal: each line that something is told of, and what below it.

use super::account::Account;
use super::entry::{Entry, Mark};
use crate::forest;
use std::fmt::Write;

/// The account as text, with colours if `colour`.
pub fn text(account: &Account, colour: bool) -> String {
    let paint = |code: &str, text: &str| {
        if colour {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    };
    let mut out = String::new();
    let mut put = |line: String| {
        let written = writeln!(out, "{}", line.trim_end());
        debug_assert!(written.is_ok(), "writing to a string does not fail");
    };
    for function in &account.functions {
        let file = account.files.iter().find(|file| file.id == function.file);
        let file = file.map_or("", |file| &file.name);
        let title = if function.name.is_empty() {
            file.to_owned()
        } else {
            format!("{} ({file}:{})", function.name, function.line)
        };
        put(paint("1", &title));
        for line in &function.lines {
            put(format!(
                "{} {}",
                paint("94;1", &format!("{:5} |", line.number)),
                line.text
            ));
            let mut subject = None;
            let first = line.entries.first().map(Entry::of);
            let several = (line.entries.iter())
                .any(|entry| entry.within.is_some() || Some(entry.of()) != first);
            for entry in &line.entries {
                if several && subject != Some(entry.of()) {
                    subject = Some(entry.of());
                    put(format!("      {}", entry.title()));
                }
                let sign = entry.mark.sign().to_string();
                let sign = match entry.mark {
                    Mark::Good => paint("32", &sign),
                    Mark::Left => paint("33;1", &sign),
                    Mark::Plain => sign,
                };
                let indent = if several { 8 } else { 6 };
                let group = entry.group.name();
                put(format!("{:indent$}{sign} {group}: {}", "", entry.short()));
            }
        }
        put(String::new());
    }
    if !account.versions.is_empty() {
        put(paint(
            "1",
            "versions, and the sizes that choose between them",
        ));
        for line in forest::text(&account.versions).lines() {
            put(format!("  {line}"));
        }
        put(String::new());
    }
    for line in account.summary.lines() {
        put(line);
    }
    out
}
