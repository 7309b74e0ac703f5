//! The long run: many programs, in processes of their own, so that a crash is one more result.
//! `cargo xtask progen` starts it; `--help` lists the options.

use harness::process::{End, run_unlimited};
use harness::programs::{first_line, parallel_map_with};
use progen::{Choices, Coverage, Problem, Setting, shrink, try_choices};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};

const USAGE: &str = "usage: progen [OPTIONS]
  --count N      number of programs (1000)
  --seed N       seed of the first program (1)
  --size N       bound on the size of programs (100)
  --jobs N       number of processes at a time (number of processors)
  --tries N      attempts to shrink a failing program (1500)
  --opencl       also run kernels on an OpenCL device, whose compiler is slow
  --sizes        only programs about sizes in types; otherwise one in eight is
  --nests        only products, stencils and other nests with reuse; otherwise one in eight is
  --derivatives  only programs with derivatives; otherwise one in eight is
  --interp       run programs in the interpreter only
  --out FOLDER   folder for failing programs, shrunk (build/progen)
  --show SEED    print a program and its calls
  --try SEED     run one program
  --write        write programs with test blocks to the folder of --out
  --replay FILE  run the program of the choices in a file; --seed determines the mode";

/// The number of programs that one process runs.
const BATCH: u64 = 50;
/// The time limit of a process for its programs; the program that was running at its end hangs if
/// it also exceeds the limit by itself.
const LIMIT: Duration = Duration::from_mins(10);
/// The time limit of a single program.
const LIMIT_OF_ONE: Duration = Duration::from_mins(1);
/// The number of failing programs of a kind that are kept.
const KEPT: usize = 3;

struct Args {
    count: u64,
    seed: u64,
    size: usize,
    jobs: usize,
    /// The number of attempts to shrink a failing program.
    tries: usize,
    out: PathBuf,
    opencl: bool,
    sizes: bool,
    nests: bool,
    derivatives: bool,
    interp: bool,
    action: Action,
}

enum Action {
    Many,
    Show(u64),
    Try(u64),
    Write,
    Replay(PathBuf),
    /// The action of the processes of `Many`.
    Worker,
}

fn arguments() -> Result<Args, lexopt::Error> {
    use lexopt::prelude::{Long, ValueExt};
    let mut args = Args {
        count: 1000,
        seed: 1,
        size: 100,
        jobs: std::thread::available_parallelism().map_or(1, usize::from),
        tries: 1500,
        out: "build/progen".into(),
        opencl: false,
        sizes: false,
        nests: false,
        derivatives: false,
        interp: false,
        action: Action::Many,
    };
    let mut parser = lexopt::Parser::from_env();
    while let Some(arg) = parser.next()? {
        match arg {
            Long("count") => args.count = parser.value()?.parse()?,
            Long("seed") => args.seed = parser.value()?.parse()?,
            Long("size") => args.size = parser.value()?.parse()?,
            Long("jobs") => args.jobs = parser.value()?.parse()?,
            Long("tries") => args.tries = parser.value()?.parse()?,
            Long("opencl") => args.opencl = true,
            Long("sizes") => args.sizes = true,
            Long("nests") => args.nests = true,
            Long("derivatives") => args.derivatives = true,
            Long("interp") => args.interp = true,
            Long("out") => args.out = parser.value()?.into(),
            Long("show") => args.action = Action::Show(parser.value()?.parse()?),
            Long("try") => args.action = Action::Try(parser.value()?.parse()?),
            Long("write") => args.action = Action::Write,
            Long("replay") => args.action = Action::Replay(parser.value()?.into()),
            Long("worker") => args.action = Action::Worker,
            Long("help") => return Err(USAGE.into()),
            other => return Err(other.unexpected()),
        }
    }
    Ok(args)
}

