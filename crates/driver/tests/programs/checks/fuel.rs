//! Fuel: every rewrite consumes some, so a pass that only improves programs leaves them unchanged
//! without any.

use crate::program::Program;
use driver::passes;
use ir::{Context, Options};

/// Runs every optional pass without fuel.
pub fn limits_every_rewrite(program: &Program) -> Vec<String> {
    let Ok(stages) = program.stages() else {
        return Vec::new();
    };
    let mut problems = Vec::new();
    for pass in passes().into_iter().filter(|pass| pass.optional) {
        let at = stages.iter().position(|(name, _)| *name == pass.name);
        let Some((_, before)) = at.and_then(|at| stages.get(at.checked_sub(1)?)) else {
            continue;
        };
        let mut context = Context::new(Some(0), Options::default());
        match pass.apply(before.clone(), &mut context) {
            Ok(after) if *before == after => {}
            Ok(after) => {
                let (before, after) = (before.print(), after.print());
                let lines = before.lines().zip(after.lines());
                let other = lines.filter(|(a, b)| a != b).take(1);
                let other: Vec<String> = other.map(|(a, b)| format!("{a} => {b}")).collect();
                problems.push(format!(
                    "without fuel, {} changes the program: {}",
                    pass.name,
                    other.join(" ")
                ));
            }
            Err(error) => problems.push(format!("{}: {error}", pass.name)),
        }
    }
    problems
}
