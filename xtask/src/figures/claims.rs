//! Comparison of a paper's claims with measurements.

use super::data::{Row, median};
use super::plot::{Unit, shown};

/// Ratios within this factor of 1 count as no difference.
const NOISE: f64 = 1.05;

/// A claim of a paper with the corresponding measurement.
pub struct Claim {
    /// The quantity compared.
    pub what: String,
    /// The paper's statement.
    pub paper: String,
    /// The measured ratio; empty if it was not measured.
    pub here: String,
    /// The comparison of direction.
    pub verdict: Verdict,
}

/// The agreement of a measurement with a claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Both have the same direction.
    Agrees,
    /// The measurement shows no significant difference.
    Neither,
    /// The measurement has the opposite direction.
    Differs,
    /// Not measured.
    Open,
}

/// The direction that a claim states for a ratio.
#[derive(Clone, Copy)]
pub enum Way {
    /// Above 1.
    Above,
    /// Below 1.
    Below,
    /// At 1 or above.
    AtLeast,
    /// Within this factor of 1.
    Near(f64),
}

impl Verdict {
    /// The text in the report.
    pub fn text(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Neither => "no difference",
            Self::Differs => "differs",
            Self::Open => "not measured",
        }
    }
}

impl Way {
    fn verdict(self, ratio: f64) -> Verdict {
        let (above, below) = (ratio > NOISE, ratio < 1.0 / NOISE);
        match self {
            Self::Above if above => Verdict::Agrees,
            Self::Below if below => Verdict::Agrees,
            Self::AtLeast if !below => Verdict::Agrees,
            Self::Near(most) if ratio <= most && ratio >= 1.0 / most => Verdict::Agrees,
            Self::Above | Self::Below if !above && !below => Verdict::Neither,
            Self::Above | Self::Below | Self::AtLeast | Self::Near(_) => Verdict::Differs,
        }
    }
}

impl Claim {
    /// Creates a claim on a ratio, which is `None` if it was not measured.
    pub fn on(what: impl Into<String>, paper: impl Into<String>, ratio: Option<f64>, way: Way) -> Self {
        Self {
            what: what.into(),
            paper: paper.into(),
            here: ratio.map(|ratio| shown(Unit::Ratio, ratio)).unwrap_or_default(),
            verdict: ratio.map_or(Verdict::Open, |ratio| way.verdict(ratio)),
        }
    }
}

/// The geometric mean; `None` if there are no ratios.
pub fn mean(ratios: &[f64]) -> Option<f64> {
    let logs: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
    (!ratios.is_empty()).then(|| (logs / ratios.len() as f64).exp())
}

/// The time of an implementation divided by the best of the others in the same round; the median over
/// the rounds. `None` if the row lacks either.
pub fn over_best(row: &Row, who: &str, others: &[&str]) -> Option<f64> {
    let times = row.times_of(who)?;
    let found: Vec<_> = others.iter().filter_map(|other| row.times_of(other)).collect();
    if found.is_empty() {
        return None;
    }
    let rounds = times.rounds.iter().enumerate().filter_map(|(at, time)| {
        let best = found.iter().filter_map(|times| times.rounds.get(at)).copied();
        Some(time / best.reduce(f64::min)?)
    });
    median(rounds.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_allow_for_noise() {
        for (way, ratio, expected) in [
            (Way::Above, 2.0, Verdict::Agrees),
            (Way::Above, 1.04, Verdict::Neither),
            (Way::Above, 0.5, Verdict::Differs),
            (Way::Below, 0.5, Verdict::Agrees),
            (Way::Below, 0.96, Verdict::Neither),
            (Way::Below, 2.0, Verdict::Differs),
            (Way::AtLeast, 0.96, Verdict::Agrees),
            (Way::AtLeast, 0.9, Verdict::Differs),
            (Way::Near(1.25), 1.2, Verdict::Agrees),
            (Way::Near(1.25), 0.7, Verdict::Differs),
        ] {
            assert_eq!(Claim::on("", "", Some(ratio), way).verdict, expected, "{ratio}");
        }
        assert_eq!(Claim::on("", "", None, Way::Above).verdict, Verdict::Open);
        assert_eq!(mean(&[2.0, 8.0]).map(f64::round), Some(4.0));
        assert_eq!(mean(&[]), None);
    }
}
