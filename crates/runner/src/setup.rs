//! The setup that `test`, `bench` and `tune` share: the programs and data sets that run, and how.

use crate::Backend;
use crate::executable::{Executable, TBLOCK_SIZE_OPTION, tblock_size_option};
use driver::Session;
use driver::tuning::{TuningFiles, tblock_size};
use harness::{Case, Data, Expected, Spec};
use runtime::tuning_params::Assignment;
use std::path::{Path, PathBuf};
use std::time::Duration;
use syntax::diag::Diagnostic;

/// Receives messages while programs run.
pub trait Log {
    /// A line for the user.
    fn note(&self, line: &str);
    /// The current activity.
    fn begin(&self, activity: &str);
    /// Warnings or errors of the compiler.
    fn diagnostics(&self, session: &Session, diagnostics: &[Diagnostic]);
}

/// The programs and data sets that run, and how.
#[derive(Clone)]
pub struct Setup {
    /// The compiler's command.
    pub compiler: PathBuf,
    /// The backend.
    pub backend: Backend,
    /// Tags of excluded programs and cases.
    pub excluded: Vec<String>,
    /// The only entry point to run.
    pub entry: Option<String>,
    /// The tuning files that apply.
    pub tuning: TuningFiles,
    /// Options for executables.
    pub pass: Vec<String>,
    /// Options for the compiler.
    pub pass_compiler: Vec<String>,
    /// True if the executables beside the programs are used.
    pub skip_compilation: bool,
}

impl Setup {
    /// Everything that runs on the backend of this name, and has none of the tags.
    pub fn new(compiler: PathBuf, backend_name: &str, tuning: TuningFiles, excluded: &[&str]) -> Self {
        let backend = Backend::from_name(backend_name);
        let tags = excluded.iter().map(|tag| (*tag).to_owned());
        Self {
            compiler,
            backend,
            excluded: backend.excluded(backend_name).into_iter().chain(tags).collect(),
            entry: None,
            tuning,
            pass: Vec::new(),
            pass_compiler: Vec::new(),
            skip_compilation: false,
        }
    }

    /// Returns true if programs and cases with these tags are excluded.
    pub(crate) fn excludes(&self, tags: &[String]) -> bool {
        tags.iter().any(|tag| self.excluded.contains(tag))
    }

    /// Returns true if the entry point runs.
    pub(crate) fn runs(&self, entry: &str) -> bool {
        self.entry.as_ref().is_none_or(|only| only == entry)
    }

    /// The entry points and data sets that can be measured, with the names of the data sets.
    pub(crate) fn data_sets<'s>(&self, spec: &'s Spec) -> Vec<(&'s str, String, &'s Case)> {
        let mut data_sets = Vec::new();
        for (at, case) in spec.cases.iter().enumerate() {
            let fails = matches!(case.expected, Expected::Error(_));
            if fails || self.excludes(&case.tags) || self.excludes(&spec.tags) {
                continue;
            }
            let entries = case.entries.iter().filter(|entry| self.runs(entry));
            data_sets.extend(entries.map(|entry| (entry.as_str(), data_set_name(at, case), case)));
        }
        data_sets
    }

    /// Returns the compiler options for a program with this tuning file: the file's thread-block
    /// size is added unless the options set one.
    ///
    /// # Errors
    /// The file sets an invalid thread-block size.
    pub(crate) fn compiler_options(&self, given: &[Assignment]) -> Result<Vec<String>, String> {
        let mut options = self.pass_compiler.clone();
        if self.tunes_tblock_size()
            && let Some(block) = tblock_size(given)?
        {
            options.push(tblock_size_option(block));
        }
        Ok(options)
    }

    /// Returns true if the backend has thread blocks whose size the compiler options leave open.
    pub(crate) fn tunes_tblock_size(&self) -> bool {
        let is_set = self.pass_compiler.iter().any(|it| it.starts_with(TBLOCK_SIZE_OPTION));
        matches!(self.backend, Backend::Device(_)) && !is_set
    }

    /// Builds a program into `path`, or returns the executable beside it.
    pub(crate) fn executable(
        &self,
        program: &Path,
        path: PathBuf,
        options: &[String],
        limit: Duration,
    ) -> Result<Executable, String> {
        if self.skip_compilation {
            Executable::existing(program)
        } else {
            Executable::build(&self.compiler, program, path, self.backend, options, limit)
        }
    }
}

/// Reads a program's test blocks; with `all_lines`, every line of the file is part of them.
pub(crate) fn spec(file: &Path, all_lines: bool) -> Result<Spec, String> {
    let bytes = std::fs::read(file).map_err(|e| format!("cannot read {}: {e}", file.display()))?;
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    if all_lines {
        text = text.lines().flat_map(|line| ["-- ", line, "\n"]).collect();
    }
    harness::parse_blocks(&text).map_err(|e| format!("test blocks: {e}"))
}

/// The name of a data set: its own, or one derived from its input. `at` is its index.
pub(crate) fn data_set_name(at: usize, case: &Case) -> String {
    if let Some(name) = &case.name {
        return name.clone();
    }
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    match &case.input {
        Data::File(path) | Data::ScriptFile(path) => path.display().to_string(),
        Data::Random(types) | Data::Script(types) => words(types),
        Data::Text(text, _) => {
            let words = words(text);
            let mut short: String = words.chars().take(25).collect();
            if short.len() < words.len() {
                short.push_str("...");
            }
            format!("#{at} (\"{short}\")")
        }
    }
}
