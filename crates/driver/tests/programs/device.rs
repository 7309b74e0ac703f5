//! Every program as kernels on the simulated device: it has the expected values, in several orders
//! of blocks and threads, and has no memory errors.
//!
//! Constructs that cannot be kernels run on the host; the number of such programs is bounded. In
//! one of the orders, threads have other grain sizes than by default. A second test uses the
//! versions of nests in which the threads of a block share the inner parallelism.

use super::unchanged::called_functions;
use crate::support::{Files, Outcome, Program, every_program, render_failure};
use crate::{as_expected, has_position};
use driver::{Ir, Session, Stage};
use harness::evaluate::Failure;
use harness::{Case, compare_all};
use imp::TunableClass;
use ir::tunable::Settings;
use std::collections::BTreeSet;
use std::sync::Mutex;
use target::device::Device;
use target::levels::GPU;

/// The maximum number of programs with constructs that cannot be kernels.
const MAX_ON_HOST: usize = 14;

/// The minimum number of programs with block-level versions.
const WITH_BLOCKS: usize = 13;

/// The minimum number of these with shared-memory capacity guards.
const MIN_WITH_GUARDS: usize = 8;

/// Compiles a program for a small device.
fn compile(program: &Program) -> Result<imp::Program, String> {
    compile_for(program, Device::SMALL)
}

fn compile_for(program: &Program, device: Device) -> Result<imp::Program, String> {
    let mut session = program.session();
    session.options.stack = GPU;
    session.options.device = device;
    match imperative(&mut session) {
        Ok(Ir::Imp(made)) => Ok(made),
        Ok(_) => Err("no imperative IR".to_owned()),
        Err(failure) => Err(render_failure(&session, &failure)),
    }
}

/// The imperative IR of a session's program.
pub fn imperative(session: &mut Session) -> Result<Ir, driver::Failure> {
    let typed = session.check(&mut Files)?;
    let ir = session.lower(&typed)?;
    let stage = Stage::from_name("imp").expect("there is such a stage");
    session.run_passes(ir, stage, &mut ())
}

#[test]
fn kernels_give_the_expected_values_on_the_simulated_device() {
    let on_host: Mutex<Vec<String>> = Mutex::default();
    every_program(|program| {
        if program.spec.compile_error.is_some() {
            return Vec::new();
        }
        let made = match compile(program) {
            Ok(made) => made,
            Err(message) => return vec![message],
        };
        if made.functions.iter().any(|f| f.name.contains(".host")) {
            let mut on_host = on_host.lock().expect("no thread panics");
            on_host.push(program.name.clone());
        }
        run(program, &made, &Settings::default(), |_| true)
    });
    let on_host = on_host.into_inner().expect("no thread panics");
    let count = on_host.len();
    let list = on_host.join("\n");
    println!("something runs on the host in {count}:\n{list}");
    assert!(count <= MAX_ON_HOST, "something runs on the host in {count}:\n{list}");
}

