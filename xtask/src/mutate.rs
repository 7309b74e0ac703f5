//! Mutation testing of the compiler: programs of given directories with a few random edits
//! ([`edits`]), checked by `build/bindrune` (or `$BINDRUNE`). Of the mutants without errors, one in
//! four is built, and the others go through the compiler's own passes.
//!
//! A run must exit with code 0 or 1, print neither a panic nor an internal compiler error, and take
//! at most two seconds. A slower run is repeated while nothing else runs; if it is slow again, it
//! is compared with its original. Mutants whose originals are about as slow are counted separately.
//!
//! With `--sizes` the edits concern sizes in types ([`sizes`]), and mutants without errors are run
//! on their test blocks by the interpreter with size checks. Run-time errors of the program are
//! accepted, compiler bugs are not.
//!
//! The same directories, seed and number give the same mutant. A mutant is written to a copy of its
//! original's directory, where its imports are. Mutants with a problem are kept there.

mod edits;
mod sites;
mod sizes;
mod tokens;

use crate::Outcome;
use crate::programs::compiler;
use edits::Corpus;
use harness::process::{End, Finished, run};
use harness::programs::{find, first_line, parallel_map};
use harness::random::Random;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const USAGE: &str = "usage: cargo xtask mutate [OPTIONS]
  --count N     mutants (1000)
  --seed N      the seed of the random edits (1)
  --sizes       edit sizes in types, and run mutants in the interpreter with size checks
  --only N      only the mutant of this number, which is kept
  --corpus DIR  a folder of programs; may be repeated (tests/programs, examples)";

/// The default directories of programs.
const CORPUS: [&str; 2] = ["tests/programs", "examples"];
/// The duration above which a run is slow.
const SLOW_ABOVE: Duration = Duration::from_secs(2);
/// The time limit of a run.
const TIMEOUT: Duration = Duration::from_mins(1);
/// The number of times that a slow run is repeated.
const REPEATS: usize = 2;
/// One of this many valid mutants is built.
const BUILT: u64 = 4;

struct Args {
    count: u64,
    seed: u64,
    only: Option<u64>,
    sizes: bool,
    corpus: Vec<PathBuf>,
}

fn arguments() -> Result<Args, String> {
    let mut args = Args { count: 1000, seed: 1, only: None, sizes: false, corpus: Vec::new() };
    let mut given = std::env::args().skip(2);
    while let Some(option) = given.next() {
        if option == "--sizes" {
            args.sizes = true;
            continue;
        }
        let value = given.next();
        let value = value.ok_or_else(|| USAGE.to_owned())?;
        let number = || {
            let number = value.parse::<u64>();
            number.map_err(|_| format!("`{value}` is not a number\n{USAGE}"))
        };
        match option.as_str() {
            "--count" => args.count = number()?,
            "--seed" => args.seed = number()?,
            "--only" => args.only = Some(number()?),
            "--corpus" => args.corpus.push(value.into()),
            _ => return Err(USAGE.to_owned()),
        }
    }
    Ok(args)
}

/// The action of the compiler on a program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Check,
    /// Runs the test blocks in the interpreter with size checks.
    Sizes,
    Passes,
    Build,
}

/// A kind of problem.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Exit,
    Panic,
    Bug,
    Slow,
    /// Slow, but the original takes at least half of the limit.
    SlowOriginal,
}

const KINDS: [(Kind, &str); 5] = [
    (Kind::Exit, "exit codes other than 0 and 1, signals, hangs"),
    (Kind::Panic, "panics"),
    (Kind::Bug, "compiler bugs"),
    (Kind::Slow, "runs of more than 2 s"),
    (Kind::SlowOriginal, "runs of more than 2 s whose originals take at least half of that"),
];

/// The result of a mutant.
struct Mutant {
    number: u64,
    path: PathBuf,
    original: usize,
    checks: bool,
    /// The step after `check`, if any.
    then: Option<Step>,
    problem: Option<(Kind, Step, String)>,
}

/// The copied programs and the options.
struct Campaign {
    compiler: String,
    folder: PathBuf,
    originals: Vec<PathBuf>,
    material: Corpus,
    sizes: bool,
    seed: u64,
}

