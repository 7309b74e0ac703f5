//! Tests of single passes: every file `passes/PASS/NAME.ir` is a program at the level before the
//! pass and, below a line `==== after`, the result of the pass; the pass's decisions come first, as
//! comments. With `BLESS` set, that part is rewritten. Comments above the program may set options:
//! `// machine 32` is a machine with vectors of 32 bytes, `// size 20000` the length of arrays
//! whose cheap iterations fill more than one chunk, `// sizes 30 21 37 2` one more list of sizes,
//! `// levels gpu` flattens for that machine, `//
//! flatten full` in that mode; `// profile on` measures nests and records all decisions; `// device small` has small blocks on a device.
//! `// tape 0` is the limit of tapes.
//! With `// tolerance 1e-12`, floats may differ by that, relatively, and arrays are small: the evaluator's derivatives
//! take time for each element of the argument.
//!
//! Before and after, and wherever fuel runs out, the program verifies, prints and parses back, and
//! its entry points have the same results for arguments of several sizes (or fail both times). A
//! file without entry points gets one for each function. Without fuel, an optional pass changes
//! nothing.

mod passes {
    pub mod arguments;
    pub mod subject;
}

use driver::{Flatten, PassInfo, Stack, VectorLanes};
use ir::{Context, Options};
use passes::arguments::{LARGE, SMALL, Sizes};
use passes::subject::{TestProgram, problem_at};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use target::Machine;
use target::device::Device;

const AFTER: &str = "==== after\n";

/// A file: its program, the pass, and the options under which it runs.
struct File {
    path: PathBuf,
    source: String,
    after: String,
    pass: PassInfo,
    settings: TestSettings,
}

/// The settings in the comments above a program.
struct TestSettings {
    options: Options,
    sizes: Vec<Sizes>,
    /// The relative difference that floats may have.
    tolerance: Option<f64>,
}

fn listed(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("cannot read the folder");
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.expect("cannot read the folder").path()).collect();
    paths.sort();
    paths
}

/// The files of all passes, or of one.
fn files(only: Option<&str>) -> Vec<File> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/passes");
    let mut files = Vec::new();
    for folder in listed(&root).iter().filter(|path| path.is_dir()) {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        if only.is_some_and(|only| only != name) {
            continue;
        }
        for path in listed(folder) {
            let content = std::fs::read_to_string(&path).expect("cannot read the file");
            let (source, after) = content.split_once(AFTER).unwrap_or((&content, ""));
            let (source, after) = (source.to_owned(), after.to_owned());
            let pass = pass(&name, &source).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let settings = settings(&source).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            files.push(File { path, source, after, pass, settings });
        }
    }
    files
}

/// The first pass of this name that takes programs of the text's level.
fn pass(name: &str, source: &str) -> Result<PassInfo, String> {
    let subject = TestProgram::parse(source)?;
    let repeated = format!("{name}-");
    let mut passes = driver::passes().into_iter();
    let pass = passes
        .find(|pass| (pass.name == name || pass.name.starts_with(&repeated)) && pass.accepts(&subject.ir));
    pass.ok_or_else(|| format!("no pass {name} takes programs of this level"))
}

/// The settings in the comments above a program.
fn settings(source: &str) -> Result<TestSettings, String> {
    let mut options = Options::default();
    let mut sizes = Vec::new();
    let mut tolerance = None;
    for line in source.lines().map_while(|line| line.strip_prefix("// ")) {
        match line.split_once(' ') {
            Some(("machine", bytes)) if !bytes.contains(' ') => {
                options.machine = Machine::of(bytes.parse().map_err(|e| format!("{line}: {e}"))?);
            }
            Some(("profile", "on")) => (options.profile, options.remarks) = (true, true),
            Some(("lanes", "off")) => options.lanes = VectorLanes::Off,
            Some(("lanes", count)) if !count.contains(' ') => {
                options.lanes = VectorLanes::Width(count.parse().map_err(|e| format!("{line}: {e}"))?);
            }
            Some(("levels", name)) if !name.contains(' ') => {
                options.stack = Stack::named(name).ok_or_else(|| format!("{line}: unknown levels"))?;
            }
            Some(("device", "small")) => options.device = Device::SMALL,
            Some(("device", "without-progress")) => options.device.progress = false,
            Some(("flatten", name)) if !name.contains(' ') => {
                let mode = Flatten::ALL.into_iter().find(|mode| mode.name() == name);
                options.flatten = mode.ok_or_else(|| format!("{line}: unknown flattening mode"))?;
            }
            Some(("tolerance", difference)) if !difference.contains(' ') => {
                tolerance = Some(difference.parse().map_err(|e| format!("{line}: {e}"))?);
            }
            Some(("tape", limit)) if !limit.contains(' ') => {
                options.tape_limit = limit.parse().map_err(|e| format!("{line}: {e}"))?;
            }
            Some(("size", size)) if !size.contains(' ') => {
                let size = size.parse().map_err(|e| format!("{line}: {e}"))?;
                sizes.extend([[size, 3, 5, 2], [3, size, 2, 5]]);
            }
            Some(("sizes", list)) if list.starts_with(|c: char| c.is_ascii_digit()) => {
                let list: Vec<i64> = list
                    .split(' ')
                    .map(|size| size.parse().map_err(|e| format!("{line}: {e}")))
                    .collect::<Result<_, String>>()?;
                sizes.push(list.try_into().map_err(|_| format!("{line}: four sizes are needed"))?);
            }
            _ => {}
        }
    }
    Ok(TestSettings { options, sizes, tolerance })
}

