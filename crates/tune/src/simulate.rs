//! Random programs that consist of a forest, to compare the tuner with an exhaustive search.
//!
//! Random parts: trees and the trees inside versions, functions that are called from several
//! versions with other sizes in each call, parameters that occur in several places, versions that
//! several paths lead to, sizes, and the times of versions.

use crate::cost::Cost;
use crate::explore::{Comparison, Executor, Outcome};
use crate::forest::{Forest, Tree};
use crate::region::{Param, Setting};
use crate::tuner::{Options, Task, tune};
use std::collections::{BTreeMap, BTreeSet};

/// A random number generator (SplitMix64).
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed(self.0)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }
}

fn mixed(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A hash of these numbers.
fn hash(parts: &[u64]) -> u64 {
    parts.iter().fold(17, |sum, part| mixed(sum.wrapping_mul(31).wrapping_add(*part)))
}

/// A program.
#[derive(Debug)]
pub struct Program {
    seed: u64,
    /// The trees of the entry point, then those of each function.
    functions: Vec<Vec<Tree>>,
    /// The functions that a version calls.
    calls: BTreeMap<u32, Vec<usize>>,
    /// The number of parameters.
    params: usize,
    /// The number of data sets.
    data_sets: usize,
}

/// The generator of a program.
struct Generator {
    rng: Rng,
    params: usize,
    versions: u32,
    calls: BTreeMap<u32, Vec<usize>>,
}

impl Generator {
    fn param(&mut self) -> Param {
        // Sometimes an existing one.
        if self.params > 0 && self.rng.below(12) == 0 {
            return self.rng.below(self.params as u64) as usize;
        }
        self.params += 1;
        self.params - 1
    }

    fn version(&mut self, depth: u32, functions: usize) -> Tree {
        let number = self.versions;
        self.versions += 1;
        let several = if depth == 0 { 0 } else { self.rng.below(4) };
        let inside = (1..several).map(|_| self.tree(depth - 1, functions));
        let inside = inside.collect();
        if functions > 0 && self.rng.below(3) == 0 {
            let called = self.rng.below(functions as u64) as usize + 1;
            self.calls.insert(number, vec![called]);
        }
        Tree::Version { number, inside }
    }

    fn tree(&mut self, depth: u32, functions: usize) -> Tree {
        let first = self.version(depth, functions);
        let mut chain = if self.rng.below(2) == 0 { first.clone() } else { self.version(depth, functions) };
        let mut last = None;
        for _ in 0..=self.rng.below(2) {
            let param = self.param();
            let version = match last.take() {
                None => self.version(depth, functions),
                Some(version) => version,
            };
            last = Some(first.clone());
            chain = Tree::Choice { param, holds: vec![version], fails: vec![chain] };
        }
        chain
    }
}

impl Program {
    /// The program of a seed.
    pub fn new(seed: u64) -> Self {
        let mut generator = Generator { rng: Rng(seed), params: 0, versions: 0, calls: BTreeMap::new() };
        let number = generator.rng.below(3) as usize;
        let mut functions = vec![Vec::new()];
        for _ in 0..number {
            // Functions call no functions, so that programs terminate.
            functions.push(vec![generator.tree(0, 0)]);
        }
        for _ in 0..=generator.rng.below(2) {
            let tree = generator.tree(2, number);
            functions[0].push(tree);
        }
        Self {
            seed,
            functions,
            data_sets: 1 + generator.rng.below(3) as usize,
            params: generator.params,
            calls: generator.calls,
        }
    }

    /// Runs trees with a setting, or all their parts without one: returns the time, and adds the
    /// comparisons to `comparisons`.
    fn run(
        &self,
        trees: &[Tree],
        (data, call): (usize, u64),
        setting: Option<&[i64]>,
        comparisons: &mut Vec<Comparison>,
    ) -> u64 {
        let mut time = 0;
        for tree in trees {
            match tree {
                Tree::Choice { param, holds, fails } => {
                    // Calls with different times have different sizes.
                    let size = hash(&[self.seed, *param as u64, data as u64, call]) % 33;
                    let size = (3 * size + call) as i64;
                    match comparisons.iter_mut().find(|known| (known.0, known.1) == (*param, size)) {
                        Some(known) => known.2 += 1,
                        None => comparisons.push((*param, size, 1)),
                    }
                    let taken = setting.map(|setting| setting[*param] <= size);
                    if taken != Some(false) {
                        time += self.run(holds, (data, call), setting, comparisons);
                    }
                    if taken != Some(true) {
                        time += self.run(fails, (data, call), setting, comparisons);
                    }
                }
                Tree::Version { number, inside } => {
                    let random = hash(&[self.seed, u64::from(*number), data as u64, call, 1]);
                    time += 1 + random % 1000;
                    time += self.run(inside, (data, call), setting, comparisons);
                    for called in self.calls.get(number).into_iter().flatten() {
                        let trees = &self.functions[*called];
                        let call = hash(&[u64::from(*number), call]) % 2 + 1;
                        time += self.run(trees, (data, call), setting, comparisons);
                    }
                }
            }
        }
        time
    }

    fn time(&self, data: usize, setting: &[i64]) -> u64 {
        self.run(&self.functions[0], (data, 0), Some(setting), &mut Vec::new())
    }

    /// The least cost of all settings; `None` if there are more than `max_settings`.
    fn least(&self, cost: &Cost, default: &[f64], max_settings: usize) -> Option<f64> {
        let mut comparisons = Vec::new();
        for data in 0..self.data_sets {
            self.run(&self.functions[0], (data, 0), None, &mut comparisons);
        }
        let values: Vec<Vec<i64>> = (0..self.params)
            .map(|param| {
                let sizes = comparisons.iter().filter(|(other, ..)| *other == param);
                let sizes: BTreeSet<i64> = sizes.map(|(_, size, _)| *size).collect();
                // Up to the least size, from each size up to the next one, above all of them:
                // comparisons only distinguish these, so one value of each is enough. A parameter
                // that is not compared may have any value.
                let above = sizes.last().map_or(0, |last| last + 1);
                sizes.into_iter().chain([above]).collect()
            })
            .collect();
        let all = values.iter().try_fold(1usize, |all, values| all.checked_mul(values.len()))?;
        if all > max_settings {
            return None;
        }
        let mut least = f64::INFINITY;
        for mut number in 0..all {
            let setting: Setting = values
                .iter()
                .map(|values| {
                    let value = values[number % values.len()];
                    number /= values.len();
                    value
                })
                .collect();
            let times: Vec<f64> = (0..self.data_sets).map(|data| self.time(data, &setting) as f64).collect();
            least = least.min(cost.of(&times, default));
        }
        Some(least)
    }
}

/// Executes a random program and records the paths of its runs.
struct RecordingExecutor<'p> {
    program: &'p Program,
    /// The comparisons of the runs of each data set, with outcomes.
    paths: Vec<BTreeSet<BTreeSet<(Param, i64, bool)>>>,
    /// True if some path was run twice.
    twice: bool,
}

