//! Tests one program: checks and compiles it, runs its cases and properties.

mod report;

use crate::Backend;
use crate::executable::{CallOptions, Executable};
use crate::setup::{Setup, spec};
use check::tast::Program;
use driver::{Failure, Flatten, Ir, Session, Stack, Stage, levels};
use harness::oracle::Oracle;
use harness::programs::{Outcome, Verdict, compare_outcome, first_line};
use harness::{Case, Expected, Pattern as Message, Spec, Structure, property};
use ir::metrics::{self, Pattern};
pub use report::{json, summary};
use runtime::tuning_params::Assignment;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use syntax::diag::Diagnostic;
use syntax::render::render;

/// The test options for one program.
pub struct Options {
    /// The programs, and how they run.
    pub setup: Setup,
    /// The last step.
    pub depth: LastStep,
    /// The time limit of each step.
    pub limit: Duration,
    /// The seed of property tests.
    pub seed: u64,
    /// True if the interpreter checks sizes.
    pub check_sizes: bool,
    /// The seed of random thresholds, if requested.
    pub thresholds: Option<u64>,
}

/// The last step of testing a program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum LastStep {
    /// Type-check.
    Check,
    /// Optimise and count operations.
    Structure,
    /// Compile.
    Compile,
    /// Run the cases.
    Run,
}

/// The outcome of a program's tests.
#[derive(Default)]
pub struct Report {
    /// The path of the program.
    pub name: String,
    /// True if the test blocks expect a compile-time error.
    pub to_reject: bool,
    /// True if the program was rejected, with any message.
    pub rejected: bool,
    /// The reason why it was excluded, if it was.
    pub left_out: Option<String>,
    /// True if it was type-checked without errors.
    pub checked: bool,
    /// True if it was compiled.
    pub compiled: bool,
    /// The number of calls with the expected outcome.
    pub passed: usize,
    /// The number of these that were expected to fail.
    pub passed_failures: usize,
    /// The number of calls that were expected to fail.
    pub expected_failures: usize,
    /// The number of calls.
    pub calls: usize,
    /// The number of passed calls with results that were not compared.
    pub unknown: usize,
    /// The number of excluded cases.
    pub skipped: usize,
    /// The number of `structure` blocks.
    pub structures: usize,
    /// The number of these that hold.
    pub passed_structures: usize,
    /// Messages that are not failures.
    pub warnings: Vec<String>,
    /// Failures: location and message.
    pub failures: Vec<(String, String)>,
}

impl Report {
    fn fail(&mut self, location: impl Into<String>, message: impl Into<String>) {
        self.failures.push((location.into(), message.into()));
    }

    /// Warnings and failures, one per line.
    pub fn lines(&self) -> Vec<String> {
        let failures = self.failures.iter().map(|(location, message)| {
            let sep = if location.is_empty() { "" } else { ": " };
            format!("{}: {location}{sep}{message}", self.name)
        });
        self.warnings.iter().cloned().chain(failures).collect()
    }
}

/// Tests a program up to `options.depth`.
pub fn test(file: &Path, executable: PathBuf, options: &Options) -> Report {
    let mut report = Report { name: file.display().to_string(), ..Report::default() };
    let spec = match spec(file, false) {
        Ok(spec) => spec,
        Err(why) => {
            report.fail("", why);
            return report;
        }
    };
    if let Some(tag) = spec.tags.iter().find(|tag| options.setup.excluded.contains(tag)) {
        report.left_out = Some(format!("tag {tag}"));
        return report;
    }
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        run_steps(file, &spec, executable, options, &mut report);
    }));
    if outcome.is_err() {
        report.fail("", "the compiler panicked");
    }
    report
}

