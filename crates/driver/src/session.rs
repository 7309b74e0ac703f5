//! One compilation: sources, options, and the stages in order.

use crate::error::Failure;
use crate::pipeline::{Ir, PassInfo, Stage, passes};
use crate::warnings;
use check::{Checked, Loader};
use ir::{Context, Flatten, Mems, Remark, Segs, Soacs, VectorLanes};
use kernelc::Target;
use runtime::exe::levels::Level;
use std::sync::Arc;
use std::time::{Duration, Instant};
use syntax::diag::Diagnostic;
use syntax::span::SourceMap;
use syntax::symbol::Interner;
use target::Machine;
use target::device::Device;
use target::levels::{self, Stack};
use workers::Workers;

/// The `cpu` option for executables with code for several levels of processors.
pub const PORTABLE: &str = "portable";

/// The options of a compilation.
#[derive(Clone, Debug)]
pub struct Options {
    /// The processor: `native`, `generic`, [`PORTABLE`], or a name such as `x86-64-v3`.
    pub cpu: String,
    /// True if floats keep every rounding of the source: no fused multiply-adds.
    pub strict_floats: bool,
    /// True if combinators are fused.
    pub fuse: bool,
    /// The bytes of a loop's states up to which its reverse derivative saves all of them.
    pub tape_limit: u64,
    /// The number of rewrites that the optimiser may make; unlimited if `None`.
    pub fuel: Option<u64>,
    /// The vector lanes of loops.
    pub lanes: VectorLanes,
    /// The levels of parallelism that nests are flattened for.
    pub stack: Stack,
    /// The work layout parameters of the device, if the target machine has one.
    pub device: Device,
    /// The flattening mode: the versions that flattening makes.
    pub flatten: Flatten,
    /// The language of kernels, if there are any.
    pub kernels: Target,
    /// The optimisation level of LLVM, 0 to 3.
    pub llvm_level: u8,
    /// True if the invariants of the IR are verified after every pass.
    pub verify: bool,
    /// True if objects get a `main`.
    pub executable: bool,
    /// The limits on copies of functions by specialisation.
    pub copies: lower::Limits,
    /// Functions at the program's top level that become entry points although the source does not
    /// declare them so.
    pub entry_points: Vec<String>,
    /// The only entry point to compile, if the program has it; all if absent.
    pub only_entry: Option<String>,
    /// True if all checks are made, also where the source waives them (`#[unsafe]`).
    pub safe: bool,
    /// True if all decisions are recorded, for optimisation remarks.
    pub remarks: bool,
    /// True if the program measures its parallel nests, for profiles.
    pub profile: bool,
    /// The maximum number of threads that compile; the output does not depend on it.
    pub threads: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cpu: "native".to_owned(),
            strict_floats: false,
            fuse: true,
            tape_limit: ir::Options::TAPE_LIMIT,
            fuel: None,
            lanes: VectorLanes::Auto,
            stack: Stack::default(),
            device: Device::default(),
            flatten: Flatten::Incremental,
            kernels: Target::OpenCl,
            llvm_level: 3,
            verify: cfg!(debug_assertions),
            executable: false,
            copies: lower::Limits::default(),
            entry_points: Vec::new(),
            only_entry: None,
            safe: false,
            remarks: false,
            profile: false,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

/// The runtime recognises thresholds by this default value, and replaces it by the device's own
/// number.
const _: () = assert!(levels::GRID_ITERATIONS == runtime::abi::DEFAULT_SATURATION);
/// Compiled code passes the counts of a nest that the runtime adds.
const _: () = assert!(imp::NEST_COUNTS == runtime::abi::NEST_COUNTS);

impl Options {
    /// The options of lowering.
    fn lower(&self) -> lower::Options {
        lower::Options { copies: self.copies, safe: self.safe }
    }

    /// The options for kernels of a device, with host code that has no vectors.
    #[must_use]
    pub fn on_device(self, kernels: Target) -> Self {
        Self { stack: levels::GPU, lanes: VectorLanes::Off, kernels, ..self }
    }

    /// The options for portable C: no parallelism, and no dependence on the processor.
    #[must_use]
    pub fn portable_c(self) -> Self {
        Self { stack: levels::THREAD, lanes: VectorLanes::Off, flatten: Flatten::None, ..self }
    }
}

/// The suffix of the symbols of a level's code.
fn suffix(level: Level) -> &'static str {
    match level {
        Level::V2 => ".v2",
        Level::V3 => ".v3",
        Level::V4 => ".v4",
    }
}