fn main() -> ExitCode {
    let args = match arguments() {
        Ok(args) => args,
        Err(e) => {
            eprintln!("{e}");
            return ExitCode::from(2);
        }
    };
    // Panics are results; their messages are kept with them.
    std::panic::set_hook(Box::new(|_| {}));
    // Unoptimised code needs much stack for recursion over programs.
    let work = std::thread::Builder::new().stack_size(256 << 20);
    let result = std::thread::scope(|scope| {
        let work = work.spawn_scoped(scope, || act(&args));
        work.map(std::thread::ScopedJoinHandle::join)
    });
    match result {
        Ok(Ok(Ok(()))) => ExitCode::SUCCESS,
        Ok(Ok(Err(what))) => {
            eprintln!("{what}");
            ExitCode::FAILURE
        }
        _ => ExitCode::FAILURE,
    }
}

fn act(args: &Args) -> Result<(), String> {
    match &args.action {
        Action::Many => many(args),
        Action::Worker => worker(args),
        Action::Write => write(args),
        Action::Show(seed) => {
            let setting = setting(args, *seed);
            println!("{}", listing(Choices::random(*seed), &setting, args.size));
            Ok(())
        }
        Action::Try(seed) => {
            println!("{}", setting(args, *seed).text());
            single(Choices::random(*seed), &setting(args, *seed), args.size)
        }
        Action::Replay(file) => {
            let text = std::fs::read_to_string(file).map_err(|e| e.to_string())?;
            let numbers = text.split_whitespace().map(str::parse);
            let choices: Vec<u64> =
                numbers.collect::<Result<_, std::num::ParseIntError>>().map_err(|e| e.to_string())?;
            single(Choices::replay(choices), &setting(args, args.seed), args.size)
        }
    }
}

/// The setting for the program of a seed.
fn setting(args: &Args, seed: u64) -> Setting {
    Setting::draw(seed)
        .on_opencl(args.opencl)
        .with_sizes(args.sizes)
        .with_nests(args.nests)
        .with_derivatives(args.derivatives)
        .interpreted(args.interp)
}

/// Runs one program; the error's first line is the problem's kind.
fn single(choices: Choices, setting: &Setting, size: usize) -> Result<(), String> {
    let tried = try_choices(choices, size, setting);
    let report = tried.map_err(|problem| format!("{}\n{}", problem.kind, problem.what))?;
    println!(
        "{} values, {} failures, {} on the simulated device, {} on OpenCL",
        report.values, report.failures, report.on_device, report.on_opencl
    );
    Ok(())
}

/// Writes programs whose results are known, with the results in test blocks.
fn write(args: &Args) -> Result<(), String> {
    std::fs::create_dir_all(&args.out).map_err(|e| e.to_string())?;
    for seed in args.seed..args.seed + args.count {
        let program = setting(args, seed).generate(&mut Choices::random(seed), args.size);
        let mut text = String::new();
        for call in &program.calls {
            let Some(expected) = &call.expected else {
                continue;
            };
            let line = |values: &str| values.replace('\n', " ");
            let (input, output) = (line(&call.args), line(expected));
            let _ = writeln!(text, "-- ==\n-- entry: {}", call.entry);
            let _ = writeln!(text, "-- input {{ {input}}} output {{ {output}}}");
        }
        let path = args.out.join(format!("seed-{seed}.fut"));
        std::fs::write(&path, text + "\n" + &program.text).map_err(|e| e.to_string())?;
    }
    Ok(())
}

/// A program with its calls as comments.
fn listing(choices: Choices, setting: &Setting, size: usize) -> String {
    let mut choices = choices;
    let program = setting.generate(&mut choices, size);
    let mut text = String::new();
    for call in &program.calls {
        let args = call.args.replace('\n', " ");
        let _ = write!(text, "-- {}: {args}", call.entry);
        if let Some(expected) = &call.expected {
            let _ = write!(text, "-> {}", expected.replace('\n', " "));
        }
        text.push('\n');
    }
    text + "\n" + &program.text
}

