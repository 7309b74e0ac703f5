//! A fixed number of random programs, each in the interpreter and as compiled code in a mode of its
//! own. `cargo xtask progen` runs more of them.

use harness::programs::parallel_map_with;
use progen::{Choices, Setting, try_choices};

/// The number of programs; their seeds are 1, 2, 3 and so on.
const PROGRAMS: u64 = 80;
/// The bound on the programs' size.
const SIZE: usize = 60;

#[test]
fn compiled_programs_agree_with_the_interpreter() {
    let seeds: Vec<u64> = (1..=PROGRAMS).collect();
    let tried = parallel_map_with(2, &seeds, |_, seed| {
        let setting = Setting::draw(*seed);
        let tried = stacked(|| try_choices(Choices::random(*seed), SIZE, &setting));
        tried.map_err(|problem| {
            let program = setting.generate(&mut Choices::random(*seed), SIZE);
            format!("seed {seed}: {}\n{}\n{}\n{}", problem.kind, setting.text(), problem.what, program.text)
        })
    });
    let mut values = 0;
    let mut failures = 0;
    let mut problems = Vec::new();
    for report in tried {
        match report {
            Ok(report) => {
                values += report.values;
                failures += report.failures;
            }
            Err(problem) => problems.push(problem),
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    // Most programs return values, and some fail as expected.
    assert!(values > PROGRAMS * 2, "only {values} calls returned values");
    assert!(failures > PROGRAMS / 10, "only {failures} calls failed");
}

/// Runs `work` with enough stack for unoptimised code.
fn stacked<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(64 << 20);
        let thread = thread.spawn_scoped(scope, work).expect("a thread starts");
        thread.join().expect("problems are caught")
    })
}

#[test]
fn choices_replay_the_program_of_a_seed() {
    for seed in 1..50 {
        let mut choices = Choices::random(seed);
        let setting = Setting::draw(seed);
        let program = setting.generate(&mut choices, SIZE);
        let mut replayed = Choices::replay(choices.into_made());
        assert_eq!(program.text, setting.generate(&mut replayed, SIZE).text);
    }
}
