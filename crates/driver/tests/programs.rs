//! Every program of the repository through the whole compiler: each stage is compared with the
//! verifier, the text form, the evaluator and the expected values of the test blocks, and the
//! machine code with all of these.

mod programs {
    mod device;
    mod opencl;
    mod portable;
    pub mod unchanged;
    mod vendors;
}
mod support;

use driver::Ir;
use harness::evaluate::Failure;
use harness::{Case, Expected, Spec, compare_all};
use programs::unchanged::{unchanged_entries, unchanged_loops};
use runtime::{Config, Context, Error, Output};
use std::collections::BTreeSet;
use support::{Files, Outcome, Program, all_same_bits, every_program, render_failure};
use value::Value;

/// The sizes from which on functions are split in the test of that pass.
const SMALL: imp::split::Sizes = imp::split::Sizes { function: 60, tasks: 90, outline: 40 };

/// Numbers of threads, whose results must be equal.
const THREADS: [usize; 3] = [1, 2, 4];

#[test]
fn stages_accept_what_they_get_and_leave_valid_programs() {
    every_program(|program| match (program.stages(), &program.spec.compile_error) {
        (Ok(_), None) => Vec::new(),
        (Ok(_), Some(pattern)) => vec![format!("should be rejected with `{}`", pattern.regex)],
        (Err(message), Some(pattern)) if pattern.matches(&message) == Ok(true) => Vec::new(),
        (Err(message), _) => vec![message],
    });
}

#[test]
fn text_forms_are_read_back_equal() {
    fn back<L: ir::Level>(program: &ir::Program<L>) -> Result<(), String> {
        let text = ir::text::print(program);
        match ir::text::parse::<L>(&text) {
            Err(e) => Err(format!("line {}, column {}: {}", e.line, e.col, e.message)),
            Ok(read) if read == *program => Ok(()),
            Ok(read) => {
                let again = ir::text::print(&read);
                let pair = text.lines().zip(again.lines()).find(|(a, b)| a != b);
                Err(format!("something else is read back: {pair:?}"))
            }
        }
    }
    fn imp_back(program: &imp::Program) -> Result<(), String> {
        let text = imp::print(program);
        let read = imp::parse(&text).map_err(|e| e.to_string())?;
        if read == *program {
            return Ok(());
        }
        let again = imp::print(&read);
        let pair = text.lines().zip(again.lines()).find(|(a, b)| a != b);
        Err(format!("something else is read back: {pair:?}"))
    }
    every_program(|program| {
        let mut problems = Vec::new();
        for (stage, ir) in program.stages().unwrap_or_default() {
            let result = match ir {
                Ir::Soacs(program) => back(program),
                Ir::Segs(program) => back(program),
                Ir::Mems(program) => back(program),
                Ir::Imp(program) => imp_back(program),
            };
            problems.extend(result.err().map(|e| format!("after {stage}: {e}")));
        }
        if let Ok(lanes) = program.lanes() {
            let result = imp_back(lanes);
            problems.extend(result.err().map(|e| format!("with vectors: {e}")));
        }
        problems
    });
}

#[test]
fn passes_preserve_semantics() {
    every_program(|program| {
        let Ok(stages) = program.stages() else {
            return Vec::new();
        };
        let mut problems = Vec::new();
        let mut before: Option<(&Ir, Vec<Outcome>)> = None;
        for (stage, ir) in stages.iter().filter(|(_, ir)| !matches!(ir, Ir::Imp(_))) {
            let (same, mut earlier) = match before {
                Some((before, outcomes)) => (unchanged_entries(before, ir), outcomes),
                None => (BTreeSet::new(), Vec::new()),
            };
            let mut outcomes = Vec::new();
            let mut problem = |case: &Case, entry: &str, what: String| {
                problems.push(format!("line {}, {entry}, after {stage}: {what}", case.line));
            };
            let mut earlier = earlier.drain(..);
            for (case, entry) in program.calls() {
                let earlier = earlier.next();
                let outcome = match earlier {
                    Some(earlier) if same.contains(entry) => {
                        outcomes.push(earlier);
                        continue;
                    }
                    _ => program.evaluate(ir, (case, entry)),
                };
                if let Err(what) = as_expected(program, case, outcome.as_deref()) {
                    problem(case, entry, what);
                } else if !may_round_otherwise(stage)
                    && let (Some(Ok(earlier)), Ok(now)) = (earlier, &outcome)
                    && let Err(what) = all_same_bits(&earlier, now)
                {
                    problem(case, entry, format!("the values change: {what}"));
                }
                outcomes.push(outcome);
            }
            before = Some((ir, outcomes));
        }
        problems
    });
}

