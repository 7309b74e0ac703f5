//! A program with its test blocks: the result of every stage, compiled once, and the evaluators'
//! outcomes.

use crate::cache::{Cache, Key, back_ends, key};
use crate::outcome::Outcome;
use driver::{Ir, Observer, Options, PassInfo, Session, Stage};
use harness::evaluate::Failure;
use harness::{Case, Expected, Spec};
use ir::tunable::Settings;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use syntax::render::render;
use target::device::Device;
use target::levels::GPU;
use value::Value;

/// A program with test blocks.
pub struct Program {
    /// Its path from the repository's root.
    pub name: String,
    path: PathBuf,
    /// Its test blocks.
    pub spec: Spec,
    stages: OnceLock<Result<Vec<(String, Ir)>, String>>,
    vectors: OnceLock<imp::Program>,
    kernels: OnceLock<Result<imp::Program, String>>,
    last: Mutex<BTreeMap<usize, Arc<Outcome>>>,
    cache: Cache,
}

/// The input of a call: a test block and an entry point.
pub type Call<'p> = (&'p Case, &'p str);

/// An observer that records the result of each pass.
struct Recorder(Vec<(String, Ir)>);

impl Observer for Recorder {
    fn pass(&mut self, pass: &PassInfo, _: Duration, ir: &Ir) {
        self.0.push((pass.name.clone(), ir.clone()));
    }
}

impl Program {
    /// Reads a program below the root and its test blocks.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or a test block is malformed.
    pub fn read(root: &Path, path: PathBuf) -> Result<Self, String> {
        let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        let text = std::fs::read_to_string(&path).map_err(|e| format!("{name}: {e}"))?;
        let spec = harness::parse_blocks(&text).map_err(|e| format!("{name}: {e}"))?;
        let cache = Cache::of(&name);
        Ok(Self {
            name,
            path,
            spec,
            stages: OnceLock::new(),
            vectors: OnceLock::new(),
            kernels: OnceLock::new(),
            last: Mutex::default(),
            cache,
        })
    }

    /// Keeps the outcomes of evaluations for the next run.
    pub fn save_evaluations(&self) {
        self.cache.save();
    }

    /// Returns true if the compiler should accept the program.
    pub fn is_accepted(&self) -> bool {
        self.spec.compile_error.is_none()
    }

    /// A compilation of this program.
    pub fn session(&self) -> Session {
        let options = Options { verify: true, ..Options::default() };
        Session::new(self.path.to_string_lossy(), options)
    }

    /// The core IR that `lower` makes in a session of [`Self::session`].
    pub fn lowered(&self, session: &mut Session) -> Result<Ir, String> {
        let ir = session.check(&mut Files).and_then(|typed| session.lower(&typed));
        ir.map_err(|failure| render_failure(session, &failure))
    }

    /// The imperative IR before any of its passes, with the session's options.
    pub fn imperative(&self, session: &mut Session) -> Result<imp::Program, String> {
        let ir = self.lowered(session)?;
        let stage = Stage::from_name("imp").ok_or("no stage is `imp`")?;
        match session.run_passes(ir, stage, &mut ()) {
            Ok(Ir::Imp(program)) => Ok(program),
            Ok(_) => Err("there is no imperative IR".to_owned()),
            Err(failure) => Err(render_failure(session, &failure)),
        }
    }

    /// The result of each stage, starting with `lower`. The error is the message to the user, or a
    /// verifier's listing.
    pub fn stages(&self) -> Result<&[(String, Ir)], String> {
        let stages = self.stages.get_or_init(|| {
            let mut session = self.session();
            let mut recorder = Recorder(Vec::new());
            let ir = self.lowered(&mut session)?;
            recorder.0.push(("lower".to_owned(), ir.clone()));
            match session.run_passes(ir, Stage::Llvm, &mut recorder) {
                Ok(_) => Ok(recorder.0),
                Err(failure) => Err(render_failure(&session, &failure)),
            }
        });
        stages.as_deref().map_err(Clone::clone)
    }

    /// The imperative IR before any of its passes.
    pub fn imp(&self) -> Result<&imp::Program, String> {
        let mut stages = self.stages()?.iter();
        let found = stages.find_map(|(_, ir)| match ir {
            Ir::Imp(program) => Some(program),
            Ir::Soacs(_) | Ir::Segs(_) | Ir::Mems(_) => None,
        });
        found.ok_or_else(|| "there is no imperative IR".to_owned())
    }

    /// The imperative IR with loops in vector lanes where that pays, for vectors of 64 bytes,
    /// whatever the actual machine.
    pub fn lanes(&self) -> Result<&imp::Program, String> {
        let program = self.imp()?;
        Ok(self
            .vectors
            .get_or_init(|| impopt::lanes::vectorise(program.clone(), &mut ir::Context::default())))
    }

    /// The imperative IR with kernels for a small device.
    pub fn kernels(&self) -> Result<&imp::Program, String> {
        self.kernels.get_or_init(|| self.kernels_for(Device::SMALL)).as_ref().map_err(Clone::clone)
    }

