//! Tuning parameters on the command line: values for evaluated programs, and the tuning files
//! beside programs that are compiled, tested or measured.

use crate::common;
use driver::Ir;
use driver::tuning::{TuningFiles, parameters};
use ir::tunable::{Comparison, Listener, Settings};
use runtime::tuning_params::{self, Assignment};
use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `dev --run`.
#[derive(clap::Args)]
pub struct ParameterOptions {
    /// Set a tuning parameter of the evaluated program.
    #[arg(long, value_name = "NAME=N", requires = "run", value_parser = Assignment::parse)]
    param: Vec<Assignment>,
    /// Set tuning parameters from a file of lines NAME=N. `--param` overrides it.
    #[arg(long, value_name = "FILE", requires = "run")]
    tuning: Vec<PathBuf>,
    /// Print the program's tuning parameters at that stage, and their classes.
    #[arg(long)]
    pub print_params: bool,
    /// Log each comparison with a tuning parameter to standard error.
    #[arg(long, requires = "run")]
    log_versions: bool,
}

impl ParameterOptions {
    /// Returns the parameter values for a program.
    pub fn settings(&self, ir: &Ir) -> Result<Settings, ExitCode> {
        let mut given = Vec::new();
        for file in &self.tuning {
            given.extend(files(OsStr::new("")).read(file).map_err(common::report_error)?);
        }
        for warning in self.param.iter().filter_map(Assignment::warning) {
            common::note(&format!("warning: {warning}"));
        }
        given.extend(self.param.iter().cloned());
        let known = parameters(ir);
        let known: Vec<&str> = known.iter().map(|(name, _)| name.as_str()).collect();
        tuning_params::resolve(&known, &given).map_err(common::report_error)?;
        let pairs = given.into_iter().map(|given| (given.name, given.value));
        Ok(Settings(pairs.collect()))
    }

    /// Returns the listener for comparisons, if they are logged.
    pub fn listener(&self) -> Option<Listener> {
        self.log_versions.then_some(log)
    }
}

fn log(Comparison { name, size, threshold }: Comparison<'_>) {
    // Write errors of standard error are ignored.
    let _ = writeln!(std::io::stderr(), "{}", tuning_params::comparison(name, size, threshold));
}

/// Options of `test`, `bench`, `run` and `build`.
#[derive(clap::Args, Clone)]
pub struct TuningFileOptions {
    /// Read the tuning file with this extension beside each program, if there is one.
    #[arg(long, value_name = "EXTENSION", default_value = "tuning")]
    tuning: OsString,
    /// Ignore tuning files.
    #[arg(long)]
    no_tuning: bool,
}

impl TuningFileOptions {
    /// Returns the tuning files that are read.
    pub fn files(&self) -> TuningFiles {
        TuningFiles { ignored: self.no_tuning, ..files(&self.tuning) }
    }
}

/// Tuning files with this extension, with warnings on standard error.
pub fn files(extension: &OsStr) -> TuningFiles {
    TuningFiles::new(extension, common::note)
}
