//! Tests of random programs of one kind, whose settings follow from seeds.

use progen::{Choices, Coverage, Setting, try_choices};

/// Random programs of one kind.
pub struct Programs {
    /// The number of programs to run; their seeds are 1, 2, 3 and so on.
    pub count: u64,
    /// The bound on their size.
    pub size: usize,
    /// The setting for a seed.
    pub setting: fn(u64) -> Setting,
}

impl Programs {
    /// Checks that all results agree. Returns the number of calls with values, and the constructs in the programs.
    pub fn agree(&self) -> (u64, Coverage) {
        let Self { count, size, setting } = *self;
        let work = || {
            let mut values = 0;
            let mut coverage = Coverage::default();
            let mut problems = Vec::new();
            for seed in 1..=count {
                match try_choices(Choices::random(seed), size, &setting(seed)) {
                    Ok(report) => {
                        values += report.values;
                        coverage.count(&report.seen);
                    }
                    Err(problem) => {
                        let program = setting(seed).generate(&mut Choices::random(seed), size);
                        let (kind, what) = (problem.kind, problem.what);
                        problems.push(format!("seed {seed}: {kind}\n{what}\n{}", program.text));
                    }
                }
            }
            assert!(problems.is_empty(), "{}", problems.join("\n"));
            (values, coverage)
        };
        // Unoptimised code needs much stack.
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().stack_size(64 << 20);
            let thread = thread.spawn_scoped(scope, work).expect("a thread starts");
            thread.join().expect("no problems")
        })
    }

    /// Checks that of 200 programs at least the given number contains each text.
    pub fn contain(&self, content: &[(&str, usize)]) {
        let Self { size, setting, .. } = *self;
        let programs: Vec<String> =
            (1..=200).map(|seed| setting(seed).generate(&mut Choices::random(seed), size).text).collect();
        for (content, least) in content {
            let count = programs.iter().filter(|text| text.contains(content)).count();
            assert!(count >= *least, "{content}: only in {count} programs");
        }
    }

    /// Checks that the choices of a seed's program make the same program again.
    pub fn replay(&self) {
        let Self { size, setting, .. } = *self;
        for seed in 1..50 {
            let mut choices = Choices::random(seed);
            let program = setting(seed).generate(&mut choices, size);
            let mut replayed = Choices::replay(choices.into_made());
            assert_eq!(program.text, setting(seed).generate(&mut replayed, size).text);
        }
    }
}
