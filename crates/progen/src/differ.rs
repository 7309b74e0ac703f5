//! Compares a program's results in the interpreter, as compiled code and as kernels on the
//! simulated device (on request, also on an OpenCL device), in a mode drawn from the seed,
//! including values of tuning parameters: results have the same bits (floats of mathematical
//! functions may differ by some units in the last place; sums of other floats are exact in any
//! order), and failures have the same messages.

use crate::choices::Choices;
use crate::compare::{relations, same_values};
use crate::coverage::Seen;
use crate::derivatives;
use crate::evaluated::Evaluated;
use crate::generator::{self, Call, Precision, Program};
use crate::nests;
use crate::opencl::OnOpenCl;
use crate::sizes;
use check::Loader;
use driver::{Failure, Flatten, Ir, Observer, Options, PassInfo, Remark, Session, VectorLanes};
use harness::programs::{first_line, results};
use interp::{Class, Interp};
use runtime::abi::TunableDesc;
use runtime::tuning_params::Assignment;
use runtime::{Config, Context, Error, Image, Output};
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};
use syntax::render::render;
use value::Value;

/// The program's name in messages.
const NAME: &str = "program.fut";
/// The time limit of a call in the interpreter; longer ones are skipped.
const INTERPRETER_LIMIT: Duration = Duration::from_secs(3);

/// One in this many programs is about sizes, one is a nest, and one has derivatives.
const SPECIAL: u64 = 8;

/// A failure of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// The kind, which shrinking preserves.
    pub kind: String,
    /// The whole message.
    pub what: String,
}

impl Problem {
    pub(crate) fn new(kind: &str, what: impl Into<String>) -> Self {
        Self { kind: kind.to_owned(), what: what.into() }
    }
}

/// The kind of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    General,
    Sizes,
    Nests,
    Derivatives,
}

impl Kind {
    /// The kind of the program of a seed.
    fn of(seed: u64) -> Self {
        match seed % SPECIAL {
            0 => Self::Sizes,
            4 => Self::Nests,
            2 => Self::Derivatives,
            _ => Self::General,
        }
    }
}

/// The options for compiling and running a program.
#[derive(Clone, Debug)]
pub struct Setting {
    options: Options,
    threads: Vec<usize>,
    /// The seed of the tuning parameters' values; `None` for the defaults.
    tuning: Option<u64>,
    /// The seed of the order of threads and the versions on the simulated device.
    device: u64,
    /// True if kernels also run on an OpenCL device.
    opencl: bool,
    /// True if the OpenCL compiler optimises the kernels, which takes long.
    optimised: bool,
    kind: Kind,
    /// True if the program runs in the interpreter only.
    interpreted: bool,
}

impl Setting {
    /// The setting drawn from a seed.
    pub fn draw(seed: u64) -> Self {
        let mut c = Choices::random(!seed);
        let lanes = [
            VectorLanes::Auto,
            VectorLanes::Auto,
            VectorLanes::Off,
            VectorLanes::Width(4),
            VectorLanes::Width(8),
        ];
        let cpus = harness::processors::runnable();
        let cpu = c.pick(&cpus).copied().unwrap_or("native");
        // LLVM takes most of a program's time.
        let levels = [0, 0, 0, 0, 0, 0, 0, 0, 1, 3];
        let threads = [vec![1, 2], vec![1], vec![3], vec![4, 1]];
        // Programs need a few hundred rewrites, some a few thousand.
        let amounts = [0, 10, 100, 1000];
        let most = c.pick(&amounts).copied().unwrap_or(0);
        let fuel = c.once_in(3).then(|| c.below(most + 1) as u64);
        let mut setting = Self {
            options: Options {
                cpu: cpu.to_owned(),
                lanes: c.pick(&lanes).copied().unwrap_or(VectorLanes::Auto),
                strict_floats: c.once_in(2),
                verify: true,
                fuel,
                llvm_level: c.pick(&levels).copied().unwrap_or(3),
                ..Options::default()
            },
            threads: c.pick(&threads).cloned().unwrap_or_default(),
            tuning: (!c.once_in(3)).then_some(seed),
            device: seed,
            opencl: false,
            optimised: false,
            kind: Kind::of(seed),
            interpreted: false,
        };
        // Drawn last, so that seeds keep their other draws.
        setting.options.fuse = !c.once_in(3);
        let modes =
            [Flatten::Incremental, Flatten::Incremental, Flatten::Full, Flatten::Moderate, Flatten::None];
        setting.options.flatten = c.pick(&modes).copied().unwrap_or(Flatten::Incremental);
        setting.options.tape_limit = c.pick(&[0, 1000, u64::MAX]).copied().unwrap_or(0);
        // The simulated device has its own block size.
        let blocks = [256, 256, 32, 64, 1024];
        let block = c.pick(&blocks).copied().unwrap_or(256);
        setting.options.device = setting.options.device.with_block(block);
        setting.optimised = c.once_in(8);
        if setting.kind == Kind::Nests { setting.tiling() } else { setting }
    }

