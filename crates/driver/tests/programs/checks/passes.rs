//! Programs mean the same at every level: after the last pass of each one and, where the selection
//! says so, after every pass.

use crate::outcome::{Outcome, all_same_bits, as_expected};
use crate::program::Program;
use crate::selection::Selection;
use crate::unchanged::unchanged_entries;
use driver::{Ir, passes};
use std::collections::BTreeSet;

/// Evaluates the test blocks after the selected passes above the imperative IR: they have the
/// expected outcomes, and the same bits as before, except for passes that may round differently.
pub fn preserve_semantics(program: &Program) -> Vec<String> {
    let Ok(stages) = program.stages() else {
        return Vec::new();
    };
    let above: Vec<&(String, Ir)> = stages.iter().filter(|(_, ir)| !matches!(ir, Ir::Imp(_))).collect();
    let mut problems = Vec::new();
    let mut before: Option<(&Ir, Vec<Outcome>)> = None;
    let mut rounds = false;
    for (number, (stage, ir)) in above.iter().enumerate() {
        rounds |= may_round_differently(stage);
        let is_last = above.get(number + 1).is_none_or(|(_, next)| level(next) != level(ir));
        if !is_last && !is_evaluated_after(stage) {
            continue;
        }
        let (same, earlier) = match before {
            Some((before, outcomes)) => (unchanged_entries(before, ir), outcomes),
            None => (BTreeSet::new(), Vec::new()),
        };
        let evaluations = program.evaluations(ir);
        let mut outcomes = Vec::new();
        let mut earlier = earlier.into_iter();
        for (case, entry) in program.calls() {
            let earlier = earlier.next();
            let outcome = match earlier {
                Some(earlier) if same.contains(entry) => {
                    outcomes.push(earlier);
                    continue;
                }
                _ => evaluations.outcome((case, entry)),
            };
            let mut problem = |what| {
                problems.push(format!("line {}, {entry}, after {stage}: {what}", case.line));
            };
            if let Err(what) = as_expected(program, case, outcome.as_deref()) {
                problem(what);
            } else if !rounds
                && let (Some(Ok(earlier)), Ok(now)) = (earlier, &outcome)
                && let Err(what) = all_same_bits(&earlier, now)
            {
                problem(format!("the pass changes results: {what}"));
            }
            outcomes.push(outcome);
        }
        before = Some((ir, outcomes));
        rounds = false;
    }
    problems
}

fn level(ir: &Ir) -> std::mem::Discriminant<Ir> {
    std::mem::discriminant(ir)
}

fn is_evaluated_after(stage: &str) -> bool {
    let passes = passes();
    let pass = passes.iter().find(|pass| pass.name == stage);
    pass.is_some_and(|pass| Selection::get().evaluates_after(pass))
}

/// Returns true if a pass may change the last bits of floats: multiply-adds are fused before
/// flattening; the partitioning of sums into chunks is fixed by flattening, and for accumulators
/// just before it.
fn may_round_differently(stage: &str) -> bool {
    ["fma", "math-definitions", "accumulators", "flatten"].iter().any(|name| stage.starts_with(name))
}