/// Runs programs and prints the outcome of each, for [`batch`] to read.
fn worker(args: &Args) -> Result<(), String> {
    let mut coverage = Coverage::default();
    let mut out = std::io::stdout().lock();
    let mut sums = [0; 5];
    for seed in args.seed..args.seed + args.count {
        let mut say =
            |text: &str| writeln!(out, "{text}").and_then(|()| out.flush()).map_err(|e| e.to_string());
        say(&format!("start {seed}"))?;
        match try_choices(Choices::random(seed), args.size, &setting(args, seed)) {
            Ok(report) => {
                coverage.count(&report.seen);
                let counts =
                    [report.values, report.failures, report.slow, report.on_device, report.on_opencl];
                sums.iter_mut().zip(counts).for_each(|(sum, n)| *sum += n);
                if report.slow > 0 {
                    say("slow")?;
                }
            }
            Err(problem) => say(&format!("problem {}", problem.kind))?,
        }
    }
    for (name, count) in coverage.counts() {
        println!("cover {count} {name}");
    }
    let [values, failures, slow, on_device, on_opencl] = sums;
    println!("sums {values} {failures} {slow} {on_device} {on_opencl}");
    Ok(())
}

/// The totals over many programs.
#[derive(Default)]
struct Totals {
    programs: u64,
    values: u64,
    failures: u64,
    slow: u64,
    on_device: u64,
    on_opencl: u64,
    coverage: Coverage,
    problems: BTreeMap<String, Vec<u64>>,
}

/// The command-line flags for the generation and execution of programs.
fn flags(args: &Args) -> impl Iterator<Item = &'static str> {
    let flags = [
        (args.opencl, "--opencl"),
        (args.sizes, "--sizes"),
        (args.nests, "--nests"),
        (args.derivatives, "--derivatives"),
        (args.interp, "--interp"),
    ];
    flags.into_iter().filter_map(|(given, flag)| given.then_some(flag))
}

/// Runs one batch in a process, and another process after a program that ends it.
fn batch(args: &Args, first: u64, count: u64, sums: &Mutex<Totals>) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let program = program.to_string_lossy();
    let (mut next, end) = (first, first + count);
    while next < end {
        let numbers = [next, end - next, args.size as u64].map(|n| n.to_string());
        let mut command =
            vec![&*program, "--worker", "--seed", &numbers[0], "--count", &numbers[1], "--size", &numbers[2]];
        flags(args).for_each(|flag| command.push(flag));
        let finished = run_unlimited(&command, b"", LIMIT)?;
        let mut sums = sums.lock().map_err(|e| e.to_string())?;
        let mut last = next;
        for line in String::from_utf8_lossy(&finished.stdout).lines() {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            match word {
                "start" => {
                    last = rest.parse().unwrap_or(last);
                    sums.programs += 1;
                }
                "problem" => {
                    println!("seed {last}: {rest}");
                    sums.problems.entry(rest.to_owned()).or_default().push(last);
                }
                "slow" => println!("seed {last}: slow"),
                "cover" => {
                    let (count, name) = rest.split_once(' ').unwrap_or(("0", rest));
                    sums.coverage.add(name, count.parse().unwrap_or(0));
                }
                "sums" => {
                    let mut numbers = rest.split(' ').map(|n| n.parse().unwrap_or(0));
                    sums.values += numbers.next().unwrap_or(0);
                    sums.failures += numbers.next().unwrap_or(0);
                    sums.slow += numbers.next().unwrap_or(0);
                    sums.on_device += numbers.next().unwrap_or(0);
                    sums.on_opencl += numbers.next().unwrap_or(0);
                }
                _ => {}
            }
        }
        if finished.end == End::Code(0) {
            return Ok(());
        }
        if finished.end == End::Timeout && last > next {
            sums.programs -= 1;
            next = last;
            continue;
        }
        let kind = ending(&finished.end, &finished.stderr);
        println!("seed {last}: {kind}");
        sums.problems.entry(kind).or_default().push(last);
        next = last + 1;
    }
    Ok(())
}

/// The kind of problem for the end of a process.
fn ending(end: &End, stderr: &str) -> String {
    match end {
        End::Code(_) => first_line(stderr),
        End::Signal(signal) => format!("crash: signal {signal}"),
        End::Timeout => "hangs".to_owned(),
        End::OutputLimit => "endless output".to_owned(),
    }
}

