//! The remarks as JSON. `docs/src/explain.md` documents the format. `version` is incremented by
//! changes that a reader of an older version would misread.

use super::account::{Account, File, Summary};
use super::entry::Entry;
use crate::forest;
use driver::decision::{Around, Copied, Kind, Runs, Sequential};
use ir::SrcLoc;
use serde_json::{Map, Value, json};

/// The version of the format.
const VERSION: u32 = 1;

/// Returns the remarks as JSON text.
pub fn json(account: &Account) -> String {
    let functions: Vec<Value> = account
        .functions
        .iter()
        .map(|function| {
            let lines = function.lines.iter().map(|line| {
                let entries: Vec<Value> =
                    (line.entries.iter()).map(|entry| one(entry, &account.files)).collect();
                json!({ "line": line.number, "text": line.text, "entries": entries })
            });
            json!({
                "name": function.name,
                "file": file(function.file, &account.files),
                "line": function.line,
                "lines": lines.collect::<Vec<Value>>(),
            })
        })
        .collect();
    let Summary {
        fused,
        apart,
        tasks,
        kernels,
        on_host,
        sequential,
        lanes,
        removed,
        in_parallel,
        in_loops,
        copies,
    } = account.summary;
    let whole = json!({
        "version": VERSION,
        "program": account.program,
        "functions": functions,
        "versions": forest::data(&account.versions),
        "summary": {
            "fused": fused,
            "not_fused": apart,
            "tasks": tasks,
            "kernels": kernels,
            "on_host": on_host,
            "sequential": sequential,
            "lanes": lanes,
            "checks_removed": removed,
            "checks_in_parallel_loops": in_parallel,
            "checks_in_loops": in_loops,
            "copies": copies,
        },
    });
    format!("{whole:#}\n")
}

fn file(id: u32, files: &[File]) -> &str {
    let found = files.iter().find(|file| file.id == id);
    found.map_or("", |file| &file.name)
}

fn place(loc: SrcLoc, files: &[File]) -> Value {
    json!({
        "file": file(loc.file, files),
        "line": loc.line,
        "column": loc.col,
        "end_line": loc.end_line,
        "end_column": loc.end_col,
    })
}

fn one(entry: &Entry, files: &[File]) -> Value {
    let others: Vec<Value> = entry.others.iter().map(|loc| place(*loc, files)).collect();
    json!({
        "kind": entry.name,
        "group": entry.group.name(),
        "mark": entry.mark.name(),
        "subject": entry.subject,
        "inside": entry.within,
        "text": entry.text(),
        "place": place(entry.place, files),
        "others": others,
        "times": entry.times,
        "data": data(&entry.kind),
    })
}

/// The decision's own data.
fn data(kind: &Kind) -> Value {
    let why = |text: String| json!({ "why": text });
    match kind {
        Kind::Fused { .. }
        | Kind::Again { .. }
        | Kind::Together { .. }
        | Kind::TurnedInside(_)
        | Kind::Counted { .. }
        | Kind::Version { .. }
        | Kind::Hoisted => Value::Object(Map::new()),
        Kind::Unneeded(what) => json!({ "what": what.to_string() }),
        Kind::Apart { why: reason, .. } => why(word(reason)),
        Kind::Inlined(function) | Kind::InPlace(function) | Kind::SharedInstance(function) => {
            json!({ "function": &**function })
        }
        Kind::Called(function, reason) => {
            json!({ "function": &**function, "why": word(reason) })
        }
        Kind::Instance { of, instance, takes_functions } => json!({
            "function": &**of,
            "instance": &**instance,
            "takes_functions": takes_functions,
        }),
        Kind::Lanes { lanes, gain, .. } => json!({
            "lanes": lanes,
            "cycles_in_lanes": gain.vector,
            "cycles_without": gain.scalar,
        }),
        Kind::NoLanes { why: reason, .. } => why(word(reason)),
        Kind::Runs { what, how, .. } => match how {
            Runs::Tasks { decomp, versions } => json!({
                "what": what.to_string(),
                "least_points": decomp.grain,
                "most_tasks": decomp.max_chunks,
                "updates": decomp.writes,
                "versions": versions,
            }),
            Runs::Kernels { in_block, versions } => json!({
                "what": what.to_string(),
                "in_block": in_block,
                "versions": versions,
            }),
            Runs::Shared { guarded, .. } => {
                json!({ "what": what.to_string(), "versions": guarded })
            }
            Runs::Loop(reason) => json!({
                "what": what.to_string(),
                "why": match reason {
                    Sequential::Inside(_) => "inside",
                    Sequential::Asked => "asked",
                    Sequential::ArrayOperator => "array-operator",
                },
            }),
        },
        Kind::VersionGone { rule, why } => {
            json!({ "rule": rule.name(), "why": word(why) })
        }
        Kind::OnHost { what, why } => json!({ "what": word(what), "why": &**why }),
        Kind::NoVersions { most } => json!({ "most": most }),
        Kind::CheckGone { check, why } => {
            json!({ "check": word(check), "why": word(why) })
        }
        Kind::CheckMoved(check) => json!({ "check": word(check) }),
        Kind::CheckLeft { check, inside } => json!({
            "check": word(check),
            "inside": match inside {
                Around::Nothing => "nothing",
                Around::Loop(_) => "loop",
                Around::Parallel(_) => "parallel-loop",
            },
        }),
        Kind::Copied { array, why } => json!({
            "array": &**array,
            "why": word(why),
            "keeps": match why {
                Copied::Parameter(name)
                | Copied::Around(name)
                | Copied::UsedLater { array: name, .. } => Some(&**name),
                Copied::Result
                | Copied::Argument
                | Copied::Joined
                | Copied::Part
                | Copied::Exchanged
                | Copied::Reshaped
                | Copied::Asked => None,
            },
        }),
    }
}

/// The name of a variant in kebab case.
fn word(variant: &impl std::fmt::Debug) -> String {
    let text = format!("{variant:?}");
    let name: &str = text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or("");
    let mut out = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !out.is_empty() {
            out.push('-');
        }
        out.extend(c.to_lowercase());
    }
    out
}