    /// The setting with tiles in most programs.
    fn tiling(mut self) -> Self {
        let mut c = Choices::random(!self.device);
        if !c.once_in(10) {
            self.options.lanes = VectorLanes::Auto;
        }
        if !c.once_in(6) {
            self.options.fuel = None;
        }
        self.options.fuse |= !c.once_in(8);
        let modes = [Flatten::Incremental, Flatten::Moderate, Flatten::None, Flatten::Full];
        self.options.flatten = modes[c.below(8).saturating_sub(4)];
        self
    }

    /// The same with or without kernels on an OpenCL device.
    #[must_use]
    pub fn on_opencl(self, opencl: bool) -> Self {
        Self { opencl, ..self }
    }

    /// Values of a program's tuning parameters, drawn independently.
    fn tuning(&self, program: &runtime::abi::Program) -> Vec<Assignment> {
        let Some(seed) = self.tuning else {
            return Vec::new();
        };
        let mut c = Choices::random(seed);
        let draw = |tunable: &TunableDesc| {
            let small = c.below(48) as i64;
            let values = [0, 1, small, small, tunable.default, 100_000, i64::MAX];
            let value = c.pick(&values).copied().unwrap_or(tunable.default);
            Assignment::new(tunable.name.get().to_owned(), value)
        };
        program.tunables().iter().map(draw).collect()
    }

    /// Values of a program's tuning parameters with which nests are tiled, in small tiles.
    fn small_tiles(&self, program: &runtime::abi::Program) -> Vec<Assignment> {
        let mut c = Choices::random(self.device);
        let draw = |tunable: &TunableDesc| {
            let name = tunable.name.get();
            let value = if name.contains(".suff_tile_work_") {
                c.below(2)
            } else if name.contains(".tile_") {
                let sizes = [1 + c.below(40), 1 + c.below(200), c.below(4)];
                c.pick(&sizes).copied().unwrap_or(1)
            } else {
                return None;
            };
            Some(Assignment::new(name.to_owned(), value as i64))
        };
        program.tunables().iter().filter_map(draw).collect()
    }

    /// The setting with programs about sizes only, if `wanted`.
    #[must_use]
    pub fn with_sizes(self, wanted: bool) -> Self {
        if wanted { Self { kind: Kind::Sizes, ..self } } else { self }
    }

    /// The setting with nests only, if `wanted`.
    #[must_use]
    pub fn with_nests(self, wanted: bool) -> Self {
        if wanted { Self { kind: Kind::Nests, ..self }.tiling() } else { self }
    }

    /// The setting with derivatives only, if `wanted`.
    #[must_use]
    pub fn with_derivatives(self, wanted: bool) -> Self {
        if wanted { Self { kind: Kind::Derivatives, ..self } } else { self }
    }

    /// The setting with the interpreter only, if `wanted`.
    #[must_use]
    pub fn interpreted(mut self, wanted: bool) -> Self {
        self.interpreted |= wanted;
        self
    }

    /// The program of a sequence of choices; `size` bounds it, 100 is ordinary.
    pub fn generate(&self, c: &mut Choices, size: usize) -> Program {
        match self.kind {
            Kind::General => generator::generate(c, size),
            Kind::Sizes => sizes::generate(c, size),
            Kind::Nests => nests::generate(c, size),
            Kind::Derivatives => derivatives::generate(c, size),
        }
    }

    /// A short description.
    pub fn text(&self) -> String {
        format!(
            "cpu {}, fuse {}, flatten {}, lanes {:?}, strict floats {}, fuel {:?}, LLVM level {}, threads {:?}, tuning {:?}, \
             blocks of {}, kernels optimised {}",
            self.options.cpu,
            self.options.fuse,
            self.options.flatten.name(),
            self.options.lanes,
            self.options.strict_floats,
            self.options.fuel,
            self.options.llvm_level,
            self.threads,
            self.tuning,
            self.options.device.block,
            self.optimised
        )
    }
}