fn many(args: &Args) -> Result<(), String> {
    let start = Instant::now();
    let sums = Mutex::new(Totals::default());
    let batches: Vec<u64> = (0..args.count.div_ceil(BATCH)).collect();
    let results = parallel_map_with(args.jobs, &batches, |_, at| {
        let first = args.seed + at * BATCH;
        let count = BATCH.min(args.seed + args.count - first);
        batch(args, first, count, &sums)
    });
    results.into_iter().collect::<Result<Vec<()>, String>>()?;
    let sums = sums.into_inner().map_err(|e| e.to_string())?;
    println!("{}", sums.coverage.table());
    println!(
        "{} programs, {} calls with values, {} that fail, {} too slow to compare, {} on the simulated device, {} on OpenCL, {} kinds of problems, {:.0} s",
        sums.programs,
        sums.values,
        sums.failures,
        sums.slow,
        sums.on_device,
        sums.on_opencl,
        sums.problems.len(),
        start.elapsed().as_secs_f64()
    );
    if sums.problems.is_empty() {
        return Ok(());
    }
    std::fs::create_dir_all(&args.out).map_err(|e| e.to_string())?;
    let cases: Vec<(&String, u64)> = sums
        .problems
        .iter()
        .flat_map(|(kind, seeds)| seeds.iter().take(KEPT).map(move |seed| (kind, *seed)))
        .collect();
    for line in parallel_map_with(args.jobs, &cases, |worker, (kind, seed)| {
        save(args, worker, kind, *seed).unwrap_or_else(|e| e)
    }) {
        println!("{line}");
    }
    let counts = sums.problems.iter();
    let counts: Vec<String> = counts.map(|(kind, seeds)| format!("{:6} {kind}", seeds.len())).collect();
    Err(format!("problems:\n{}", counts.join("\n")))
}

/// Shrinks a failing program and writes it to a file.
fn save(args: &Args, worker: usize, kind: &str, seed: u64) -> Result<String, String> {
    let mut choices = Choices::random(seed);
    setting(args, seed).generate(&mut choices, args.size);
    let file = args.out.join(format!("try-{worker}"));
    let mut message = String::new();
    let small = shrink(choices.into_made(), args.tries, |choices| match replay(args, &file, choices, seed) {
        Ok(Some(problem)) if problem.kind == kind => {
            message = problem.what;
            true
        }
        _ => false,
    });
    let _ = std::fs::remove_file(&file);
    let message: Vec<String> = message.lines().map(|line| format!("-- {line}")).collect();
    let text = format!(
        "-- seed {seed}: {kind}\n-- {}\n{}\n{}",
        setting(args, seed).text(),
        message.join("\n"),
        listing(Choices::replay(small), &setting(args, seed), args.size)
    );
    let path = args.out.join(format!("seed-{seed}.fut"));
    std::fs::write(&path, text).map_err(|e| e.to_string())?;
    Ok(format!("{}: {kind}", path.display()))
}

/// Runs the program of choices in a process of its own; returns its problem, if any.
fn replay(
    args: &Args,
    file: &std::path::Path,
    choices: &[u64],
    seed: u64,
) -> Result<Option<Problem>, String> {
    let text: Vec<String> = choices.iter().map(u64::to_string).collect();
    std::fs::write(file, text.join(" ")).map_err(|e| e.to_string())?;
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let (program, file) = (program.to_string_lossy(), file.to_string_lossy());
    let (seed, size) = (seed.to_string(), args.size.to_string());
    let mut command = vec![&*program, "--replay", &file, "--seed", &seed, "--size", &size];
    flags(args).for_each(|flag| command.push(flag));
    let finished = run_unlimited(&command, b"", LIMIT_OF_ONE)?;
    Ok((finished.end != End::Code(0))
        .then(|| Problem { kind: ending(&finished.end, &finished.stderr), what: finished.stderr.clone() }))
}
