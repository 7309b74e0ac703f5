//! A fixed number of random programs with derivatives, compared with the interpreter's; forward and
//! reverse mode are compared with each other, and with central differences.
//! `cargo xtask progen --derivatives` runs more.

use progen::{Choices, Setting, try_choices};

/// The number of programs; their seeds are 1, 2, 3 and so on.
const PROGRAMS: u64 = 40;
/// The bound on the programs' size.
const SIZE: usize = 60;

/// Text that programs contain, and the least number of 200 programs with it.
const CONTENT: [(&str, usize); 24] = [
    ("vjp2 ", 30),
    ("jvp2 ", 30),
    ("mjp2 ", 10),
    ("jmp2 ", 10),
    ("vjp g x", 30),
    ("jvp g x", 30),
    ("(coarse, fine)", 20),
    ("(loop ", 60),
    (" while ", 15),
    ("(match ", 15),
    ("(scan ", 30),
    ("(reduce ", 40),
    ("(hist ", 4),
    ("(reduce_by_index ", 10),
    ("(scatter ", 5),
    (" with [", 20),
    ("(with_vjp ", 10),
    ("#[noinline]", 40),
    ("(depth - 1)", 15),
    ("(filter ", 5),
    ("(transpose ", 3),
    ("(rotate ", 5),
    ("f32", 15),
    ("f64.max ", 10),
];

fn setting(seed: u64) -> Setting {
    Setting::draw(seed).with_derivatives(true)
}

#[test]
fn derivatives_agree_with_the_interpreter() {
    let work = || {
        let mut values = 0;
        let mut problems = Vec::new();
        for seed in 1..=PROGRAMS {
            match try_choices(Choices::random(seed), SIZE, &setting(seed)) {
                Ok(report) => values += report.values,
                Err(problem) => {
                    let program = setting(seed).generate(&mut Choices::random(seed), SIZE);
                    let (kind, what) = (problem.kind, problem.what);
                    problems.push(format!("seed {seed}: {kind}\n{what}\n{}", program.text));
                }
            }
        }
        assert!(problems.is_empty(), "{}", problems.join("\n"));
        assert!(values >= PROGRAMS * 2, "only {values} calls returned values");
    };
    // Unoptimised code needs much stack.
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(64 << 20);
        let thread = thread.spawn_scoped(scope, work).expect("a thread starts");
        thread.join().expect("no problems");
    });
}

#[test]
fn programs_with_derivatives_contain_all_forms() {
    let programs: Vec<String> =
        (1..=200).map(|seed| setting(seed).generate(&mut Choices::random(seed), SIZE).text).collect();
    for (content, least) in CONTENT {
        let count = programs.iter().filter(|text| text.contains(content)).count();
        assert!(count >= least, "{content}: only in {count} programs");
    }
}

#[test]
fn choices_replay_the_program_of_a_seed() {
    for seed in 1..50 {
        let mut choices = Choices::random(seed);
        let program = setting(seed).generate(&mut choices, SIZE);
        let mut replayed = Choices::replay(choices.into_made());
        assert_eq!(program.text, setting(seed).generate(&mut replayed, SIZE).text);
    }
}