/// A receiver of the passes' results.
pub trait Observer {
    /// Called after a pass, with its time and the resulting program.
    fn pass(&mut self, pass: &PassInfo, time: Duration, ir: &Ir);

    /// Called with the decisions of a pass, before [`Self::pass`].
    fn decisions(&mut self, pass: &PassInfo, decisions: &[Remark]) {
        let _ = (pass, decisions);
    }
}

/// An observer that ignores everything.
impl Observer for () {
    fn pass(&mut self, _: &PassInfo, _: Duration, _: &Ir) {}
}

/// One compilation.
pub struct Session {
    /// The source files read so far.
    pub sources: SourceMap,
    /// The interned names in them.
    pub interner: Interner,
    /// The options.
    pub options: Options,
    /// The warnings so far.
    pub warnings: Vec<Diagnostic>,
    source_name: String,
    workers: Workers,
}

impl Session {
    /// A compilation of the file of this name.
    pub fn new(source_name: impl Into<String>, options: Options) -> Self {
        Self {
            workers: Workers::new(options.threads, crate::stack::worker_stack),
            sources: SourceMap::new(),
            interner: Interner::new(),
            options,
            warnings: Vec::new(),
            source_name: source_name.into(),
        }
    }

    /// Reads and checks the file with all its imports.
    pub fn check(&mut self, loader: &mut dyn Loader) -> Result<check::tast::Program, Failure> {
        let Checked { program, diagnostics } = check::check_with_entries(
            &mut self.sources,
            &self.interner,
            loader,
            &self.source_name,
            &self.options.entry_points,
        );
        let (errors, warnings): (Vec<_>, Vec<_>) = diagnostics.into_iter().partition(Diagnostic::is_error);
        self.warnings.extend(warnings);
        if !errors.is_empty() {
            return Err(Failure(errors));
        }
        let mut program =
            program.ok_or_else(|| Failure::bug("the checker returned neither a program nor an error"))?;
        if let Some(only) = &self.options.only_entry
            && program.entries.iter().any(|entry| *entry.name == **only)
        {
            program.entries.retain(|entry| *entry.name == **only);
        }
        let known = |name: &String| program.entries.iter().any(|entry| *entry.name == **name);
        match self.options.entry_points.iter().find(|name| !known(name)) {
            Some(name) => Err(Failure::message(
                "unknown-entry-point",
                format!("{} has no top-level function `{name}` that can be an entry point", self.source_name),
            )),
            None => Ok(program),
        }
    }

    /// The syntax tree of one file's text.
    pub fn ast(&mut self, text: Vec<u8>) -> Result<String, Failure> {
        let file = self
            .sources
            .add_bytes(self.source_name.as_str(), text)
            .map_err(|diagnostic| Failure(vec![*diagnostic]))?;
        let text = self.sources.get(file).map(|f| f.text().clone()).unwrap_or_default();
        let parsed = syntax::parse(&text, file, &self.interner);
        if parsed.errors.is_empty() {
            Ok(syntax::dump::prog(&parsed.prog, &self.interner))
        } else {
            Err(Failure(parsed.errors))
        }
    }

    /// The core IR of a checked program.
    pub fn lower(&self, program: &check::tast::Program) -> Result<Ir, Failure> {
        let program = lower::lower(program, &self.sources, self.options.lower());
        self.lowered(program.map_err(Failure)?)
    }

    /// The core IR of a checked program, and the decisions about its functions.
    pub fn lower_with_remarks(&self, program: &check::tast::Program) -> Result<(Ir, Vec<Remark>), Failure> {
        let lowered = lower::lower_with_remarks(program, &self.sources, self.options.lower());
        let (program, decisions) = lowered.map_err(Failure)?;
        Ok((self.lowered(program)?, decisions))
    }

    fn lowered(&self, program: ir::Program<Soacs>) -> Result<Ir, Failure> {
        let ir = Ir::Soacs(program);
        self.verify("lower", &ir)?;
        Ok(ir)
    }

