//! The imperative IR means the same as the segmented operations it is made of, and uses memory
//! correctly: as generated, with vector lanes, and split into small functions.

use crate::outcome::{all_same_bits, as_expected};
use crate::program::Program;
use crate::unchanged::unchanged_loops;
use ir::tunable::Settings;
use std::collections::BTreeSet;

/// The sizes from which on functions are split.
const SMALL: impopt::split::Sizes = impopt::split::Sizes { function: 60, tasks: 90, outline: 40 };

/// Evaluates the test blocks at each of these levels, with a different order of independent
/// iterations, except for code that is unchanged.
pub fn preserve_semantics(program: &Program) -> Vec<String> {
    let Ok(plain) = program.imp() else {
        return Vec::new();
    };
    let lanes = match program.lanes() {
        Ok(lanes) => lanes,
        Err(message) => return vec![message],
    };
    let parts = impopt::split::split(lanes.clone(), SMALL, &mut ir::Context::default());
    let parts = impopt::copies::outline_copies(parts);
    if let Err(errors) = imp::verify(&parts) {
        return errors.iter().map(|e| format!("split: {e}")).collect();
    }
    let mut problems = Vec::new();
    if let Err(what) = super::stages::imp_reads_back(&parts) {
        problems.push(format!("split: {what}"));
    }
    let defaults = Settings::default();
    let levels = [
        ("imp", plain, 1, BTreeSet::new()),
        ("imp in another order", plain, 2, BTreeSet::new()),
        ("lanes", lanes, 3, unchanged_loops(plain, lanes)),
        ("split", &parts, 4, unchanged_loops(lanes, &parts)),
    ];
    for (level, imp, seed, same) in levels {
        let evaluations = program.imp_evaluations(imp, seed, &defaults);
        for (number, (case, entry)) in program.calls().enumerate() {
            if same.contains(entry) {
                continue;
            }
            let before = match program.last_evaluation(number) {
                Ok(before) => before,
                Err(message) => return vec![message],
            };
            let now = evaluations.outcome((case, entry));
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
}
