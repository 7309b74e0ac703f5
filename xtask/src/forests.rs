//! Compares the tuner's setting for random forests of versions with all possible settings.

use crate::Outcome;
use harness::programs::parallel_map;
use std::path::Path;
use tune::simulate::check_against_exhaustive;

/// The most settings of a program; programs with more are skipped.
const MOST: usize = 100_000;

/// Checks `--count N` programs (default: 10,000), starting at `--seed N`.
pub fn task(_: &Path) -> Outcome {
    let (mut count, mut first) = (10_000u64, 0u64);
    let mut args = std::env::args().skip(2);
    while let Some(option) = args.next() {
        let value = args.next().and_then(|value| value.parse().ok());
        match (option.as_str(), value) {
            ("--count", Some(value)) => count = value,
            ("--seed", Some(value)) => first = value,
            _ => return Err("usage: cargo xtask forests [--count N] [--seed N]".to_owned()),
        }
    }
    // Seeds are processed in batches of at most the number of programs still to check.
    let (mut checked, mut large, mut runs, mut seed) = (0, 0, 0, first);
    while checked < count {
        let end = seed.saturating_add((count - checked).min(1000));
        if seed == end {
            return Err("no seeds are left".to_owned());
        }
        let seeds: Vec<u64> = (seed..end).collect();
        seed = end;
        for outcome in parallel_map(&seeds, |_, seed| check_against_exhaustive(*seed, MOST)) {
            match outcome? {
                Some(paths) => {
                    checked += 1;
                    runs += paths;
                }
                None => large += 1,
            }
        }
    }
    println!(
        "{checked} forests compared with all of their settings: none is better than the tuner's; {runs} paths were run"
    );
    println!("{large} more have over {MOST} settings and were skipped");
    Ok(())
}
