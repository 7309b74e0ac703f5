//! The report of all tests: a summary as text, and JSON.

use super::{LastStep, Options, Report};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// The number of causes of failure that are listed.
const CAUSES: usize = 30;

/// Returns counts, percentages, and causes of failure by frequency.
pub fn summary(reports: &[Report], options: &Options, time: Duration) -> String {
    let mut out = String::new();
    let mut line = |text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    let tested: Vec<&Report> = reports.iter().filter(|r| r.left_out.is_none()).collect();
    let failed = tested.iter().filter(|r| !r.failures.is_empty()).count();
    line(format!(
        "{} programs in {:.1} s: {} passed, {failed} failed, {} left out",
        reports.len(),
        time.as_secs_f64(),
        tested.len() - failed,
        reports.len() - tested.len()
    ));
    let wrong: Vec<&&Report> = tested.iter().filter(|r| r.to_reject).collect();
    let good: Vec<&&Report> = tested.iter().filter(|r| !r.to_reject).collect();
    if !wrong.is_empty() {
        let rejected = wrong.iter().filter(|r| r.rejected).count();
        line(format!("rejected           {}", share(rejected, wrong.len())));
        let right = wrong.iter().filter(|r| r.failures.is_empty()).count();
        line(format!("  as expected      {}", share(right, wrong.len())));
    }
    if !good.is_empty() {
        let count = |f: &dyn Fn(&Report) -> bool| good.iter().filter(|r| f(r)).count();
        line(format!("checked            {}", share(count(&|r| r.checked), good.len())));
        if matches!(options.depth, LastStep::Compile | LastStep::Run) {
            line(format!("compiled           {}", share(count(&|r| r.compiled), good.len())));
        }
    }
    let sum = |f: &dyn Fn(&Report) -> usize| tested.iter().map(|r| f(r)).sum::<usize>();
    if options.depth == LastStep::Structure {
        let (blocks, held) = (sum(&|r| r.structures), sum(&|r| r.passed_structures));
        line(format!("structures         {}", share(held, blocks)));
    }
    if options.depth == LastStep::Run {
        let (calls, passed) = (sum(&|r| r.calls), sum(&|r| r.passed));
        let skipped = sum(&|r| r.skipped);
        let mut notes = String::new();
        let unknown = sum(&|r| r.unknown);
        if unknown > 0 {
            notes = format!(", {unknown} of them not compared: too expensive for the interpreter");
        }
        if skipped > 0 {
            notes = format!("{notes}, {skipped} left out");
        }
        line(format!("calls              {}{notes}", share(passed, calls)));
        let (fail, right) = (sum(&|r| r.expected_failures), sum(&|r| r.passed_failures));
        if fail > 0 {
            line(format!("  that should fail {}", share(right, fail)));
        }
    }
    let mut causes: BTreeMap<String, usize> = BTreeMap::new();
    for (_, what) in reports.iter().flat_map(|report| &report.failures) {
        *causes.entry(normalise_message(what)).or_default() += 1;
    }
    let mut causes: Vec<(usize, String)> = causes.into_iter().map(|(c, n)| (n, c)).collect();
    causes.sort_by(|x, y| y.0.cmp(&x.0).then_with(|| x.1.cmp(&y.1)));
    if !causes.is_empty() {
        line("Causes of failure, by frequency:".to_owned());
    }
    let more = causes.len().saturating_sub(CAUSES);
    for (n, cause) in causes.into_iter().take(CAUSES) {
        line(format!("{n:6}  {cause}"));
    }
    if more > 0 {
        line(format!("        and {more} other causes"));
    }
    out
}

fn share(part: usize, whole: usize) -> String {
    let percent = if whole == 0 { 100.0 } else { 100.0 * part as f64 / whole as f64 };
    format!("{part} of {whole} ({percent:.1} %)")
}

/// Replaces quoted names and numbers in a message, so that equal causes in different programs
/// merge.
fn normalise_message(cause: &str) -> String {
    let cause = cause.lines().next().unwrap_or_default();
    let mut out = String::new();
    for (index, part) in cause.split('`').enumerate() {
        if index % 2 == 1 {
            out.push_str("`..`");
            continue;
        }
        let mut in_number = false;
        for c in part.chars() {
            if c.is_ascii_digit() {
                if !in_number {
                    out.push('N');
                }
                in_number = true;
            } else {
                in_number = false;
                out.push(c);
            }
        }
    }
    out.chars().take(160).collect()
}

/// Returns the reports as JSON text.
pub fn json(reports: &[Report], backend: &str) -> String {
    let programs: Vec<Value> = reports
        .iter()
        .map(|report| {
            let outcome = match (&report.left_out, report.failures.is_empty()) {
                (Some(_), _) => "left out",
                (None, true) => "passed",
                (None, false) => "failed",
            };
            let failures = report.failures.iter();
            let failures: Vec<Value> = failures
                .map(|(location, message)| json!({ "location": location, "message": message }))
                .collect();
            json!({
                "program": report.name,
                "outcome": outcome,
                "reason": report.left_out,
                "to_reject": report.to_reject,
                "rejected": report.rejected,
                "checked": report.checked,
                "compiled": report.compiled,
                "calls": report.calls,
                "passed": report.passed,
                "structures": report.structures,
                "passed_structures": report.passed_structures,
                "not_compared": report.unknown,
                "left_out": report.skipped,
                "failures": failures,
            })
        })
        .collect();
    let all = json!({ "backend": backend, "programs": programs });
    format!("{all:#}\n")
}
