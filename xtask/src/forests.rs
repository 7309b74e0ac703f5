//! Random forests by the thousand: the tuner's setting of each held against all settings.

use crate::Outcome;
use harness::programs::in_parallel;
use std::path::Path;
use tune::simulate::hold_against_all;

/// Programs with more settings than these are left out.
const MOST: usize = 100_000;

/// Holds so many programs (`--count N`, 10,000 if absent), from `--seed N` on.
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
    // Portions, and the last ones so small that there are never more than are asked for.
    let (mut held, mut large, mut runs, mut seed) = (0, 0, 0, first);
    while held < count {
        let end = seed.saturating_add((count - held).min(1000));
        if seed == end {
            return Err("there are no more seeds".to_owned());
        }
        let seeds: Vec<u64> = (seed..end).collect();
        seed = end;
        for outcome in in_parallel(&seeds, |_, seed| hold_against_all(*seed, MOST)) {
            match outcome? {
                Some(own) => {
                    held += 1;
                    runs += own;
                }
                None => large += 1,
            }
        }
    }
    println!("{held} forests held against all of their settings: none is better; {runs} paths were run");
    println!("{large} more have over {MOST} settings and were left out");
    Ok(())
}
