//! Tuning parameters of programs at any level, and the values that tuning files give them.

use crate::{Failure, Ir, Observer, Session, Stage};
use ir::tunable::{Class, named, user_params};
use runtime::tuning_params::{Assignment, THREAD_BLOCK_SIZE, is_general, nearest, read_file};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use target::device::{Device, MAX_BLOCK, MAX_SUBGROUP};

/// The version of the records beside tuning files, incremented by changes that a reader of an older
/// version would misread.
pub const RECORD_VERSION: u32 = 1;

/// The path of a program's tuning file with this extension.
pub fn tuning_file(program: &Path, extension: &OsStr) -> PathBuf {
    let mut file = program.as_os_str().to_owned();
    file.push(".");
    file.push(extension);
    PathBuf::from(file)
}

/// The extension of the record beside a tuning file, which holds the measurements.
pub fn record_extension(tuning: &OsStr) -> OsString {
    let mut extension = tuning.to_owned();
    extension.push(".json");
    extension
}

/// The tuning files beside programs that are read.
#[derive(Clone)]
pub struct TuningFiles {
    /// Their extension.
    pub extension: OsString,
    /// True if all are ignored.
    pub ignored: bool,
    /// Called with warnings about parameters that are given by a former name.
    pub warn: fn(&str),
}

impl TuningFiles {
    /// The files with this extension.
    pub fn new(extension: &OsStr, warn: fn(&str)) -> Self {
        Self { extension: extension.to_owned(), ignored: false, warn }
    }

    /// Returns true if a program has a tuning file that is read.
    pub fn has_file(&self, program: &Path) -> bool {
        !self.ignored && tuning_file(program, &self.extension).exists()
    }

    /// Returns the assignments in a program's tuning file; empty if there is none.
    ///
    /// # Errors
    /// The file cannot be read or is invalid.
    pub fn of(&self, program: &Path) -> Result<Vec<Assignment>, String> {
        if !self.has_file(program) {
            return Ok(Vec::new());
        }
        self.read(&tuning_file(program, &self.extension))
    }

    /// Reads a tuning file.
    ///
    /// # Errors
    /// The file cannot be read or is invalid.
    pub fn read(&self, file: &Path) -> Result<Vec<Assignment>, String> {
        let given = read_file(file)?;
        for warning in given.iter().filter_map(Assignment::warning) {
            (self.warn)(&format!("warning: {warning}"));
        }
        Ok(given)
    }
}

/// The names and classes of a program's parameters.
pub fn parameters(ir: &Ir) -> Vec<(String, &'static str)> {
    fn level<L: ir::Level>(program: &ir::Program<L>) -> Vec<(String, &'static str)> {
        let named = named(program).into_iter();
        let named = named.map(|(name, tunable)| (name, tunable.class.name()));
        let user = user_params(program).into_iter();
        named.chain(user.map(|name| (name.to_string(), Class::User.name()))).collect()
    }
    match ir {
        Ir::Soacs(program) => level(program),
        Ir::Segs(program) => level(program),
        Ir::Mems(program) => level(program),
        Ir::Imp(program) => (program.tunables.iter())
            .map(|tunable| (tunable.name.to_string(), tunable.class.name()))
            .collect(),
    }
}

/// A program's parameters and their classes, one per line, as executables print them.
pub fn list(ir: &Ir) -> String {
    let lines = parameters(ir).into_iter();
    lines.fold(String::new(), |text, (name, class)| text + &name + " (" + class + ")\n")
}

/// The value that applies to a parameter: the last assignment.
pub fn value_of(given: &[Assignment], name: &str) -> Option<i64> {
    given.iter().rev().find(|given| given.name == name).map(|given| given.value)
}

/// The description of valid thread-block sizes.
pub fn tblock_size_range() -> String {
    format!("a power of two from {MAX_SUBGROUP} to {MAX_BLOCK}")
}

/// Returns the thread-block size, if it is given.
///
/// # Errors
/// The size is invalid.
pub fn tblock_size(given: &[Assignment]) -> Result<Option<i64>, String> {
    let is_block = |given: &&Assignment| given.name == THREAD_BLOCK_SIZE;
    match given.iter().rev().find(is_block) {
        Some(Assignment { name, value, source, .. }) if !Device::is_block(*value) => {
            Err(format!("{source}{name} must be {}", tblock_size_range()))
        }
        last => Ok(last.map(|given| given.value)),
    }
}

/// Returns the options that pass assignments to an executable with these parameters, and warnings
/// about other assignments: the file may be for another compiler or machine.
pub fn options(params: &str, given: &[Assignment]) -> (Vec<String>, Vec<String>) {
    let known: BTreeSet<&str> =
        params.lines().map(|line| line.rsplit_once(" (").map_or(line, |(name, _)| name)).collect();
    let given_known = given.iter().filter(|one| known.contains(one.name.as_str()));
    let options = given_known.map(|Assignment { name, value, .. }| format!("--param={name}={value}"));
    (options.collect(), warnings(&known, given))
}

/// Returns warnings about assignments to unknown parameters.
pub fn warnings(known: &BTreeSet<&str>, given: &[Assignment]) -> Vec<String> {
    let unknown = given.iter().filter(|one| !(known.contains(&*one.name) || is_general(&one.name)));
    let warning = |Assignment { name, source, .. }: &Assignment| {
        let near = nearest(known.iter().copied(), name);
        let advice = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        format!("warning: {source}the program has no tuning parameter `{name}`{advice}")
    };
    unknown.map(warning).collect()
}

impl Session {
    /// Makes these values the defaults of the program's parameters. Returns the program and warnings
    /// about unknown parameters.
    pub fn tune(
        &mut self,
        ir: Ir,
        given: &[Assignment],
        observer: &mut dyn Observer,
    ) -> Result<(Ir, Vec<String>), Failure> {
        if given.is_empty() {
            return Ok((ir, Vec::new()));
        }
        let mut ir = self.run_passes(ir, Stage::named("imp")?, observer)?;
        let known = parameters(&ir);
        let unknown = warnings(&known.iter().map(|(name, _)| name.as_str()).collect(), given);
        if let Ir::Imp(program) = &mut ir {
            for tunable in &mut program.tunables {
                tunable.default = value_of(given, &tunable.name).unwrap_or(tunable.default);
            }
        }
        Ok((ir, unknown))
    }
}

#[cfg(test)]
mod tests {
    use super::{Assignment, options};

    #[test]
    fn unknown_parameters_become_warnings() {
        let given = ["f.a_0=3", "g.b_1=4", "f.a_10=5"]
            .map(|text| Assignment::parse(text).expect("a valid assignment"));
        let (options, unknown) = options("f.a_0 (threshold)\n", &given);
        assert_eq!(options, ["--param=f.a_0=3"]);
        assert_eq!(
            unknown,
            [
                "warning: the program has no tuning parameter `g.b_1`; did you mean `f.a_0`?",
                "warning: the program has no tuning parameter `f.a_10`; did you mean `f.a_0`?"
            ]
        );
    }
}
