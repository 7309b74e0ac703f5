//! `bindrune bench --untuned-vs-tuned`: the gain of a program's tuning file over the default values
//! of its tuning parameters.
//!
//! On each data set the two are measured in alternating rounds, so that disturbances affect both.
//! The gap is the median over the rounds of untuned time / tuned time, each time being the median
//! of the round's runs. A gap above 1 is a gain.

use super::measure::{Limits, Target};
use serde_json::{Value, json};
use std::time::Duration;

/// The number of rounds.
const ROUNDS: usize = 5;
/// The least duration of a round, long enough for a clock with microsecond resolution.
const MIN_ROUND: Duration = Duration::from_millis(50);
/// The most runs per round.
const MAX_RUNS: u64 = 10_000;

/// The measurements of a data set, untuned and tuned.
pub struct Gap {
    untuned: Vec<u64>,
    tuned: Vec<u64>,
    ratio: f64,
}

impl Gap {
    /// Measures one data set. The results of both executables are checked once.
    pub fn measure(untuned: &Target<'_>, tuned: &Target<'_>, limits: &Limits) -> Result<Self, String> {
        let first = untuned.runs(limits.runs, limits, true)?;
        tuned.runs(1, limits, true)?;
        let each = Duration::from_micros(median(&first.micros).max(1.0) as u64);
        let runs = (MIN_ROUND.as_micros() / each.as_micros()) as u64;
        let runs = runs.min(MAX_RUNS).max(limits.runs);
        let (mut times, mut ratios) = ([Vec::new(), Vec::new()], Vec::new());
        for round in 0..ROUNDS {
            let mut medians = [0.0; 2];
            for position in 0..2 {
                // The order of the two alternates from round to round.
                let index = (position + round) % 2;
                let target = if index == 0 { untuned } else { tuned };
                let micros = target.runs(runs, limits, false)?.micros;
                medians[index] = median(&micros);
                times[index].extend(micros);
            }
            ratios.push(medians[0].max(1.0) / medians[1].max(1.0));
        }
        let [untuned, tuned] = times;
        Ok(Self { untuned, tuned, ratio: median_of(&mut ratios) })
    }

    /// The line of the report.
    pub fn shown(&self) -> String {
        format!(
            "untuned {:.0} us, tuned {:.0} us: {:.2}x",
            median(&self.untuned),
            median(&self.tuned),
            self.ratio
        )
    }

    /// The JSON value: all run times and the gap.
    pub fn json(&self) -> Value {
        json!({ "untuned": self.untuned, "tuned": self.tuned, "gap": self.ratio })
    }
}

/// The gaps of several data sets.
#[derive(Default)]
pub struct Gaps {
    logs: Vec<f64>,
    worst: Option<(f64, String)>,
}

impl Gaps {
    /// Adds a gap; `name` is the program and data set.
    pub fn add(&mut self, gap: &Gap, name: String) {
        self.logs.push(gap.ratio.ln());
        if self.worst.as_ref().is_none_or(|(worst, _)| gap.ratio > *worst) {
            self.worst = Some((gap.ratio, name));
        }
    }

    /// The geometric mean and the largest gap; `None` if there are no gaps.
    pub fn summary(&self) -> Option<String> {
        let (worst, name) = self.worst.as_ref()?;
        let mean = (self.logs.iter().sum::<f64>() / self.logs.len() as f64).exp();
        Some(format!("geometric mean {mean:.2}x, worst {worst:.2}x ({name})"))
    }
}

fn median(micros: &[u64]) -> f64 {
    median_of(&mut micros.iter().map(|x| *x as f64).collect::<Vec<_>>())
}

/// The median of the numbers, which are sorted in place; 0 if there are none.
fn median_of(numbers: &mut [f64]) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let upper = numbers.get(numbers.len() / 2).copied().unwrap_or(0.0);
    let lower = numbers.get(numbers.len().saturating_sub(1) / 2).copied();
    f64::midpoint(lower.unwrap_or(upper), upper)
}

#[cfg(test)]
mod tests {
    use super::{Gap, Gaps, median_of};

    #[test]
    fn medians_and_means() {
        assert_eq!(median_of(&mut []), 0.0);
        assert_eq!(median_of(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median_of(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
        let gap = |ratio| Gap { untuned: vec![20, 10], tuned: vec![10], ratio };
        let mut gaps = Gaps::default();
        assert_eq!(gaps.summary(), None);
        gaps.add(&gap(2.0), "a".to_owned());
        gaps.add(&gap(0.5), "b".to_owned());
        let expected = "geometric mean 1.00x, worst 2.00x (a)";
        assert_eq!(gaps.summary().as_deref(), Some(expected));
        assert_eq!(gap(1.5).shown(), "untuned 15 us, tuned 10 us: 1.50x");
    }
}