/// Runs a program's calls of the entry points selected by `meant`, and compares the outcomes with
/// the expected values and with the evaluator.
fn run(
    program: &Program,
    made: &imp::Program,
    settings: &Settings,
    meant: impl Fn(&str) -> bool,
) -> Vec<String> {
    let mut problems = Vec::new();
    if !imp::parse(&imp::print(made)).is_ok_and(|read| read == *made) {
        problems.push("something else is read back".to_owned());
    }
    let calls = program.calls().enumerate();
    for (number, (case, entry)) in calls.filter(|(_, (_, entry))| meant(entry)) {
        for (seed, settings) in [(1, settings), (2, &other_sizes(made, settings))] {
            let outcome = call(made, program, case, entry, (seed, settings));
            let result = as_expected(program, case, outcome.as_deref()).and_then(|()| {
                match (program.last_evaluation(number)?.as_ref(), &outcome) {
                    (Ok(evaluated), Ok(values)) => {
                        compare_all(evaluated, values).map_err(|what| format!("not as evaluated: {what}"))
                    }
                    (_, Err(failure)) => has_position(program, failure),
                    (Err(_), Ok(_)) => Ok(()),
                }
            });
            if let Err(what) = result {
                let line = case.line;
                problems.push(format!("line {line}, {entry}, order {seed}: {what}"));
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

fn call(
    made: &imp::Program,
    program: &Program,
    case: &Case,
    entry: &str,
    (seed, settings): (u64, &Settings),
) -> Outcome {
    let args = case.input.values(program.folder());
    let args = args.map_err(|e| Failure::Argument(e.to_string()))?;
    let options = imp::eval::Options { seed, settings: settings.clone(), ..imp::eval::Options::default() };
    harness::evaluate::call_imp_with(made, entry, &args, options)
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

#[test]
fn threads_of_blocks_give_the_expected_values_on_the_simulated_device() {
    let counts = Mutex::new((0, 0));
    every_program(|program| {
        if program.spec.compile_error.is_some() {
            return Vec::new();
        }
        let made = match compile(program) {
            Ok(made) => made,
            Err(message) => return vec![message],
        };
        let Some(settings) = block_level_settings(&made) else {
            return Vec::new();
        };
        let mut counts = counts.lock().expect("no thread panics");
        let without = without_scratchpad(&made, &settings);
        counts.0 += 1;
        counts.1 += usize::from(without.is_some());
        drop(counts);
        // The other entry points run as they do by default.
        let names = settings.0.keys();
        let functions = names.filter_map(|name| Some(name.rsplit_once('.')?.0));
        let functions: BTreeSet<&str> = functions.collect();
        let meant = |entry: &str| called_functions(&made, entry).any(|name| functions.contains(name));
        let mut problems = run(program, &made, &settings, meant);
        if let Some(without) = without {
            problems.extend(run(program, &made, &without, meant));
        }
        problems
    });
    let (count, asks) = counts.into_inner().expect("no thread panics");
    println!("{count} programs have versions for the threads of a block, {asks} ask for room");
    assert!(count >= WITH_BLOCKS, "{count} programs have such versions");
    assert!(asks >= MIN_WITH_GUARDS, "{asks} programs ask for room");
}

/// These settings without any shared memory, if the program has capacity guards.
fn without_scratchpad(made: &imp::Program, settings: &Settings) -> Option<Settings> {
    let mut without = settings.clone();
    for tunable in &made.tunables {
        if tunable.class == TunableClass::Capacity {
            without.0.insert(tunable.name.to_string(), 0);
        }
    }
    (without != *settings).then_some(without)
}

/// The minimum number of programs with scans.
const WITH_SCANS: usize = 20;

#[test]
fn scans_in_several_kernels_give_the_expected_values_on_the_simulated_device() {
    let count = Mutex::new(0);
    every_program(|program| {
        if program.spec.compile_error.is_some() {
            return Vec::new();
        }
        let device = Device { progress: false, ..Device::SMALL };
        let made = match compile_for(program, device) {
            Ok(made) => made,
            Err(message) => return vec![message],
        };
        let kernels = imp::kernels::kernels(&made);
        let names = || kernels.iter().map(|kernel| &*kernel.launch.name);
        if !names().any(|name| name.ends_with(".segscan.add")) {
            return Vec::new();
        }
        let functions = names().filter_map(|name| Some(name.split_once(".segscan")?.0));
        let functions: BTreeSet<&str> = functions.collect();
        *count.lock().expect("no thread panics") += 1;
        // The other entry points have the same code with and without forward progress.
        let meant = |entry: &str| called_functions(&made, entry).any(|name| functions.contains(name));
        run(program, &made, &Settings::default(), meant)
    });
    let count = count.into_inner().expect("no thread panics");
    println!("{count} programs scan");
    assert!(count >= WITH_SCANS, "{count} programs scan");
}
