//! Tuning parameters: numbers that a program compares sizes with when it runs, to
//! choose between versions of its code, and how large parts are that its work falls apart
//! into.
//!
//! A function has a table of them ([`Function::tunables`](crate::Function)), and
//! [`BasicOp::SizeAtLeast`](crate::BasicOp) or a segop's
//! [`Decomp`](crate::seg::Decomp) names one by its place there. Outside of
//! its function a parameter is known by the function, the rule that made it, and an
//! ordinal that counts within both: `main.lanes_share_0`. So names stay as they are
//! when something else in the program is edited. An entry of the table may be left
//! that nothing names any more; its ordinal is not given to another one.
//!
//! What a program means does not depend on the values, but for how inexact sums are
//! put together (contract 1).
//!
//! Other parameters are the source program's own (`#[param(NAME)]`): it says what they
//! mean, and the whole program knows them by their names ([`user`]).

use crate::name::FunName;
use crate::syntax::{BasicOp, Function, Level, Program};
use crate::walk::Visit;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A parameter of a function, an index into its table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct TunableId(pub u32);

impl TunableId {
    /// The index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The rule that made a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Rule {
    /// From which length on a worker's lanes share a row.
    LanesShare,
    /// From how many points on a nest has parallelism enough without what is in it
    /// (incremental flattening, rules G3 and G9).
    OuterParallelism,
    /// From how many points on it has, with what is in it at the level below (rule G3).
    InnerParallelism,
    /// More bytes than this a block of a device does not have in its scratchpad.
    Scratchpad,
    /// How many points a chunk has at least ([`Decomp::grain`](crate::seg::Decomp)).
    Grain,
}

impl Rule {
    /// All rules.
    pub const ALL: [Self; 5] =
        [Self::LanesShare, Self::OuterParallelism, Self::InnerParallelism, Self::Scratchpad, Self::Grain];

    /// Its name in parameters' names.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LanesShare => "lanes_share",
            Self::OuterParallelism => "suff_outer_par",
            Self::InnerParallelism => "suff_intra_par",
            Self::Scratchpad => "scratchpad",
            Self::Grain => "grain",
        }
    }
}

/// What kind of number a parameter is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Class {
    /// From which size on a version is taken.
    Threshold,
    /// How much the machine at hand has: its runtime knows, unless a value is given.
    Capacity,
    /// How large parts are that work falls apart into; what is below 1 counts as 1.
    Size,
    /// What the source program says ([`BasicOp::Param`]);
    /// [`NOT_GIVEN`] stands for what it has otherwise.
    User,
}

/// The value of a parameter of the source program that is given none.
pub const NOT_GIVEN: i64 = i64::MIN;

impl Class {
    /// All classes.
    pub const ALL: [Self; 4] = [Self::Threshold, Self::Capacity, Self::Size, Self::User];

    /// Its name, as lists of parameters have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Threshold => "threshold",
            Self::Capacity => "capacity",
            Self::Size => "size",
            Self::User => "custom",
        }
    }
}

/// A parameter of a function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Tunable {
    /// What made it.
    pub rule: Rule,
    /// Which of those that the rule made in the function, from 0.
    pub ordinal: u32,
    /// What kind of number it is.
    pub class: Class,
    /// Its value unless another one is given.
    pub default: i64,
}

impl Tunable {
    /// The name by which the whole program knows it.
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

/// A function's table while parameters come to it.
#[derive(Clone, Debug, Default)]
pub struct Table {
    all: Vec<Tunable>,
    /// The next ordinal of each rule.
    next: FxHashMap<Rule, u32>,
}

impl Table {
    /// Begins with the parameters that a function has.
    pub fn of(all: Vec<Tunable>) -> Self {
        let mut next = FxHashMap::default();
        for tunable in &all {
            let next = next.entry(tunable.rule).or_insert(0);
            *next = tunable.ordinal.saturating_add(1).max(*next);
        }
        Self { all, next }
    }

    /// A new parameter, with an ordinal that none of its rule had.
    pub fn add(&mut self, rule: Rule, class: Class, default: i64) -> TunableId {
        let next = self.next.entry(rule).or_insert(0);
        let ordinal = *next;
        *next = next.saturating_add(1);
        let id = TunableId(self.all.len() as u32);
        self.all.push(Tunable { rule, ordinal, class, default });
        id
    }

    /// A parameter.
    pub fn get_mut(&mut self, id: TunableId) -> Option<&mut Tunable> {
        self.all.get_mut(id.index())
    }

    /// The function's table.
    pub fn into_tunables(self) -> Vec<Tunable> {
        self.all
    }
}

/// Values of parameters, by their full names; others have their defaults.
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

/// A comparison of a size with a parameter, as a program made it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Comparison<'a> {
    /// The parameter's full name.
    pub name: &'a str,
    /// The size.
    pub size: i64,
    /// The parameter's value.
    pub least: i64,
}

/// Who is told of comparisons.
pub type Listener = fn(Comparison<'_>);

/// For each parameter of a function whether a comparison or a decomposition names it.
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

/// The parameters of a program's functions that something names, with their full names.
pub fn named<L: Level>(program: &Program<L>) -> Vec<(String, Tunable)> {
    let mut named = Vec::new();
    for function in &program.functions {
        let tunables = function.tunables.iter().zip(used(function));
        let tunables = tunables.filter(|(_, used)| *used);
        named.extend(tunables.map(|(tunable, _)| (tunable.full_name(&function.name), *tunable)));
    }
    named
}

/// The parameters that a program names itself, in the order in which they come up.
pub fn user<L: Level>(program: &Program<L>) -> Vec<Arc<str>> {
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