    /// Reads IR text of any level.
    pub fn read_ir(&self, text: &str) -> Result<Ir, Failure> {
        fn level<L: ir::text::TextLevel>(text: &str) -> Result<ir::Program<L>, Failure> {
            ir::text::parse(text).map_err(|e| syntax_error(&e))
        }
        fn syntax_error(error: &ir::text::ParseError) -> Failure {
            Failure::message("ir-syntax", error.to_string())
        }
        let ir = match ir::text::level_of(text) {
            Some("soacs") => Ir::Soacs(level::<Soacs>(text)?),
            Some("segs") => Ir::Segs(level::<Segs>(text)?),
            Some("mems") => Ir::Mems(level::<Mems>(text)?),
            Some("imp") => Ir::Imp(imp::parse(text).map_err(|e| syntax_error(&e))?),
            _ => {
                return Err(Failure::message(
                    "ir-syntax",
                    "IR text must begin with its level: `soacs`, `segs`, `mems` or `imp`",
                ));
            }
        };
        ir.verify().map_err(|listing| Failure::message("ir-invalid", listing))?;
        Ok(ir)
    }

    fn verify(&self, pass: &str, ir: &Ir) -> Result<(), Failure> {
        if !self.options.verify {
            return Ok(());
        }
        ir.verify()
            .map_err(|listing| Failure::bug(format!("the program is invalid after pass {pass}:\n{listing}")))
    }

    /// The machine that passes choose for. For portable C it is a typical one, independent of the
    /// actual machine, so that the text is the same on all.
    fn machine(&self) -> Result<Machine, Failure> {
        if self.options.stack.is_parallel() {
            Ok(llvm::machine(self.code_cpu()?)?)
        } else {
            Ok(Machine::of(16))
        }
    }

    /// Runs the passes from the program's level up to the stage (all of them for the stages after
    /// the last). Warnings about missed optimisations are added where the program requests them.
    pub fn run_passes(
        &mut self,
        mut ir: Ir,
        until: Stage,
        observer: &mut dyn Observer,
    ) -> Result<Ir, Failure> {
        let last = match until {
            Stage::Ast | Stage::Typed | Stage::Lower => return Ok(ir),
            Stage::Pass(last) => Some(last),
            Stage::Llvm | Stage::Asm | Stage::C | Stage::Kernels(_) => None,
        };
        let options = ir::Options {
            source_name: Arc::from(self.source_name.as_str()),
            strict_fp: self.options.strict_floats,
            fuse: self.options.fuse,
            tape_limit: self.options.tape_limit,
            remarks: self.options.remarks,
            profile: self.options.profile,
            lanes: self.options.lanes,
            machine: self.machine()?,
            stack: self.options.stack,
            device: self.options.device,
            flatten: self.options.flatten,
        };
        let mut context =
            Context { workers: self.workers.clone(), ..Context::new(self.options.fuel, options) };
        let list = passes();
        for (at, pass) in list.iter().enumerate() {
            if last.is_some_and(|last| at > last) {
                break;
            }
            if !pass.accepts(&ir) {
                continue;
            }
            let files: Vec<Arc<str>> = ir.files().to_vec();
            let start = Instant::now();
            ir = pass
                .apply(ir, &mut context)
                .map_err(|error| Failure::from_pass(&error, &pass.name, &files, &self.sources))?;
            let time = start.elapsed();
            self.verify(&pass.name, &ir)?;
            observer.decisions(pass, &std::mem::take(&mut context.decisions));
            observer.pass(pass, time, &ir);
            if let Ir::Segs(program) = &ir
                && list.get(at + 1).is_some_and(PassInfo::is_mem)
            {
                self.warnings.extend(warnings::missed_optimisations(program, &self.sources));
                if self.options.remarks {
                    opt::remarks(program, &mut context);
                }
            }
        }
        Ok(ir)
    }

    /// The imperative IR after the last pass, verified.
    fn imperative(&mut self, ir: Ir, observer: &mut dyn Observer) -> Result<imp::Verified, Failure> {
        match self.run_passes(ir, Stage::Llvm, observer)? {
            Ir::Imp(program) => imp::Verified::new(program)
                .map_err(|listing| Failure::bug(format!("invalid imperative IR: {listing}"))),
            _ => Err(Failure::bug("the passes did not produce the imperative IR")),
        }
    }

