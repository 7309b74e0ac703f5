//! Every program as portable C, compiled by the system's C compiler: the expected values of the
//! test blocks, the bits of the evaluator, no leaked memory.
//!
//! The C compiler runs without optimisation, which is fast; optimised C is tested by some of the
//! command line's tests.

use crate::outcome::{Outcome, all_same_bits, as_expected, has_position};
use crate::program::{Program, render_failure};
use driver::{Ir, Observer, PassInfo};
use harness::Case;
use harness::evaluate::Failure;
use harness::process::{End, run};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use value::Reader;

/// The time limit of a compilation, and of a call.
const LIMIT: Duration = Duration::from_mins(1);

/// Entry points whose sums of floats are combined in a different order on one thread: their last
/// bits may differ from the CPU's. All other results have the same bits.
const SUMS: [(&str, &[&str]); 9] = [
    ("bench/programs/mini.fut", &["black_scholes", "redomap_nt"]),
    ("examples/dot_product.fut", &["waves"]),
    ("examples/nbody.fut", &["main"]),
    (
        "tests/programs/derivatives/accumulators.fut",
        &["of_nested", "second_of_nested", "second_of_until", "of_arrays"],
    ),
    ("tests/programs/derivatives/forward.fut", &["gradients", "hessians"]),
    ("tests/programs/derivatives/reverse.fut", &["of_elimination"]),
    ("tests/programs/features/accumulators.fut", &["sums"]),
    ("tests/programs/features/histograms.fut", &["single", "double", "onto", "grid"]),
    ("tests/programs/features/large.fut", &["sums", "running", "compose_floats", "rows"]),
];

/// An observer that keeps the last program above the imperative IR.
struct Last(Option<Ir>);

impl Observer for Last {
    fn pass(&mut self, _: &PassInfo, _: Duration, ir: &Ir) {
        if !matches!(ir, Ir::Imp(_)) {
            self.0 = Some(ir.clone());
        }
    }
}

/// Runs the calls of the C program; the outcomes have the bits of the evaluator on the code for the
/// CPU, those of [`SUMS`] on the same code.
pub fn gives_expected_values(program: &Program) -> Vec<String> {
    if program.stages().is_err() {
        return Vec::new();
    }
    compile_and_run(program).unwrap_or_else(|message| vec![message])
}

fn compile_and_run(program: &Program) -> Result<Vec<String>, String> {
    let mut session = program.session();
    session.options = session.options.clone().portable_c();
    let ir = program.lowered(&mut session)?;
    let mut last = Last(None);
    let text = session.portable_c(ir, &mut last).map_err(|failure| render_failure(&session, &failure))?;
    let ir = last.0.ok_or("no pass has run")?;
    program.unless_passed("portable-c", &text, || {
        compile_and_call(program, &text, &ir).unwrap_or_else(|message| vec![message])
    })
}

fn compile_and_call(program: &Program, text: &str, ir: &Ir) -> Result<Vec<String>, String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let executable = compile(text, folder.path())?;
    let evaluations = program.evaluations(ir);
    let reordered = SUMS.iter().find(|(name, _)| *name == program.name);
    let reordered = reordered.map_or(&[][..], |(_, entries)| entries);
    let mut problems = Vec::new();
    for (number, (case, entry)) in program.calls().enumerate() {
        let outcome = call(&executable, program, case, entry);
        let mut problem = |what: String| {
            problems.push(format!("line {}, {entry}: {what}", case.line));
        };
        if let Err(what) = as_expected(program, case, outcome.as_deref()) {
            problem(what);
        }
        let evaluated = if reordered.contains(&entry) {
            Arc::new(evaluations.outcome((case, entry)))
        } else {
            program.last_evaluation(number)?
        };
        let result = match (&outcome, evaluated.as_ref()) {
            (Ok(values), Ok(evaluated)) => {
                all_same_bits(evaluated, values).map_err(|what| format!("differs from the evaluator: {what}"))
            }
            (Err(failure), _) => has_position(program, failure),
            (Ok(_), Err(_)) => Ok(()),
        };
        if let Err(what) = result {
            problem(what);
        }
    }
    Ok(problems)
}

/// Compiles C into an executable.
fn compile(text: &str, folder: &Path) -> Result<PathBuf, String> {
    let (source, made) = (folder.join("program.c"), folder.join("program"));
    std::fs::write(&source, text).map_err(|e| e.to_string())?;
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let (from, to) = (source.to_string_lossy(), made.to_string_lossy());
    let flags = ["-std=c11", "-O0", "-ffp-contract=off", "-w"];
    let mut command = vec![compiler.as_str()];
    command.extend(flags);
    command.extend(["-o", &*to, &*from, "-lm"]);
    let finished = run(&command, b"", LIMIT)?;
    match finished.end {
        End::Code(0) => Ok(made),
        end => Err(format!("{end:?}: {}", finished.stderr)),
    }
}

/// Calls the executable, which reports leaked memory.
fn call(executable: &Path, program: &Program, case: &Case, entry: &str) -> Outcome {
    let args = case.input.values(program.folder());
    let args = args.map_err(|e| Failure::Argument(e.to_string()))?;
    let mut input = Vec::new();
    for arg in &args {
        value::write_binary(&mut input, arg).map_err(|e| Failure::Argument(e.to_string()))?;
    }
    let path = executable.to_string_lossy();
    let finished = run(&[&*path, "-b", "-D", "-e", entry], &input, LIMIT);
    let finished = finished.map_err(Failure::Evaluator)?;
    if finished.stderr.contains("leaked") {
        return Err(Failure::Evaluator(finished.stderr));
    }
    match finished.end {
        End::Code(0) => {}
        End::Code(1) => {
            let start = finished.stderr.find("Error: ").unwrap_or(0);
            return Err(Failure::Program(finished.stderr[start..].to_owned()));
        }
        end => return Err(Failure::Evaluator(format!("{end:?}: {}", finished.stderr))),
    }
    let mut reader = Reader::from_slice(&finished.stdout);
    let mut values = Vec::new();
    while let Some(value) = reader.read_any().map_err(|e| Failure::Evaluator(e.to_string()))? {
        values.push(value);
    }
    Ok(values)
}