/// The result of a program without problems.
#[derive(Default)]
pub struct Report {
    /// The number of calls that returned values.
    pub values: u64,
    /// The number of calls that failed, everywhere.
    pub failures: u64,
    /// The number of calls without a comparison, as the interpreter took too long.
    pub slow: u64,
    /// The number of calls with equal results on the simulated device.
    pub on_device: u64,
    /// The number of calls with equal results on the OpenCL device.
    pub on_opencl: u64,
    /// The operations in the program.
    pub seen: Seen,
}

/// Generates the program of choices, runs it in all ways and returns the first difference.
pub fn try_choices(choices: Choices, size: usize, setting: &Setting) -> Result<Report, Problem> {
    let mut choices = choices;
    try_program(&setting.generate(&mut choices, size), setting)
}

/// Runs a program in all ways and returns the first difference, or a panic.
pub fn try_program(program: &Program, setting: &Setting) -> Result<Report, Problem> {
    catch_unwind(AssertUnwindSafe(|| run(program, setting))).unwrap_or_else(|panic| {
        let message = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied());
        let message = message.unwrap_or("no message");
        Err(Problem::new(&format!("panic: {}", first_line(message)), message))
    })
}

struct OneFile(Vec<u8>);

impl Loader for OneFile {
    fn load(&mut self, path: &str) -> Result<Vec<u8>, String> {
        match path {
            NAME => Ok(self.0.clone()),
            _ => Err("no such file".to_owned()),
        }
    }
}

/// A compilation failure as a problem; the kind is the stage and the start of the message.
pub(crate) fn compile_problem(stage: &str, session: &Session, failure: &Failure) -> Problem {
    let mut text = String::new();
    for diagnostic in &failure.0 {
        let _ = writeln!(text, "{}", render(diagnostic, &session.sources, false));
    }
    let id = failure.0.first().map_or("none", |diagnostic| diagnostic.id);
    let message = failure.0.first().map_or("", |diagnostic| &*diagnostic.message);
    // The listing of an invalid program has the errors as comments, or before the program.
    let invalid = message.lines().find_map(|line| line.trim_start().strip_prefix("// error: "));
    let invalid = invalid.or_else(|| message.lines().nth(1));
    let invalid = invalid.map(|error| format!(" {}", message_kind(error))).unwrap_or_default();
    let message = message_kind(&first_line(message));
    Problem::new(&format!("{stage}: {id}: {message}{invalid}"), text)
}

/// A message without names, numbers and positions, which vary.
fn message_kind(message: &str) -> String {
    let plain = |word: &&str| word.chars().all(|c| c.is_ascii_alphabetic() || ",.:;-".contains(c));
    let words: Vec<&str> = message.split_whitespace().filter(plain).collect();
    words.join(" ").chars().take(60).collect()
}

/// A call with the precision of a setting: without strict floats, operations may be contracted.
fn compared(call: &Call, setting: &Setting) -> Call {
    let mut call = call.clone();
    if let Precision::Derivatives { exact, .. } = &mut call.precision
        && !setting.options.strict_floats
    {
        *exact = 0;
    }
    call
}

fn run(program: &Program, setting: &Setting) -> Result<Report, Problem> {
    let mut session = Session::new(NAME, setting.options.clone());
    let mut loader = OneFile(program.text.clone().into_bytes());
    let typed = session.check(&mut loader).map_err(|failure| compile_problem("check", &session, &failure))?;
    let mut report = Report::default();
    let interp = Interp::new(Arc::new(typed.clone()));
    interp.set_check_sizes(true);
    let mut wanted = Vec::new();
    let calls: Vec<Call> = program.calls.iter().map(|call| compared(call, setting)).collect();
    for call in &calls {
        let given = interpret(&interp, call, &session)?;
        as_expected(call, &given)?;
        wanted.push((call, given));
    }
    if setting.interpreted {
        report.values += wanted.len() as u64;
        return Ok(report);
    }
    let ir = session.lower(&typed).map_err(|failure| compile_problem("lower", &session, &failure))?;
    report.seen.add(&ir);
    let kernels = Evaluated::on_device(&mut session, ir.clone(), setting.device)?;
    let on_opencl =
        if setting.opencl { OnOpenCl::of(&mut session, ir.clone(), setting.optimised)? } else { None };
    let nests = setting.kind == Kind::Nests;
    let mut watch = Watch { seen: &mut report.seen, last: None, nests };
    let image =
        session.image(ir, &mut watch).map_err(|failure| compile_problem("compile", &session, &failure))?;
    let loops = watch.last;
    let tuning = setting.tuning(image.program());
    for (call, wanted) in &wanted {
        if let Some(kernels) = &kernels
            && kernels.agree(call, &arguments(call)?, wanted)?
        {
            report.on_device += 1;
        }
    }
    if let Some(on_opencl) = on_opencl {
        report.on_opencl = on_opencl.agree(&wanted, |program| setting.tuning(program))?;
    }
    let mut first = Vec::new();
    for &threads in &setting.threads {
        let found = run_calls(&image, (threads, &tuning), nests, &wanted, &mut report)?;
        same_bits_of_calls(&first, &found, &wanted)?;
        first = found;
    }
    if let Some(loops) = loops {
        run_small_tiles(&image, loops, setting, &wanted, &mut report)?;
    }
    Ok(report)
}

