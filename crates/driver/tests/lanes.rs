//! Every program of the repository with all possible loops in vector lanes, for varying processors:
//! the results have the same bits as without lanes. (The compiler's own choice is compared with the
//! evaluator in `programs.rs`; `cargo xtask modes` tries all combinations.)

#[allow(dead_code, reason = "shared with the other tests")]
mod support;

use driver::remark::RemarkKind;
use driver::{Ir, Observer, PassInfo, Remark, VectorLanes};
use harness::evaluate::Failure;
use harness::processors::runnable;
use runtime::{Config, Context, Error, Output};
use std::time::Duration;
use support::{Files, Outcome, Program, all_same_bits, every_program, render_failure};

/// The lane widths tried; programs take them in turn.
const WIDTHS: [u32; 4] = [4, 8, 16, 2];

#[test]
fn lanes_change_no_bit_of_any_result() {
    every_program(|program| {
        if program.spec.compile_error.is_some() {
            return Vec::new();
        }
        let turn = program.name.len();
        let (cpus, width) = (runnable(), WIDTHS[turn % WIDTHS.len()]);
        let cpu = cpus[turn / WIDTHS.len() % cpus.len()];
        let problems = compare(program, cpu, VectorLanes::Width(width));
        problems.unwrap_or_else(|message| vec![message])
    });
}

/// Compares the results of calls in a mode with the results without lanes.
fn compare(program: &Program, cpu: &str, mode: VectorLanes) -> Result<Vec<String>, String> {
    let Some(vector) = outcomes(program, cpu, mode)? else {
        return Ok(Vec::new());
    };
    let plain = outcomes(program, "native", VectorLanes::Off)?.unwrap_or_default();
    let mut problems = Vec::new();
    for (((case, entry), plain), vector) in program.calls().zip(&plain).zip(&vector) {
        let same = match (plain, vector) {
            (Ok(plain), Ok(vector)) => all_same_bits(plain, vector),
            (Err(_), Err(_)) => Ok(()),
            (plain, vector) => Err(format!("{plain:?} without, {vector:?} with lanes")),
        };
        if let Err(what) = same {
            problems.push(format!("line {}, {entry}, {cpu}, {mode:?}: {what}", case.line));
        }
    }
    Ok(problems)
}

/// An observer that is true if any loop runs in lanes.
struct Chosen(bool);

impl Observer for Chosen {
    fn pass(&mut self, _: &PassInfo, _: Duration, _: &Ir) {}

    fn decisions(&mut self, _: &PassInfo, decisions: &[Remark]) {
        let in_lanes = |decision: &Remark| matches!(decision.kind, RemarkKind::Vectorised { .. });
        self.0 |= decisions.iter().any(in_lanes);
    }
}

/// The outcome of each call of the test blocks; `None` if lanes were enabled but no loop runs in
/// lanes.
fn outcomes(program: &Program, cpu: &str, mode: VectorLanes) -> Result<Option<Vec<Outcome>>, String> {
    let mut session = program.session();
    if mode == VectorLanes::Off {
        // LLVM's optimisation is compared with the evaluator elsewhere.
        session.options.llvm_level = 0;
    }
    session.options.lanes = mode;
    cpu.clone_into(&mut session.options.cpu);
    let ir = session
        .check(&mut Files)
        .and_then(|typed| session.lower(&typed))
        .map_err(|failure| render_failure(&session, &failure))?;
    let mut chosen = Chosen(mode == VectorLanes::Off);
    let image = session.image(ir, &mut chosen).map_err(|failure| render_failure(&session, &failure))?;
    if !chosen.0 {
        return Ok(None);
    }
    let config = Config { num_threads: Some(1), ..Config::default() };
    let mut context = Context::new(&config, image).map_err(|e| e.to_string())?;
    let outcomes = program
        .calls()
        .map(|(case, entry)| {
            let args = case.input.values(program.folder());
            let args = args.map_err(|e| Failure::Argument(e.to_string()))?;
            let outputs = context.call(entry, args).map_err(|error| match error {
                Error::Program(message) => Failure::Program(message),
                Error::Usage(message) => Failure::Argument(message),
            })?;
            let value = |output| match output {
                Output::Value(value) => Ok(value),
                other => Err(Failure::Evaluator(format!("no values: {other:?}"))),
            };
            outputs.into_iter().map(value).collect()
        })
        .collect();
    Ok(Some(outcomes))
}
