//! The optimisation remarks of a compilation, by source line.
//!
//! A [`RemarkCollector`] collects decisions as passes record them. [`RemarkCollector::remarks`]
//! attributes each decision to the innermost source location of its inlining stack that is in a user
//! file; library frames are skipped. Equal remarks are merged; where several describe the same
//! operation, the last outcome counts:
//!
//! - a pair of combinators that was fused in the end is not reported as not fused;
//! - a check that remains in a loop is reported neither as removed nor as hoisted at that location;
//! - a loop with a vectorised version is not reported as having none.
//!
//! Unless all remarks are requested, those about library code only are omitted: fusion within one
//! call of a library function, checks outside loops.

use super::merge::merge_remarks;
use super::names::{SourceNames, UserSource};
use super::remark::{ShownRemark, remark};
use check::tast::Program;
use driver::{Ir, Observer, PassInfo, Remark};
use ir::forest::{ChoiceTrees, forest};
use ir::tunable::{Class, named};
use std::collections::BTreeMap;
use std::time::Duration;
use syntax::span::SourceMap;

/// The decisions of a compilation.
#[derive(Default)]
pub struct RemarkCollector {
    /// In the order of the passes.
    pub decisions: Vec<Remark>,
    /// The choices between versions that remain after pruning.
    versions: Vec<ChoiceTrees>,
    /// Size parameters (chunk and block sizes) and their defaults.
    sizes: BTreeMap<String, i64>,
}

impl Observer for RemarkCollector {
    fn pass(&mut self, pass: &PassInfo, _: Duration, ir: &Ir) {
        if let (LAST_PRUNING_PASS, Ir::Segs(program)) = (pass.name.as_str(), ir) {
            self.versions = forest(program);
        }
        if let (SIZES_PASS, Ir::Segs(program)) = (pass.name.as_str(), ir) {
            let named = named(program).into_iter();
            self.sizes = named
                .filter(|(_, tunable)| tunable.class == Class::Size)
                .map(|(name, tunable)| (name, tunable.default))
                .collect();
        }
    }

    fn decisions(&mut self, _: &PassInfo, decisions: &[Remark]) {
        self.decisions.extend_from_slice(decisions);
    }
}

/// The last pass that removes versions.
const LAST_PRUNING_PASS: &str = "prune-versions";
/// The pass that introduces size parameters.
const SIZES_PASS: &str = "grain-sizes";

/// The filter of remarks.
pub struct Filter<'a> {
    /// If given, only this function of the source.
    pub function: Option<&'a str>,
    /// True to include remarks about library code.
    pub all: bool,
}

/// The remarks of a program.
pub struct Remarks {
    /// The program's file.
    pub program: String,
    /// Remarks by function, in the order of files and lines.
    pub functions: Vec<Function>,
    /// The user's files.
    pub files: Vec<File>,
    /// The choices between versions, by function of the program.
    pub versions: Vec<ChoiceTrees>,
    /// Counts of remarks.
    pub summary: Summary,
}

/// A user file.
pub struct File {
    /// The file's index in the source map.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Its lines.
    pub lines: Vec<String>,
}

/// A source definition.
pub struct Function {
    /// Its name.
    pub name: String,
    /// The file's index.
    pub file: u32,
    /// The line of the definition's name.
    pub line: u32,
    /// The lines that have remarks.
    pub lines: Vec<Line>,
}

/// A source line and its remarks.
pub struct Line {
    /// Its number.
    pub number: u32,
    /// Its text.
    pub text: String,
    /// The remarks.
    pub entries: Vec<ShownRemark>,
}

/// Counts of remarks.
#[derive(Default)]
pub struct Summary {
    /// Pairs of combinators that were fused.
    pub fused: usize,
    /// Pairs that were not fused.
    pub not_fused: usize,
    /// Loops that run as tasks.
    pub tasks: usize,
    /// Operations that run on the device.
    pub kernels: usize,
    /// Operations of a device program that run on the host.
    pub on_host: usize,
    /// Combinators that are sequential loops.
    pub sequential: usize,
    /// Operations with a loop that runs in vector lanes.
    pub lanes: usize,
    /// Checks that were removed.
    pub removed: usize,
    /// Checks in parallel loops.
    pub in_parallel: usize,
    /// Checks in other loops.
    pub in_loops: usize,
    /// Copies.
    pub copies: usize,
}