#[test]
fn loops_and_vectors_compute_what_combinators_do_and_use_memory_well() {
    every_program(|program| {
        let Ok(plain) = program.imp() else {
            return Vec::new();
        };
        let lanes = match program.lanes() {
            Ok(lanes) => lanes,
            Err(message) => return vec![message],
        };
        let pieces = imp::split::split(lanes.clone(), SMALL, &mut ir::Context::default());
        let pieces = imp::copies::outline_copies(pieces);
        if let Err(errors) = imp::verify(&pieces) {
            return errors.iter().map(|e| format!("split: {e}")).collect();
        }
        let mut problems = Vec::new();
        if !imp::parse(&imp::print(&pieces)).is_ok_and(|read| read == pieces) {
            problems.push("split: something else is read back".to_owned());
        }
        // Each level is evaluated with a different order of independent iterations, except for code
        // that is unchanged.
        let levels = [
            ("imp", plain, 1, BTreeSet::new()),
            ("imp in another order", plain, 2, BTreeSet::new()),
            ("lanes", lanes, 3, unchanged_loops(plain, lanes)),
            ("split", &pieces, 4, unchanged_loops(lanes, &pieces)),
        ];
        for (number, (case, entry)) in program.calls().enumerate() {
            let before = match program.last_evaluation(number) {
                Ok(before) => before,
                Err(message) => return vec![message],
            };
            for (level, imp, seed, same) in &levels {
                if same.contains(entry) {
                    continue;
                }
                let now = program.imp_outcome(imp, (case, entry), *seed);
                let result =
                    as_expected(program, case, now.as_deref()).and_then(|()| match (before.as_ref(), &now) {
                        (Ok(before), Ok(now)) => all_same_bits(before, now),
                        _ => Ok(()),
                    });
                if let Err(what) = result {
                    problems.push(format!("line {}, {entry}, {level}: {what}", case.line));
                }
            }
        }
        problems
    });
}

#[test]
fn functions_mean_the_same_where_all_that_can_be_are_shared() {
    every_program(|program| {
        let Ok([(_, lowered), ..]) = program.stages() else {
            return Vec::new();
        };
        let mut session = program.session();
        session.options.copies = driver::CopyLimits { copied: 0, heavy: 0 };
        let shared = session.check(&mut Files).and_then(|typed| session.lower(&typed));
        let shared = match shared {
            Ok(shared) => shared,
            Err(failure) => return vec![render_failure(&session, &failure)],
        };
        let mut problems = Vec::new();
        let same = unchanged_entries(lowered, &shared);
        let calls = program.calls().enumerate();
        for (number, (case, entry)) in calls.filter(|(_, (_, entry))| !same.contains(*entry)) {
            let before = match program.last_evaluation(number) {
                Ok(before) => before,
                Err(message) => return vec![message],
            };
            let now = program.evaluate(&shared, (case, entry));
            if let Err(what) = as_expected(program, case, now.as_deref()) {
                problems.push(format!("line {}, {entry}: {what}", case.line));
            }
            if before.is_ok() != now.is_ok() {
                problems.push(format!("line {}, {entry}: it fails, or no longer", case.line));
            }
        }
        if let Err(failure) = session.run_passes(shared, driver::Stage::Llvm, &mut ()) {
            problems.push(render_failure(&session, &failure));
        }
        problems
    });
}

/// Returns true if a pass may change the last bits of floats: multiply-adds are fused before
/// flattening; the partitioning of sums into chunks is fixed by flattening, and for accumulators
/// just before it.
fn may_round_otherwise(stage: &str) -> bool {
    ["fma", "accumulators", "flatten"].iter().any(|name| stage.starts_with(name))
}

