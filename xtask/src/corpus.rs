//! How much of a folder of programs the compiler masters: `cargo xtask corpus
//! FOLDER [--list] [--no-run] [--timeout SECONDS]`.
//!
//! Of each program that has to be accepted: whether it is parsed, checked,
//! lowered, compiled to the imperative IR and to an executable, and whether its
//! test blocks' inputs give what they should. Of one that has to be rejected:
//! whether it is. Everything happens in child processes with a time limit (of
//! `build/bindrune`, or `$BINDRUNE`), so that crashes and hangs are counted like
//! other failures. Prints shares, and causes by frequency; with `--list`, every
//! failure.

use crate::Outcome;
use crate::process::{End, run};
use crate::programs::{compiler, find, first_line, in_parallel, input, verdict};
use harness::Expected;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How far a program comes.
const STAGES: [(&str, &[&str]); 5] = [
    ("parsed", &["dev", "--stage", "ast"]),
    ("checked", &["check"]),
    ("lowered", &["dev", "--stage", "lower"]),
    ("in imperative IR", &["dev", "--stage", "imp"]),
    ("compiled", &["build"]),
];
/// Memory that an executable may use.
const MEMORY_LIMIT: &str = "--memory-limit=4G";

/// What is asked for.
struct Options {
    folder: PathBuf,
    list: bool,
    run: bool,
    limit: Duration,
}

/// What became of a program.
#[derive(Default)]
struct Report {
    name: String,
    /// Whether it has to be rejected.
    wrong: bool,
    /// It is not for every compiler, or its test blocks cannot be read.
    left_out: Option<String>,
    /// How many of the stages it passed; for a wrong one, whether it was rejected.
    passed: usize,
    /// Why it got no further: the stage and what was said.
    failure: Option<(&'static str, String)>,
    /// Runs that gave what they should.
    good_runs: usize,
    /// The others, with place and cause.
    bad_runs: Vec<(String, String)>,
    /// Those whose input nobody can make yet.
    skipped_runs: usize,
}

/// Goes through the folder.
pub fn task(root: &Path) -> Outcome {
    let options = parse(std::env::args().skip(2))?;
    let programs = find(&options.folder)?;
    let work = root.join("build/corpus");
    std::fs::create_dir_all(&work).map_err(|e| format!("{}: {e}", work.display()))?;
    let compiler = compiler(root);
    if run(&[&compiler, "--version"], b"", options.limit)?.end != End::Code(0) {
        return Err(format!("{compiler} does not run; `make build` makes it"));
    }
    let reports = in_parallel(&programs, |worker, path| {
        let executable = work.join(format!("program-{worker}"));
        let name = path
            .strip_prefix(&options.folder)
            .unwrap_or(path)
            .display()
            .to_string();
        let mut report = Report {
            name,
            ..Report::default()
        };
        if let Err(problem) = one(&compiler, path, &executable, &options, &mut report) {
            report.left_out = Some(problem);
        }
        report
    });
    print!("{}", summary(&reports, &options));
    Ok(())
}

fn parse(args: impl Iterator<Item = String>) -> Result<Options, String> {
    let usage = "usage: cargo xtask corpus FOLDER [--list] [--no-run] [--timeout SECONDS]";
    let (mut folder, mut list, mut run, mut seconds) = (None, false, true, 20);
    let mut args = args;
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--list" => list = true,
            "--no-run" => run = false,
            "--timeout" => {
                seconds = args
                    .next()
                    .and_then(|text| text.parse().ok())
                    .ok_or(usage)?;
            }
            _ if folder.is_none() && !arg.starts_with('-') => folder = Some(PathBuf::from(arg)),
            _ => return Err(usage.to_owned()),
        }
    }
    let folder = folder.ok_or(usage)?;
    Ok(Options {
        folder,
        list,
        run,
        limit: Duration::from_secs(seconds),
    })
}

