//! Programs as kernels on the simulated device: the calls have the expected values in several
//! orders of blocks and threads, without memory errors or races.
//!
//! In one of the orders, threads have other grain sizes than by default. Three variants: the
//! defaults, the block-level versions of nests, and scans on a device without forward progress.
//! Each [`Property`] lists the programs that a variant concerns.

use super::stages::imp_reads_back;
use crate::outcome::{as_expected, has_position};
use crate::program::Program;
use crate::unchanged::called_functions;
use harness::compare_all;
use imp::TunableClass;
use ir::tunable::Settings;
use std::collections::BTreeSet;
use target::device::Device;

/// A property of programs as kernels.
struct Property {
    name: &'static str,
    /// The programs that have it.
    programs: &'static [&'static str],
}

/// Something runs on the host because it cannot be a kernel.
const ON_HOST: Property = Property {
    name: "host code in place of kernels",
    programs: &[
        "bench/programs/irregular.fut",
        "bench/programs/nests/quicksort.fut",
        "tests/programs/derivatives/accumulators.fut",
        "tests/programs/derivatives/forward.fut",
        "tests/programs/derivatives/growing_arrays.fut",
        "tests/programs/derivatives/reverse.fut",
        "tests/programs/derivatives/updates_by_operators.fut",
        "tests/programs/features/absent_payloads.fut",
        "tests/programs/features/flat_maps.fut",
        "tests/programs/features/flat_views.fut",
        "tests/programs/features/large.fut",
        "tests/programs/features/payload_sizes.fut",
        "tests/programs/features/recursion_functions.fut",
        "tests/programs/features/row_operators.fut",
        "tests/programs/features/scans_reductions.fut",
        "tests/programs/features/sums.fut",
        "tests/programs/features/tail_calls.fut",
        "tests/programs/features/uniqueness.fut",
    ],
};

/// There are block-level versions of nests.
const WITH_BLOCKS: Property = Property {
    name: "block-level versions",
    programs: &[
        "bench/programs/nests/heston.fut",
        "bench/programs/nests/lava_md.fut",
        "bench/programs/nests/local_volatility.fut",
        "bench/programs/nests/option_pricing.fut",
        "bench/programs/nests/row_operators.fut",
        "bench/programs/users.fut",
        "bench/programs/users/signals.fut",
        "bench/programs/users/statistics.fut",
        "tests/programs/classic/simulation.fut",
        "tests/programs/derivatives/accumulators.fut",
        "tests/programs/derivatives/directions.fut",
        "tests/programs/derivatives/forward.fut",
        "tests/programs/derivatives/growing_arrays.fut",
        "tests/programs/derivatives/reverse.fut",
        "tests/programs/failures/certificates.fut",
        "tests/programs/features/accumulators.fut",
        "tests/programs/features/chunked_accumulators.fut",
        "tests/programs/features/columns.fut",
        "tests/programs/features/combined_folds.fut",
        "tests/programs/features/delinearisation.fut",
        "tests/programs/features/gather_forwarding.fut",
        "tests/programs/features/large.fut",
        "tests/programs/features/lookup_tables.fut",
        "tests/programs/features/loops_updates.fut",
        "tests/programs/features/nested_guards.fut",
        "tests/programs/features/packed_reads.fut",
        "tests/programs/features/row_literals.fut",
        "tests/programs/features/row_scans.fut",
        "tests/programs/features/rows.fut",
        "tests/programs/features/scans_reductions.fut",
        "tests/programs/features/segmented_scans.fut",
        "tests/programs/features/shared_memory.fut",
        "tests/programs/features/thread_blocks.fut",
        "tests/programs/features/tiling.fut",
    ],
};

/// Block-level versions have shared-memory capacity guards.
const WITH_GUARDS: Property = Property {
    name: "shared-memory capacity guards",
    programs: &[
        "bench/programs/nests/heston.fut",
        "bench/programs/nests/local_volatility.fut",
        "bench/programs/nests/option_pricing.fut",
        "bench/programs/nests/row_operators.fut",
        "bench/programs/users.fut",
        "bench/programs/users/signals.fut",
        "tests/programs/classic/simulation.fut",
        "tests/programs/derivatives/directions.fut",
        "tests/programs/derivatives/forward.fut",
        "tests/programs/derivatives/growing_arrays.fut",
        "tests/programs/derivatives/reverse.fut",
        "tests/programs/failures/certificates.fut",
        "tests/programs/features/combined_folds.fut",
        "tests/programs/features/delinearisation.fut",
        "tests/programs/features/gather_forwarding.fut",
        "tests/programs/features/large.fut",
        "tests/programs/features/lookup_tables.fut",
        "tests/programs/features/loops_updates.fut",
        "tests/programs/features/nested_guards.fut",
        "tests/programs/features/row_literals.fut",
        "tests/programs/features/row_scans.fut",
        "tests/programs/features/scans_reductions.fut",
        "tests/programs/features/segmented_scans.fut",
        "tests/programs/features/shared_memory.fut",
        "tests/programs/features/thread_blocks.fut",
        "tests/programs/features/tiling.fut",
    ],
};

