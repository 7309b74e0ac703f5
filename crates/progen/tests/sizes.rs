//! A fixed number of random programs about sizes in types. Their results are known beforehand, and
//! compared with those of the interpreter, which checks all values against the sizes in their
//! types, of compiled code and of the simulated device. `cargo xtask progen --sizes` runs more.

use progen::{Choices, Setting, try_choices};

/// The number of programs; their seeds are 1, 2, 3 and so on.
const PROGRAMS: u64 = 50;
/// The bound on the programs' size.
const SIZE: usize = 60;

/// Text that programs contain, and the least number of 200 programs with it.
const CONTENT: [(&str, usize); 14] = [
    ("(loop ", 100),
    (" while ", 40),
    (" for ", 100),
    ("(match ", 100),
    ("(let [", 40),
    ("\nmodule F0 (X: ", 80),
    ("\nmodule Wrap_", 20),
    ("type~ t", 100),
    (" :> [", 30),
    (": ?[l0]", 20),
    ("(boxes.mk ", 40),
    (" |> filter ", 20),
    ("#none", 100),
    ("else (fun", 30),
];

fn setting(seed: u64) -> Setting {
    Setting::draw(seed).with_sizes(true)
}

#[test]
fn programs_about_sizes_have_the_expected_results() {
    let work = || {
        let mut values = 0;
        let mut problems = Vec::new();
        for seed in 1..=PROGRAMS {
            let tried = try_choices(Choices::random(seed), SIZE, &setting(seed));
            match tried {
                Ok(report) => values += report.values,
                Err(problem) => {
                    let program = setting(seed).generate(&mut Choices::random(seed), SIZE);
                    let (kind, what) = (problem.kind, problem.what);
                    problems.push(format!("seed {seed}: {kind}\n{what}\n{}", program.text));
                }
            }
        }
        assert!(problems.is_empty(), "{}", problems.join("\n"));
        // Nearly all programs have two calls.
        assert!(values > PROGRAMS * 3 / 2, "only {values} calls returned values");
    };
    // Unoptimised code needs much stack.
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(64 << 20);
        let thread = thread.spawn_scoped(scope, work).expect("a thread starts");
        thread.join().expect("no problems");
    });
}

#[test]
fn programs_about_sizes_contain_all_forms() {
    let programs: Vec<String> =
        (1..=200).map(|seed| setting(seed).generate(&mut Choices::random(seed), SIZE).text).collect();
    for (content, least) in CONTENT {
        let count = programs.iter().filter(|text| text.contains(content)).count();
        assert!(count >= least, "{content}: only in {count} programs");
    }
}
