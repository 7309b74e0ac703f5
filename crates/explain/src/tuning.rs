//! The versions that each nest runs on each data set with a tuning file, the speedup over the next
//! best versions, and the versions with the defaults.
//!
//! The remaining choices come from the compiler, as for the remarks; sizes and times come from the
//! record that tuning leaves beside the tuning file. Nothing is executed.

mod nests;
mod record;
mod show;

use crate::names::UserSource;
use crate::remarks::RemarkCollector;
use check::tast::Program;
use driver::Options;
use driver::tuning::{tblock_size, value_of, warnings};
use ir::forest::Node;
use nests::nests;
pub use record::{DataSet, Record, Run, Sizes};
use runtime::tuning_params::{Assignment, THREAD_BLOCK_SIZE};
use std::collections::BTreeMap;
use syntax::span::SourceMap;

/// The parameters of a report.
pub struct Request<'a> {
    /// The program's file.
    pub program: String,
    /// The measurements.
    pub record: &'a Record,
    /// The record's file.
    pub record_name: String,
    /// The values in the tuning file.
    pub given: &'a [Assignment],
    /// True for a device program, whose device may determine defaults.
    pub on_device: bool,
    /// If given, only this function.
    pub function: Option<&'a str>,
    /// True for JSON, false for text.
    pub json: bool,
    /// True if text has colours.
    pub colour: bool,
}

/// Returns the report, and warnings about mismatches of program, record and tuning file.
///
/// # Errors
/// A value is invalid, or there is no such function.
pub fn explain(
    request: Request<'_>,
    collector: &RemarkCollector,
    program: &Program,
    sources: &SourceMap,
) -> Result<(String, Vec<String>), String> {
    let Request { record, given, .. } = request;
    let source = UserSource::new(program, sources);
    source.require(request.function)?;
    let mut defaults = BTreeMap::new();
    for trees in collector.versions(None) {
        trees.roots.iter().for_each(|node| params(node, &mut defaults));
    }
    if request.on_device {
        // The device's capacity may have determined the default.
        for (name, default) in &mut defaults {
            *default = record.default(name).unwrap_or(*default);
        }
    }
    let warnings = mismatches(&request, &defaults, collector.sizes());
    let value = |name: &str| {
        let default = defaults.get(name).copied();
        value_of(given, name).or(default).unwrap_or(i64::MAX)
    };
    let mut sizes = changed_sizes(collector.sizes(), given);
    if request.on_device {
        let default = Options::default().device.block;
        let changed = tblock_size(given)?.filter(|block| *block != default);
        sizes.extend(changed.map(|block| (THREAD_BLOCK_SIZE.to_owned(), default, block)));
    }
    let report = show::Report {
        program: request.program,
        nests: nests(collector.versions(request.function), record, &value),
        custom: record.custom().map(|name| (name.clone(), value_of(given, name))).collect(),
        sizes,
        record,
        source: &source,
        value: &value,
    };
    Ok((if request.json { report.json() } else { report.text(request.colour) }, warnings))
}

/// Collects the parameters below a node and their defaults.
fn params(node: &Node, out: &mut BTreeMap<String, i64>) {
    match node {
        Node::Choice(choice) => {
            out.insert(choice.name.clone(), choice.tunable.default);
            let all = choice.if_true.iter().chain(&choice.if_false);
            all.for_each(|node| params(node, out));
        }
        Node::Version(version) => version.inside.iter().for_each(|node| params(node, out)),
    }
}

/// Warnings about mismatches between program, record and tuning file.
fn mismatches(
    request: &Request<'_>,
    defaults: &BTreeMap<String, i64>,
    sizes: &BTreeMap<String, i64>,
) -> Vec<String> {
    let record = request.record;
    let changed = |(name, default): &(&String, &i64)| {
        let before = record.defaults.get(*name);
        before.is_none_or(|before| *before != Some(**default))
    };
    let outdated = defaults.iter().find(changed).map(|(name, _)| {
        format!(
            "warning: {} is for another program or compiler version: it lacks `{name}` or has \
             another default for it; tune again",
            request.record_name
        )
    });
    let known = defaults.keys().chain(sizes.keys()).chain(record.custom());
    let unknown = warnings(&known.map(String::as_str).collect(), request.given);
    outdated.into_iter().chain(unknown).collect()
}

/// Size parameters that the tuning file changes: name, default, value.
fn changed_sizes(sizes: &BTreeMap<String, i64>, given: &[Assignment]) -> Vec<(String, i64, i64)> {
    let changed = sizes.iter().filter_map(|(name, default)| {
        let value = value_of(given, name).filter(|value| value != default)?;
        Some((name.clone(), *default, value))
    });
    changed.collect()
}
