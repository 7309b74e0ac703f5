//! The inputs of tuning: a program's data sets, its executable and its forest of versions.

use super::Tuning;
use crate::Backend;
use crate::executable::{Executable, NO_LIMIT};
use crate::setup::Setup;
use driver::Options;
use driver::device::{MAX_BLOCK, MAX_SUBGROUP};
use driver::tuning::value_of;
use harness::Case;
use harness::oracle::Oracle;
use harness::process::{End, run};
use harness::programs::first_line;
use ir::tunable::{Class, UNSET};
use runtime::tuning_params::{Assignment, THREAD_BLOCK_SIZE};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use tune::forest::{Forest, Tree};
use tune::region::Span;

/// The data sets of a program: entry point, name and test case.
pub struct Spec {
    cases: Vec<(String, String, Case)>,
}

impl Spec {
    /// The names of the data sets, prefixed by the entry point if there are several.
    pub fn names(&self) -> Vec<String> {
        let several = self.cases.iter().any(|(entry, ..)| *entry != self.cases[0].0);
        let names = self.cases.iter().map(
            |(entry, name, _)| {
                if several { format!("{entry}:{name}") } else { name.clone() }
            },
        );
        names.collect()
    }
}

/// Reads the data sets of a program; `None` if it has none and is not `named` by the user.
pub fn spec(tuning: &Tuning<'_>, file: &Path, named: bool) -> Result<Option<Spec>, String> {
    let (source, all_lines) = match &tuning.spec_file {
        Some(spec) => (spec.as_path(), true),
        None => (file, false),
    };
    let spec = crate::setup::spec(source, all_lines)?;
    let cases = tuning.setup.data_sets(&spec).into_iter();
    let cases: Vec<_> = cases.map(|(entry, name, case)| (entry.to_owned(), name, case.clone())).collect();
    match (cases.is_empty(), named) {
        (false, _) => Ok(Some(Spec { cases })),
        (true, false) => Ok(None),
        (true, true) => Err("the program has no data set: no test block has an input \
                             (`-- ==`, `-- input { ... }`)"
            .to_owned()),
    }
}

pub struct DataSet {
    /// The entry point.
    pub entry: String,
    /// The test case.
    pub case: Case,
    /// The arguments in the executable's input format.
    pub input: Vec<u8>,
}

/// A program that is ready to run.
pub struct Prepared {
    /// The executable with the default block size.
    pub executable: Executable,
    /// The data sets.
    pub data_sets: Vec<DataSet>,
    /// The parameters' names and defaults.
    pub parameters: Vec<(String, i64)>,
    /// The executable's own list of parameters.
    pub listed: String,
    /// The choices between versions.
    pub forest: Forest,
    /// The index of the thread-block size, if it is tuned.
    pub block: Option<usize>,
    /// A text that identifies the program, for the journal.
    pub fingerprint: String,
}

impl Prepared {
    /// Returns the setting that these assignments give, if it differs from the defaults.
    pub fn earlier(&self, given: &[Assignment]) -> Option<Vec<i64>> {
        let value = |(name, default): &(String, i64)| value_of(given, name).unwrap_or(*default);
        let setting: Vec<i64> = self.parameters.iter().map(value).collect();
        (setting != self.forest.defaults).then_some(setting)
    }
}

/// Compiles a program, and computes the arguments of its data sets.
pub fn prepare(tuning: &Tuning<'_>, file: &Path, spec: &Spec) -> Result<Prepared, String> {
    let (session, program) = driver::check(file, Options::default());
    tuning.log.diagnostics(&session, &session.warnings);
    let program = program.map_err(|errors| {
        tuning.log.diagnostics(&session, &errors.0);
        "the program has errors".to_owned()
    })?;
    let folder = file.parent().unwrap_or(file);
    let oracle = Oracle::new(Arc::new(program), &session.sources, folder, tuning.default_time_limit());
    let mut data_sets = Vec::new();
    for ((entry, _, case), name) in spec.cases.iter().zip(spec.names()) {
        let input = oracle
            .entry(entry)
            .and_then(|point| oracle.input(&case.input, point))
            .map_err(|why| format!("data set {name}: {why}"))?;
        data_sets.push(DataSet { entry: entry.clone(), case: case.clone(), input });
    }
    let (setup, options) = (&tuning.setup, &tuning.setup.pass_compiler);
    let executable = setup.executable(file, tuning.work.join("program"), options, NO_LIMIT)?;
    let mut reader = Reader::default();
    for function in forest(setup, file)?.as_array().into_iter().flatten() {
        reader.versions.clear();
        let name = function["function"].as_str().unwrap_or_default();
        reader.is_entry = data_sets.iter().any(|data| data.entry == name);
        let trees = reader.read(&function["roots"]);
        reader.trees.extend(trees.into_iter().flatten());
    }
    // Thresholds of the executable that the forest lacks may be compared all the same.
    let listed = executable.params(tuning.default_time_limit())?;
    let names_of = |class: Class| {
        let suffix = format!(" ({})", class.name());
        let names = listed.lines().map(move |line| line.strip_suffix(&suffix));
        names.flatten()
    };
    names_of(Class::Threshold).for_each(|name| reader.add_unknown_threshold(name));
    let user = names_of(Class::User).map(|name| (reader.param(name, UNSET, None), SIZE_RANGE));
    let mut free_params: BTreeMap<usize, Span> = user.collect();
    let mut block = None;
    if !tuning.thresholds_only {
        free_params.extend(
            names_of(Class::Size).map(|name| (reader.param(name, PLACEHOLDER_DEFAULT, None), SIZE_RANGE)),
        );
        if setup.tunes_tblock_size() && !setup.skip_compilation {
            let default = Options::default().device.block;
            let param = reader.param(THREAD_BLOCK_SIZE, default, None);
            free_params.insert(param, TBLOCK_RANGE);
            block = Some(param);
        }
    }
    // Defaults that only the executable knows: chunk sizes, and thresholds derived from the device.
    // A value passed to a custom parameter is not its default.
    for Assignment { name, value, .. } in executable.values(&setup.pass, tuning.default_time_limit())? {
        if let Some(at) = reader.indices.get(&name)
            && reader.parameters[*at].1 != UNSET
        {
            reader.parameters[*at].1 = value;
        }
    }
    let fingerprint = format!("{:?} {options:?} {:?}", reader.parameters, tuning.backend_name);
    Ok(Prepared {
        executable,
        data_sets,
        forest: Forest {
            trees: reader.trees,
            defaults: reader.parameters.iter().map(|(_, default)| *default).collect(),
            has_fixed_sizes: reader.sizes.iter().map(Option::is_some).collect(),
            free_params,
        },
        block,
        listed,
        parameters: reader.parameters,
        fingerprint,
    })
}

