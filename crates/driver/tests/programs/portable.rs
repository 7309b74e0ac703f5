//! Every program as portable C, compiled by the system's C compiler: the expected values of the
//! test blocks, the bits of the evaluator, no leaked memory.
//!
//! The C compiler runs without optimisation, which is fast; optimised C is tested by some of the
//! command line's tests.

use crate::support::{Files, Outcome, Program, all_same_bits, every_program, render_failure};
use crate::{as_expected, has_position};
use driver::{Ir, Observer, PassInfo, Stage};
use harness::Case;
use harness::evaluate::Failure;
use harness::process::{End, run};
use std::path::{Path, PathBuf};
use std::time::Duration;
use value::Reader;

/// The time limit of a compilation, and of a call.
const LIMIT: Duration = Duration::from_mins(1);

/// Entry points whose sums of floats are combined in a different order on one thread: their last
/// bits may differ from the CPU's. All other results have the same bits.
const SUMS: [(&str, &[&str]); 6] = [
    ("bench/programs/mini.fut", &["black_scholes", "redomap_nt"]),
    ("examples/dot_product.fut", &["waves"]),
    ("examples/nbody.fut", &["main"]),
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

#[test]
fn portable_c_gives_the_bits_of_the_evaluator_and_of_the_cpu() {
    every_program(|program| {
        let on_cpu = match for_cpu(program) {
            Some(ir) => program.outcomes(&ir),
            None => return Vec::new(),
        };
        let mut session = program.session();
        session.options = session.options.clone().portable_c();
        let mut last = Last(None);
        let text = session
            .check(&mut Files)
            .and_then(|typed| session.lower(&typed))
            .and_then(|ir| session.portable_c(ir, &mut last));
        let (text, ir) = match (text, last.0) {
            (Ok(text), Some(ir)) => (text, ir),
            (Err(failure), _) => return vec![render_failure(&session, &failure)],
            (_, None) => return vec!["no pass has run".to_owned()],
        };
        let folder = tempfile::tempdir().expect("a folder");
        let executable = match compile(&text, folder.path()) {
            Ok(executable) => executable,
            Err(message) => return vec![message],
        };
        let evaluated = program.outcomes(&ir);
        let named = SUMS.iter().find(|(name, _)| *name == program.name);
        let sums = named.map_or(&[][..], |(_, entries)| entries);
        let mut problems = Vec::new();
        for (((case, entry), evaluated), on_cpu) in program.calls().zip(&evaluated).zip(&on_cpu) {
            let outcome = call(&executable, program, case, entry);
            let mut problem = |what: String| {
                problems.push(format!("line {}, {entry}: {what}", case.line));
            };
            if let Err(what) = as_expected(program, case, outcome.as_deref()) {
                problem(what);
            }
            match (&outcome, evaluated, on_cpu) {
                (Ok(values), Ok(evaluated), Ok(on_cpu)) => {
                    if let Err(what) = all_same_bits(evaluated, values) {
                        problem(format!("not as evaluated: {what}"));
                    }
                    if !sums.contains(&entry)
                        && let Err(what) = all_same_bits(on_cpu, values)
                    {
                        problem(format!("not as on the CPU: {what}"));
                    }
                }
                (Err(failure), _, _) => {
                    if let Err(what) = has_position(program, failure) {
                        problem(what);
                    }
                }
                (Ok(_), _, _) => {}
            }
        }
        problems
    });
}

/// The program for the CPU at the memory level; `None` if it is rejected.
fn for_cpu(program: &Program) -> Option<Ir> {
    let mut session = program.session();
    session.options.verify = false;
    let ir = session.check(&mut Files).and_then(|typed| session.lower(&typed));
    let memory = Stage::from_name("mems")?;
    session.run_passes(ir.ok()?, memory, &mut ()).ok()
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
    if finished.stderr.contains("bytes of memory behind") {
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
