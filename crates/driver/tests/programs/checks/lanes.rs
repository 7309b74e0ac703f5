//! Programs with all possible loops in vector lanes, for varying processors: the results have the
//! bits of the evaluator. (The compiler's own choice is checked by [`super::machine_code`]; `cargo
//! xtask modes` tries all combinations.)

use crate::checks::Tier;
use crate::outcome::{Outcome, all_same_bits, call_compiled};
use crate::program::{Program, render_failure};
use crate::selection::Selection;
use driver::remark::RemarkKind;
use driver::{Ir, Observer, PassInfo, Remark, Session, Stage, VectorLanes};
use harness::processors::runnable;
use runtime::{Config, Context};
use std::time::Duration;

/// The lane widths tried, in rotation over the programs.
const WIDTHS: [u32; 4] = [4, 8, 16, 2];

/// Runs the calls with forced lanes and compares them with the evaluator's outcomes.
pub fn change_no_bits(program: &Program) -> Vec<String> {
    if !program.is_accepted() {
        return Vec::new();
    }
    let number = program.name.len();
    let (cpus, width) = (runnable(), WIDTHS[number % WIDTHS.len()]);
    let cpu = cpus[number / WIDTHS.len() % cpus.len()];
    let Some(vectors) = vectorised(program, cpu, width).transpose() else {
        return Vec::new();
    };
    let run = || compare(program, cpu, width).unwrap_or_else(|message| vec![message]);
    let problems = vectors.and_then(|vectors| {
        program.unless_passed("lanes", &format!("{cpu} {width} {} {}", llvm_level(), vectors.print()), run)
    });
    problems.unwrap_or_else(|message| vec![message])
}

fn compare(program: &Program, cpu: &str, width: u32) -> Result<Vec<String>, String> {
    let mut problems = Vec::new();
    let outcomes = outcomes(program, cpu, width)?;
    for (number, ((case, entry), vector)) in program.calls().zip(&outcomes).enumerate() {
        let same = match (program.last_evaluation(number)?.as_ref(), vector) {
            (Ok(plain), Ok(vector)) => all_same_bits(plain, vector),
            (Err(_), Err(_)) => Ok(()),
            (plain, vector) => Err(format!("{plain:?} without, {vector:?} with lanes")),
        };
        if let Err(what) = same {
            problems.push(format!("line {}, {entry}, {cpu}, {width} lanes: {what}", case.line));
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

/// LLVM's optimisation level. Lanes are complete before LLVM, which takes long for programs with all loops
/// in lanes; machine code of the compiler's own choice is optimised in every tier.
fn llvm_level() -> u8 {
    if Selection::get().tier() == Tier::All { 3 } else { 0 }
}

/// A session for this processor with forced lanes.
fn session(program: &Program, cpu: &str, width: u32) -> Session {
    let mut session = program.session();
    session.options.lanes = VectorLanes::Width(width);
    session.options.llvm_level = llvm_level();
    cpu.clone_into(&mut session.options.cpu);
    session
}

/// The program after vectorisation; `None` if no loop runs in lanes.
fn vectorised(program: &Program, cpu: &str, width: u32) -> Result<Option<Ir>, String> {
    let mut session = session(program, cpu, width);
    let ir = program.lowered(&mut session)?;
    let stage = Stage::from_name("lanes").ok_or("no stage is `lanes`")?;
    let mut chosen = Chosen(false);
    let vectors = session.run_passes(ir, stage, &mut chosen);
    let vectors = vectors.map_err(|failure| render_failure(&session, &failure))?;
    Ok(chosen.0.then_some(vectors))
}

/// The outcome of each call of the test blocks.
fn outcomes(program: &Program, cpu: &str, width: u32) -> Result<Vec<Outcome>, String> {
    let mut session = session(program, cpu, width);
    let ir = program.lowered(&mut session)?;
    let image = session.image(ir, &mut ()).map_err(|failure| render_failure(&session, &failure))?;
    let config = Config { num_threads: Some(1), ..Config::default() };
    let mut context = Context::new(&config, image).map_err(|e| e.to_string())?;
    let calls = program.calls();
    Ok(calls.map(|(case, entry)| call_compiled(&mut context, program, case, entry)).collect())
}
