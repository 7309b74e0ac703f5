//! Random forests by the thousand: the tuner's setting of each held against all settings.

use crate::Outcome;
use harness::programs::in_parallel;
use std::path::Path;
use tune::simulate::hold_against_all;

/// Programs with more settings than these are left out.
const MOST: usize = 20_000;

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
    // Portions, so that few programs of many settings are not waited for.
    let (mut held, mut runs, mut seed) = (0, 0, first);
    while held < count {
        let seeds: Vec<u64> = (seed..seed + 1000).collect();
        seed += 1000;
        for outcome in in_parallel(&seeds, |_, seed| hold_against_all(*seed, MOST)) {
            if let Some(own) = outcome? {
                held += 1;
                runs += own;
            }
        }
    }
    let programs = seed - first;
    println!("{held} of {programs} forests held against all settings, {runs} runs: none is better");
    Ok(())
}
