//! The recorded metrics, `docs/metrics.csv`: a row per value, in the order of recording.

use std::fmt::Write as _;

/// The first line of the file.
const HEADER: &str = "version,date,commit,metric,subject,value,unit";

/// The origin of values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// The version of the workspace.
    pub version: String,
    /// The day of recording.
    pub date: String,
    /// The commit, with `+` if sources were changed since; empty without git.
    pub commit: String,
}

/// A recorded value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    pub record: Record,
    pub metric: String,
    /// A crate, a program or a tier of tests.
    pub subject: String,
    /// The value; `None` if it was not measured.
    pub value: Option<u64>,
    pub unit: String,
}

/// Reads the file's text; an empty text has no rows. The error names the line.
pub fn read(text: &str) -> Result<Vec<Row>, String> {
    let mut lines = text.lines();
    match lines.next() {
        None => return Ok(Vec::new()),
        Some(HEADER) => {}
        Some(_) => return Err(format!("line 1: expected `{HEADER}`")),
    }
    (2..).zip(lines).map(|(number, line)| row(line).map_err(|e| format!("line {number}: {e}"))).collect()
}

fn row(line: &str) -> Result<Row, String> {
    let fields: Vec<&str> = line.split(',').collect();
    let &[version, date, commit, metric, subject, value, unit] = fields.as_slice() else {
        return Err(format!("{} fields, expected 7", fields.len()));
    };
    let value = match value {
        "" => None,
        digits => Some(digits.parse().map_err(|_| format!("`{digits}` is not a number"))?),
    };
    let record = Record { version: version.to_owned(), date: date.to_owned(), commit: commit.to_owned() };
    Ok(Row { record, metric: metric.to_owned(), subject: subject.to_owned(), value, unit: unit.to_owned() })
}

/// Returns the file's text. No field contains a comma or a line break.
pub fn show(rows: &[Row]) -> String {
    let mut out = format!("{HEADER}\n");
    for Row { record, metric, subject, value, unit } in rows {
        let Record { version, date, commit } = record;
        let value = value.map(|value| value.to_string()).unwrap_or_default();
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{version},{date},{commit},{metric},{subject},{value},{unit}");
    }
    out
}

/// Replaces the rows of a version by `new` rows of it, or appends these. The order of versions is
/// kept.
pub fn replaced(mut rows: Vec<Row>, new: Vec<Row>) -> Vec<Row> {
    let same = |row: &Row| new.first().is_some_and(|new| new.record.version == row.record.version);
    let at = rows.iter().position(same).unwrap_or(rows.len());
    rows.retain(|row| !same(row));
    rows.splice(at..at, new);
    rows
}

/// Returns the recorded versions, in the order of recording.
pub fn versions(rows: &[Row]) -> Vec<&Record> {
    let mut found: Vec<&Record> = Vec::new();
    for row in rows {
        if !found.iter().any(|record| record.version == row.record.version) {
            found.push(&row.record);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "version,date,commit,metric,subject,value,unit
0.1.0,2026-01-02,abc,code,prim,10,lines
0.1.0,2026-01-02,abc,test time,all,,seconds
0.2.0,2026-02-03,def+,code,prim,20,lines
";

    fn value(version: &str, value: u64) -> Row {
        let record =
            Record { version: version.to_owned(), date: "2026-03-04".to_owned(), commit: "fed".to_owned() };
        let (metric, subject, unit) = ("code".to_owned(), "ir".to_owned(), "lines".to_owned());
        Row { record, metric, subject, value: Some(value), unit }
    }

    #[test]
    fn text_and_rows_correspond() {
        let rows = read(TEXT).expect("valid rows");
        assert_eq!(show(&rows), TEXT);
        assert_eq!((rows[0].value, rows[1].value), (Some(10), None));
        assert_eq!(read(""), Ok(Vec::new()));
        for (from, to, expected) in [
            ("version", "name", "line 1: expected"),
            (",10,", ",1.5,", "line 2: `1.5` is not a number"),
            (",all", "", "line 3: 6 fields, expected 7"),
        ] {
            let error = read(&TEXT.replacen(from, to, 1)).expect_err("damaged");
            assert!(error.starts_with(expected), "{expected}: {error}");
        }
    }

    #[test]
    fn rows_of_the_same_version_are_replaced() {
        let old = read(TEXT).expect("valid rows");
        let rows = replaced(old.clone(), vec![value("0.1.0", 1), value("0.1.0", 2), value("0.1.0", 3)]);
        let summary: Vec<_> = rows.iter().map(|row| (&*row.record.version, row.value)).collect();
        assert_eq!(
            summary,
            [("0.1.0", Some(1)), ("0.1.0", Some(2)), ("0.1.0", Some(3)), ("0.2.0", Some(20))]
        );
        let names: Vec<_> = versions(&rows).iter().map(|record| &*record.commit).collect();
        assert_eq!(names, ["fed", "def+"]);
        let rows = replaced(old.clone(), vec![value("0.3.0", 1)]);
        assert_eq!(rows[..3], old[..]);
        assert_eq!(rows[3], value("0.3.0", 1));
        assert_eq!(replaced(Vec::new(), vec![value("0.1.0", 1)]).len(), 1);
    }
}
