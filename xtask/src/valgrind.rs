//! Runs every program of `tests/programs/`, `examples/` and `bench/programs/` under valgrind.
//! Programs are built with `build/bindrune` (or `$BINDRUNE`), and each entry point is run on each
//! input of its test blocks, including inputs that fail. Runs that allocate enough memory are
//! repeated with half of it, and must fail. No errors and no leaks are tolerated, and nothing is
//! suppressed.
//!
//! The code is built for x86-64-v3, the highest level that valgrind supports. Results are taken
//! from native runs, because valgrind mistakes an AVX comparison (`NEQ_OQ`) for another one and
//! gives wrong results for NaNs.

use crate::Outcome;
use crate::programs::{compiler, input, keep_wanted, verdict};
use harness::Spec;
use harness::process::{End, Finished, run, run_unlimited};
use harness::programs::{find, first_line, parallel_map, project_programs};
use std::path::Path;
use std::time::Duration;

/// The bytes that a thread of a context may allocate before it reports them. A limit below this is
/// noticed too late.
const UNREPORTED_BYTES: u64 = 64 << 10;
/// The time limit of a run under valgrind.
const LIMIT: Duration = Duration::from_mins(3);
/// The exit code of valgrind if it found errors.
const FOUND: &str = "99";

/// Runs the task. Arguments are other directories to search, and parts of the names of programs to
/// run.
pub fn task(root: &Path) -> Outcome {
    let args = std::env::args().skip(2);
    let (folders, wanted): (Vec<String>, Vec<String>) = args.partition(|arg| Path::new(arg).is_dir());
    let mut programs = Vec::new();
    for folder in &folders {
        programs.extend(find(Path::new(folder))?);
    }
    if folders.is_empty() {
        programs = project_programs(root)?;
    }
    keep_wanted(&mut programs, &wanted);
    let folder = root.join("build/valgrind");
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let results = parallel_map(&programs, |worker, path| {
        let executable = folder.join(format!("program-{worker}"));
        let name = path.strip_prefix(root).unwrap_or(path).display().to_string();
        program(&compiler(root), path, &executable)
            .map_err(|problems| problems.into_iter().map(|p| format!("{name}: {p}")).collect())
    });
    let runs: usize = results.iter().flatten().sum();
    let problems: Vec<String> =
        results.into_iter().filter_map(Result::err).flat_map(|p: Vec<String>| p).collect();
    if problems.is_empty() && runs > 0 {
        println!("valgrind: {} programs, {runs} runs, no errors, no leaks", programs.len());
        return Ok(());
    }
    Err(format!("{}\nvalgrind: {} problems", problems.join("\n"), problems.len()))
}

/// Builds a program and runs all cases. Returns the number of runs, or the problems.
fn program(compiler: &str, path: &Path, executable: &Path) -> Result<usize, Vec<String>> {
    let text = std::fs::read_to_string(path).map_err(|e| vec![e.to_string()])?;
    let spec = harness::parse_blocks(&text).map_err(|e| vec![e.to_string()])?;
    if spec.compile_error.is_some() {
        return Ok(0);
    }
    let (source, output) = (path.to_string_lossy(), executable.to_string_lossy());
    let args = [compiler, "build", &source, "-o", &output, "--cpu", "x86-64-v3"];
    let built = run(&args, b"", LIMIT).map_err(|e| vec![e])?;
    if built.end != End::Code(0) {
        return Err(vec![format!("does not build: {}", first_line(&built.stderr))]);
    }
    let folder = path.parent().unwrap_or(path);
    cases(&spec, folder, &output)
}

fn cases(spec: &Spec, folder: &Path, executable: &str) -> Result<usize, Vec<String>> {
    let (mut runs, mut problems) = (0, Vec::new());
    for case in &spec.cases {
        let Some(stdin) = input(case, folder) else {
            continue;
        };
        for entry in case.entries.iter() {
            let mut note = |result: Result<(), String>| {
                runs += 1;
                let location = format!("line {}, {entry}", case.line);
                problems.extend(result.err().map(|e| format!("{location}: {e}")));
            };
            let stdin = match &stdin {
                Ok(stdin) => stdin,
                Err(e) => {
                    note(Err(e.clone()));
                    continue;
                }
            };
            let finished = run_under_valgrind(executable, entry, &[], stdin);
            note(finished.and_then(|finished| {
                let native = run(&[executable, "--num-threads=2", "-e", entry], stdin, LIMIT)?;
                if native.end != finished.end {
                    let (end, other) = (native.end, finished.end);
                    return Err(format!("{end:?}, but {other:?} under valgrind"));
                }
                verdict(case, native, folder)
            }));
            if let Some(peak) = peak(executable, entry, stdin).filter(|peak| *peak > UNREPORTED_BYTES) {
                let limit = format!("--memory-limit={}", peak / 2);
                note(run_under_valgrind(executable, entry, &[&limit], stdin).and_then(check_out_of_memory));
            }
        }
    }
    if problems.is_empty() { Ok(runs) } else { Err(problems) }
}

/// Runs an executable under valgrind. The error is valgrind's report.
fn run_under_valgrind(
    executable: &str,
    entry: &str,
    options: &[&str],
    stdin: &[u8],
) -> Result<Finished, String> {
    let exit_code = format!("--error-exitcode={FOUND}");
    let valgrind = [
        "valgrind",
        "--quiet",
        &exit_code,
        "--leak-check=full",
        "--show-leak-kinds=all",
        "--errors-for-leak-kinds=all",
        executable,
        "--num-threads=2",
        "-e",
        entry,
    ];
    let finished = run_unlimited(&[&valgrind[..], options].concat(), stdin, LIMIT)?;
    let found = finished.end == End::Code(FOUND.parse().unwrap_or(1));
    if found || finished.stderr.lines().any(|line| line.starts_with("==")) {
        return Err(format!("valgrind:\n{}", finished.stderr));
    }
    Ok(finished)
}

/// Returns the peak memory in bytes that the executable reports; `None` if it fails.
fn peak(executable: &str, entry: &str, stdin: &[u8]) -> Option<u64> {
    let args = [executable, "--num-threads=2", "-n", "-P", "-e", entry];
    let finished = run(&args, stdin, LIMIT).ok()?;
    let prefix = "peak memory: ";
    let mut lines = finished.stderr.lines();
    let bytes = lines.find_map(|line| line.strip_prefix(prefix)?.strip_suffix(" bytes"))?;
    bytes.parse().ok().filter(|_| finished.end == End::Code(0))
}

/// Checks that a run failed because it ran out of memory.
fn check_out_of_memory(finished: Finished) -> Result<(), String> {
    if finished.end == End::Code(1) && finished.stderr.contains("memory") {
        return Ok(());
    }
    let line = first_line(&finished.stderr);
    Err(format!("with half of the memory: {:?}: {line}", finished.end))
}