/// There are scans in several kernels on devices without forward progress.
const WITH_SCANS: Property = Property {
    name: "scans in several kernels",
    programs: &[
        "bench/programs/irregular.fut",
        "bench/programs/mini.fut",
        "bench/programs/nests/bfs.fut",
        "bench/programs/nests/lava_md.fut",
        "bench/programs/nests/local_volatility.fut",
        "bench/programs/nests/option_pricing.fut",
        "bench/programs/nests/quicksort.fut",
        "bench/programs/nests/row_operators.fut",
        "bench/programs/nests/segments.fut",
        "bench/programs/nests/sparse.fut",
        "bench/programs/users/linear_algebra.fut",
        "bench/programs/users/signals.fut",
        "bench/programs/users/sorting.fut",
        "bench/programs/users/text.fut",
        "tests/programs/book/longest_streak.fut",
        "tests/programs/book/segmented.fut",
        "tests/programs/classic/lines.fut",
        "tests/programs/classic/sieve.fut",
        "tests/programs/classic/sorting.fut",
        "tests/programs/derivatives/forward.fut",
        "tests/programs/derivatives/growing_arrays.fut",
        "tests/programs/derivatives/reverse.fut",
        "tests/programs/derivatives/updates_by_operators.fut",
        "tests/programs/failures/beyond_reference.fut",
        "tests/programs/failures/bounds.fut",
        "tests/programs/failures/failing_iterations.fut",
        "tests/programs/failures/sizes.fut",
        "tests/programs/features/absent_payloads.fut",
        "tests/programs/features/accumulators.fut",
        "tests/programs/features/columns.fut",
        "tests/programs/features/device_scalars.fut",
        "tests/programs/features/flat_maps.fut",
        "tests/programs/features/functions.fut",
        "tests/programs/features/irregular_updates.fut",
        "tests/programs/features/joined_sizes.fut",
        "tests/programs/features/large.fut",
        "tests/programs/features/lifted_sizes.fut",
        "tests/programs/features/mathematical_functions.fut",
        "tests/programs/features/packed_scatters.fut",
        "tests/programs/features/payload_sizes.fut",
        "tests/programs/features/post_lambdas.fut",
        "tests/programs/features/recursion_functions.fut",
        "tests/programs/features/row_operators.fut",
        "tests/programs/features/row_scans.fut",
        "tests/programs/features/scan_and_reduce.fut",
        "tests/programs/features/scans_reductions.fut",
        "tests/programs/features/segmented_scans.fut",
        "tests/programs/features/selection.fut",
        "tests/programs/features/shared_memory.fut",
        "tests/programs/features/sizes.fut",
        "tests/programs/features/sums.fut",
        "tests/programs/features/thread_blocks.fut",
        "tests/programs/prelude/libm_f16.fut",
        "tests/programs/prelude/libm_f32.fut",
        "tests/programs/prelude/libm_f64.fut",
        "tests/programs/prelude/minimal_basis.fut",
        "tests/programs/prelude/special_f32.fut",
        "tests/programs/prelude/special_f64.fut",
    ],
};

impl Property {
    /// The problem if the program has the property and is not on the list, or the reverse.
    fn problem(&self, program: &Program, has: bool) -> Option<String> {
        let listed = self.programs.contains(&&*program.name);
        let (verb, other) = if has { ("has", "is not") } else { ("does not have", "is") };
        let text =
            || format!("{} {verb} {}, but {other} on the list of such programs", program.name, self.name);
        (listed != has).then(text)
    }
}

/// Runs the calls with the default settings.
pub fn gives_expected_values(program: &Program) -> Vec<String> {
    if !program.is_accepted() {
        return Vec::new();
    }
    let made = match program.kernels() {
        Ok(made) => made,
        Err(message) => return vec![message],
    };
    let on_host = made.functions.iter().any(|f| f.name.contains(".host"));
    let mut problems = run(program, made, &Settings::default(), |_| true);
    problems.extend(ON_HOST.problem(program, on_host));
    problems
}

