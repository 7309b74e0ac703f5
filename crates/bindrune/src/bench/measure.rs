//! Run times of one entry point with one input, and what they say.

use crate::backend::{Call, Executable};
use harness::oracle::Oracle;
use harness::programs::{Outcome, judge};
use harness::{Case, Data, Expected};
use std::path::Path;
use std::time::{Duration, Instant};

/// The first phase takes at least this long.
const FIRST_PHASE: Duration = Duration::from_millis(500);
/// A mean is certain enough when its margin is this part of it.
const CERTAIN: f64 = 0.01;
/// There are never more runs than this in one go.
const MOST_RUNS: u64 = 100_000;

/// When to end.
pub struct Limits {
    /// Runs at least.
    pub runs: u64,
    /// How long runs may be added to make the mean certain.
    pub converge: Option<Duration>,
    /// How long everything may take.
    pub timeout: Option<Duration>,
}

/// What is measured.
#[derive(Clone, Copy)]
pub struct Target<'a> {
    /// The program in the interpreter.
    pub oracle: &'a Oracle<'a>,
    /// The program as an executable, unless it is interpreted.
    pub executable: Option<&'a Executable>,
    /// The program's folder.
    pub folder: &'a Path,
    /// The data set.
    pub case: &'a Case,
    /// The entry point.
    pub entry: &'a str,
    /// Options for the executable.
    pub pass: &'a [String],
    /// Where temporary files go.
    pub work: &'a Path,
}

/// Run times.
pub struct Measured {
    /// Of each run, in microseconds.
    pub micros: Vec<u64>,
    /// What the executable said.
    pub stderr: String,
}

impl Target<'_> {
    /// Measures until the limits say that it is enough.
    pub fn measure(&self, limits: &Limits) -> Result<Measured, String> {
        let start = Instant::now();
        let mut micros = self.runs(limits.runs, limits, true)?;
        let total: u64 = micros.iter().sum();
        if limits.converge.is_some() && Duration::from_micros(total) < FIRST_PHASE {
            let each = (total / micros.len().max(1) as u64).max(1);
            let runs = (FIRST_PHASE.as_micros() as u64 / each).clamp(limits.runs, MOST_RUNS);
            micros = self.runs(runs, limits, false)?;
        }
        let Some(most) = limits.converge else {
            return Ok(measured(micros));
        };
        // Runs are added in portions that grow with what there is.
        while Statistics::of(&micros).is_uncertain() && start.elapsed() < most {
            if limits.timeout.is_some_and(|limit| start.elapsed() > limit) {
                break;
            }
            let more = (micros.len() as u64 / 2).clamp(limits.runs, MOST_RUNS);
            micros.extend(self.runs(more, limits, false)?);
        }
        Ok(measured(micros))
    }

    /// So many runs after one that warms up. The results are checked if that is asked for.
    pub fn runs(&self, runs: u64, limits: &Limits, check: bool) -> Result<Vec<u64>, String> {
        let point = self.oracle.entry(self.entry)?;
        // What an interpreter would have to compute first is not checked here.
        let compared = check && matches!(self.case.expected, Expected::Values(_));
        let Some(executable) = self.executable else {
            let args = self.oracle.arguments(&self.case.input, point)?;
            let mut micros = Vec::new();
            for number in 0..=runs {
                let start = Instant::now();
                let outcome = self.oracle.call(point, args.clone());
                let time = start.elapsed().as_micros() as u64;
                if number == 0 {
                    fine(self.case, &outcome, self.folder, compared)?;
                } else {
                    micros.push(time);
                }
            }
            return Ok(micros);
        };
        let input = match &self.case.input {
            Data::Script(_) | Data::ScriptFile(_) => {
                let args = self.oracle.arguments(&self.case.input, point)?;
                self.oracle.encode(point, &args)?
            }
            data => data.bytes(self.folder).map_err(|e| e.to_string())?,
        };
        let times = self.work.join("times");
        let mut options = vec![
            format!("-r{runs}"),
            format!("--write-runtime-to={}", times.display()),
        ];
        options.extend(self.pass.iter().cloned());
        let call = Call {
            options: &options,
            results: compared,
            limit: limits
                .timeout
                .unwrap_or(Duration::from_secs(u64::from(u32::MAX))),
        };
        let outcome = executable.call(self.entry, &input, &call);
        fine(self.case, &outcome, self.folder, compared)?;
        let text = std::fs::read_to_string(&times).map_err(|e| e.to_string())?;
        let micros: Result<Vec<u64>, _> = text.lines().map(|line| line.trim().parse()).collect();
        micros.map_err(|_| "run times that are no numbers".to_owned())
    }
}

fn measured(micros: Vec<u64>) -> Measured {
    Measured {
        micros,
        stderr: String::new(),
    }
}

/// Whether the outcome is what it should be, as far as that is looked at.
fn fine(case: &Case, outcome: &Outcome, folder: &Path, compared: bool) -> Result<(), String> {
    match outcome {
        Outcome::Values(_) if !compared => Ok(()),
        Outcome::Opaque(_) => Ok(()),
        outcome => judge(case, outcome, folder, || Ok(None)).map(|_| ()),
    }
}

/// What run times say.
#[derive(Clone, Copy, Debug)]
pub struct Statistics {
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation.
    pub deviation: f64,
    /// The mean is within this of the true one, with 95 % confidence.
    pub margin: f64,
}

impl Statistics {
    /// Of these times.
    pub fn of(micros: &[u64]) -> Self {
        let n = micros.len().max(1) as f64;
        let mean = micros.iter().map(|x| *x as f64).sum::<f64>() / n;
        let squares = micros
            .iter()
            .map(|x| (*x as f64 - mean).powi(2))
            .sum::<f64>();
        let deviation = (squares / (n - 1.0).max(1.0)).sqrt();
        Self {
            mean,
            deviation,
            margin: quantile(micros.len()) * deviation / n.sqrt(),
        }
    }

    fn is_uncertain(&self) -> bool {
        self.margin > CERTAIN * self.mean && self.margin > 1.0
    }
}

/// The 97.5 % quantile of Student's distribution for so many values.
fn quantile(n: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
        2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
        2.052, 2.048, 2.045, 2.042,
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
        // By hand: deviation 1.5811, and 2.776 of it by the root of 5.
        let statistics = Statistics::of(&[1, 2, 3, 4, 5]);
        assert_eq!(statistics.mean, 3.0);
        assert!((statistics.deviation - 1.5811).abs() < 1e-4);
        assert!((statistics.margin - 1.9629).abs() < 1e-3);
        assert_eq!(Statistics::of(&[7]).margin, 0.0);
    }
}