/// Watches the compilation of a program.
struct Watch<'s> {
    seen: &'s mut Seen,
    /// The imperative IR of a nest before it is split.
    last: Option<imp::Program>,
    nests: bool,
}

impl Observer for Watch<'_> {
    fn decisions(&mut self, pass: &PassInfo, decisions: &[Remark]) {
        self.seen.decisions(pass, decisions);
    }

    fn pass(&mut self, pass: &PassInfo, time: Duration, ir: &Ir) {
        self.seen.pass(pass, time, ir);
        if let Ir::Imp(program) = ir
            && self.nests
            && pass.name == "simplify-loops"
        {
            self.last = Some(program.clone());
        }
    }
}

/// Runs all calls of a program with tiled nests in small tiles, compiled and in the evaluator.
fn run_small_tiles(
    image: &Image,
    loops: imp::Program,
    setting: &Setting,
    wanted: &[(&Call, Expected)],
    report: &mut Report,
) -> Result<(), Problem> {
    let tiles = setting.small_tiles(image.program());
    let (Some(&threads), false) = (setting.threads.first(), tiles.is_empty()) else {
        return Ok(());
    };
    run_calls(image, (threads, &tiles), true, wanted, report)?;
    let evaluated = Evaluated::on_processor(loops, &tiles, setting.device);
    for (call, wanted) in wanted {
        evaluated.agree(call, &arguments(call)?, wanted)?;
    }
    Ok(())
}

/// Runs all calls with this number of threads and these values of tuning parameters; returns their
/// results.
fn run_calls(
    image: &Image,
    (threads, tuning): (usize, &[Assignment]),
    log_comparisons: bool,
    wanted: &[(&Call, Expected)],
    report: &mut Report,
) -> Result<Vec<Vec<Value>>, Problem> {
    let config =
        Config { num_threads: Some(threads), tuning: tuning.to_vec(), log_comparisons, ..Config::default() };
    let mut context =
        Context::new(&config, image.clone()).map_err(|e| Problem::new("context", e.to_string()))?;
    let mut results = Vec::with_capacity(wanted.len());
    for (call, wanted) in wanted {
        let found = context.call(&call.entry, arguments(call)?);
        let location = || format!("entry {}, {threads} threads", call.entry);
        let outcome = compare(call, wanted, found)
            .map_err(|problem| Problem::new(&problem.kind, format!("{}: {}", location(), problem.what)))?;
        results.push(match outcome {
            Outcome::Values(values) => {
                report.values += 1;
                values
            }
            Outcome::Failure => {
                report.failures += 1;
                Vec::new()
            }
            Outcome::Slow => {
                report.slow += 1;
                Vec::new()
            }
        });
        // Sizes of tiles are compared only where a nest is tiled.
        if context.comparisons().iter().any(|line| line.contains(".tile_")) {
            report.seen.add_tiles();
        }
    }
    let left = context.finish();
    if left != 0 {
        return Err(Problem::new("leak", format!("{left} bytes leaked")));
    }
    Ok(results)
}

/// Checks that the calls' results have the same bits with two numbers of threads.
fn same_bits_of_calls(
    first: &[Vec<Value>],
    found: &[Vec<Value>],
    wanted: &[(&Call, Expected)],
) -> Result<(), Problem> {
    for ((first, found), (call, _)) in first.iter().zip(found).zip(wanted) {
        same_values(first, found, &Precision::EXACT).map_err(|what| {
            Problem::new("values depend on threads", format!("entry {}: {what}", call.entry))
        })?;
    }
    Ok(())
}

