//! Bisects the optimiser's rewrites: finds the least amount of fuel with which a command fails, and
//! the pass that makes the last rewrite.
//!
//! Requires a command, with `{fuel}` in place of the amount, that succeeds without rewrites and
//! fails with all of them.

use std::path::Path;
use std::process::{Command, Stdio};

const USAGE: &str = "usage: cargo xtask bisect FILE [COMMAND WORD...]

The words may contain {fuel} and {file}; the default command runs the test blocks of
FILE: build/bindrune test --no-terminal --pass-compiler-option=--fuel={fuel} {file}";

/// The amount of fuel that counts as unlimited.
const MOST: u64 = 1 << 40;

/// Runs the task.
pub fn task(root: &Path) -> Result<(), String> {
    let mut words = std::env::args().skip(2);
    let file = match words.next() {
        Some(file) if file != "--help" => file,
        _ => return Err(USAGE.to_owned()),
    };
    let compiler = root.join("build").join("bindrune");
    let compiler = compiler.display().to_string();
    let mut command: Vec<String> = words.collect();
    if command.is_empty() {
        let fuel = "--pass-compiler-option=--fuel={fuel}";
        let words = [&compiler, "test", "--no-terminal", fuel, "{file}"];
        command = words.map(str::to_owned).to_vec();
    }
    let holds = |fuel: u64| succeeds(&command, fuel, &file);
    if !holds(0)? {
        return Err("the command also fails without rewrites".to_owned());
    }
    let least = least_failing(holds)?;
    println!("the command fails from {least} units of fuel on");
    let last_stage = stage_of(&compiler, &file, least)?;
    println!("the last rewrite is made by {last_stage}; before and after it:");
    println!("  {compiler} dev --stage {last_stage} --fuel {} {file}", least - 1);
    println!("  {compiler} dev --stage {last_stage} --fuel {least} {file}");
    Ok(())
}

/// Returns the least amount with which `holds` is false. `holds(0)` must be true.
fn least_failing(holds: impl Fn(u64) -> Result<bool, String>) -> Result<u64, String> {
    let (mut good, mut bad) = (0, 1);
    while holds(bad)? {
        if bad >= MOST {
            return Err("the command succeeds with all rewrites".to_owned());
        }
        (good, bad) = (bad, bad * 4);
    }
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        if holds(middle)? {
            good = middle;
        } else {
            bad = middle;
        }
    }
    Ok(bad)
}

fn succeeds(command: &[String], fuel: u64, file: &str) -> Result<bool, String> {
    let amount = fuel.to_string();
    let mut words = command.iter().map(|word| word.replace("{fuel}", &amount).replace("{file}", file));
    let program = words.next().unwrap_or_default();
    let status = Command::new(&program).args(words).stdout(Stdio::null()).stderr(Stdio::null()).status();
    let status = status.map_err(|error| format!("{program}: {error}"))?;
    Ok(status.success())
}

/// Returns the first pass whose output depends on the last unit of fuel.
fn stage_of(compiler: &str, file: &str, fuel: u64) -> Result<String, String> {
    let text = |stage: &str, fuel: u64| {
        let amount = fuel.to_string();
        let output = Command::new(compiler).args(["dev", "--stage", stage, "--fuel", &amount, file]).output();
        output.map(|output| output.stdout).map_err(|error| format!("{compiler}: {error}"))
    };
    let list = text_of_list(compiler, file)?;
    for stage in list.lines().filter_map(|line| line.split_whitespace().next()) {
        if text(stage, fuel - 1)? != text(stage, fuel)? {
            return Ok(stage.to_owned());
        }
    }
    Err("no pass's output depends on the last unit of fuel".to_owned())
}

fn text_of_list(compiler: &str, file: &str) -> Result<String, String> {
    let output = Command::new(compiler).args(["dev", "--stage", "list", file]).output();
    let output = output.map_err(|error| format!("{compiler}: {error}"))?;
    String::from_utf8(output.stdout).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::least_failing;

    #[test]
    fn finds_the_least_failing_amount() {
        for least in [1, 2, 3, 4, 5, 63, 64, 65, 1000] {
            assert_eq!(least_failing(|fuel| Ok(fuel < least)), Ok(least));
        }
        assert!(least_failing(|_| Ok(true)).is_err());
    }
}