fn run_steps(file: &Path, spec: &Spec, executable: PathBuf, options: &Options, report: &mut Report) {
    report.to_reject = spec.compile_error.is_some();
    let (mut session, program) = driver::check(file, driver::Options::default());
    let program = match (program, &spec.compile_error) {
        (Err(Failure(errors)), Some(pattern)) => {
            report.rejected = true;
            match matches(pattern, &errors, &show(&session, &errors)) {
                Ok(true) => {}
                Ok(false) => report.fail(
                    "",
                    format!(
                        "rejected with another message than `{}`: {}",
                        pattern.regex,
                        first_line(&show(&session, &errors))
                    ),
                ),
                Err(why) => report.fail("", why),
            }
            return;
        }
        (Err(Failure(errors)), None) => {
            report.fail("", format!("rejected: {}", first_line(&show(&session, &errors))));
            return;
        }
        (Ok(_), Some(pattern)) => {
            let text = format!("accepted, expected an error that matches `{}`", pattern.regex);
            report.fail("", text);
            return;
        }
        (Ok(program), None) => program,
    };
    report.checked = true;
    if let Err(why) = check_warnings(&spec.warnings, &mut session, &program) {
        report.fail("", why);
    }
    if options.depth == LastStep::Check {
        return;
    }
    if options.depth == LastStep::Structure {
        if let Err(why) = check_structures(&spec.structures, &mut session, &program, report) {
            report.fail("", why);
        }
        return;
    }
    let setup = &options.setup;
    let compiled = match setup.backend {
        Backend::Interp => None,
        Backend::Cpu | Backend::C | Backend::Device(_) => {
            // An invalid tuning file does not keep the program from being compiled.
            let given = setup.tuning.of(file).unwrap_or_else(|why| {
                report.fail("", why);
                Vec::new()
            });
            let built = (setup.compiler_options(&given))
                .and_then(|flags| setup.executable(file, executable, &flags, options.limit));
            match built {
                Ok(mut executable) => {
                    match tune(&mut executable, &given, options) {
                        Ok(unknown) => report.warnings = unknown,
                        Err(why) => report.fail("", why),
                    }
                    Some(executable)
                }
                Err(why) => {
                    report.fail("", format!("not compiled: {why}"));
                    return;
                }
            }
        }
    };
    report.compiled = true;
    if options.depth == LastStep::Compile {
        return;
    }
    run_cases(file, spec, program, &session, compiled.as_ref(), options, report);
}

/// Sets an executable's tuning parameters. Returns warnings about unknown names.
fn tune(executable: &mut Executable, given: &[Assignment], options: &Options) -> Result<Vec<String>, String> {
    if let Some(seed) = options.thresholds {
        executable.draw_thresholds(seed, options.limit)?;
    }
    executable.tune(given, options.limit)
}