    /// The imperative IR with kernels for a device.
    pub fn kernels_for(&self, device: Device) -> Result<imp::Program, String> {
        let mut session = self.session();
        session.options.stack = GPU;
        session.options.device = device;
        self.imperative(&mut session)
    }

    /// The inputs of the test blocks, one for each entry point.
    pub fn calls(&self) -> impl Iterator<Item = Call<'_>> {
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
        let known = || self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(outcome) = known().get(&number) {
            return Ok(outcome.clone());
        }
        let mut stages = self.stages()?.iter().rev();
        let (_, ir) = stages.find(|(_, ir)| !matches!(ir, Ir::Imp(_))).ok_or("there is no stage")?;
        let call = self.calls().nth(number).ok_or("there is no such call")?;
        let outcome = Arc::new(self.evaluations(ir).outcome(call));
        known().insert(number, outcome.clone());
        Ok(outcome)
    }

    /// The evaluations of a program above the imperative IR.
    pub fn evaluations<'p>(&'p self, ir: &'p Ir) -> Evaluations<'p> {
        Evaluations { program: self, ir, text: OnceLock::new() }
    }

    /// The evaluations of a program of the imperative IR; the seed determines the order of
    /// independent iterations.
    pub fn imp_evaluations<'p>(
        &'p self,
        imp: &'p imp::Program,
        seed: u64,
        settings: &'p Settings,
    ) -> ImpEvaluations<'p> {
        ImpEvaluations { program: self, imp, seed, settings, text: OnceLock::new() }
    }

    fn arguments(&self, case: &Case) -> Result<Vec<Value>, Failure> {
        case.input.values(self.folder()).map_err(|e| Failure::Argument(e.to_string()))
    }

    /// The problems found by a check of a back end; none without running it if it passed before with
    /// this code, the same calls and expectations, back ends and processor.
    pub fn unless_passed(
        &self,
        check: &str,
        code: &str,
        run: impl FnOnce() -> Vec<String>,
    ) -> Result<Vec<String>, String> {
        let mut calls = Vec::new();
        for (case, entry) in self.calls() {
            calls.extend_from_slice(format!("{} {entry} {:?}\n", case.line, case.expected).as_bytes());
            let args = case.input.values(self.folder()).map_err(|e| e.to_string())?;
            let expected = match &case.expected {
                Expected::Values(data) => data.values(self.folder()).map_err(|e| e.to_string())?,
                Expected::Error(_) | Expected::Success | Expected::Auto => Vec::new(),
            };
            for value in args.iter().chain(&expected) {
                value::write_binary(&mut calls, value).expect("a vector takes all bytes");
            }
        }
        let key = key(&[back_ends(), check.as_bytes(), self.name.as_bytes(), code.as_bytes(), &calls]);
        Ok(self.cache.unless_passed(key, run))
    }
}

/// The key of the evaluation of a call: of the IR's text, the arguments, and options.
fn evaluation_key(text: &str, entry: &str, args: &[Value], options: &str) -> Key {
    let mut bytes = Vec::new();
    for arg in args {
        value::write_binary(&mut bytes, arg).expect("a vector takes all bytes");
    }
    key(&[text.as_bytes(), entry.as_bytes(), &bytes, options.as_bytes()])
}

/// Evaluations of a program above the imperative IR.
pub struct Evaluations<'p> {
    program: &'p Program,
    ir: &'p Ir,
    text: OnceLock<String>,
}

impl Evaluations<'_> {
    /// The outcome of a call.
    pub fn outcome(&self, (case, entry): Call<'_>) -> Outcome {
        let args = self.program.arguments(case)?;
        let text = self.text.get_or_init(|| self.ir.print());
        let key = evaluation_key(text, entry, &args, "");
        self.program.cache.outcome(key, || match self.ir {
            Ir::Soacs(program) => harness::evaluate::call(program, entry, &args),
            Ir::Segs(program) => harness::evaluate::call(program, entry, &args),
            Ir::Mems(program) => harness::evaluate::call(program, entry, &args),
            Ir::Imp(program) => harness::evaluate::call_imp(program, entry, &args, 1),
        })
    }
}

/// Evaluations of a program of the imperative IR.
pub struct ImpEvaluations<'p> {
    program: &'p Program,
    imp: &'p imp::Program,
    seed: u64,
    settings: &'p Settings,
    text: OnceLock<String>,
}

impl ImpEvaluations<'_> {
    /// The outcome of a call.
    pub fn outcome(&self, (case, entry): Call<'_>) -> Outcome {
        let args = self.program.arguments(case)?;
        let text = self.text.get_or_init(|| imp::print(self.imp));
        let options = format!("{} {:?}", self.seed, self.settings);
        let key = evaluation_key(text, entry, &args, &options);
        self.program.cache.outcome(key, || {
            let (seed, settings) = (self.seed, self.settings.clone());
            let options = imp::eval::Options { seed, settings, ..imp::eval::Options::default() };
            harness::evaluate::call_imp_with(self.imp, entry, &args, options)
        })
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
