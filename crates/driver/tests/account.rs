//! Recording of decisions: there are decisions, and recording them changes no program.

#[allow(dead_code, reason = "shared with the other tests")]
mod support;

use driver::passes;
use ir::{Context, Options};
use support::every_program;

#[test]
fn passes_do_the_same_where_somebody_asks_what_they_decide() {
    every_program(|program| {
        let Ok(stages) = program.stages() else {
            return Vec::new();
        };
        let mut problems = Vec::new();
        for pass in passes() {
            let at = stages.iter().position(|(name, _)| *name == pass.name);
            let Some((_, before)) = at.and_then(|at| stages.get(at.checked_sub(1)?)) else {
                continue;
            };
            let run = |account| {
                let options = Options { remarks: account, ..Options::default() };
                let mut context = Context::new(None, options);
                let after = pass.apply(before.clone(), &mut context);
                (after, context)
            };
            let ((plain, silent), (told, context)) = (run(false), run(true));
            if plain != told {
                problems.push(format!("{} does something else", pass.name));
            }
            if context.decisions.len() < silent.decisions.len() {
                problems.push(format!("{} tells less", pass.name));
            }
        }
        problems
    });
}
