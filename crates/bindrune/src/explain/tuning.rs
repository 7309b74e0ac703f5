//! `bindrune explain --tuning`: the versions that each nest runs on each data set with the tuning
//! file beside the program, the speedup over the next best versions, and the versions with the
//! defaults.
//!
//! The remaining choices come from the compiler, as for the rest of `explain`; sizes and times come
//! from the record that `bindrune tune` leaves beside the tuning file. Nothing is executed.

mod nests;
mod record;
mod show;

use super::names::UserSource;
use super::remarks::RemarkCollector;
use crate::common;
use crate::tuning::{record_extension, tblock_size, tuning_file, warn_of_former_names, warnings};
use check::tast::Program;
use driver::Options;
use ir::forest::{ChoiceTrees, Node};
use nests::nests;
use record::Record;
use runtime::tuning_params::{Assignment, THREAD_BLOCK_SIZE, read_file};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use syntax::span::SourceMap;

/// The parameters of a report.
pub struct Request<'a> {
    /// The program's file.
    pub file: &'a Path,
    /// The tuning file's extension.
    pub extension: &'a OsStr,
    /// The measurements.
    pub record: &'a Record,
    /// True for a device program, whose device may determine defaults.
    pub on_device: bool,
    /// If given, only this function.
    pub function: Option<&'a str>,
    /// True for JSON, false for text.
    pub json: bool,
    /// True if text has colours.
    pub colour: bool,
}

/// Reads the record beside a program's tuning file with this extension.
///
/// # Errors
/// There is no record, or it is invalid.
pub fn record(file: &Path, extension: &OsStr) -> Result<Record, String> {
    let path = tuning_file(file, &record_extension(extension));
    if !path.exists() {
        return Err(format!(
            "there is no tuning record {}; `bindrune tune {}` writes one",
            path.display(),
            file.display()
        ));
    }
    Record::read(&path)
}

/// Returns the report.
///
/// # Errors
/// The tuning file is invalid, or there is no such function.
pub fn explain(
    request: &Request<'_>,
    collector: &RemarkCollector,
    program: &Program,
    sources: &SourceMap,
) -> Result<String, String> {
    let record = request.record;
    let file = tuning_file(request.file, request.extension);
    let given = if file.exists() {
        let given = read_file(&file)?;
        warn_of_former_names(&given);
        given
    } else {
        common::note(&format!(
            "warning: there is no tuning file {}; the report shows the defaults",
            file.display()
        ));
        Vec::new()
    };
    let source = UserSource::new(program, sources);
    if let Some(function) = request.function
        && !source.has_function(function)
    {
        return Err(format!("the program has no function `{function}`"));
    }
    let forest = collector.versions();
    let mut defaults = BTreeMap::new();
    for trees in forest {
        trees.roots.iter().for_each(|node| params(node, &mut defaults));
    }
    if request.on_device {
        // The device's capacity may have determined the default.
        for (name, default) in &mut defaults {
            *default = record.default(name).unwrap_or(*default);
        }
    }
    let path = tuning_file(request.file, &record_extension(request.extension));
    warn_mismatches(&path, record, (&defaults, collector.sizes()), &given);
    let value = |name: &str| {
        let default = defaults.get(name).copied();
        last_assignment(&given, name).or(default).unwrap_or(i64::MAX)
    };
    let reported: Vec<ChoiceTrees> = forest
        .iter()
        .filter(|trees| request.function.is_none_or(|name| *trees.function.0 == *name))
        .cloned()
        .collect();
    let mut sizes = changed_sizes(collector.sizes(), &given);
    if request.on_device {
        let default = Options::default().device.block;
        let changed = tblock_size(&given)?.filter(|block| *block != default);
        sizes.extend(changed.map(|block| (THREAD_BLOCK_SIZE.to_owned(), default, block)));
    }
    let report = show::Report {
        program: request.file.display().to_string(),
        nests: nests(&reported, record, &value),
        custom: custom_parameters(record, &given),
        sizes,
        record,
        source: &source,
        value: &value,
    };
    Ok(if request.json { report.json() } else { report.text(request.colour) })
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

/// Warns about mismatches between program, record and tuning file.
fn warn_mismatches(
    path: &Path,
    record: &Record,
    (defaults, sizes): (&BTreeMap<String, i64>, &BTreeMap<String, i64>),
    given: &[Assignment],
) {
    let changed = |(name, default): &(&String, &i64)| {
        let before = record.defaults.get(*name);
        before.is_none_or(|before| *before != Some(**default))
    };
    if let Some((name, _)) = defaults.iter().find(changed) {
        common::note(&format!(
            "warning: {} is for another program or compiler version: it lacks `{name}` or has \
             another default for it; tune again",
            path.display()
        ));
    }
    let custom = record.defaults.iter().filter(|(_, default)| default.is_none());
    let known = defaults.keys().chain(sizes.keys());
    let known = known.chain(custom.map(|(name, _)| name));
    for line in warnings(&known.map(String::as_str).collect(), given) {
        common::note(&line);
    }
}

/// The program's custom parameters, and their values in the tuning file.
fn custom_parameters(record: &Record, given: &[Assignment]) -> Vec<(String, Option<i64>)> {
    let custom = record.defaults.iter().filter(|(_, default)| default.is_none());
    custom.map(|(name, _)| (name.clone(), last_assignment(given, name))).collect()
}

/// Size parameters that the tuning file changes: name, default, value.
fn changed_sizes(sizes: &BTreeMap<String, i64>, given: &[Assignment]) -> Vec<(String, i64, i64)> {
    let given = |name: &String| last_assignment(given, name);
    let changed = sizes.iter().filter_map(|(name, default)| {
        let value = given(name).filter(|value| value != default)?;
        Some((name.clone(), *default, value))
    });
    changed.collect()
}

/// The value that applies to a parameter: the last assignment.
fn last_assignment(given: &[Assignment], name: &str) -> Option<i64> {
    let last = given.iter().rev().find(|given| given.name == name);
    last.map(|given| given.value)
}
