//! Statistics of run times: their mean, and its confidence interval.

/// Statistics of run times.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Statistics {
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation.
    pub deviation: f64,
    /// The half-width of the 95 % confidence interval of the mean.
    pub margin: f64,
}

impl Statistics {
    /// The statistics of these times.
    pub fn of(micros: &[u64]) -> Self {
        let n = micros.len().max(1) as f64;
        let mean = micros.iter().map(|x| *x as f64).sum::<f64>() / n;
        let squares = micros.iter().map(|x| (*x as f64 - mean).powi(2)).sum::<f64>();
        let deviation = (squares / (n - 1.0).max(1.0)).sqrt();
        Self { mean, deviation, margin: quantile(micros.len()) * deviation / n.sqrt() }
    }
}

/// The 97.5 % quantile of Student's distribution for `n` values.
fn quantile(n: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
        2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048,
        2.045, 2.042,
    ];
    let degrees = n.saturating_sub(1);
    match degrees.checked_sub(1).and_then(|at| TABLE.get(at)) {
        Some(quantile) => *quantile,
        None if degrees == 0 => 0.0,
        None => 1.96,
    }
}

#[cfg(test)]
mod tests {
    use super::Statistics;

    #[test]
    fn mean_and_margin() {
        // By hand: deviation 1.5811, and 2.776 of it divided by the root of 5.
        let statistics = Statistics::of(&[1, 2, 3, 4, 5]);
        assert_eq!(statistics.mean, 3.0);
        assert!((statistics.deviation - 1.5811).abs() < 1e-4);
        assert!((statistics.margin - 1.9629).abs() < 1e-3);
        assert_eq!(Statistics::of(&[7]).margin, 0.0);
    }
}