/// Takes one program as far as it comes.
fn one(
    compiler: &str,
    path: &Path,
    executable: &Path,
    options: &Options,
    report: &mut Report,
) -> Outcome {
    let text = std::fs::read(path).map_err(|e| e.to_string())?;
    let spec = harness::parse_blocks(&String::from_utf8_lossy(&text)).map_err(|e| e.to_string())?;
    if spec.has_tag("disable") {
        return Err("disabled".to_owned());
    }
    let (source, output) = (path.to_string_lossy(), executable.to_string_lossy());
    if spec.rejected.is_some() {
        report.wrong = true;
        let finished = run(&[compiler, "check", &source], b"", options.limit)?;
        match finished.end {
            End::Code(1) if !is_bug(&finished.stderr) => report.passed = 1,
            End::Code(0) => report.failure = Some(("rejected", "accepted".to_owned())),
            end => report.failure = Some(("rejected", cause(end, &finished.stderr))),
        }
        return Ok(());
    }
    for (stage, command) in STAGES {
        let args = match stage {
            "compiled" => vec![compiler, "build", &source, "-o", &output],
            _ => [&[compiler], command, &[&*source]].concat(),
        };
        let finished = run(&args, b"", options.limit)?;
        if finished.end != End::Code(0) {
            report.failure = Some((stage, cause(finished.end, &finished.stderr)));
            return Ok(());
        }
        report.passed += 1;
    }
    if !options.run {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(path);
    for case in &spec.cases {
        for entry in case.entries.iter() {
            let Some(stdin) = input(case, folder) else {
                report.skipped_runs += 1;
                continue;
            };
            let place = format!("{}:{} {entry}", report.name, case.line);
            let mut args = vec![&*output, "-e", entry, MEMORY_LIMIT];
            if matches!(case.expected, Expected::Success) {
                // A result that nobody compares need not have a text form.
                args.push("-n");
            }
            match stdin
                .and_then(|stdin| run(&args, &stdin, options.limit))
                .and_then(|finished| verdict(case, &finished, folder))
            {
                Ok(()) => report.good_runs += 1,
                Err(what) => report.bad_runs.push((place, what)),
            }
        }
    }
    Ok(())
}

/// Whether the compiler says that it is to blame.
fn is_bug(stderr: &str) -> bool {
    stderr.contains("this is a bug of the compiler")
}

/// What stopped the compiler, in a line that other programs may share.
fn cause(end: End, stderr: &str) -> String {
    match end {
        End::Timeout => "it does not end".to_owned(),
        End::Signal(signal) => format!("it crashes: signal {signal}: {}", first_line(stderr)),
        End::Code(_) if stderr.contains("panicked at") => {
            let mut lines = stderr
                .lines()
                .skip_while(|line| !line.contains("panicked at"));
            format!("it panics: {}", lines.next().unwrap_or_default())
        }
        End::Code(_) => {
            // Warnings come first.
            let error = stderr.lines().find(|line| line.starts_with("error"));
            first_line(error.unwrap_or(stderr))
        }
    }
}

fn summary(reports: &[Report], options: &Options) -> String {
    let mut lines = Vec::new();
    let share = |part: usize, whole: usize| {
        let percent = if whole == 0 {
            100.0
        } else {
            100.0 * part as f64 / whole as f64
        };
        format!("{part} of {whole} ({percent:.1} %)")
    };
    let counted = || reports.iter().filter(|r| r.left_out.is_none());
    let good: Vec<&Report> = counted().filter(|r| !r.wrong).collect();
    let wrong: Vec<&Report> = counted().filter(|r| r.wrong).collect();
    lines.push(format!(
        "{} programs: {} to be accepted, {} to be rejected, {} left out",
        reports.len(),
        good.len(),
        wrong.len(),
        reports.len() - good.len() - wrong.len()
    ));
    let rejected = wrong.iter().filter(|r| r.passed > 0).count();
    lines.push(format!(
        "{:<18}{}",
        "rejected",
        share(rejected, wrong.len())
    ));
    for (index, (stage, _)) in STAGES.iter().enumerate() {
        let passed = good.iter().filter(|r| r.passed > index).count();
        lines.push(format!("{stage:<18}{}", share(passed, good.len())));
    }
    if options.run {
        let complete = |r: &&&Report| r.passed == STAGES.len() && r.bad_runs.is_empty();
        let passed = good.iter().filter(complete).count();
        lines.push(format!(
            "{:<18}{}",
            "right when run",
            share(passed, good.len())
        ));
        let good_runs: usize = good.iter().map(|r| r.good_runs).sum();
        let bad_runs: usize = good.iter().map(|r| r.bad_runs.len()).sum();
        let skipped: usize = good.iter().map(|r| r.skipped_runs).sum();
        lines.push(format!(
            "{:<18}{}, {skipped} more need random or scripted input",
            "runs",
            share(good_runs, good_runs + bad_runs)
        ));
    }
    let mut causes: BTreeMap<String, usize> = BTreeMap::new();
    for report in reports {
        if let Some((stage, what)) = &report.failure {
            *causes
                .entry(format!("not {stage}: {}", general(what)))
                .or_default() += 1;
        }
        for (_, what) in &report.bad_runs {
            *causes.entry(format!("run: {}", general(what))).or_default() += 1;
        }
    }
    let mut causes: Vec<(usize, String)> = causes.into_iter().map(|(c, n)| (n, c)).collect();
    causes.sort_by(|x, y| y.0.cmp(&x.0).then_with(|| x.1.cmp(&y.1)));
    lines.extend(
        causes
            .into_iter()
            .take(60)
            .map(|(n, cause)| format!("{n:6}  {cause}")),
    );
    if options.list {
        for report in reports {
            let name = &report.name;
            lines.extend(
                report
                    .left_out
                    .iter()
                    .map(|why| format!("LEFT OUT {name}: {why}")),
            );
            let failure = report.failure.iter();
            lines.extend(failure.map(|(stage, why)| format!("NOT {stage} {name}: {why}")));
            let runs = report.bad_runs.iter();
            lines.extend(runs.map(|(place, why)| format!("RUN {place}: {why}")));
        }
    }
    lines.join("\n") + "\n"
}

/// A cause without what only one program has: quoted names, numbers.
fn general(cause: &str) -> String {
    let mut out = String::new();
    for (index, part) in cause.split('`').enumerate() {
        if index % 2 == 1 {
            out.push_str("`..`");
            continue;
        }
        let mut in_number = false;
        for c in part.chars() {
            if c.is_ascii_digit() {
                if !in_number {
                    out.push('N');
                }
                in_number = true;
            } else {
                in_number = false;
                out.push(c);
            }
        }
    }
    out
}
