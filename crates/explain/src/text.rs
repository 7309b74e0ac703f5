//! The remarks as terminal output: each source line with its remarks below.

use crate::forest;
use crate::lines::Terminal;
use crate::remark::ShownRemark;
use crate::remarks::Remarks;

/// Returns the remarks as text, with ANSI colours if `colour` is set.
pub fn text(remarks: &Remarks, colour: bool) -> String {
    let mut lines = Terminal::new(colour);
    for function in &remarks.functions {
        let file = remarks.file_name(function.file);
        let title = if function.name.is_empty() {
            file.to_owned()
        } else {
            format!("{} ({file}:{})", function.name, function.line)
        };
        lines.title(&title);
        for line in &function.lines {
            lines.source(line.number, &line.text);
            let mut subject = None;
            let first = line.entries.first().map(ShownRemark::key);
            let several = (line.entries.iter())
                .any(|entry| entry.library_function.is_some() || Some(entry.key()) != first);
            for entry in &line.entries {
                if several && subject != Some(entry.key()) {
                    subject = Some(entry.key());
                    lines.put(format!("      {}", entry.title()));
                }
                let sign = lines.sign(entry.rating.sign());
                let indent = if several { 8 } else { 6 };
                let group = entry.group.name();
                lines.put(format!("{:indent$}{sign} {group}: {}", "", entry.short()));
            }
        }
        lines.put("");
    }
    if !remarks.versions.is_empty() {
        lines.title("versions and the conditions that select them");
        for line in forest::text(&remarks.versions).lines() {
            lines.put(format!("  {line}"));
        }
        lines.put("");
    }
    for line in remarks.summary.lines() {
        lines.put(line);
    }
    lines.finish()
}
