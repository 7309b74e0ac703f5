//! The programs of the repository, compiled once for all tests: the result of every stage, and the
//! evaluator's outcomes for the test blocks at the last one.

use driver::{Ir, Observer, Options, PassInfo, Session};
use harness::evaluate::Failure;
use harness::{Case, Spec};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use syntax::render::render;
use value::{Element, Value};

/// The number of programs processed at the same time.
const WORKERS: usize = 2;

/// A program with test blocks.
pub struct Program {
    /// Its path from the repository's root.
    pub name: String,
    path: PathBuf,
    /// Its test blocks.
    pub spec: Spec,
    stages: OnceLock<Result<Vec<(String, Ir)>, String>>,
    vectors: OnceLock<imp::Program>,
    last: Mutex<BTreeMap<usize, Arc<Outcome>>>,
}

/// The outcome of a call of an entry point.
pub type Outcome = Result<Vec<Value>, Failure>;

/// All programs, sorted by name.
pub fn programs() -> &'static [Program] {
    static PROGRAMS: OnceLock<Vec<Program>> = OnceLock::new();
    PROGRAMS.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let files = harness::programs::project_programs(&root).expect("the programs are found");
        files.into_iter().map(|path| Program::read(&root, path)).collect()
    })
}

/// Runs `test` on every program, a few at a time, and fails with all problems.
pub fn every_program(test: impl Fn(&Program) -> Vec<String> + Sync) {
    let programs = programs();
    assert!(programs.len() > 30, "programs were not found");
    let (next, problems) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let found = catch_unwind(AssertUnwindSafe(|| test(program)))
                .unwrap_or_else(|_| vec!["the compiler panicked".to_owned()]);
            let found = found.into_iter().map(|problem| format!("{}: {problem}", program.name));
            problems.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            // Passes recurse over bodies, which takes much stack in debug builds.
            let builder = std::thread::Builder::new().stack_size(64 << 20);
            builder.spawn_scoped(scope, work).expect("a thread starts");
        }
    });
    let mut problems = problems.into_inner().unwrap_or_else(PoisonError::into_inner);
    problems.sort();
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

/// An observer that records the result of each pass.
struct Recorder(Vec<(String, Ir)>);

impl Observer for Recorder {
    fn pass(&mut self, pass: &PassInfo, _: Duration, ir: &Ir) {
        self.0.push((pass.name.clone(), ir.clone()));
    }
}

