//! Tuning parameters: numbers compared with sizes at run time to choose between versions of code,
//! and grain sizes of parallel loops.
//!
//! A function has a table of them ([`Function::tunables`](crate::Function)); a
//! [`BasicOp::SizeAtLeast`](crate::BasicOp) or a segop's [`Decomp`](crate::seg::Decomp) refers to
//! an entry by its index. Outside of its function a parameter is identified by the function, the
//! rule that made it, and an ordinal that counts within both: `main.inner_lanes_0`. So parameters
//! keep their names when other parts of the program change. Entries of the table may become unused;
//! their ordinals are not reused.
//!
//! The meaning of a program does not depend on the values, except for the order in which inexact
//! sums are combined (contract 1).
//!
//! User-defined parameters (`#[param(NAME)]`) are the source program's own: their meaning is
//! defined there, and they are global to the program ([`user_params`]).

use crate::name::FunName;
use crate::syntax::{BasicOp, Function, Level, Program};
use crate::walk::Visit;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

prim::dense_ids! {
    /// A tuning parameter of a function: an index into its table.
    pub struct TunableId;
}

/// The rule that made a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Rule {
    /// Minimum length of a row that is divided among a worker's lanes.
    InnerLanes,
    /// Number of iterations from which on a nest has sufficient parallelism without the operations
    /// nested in it (incremental flattening, rules G3 and G9).
    OuterParallelism,
    /// Number of iterations from which on it has, with the operations nested in it at the level
    /// below (rule G3).
    InnerParallelism,
    /// Capacity in bytes of a thread block's shared memory on the device.
    SharedMemory,
    /// Minimum number of iterations per chunk ([`Decomp::grain_size`](crate::seg::Decomp)).
    GrainSize,
}

impl Rule {
    /// All rules.
    pub const ALL: [Self; 5] = [
        Self::InnerLanes,
        Self::OuterParallelism,
        Self::InnerParallelism,
        Self::SharedMemory,
        Self::GrainSize,
    ];

    /// Its component of parameters' names.
    pub const fn name(self) -> &'static str {
        match self {
            Self::InnerLanes => "inner_lanes",
            Self::OuterParallelism => "suff_outer_par",
            Self::InnerParallelism => "suff_intra_par",
            Self::SharedMemory => "shared_memory",
            Self::GrainSize => "grain_size",
        }
    }
}

/// The kinds of values of parameters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Class {
    /// A minimum size for which a version is chosen.
    Threshold,
    /// A capacity of the machine: known to the runtime, unless a value is set.
    Capacity,
    /// A chunk size; values below 1 count as 1.
    Size,
    /// A user-defined parameter ([`BasicOp::Param`]); [`UNSET`] stands for its default.
    User,
}

/// The value of a user-defined parameter that is not set.
pub const UNSET: i64 = i64::MIN;

impl Class {
    /// All classes.
    pub const ALL: [Self; 4] = [Self::Threshold, Self::Capacity, Self::Size, Self::User];

    /// Its name in lists of parameters.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Threshold => "threshold",
            Self::Capacity => "capacity",
            Self::Size => "size",
            Self::User => "custom",
        }
    }
}

/// A tuning parameter of a function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Tunable {
    /// The rule that made it.
    pub rule: Rule,
    /// Its number among the parameters that the rule made in the function, from 0.
    pub ordinal: u32,
    /// The kind of its value.
    pub class: Class,
    /// Its value unless another one is set.
    pub default: i64,
}

impl Tunable {
    /// The name by which it is identified in the whole program.
    pub fn full_name(&self, function: &FunName) -> String {
        format!("{function}.{self}")
    }
}

impl fmt::Display for Tunable {
    /// The name within the function.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", self.rule.name(), self.ordinal)
    }
}

/// A function's table under construction.
#[derive(Clone, Debug, Default)]
pub struct TunableTable {
    all: Vec<Tunable>,
    /// The next ordinal of each rule.
    next: FxHashMap<Rule, u32>,
}

impl TunableTable {
    /// A table that contains these parameters.
    pub fn of(all: Vec<Tunable>) -> Self {
        let mut next = FxHashMap::default();
        for tunable in &all {
            let next = next.entry(tunable.rule).or_insert(0);
            *next = tunable.ordinal.saturating_add(1).max(*next);
        }
        Self { all, next }
    }

    /// Adds a parameter, with an ordinal that no other one of its rule has had.
    pub fn add(&mut self, rule: Rule, class: Class, default: i64) -> TunableId {
        let next = self.next.entry(rule).or_insert(0);
        let ordinal = *next;
        *next = next.saturating_add(1);
        let id = TunableId::new(self.all.len());
        self.all.push(Tunable { rule, ordinal, class, default });
        id
    }

    /// The parameter with this index.
    pub fn get_mut(&mut self, id: TunableId) -> Option<&mut Tunable> {
        self.all.get_mut(id.index())
    }

    /// The finished table.
    pub fn into_tunables(self) -> Vec<Tunable> {
        self.all
    }
}

/// Values of parameters by their full names; others have their defaults.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Settings(pub BTreeMap<String, i64>);

impl Settings {
    /// The value of a function's parameter.
    pub fn value(&self, function: &FunName, tunable: &Tunable) -> i64 {
        if self.0.is_empty() {
            return tunable.default;
        }
        let given = self.0.get(&tunable.full_name(function)).copied();
        given.unwrap_or(tunable.default)
    }
}

/// An executed comparison of a size with a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Comparison<'a> {
    /// The parameter's full name.
    pub name: &'a str,
    /// The size.
    pub size: i64,
    /// The parameter's value.
    pub threshold: i64,
}

/// Callback for executed comparisons.
pub type Listener = fn(Comparison<'_>);

/// For each parameter of a function: true if a comparison or a decomposition refers to it.
pub fn used<L: Level>(function: &Function<L>) -> Vec<bool> {
    struct Used(Vec<bool>);
    impl<L: Level> Visit<L> for Used {
        fn tunable(&mut self, id: &TunableId) {
            if let Some(used) = self.0.get_mut(id.index()) {
                *used = true;
            }
        }
    }
    let mut found = Used(vec![false; function.tunables.len()]);
    if !found.0.is_empty() {
        Visit::<L>::walk_function(&mut found, function);
    }
    found.0
}

/// The parameters of a program's functions that are referred to, with their full names.
pub fn named<L: Level>(program: &Program<L>) -> Vec<(String, Tunable)> {
    let mut named = Vec::new();
    for function in &program.functions {
        let tunables = function.tunables.iter().zip(used(function));
        let tunables = tunables.filter(|(_, used)| *used);
        named.extend(tunables.map(|(tunable, _)| (tunable.full_name(&function.name), *tunable)));
    }
    named
}

/// The user-defined parameters of a program, in order of first occurrence.
pub fn user_params<L: Level>(program: &Program<L>) -> Vec<Arc<str>> {
    struct Names(Vec<Arc<str>>);
    impl<L: Level> Visit<L> for Names {
        fn basic(&mut self, op: &BasicOp) {
            if let BasicOp::Param { name, .. } = op
                && !self.0.contains(name)
            {
                self.0.push(Arc::clone(name));
            }
        }
    }
    let mut names = Names(Vec::new());
    for function in &program.functions {
        Visit::<L>::walk_function(&mut names, function);
    }
    names.0
}
