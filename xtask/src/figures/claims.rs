//! What a paper says, held against what was measured here.

use super::data::{Row, median};
use super::plot::{Unit, shown};

/// Ratios closer to 1 than this are no difference.
const NOISE: f64 = 1.05;

/// A statement of a paper with our figure.
pub struct Claim {
    /// What is compared.
    pub what: String,
    /// What the paper says.
    pub paper: String,
    /// What was measured here.
    pub here: String,
    /// Whether they point the same way.
    pub verdict: Verdict,
}

/// Whether a statement holds here, too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Both point the same way.
    Agrees,
    /// There is no difference here to speak of.
    Neither,
    /// Ours points the other way.
    Differs,
    /// It was not measured here.
    Open,
}

/// Which way a ratio is said to point.
#[derive(Clone, Copy)]
pub enum Way {
    /// Above 1.
    Above,
    /// Below 1.
    Below,
    /// At 1 or above.
    AtLeast,
    /// About 1: between these.
    Near(f64),
}

impl Verdict {
    /// As the report says it.
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
    /// On a ratio, if that was measured.
    pub fn on(what: impl Into<String>, paper: impl Into<String>, ratio: Option<f64>, way: Way) -> Self {
        Self {
            what: what.into(),
            paper: paper.into(),
            here: ratio.map(|ratio| shown(Unit::Ratio, ratio)).unwrap_or_default(),
            verdict: ratio.map_or(Verdict::Open, |ratio| way.verdict(ratio)),
        }
    }
}

/// The geometric mean; none of nothing.
pub fn mean(ratios: &[f64]) -> Option<f64> {
    let logs: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
    (!ratios.is_empty()).then(|| (logs / ratios.len() as f64).exp())
}

/// How many times as long one takes as the best of others in each row where all are, the
/// best being that of each round.
pub fn over_best(row: &Row, who: &str, others: &[&str]) -> Option<f64> {
    let own = row.of(who)?;
    let found: Vec<_> = others.iter().filter_map(|other| row.of(other)).collect();
    if found.is_empty() {
        return None;
    }
    let rounds = own.rounds.iter().enumerate().filter_map(|(at, time)| {
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
