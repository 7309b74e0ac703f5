//! Machine code gives the expected values with any number of threads, and frees its memory.

use crate::outcome::{all_same_bits, as_expected, call_compiled, has_position};
use crate::program::{Program, render_failure};
use runtime::{Config, Context};

/// Numbers of threads, whose results must be equal.
const THREADS: [usize; 3] = [1, 2, 4];

/// Calls each entry point twice with each number of threads: the outcomes are as expected and have
/// the bits of the evaluator.
pub fn gives_expected_values(program: &Program) -> Vec<String> {
    let Ok([.., (_, last)]) = program.stages() else {
        return Vec::new();
    };
    let passed = program.unless_passed("machine-code", &last.print(), || run(program));
    passed.unwrap_or_else(|message| vec![message])
}

fn run(program: &Program) -> Vec<String> {
    let mut session = program.session();
    let image = program.lowered(&mut session).and_then(|ir| {
        let image = session.image(ir, &mut ());
        image.map_err(|failure| render_failure(&session, &failure))
    });
    let image = match image {
        Ok(image) => image,
        Err(message) => return vec![message],
    };
    let mut problems = Vec::new();
    for threads in THREADS {
        let config = Config { num_threads: Some(threads), ..Config::default() };
        let mut context = match Context::new(&config, image.clone()) {
            Ok(context) => context,
            Err(e) => {
                problems.push(format!("{threads} threads: cannot create a context: {e}"));
                continue;
            }
        };
        for round in 0..2 {
            for (number, (case, entry)) in program.calls().enumerate() {
                let outcome = call_compiled(&mut context, program, case, entry);
                let result = as_expected(program, case, outcome.as_deref()).and_then(|()| {
                    match (program.last_evaluation(number)?.as_ref(), &outcome) {
                        (Ok(evaluated), Ok(values)) => all_same_bits(evaluated, values)
                            .map_err(|what| format!("differs from the evaluator: {what}")),
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
            problems.push(format!("{threads} threads: {left} bytes leaked"));
        }
    }
    problems
}