/// The forest of a program's versions as JSON, printed by the compiler's command.
fn forest(setup: &Setup, file: &Path) -> Result<Value, String> {
    let (compiler, name) = (setup.compiler.to_string_lossy(), file.to_string_lossy());
    let mut command = vec![&*compiler, "dev", &*name, "--stage", "versions", "--form", "json"];
    if matches!(setup.backend, Backend::Device(_)) {
        command.extend(["--machine", "gpu"]);
    }
    command.extend(setup.pass_compiler.iter().map(String::as_str));
    let finished = run(&command, b"", NO_LIMIT)?;
    if finished.end != End::Code(0) {
        return Err(first_line(&finished.stderr));
    }
    serde_json::from_slice(&finished.stdout).map_err(|e| format!("invalid forest of versions: {e}"))
}

/// Reads trees of versions from JSON.
#[derive(Default)]
struct Reader {
    parameters: Vec<(String, i64)>,
    indices: BTreeMap<String, usize>,
    /// The size expression that each parameter is compared with, in terms of the entry point's
    /// sizes, if it is the same everywhere.
    sizes: Vec<Option<String>>,
    /// True if the current function is an entry point, which is called once.
    is_entry: bool,
    trees: Vec<Tree>,
    /// The numbers of the current function's versions.
    versions: BTreeMap<i64, u32>,
    next: u32,
}

/// The range of size and custom parameters.
const SIZE_RANGE: Span = Span { min: 1, max: 1 << 24 };
/// The range of thread-block sizes. Only powers of two are tried, as the default is one.
const TBLOCK_RANGE: Span = Span { min: MAX_SUBGROUP, max: MAX_BLOCK };

/// The placeholder for a default that only the executable knows.
const PLACEHOLDER_DEFAULT: i64 = 16;

impl Reader {
    fn param(&mut self, name: &str, default: i64, size: Option<&str>) -> usize {
        let size = size.filter(|_| self.is_entry);
        if let Some(known) = self.indices.get(name) {
            if self.sizes[*known].as_deref() != size {
                self.sizes[*known] = None;
            }
            return *known;
        }
        self.sizes.push(size.map(str::to_owned));
        self.parameters.push((name.to_owned(), default));
        self.indices.insert(name.to_owned(), self.parameters.len() - 1);
        self.parameters.len() - 1
    }

    fn read(&mut self, nodes: &Value) -> Option<Vec<Tree>> {
        let nodes = nodes.as_array()?.iter();
        nodes.map(|node| self.node(node)).collect()
    }

    fn node(&mut self, node: &Value) -> Option<Tree> {
        if let Some(name) = node["parameter"].as_str() {
            return Some(Tree::Choice {
                param: self.param(name, node["default"].as_i64()?, node["size"].as_str()),
                holds: self.read(&node["holds"])?,
                fails: self.read(&node["fails"])?,
            });
        }
        let version = node["version"].as_i64()?;
        let number = match self.versions.get(&version) {
            Some(known) => *known,
            None => self.number(),
        };
        self.versions.insert(version, number);
        Some(Tree::Version { number, inside: self.read(&node["inside"])? })
    }

    fn number(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    fn add_unknown_threshold(&mut self, name: &str) {
        if self.indices.contains_key(name) {
            return;
        }
        let param = self.param(name, PLACEHOLDER_DEFAULT, None);
        let mut version = || Tree::Version { number: self.number(), inside: Vec::new() };
        let (holds, fails) = (vec![version()], vec![version()]);
        self.trees.push(Tree::Choice { param, holds, fails });
    }
}