/// Compares the outcome of a call with the expectation of the test block.
fn as_expected(program: &Program, case: &Case, outcome: Result<&[Value], &Failure>) -> Result<(), String> {
    match (&case.expected, outcome) {
        (Expected::Error(_), Ok(results)) => Err(format!("no failure but {results:?}")),
        (Expected::Error(pattern), Err(Failure::Program(message))) => match pattern.matches(message) {
            Ok(true) => Ok(()),
            Ok(false) => Err(format!("`{}` does not fit: {message}", pattern.regex)),
            Err(e) => Err(e.to_string()),
        },
        (_, Err(failure)) => Err(failure.to_string()),
        (Expected::Values(data), Ok(results)) => {
            let expected = data.values(program.folder()).map_err(|e| e.to_string())?;
            compare_all(&expected, results)
        }
        (Expected::Success | Expected::Auto, Ok(_)) => Ok(()),
    }
}

#[test]
fn machine_code_gives_the_expected_values_with_any_number_of_threads() {
    every_program(|program| {
        if program.stages().is_err() {
            return Vec::new();
        }
        let mut session = program.session();
        let image = session
            .check(&mut Files)
            .and_then(|typed| session.lower(&typed))
            .and_then(|ir| session.image(ir, &mut ()));
        let image = match image {
            Ok(image) => image,
            Err(failure) => return vec![render_failure(&session, &failure)],
        };
        let mut problems = Vec::new();
        for threads in THREADS {
            let config = Config { num_threads: Some(threads), ..Config::default() };
            let mut context = match Context::new(&config, image.clone()) {
                Ok(context) => context,
                Err(e) => {
                    problems.push(format!("{threads} threads: no context: {e}"));
                    continue;
                }
            };
            for round in 0..2 {
                for (number, (case, entry)) in program.calls().enumerate() {
                    let outcome = call(&mut context, program, case, entry);
                    let result = as_expected(program, case, outcome.as_deref()).and_then(|()| {
                        match (program.last_evaluation(number)?.as_ref(), &outcome) {
                            (Ok(evaluated), Ok(values)) => all_same_bits(evaluated, values)
                                .map_err(|what| format!("not as evaluated: {what}")),
                            (_, Err(failure)) => has_position(program, failure),
                            (Err(_), Ok(_)) => Ok(()),
                        }
                    });
                    if let Err(what) = result {
                        problems.push(format!(
                            "line {}, {entry}, {threads} threads, round {round}: {what}",
                            case.line
                        ));
                    }
                }
            }
            let left = context.finish();
            if left != 0 {
                problems.push(format!("{threads} threads: {left} bytes are left"));
            }
        }
        problems
    });
}

/// Calls compiled code.
fn call(context: &mut Context, program: &Program, case: &Case, entry: &str) -> Outcome {
    let args = case.input.values(program.folder());
    let args = args.map_err(|e| Failure::Argument(e.to_string()))?;
    let outputs = context.call(entry, args).map_err(|error| match error {
        Error::Program(message) => Failure::Program(message),
        Error::Usage(message) => Failure::Argument(message),
    })?;
    let value = |output| match output {
        Output::Value(value) => Ok(value),
        other => Err(Failure::Evaluator(format!("a result that has no values: {other:?}"))),
    };
    outputs.into_iter().map(value).collect()
}

/// Checks that a failure names a position in the program: file, line, column.
fn has_position(program: &Program, failure: &Failure) -> Result<(), String> {
    let message = failure.to_string();
    let file = program.name.rsplit('/').next().unwrap_or_default();
    let is_place = |rest: &str| {
        let mut numbers = rest.split([':', '-']).skip(1).take(2);
        numbers.by_ref().filter(|n| n.parse::<u32>().is_ok()).count() == 2
    };
    if message.split(file).skip(1).any(is_place) {
        Ok(())
    } else {
        Err(format!("the failure has no position: {message}"))
    }
}

#[test]
fn every_program_has_test_blocks() {
    let cases = |spec: &Spec| spec.cases.len();
    let total: usize = support::programs().iter().map(|p| cases(&p.spec)).sum();
    assert!(total > 500, "only {total} cases were found");
    every_program(|program| {
        let says = program.spec.compile_error.is_some() || cases(&program.spec) > 0;
        if says { Vec::new() } else { vec!["has no test blocks".to_owned()] }
    });
}