impl Program {
    fn read(root: &Path, path: PathBuf) -> Self {
        let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        let text = std::fs::read_to_string(&path).expect("the program can be read");
        let spec = harness::parse_blocks(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
        Self { name, path, spec, stages: OnceLock::new(), vectors: OnceLock::new(), last: Mutex::default() }
    }

    /// A compilation of this program.
    pub fn session(&self) -> Session {
        let options = Options { verify: true, ..Options::default() };
        Session::new(self.path.to_string_lossy(), options)
    }

    /// The result of each stage, starting with `lower`. The error is the message to the user, or a
    /// verifier's listing.
    pub fn stages(&self) -> Result<&[(String, Ir)], String> {
        let stages = self.stages.get_or_init(|| {
            let mut session = self.session();
            let mut recorder = Recorder(Vec::new());
            let result =
                session.check(&mut Files).and_then(|program| session.lower(&program)).and_then(|ir| {
                    recorder.0.push(("lower".to_owned(), ir.clone()));
                    session.run_passes(ir, driver::Stage::Llvm, &mut recorder)
                });
            match result {
                Ok(_) => Ok(recorder.0),
                Err(failure) => Err(render_failure(&session, &failure)),
            }
        });
        stages.as_deref().map_err(Clone::clone)
    }

    /// The imperative IR before any of its passes.
    pub fn imp(&self) -> Result<&imp::Program, String> {
        let mut stages = self.stages()?.iter();
        match stages.find_map(|(_, ir)| match ir {
            Ir::Imp(program) => Some(program),
            Ir::Soacs(_) | Ir::Segs(_) | Ir::Mems(_) => None,
        }) {
            Some(program) => Ok(program),
            None => Err("there is no imperative IR".to_owned()),
        }
    }

    /// The imperative IR with loops in vector lanes where that pays, for vectors of 64 bytes,
    /// whatever the actual machine.
    pub fn lanes(&self) -> Result<&imp::Program, String> {
        let program = self.imp()?;
        Ok(self.vectors.get_or_init(|| imp::lanes::vectorise(program.clone(), &mut ir::Context::default())))
    }

    /// The inputs of the test blocks, one for each entry point.
    pub fn calls(&self) -> impl Iterator<Item = (&Case, &str)> {
        let left_out = ["disable", "notest"];
        let tested = move |case: &&Case| !case.tags.iter().any(|tag| left_out.contains(&&**tag));
        self.spec
            .cases
            .iter()
            .filter(tested)
            .flat_map(|case| case.entries.iter().map(move |e| (case, e.as_str())))
    }

    /// The folder that the test blocks' files are relative to.
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    /// The evaluator's outcome of the call with this number in [`Self::calls`], at the last level
    /// above the imperative IR.
    pub fn last_evaluation(&self, number: usize) -> Result<Arc<Outcome>, String> {
        let held = || self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = held().get(&number) {
            return Ok(known.clone());
        }
        let mut stages = self.stages()?.iter().rev();
        let last = stages.find(|(_, ir)| !matches!(ir, Ir::Imp(_)));
        let (_, ir) = last.ok_or("there is no stage")?;
        let call = self.calls().nth(number).ok_or("there is no such call")?;
        let outcome = Arc::new(self.evaluate(ir, call));
        held().insert(number, outcome.clone());
        Ok(outcome)
    }

    /// The evaluator's outcomes of [`Self::calls`].
    pub fn outcomes(&self, ir: &Ir) -> Vec<Outcome> {
        self.calls().map(|call| self.evaluate(ir, call)).collect()
    }

    /// The evaluator's outcome of a call.
    pub fn evaluate(&self, ir: &Ir, (case, entry): (&Case, &str)) -> Outcome {
        let args = case.input.values(self.folder());
        let args = &args.map_err(|e| Failure::Argument(e.to_string()))?;
        match ir {
            Ir::Soacs(program) => harness::evaluate::call(program, entry, args),
            Ir::Segs(program) => harness::evaluate::call(program, entry, args),
            Ir::Mems(program) => harness::evaluate::call(program, entry, args),
            Ir::Imp(program) => harness::evaluate::call_imp(program, entry, args, 1),
        }
    }

    /// The outcome of a call in the evaluator of the imperative IR; the seed determines the order
    /// of independent iterations.
    pub fn imp_outcome(&self, program: &imp::Program, (case, entry): (&Case, &str), seed: u64) -> Outcome {
        let args = case.input.values(self.folder());
        let args = args.map_err(|e| Failure::Argument(e.to_string()))?;
        harness::evaluate::call_imp(program, entry, &args, seed)
    }
}

/// A loader that reads imported files from the file system.
pub struct Files;

impl check::Loader for Files {
    fn load(&mut self, path: &str) -> Result<Vec<u8>, String> {
        std::fs::read(path).map_err(|error| error.to_string())
    }
}

/// A failure as shown to the user.
pub fn render_failure(session: &Session, failure: &driver::Failure) -> String {
    let mut text = String::new();
    for diagnostic in &failure.0 {
        let _ = writeln!(text, "{}", render(diagnostic, &session.sources, false).trim_end());
    }
    text
}

/// Returns true if two values have the same bits; all NaNs count as equal.
pub fn same_bits(x: &Value, y: &Value) -> bool {
    fn alike<T: Element>(x: &Value, y: &Value, is_nan: impl Fn(T) -> bool) -> bool {
        let (Some(xs), Some(ys)) = (x.elements::<T>(), y.elements::<T>()) else {
            return false;
        };
        let size = size_of::<T>();
        let bits = x.bytes().chunks_exact(size).zip(y.bytes().chunks_exact(size));
        let mut pairs = xs.iter().zip(ys).zip(bits);
        pairs.all(|((&a, &b), (p, q))| p == q || (is_nan(a) && is_nan(b)))
    }
    use prim::ScalarType::{F16, F32, F64};
    x == y
        || x.shape() == y.shape()
            && x.scalar_type() == y.scalar_type()
            && match x.scalar_type() {
                F16 => alike(x, y, half::f16::is_nan),
                F32 => alike(x, y, f32::is_nan),
                F64 => alike(x, y, f64::is_nan),
                _ => false,
            }
}

/// Checks that all values have the same bits; the error is the first pair that differs.
pub fn all_same_bits(xs: &[Value], ys: &[Value]) -> Result<(), String> {
    if xs.len() != ys.len() {
        return Err(format!("{} results and {} results", xs.len(), ys.len()));
    }
    match xs.iter().zip(ys).find(|(x, y)| !same_bits(x, y)) {
        Some((x, y)) => Err(format!("{x} and {y}")),
        None => Ok(()),
    }
}
