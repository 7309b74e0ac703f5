//! Recording of remarks changes no program.

use crate::program::Program;
use driver::passes;
use ir::{Context, Options};

/// Runs every pass with and without recording.
pub fn change_nothing(program: &Program) -> Vec<String> {
    let Ok(stages) = program.stages() else {
        return Vec::new();
    };
    let mut problems = Vec::new();
    for pass in passes() {
        let at = stages.iter().position(|(name, _)| *name == pass.name);
        let Some((_, before)) = at.and_then(|at| stages.get(at.checked_sub(1)?)) else {
            continue;
        };
        let run = |remarks| {
            let options = Options { remarks, ..Options::default() };
            let mut context = Context::new(None, options);
            let after = pass.apply(before.clone(), &mut context);
            (after, context)
        };
        let ((plain, silent), (recorded, context)) = (run(false), run(true));
        if plain != recorded {
            problems.push(format!("{} gives another program if remarks are recorded", pass.name));
        }
        if context.decisions.len() < silent.decisions.len() {
            problems.push(format!("{} records fewer decisions if remarks are recorded", pass.name));
        }
    }
    problems
}
