//! Every program on an OpenCL device (PoCL runs on the CPU): the expected values of the test
//! blocks, the bits of the CPU, the same messages at the same source locations, no leaked memory.

use super::simulated_device::block_level_settings;
use crate::outcome::{all_same_bits, as_expected, call_compiled, has_position};
use crate::program::{Program, render_failure};
use driver::{DeviceTarget, Session};
use harness::compare_all;
use runtime::tuning_params::Assignment;
use runtime::{Config, Context, Image, device};
use std::sync::LazyLock;

/// Entry points whose sums of floats are combined in a different order on a device: their last bits
/// may differ from the CPU's, but not from run to run. All other results have the CPU's bits.
const SUMS: [(&str, &[&str]); 17] = [
    ("bench/programs/mini.fut", &["black_scholes", "redomap_nt"]),
    ("bench/programs/nests/lava_md.fut", &["main"]),
    ("bench/programs/nests/local_volatility.fut", &["main"]),
    ("bench/programs/nests/option_pricing.fut", &["main"]),
    ("bench/programs/straight.fut", &["nine"]),
    ("examples/dot_product.fut", &["waves"]),
    ("examples/nbody.fut", &["main"]),
    ("tests/programs/classic/simulation.fut", &["nbody"]),
    ("tests/programs/derivatives/accumulators.fut", &["of_nested", "second_of_nested", "of_arrays"]),
    ("tests/programs/derivatives/forward.fut", &["gradients", "hessians"]),
    ("tests/programs/derivatives/reverse.fut", &["of_linear_recurrence", "of_matrix_product"]),
    ("tests/programs/derivatives/updates_by_operators.fut", &["of_pairs", "of_nested"]),
    ("tests/programs/features/accumulators.fut", &["sums"]),
    ("tests/programs/features/histogram_range_partitioning.fut", &["sums"]),
    ("tests/programs/features/histograms.fut", &["single", "double", "onto", "grid"]),
    ("tests/programs/features/large.fut", &["sums", "running", "rows", "compose_floats"]),
    ("tests/programs/features/mathematical_functions.fut", &["nests"]),
];

/// Entry points with calls in which the host launches a kernel, or reads an element, tens of
/// thousands of times sequentially. That takes minutes and adds no coverage.
const LONG: [(&str, &str); 1] = [("tests/programs/features/scan_and_reduce.fut", "as_separate")];

/// Programs whose kernels PoCL optimises, as it does by default.
const OPTIMISED: [&str; 2] =
    ["tests/programs/features/scans_reductions.fut", "tests/programs/features/segmented_scans.fut"];

/// Programs with nests, for which block-level versions are tested: scans that solve systems of
/// equations, reductions, scans, maps and histograms in maps, loops around them.
const NESTS: [&str; 9] = [
    "bench/programs/nests/heston.fut",
    "bench/programs/nests/local_volatility.fut",
    "bench/programs/nests/option_pricing.fut",
    "bench/programs/nests/row_operators.fut",
    "tests/programs/features/accumulators.fut",
    "tests/programs/features/row_scans.fut",
    "tests/programs/features/scans_reductions.fut",
    "tests/programs/features/shared_memory.fut",
    "tests/programs/features/thread_blocks.fut",
];

/// Runs a program's calls on the device.
pub fn gives_expected_values(program: &Program) -> Vec<String> {
    if !program.is_accepted() {
        return Vec::new();
    }
    let problems = kernels(program).and_then(|made| with_tuning(program, &made, Vec::new()));
    problems.unwrap_or_else(|message| vec![message])
}

/// Runs a program's calls on the device in the block-level versions of nests, if it is one of
/// [`NESTS`].
pub fn blocks_give_expected_values(program: &Program) -> Vec<String> {
    if !NESTS.contains(&program.name.as_str()) {
        return Vec::new();
    }
    by_blocks(program).unwrap_or_else(|message| vec![message])
}

fn by_blocks(program: &Program) -> Result<Vec<String>, String> {
    let made = kernels(program)?;
    let settings = block_level_settings(&made).ok_or("there is no block-level version")?;
    let assignments = settings.0.into_iter().map(|(name, value)| Assignment::new(name, value));
    with_tuning(program, &made, assignments.collect())
}

/// A compilation for the device.
fn session(program: &Program) -> Session {
    let mut session = program.session();
    session.options = session.options.clone().on_device(DeviceTarget::OpenCl);
    session.options.llvm_level = 0;
    session
}

/// The imperative IR for the device.
fn kernels(program: &Program) -> Result<imp::Program, String> {
    program.imperative(&mut session(program))
}

/// Runs a program's calls on the device with values of tuning parameters; returns the problems.
fn with_tuning(
    program: &Program,
    made: &imp::Program,
    tuning: Vec<Assignment>,
) -> Result<Vec<String>, String> {
    let code = format!("{tuning:?}\n{}", imp::print(made));
    program.unless_passed("opencl", &code, || {
        let mut session = session(program);
        let image = program.lowered(&mut session).and_then(|ir| {
            let image = session.image(ir, &mut ());
            image.map_err(|failure| render_failure(&session, &failure))
        });
        match image {
            Ok(image) => run(program, image, tuning),
            Err(message) => vec![message],
        }
    })
}

/// The OpenCL contexts of all programs.
static CONTEXTS: LazyLock<device::SharedContexts> = LazyLock::new(device::SharedContexts::default);

/// Calls each entry point twice, and compares the outcomes.
fn run(program: &Program, image: Image, tuning: Vec<Assignment>) -> Vec<String> {
    let mut problems = Vec::new();
    // Blocks combine sums in a different order than single threads.
    let tuned = !tuning.is_empty();
    // Compilation dominates the time.
    let build_options = if OPTIMISED.contains(&program.name.as_str()) {
        Vec::new()
    } else {
        vec!["-cl-opt-disable".to_owned()]
    };
    let config = Config {
        device: device::Config { build_options, contexts: CONTEXTS.clone(), ..device::Config::default() },
        tuning,
        ..Config::default()
    };
    let mut context = match Context::new(&config, image) {
        Ok(context) => context,
        Err(e) => return vec![format!("cannot create a context: {e}")],
    };
    let sums = SUMS.iter().find(|(name, _)| *name == program.name);
    let sums = sums.map_or(&[][..], |(_, entries)| entries);
    for (number, (case, entry)) in program.calls().enumerate() {
        if LONG.contains(&(&program.name, entry)) {
            continue;
        }
        let outcome = call_compiled(&mut context, program, case, entry);
        let again = call_compiled(&mut context, program, case, entry);
        let result = as_expected(program, case, outcome.as_deref()).and_then(|()| {
            if let (Ok(values), Ok(again)) = (&outcome, &again) {
                all_same_bits(values, again)
                    .map_err(|what| format!("differs from the first call: {what}"))?;
            }
            match (program.last_evaluation(number)?.as_ref(), &outcome) {
                (Ok(evaluated), Ok(values)) if tuned || sums.contains(&entry) => {
                    compare_all(evaluated, values)
                }
                (Ok(evaluated), Ok(values)) => all_same_bits(evaluated, values),
                (_, Err(failure)) => has_position(program, failure),
                (Err(_), Ok(_)) => Ok(()),
            }
            .map_err(|what| format!("differs from the CPU: {what}"))
        });
        if let Err(what) = result {
            problems.push(format!("line {}, {entry}: {what}", case.line));
        }
    }
    let left = context.finish();
    if left != 0 {
        problems.push(format!("{left} bytes leaked"));
    }
    problems
}