/// Returns true if one diagnostic, or the text of all, matches the pattern.
fn matches(pattern: &Message, diagnostics: &[Diagnostic], shown: &str) -> Result<bool, String> {
    let mut texts: Vec<String> = vec![shown.to_owned()];
    texts.extend(diagnostics.iter().map(|d| {
        let labels = d.primary.iter().chain(&d.secondary).map(|label| &label.text);
        let all = std::iter::once(&d.message).chain(labels);
        let all: Vec<&str> = all.chain(&d.notes).chain(&d.hints).map(String::as_str).collect();
        all.join("\n")
    }));
    // The pattern may assume other line breaks.
    texts.push(shown.split_whitespace().collect::<Vec<_>>().join(" "));
    for text in texts {
        if pattern.matches(&text).map_err(|e| e.to_string())? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Checks that each pattern matches a warning of the checker or of the optimiser. The optimiser
/// runs only if the checker's warnings do not match.
fn check_warnings(patterns: &[Message], session: &mut Session, program: &Program) -> Result<(), String> {
    let first_missing = |session: &Session| -> Result<Option<String>, String> {
        for pattern in patterns {
            if !matches(pattern, &session.warnings, &show(session, &session.warnings))? {
                return Ok(Some(format!("no warning matches `{}`", pattern.regex)));
            }
        }
        Ok(None)
    };
    if first_missing(session)?.is_none() {
        return Ok(());
    }
    // Errors are reported when the program is compiled.
    if let (Ok(ir), Some(stage)) = (session.lower(program), Stage::from_name("segs")) {
        let _ = session.run_passes(ir, stage, &mut ());
    }
    first_missing(session)?.map_or(Ok(()), Err)
}

/// The pass after which `structure` blocks of the pipeline `soacs` count operations: the last one
/// before products and sums are contracted to fused multiply-adds.
const SOACS_PASS: &str = "fuse";
/// The same for the pipeline `gpu`: the last pass before operations that cannot be kernels are
/// moved to the host.
const GPU_PASS: &str = "migrate";

/// Counts operations of the optimised program, and of the program flattened for a GPU, if test
/// blocks request it.
fn check_structures(
    structures: &[Structure],
    session: &mut Session,
    program: &Program,
    report: &mut Report,
) -> Result<(), String> {
    let pipeline = |structure: &Structure, name: &str| {
        let requested = structure.pipeline.as_deref();
        requested.map_or(name == "soacs", |requested| requested == name)
    };
    for (name, until, stack) in [("soacs", SOACS_PASS, Stack::default()), ("gpu", GPU_PASS, levels::GPU)] {
        let structures = structures.iter().filter(|it| pipeline(it, name));
        let structures: Vec<&Structure> = structures.collect();
        if structures.is_empty() {
            continue;
        }
        let stage = Stage::from_name(until).ok_or_else(|| format!("there is no pass `{until}`"))?;
        let before = (session.options.stack, session.options.flatten);
        (session.options.stack, session.options.flatten) = (stack, Flatten::Incremental);
        let made = session.lower(program).and_then(|ir| session.run_passes(ir, stage, &mut ()));
        (session.options.stack, session.options.flatten) = before;
        let made = made.map_err(|Failure(errors)| show(session, &errors))?;
        for structure in structures {
            let names = structure.counts.iter().map(|(name, _)| name);
            let patterns: Vec<Pattern> = names.map(|name| Pattern::new(name)).collect();
            let found = match &made {
                Ir::Soacs(program) => metrics::count(program, &patterns),
                Ir::Segs(program) => metrics::count(program, &patterns),
                Ir::Mems(_) | Ir::Imp(_) => return Err("this IR level has no operation counts".to_owned()),
            };
            compare(structure, &found, report);
        }
    }
    Ok(())
}

/// Compares the numbers of operations found with the expected ones.
fn compare(structure: &Structure, found: &[u64], report: &mut Report) {
    report.structures += 1;
    let counts = structure.counts.iter().zip(found);
    let wrong: Vec<String> = counts
        .filter(|((_, expected), found)| expected != *found)
        .map(|((name, expected), found)| format!("{found} of {name}, expected {expected}"))
        .collect();
    if wrong.is_empty() {
        report.passed_structures += 1;
    } else {
        let location = format!("line {}, structure", structure.line);
        report.fail(location, wrong.join("; "));
    }
}

/// Diagnostics as text.
fn show(session: &Session, diagnostics: &[Diagnostic]) -> String {
    let shown = diagnostics.iter().map(|d| render(d, &session.sources, false));
    shown.collect::<Vec<_>>().join("\n")
}

fn run_cases(
    file: &Path,
    spec: &Spec,
    program: Program,
    session: &Session,
    executable: Option<&Executable>,
    options: &Options,
    report: &mut Report,
) {
    let folder = file.parent().unwrap_or(file);
    let oracle = Oracle::new(Arc::new(program), &session.sources, folder, options.limit);
    oracle.set_check_sizes(options.check_sizes);
    for case in &spec.cases {
        for entry in case.entries.iter() {
            if !options.setup.runs(entry) {
                continue;
            }
            if options.setup.excludes(&case.tags) {
                report.skipped += 1;
                continue;
            }
            report.calls += 1;
            let fails = matches!(case.expected, Expected::Error(_));
            report.expected_failures += usize::from(fails);
            match call(&oracle, case, entry, folder, executable, options) {
                Ok(verdict) => {
                    report.passed += 1;
                    report.unknown += usize::from(verdict == Verdict::Unknown);
                    report.passed_failures += usize::from(fails);
                }
                Err(what) => {
                    let name = case.name.as_ref().map_or(String::new(), |n| format!(" \"{n}\""));
                    report.fail(format!("line {}, {entry}{name}", case.line), what);
                }
            }
        }
    }
    for name in &spec.properties {
        if !options.setup.runs(name) {
            continue;
        }
        report.calls += 1;
        match property::check_property(&oracle, name, options.seed) {
            Ok(()) => report.passed += 1,
            Err(what) => report.fail(format!("property {name}"), what),
        }
    }
}

fn call(
    oracle: &Oracle<'_>,
    case: &Case,
    entry: &str,
    folder: &Path,
    executable: Option<&Executable>,
    options: &Options,
) -> Result<Verdict, String> {
    let point = oracle.entry(entry)?;
    let Some(executable) = executable else {
        let args = oracle.arguments(&case.input, point);
        let args = match (args, &case.expected) {
            (Ok(args), _) => args,
            // Input that cannot be read counts as a failure.
            (Err(why), Expected::Error(_)) => {
                return compare_outcome(case, &Outcome::Failure(why), folder, || Ok(None));
            }
            (Err(why), _) => return Err(why),
        };
        let outcome = oracle.call(point, args);
        if case.expected == Expected::Auto && matches!(outcome, Outcome::Values(_)) {
            // The interpreter itself computes expected values for `auto output`.
            return Ok(Verdict::Expected);
        }
        return compare_outcome(case, &outcome, folder, || Ok(None));
    };
    let input = oracle.input(&case.input, point)?;
    let outcome = executable.call(
        entry,
        &input,
        &CallOptions {
            options: &options.setup.pass,
            results: matches!(case.expected, Expected::Values(_) | Expected::Auto),
            limit: options.limit,
        },
    );
    compare_outcome(case, &outcome, folder, || oracle.auto(case, point))
}