/// Creates the mutants and runs the compiler on each.
pub fn task(root: &Path) -> Outcome {
    let args = arguments()?;
    let setting = Campaign::new(root, &args)?;
    let numbers: Vec<u64> = match args.only {
        Some(number) => vec![number],
        None => (0..args.count).collect(),
    };
    let results = parallel_map(&numbers, |worker, number| setting.mutant(worker, *number));
    let mut results: Vec<Mutant> = results.into_iter().collect::<Result<_, _>>()?;
    for result in &mut results {
        setting.recheck_slow(result)?;
        let is_kept = args.only.is_some()
            || result.problem.as_ref().is_some_and(|(kind, ..)| *kind != Kind::SlowOriginal);
        if !is_kept {
            std::fs::remove_file(&result.path).map_err(|e| format!("{}: {e}", result.path.display()))?;
        }
    }
    setting.report(root, &results)
}

impl Campaign {
    fn new(root: &Path, args: &Args) -> Result<Self, String> {
        let folder = root.join(format!("build/mutants/{}", args.seed));
        if folder.exists() {
            std::fs::remove_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        }
        let mut corpus = args.corpus.clone();
        if corpus.is_empty() {
            corpus = CORPUS.map(|folder| root.join(folder)).to_vec();
        }
        let (mut originals, mut programs) = (Vec::new(), Vec::new());
        for (number, from) in corpus.iter().enumerate() {
            for path in find(from)? {
                let text = std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
                let below = path.strip_prefix(from).unwrap_or(&path);
                let copy = folder.join(number.to_string()).join(below);
                write(&copy, &text)?;
                originals.push(copy);
                programs.push(text);
            }
        }
        if originals.is_empty() {
            return Err("no programs to mutate".to_owned());
        }
        Ok(Self {
            compiler: compiler(root),
            folder,
            originals,
            material: Corpus::new(programs),
            sizes: args.sizes,
            seed: args.seed,
        })
    }

    /// Creates a mutant and runs the compiler on it.
    fn mutant(&self, worker: usize, number: u64) -> Result<Mutant, String> {
        let start = Random::new(self.seed).bits().wrapping_add(number);
        let mut random = Random::new(start);
        let original = random.below(self.originals.len() as u64) as usize;
        let text = if self.sizes {
            let text = String::from_utf8_lossy(&self.material.programs[original]);
            let mutant = sizes::mutant(&text, &mut random);
            mutant.unwrap_or_else(|| text.into_owned()).into_bytes()
        } else {
            self.material.mutant(original, &mut random)
        };
        let path = self.originals[original].with_file_name(format!("mutant-{number}.fut"));
        write(&path, &text)?;
        let (finished, mut problem) = self.run_and_classify(Step::Check, &path, worker)?;
        let checks = finished.end == End::Code(0);
        let mut then = None;
        if checks && problem.is_none() && self.sizes {
            then = Some(Step::Sizes);
            problem = self.run_and_classify(Step::Sizes, &path, worker)?.1;
        } else if checks && problem.is_none() {
            let step = if random.below(BUILT) == 0 { Step::Build } else { Step::Passes };
            then = Some(step);
            problem = self.run_and_classify(step, &path, worker)?.1;
        }
        Ok(Mutant { number, path, original, checks, then, problem })
    }

    /// Repeats a slow run while nothing else runs, and compares it with the original.
    fn recheck_slow(&self, result: &mut Mutant) -> Outcome {
        let Some((Kind::Slow, step, _)) = result.problem else {
            return Ok(());
        };
        let original = &self.originals[result.original];
        let least = |path: &Path| {
            let mut least = TIMEOUT;
            for _ in 0..REPEATS {
                least = least.min(self.start(step, path, 0)?.1);
            }
            Ok::<_, String>(least)
        };
        let time = least(&result.path)?;
        if time <= SLOW_ABOVE {
            result.problem = None;
            return Ok(());
        }
        let before = least(original)?;
        let kind = if before * 2 > SLOW_ABOVE { Kind::SlowOriginal } else { Kind::Slow };
        let text = format!("{time:.1?}; its original takes {before:.1?}");
        result.problem = Some((kind, step, text));
        Ok(())
    }

