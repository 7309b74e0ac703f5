//! Programs mean the same if every function that can be shared is shared instead of copied.

use crate::outcome::as_expected;
use crate::program::{Program, render_failure};
use crate::selection::Selection;
use crate::unchanged::unchanged_entries;
use driver::{CopyLimits, Stage};

/// Compiles the program with shared functions. If the selection says so for `lower`, which shares
/// them, also evaluates the test blocks of the entry points that change.
pub fn preserve_semantics(program: &Program) -> Vec<String> {
    let Ok([(_, lowered), ..]) = program.stages() else {
        return Vec::new();
    };
    let mut session = program.session();
    session.options.copies = CopyLimits { copied: 0, heavy: 0 };
    let shared = match program.lowered(&mut session) {
        Ok(shared) => shared,
        Err(message) => return vec![message],
    };
    let mut problems = Vec::new();
    let same = unchanged_entries(lowered, &shared);
    let evaluations = program.evaluations(&shared);
    let calls = program.calls().enumerate().filter(|(_, (_, entry))| !same.contains(*entry));
    let evaluated = Selection::get().evaluates_code_of("lower");
    for (number, (case, entry)) in calls.filter(|_| evaluated) {
        let before = match program.last_evaluation(number) {
            Ok(before) => before,
            Err(message) => return vec![message],
        };
        let now = evaluations.outcome((case, entry));
        if let Err(what) = as_expected(program, case, now.as_deref()) {
            problems.push(format!("line {}, {entry}: {what}", case.line));
        }
        if before.is_ok() != now.is_ok() {
            problems.push(format!("line {}, {entry}: fails only with or only without sharing", case.line));
        }
    }
    if let Err(failure) = session.run_passes(shared, Stage::Llvm, &mut ()) {
        problems.push(render_failure(&session, &failure));
    }
    problems
}
