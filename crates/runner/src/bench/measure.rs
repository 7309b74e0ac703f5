//! Run times of one entry point on one data set.

use crate::executable::{CallOptions, Executable, NO_LIMIT, read_times};
use harness::oracle::Oracle;
use harness::programs::{Outcome, compare_outcome};
use harness::{Case, Expected};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use tune::statistics::Statistics;

/// The least total time of the first phase.
const MIN_FIRST_PHASE: Duration = Duration::from_millis(500);
/// The relative margin of error at which a mean counts as certain.
const TARGET_RELATIVE_MARGIN: f64 = 0.01;
/// The most runs per call of an executable.
const MAX_RUNS: u64 = 100_000;

/// Termination criteria.
pub struct Limits {
    /// The least number of runs.
    pub runs: u64,
    /// The time limit of the convergence phase; `None` turns it off.
    pub converge: Option<Duration>,
    /// The time limit of all runs.
    pub timeout: Option<Duration>,
}

/// An entry point with a data set and its executors.
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
    /// The standard error of the last process.
    pub stderr: String,
}

impl Target<'_> {
    /// Measures until the limits are met.
    pub fn measure(&self, limits: &Limits) -> Result<Measured, String> {
        let start = Instant::now();
        let Measured { mut micros, mut stderr } = self.runs(limits.runs, limits, true)?;
        let total: u64 = micros.iter().sum();
        if limits.converge.is_some() && Duration::from_micros(total) < MIN_FIRST_PHASE {
            let each = (total / micros.len().max(1) as u64).max(1);
            let runs = (MIN_FIRST_PHASE.as_micros() as u64 / each).clamp(limits.runs, MAX_RUNS);
            Measured { micros, stderr } = self.runs(runs, limits, false)?;
        }
        let Some(most) = limits.converge else {
            return Ok(Measured { micros, stderr });
        };
        // The number of added runs grows with the number of runs so far.
        while is_uncertain(&Statistics::of(&micros)) && start.elapsed() < most {
            if limits.timeout.is_some_and(|limit| start.elapsed() > limit) {
                break;
            }
            let more = (micros.len() as u64 / 2).clamp(limits.runs, MAX_RUNS);
            let added = self.runs(more, limits, false)?;
            micros.extend(added.micros);
            stderr = added.stderr;
        }
        Ok(Measured { micros, stderr })
    }

    /// Measures `runs` runs after a warm-up run. Results are compared with the expected ones if
    /// `check` is set and the test block states them.
    pub fn runs(&self, runs: u64, limits: &Limits, check: bool) -> Result<Measured, String> {
        let point = self.oracle.entry(self.entry)?;
        // Expected results that the interpreter would have to compute are not compared here.
        let compared = check && matches!(self.case.expected, Expected::Values(_));
        let Some(executable) = self.executable else {
            let args = self.oracle.arguments(&self.case.input, point)?;
            let mut micros = Vec::new();
            for number in 0..=runs {
                let start = Instant::now();
                let outcome = self.oracle.call(point, args.clone());
                let time = start.elapsed().as_micros() as u64;
                if number == 0 {
                    check_outcome(self.case, &outcome, self.folder, compared)?;
                } else {
                    micros.push(time);
                }
            }
            let stderr = String::new();
            return Ok(Measured { micros, stderr });
        };
        let input = self.oracle.input(&self.case.input, point)?;
        let times = self.work.join("times");
        let mut options = vec![format!("-r{runs}"), format!("--write-runtime-to={}", times.display())];
        options.extend(self.pass.iter().cloned());
        let call =
            CallOptions { options: &options, results: compared, limit: limits.timeout.unwrap_or(NO_LIMIT) };
        let stop = AtomicBool::new(false);
        let finished = executable.run(self.entry, &input, &call, &stop)?;
        let stderr = finished.stderr.clone();
        let outcome = Outcome::of(finished, compared);
        check_outcome(self.case, &outcome, self.folder, compared)?;
        let micros = read_times(&times)?;
        Ok(Measured { micros, stderr })
    }
}

/// Checks an outcome against the case; values only if `compared` is set, opaque results never.
fn check_outcome(case: &Case, outcome: &Outcome, folder: &Path, compared: bool) -> Result<(), String> {
    match outcome {
        Outcome::Values(_) if !compared => Ok(()),
        Outcome::Opaque(_) => Ok(()),
        outcome => compare_outcome(case, outcome, folder, || Ok(None)).map(|_| ()),
    }
}

/// Returns true if the margin of error exceeds both 1 % of the mean and 1 us.
fn is_uncertain(statistics: &Statistics) -> bool {
    statistics.margin > TARGET_RELATIVE_MARGIN * statistics.mean && statistics.margin > 1.0
}
