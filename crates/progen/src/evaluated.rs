//! A program in the evaluator of the imperative IR, which detects misuse of memory: as kernels on the
//! simulated device, with small blocks, threads in an order drawn from the seed, and versions selected
//! by random values of the tuning parameters; and as code for processors, with small tiles. Programs
//! with features that are not supported on devices yet are skipped; all others must have the
//! interpreter's results.

use crate::choices::Choices;
use crate::compare::same_values;
use crate::differ::{Expected, Problem, compile_problem, without_numbers};
use crate::generator::Call;
use driver::{Ir, Session, Stage, levels};
use harness::evaluate::{Failure, call_imp_with};
use harness::programs::first_line;
use imp::eval::Options;
use ir::tunable::Settings;
use runtime::tuning_params::Assignment;
use target::device::Device;
use value::Value;

/// The largest number of statements of a call; longer calls are skipped.
const BUDGET: u64 = 5_000_000;

/// A program for the evaluator.
pub(crate) struct Evaluated {
    program: imp::Program,
    settings: Settings,
    seed: u64,
    /// The start of the kinds of its problems.
    kind: &'static str,
}

impl Evaluated {
    /// Code for processors with these values of tuning parameters.
    pub(crate) fn on_processor(program: imp::Program, tuning: &[Assignment], seed: u64) -> Self {
        let settings = tuning.iter().map(|set| (set.name.clone(), set.value));
        Self { program, settings: Settings(settings.collect()), seed, kind: "evaluated" }
    }

    /// The kernels of a program, verified after each pass; `None` if it needs an unsupported
    /// feature.
    pub(crate) fn on_device(session: &mut Session, ir: Ir, seed: u64) -> Result<Option<Self>, Problem> {
        let stage = Stage::from_name("imp").ok_or_else(|| Problem::new("stage", "imp"))?;
        let stack = std::mem::replace(&mut session.options.stack, levels::GPU);
        let device = std::mem::replace(&mut session.options.device, Device::SMALL);
        let compiled = session.run_passes(ir, stage, &mut ());
        (session.options.stack, session.options.device) = (stack, device);
        match compiled {
            Ok(Ir::Imp(program)) => {
                Ok(Some(Self { settings: settings(&program, seed), program, seed, kind: "device" }))
            }
            Ok(_) => Err(Problem::new("stage", "no imperative IR")),
            Err(failure) if failure.0.iter().all(|d| d.id == "not-supported-yet") => Ok(None),
            Err(failure) => Err(compile_problem("for a device", session, &failure)),
        }
    }

    /// Returns true if a call has the expected result; false if nothing can be compared.
    pub(crate) fn agree(&self, call: &Call, args: &[Value], wanted: &Expected) -> Result<bool, Problem> {
        if matches!(wanted, Expected::Unknown) {
            return Ok(false);
        }
        let options = Options {
            budget: BUDGET,
            seed: self.seed,
            settings: self.settings.clone(),
            ..Options::default()
        };
        let found = call_imp_with(&self.program, &call.entry, args, options);
        let differs = |kind: &str, what: String| {
            let what = format!("entry {}, {}: {what}", call.entry, self.kind);
            Err(Problem::new(&format!("{}: {kind}", self.kind), what))
        };
        match (wanted, found) {
            (_, Err(Failure::Limit(_))) | (Expected::Unknown, _) => Ok(false),
            (Expected::Values(values), Ok(found)) => match same_values(values, &found, &call.precision) {
                Ok(()) => Ok(true),
                Err(what) => differs("values", what),
            },
            (Expected::Failure(message), Err(Failure::Program(text))) => {
                if without_numbers(&first_line(&text)) == without_numbers(&first_line(message)) {
                    Ok(true)
                } else {
                    differs("other failure", format!("found:\n{text}\nexpected:\n{message}"))
                }
            }
            (Expected::Failure(message), Ok(_)) => {
                differs("does not fail", format!("expected failure: {message}"))
            }
            (
                Expected::Values(_) | Expected::Failure(_),
                Err(Failure::Program(text) | Failure::Argument(text) | Failure::Evaluator(text)),
            ) => differs("fails", text),
        }
    }
}

/// Values of a program's tuning parameters, drawn independently.
fn settings(program: &imp::Program, seed: u64) -> Settings {
    let mut c = Choices::random(seed);
    let draw = |tunable: &imp::Tunable| {
        let small = c.below(48) as i64;
        let values = [0, 1, small, tunable.default, i64::MAX];
        let value = c.pick(&values).copied().unwrap_or(tunable.default);
        (tunable.name.to_string(), value)
    };
    Settings(program.tunables.iter().map(draw).collect())
}
