//! `bindrune dev`: prints any stage, continues from IR text, evaluates.

use crate::common::{self, Compiler};
use crate::memory;
use crate::tuning;
use check::tast::{Program, VarId};
use driver::{Failure, Files, Ir, Observer, PassInfo, Remark, Session, Stack, Stage};
use explain::forest;
use imp::eval::Options;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::mem::Discriminant;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Arguments of `dev`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    compiler: Compiler,
    /// A program (`.fut`), or IR text (any other file).
    file: PathBuf,
    /// The last stage or pass; `--stage list` lists them.
    #[arg(long, default_value = "imp", value_name = "STAGE")]
    stage: String,
    /// Evaluate the entry point at that stage instead of printing the stage. Arguments come from
    /// standard input; results go to standard output.
    #[arg(long)]
    run: bool,
    /// The entry point to evaluate.
    #[arg(short = 'e', long, default_value = "main", requires = "run")]
    entry: String,
    /// For the imperative IR: the seed of the order in which independent iterations run.
    #[arg(
        long,
        value_name = "N",
        default_value_t = Options::default().seed,
        requires = "run"
    )]
    seed: u64,
    #[command(flatten)]
    values: tuning::ParameterOptions,
    /// The machine whose levels of parallelism nests are flattened for: `cpu`, `gpu` or `thread`.
    /// With `gpu`, segops become kernels; `--run` evaluates them on a simulated device.
    #[arg(long, value_name = "MACHINE", default_value = "cpu", value_parser = machine)]
    machine: Stack,
    /// With `--stage versions`: the output format, `text`, `json`, `dot` (Graphviz) or `svg`.
    #[arg(long, value_name = "FORM", default_value = "text", value_parser = format)]
    form: forest::Format,
    /// With `--stage typed`: also print the standard library's definitions.
    #[arg(long)]
    all: bool,
    /// Print the time of each pass, and the number of statements after it, to standard error.
    #[arg(long)]
    times: bool,
    /// Panic after the pass of this name, to test the report of compiler bugs.
    #[arg(long, value_name = "PASS", hide = true)]
    panic_after: Option<String>,
}

fn machine(text: &str) -> Result<Stack, String> {
    Stack::named(text).ok_or_else(|| "expected `cpu`, `gpu` or `thread`".to_owned())
}

fn format(text: &str) -> Result<forest::Format, String> {
    forest::Format::named(text).ok_or_else(|| "expected `text`, `json`, `dot` or `svg`".to_owned())
}

/// The stage that shows the program versions and the conditions that choose between them. It is the
/// output of flattening, before versions are pruned.
const VERSIONS: &str = "versions";

/// Prints or evaluates the stage.
pub fn run(args: Args) -> ExitCode {
    match go(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(code) => code,
    }
}

fn go(args: Args) -> Result<(), ExitCode> {
    if args.stage == "list" {
        let mut text = String::new();
        let passes = driver::passes();
        for name in Stage::names() {
            let description =
                passes.iter().find(|pass| pass.name == name).map_or("", |pass| pass.description);
            let line = format!("{name:<24}{description}");
            text.push_str(line.trim_end());
            text.push('\n');
        }
        return common::write_stdout(&text);
    }
    let versions = args.stage == VERSIONS;
    let mut name = if versions { "flatten" } else { &args.stage };
    if let Some(present) = Stage::renamed(name) {
        common::note(&format!("warning: the stage `{name}` is named `{present}` now"));
        name = present;
    }
    let stage = Stage::from_name(name).ok_or_else(|| {
        common::report_error(format_args!("there is no stage `{}`; `--stage list` lists all", args.stage))
    })?;
    let is_source = args.file.extension().is_some_and(|ext| ext == "fut");
    let _watch = memory::watch_memory(&args.file, args.compiler.memory);
    let name = args.file.to_string_lossy();
    let mut options = args.compiler.options(false);
    options.stack = args.machine;
    if let Stage::Kernels(target) = stage {
        options = options.on_device(target);
    } else if stage == Stage::C || !options.stack.is_parallel() {
        options = options.portable_c();
    }
    let mut session = Session::new(name.as_ref(), options);
    if is_source && stage == Stage::Ast {
        let bytes = std::fs::read(&args.file)
            .map_err(|e| common::report_error(format_args!("cannot read {name}: {e}")))?;
        let text = session.ast(bytes);
        return common::write_stdout(&common::report(&session, text)?);
    }
    let mut observer = PassObserver {
        times: String::new(),
        decisions: String::new(),
        fresh: false,
        level: None,
        panic_after: args.panic_after,
        stages: memory::PassTracker::new(),
    };
    let result = if is_source {
        from_source(&mut session, stage, args.all, &mut observer)
    } else {
        let text = common::read_text(&args.file)?;
        session.read_ir(&text).and_then(|ir| finish(&mut session, ir, stage, &mut observer))
    };
    let output = common::report(&session, result)?;
    if args.times {
        eprint!("{}", observer.times);
    }
    match output {
        Output::Text(_) if args.run => {
            Err(common::report_error("only stages between `lower` and `lanes` can be evaluated"))
        }
        Output::Text(_) if args.values.print_params => Err(common::report_error(
            "only stages between `lower` and `lanes` have tuning parameters to list",
        )),
        Output::Text(text) => common::write_stdout(&text),
        Output::Ir(Ir::Segs(program)) if versions && !args.run => {
            common::write_stdout(&forest::show(&ir::forest::forest(&program), args.form))
        }
        Output::Ir(ir) if args.values.print_params => common::write_stdout(&driver::tuning::list(&ir)),
        Output::Ir(ir) if args.run => {
            let options = Options {
                seed: args.seed,
                settings: args.values.settings(&ir)?,
                listener: args.values.listener(),
                ..Options::default()
            };
            evaluate::run(&ir, &args.entry, options)
        }
        Output::Ir(ir) => common::write_stdout(&format!("{}{}", observer.decisions, ir.print())),
    }
}