/// Checks all files in parallel, and reports all problems at the end.
fn every_file(files: &[File], check: impl Fn(&File) -> Result<(), String> + Sync) {
    assert!(!files.is_empty(), "no test files found");
    let problems = Mutex::new(Vec::new());
    let next = Mutex::new(files.iter().enumerate());
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let file = next.lock().expect("no thread panicked").next();
                    let Some((at, file)) = file else { break };
                    if let Err(problem) = check(file) {
                        let text = format!("{}: {problem}", file.path.display());
                        problems.lock().expect("no thread panicked").push((at, text));
                    }
                }
            });
        }
    });
    let mut problems = problems.into_inner().expect("no thread panicked");
    problems.sort();
    let texts: Vec<String> = problems.into_iter().map(|(_, text)| text).collect();
    assert!(texts.is_empty(), "{}", texts.join("\n\n"));
}

fn context(fuel: Option<u64>, file: &File) -> Context {
    Context::new(fuel, file.settings.options.clone())
}

#[test]
fn passes_produce_the_expected_programs() {
    let bless = std::env::var_os("BLESS").is_some();
    every_file(&files(None), |file| {
        let before = TestProgram::parse(&file.source)?;
        problem_at("before", before.check())?;
        let mut context = context(None, file);
        let after = before.after(&file.pass, &mut context)?;
        problem_at("after", after.check())?;
        let TestSettings { sizes, tolerance, .. } = &file.settings;
        let large = if tolerance.is_some() { &[] } else { LARGE };
        problem_at("after", before.same_results(&after, &[SMALL, large, sizes], tolerance.unwrap_or(0.0)))?;
        let decisions = context.decisions.iter().map(|d| format!("// {d}\n"));
        let text = decisions.collect::<String>() + &after.print();
        if text == file.after {
            Ok(())
        } else if bless {
            let content = format!("{}{AFTER}{text}", file.source);
            std::fs::write(&file.path, content).map_err(|e| e.to_string())
        } else {
            Err(format!("the pass returns another program (BLESS=1 accepts it):\n{text}"))
        }
    });
}

#[test]
fn passes_preserve_semantics_with_any_amount_of_fuel() {
    every_file(&files(None), |file| {
        let before = TestProgram::parse(&file.source)?;
        for units in 0.. {
            let at = format!("{units} units of fuel");
            let mut context = context(Some(units), file);
            let after = before.after(&file.pass, &mut context)?;
            if units == 0 && file.pass.optional && before.ir != after.ir {
                return Err(format!("rewritten without fuel:\n{}", after.print()));
            }
            problem_at(&at, after.check())?;
            let tolerance = file.settings.tolerance.unwrap_or(0.0);
            problem_at(&at, before.same_results(&after, &[SMALL], tolerance))?;
            if context.fuel.left != Some(0) {
                break;
            }
        }
        Ok(())
    });
}

/// Lanes are forced for any machine, also where they do not pay.
#[test]
fn results_do_not_depend_on_the_number_of_lanes() {
    every_file(&files(Some("lanes")), |file| {
        let before = TestProgram::parse(&file.source)?;
        for bytes in [16, 32, 64] {
            let widths = [2, 8, 64].map(VectorLanes::Width);
            for lanes in [VectorLanes::Off, VectorLanes::Auto].into_iter().chain(widths) {
                let at = format!("{lanes:?}, vectors of {bytes} bytes");
                let options = Options { lanes, machine: Machine::of(bytes), ..Options::default() };
                let after = before.after(&file.pass, &mut Context::new(None, options))?;
                if lanes == VectorLanes::Off && before.ir != after.ir {
                    return Err(format!("vector code though lanes are off, {at}"));
                }
                problem_at(&at, after.check())?;
                problem_at(&at, before.same_results(&after, &[SMALL], 0.0))?;
            }
        }
        Ok(())
    });
}