impl RemarkCollector {
    /// The choices between versions that remain after pruning.
    pub fn versions(&self) -> &[ChoiceTrees] {
        &self.versions
    }

    /// Size parameters and their defaults.
    pub fn sizes(&self) -> &BTreeMap<String, i64> {
        &self.sizes
    }

    /// Returns the remarks for the user.
    ///
    /// # Errors
    /// No user function has the requested name.
    pub fn remarks(
        &self,
        program: &Program,
        sources: &SourceMap,
        name: &str,
        filter: &Filter<'_>,
    ) -> Result<Remarks, String> {
        let source = UserSource::new(program, sources);
        if let Some(function) = filter.function
            && !source.has_function(function)
        {
            return Err(format!("the program has no function `{function}`"));
        }
        let user = SourceNames::new(&source, &self.decisions);
        let entries = self.decisions.iter();
        let entries = entries.filter_map(|decision| remark(decision, &user, filter.all));
        let mut by_line: BTreeMap<(u32, u32), Vec<ShownRemark>> = BTreeMap::new();
        for entry in merge_remarks(entries.collect(), filter.all) {
            let line = (entry.span.file, entry.span.line);
            by_line.entry(line).or_default().push(entry);
        }
        let mut functions: Vec<Function> = Vec::new();
        for ((file, number), mut entries) in by_line {
            let (name, line) = source.function_at(file, number);
            if filter.function.is_some_and(|function| function != name) {
                continue;
            }
            entries.sort_by(|a, b| (a.key(), a.group).cmp(&(b.key(), b.group)));
            let remarked = Line { number, text: source.line(file, number).to_owned(), entries };
            match functions.last_mut() {
                Some(last) if last.file == file && last.line == line => last.lines.push(remarked),
                _ => functions.push(Function { name: name.to_owned(), file, line, lines: vec![remarked] }),
            }
        }
        let versions = self.versions.iter();
        let is_reported =
            |trees: &&ChoiceTrees| filter.function.is_none_or(|function| *trees.function.0 == *function);
        Ok(Remarks {
            versions: versions.filter(is_reported).cloned().collect(),
            program: name.to_owned(),
            summary: Summary::of(&functions),
            files: source.files(name, &functions),
            functions,
        })
    }
}

impl Summary {
    fn of(functions: &[Function]) -> Self {
        let mut summary = Self::default();
        let lines = functions.iter().flat_map(|function| &function.lines);
        for entry in lines.flat_map(|line| &line.entries) {
            let count = match entry.name {
                "fused" | "computed-again" | "computed-together" => &mut summary.fused,
                "not-fused" => &mut summary.not_fused,
                "tasks" => &mut summary.tasks,
                "kernels" => &mut summary.kernels,
                "on-host" => &mut summary.on_host,
                "sequential" => &mut summary.sequential,
                "lanes" => &mut summary.lanes,
                "check-removed" => &mut summary.removed,
                "check-in-parallel-loop" => &mut summary.in_parallel,
                "check-in-loop" => &mut summary.in_loops,
                "copied" => &mut summary.copies,
                _ => continue,
            };
            *count += 1;
        }
        summary
    }

    /// The counts as text, one per line.
    pub fn lines(&self) -> Vec<String> {
        let Self {
            fused,
            not_fused,
            tasks,
            kernels,
            on_host,
            sequential,
            lanes,
            removed,
            in_parallel,
            in_loops,
            copies,
        } = self;
        let pairs = fused + not_fused;
        let loops = if kernels + on_host > 0 {
            format!("loops: {kernels} run on the device, {on_host} on the host, {sequential} sequentially")
        } else {
            format!("loops: {tasks} run as tasks, {sequential} sequentially; {lanes} vectorised")
        };
        vec![
            format!("fusion: {fused} of {pairs} pairs of combinators fused"),
            loops,
            format!(
                "checks: {in_parallel} remain in parallel loops, {in_loops} in other loops; {removed} removed"
            ),
            format!("copies: {copies}"),
        ]
    }
}