/// The output of a stage.
enum Output {
    Text(String),
    Ir(Ir),
}

struct PassObserver {
    times: String,
    /// The decisions of the last pass that recorded any at the current IR level.
    decisions: String,
    /// True if the current pass has recorded decisions.
    fresh: bool,
    level: Option<Discriminant<Ir>>,
    panic_after: Option<String>,
    /// Progress for memory-limit messages.
    stages: memory::PassTracker,
}

impl Observer for PassObserver {
    fn pass(&mut self, pass: &PassInfo, time: Duration, ir: &Ir) {
        self.stages.pass(pass, time, ir);
        // Decisions about another IR level do not describe this one.
        let level = std::mem::discriminant(ir);
        if self.level.replace(level) != Some(level) && !std::mem::take(&mut self.fresh) {
            self.decisions.clear();
        }
        self.fresh = false;
        assert!(self.panic_after.as_ref() != Some(&pass.name), "requested by --panic-after");
        let statements = ir.statements().map_or_else(String::new, |count| format!("{count:>10} statements"));
        let line = format!("{:<24}{:>10.3} ms{statements}\n", pass.name, time.as_secs_f64() * 1e3);
        self.times.push_str(&line);
    }

    fn decisions(&mut self, _: &PassInfo, decisions: &[Remark]) {
        self.fresh = !decisions.is_empty();
        if self.fresh {
            self.decisions.clear();
        }
        self.decisions.extend(decisions.iter().map(|decision| format!("// {decision}\n")));
    }
}

fn from_source(
    session: &mut Session,
    stage: Stage,
    all: bool,
    observer: &mut PassObserver,
) -> Result<Output, Failure> {
    let program = session.check(&mut Files)?;
    if stage == Stage::Typed {
        return Ok(Output::Text(typed(&program, all)));
    }
    let ir = session.lower(&program)?;
    finish(session, ir, stage, observer)
}

/// Prints the typed tree: the program's own definitions, or with `all` those of the prelude too.
fn typed(program: &Program, all: bool) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    for def in program.defs.iter().filter(|def| all || !def.is_prelude) {
        let _ = writeln!(text, "// {}\n{def:#?}\n", program.show_def(def));
    }
    for entry in &program.entries {
        let _ = writeln!(text, "{entry:#?}\n");
    }
    let mut variables = BTreeSet::new();
    for rest in text.split("VarId(").skip(1) {
        let number = rest.trim_start();
        let end = number.find(|c: char| !c.is_ascii_digit());
        variables.extend(number[..end.unwrap_or(number.len())].parse().map(VarId));
    }
    for var in variables {
        let _ = writeln!(text, "// {var:?}: {}", program.name(var));
    }
    text
}

fn finish(
    session: &mut Session,
    ir: Ir,
    stage: Stage,
    observer: &mut PassObserver,
) -> Result<Output, Failure> {
    match stage {
        Stage::Llvm | Stage::Asm | Stage::C | Stage::Kernels(_) => {
            Ok(Output::Text(session.text(ir, stage, observer)?))
        }
        Stage::Ast | Stage::Typed | Stage::Lower | Stage::Pass(_) => {
            Ok(Output::Ir(session.run_passes(ir, stage, observer)?))
        }
    }
}

mod evaluate;
