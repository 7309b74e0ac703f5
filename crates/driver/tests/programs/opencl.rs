//! Every program on a device of OpenCL's (PoCL makes one of the processor): the expected
//! values of the test blocks, the bits that the CPU gives, the same messages at the same
//! places, nothing left in memory.
//!
//! As on the simulated device, each entry point is tried by itself where a program cannot be
//! compiled as it is; how many cannot, is known.

use crate::support::{Files, Outcome, Program, all_same_bits, every_program, programs, shown};
use crate::{as_expected, call, has_position};
use driver::{Ir, Session, Stage};
use harness::compare_all;
use runtime::{Config, Context, Image, device};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Entry points that run on the device, at least, of the programs with even numbers and of
/// those with odd ones.
const SUPPORTED: [usize; 2] = [324, 292];

/// Entry points whose sums of floats are put together in another order on a device: their
/// last bits may differ from the CPU's, but not from run to run. All other results have the
/// CPU's bits.
const SUMS: [(&str, &[&str]); 9] = [
    ("bench/programs/nests/lava_md.fut", &["main"]),
    ("bench/programs/nests/local_volatility.fut", &["main"]),
    ("bench/programs/nests/option_pricing.fut", &["main"]),
    ("bench/programs/straight.fut", &["nine"]),
    ("examples/dot_product.fut", &["waves"]),
    ("examples/nbody.fut", &["main"]),
    ("tests/programs/classic/simulation.fut", &["nbody"]),
    (
        "tests/programs/features/histograms.fut",
        &["single", "double", "onto", "grid"],
    ),
    (
        "tests/programs/features/large.fut",
        &["sums", "running", "rows", "compose_floats"],
    ),
];

/// Entry points that write different values to one place, of which any may stay.
const COLLIDING: [(&str, &str); 1] = [("tests/programs/features/accumulators.fut", "spread")];

/// Entry points with calls in which the host launches a kernel, or reads an element, tens of
/// thousands of times in turn. That takes minutes and shows nothing that others do not.
const LONG: [(&str, &str); 2] = [
    ("tests/programs/features/accumulators.fut", "greatest"),
    ("tests/programs/features/scan_and_reduce.fut", "as_apart"),
];

/// The program with these entry points as it goes on from the core IR, and its session.
fn lowered(program: &Program, entries: &[&str]) -> Result<(Session, Ir), String> {
    let mut session = program.session();
    session.options = session.options.clone().opencl();
    session.options.llvm_level = 0;
    let ir = session
        .check(&mut Files)
        .and_then(|typed| session.lower(&typed));
    match ir {
        Ok(Ir::Soacs(mut program)) => {
            program
                .entries
                .retain(|entry| entries.contains(&&*entry.name));
            Ok((session, Ir::Soacs(program)))
        }
        Ok(ir) => Ok((session, ir)),
        Err(failure) => Err(shown(&session, &failure)),
    }
}

/// Whether entry points can be compiled for a device, together.
fn is_supported(program: &Program, entries: &[&str]) -> Result<bool, String> {
    let (mut session, ir) = lowered(program, entries)?;
    let imp = Stage::from_name("imp").expect("there is such a stage");
    match session.advance(ir, imp, &mut ()) {
        Ok(_) => Ok(true),
        Err(failure) if failure.0.iter().all(|d| d.id == "not-supported-yet") => Ok(false),
        Err(failure) => Err(shown(&session, &failure)),
    }
}

/// Compiles what can be of a program and runs it; how many entry points that are, and
/// problems.
fn on_device(program: &Program) -> Result<(usize, Vec<String>), String> {
    let mut entries: Vec<&str> = program.calls().map(|(_, entry)| entry).collect();
    entries.retain(|entry| !LONG.contains(&(&program.name, entry)));
    entries.sort_unstable();
    entries.dedup();
    if !is_supported(program, &entries)? {
        let all = std::mem::take(&mut entries);
        for entry in all {
            if is_supported(program, &[entry])? {
                entries.push(entry);
            }
        }
    }
    if entries.is_empty() {
        return Ok((0, Vec::new()));
    }
    let evaluated = program.last_outcomes()?;
    let (mut session, ir) = lowered(program, &entries)?;
    let image = session.image(ir, &mut ());
    let image = image.map_err(|failure| shown(&session, &failure))?;
    Ok((entries.len(), run(program, image, evaluated, &entries)))
}

/// Every second program, beginning with a number: drivers compile one kernel after another
/// in a process.
fn every_second(first: usize) {
    let supported = AtomicUsize::new(0);
    let mine: Vec<&str> = (programs().iter().skip(first).step_by(2))
        .map(|program| program.name.as_str())
        .collect();
    every_program(|program| {
        if program.spec.rejected.is_some() || !mine.contains(&program.name.as_str()) {
            return Vec::new();
        }
        match on_device(program) {
            Ok((entries, problems)) => {
                supported.fetch_add(entries, Ordering::Relaxed);
                problems
            }
            Err(message) => vec![message],
        }
    });
    let supported = supported.into_inner();
    println!("{supported} entry points run");
    assert!(
        supported >= SUPPORTED[first],
        "{supported} entry points run"
    );
}

#[test]
fn kernels_give_the_expected_values_and_the_bits_of_the_cpu_on_a_device() {
    every_second(0);
}

#[test]
fn kernels_of_the_other_programs_do_so_too() {
    every_second(1);
}

/// Runs entry points, twice.
fn run(program: &Program, image: Image, evaluated: &[Outcome], entries: &[&str]) -> Vec<String> {
    let mut problems = Vec::new();
    let config = Config {
        device: device::Config {
            // There is much to compile, and little to run.
            build_options: vec!["-cl-opt-disable".to_owned()],
            ..device::Config::default()
        },
        ..Config::default()
    };
    let mut context = match Context::new(&config, image) {
        Ok(context) => context,
        Err(e) => return vec![format!("no context: {e}")],
    };
    let sums = SUMS.iter().find(|(name, _)| *name == program.name);
    let sums = sums.map_or(&[][..], |(_, entries)| entries);
    for ((case, entry), evaluated) in program.calls().zip(evaluated) {
        if !entries.contains(&entry) {
            continue;
        }
        let outcome = call(&mut context, program, case, entry);
        let again = call(&mut context, program, case, entry);
        if outcome.is_ok() && COLLIDING.contains(&(&program.name, entry)) {
            continue;
        }
        let result = as_expected(program, case, outcome.as_deref()).and_then(|()| {
            if let (Ok(values), Ok(again)) = (&outcome, &again) {
                all_same_bits(values, again).map_err(|what| format!("not as before: {what}"))?;
            }
            match (evaluated, &outcome) {
                (Ok(evaluated), Ok(values)) if sums.contains(&entry) => {
                    compare_all(evaluated, values)
                }
                (Ok(evaluated), Ok(values)) => all_same_bits(evaluated, values),
                (_, Err(failure)) => has_position(program, failure),
                (Err(_), Ok(_)) => Ok(()),
            }
            .map_err(|what| format!("not as on the CPU: {what}"))
        });
        if let Err(what) = result {
            problems.push(format!("line {}, {entry}: {what}", case.line));
        }
    }
    let left = context.finish();
    if left != 0 {
        problems.push(format!("{left} bytes are left"));
    }
    problems
}
