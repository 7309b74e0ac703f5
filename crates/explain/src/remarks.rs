//! The optimisation remarks of a compilation, by source line.
//!
//! A [`RemarkCollector`] collects decisions as passes record them. [`RemarkCollector::remarks`]
//! attributes each decision to the innermost source location of its inlining stack that is in a user
//! file; library frames are skipped. Equal remarks are merged. Of several about one subject of one
//! operation, those of the highest precedence stand ([`RemarkKind::precedence`]).
//!
//! Unless all remarks are requested, those about library code only are omitted: fusion within one
//! call of a library function, checks outside loops.

use crate::names::{SourceNames, UserSource};
use crate::remark::{Group, ShownRemark, remark};
use check::tast::Program;
use driver::remark::{HOISTED, REMOVED, RemarkKind, Subject};
use driver::{Failure, Ir, Observer, PassInfo, Remark, Session, Stage};
use ir::SrcLoc;
use ir::forest::{ChoiceTrees, forest};
use ir::tunable::{Class, named};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use syntax::span::SourceMap;

/// The decisions of a compilation.
#[derive(Default)]
pub struct RemarkCollector {
    /// In the order of the passes.
    decisions: Vec<Remark>,
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

impl Remarks {
    /// The name of a user file.
    pub(crate) fn file_name(&self, id: u32) -> &str {
        self.files.iter().find(|file| file.id == id).map_or("", |file| &file.name)
    }
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

/// Counts of remarks: their names in JSON, and the kinds of remarks that are counted.
const COUNTS: [(&str, &[&str]); 11] = [
    // Pairs of combinators.
    ("fused", &["fused", "computed-again", "computed-together"]),
    ("not_fused", &["not-fused"]),
    // Combinators by their execution.
    ("tasks", &["tasks"]),
    ("kernels", &["kernels"]),
    ("on_host", &["on-host"]),
    ("sequential", &["sequential"]),
    // Operations with a loop that runs in vector lanes.
    ("lanes", &["lanes"]),
    ("checks_removed", &["check-removed"]),
    ("checks_in_parallel_loops", &["check-in-parallel-loop"]),
    ("checks_in_loops", &["check-in-loop"]),
    ("copies", &["copied"]),
];

/// Counts of remarks.
pub struct Summary([usize; COUNTS.len()]);

impl RemarkCollector {
    /// Compiles a program up to the last pass that records decisions, and collects them. The
    /// session's options must request remarks.
    ///
    /// # Errors
    /// The program does not compile.
    pub fn collect(session: &mut Session, program: &Program) -> Result<Self, Failure> {
        let (ir, decisions) = session.lower_with_remarks(program)?;
        let mut collector = Self { decisions, ..Self::default() };
        session.run_passes(ir, Stage::named("lanes")?, &mut collector)?;
        Ok(collector)
    }

