//! The remarks as one self-contained HTML page: each file's source with the remarks beside its
//! lines. Buttons select groups, and so does the fragment of the page's URL
//! (`page.html#checks,copies`). Without JavaScript everything is shown.
//!
//! All program text goes through [`escape`].

use crate::forest;
use crate::remark::{Group, ShownRemark};
use crate::remarks::{File, Line, Remarks};
use std::collections::BTreeMap;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Returns the page.
pub fn page(remarks: &Remarks) -> String {
    let title = escape(&remarks.program);
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
    put(&format!("<title>{title}: optimisation remarks</title>"));
    put(&format!("<style>\n{STYLE}</style>"));
    put("</head>");
    put("<body>");
    put(&format!("<h1>{title}</h1>"));
    if !remarks.versions.is_empty() {
        let forest = escape(&forest::text(&remarks.versions));
        put(&format!(
            "<details><summary>Versions and the conditions that select them</summary><pre>{forest}</pre></details>"
        ));
    }
    put("<ul class=\"summary\">");
    for line in remarks.summary.lines() {
        put(&format!("<li>{}</li>", escape(&line)));
    }
    put("</ul>");
    put("<p class=\"filters\">");
    for group in Group::ALL {
        let (name, count) = (group.name(), count(remarks, group));
        put(&format!(
            "<button type=\"button\" data-group=\"{name}\" aria-pressed=\"true\">{name} ({count})</button>"
        ));
    }
    put("</p>");
    for file in &remarks.files {
        put(&format!("<h2>{}</h2>", escape(&file.name)));
        put(&table(remarks, file));
    }
    put(&format!("<script>\n{SCRIPT}</script>"));
    put("</body>");
    put("</html>");
    out
}

fn entries(remarks: &Remarks) -> impl Iterator<Item = &ShownRemark> {
    let lines = remarks.functions.iter().flat_map(|function| &function.lines);
    lines.flat_map(|line| &line.entries)
}

fn count(remarks: &Remarks, group: Group) -> usize {
    entries(remarks).filter(|entry| entry.group == group).count()
}

/// A file's lines with their remarks.
fn table(remarks: &Remarks, file: &File) -> String {
    let functions = remarks.functions.iter().filter(|function| function.file == file.id);
    let lines = functions.flat_map(|function| &function.lines);
    let lines: BTreeMap<u32, &Line> = lines.map(|line| (line.number, line)).collect();
    let mut out = String::from("<table>\n");
    for (text, number) in file.lines.iter().zip(1u32..) {
        let line = lines.get(&number).copied();
        let class = if line.is_some() { " class=\"has-remarks\"" } else { "" };
        let id = format!("f{}l{number}", file.id);
        let row = format!(
            "<tr id=\"{id}\"{class}><td class=\"number\">{number}</td><td class=\"source\"><code>{}</code></td><td class=\"remarks\">{}</td></tr>\n",
            escape(text),
            line.map_or_else(String::new, remark_list)
        );
        out.push_str(&row);
    }
    out.push_str("</table>");
    out
}

/// The remarks of a line, as a list.
fn remark_list(line: &Line) -> String {
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
        let (rating, group) = (entry.rating.name(), entry.group.name());
        let sign = entry.rating.sign();
        let text = with_code(&entry.text());
        let item = format!(
            "<li class=\"{rating}\" data-group=\"{group}\" data-kind=\"{}\"><b>{sign} {group}</b> {text}{links}</li>",
            entry.kind.name()
        );
        out.push_str(&item);
    }
    out.push_str("</ul>");
    out
}

/// A remark's text, with program text in back quotes as `<code>`.
fn with_code(text: &str) -> String {
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
