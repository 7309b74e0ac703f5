//! A fixed number of random nests with reuse: products, convolutions, stencils and distances, with the
//! compiler's choice of tiles and with small tiles. `cargo xtask progen --nests` runs more.

use progen::{Choices, Coverage, Setting, try_choices};

/// The number of programs; their seeds are 1, 2, 3 and so on.
const PROGRAMS: u64 = 20;
/// The bound on the programs' size.
const SIZE: usize = 20;

/// Text that programs contain, and the least number of 200 programs with it.
const CONTENT: [(&str, usize); 14] = [
    ("(reduce ", 60),
    ("(loop ", 100),
    ("(map2 ", 60),
    ("tabulate_2d ", 50),
    ("tabulate_3d ", 20),
    ("transpose ", 50),
    ("unflatten ", 5),
    (":> [", 30),
    ("(rotate ", 10),
    ("i64.min ", 20),
    (" with [", 3),
    ("reduce_by_index ", 1),
    ("\nentry other ", 60),
    ("f32", 50),
];

fn setting(seed: u64) -> Setting {
    Setting::draw(seed).with_nests(true)
}

#[test]
fn nests_agree_with_the_interpreter() {
    let work = || {
        let mut values = 0;
        let mut coverage = Coverage::default();
        let mut problems = Vec::new();
        for seed in 1..=PROGRAMS {
            match try_choices(Choices::random(seed), SIZE, &setting(seed)) {
                Ok(report) => {
                    values += report.values;
                    coverage.count(&report.seen);
                }
                Err(problem) => {
                    let program = setting(seed).generate(&mut Choices::random(seed), SIZE);
                    let (kind, what) = (problem.kind, problem.what);
                    problems.push(format!("seed {seed}: {kind}\n{what}\n{}", program.text));
                }
            }
        }
        assert!(problems.is_empty(), "{}", problems.join("\n"));
        assert!(values >= PROGRAMS * 2, "only {values} calls returned values");
        let tiled = coverage.counts().find(|(name, _)| *name == "calls tiled").map_or(0, |(_, count)| count);
        assert!(tiled > PROGRAMS / 5, "only {tiled} programs ran tiles");
    };
    // Unoptimised code needs much stack.
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(64 << 20);
        let thread = thread.spawn_scoped(scope, work).expect("a thread starts");
        thread.join().expect("no problems");
    });
}

#[test]
fn nests_contain_all_forms() {
    let programs: Vec<String> =
        (1..=200).map(|seed| setting(seed).generate(&mut Choices::random(seed), SIZE).text).collect();
    for (content, least) in CONTENT {
        let count = programs.iter().filter(|text| text.contains(content)).count();
        assert!(count >= least, "{content}: only in {count} programs");
    }
}

#[test]
fn choices_replay_the_nest_of_a_seed() {
    for seed in 1..50 {
        let mut choices = Choices::random(seed);
        let program = setting(seed).generate(&mut choices, SIZE);
        let mut replayed = Choices::replay(choices.into_made());
        assert_eq!(program.text, setting(seed).generate(&mut replayed, SIZE).text);
    }
}
