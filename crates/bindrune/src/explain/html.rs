//! The remarks as one self-contained HTML page: each file's source with the remarks beside its
//! lines. Buttons select kinds, and so does the fragment of the page's URL
//! (`page.html#checks,copies`). Without JavaScript everything is shown.
//!
//! All program text goes through [`escape`].

use super::account::{File, Function, Line, Remarks};
use super::entry::{Group, ShownRemark};
use crate::forest;
use std::fmt::Write;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Returns the page.
pub fn page(account: &Remarks) -> String {
    let title = escape(&account.program);
    let mut out = String::new();
    let mut put = |text: &str| {
        out.push_str(text);
        out.push('\n');
    };
    put("<!DOCTYPE html>");
    put("<html lang=\"en\">");
    put("<head>");
    put("<meta charset=\"utf-8\">");
    put("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
    put(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">",
    );
    put(&format!("<title>{title}: what became of it</title>"));
    put(&format!("<style>\n{STYLE}</style>"));
    put("</head>");
    put("<body>");
    put(&format!("<h1>{title}</h1>"));
    if !account.versions.is_empty() {
        let forest = escape(&forest::text(&account.versions));
        put(&format!(
            "<details><summary>Versions, and the sizes that choose between them</summary><pre>{forest}</pre></details>"
        ));
    }
    put("<ul class=\"summary\">");
    for line in account.summary.lines() {
        put(&format!("<li>{}</li>", escape(&line)));
    }
    put("</ul>");
    put("<p class=\"filters\">");
    for group in Group::ALL {
        let (name, count) = (group.name(), count(account, group));
        put(&format!(
            "<button type=\"button\" data-group=\"{name}\" aria-pressed=\"true\">{name} ({count})</button>"
        ));
    }
    put("</p>");
    for file in &account.files {
        put(&format!("<h2>{}</h2>", escape(&file.name)));
        put(&table(account, file));
    }
    put(&format!("<script>\n{SCRIPT}</script>"));
    put("</body>");
    put("</html>");
    out
}

fn entries(account: &Remarks) -> impl Iterator<Item = &ShownRemark> {
    let lines = account.functions.iter().flat_map(|function| &function.lines);
    lines.flat_map(|line| &line.entries)
}

fn count(account: &Remarks, group: Group) -> usize {
    entries(account).filter(|entry| entry.group == group).count()
}

/// A file's lines with their remarks.
fn table(account: &Remarks, file: &File) -> String {
    let own: Vec<&Function> =
        (account.functions.iter()).filter(|function| function.file == file.id).collect();
    let told = |number: u32| {
        let lines = own.iter().flat_map(|function| &function.lines);
        lines.into_iter().find(|line| line.number == number)
    };
    let mut out = String::from("<table>\n");
    for (text, number) in file.lines.iter().zip(1u32..) {
        let line = told(number);
        let class = if line.is_some() { " class=\"told\"" } else { "" };
        let id = format!("f{}l{number}", file.id);
        let written = writeln!(
            out,
            "<tr id=\"{id}\"{class}><td class=\"number\">{number}</td><td class=\"source\"><code>{}</code></td><td class=\"fate\">{}</td></tr>",
            escape(text),
            line.map_or_else(String::new, fate)
        );
        debug_assert!(written.is_ok(), "writing to a string does not fail");
    }
    out.push_str("</table>");
    out
}

/// The remarks of a line.
fn fate(line: &Line) -> String {
    let mut out = String::from("<ul>");
    for entry in &line.entries {
        let elsewhere =
            (entry.related.iter()).filter(|other| (other.file, other.line) != (entry.span.file, line.number));
        let links: Vec<String> = elsewhere
            .map(|other| {
                let (file, line) = (other.file, other.line);
                format!(" <a href=\"#f{file}l{line}\" title=\"line {line}\">&#8599;</a>")
            })
            .collect();
        let links = links.concat();
        let (mark, group) = (entry.mark.name(), entry.group.name());
        let sign = entry.mark.sign();
        let text = told(&entry.text());
        let written = write!(
            out,
            "<li class=\"{mark}\" data-group=\"{group}\" data-kind=\"{}\"><b>{sign} {group}</b> {text}{links}</li>",
            entry.name
        );
        debug_assert!(written.is_ok(), "writing to a string does not fail");
    }
    out.push_str("</ul>");
    out
}

/// A remark's text, with program text in back quotes as `<code>`.
fn told(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return escape(text);
    }
    let mut out = String::new();
    for (at, part) in parts.iter().enumerate() {
        let part = escape(part);
        if at % 2 == 0 {
            out.push_str(&part);
        } else {
            let code = ["<code>", &part, "</code>"];
            out.extend(code);
        }
    }
    out
}

/// Escapes text for HTML elements and attributes.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Other control characters are not valid in HTML.
            '\t' | '\n' => out.push(c),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
