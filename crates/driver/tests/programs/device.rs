//! Every program as kernels on the simulated device: what can be compiled for one gives
//! the expected values, in several orders of blocks and threads, and misuses no memory.
//!
//! Where a program cannot be compiled as it is, each of its entry points is tried by
//! itself. What is left says by its error that it is not supported yet; how much that is,
//! is known.

use crate::support::{Files, Outcome, Program, every_program, shown};
use crate::{as_expected, has_position};
use driver::{Ir, Session, Stage};
use harness::evaluate::Failure;
use harness::{Case, compare_all};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use target::device::Device;
use target::levels::GPU;

/// Small blocks: small arrays are more than one, and chunks of several blocks.
const SMALL: Device = Device {
    block: 8,
    blocks: 5,
    grain: 2,
};

/// Entry points that run on the simulated device, at least.
const SUPPORTED: usize = 617;
/// Entry points that are not supported yet, at most.
const UNSUPPORTED: usize = 31;

/// Entry points that write different values to one place, of which any may stay.
const COLLIDING: [(&str, &str); 1] = [("tests/programs/features/accumulators.fut", "spread")];

/// What compiling for a device comes to.
enum Made {
    Program(Box<imp::Program>),
    NotYet(String),
}

/// A program, or one of its entry points, for a device.
fn compile(program: &Program, only: Option<&str>) -> Result<Made, String> {
    let mut session = program.session();
    session.options.stack = GPU;
    session.options.device = SMALL;
    let made = made(&mut session, only);
    match made {
        Ok(Ir::Imp(made)) => Ok(Made::Program(Box::new(made))),
        Ok(_) => Err("no imperative IR".to_owned()),
        Err(failure) if failure.0.iter().all(|d| d.id == "not-supported-yet") => {
            Ok(Made::NotYet(failure.0[0].message.clone()))
        }
        Err(failure) => Err(shown(&session, &failure)),
    }
}

fn made(session: &mut Session, only: Option<&str>) -> Result<Ir, driver::Failure> {
    let typed = session.check(&mut Files)?;
    let mut ir = session.lower(&typed)?;
    if let (Ir::Soacs(program), Some(only)) = (&mut ir, only) {
        program.entries.retain(|entry| &*entry.name == only);
    }
    let stage = Stage::from_name("imp").expect("there is such a stage");
    session.advance(ir, stage, &mut ())
}

#[test]
fn kernels_give_the_expected_values_on_the_simulated_device() {
    let supported = AtomicUsize::new(0);
    let unsupported: Mutex<BTreeMap<String, Vec<String>>> = Mutex::default();
    every_program(|program| {
        if program.spec.rejected.is_some() {
            return Vec::new();
        }
        let mut entries: Vec<&str> = program.calls().map(|(_, entry)| entry).collect();
        entries.sort_unstable();
        entries.dedup();
        let mut problems = Vec::new();
        match compile(program, None) {
            Ok(Made::Program(made)) => {
                supported.fetch_add(entries.len(), Ordering::Relaxed);
                problems.extend(run(program, &made, None));
            }
            Ok(Made::NotYet(_)) => {
                for entry in entries {
                    match compile(program, Some(entry)) {
                        Ok(Made::Program(made)) => {
                            supported.fetch_add(1, Ordering::Relaxed);
                            problems.extend(run(program, &made, Some(entry)));
                        }
                        Ok(Made::NotYet(why)) => {
                            let mut unsupported = unsupported.lock().expect("no thread panics");
                            let name = format!("{} {entry}", program.name);
                            unsupported.entry(why).or_default().push(name);
                        }
                        Err(message) => problems.push(format!("{entry}: {message}")),
                    }
                }
            }
            Err(message) => problems.push(message),
        }
        problems
    });
    let unsupported = unsupported.into_inner().expect("no thread panics");
    let left: usize = unsupported.values().map(Vec::len).sum();
    let supported = supported.into_inner();
    let list: Vec<String> = unsupported
        .iter()
        .map(|(why, names)| format!("{why} ({}): {}", names.len(), names.join(", ")))
        .collect();
    let list = list.join("\n");
    println!("{supported} entry points run, {left} do not:\n{list}");
    assert!(
        supported >= SUPPORTED && left <= UNSUPPORTED,
        "{supported} entry points run, {left} do not:\n{list}"
    );
}

/// Runs an entry point, or all of them, and holds what comes out against what is expected
/// and what the program gives elsewhere.
fn run(program: &Program, made: &imp::Program, only: Option<&str>) -> Vec<String> {
    let mut problems = Vec::new();
    if !imp::parse(&imp::print(made)).is_ok_and(|read| read == *made) {
        problems.push("something else is read back".to_owned());
    }
    let evaluated = match program.last_outcomes() {
        Ok(evaluated) => evaluated,
        Err(message) => return vec![message],
    };
    for ((case, entry), evaluated) in program.calls().zip(evaluated) {
        if only.is_some_and(|only| only != entry) {
            continue;
        }
        for seed in [1, 2] {
            let outcome = call(made, program, case, entry, seed);
            if outcome.is_ok() && COLLIDING.contains(&(&program.name, entry)) {
                continue;
            }
            let result = as_expected(program, case, outcome.as_deref()).and_then(|()| {
                match (evaluated, &outcome) {
                    (Ok(evaluated), Ok(values)) => compare_all(evaluated, values)
                        .map_err(|what| format!("not as evaluated: {what}")),
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

fn call(made: &imp::Program, program: &Program, case: &Case, entry: &str, seed: u64) -> Outcome {
    let args = case.input.values(program.folder());
    let args = args.map_err(|e| Failure::Argument(e.to_string()))?;
    harness::evaluate::call_imp(made, entry, &args, seed)
}
