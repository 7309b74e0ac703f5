//! Fuel: every rewrite consumes some, so a pass that only improves programs leaves them unchanged
//! without any.

#[allow(dead_code, reason = "shared with the other tests")]
mod support;

use driver::passes;
use ir::{Context, Options};
use support::every_program;

#[test]
fn without_fuel_nothing_is_rewritten() {
    every_program(|program| {
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
                    problems.push(format!("{} changes it: {}", pass.name, other.join(" ")));
                }
                Err(error) => problems.push(format!("{}: {error}", pass.name)),
            }
        }
        problems
    });
}
