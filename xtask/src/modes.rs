//! Runs every program of `tests/programs/`, `examples/` and `bench/programs/` in every mode: for
//! each processor level that this machine supports, as a single target and as a level of a
//! multi-target executable, with and without vector lanes, with 1, 2 and 4 threads. Each case must
//! pass its test block in the first mode, and give the same output or failure in all others.

use crate::Outcome;
use crate::programs::{compiler, input, keep_wanted, verdict};
use harness::Spec;
use harness::process::{End, run};
use harness::processors::{levels, runnable};
use harness::programs::{first_line, parallel_map, project_programs};
use std::path::Path;
use std::time::Duration;

const LANES: [&str; 2] = ["off", "auto"];
const THREADS: [&str; 3] = ["1", "2", "4"];
/// The time limit of a build or run.
const LIMIT: Duration = Duration::from_mins(2);

/// Runs the task. Arguments select programs by parts of their names.
pub fn task(root: &Path) -> Outcome {
    let wanted: Vec<String> = std::env::args().skip(2).collect();
    let mut programs = project_programs(root)?;
    keep_wanted(&mut programs, &wanted);
    let folder = root.join("build/modes");
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let cpus = runnable();
    let results = parallel_map(&programs, |worker, path| {
        let executable = folder.join(format!("program-{worker}"));
        let name = path.strip_prefix(root).unwrap_or(path).display();
        program(&compiler(root), path, &executable, &cpus).map_err(|e| format!("{name}: {e}"))
    });
    let runs: usize = results.iter().flatten().sum();
    let problems: Vec<String> = results.into_iter().filter_map(Result::err).collect();
    if problems.is_empty() && runs > 0 {
        println!("modes: {} programs on {}, {runs} runs, no difference", programs.len(), cpus.join(", "));
        return Ok(());
    }
    Err(format!("{}\nmodes: {} programs with problems", problems.join("\n"), problems.len()))
}

/// The parameters of a run.
struct Run<'a> {
    executable: &'a str,
    threads: &'a str,
    /// The value of `--cpu-level`.
    level: Option<&'a str>,
}

/// The result of a case: success, standard output, standard error.
type CaseResult = (bool, Vec<u8>, String);

/// Builds a program for each mode and runs all cases. Returns the number of runs, or the first
/// problem.
fn program(compiler: &str, path: &Path, executable: &Path, cpus: &[&str]) -> Result<usize, String> {
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    let spec = harness::parse_blocks(&text).map_err(|e| e.to_string())?;
    if spec.compile_error.is_some() {
        return Ok(0);
    }
    let (source, output) = (path.to_string_lossy(), executable.to_string_lossy());
    let (mut runs, mut first) = (0, None);
    let levels: Vec<Option<&str>> = levels().into_iter().map(Some).collect();
    for cpu in cpus.iter().copied().chain(["portable"]) {
        // An executable for a single processor has no levels to choose from.
        let chosen = if cpu == "portable" { &levels[..] } else { &[None] };
        for lanes in LANES {
            let options = ["--cpu", cpu, "--lanes", lanes];
            let args = [&[compiler, "build", &source, "-o", &output], &options[..]].concat();
            let built = run(&args, b"", LIMIT)?;
            if built.end != End::Code(0) {
                let line = first_line(&built.stderr);
                return Err(format!("--cpu {cpu} --lanes {lanes}: does not build: {line}"));
            }
            let modes = THREADS.iter().flat_map(|threads| chosen.iter().map(move |level| (*threads, *level)));
            for (threads, level) in modes {
                let shown = level.unwrap_or(cpu);
                let mode = format!("--cpu {cpu} ({shown}) --lanes {lanes}, {threads} threads");
                let run = Run { executable: &output, threads, level };
                let given = cases(&spec, path, &run, first.is_none()).map_err(|e| format!("{mode}: {e}"))?;
                runs += given.len();
                match &first {
                    None => first = Some(given),
                    Some(first) if *first == given => {}
                    Some(first) => {
                        let case = first.iter().zip(&given).position(|(a, b)| a != b);
                        let case = case.map_or(0, |case| case + 1);
                        return Err(format!("{mode}: run {case} differs from the first mode"));
                    }
                }
            }
        }
    }
    Ok(runs)
}

/// Runs all cases; if `judged`, compares the outcomes with the test blocks.
fn cases(spec: &Spec, path: &Path, how: &Run<'_>, judged: bool) -> Result<Vec<CaseResult>, String> {
    let folder = path.parent().unwrap_or(path);
    let mut all = Vec::new();
    for case in &spec.cases {
        let Some(stdin) = input(case, folder) else {
            continue;
        };
        let stdin = stdin?;
        for entry in case.entries.iter() {
            let location = format!("line {}, {entry}", case.line);
            let mut args = vec![how.executable, "--num-threads", how.threads, "-e", entry];
            args.extend(how.level.into_iter().flat_map(|level| ["--cpu-level", level]));
            let finished = run(&args, &stdin, LIMIT)?;
            let good = match finished.end {
                End::Code(0) => true,
                End::Code(1) => false,
                end => return Err(format!("{location}: {end:?}")),
            };
            all.push((good, finished.stdout.clone(), finished.stderr.clone()));
            if judged {
                verdict(case, finished, folder).map_err(|e| format!("{location}: {e}"))?;
            }
        }
    }
    Ok(all)
}