    /// Runs the compiler. Returns the problem of the run, if any.
    fn run_and_classify(
        &self,
        step: Step,
        path: &Path,
        worker: usize,
    ) -> Result<(Finished, Option<(Kind, Step, String)>), String> {
        let (finished, time) = self.start(step, path, worker)?;
        let line = |part: &str| {
            let stdout = String::from_utf8_lossy(&finished.stdout);
            let mut lines = finished.stderr.lines().chain(stdout.lines());
            lines.find(|line| line.contains(part)).map(first_line)
        };
        // An interpreted program may take long.
        let limit = if step == Step::Sizes { TIMEOUT } else { SLOW_ABOVE };
        let problem = if let Some(text) = line("panicked at") {
            Some((Kind::Panic, text))
        } else if !matches!(finished.end, End::Code(0 | 1)) {
            let text = first_line(&finished.stderr);
            Some((Kind::Exit, format!("{:?}: {text}", finished.end)))
        } else if let Some(text) = line("compiler bug") {
            Some((Kind::Bug, text))
        } else if time > limit {
            Some((Kind::Slow, format!("{time:.1?}")))
        } else {
            None
        };
        Ok((finished, problem.map(|(kind, text)| (kind, step, text))))
    }

    fn start(&self, step: Step, path: &Path, worker: usize) -> Result<(Finished, Duration), String> {
        let executable = self.folder.join(format!("program-{worker}"));
        let words = self.command_line(step, path, &executable);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let start = Instant::now();
        let finished = run(&words, b"", TIMEOUT)?;
        Ok((finished, start.elapsed()))
    }

    /// The command line of a step.
    fn command_line(&self, step: Step, path: &Path, executable: &Path) -> Vec<String> {
        let path = path.to_string_lossy().into_owned();
        let (command, rest) = match step {
            Step::Check => ("check", Vec::new()),
            Step::Sizes => {
                let options = ["--backend", "interp", "--check-sizes", "--timeout", "10"];
                ("test", options.map(str::to_owned).to_vec())
            }
            Step::Passes => ("dev", vec!["--stage".to_owned(), "pipeline".to_owned()]),
            Step::Build => {
                let executable = executable.to_string_lossy().into_owned();
                ("build", vec!["-o".to_owned(), executable])
            }
        };
        let first = [self.compiler.clone(), command.to_owned(), path];
        first.into_iter().chain(rest).collect()
    }

    fn report(&self, root: &Path, results: &[Mutant]) -> Outcome {
        let mut text = String::new();
        let short = |path: &Path| {
            let path = path.strip_prefix(root).unwrap_or(path);
            path.to_string_lossy().into_owned()
        };
        for result in results {
            let Some((kind, step, what)) = &result.problem else {
                continue;
            };
            let executable = self.folder.join("program");
            let words = self.command_line(*step, &result.path, &executable);
            let words: Vec<String> = words.iter().map(|word| short(Path::new(word))).collect();
            let name = KINDS.iter().find(|(other, _)| other == kind);
            let _ = writeln!(
                text,
                "mutant {} of {}: {}: {what}\n  {}",
                result.number,
                short(&self.originals[result.original]),
                name.map_or("", |(_, name)| name),
                words.join(" ")
            );
        }
        let count = |keep: &dyn Fn(&Mutant) -> bool| results.iter().filter(|r| keep(r)).count();
        let _ = writeln!(
            text,
            "mutate: {} mutants of {} programs, seed {}: {} check, of which {} built, {} went \
             through all passes, {} ran in the interpreter",
            results.len(),
            self.originals.len(),
            self.seed,
            count(&|r| r.checks),
            count(&|r| r.then == Some(Step::Build)),
            count(&|r| r.then == Some(Step::Passes)),
            count(&|r| r.then == Some(Step::Sizes)),
        );
        let mut bad = 0;
        for (kind, name) in KINDS {
            let n = count(&|r| matches!(r.problem, Some((other, ..)) if other == kind));
            let _ = writeln!(text, "  {name}: {n}");
            bad += if kind == Kind::SlowOriginal { 0 } else { n };
        }
        if bad == 0 {
            print!("{text}");
            return Ok(());
        }
        let _ = write!(text, "the mutants are in {}", short(&self.folder));
        Err(text)
    }
}

fn write(path: &Path, bytes: &[u8]) -> Outcome {
    let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    folder.and_then(|()| std::fs::write(path, bytes)).map_err(|e| format!("{}: {e}", path.display()))
}