    /// The options of LLVM.
    fn llvm_options(
        &self,
        program: &imp::Verified,
        start: llvm::Start,
        suffix: &'static str,
    ) -> Result<llvm::Options, Failure> {
        let target = self.options.kernels;
        let device = kernelc::kernels(program, target)?.map(|kernels| llvm::DeviceCode {
            target: match target {
                Target::OpenCl => llvm::DeviceTarget::OpenCl,
                Target::Cuda => llvm::DeviceTarget::Cuda,
                Target::Hip => llvm::DeviceTarget::Hip,
            },
            source: kernels.source,
            names: kernels.names,
            required_extensions: kernels.required_extensions,
        });
        Ok(llvm::Options {
            device,
            cpu: self.code_cpu()?.to_owned(),
            opt_level: self.options.llvm_level,
            start,
            suffix,
            workers: self.workers.clone(),
        })
    }

    /// The kind of `main` for a single processor level.
    fn main_kind(&self) -> llvm::Start {
        if self.options.executable { llvm::Start::Program } else { llvm::Start::None }
    }

    /// The processor that code is generated for: with [`PORTABLE`], the best level that this
    /// machine has.
    fn code_cpu(&self) -> Result<&str, Failure> {
        if self.options.cpu != PORTABLE {
            return Ok(&self.options.cpu);
        }
        Level::of_host().map(Level::processor).ok_or_else(|| {
            Failure::message(
                "usage",
                "this processor supports none of the levels x86-64-v2, x86-64-v3 and x86-64-v4",
            )
        })
    }

    /// A program's assembly, C or kernels at these stages, its LLVM IR at any other.
    pub fn text(&mut self, ir: Ir, stage: Stage, observer: &mut dyn Observer) -> Result<String, Failure> {
        let program = self.imperative(ir, observer)?;
        let output = match stage {
            Stage::Asm => llvm::Output::Assembly,
            Stage::C => return Ok(kernelc::functions(&program)?),
            Stage::Kernels(target) => return Ok(kernelc::kernels_code(&program, target)?),
            Stage::Ast | Stage::Typed | Stage::Lower | Stage::Pass(_) | Stage::Llvm => llvm::Output::Ir,
        };
        let options = self.llvm_options(&program, self.main_kind(), "")?;
        Ok(llvm::text(&program, &options, output)?)
    }

    /// A program as portable C, the complete text of an executable. The options must come from
    /// [`Options::portable_c`].
    pub fn portable_c(&mut self, ir: Ir, observer: &mut dyn Observer) -> Result<String, Failure> {
        let program = self.imperative(ir, observer)?;
        Ok(kernelc::program(&program)?)
    }

    /// The object files of an executable.
    pub fn objects(&mut self, ir: Ir, observer: &mut dyn Observer) -> Result<Vec<Vec<u8>>, Failure> {
        if self.options.cpu != PORTABLE {
            return self.objects_for(ir, self.main_kind(), "", observer);
        }
        // The passes that do not depend on the processor run once.
        let ir = self.run_passes(ir, Stage::named("imp")?, observer)?;
        let levels = Level::ALL.map(|level| (level as u64, suffix(level)));
        let mut objects = Vec::new();
        for level in Level::ALL {
            level.processor().clone_into(&mut self.options.cpu);
            let start =
                if objects.is_empty() { llvm::Start::BestLevel(levels.to_vec()) } else { llvm::Start::None };
            let made = self.objects_for(ir.clone(), start, suffix(level), observer);
            PORTABLE.clone_into(&mut self.options.cpu);
            objects.extend(made?);
        }
        Ok(objects)
    }

    fn objects_for(
        &mut self,
        ir: Ir,
        start: llvm::Start,
        suffix: &'static str,
        observer: &mut dyn Observer,
    ) -> Result<Vec<Vec<u8>>, Failure> {
        let program = self.imperative(ir, observer)?;
        let options = self.llvm_options(&program, start, suffix)?;
        Ok(llvm::compile(&program, &options, llvm::Output::Object)?)
    }

    /// A program's code in this process.
    pub fn image(&mut self, ir: Ir, observer: &mut dyn Observer) -> Result<runtime::Image, Failure> {
        let objects = self.objects_for(ir, llvm::Start::None, "", observer)?;
        // SAFETY: the symbols are the runtime's own, statics of this process.
        let jit = unsafe { llvm::Jit::new(&objects, &runtime::symbols()) }?;
        let table = jit.program()?.cast::<runtime::abi::Program>();
        // SAFETY: `llvm` makes the table according to the runtime's interface, and the table lives
        // as long as the code, which the image keeps alive.
        unsafe {
            let program = *table;
            Ok(runtime::Image::new(program, Arc::new(jit)))
        }
    }
}