pub(crate) fn arguments(call: &Call) -> Result<Vec<Value>, Problem> {
    results(call.args.as_bytes()).map_err(|e| Problem::new("arguments", e))
}

/// The interpreter's result; `Unknown` if it takes too long.
pub(crate) enum Expected {
    Values(Vec<Value>),
    Failure(String),
    Unknown,
}

fn interpret(interp: &Interp, call: &Call, session: &Session) -> Result<Expected, Problem> {
    let entry = interp.entry(&call.entry).ok_or_else(|| Problem::new("entry", call.entry.clone()))?;
    interp.set_deadline(Instant::now().checked_add(INTERPRETER_LIMIT));
    match interp.call_values(entry, &arguments(call)?) {
        Ok(values) => Ok(Expected::Values(values)),
        Err(failure) => match failure.class {
            Class::Timeout | Class::Interrupted => Ok(Expected::Unknown),
            Class::Program if failure.is_out_of_memory() => Ok(Expected::Unknown),
            Class::Program if call.may_fail => Ok(Expected::Failure(failure.message)),
            Class::Program => Err(Problem::new(
                &format!("generator: {}", message_kind(&failure.message)),
                format!("entry {}: {}", call.entry, failure.render(&session.sources)),
            )),
            Class::Usage | Class::Unsupported | Class::Bug | Class::Unsound | Class::Unbound => {
                Err(Problem::new(
                    &format!("interpreter: {}", message_kind(&failure.message)),
                    failure.render(&session.sources),
                ))
            }
        },
    }
}

/// Compares the interpreter's result with results known beforehand, and its parts with each other.
fn as_expected(call: &Call, given: &Expected) -> Result<(), Problem> {
    let Expected::Values(given) = given else {
        return Ok(());
    };
    relations(given, &call.precision).map_err(|what| Problem::new("interpreter: relations", what))?;
    let Some(expected) = &call.expected else {
        return Ok(());
    };
    let expected = results(expected.as_bytes()).map_err(|e| Problem::new("expected", e))?;
    same_values(&expected, given, &call.precision).map_err(|what| Problem::new("interpreter: values", what))
}

/// The outcome of a call.
pub(crate) enum Outcome {
    /// The expected values, or values close to them.
    Values(Vec<Value>),
    /// The expected failure.
    Failure,
    /// Nothing to compare, as the interpreter takes too long.
    Slow,
}

/// Compares a call's result with the expected one.
pub(crate) fn compare(
    call: &Call,
    wanted: &Expected,
    found: Result<Vec<Output>, Error>,
) -> Result<Outcome, Problem> {
    match (wanted, found) {
        (Expected::Unknown, _) => Ok(Outcome::Slow),
        (Expected::Values(values), Ok(outputs)) => {
            let mut found = Vec::new();
            for output in outputs {
                match output {
                    Output::Value(value) => found.push(value),
                    other => return Err(Problem::new("results", format!("{other:?}"))),
                }
            }
            same_values(values, &found, &call.precision).map_err(|what| Problem::new("values", what))?;
            Ok(Outcome::Values(found))
        }
        (Expected::Values(_), Err(error)) => {
            let text = error.to_string();
            let kind = format!("fails: {}", message_kind(&first_line(&text)));
            Err(Problem::new(&kind, text))
        }
        (Expected::Failure(message), Ok(_)) => {
            let kind = format!("does not fail: {}", message_kind(message));
            Err(Problem::new(&kind, format!("expected failure: {message}")))
        }
        (Expected::Failure(message), Err(error)) => {
            let text = match error {
                Error::Program(text) => text,
                Error::Usage(text) => return Err(Problem::new("usage", text)),
            };
            let found = text.strip_prefix("Error: ").unwrap_or(&text);
            // Any of several failing iterations may be reported, so numbers may differ.
            if without_numbers(&first_line(found)) != without_numbers(&first_line(message)) {
                return Err(Problem::new(
                    "other failure",
                    format!("expected failure:\n{message}\nactual failure:\n{text}"),
                ));
            }
            Ok(Outcome::Failure)
        }
    }
}

/// A failure's message without its numbers.
pub(crate) fn without_numbers(message: &str) -> String {
    message.chars().filter(|c| !c.is_ascii_digit() && *c != '-').collect()
}