    /// The choices between versions that remain after pruning: those of one function, if it is
    /// given.
    pub fn versions(&self, function: Option<&str>) -> impl Iterator<Item = &ChoiceTrees> {
        let is_reported = move |trees: &&ChoiceTrees| function.is_none_or(|name| *trees.function.0 == *name);
        self.versions.iter().filter(is_reported)
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
        source.require(filter.function)?;
        let user = SourceNames::new(&source, &self.decisions);
        let entries = self.decisions.iter();
        let mut entries = merged(entries.filter_map(|decision| remark(decision, &user, filter.all)));
        if !filter.all {
            retain_standing(&mut entries);
            drop_unfused_into_fused(&mut entries);
        }
        let mut by_line: BTreeMap<(u32, u32), Vec<ShownRemark>> = BTreeMap::new();
        for entry in entries {
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
        Ok(Remarks {
            versions: self.versions(filter.function).cloned().collect(),
            program: name.to_owned(),
            summary: Summary::of(&functions),
            files: source.files(name, &functions),
            functions,
        })
    }
}

/// Merges equal remarks.
fn merged(entries: impl Iterator<Item = ShownRemark>) -> Vec<ShownRemark> {
    let mut merged: Vec<ShownRemark> = Vec::new();
    let mut known: BTreeMap<(SrcLoc, &'static str, String), usize> = BTreeMap::new();
    for entry in entries {
        let at = *known.entry((entry.span, entry.kind.name(), entry.text())).or_insert(merged.len());
        match merged.get_mut(at) {
            Some(equal) => equal.times += 1,
            None => merged.push(entry),
        }
    }
    merged
}

/// A pair of combinators: the producer and its reader, if it is elsewhere.
fn pair(entry: &ShownRemark) -> (SrcLoc, Option<SrcLoc>) {
    (entry.span, entry.related.first().copied())
}

/// Keeps, of the remarks on one subject of one operation, those of the highest precedence: of
/// several reasons against fusion and of several loops the last, of several copies of a check the
/// first for each text.
fn retain_standing(entries: &mut Vec<ShownRemark>) {
    let key = |entry: &ShownRemark| {
        let (subject, precedence) = entry.kind.precedence()?;
        let other = pair(entry).1.filter(|_| subject == Subject::Fusion);
        Some(((entry.span, other, subject), precedence))
    };
    let mut known: BTreeMap<_, BTreeSet<u64>> = BTreeMap::new();
    for (operation, precedence) in entries.iter().filter_map(key) {
        known.entry(operation).or_default().insert(precedence);
    }
    let best = |operation: &(SrcLoc, Option<SrcLoc>, Subject)| -> Option<u64> {
        let known = known.get(operation)?;
        let best = *known.last()?;
        let hoisted = matches!(operation.2, Subject::Check(_)) && best == REMOVED && known.contains(&0);
        Some(if hoisted { HOISTED } else { best })
    };
    let (mut last, mut reported) = (BTreeMap::new(), BTreeSet::new());
    let mut stands = vec![true; entries.len()];
    for (at, entry) in entries.iter().enumerate() {
        let Some((operation, precedence)) = key(entry) else { continue };
        stands[at] = best(&operation) == Some(precedence);
        if !stands[at] {
            continue;
        }
        if let Subject::Check(_) = operation.2 {
            // Checks outside loops are not reported.
            stands[at] = precedence > 0 && reported.insert((operation, entry.text.as_str()));
        } else if operation.2 == Subject::Lanes || (operation.2, precedence) == (Subject::Fusion, 0) {
            last.insert(operation, at).inspect(|earlier| stands[*earlier] = false);
        }
    }
    let mut stands = stands.into_iter();
    entries.retain(|_| stands.next() == Some(true));
}

/// Where a producer was not fused into a reader that itself fused into another, drops the same
/// remark about the other reader.
fn drop_unfused_into_fused(entries: &mut Vec<ShownRemark>) {
    let not_fused = |entry: &ShownRemark| matches!(entry.kind, RemarkKind::NotFused { .. });
    let (mut fused, mut separate) = (BTreeSet::new(), BTreeMap::<_, Vec<_>>::new());
    for entry in entries.iter().filter(|entry| entry.group == Group::Fusion) {
        let (producer, reader) = pair(entry);
        if not_fused(entry) {
            separate.entry(producer).or_default().extend(reader);
        } else {
            fused.insert((producer, reader));
        }
    }
    entries.retain(|entry| {
        let (producer, reader) = pair(entry);
        let mut readers = separate.get(&producer).into_iter().flatten();
        let is_fused = |other: &SrcLoc| Some(*other) != reader && fused.contains(&(*other, reader));
        !(not_fused(entry) && readers.any(is_fused))
    });
}

impl Summary {
    fn of(functions: &[Function]) -> Self {
        let lines = functions.iter().flat_map(|function| &function.lines);
        let names: Vec<&str> = lines.flat_map(|line| &line.entries).map(|entry| entry.kind.name()).collect();
        Self(COUNTS.map(|(_, kinds)| names.iter().filter(|name| kinds.contains(name)).count()))
    }

    /// The counts with their names.
    pub fn counts(&self) -> impl Iterator<Item = (&'static str, usize)> {
        COUNTS.iter().map(|(name, _)| *name).zip(self.0)
    }

    /// The counts as text, one per line.
    pub fn lines(&self) -> Vec<String> {
        let [fused, not_fused, tasks, kernels, on_host, sequential, lanes, checks @ .., copies] = self.0;
        let [removed, in_parallel, in_loops] = checks;
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