impl Executor for RecordingExecutor<'_> {
    fn run(&mut self, data: usize, setting: &[i64], _: Option<f64>) -> Option<Outcome> {
        let mut comparisons = Vec::new();
        let trees = &self.program.functions[0];
        let time = self.program.run(trees, (data, 0), Some(setting), &mut comparisons);
        let path = comparisons.iter().map(|(param, size, _)| (*param, *size, setting[*param] <= *size));
        self.twice |= !self.paths[data].insert(path.collect());
        Some(Outcome::Completed { micros: vec![time], comparisons, used: Vec::new() })
    }

    fn repeat(&mut self, data: usize, setting: &[i64], times: usize, _: bool) -> Option<Vec<u64>> {
        Some(vec![self.program.time(data, setting); times])
    }
}

/// Compares the tuner with all settings of a random program.
///
/// Returns the number of runs; `None` if the program has more than `max_settings` settings.
///
/// # Errors
/// The tuner's result is not the best, its times are wrong, or it ran a path twice.
pub fn check_against_exhaustive(seed: u64, max_settings: usize) -> Result<Option<usize>, String> {
    let program = Program::new(seed);
    let names: Vec<String> = (0..program.data_sets).map(|data| format!("d{data}")).collect();
    let last = program.data_sets - 1;
    let costs = [
        "sum".to_owned(),
        "geomean".to_owned(),
        "worst".to_owned(),
        format!("max(d0, 2 * d{last}) + d0 / 7"),
        format!("3 * d{last} - d0 / 2"),
    ];
    let chosen = hash(&[seed, 5]);
    let cost = Cost::parse(&costs[(chosen % 5) as usize], &names, &[])?;
    let defaults: Setting =
        (0..program.params).map(|param| (hash(&[seed, 6, param as u64]) % 120) as i64).collect();
    let time = |data| program.time(data, &defaults) as f64;
    let default: Vec<f64> = (0..program.data_sets).map(time).collect();
    let Some(least) = program.least(&cost, &default, max_settings) else {
        return Ok(None);
    };
    let mut executor = RecordingExecutor {
        program: &program,
        paths: vec![BTreeSet::new(); program.data_sets],
        twice: false,
    };
    let options = Options { joint: chosen.is_multiple_of(7), runs: 3, max_runs: 6, tolerance: 0.0 };
    let mut has_fixed_sizes = vec![true; program.params];
    for tree in program.functions.iter().skip(1).flatten() {
        tree.params(true, &mut |param| has_fixed_sizes[param] = false);
    }
    let forest = Forest {
        trees: program.functions.iter().flatten().cloned().collect(),
        defaults,
        has_fixed_sizes,
        free_params: BTreeMap::new(),
    };
    let count = program.data_sets;
    let task = Task { forest: &forest, data_sets: count, cost: &cost, options, earlier: None };
    let tuned = tune(&task, &mut executor).map_err(|why| format!("seed {seed}: {why:?}"))?;
    let time = |data| program.time(data, &tuned.setting) as f64;
    let times: Vec<f64> = (0..count).map(time).collect();
    let found = cost.of(&times, &default);
    if (found - least).abs() > 1e-9 * least.abs().max(1.0) {
        return Err(format!("seed {seed}: the tuner found cost {found}, the least is {least}"));
    }
    if executor.twice {
        return Err(format!("seed {seed}: a path was run twice"));
    }
    if times != tuned.times || !tuned.corrections.is_empty() {
        return Err(format!("seed {seed}: times differ from the reported ones"));
    }
    Ok(Some(executor.paths.iter().map(BTreeSet::len).sum()))
}

#[cfg(test)]
mod tests {
    use super::check_against_exhaustive;

    #[test]
    fn tuner_finds_the_optimum_of_an_exhaustive_search() {
        let (mut programs, mut runs) = (0, 0);
        for seed in 0..400 {
            if let Some(run) = check_against_exhaustive(seed, 4000).expect("the optimum") {
                programs += 1;
                runs += run;
            }
        }
        // Most programs are small enough, and have choices.
        assert!(programs > 100 && runs > 4 * programs, "{programs} programs with {runs} runs");
    }
}