/// Runs a program's calls of the selected entry points, and compares the outcomes with the
/// expected values and with the evaluator.
fn run(
    program: &Program,
    made: &imp::Program,
    settings: &Settings,
    selected: impl Fn(&str) -> bool,
) -> Vec<String> {
    let mut problems = Vec::new();
    problems.extend(imp_reads_back(made).err());
    let others = other_sizes(made, settings);
    let orders = [(1, settings), (2, &others)];
    let evaluations = orders.map(|(seed, settings)| program.imp_evaluations(made, seed, settings));
    let calls = program.calls().enumerate();
    for (number, (case, entry)) in calls.filter(|(_, (_, entry))| selected(entry)) {
        for (order, evaluations) in evaluations.iter().enumerate() {
            let outcome = evaluations.outcome((case, entry));
            let result = as_expected(program, case, outcome.as_deref()).and_then(|()| {
                match (program.last_evaluation(number)?.as_ref(), &outcome) {
                    (Ok(evaluated), Ok(values)) => compare_all(evaluated, values)
                        .map_err(|what| format!("differs from the evaluator: {what}")),
                    (_, Err(failure)) => has_position(program, failure),
                    (Err(_), Ok(_)) => Ok(()),
                }
            });
            if let Err(what) = result {
                problems.push(format!("line {}, {entry}, order {order}: {what}", case.line));
                break;
            }
        }
    }
    problems
}

/// These settings, with other values than the defaults for parameters that are sizes: below all
/// sizes, small, and above all sizes.
fn other_sizes(made: &imp::Program, settings: &Settings) -> Settings {
    let mut others = settings.clone();
    let tunables = made.tunables.iter();
    let sizes = tunables.filter(|tunable| tunable.class == TunableClass::Size);
    for (tunable, value) in sizes.zip([0, 1, 5, i64::MAX].into_iter().cycle()) {
        others.0.insert(tunable.name.to_string(), value);
    }
    others
}

/// The threshold values that select block-level versions of nests; `None` if the program has no
/// such version.
pub fn block_level_settings(made: &imp::Program) -> Option<Settings> {
    let names = made.tunables.iter().map(|tunable| tunable.name.to_string());
    let values: Vec<(String, i64)> = names
        .filter_map(|name| {
            let value = if name.contains("suff_outer_par") {
                i64::MAX
            } else if name.contains("suff_intra_par") {
                0
            } else {
                return None;
            };
            Some((name, value))
        })
        .collect();
    let some = values.iter().any(|(_, value)| *value == 0);
    some.then(|| Settings(values.into_iter().collect()))
}

/// Runs the calls of entry points with block-level versions of nests in these versions, with and
/// without shared memory.
pub fn blocks_give_expected_values(program: &Program) -> Vec<String> {
    if !program.is_accepted() {
        return Vec::new();
    }
    let made = match program.kernels() {
        Ok(made) => made,
        Err(message) => return vec![message],
    };
    let settings = block_level_settings(made);
    let mut problems: Vec<String> = WITH_BLOCKS.problem(program, settings.is_some()).into_iter().collect();
    let Some(settings) = settings else {
        return problems;
    };
    let without = without_shared_memory(made, &settings);
    problems.extend(WITH_GUARDS.problem(program, without.is_some()));
    // The other entry points run as they do by default.
    let names = settings.0.keys();
    let functions: BTreeSet<&str> = names.filter_map(|name| Some(name.rsplit_once('.')?.0)).collect();
    let selected = |entry: &str| called_functions(made, entry).any(|name| functions.contains(name));
    problems.extend(run(program, made, &settings, selected));
    if let Some(without) = without {
        problems.extend(run(program, made, &without, selected));
    }
    problems
}

/// These settings without any shared memory, if the program has capacity guards.
fn without_shared_memory(made: &imp::Program, settings: &Settings) -> Option<Settings> {
    let mut without = settings.clone();
    for tunable in &made.tunables {
        if tunable.class == TunableClass::Capacity {
            without.0.insert(tunable.name.to_string(), 0);
        }
    }
    (without != *settings).then_some(without)
}

/// Runs the calls of entry points with scans on a device without forward progress, where each scan
/// takes several kernels.
pub fn scans_give_expected_values(program: &Program) -> Vec<String> {
    if !program.is_accepted() {
        return Vec::new();
    }
    let device = Device { progress: false, ..Device::SMALL };
    let made = match program.kernels_for(device) {
        Ok(made) => made,
        Err(message) => return vec![message],
    };
    let kernels = imp::kernels::kernels(&made);
    let names = || kernels.iter().map(|kernel| &*kernel.launch.name);
    let scans = names().any(|name| name.ends_with(".segscan.add"));
    let mut problems: Vec<String> = WITH_SCANS.problem(program, scans).into_iter().collect();
    if !scans {
        return problems;
    }
    let functions: BTreeSet<&str> = names().filter_map(|name| Some(name.split_once(".segscan")?.0)).collect();
    // The other entry points have the same code with and without forward progress.
    let selected = |entry: &str| called_functions(&made, entry).any(|name| functions.contains(name));
    problems.extend(run(program, &made, &Settings::default(), selected));
    problems
}
