//! The remarks as JSON. `docs/src/explain.md` documents the format. `version` is incremented by
//! changes that a reader of an older version would misread.

use crate::forest;
use crate::remark::ShownRemark;
use crate::remarks::Remarks;
use driver::remark::{CopyReason, DerivativeStep, EnclosingLoop, Execution, RemarkKind, Sequential};
use ir::SrcLoc;
use serde_json::{Map, Value, json};

/// The version of the format.
const VERSION: u32 = 2;

/// Returns the remarks as JSON text.
pub fn json(remarks: &Remarks) -> String {
    let functions: Vec<Value> = remarks
        .functions
        .iter()
        .map(|function| {
            let lines = function.lines.iter().map(|line| {
                let entries: Vec<Value> =
                    (line.entries.iter()).map(|entry| remark_value(entry, remarks)).collect();
                json!({ "line": line.number, "text": line.text, "entries": entries })
            });
            json!({
                "name": function.name,
                "file": remarks.file_name(function.file),
                "line": function.line,
                "lines": lines.collect::<Vec<Value>>(),
            })
        })
        .collect();
    let summary = remarks.summary.counts().map(|(name, count)| (name.to_owned(), json!(count)));
    let whole = json!({
        "version": VERSION,
        "program": remarks.program,
        "functions": functions,
        "versions": forest::data(&remarks.versions),
        "summary": summary.collect::<Map<_, _>>(),
    });
    format!("{whole:#}\n")
}

/// A location in the file of this name.
pub fn location(loc: SrcLoc, file: &str) -> Value {
    json!({
        "file": file,
        "line": loc.line,
        "column": loc.col,
        "end_line": loc.end_line,
        "end_column": loc.end_col,
    })
}

fn remark_value(entry: &ShownRemark, remarks: &Remarks) -> Value {
    let at = |loc: SrcLoc| location(loc, remarks.file_name(loc.file));
    let related: Vec<Value> = entry.related.iter().map(|loc| at(*loc)).collect();
    json!({
        "kind": entry.kind.name(),
        "group": entry.group.name(),
        "mark": entry.rating.name(),
        "subject": entry.subject,
        "inside": entry.library_function,
        "text": entry.text(),
        "location": at(entry.span),
        "others": related,
        "times": entry.times,
        "data": data(&entry.kind),
    })
}

/// The decision's own data.
fn data(kind: &RemarkKind) -> Value {
    let why = |text: String| json!({ "why": text });
    match kind {
        RemarkKind::Fused { .. }
        | RemarkKind::Recomputed { .. }
        | RemarkKind::FusedHorizontally { .. }
        | RemarkKind::LoopInterchanged(_)
        | RemarkKind::Loop { .. }
        | RemarkKind::Version { .. }
        | RemarkKind::Hoisted
        | RemarkKind::Packed => Value::Object(Map::new()),
        RemarkKind::Derivative(step) => match step {
            DerivativeStep::SavesValues { variable, tape }
            | DerivativeStep::SavesReads { variable, tape } => {
                json!({ "step": kebab_case(step), "variable": &**variable, "tape": &**tape })
            }
            DerivativeStep::Sums(array) | DerivativeStep::Accumulates(array) => {
                json!({ "step": kebab_case(step), "variable": &**array })
            }
            DerivativeStep::Segments(limit) => json!({ "step": "segments", "bytes": limit }),
            DerivativeStep::CountsIterations
            | DerivativeStep::RunsAgain
            | DerivativeStep::Gathers
            | DerivativeStep::RecordsUpdates
            | DerivativeStep::Shares
            | DerivativeStep::Recomputes => json!({ "step": kebab_case(step) }),
        },
        RemarkKind::Composed { iterations, .. } => json!({ "iterations": iterations }),
        RemarkKind::DeadRemoved(what) => json!({ "what": what.to_string() }),
        RemarkKind::NotFused { why: reason, .. } => why(kebab_case(reason)),
        RemarkKind::Inlined(function)
        | RemarkKind::EvaluatedAtCall(function)
        | RemarkKind::SpecialisationReused(function) => {
            json!({ "function": &**function })
        }
        RemarkKind::NotInlined(function, reason) => {
            json!({ "function": &**function, "why": kebab_case(reason) })
        }
        RemarkKind::Specialised { of, instance, takes_functions } => json!({
            "function": &**of,
            "instance": &**instance,
            "takes_functions": takes_functions,
        }),
        RemarkKind::Vectorised { lanes, gain, .. } => json!({
            "lanes": lanes,
            "cycles_in_lanes": gain.vector,
            "cycles_without": gain.scalar,
        }),
        RemarkKind::Tiled { rows, columns, .. } => json!({ "rows": rows, "columns": columns }),
        RemarkKind::NotVectorised { why: reason, .. } => why(kebab_case(reason)),
        RemarkKind::Executes { what, how, .. } => match how {
            Execution::Tasks { decomp, versions } => json!({
                "what": what.to_string(),
                "grain_size": decomp.grain_size,
                "max_tasks": decomp.max_chunks,
                "updates": decomp.updates_per_iteration,
                "versions": versions,
            }),
            Execution::Kernels { in_block, versions } => json!({
                "what": what.to_string(),
                "in_block": in_block,
                "versions": versions,
            }),
            Execution::InnerLanes { guarded, .. } => {
                json!({ "what": what.to_string(), "versions": guarded })
            }
            Execution::Loop(reason) => json!({
                "what": what.to_string(),
                "why": match reason {
                    Sequential::Inside(_) => "inside",
                    Sequential::Attribute => "attribute",
                    Sequential::ArrayOperator => "array-operator",
                },
            }),
        },
        RemarkKind::VersionPruned { rule, why } => {
            json!({ "rule": rule.name(), "why": kebab_case(why) })
        }
        RemarkKind::OnHost { what, why } => json!({ "what": kebab_case(what), "why": why.to_string() }),
        RemarkKind::ChoicesTooDeep { most } => json!({ "most": most }),
        RemarkKind::CheckRemoved { check, why } => {
            json!({ "check": kebab_case(check), "why": kebab_case(why) })
        }
        RemarkKind::CheckHoisted(check) => json!({ "check": kebab_case(check) }),
        RemarkKind::CheckRemains { check, inside } => json!({
            "check": kebab_case(check),
            "inside": match inside {
                EnclosingLoop::Nothing => "nothing",
                EnclosingLoop::Loop(_) => "loop",
                EnclosingLoop::Parallel(_) => "parallel-loop",
            },
        }),
        RemarkKind::NestWork(work) => json!({
            "f32": &*work.single,
            "f64": &*work.double,
            "integer": &*work.integer,
            "bytes_read": &*work.read,
            "bytes_written": &*work.written,
            "may_be_more": work.more,
            "may_be_less": work.less,
            "bound": work.bound.as_ref().map(kebab_case),
        }),
        RemarkKind::Copied { array, why } => json!({
            "array": &**array,
            "why": kebab_case(why),
            "preserved": match why {
                CopyReason::Parameter(name)
                | CopyReason::FromOutside(name)
                | CopyReason::UsedLater { array: name, .. } => Some(&**name),
                CopyReason::Result
                | CopyReason::Argument
                | CopyReason::ControlFlowMerge
                | CopyReason::PartOfResult
                | CopyReason::LoopValuesOverlap
                | CopyReason::Reshaped
                | CopyReason::Requested => None,
            },
        }),
    }
}

/// The name of a variant in kebab case.
fn kebab_case(variant: &impl std::fmt::Debug) -> String {
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
