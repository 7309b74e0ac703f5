//! The passes from the core IR to the imperative IR, in order, as data.
//!
//! [`passes`] is an overview of the whole compiler. `bindrune dev --stage NAME` stops after the
//! pass of that name.

use crate::Failure;
use ir::text::TextLevel;
use ir::verify::VerifyLevel;
use ir::{Context, Mems, PassError, Program, Segs, Soacs};
use kernelc::Target;

/// A program at any level below the typed tree.
#[derive(Clone, PartialEq, Debug)]
pub enum Ir {
    /// Second-order array combinators.
    Soacs(Program<Soacs>),
    /// Segmented operations.
    Segs(Program<Segs>),
    /// Segmented operations with memory.
    Mems(Program<Mems>),
    /// The imperative IR.
    Imp(imp::Program),
}

impl Ir {
    /// The text form.
    pub fn print(&self) -> String {
        match self {
            Self::Soacs(program) => ir::text::print(program),
            Self::Segs(program) => ir::text::print(program),
            Self::Mems(program) => ir::text::print(program),
            Self::Imp(program) => imp::print(program),
        }
    }

    /// The number of statements; `None` for the imperative IR.
    pub fn statements(&self) -> Option<usize> {
        match self {
            Self::Soacs(program) => Some(ir::metrics::statements(program)),
            Self::Segs(program) => Some(ir::metrics::statements(program)),
            Self::Mems(program) => Some(ir::metrics::statements(program)),
            Self::Imp(_) => None,
        }
    }

    /// The source files that provenance refers to.
    pub(crate) fn files(&self) -> &[std::sync::Arc<str>] {
        match self {
            Self::Soacs(program) => &program.files,
            Self::Segs(program) => &program.files,
            Self::Mems(program) => &program.files,
            Self::Imp(_) => &[],
        }
    }

    /// Checks the level's invariants; the error is a listing.
    pub(crate) fn verify(&self) -> Result<(), String> {
        fn level<L: TextLevel + VerifyLevel>(program: &Program<L>) -> Result<(), String> {
            ir::verify::verify(program).map_err(|errors| ir::verify::listing(program, &errors))
        }
        match self {
            Self::Soacs(program) => level(program),
            Self::Segs(program) => level(program),
            Self::Mems(program) => level(program),
            Self::Imp(program) => imp::verify(program).map_err(|errors| imp::listing(program, &errors)),
        }
    }
}

/// A stage of compilation at which the compiler can stop and print.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// The syntax tree.
    Ast,
    /// The typed tree.
    Typed,
    /// The core IR as `lower` makes it.
    Lower,
    /// After the pass at this index of [`passes`].
    Pass(usize),
    /// LLVM's IR, optimised.
    Llvm,
    /// Assembly.
    Asm,
    /// Portable C: the code generated for the program itself.
    C,
    /// The code generated for the program's kernels themselves, for a target.
    Kernels(Target),
}

/// Former names of passes and their present ones. Numbers of repeated passes are the same.
const FORMER_NAMES: [(&str, &str); 7] = [
    ("join", "fuse-loops"),
    ("jam", "unroll-and-jam"),
    ("picks", "gather-forwarding"),
    ("tables", "lookup-tables"),
    ("place", "offload"),
    ("grains", "grain-sizes"),
    ("copies", "strided-copies"),
];

impl Stage {
    /// The present name of a stage that was renamed.
    pub fn renamed(former: &str) -> Option<&'static str> {
        FORMER_NAMES.iter().find(|(name, _)| *name == former).map(|(_, name)| *name)
    }

    /// The stage of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "ast" => Some(Self::Ast),
            "typed" => Some(Self::Typed),
            "lower" => Some(Self::Lower),
            "llvm" => Some(Self::Llvm),
            "asm" => Some(Self::Asm),
            "c" => Some(Self::C),
            // The name of a level means the program after the level's last pass.
            "soacs" => passes().iter().position(|p| p.name == "flatten")?.checked_sub(1).map(Self::Pass),
            "segs" => passes().iter().position(|p| p.name == "mem")?.checked_sub(1).map(Self::Pass),
            "mems" => passes().iter().position(|p| p.name == "imp")?.checked_sub(1).map(Self::Pass),
            _ => {
                let target = Target::ALL.into_iter().find(|it| it.name() == name);
                target.map(Self::Kernels).or_else(|| {
                    let mut passes = passes().into_iter();
                    passes.position(|pass| pass.name == name).map(Self::Pass)
                })
            }
        }
    }

    /// The stage of a name that the compiler itself uses.
    ///
    /// # Errors
    /// A compiler bug: there is no such stage.
    pub fn named(name: &str) -> Result<Self, Failure> {
        Self::from_name(name).ok_or_else(|| Failure::bug(format!("there is no stage `{name}`")))
    }

    /// The names of all stages, in order.
    pub fn names() -> Vec<String> {
        let before = ["ast", "typed", "lower"].map(str::to_owned);
        let passes = passes().into_iter().map(|pass| pass.name);
        let mut names: Vec<String> = before.into_iter().chain(passes).collect();
        let last = ["soacs", "segs", "mems", "llvm", "asm", "c"];
        names.extend(last.map(str::to_owned));
        names.extend(Target::ALL.map(|target| target.name().to_owned()));
        names
    }
}

/// A pass, with the properties that lists show.
#[derive(Clone, Debug)]
pub struct PassInfo {
    /// Its unique name; repeated runs of a pass have a number appended.
    pub name: String,
    /// A description of one line.
    pub description: &'static str,
    /// True if compilation succeeds without the pass: it only improves programs, and without fuel
    /// leaves them unchanged.
    pub optional: bool,
    /// The crate with the pass's code.
    pub crate_name: &'static str,
    run: PassFn,
}

impl PassInfo {
    /// Returns true if the pass takes programs of this level.
    pub fn accepts(&self, ir: &Ir) -> bool {
        self.run.accepts(ir)
    }

    /// Returns true if the pass allocates memory for arrays.
    pub(crate) fn is_mem(&self) -> bool {
        matches!(self.run, PassFn::ToMems(_))
    }

    /// Runs the pass; a program of another level is returned unchanged.
    pub fn apply(&self, ir: Ir, context: &mut Context) -> Result<Ir, PassError> {
        self.run.apply(ir, context)
    }
}

/// A pass within a level.
type SameLevel<P> = fn(P, &mut Context) -> Result<P, PassError>;
/// A pass from a level to the next.
type Lowering<P, Q> = fn(P, &mut Context) -> Result<Q, PassError>;

/// The function of a pass, by the levels before and after it.
#[derive(Clone, Copy, Debug)]
enum PassFn {
    /// Combinators.
    Soacs(SameLevel<Program<Soacs>>),
    /// From combinators to segops.
    ToSegs(Lowering<Program<Soacs>, Program<Segs>>),
    /// Segops.
    Segs(SameLevel<Program<Segs>>),
    /// From segops to memory.
    ToMems(Lowering<Program<Segs>, Program<Mems>>),
    /// Memory.
    Mems(SameLevel<Program<Mems>>),
    /// From memory to the imperative IR.
    ToImp(Lowering<Program<Mems>, imp::Program>),
    /// The imperative IR.
    Imp(SameLevel<imp::Program>),
}

/// The passes, in order.
pub fn passes() -> Vec<PassInfo> {
    let mut list: Vec<PassInfo> = Vec::new();
    let mut add = |crate_name, base: &str, description, run| {
        let earlier = list
            .iter()
            .filter(|pass| pass.name == base || pass.name.starts_with(&format!("{base}-")))
            .count();
        let name = if earlier == 0 { base.to_owned() } else { format!("{base}-{}", earlier + 1) };
        let optional = match run {
            PassFn::Soacs(_) | PassFn::Segs(_) | PassFn::Mems(_) | PassFn::Imp(_) => {
                !["accumulators", "ad", "dimensions", "expand-math", "offload", "strided-copies"]
                    .contains(&base)
            }
            PassFn::ToSegs(_) | PassFn::ToMems(_) | PassFn::ToImp(_) => false,
        };
        list.push(PassInfo { name, description, optional, crate_name, run });
    };
    for pass in opt::SOACS {
        if pass.name == "fuse" {
            add(
                "ad",
                "ad",
                "automatic differentiation: replace derivatives by the statements that compute them",
                PassFn::Soacs(ad::differentiate),
            );
        }
        add("opt", pass.name, pass.description, PassFn::Soacs(pass.run));
    }
    add(
        "flatten",
        "accumulators",
        "replace accumulators with an operator by arrays that are updated in place",
        PassFn::Soacs(flatten::accumulators),
    );
    add(
        "flatten",
        "flatten",
        "flatten nested combinators to segmented operations",
        PassFn::ToSegs(flatten::flatten),
    );
    add(
        "flatten",
        "prune-versions",
        "remove versions of segmented operations that cannot win",
        PassFn::Segs(|program, context| Ok(flatten::prune_versions(program, context))),
    );
    add(
        "flatten",
        "dimensions",
        "nest segmented operations over several dimensions as tasks in tasks",
        PassFn::Segs(|program, context| Ok(flatten::dimensions(program, context))),
    );
    for pass in opt::SEGS {
        add("opt", pass.name, pass.description, PassFn::Segs(pass.run));
    }
    add(
        "mem",
        "offload",
        "offload: move code that cannot be a kernel to the host",
        PassFn::Segs(mem::offload),
    );
    add(
        "flatten",
        "dimensions",
        "nest segmented operations over several dimensions as tasks in tasks",
        PassFn::Segs(|program, context| Ok(flatten::dimensions(program, context))),
    );
    add(
        "flatten",
        "grain-sizes",
        "make the grain sizes of tasks tuning parameters",
        PassFn::Segs(|program, context| Ok(flatten::grain_sizes(program, context))),
    );
    add(
        "mem",
        "layout",
        "choose lane dimensions and the dimension order of results",
        PassFn::Segs(|program, context| Ok(mem::layout(program, context))),
    );
    add("mem", "mem", "give arrays memory blocks and index functions", PassFn::ToMems(mem::allocate));
    add(
        "mem",
        "facts",
        "annotate operations with proved facts for code generation",
        PassFn::Mems(|program, context| Ok(mem::facts(program, context))),
    );
    add(
        "impgen",
        "imp",
        "generate loops, tasks and kernels from segmented operations",
        PassFn::ToImp(|program, context| impgen::generate(&program, context)),
    );
    add(
        "impopt",
        "moves",
        "propagate moves between variables",
        PassFn::Imp(|program, context| Ok(impopt::moves::propagate(program, context))),
    );
    add(
        "impopt",
        "tail-calls",
        "replace tail calls of a function to itself by loops",
        PassFn::Imp(|program, context| Ok(impopt::tail::tail_calls(program, context))),
    );
    add(
        "impopt",
        "tiles",
        "tile nests whose iterations share what they read",
        PassFn::Imp(|program, context| Ok(impopt::tiles::tile(program, context))),
    );
    add(
        "impopt",
        "lanes",
        "vectorise loops: run several iterations at once in vector lanes",
        PassFn::Imp(|program, context| Ok(impopt::lanes::vectorise(program, context))),
    );
    add(
        "impopt",
        "jam-iterations",
        "unroll and jam independent iterations around reductions in lanes",
        PassFn::Imp(|program, context| Ok(impopt::jam::jam(program, context))),
    );
    add(
        "impopt",
        "pipeline",
        "software pipelining: overlap iterations of long loops",
        PassFn::Imp(|program, context| Ok(impopt::pipeline::pipeline(program, context))),
    );
    add(
        "impopt",
        "simplify-loops",
        "remove loops of one iteration, copies, constants and dead code",
        PassFn::Imp(|program, context| Ok(impopt::simplify::simplify(program, context))),
    );
    add(
        "impopt",
        "split",
        "split functions that are too large for a back end",
        PassFn::Imp(|program, context| {
            let sizes = impopt::split::Sizes::default();
            Ok(impopt::split::split(program, sizes, context))
        }),
    );
    add(
        "impopt",
        "merge",
        "merge equal functions, loops and bodies of task loops",
        PassFn::Imp(|program, context| Ok(impopt::merge::merge(program, context))),
    );
    add(
        "impopt",
        "strided-copies",
        "outline copies that choose by their strides at run time",
        PassFn::Imp(|program, _| Ok(impopt::copies::outline_copies(program))),
    );
    list
}

impl PassFn {
    /// Returns true if the pass takes programs of this level.
    fn accepts(self, ir: &Ir) -> bool {
        matches!(
            (self, ir),
            (Self::Soacs(_) | Self::ToSegs(_), Ir::Soacs(_))
                | (Self::Segs(_) | Self::ToMems(_), Ir::Segs(_))
                | (Self::Mems(_) | Self::ToImp(_), Ir::Mems(_))
                | (Self::Imp(_), Ir::Imp(_))
        )
    }

    /// Runs the pass; a program of another level is returned unchanged.
    fn apply(self, ir: Ir, context: &mut Context) -> Result<Ir, PassError> {
        Ok(match (self, ir) {
            (Self::Soacs(run), Ir::Soacs(program)) => Ir::Soacs(run(program, context)?),
            (Self::ToSegs(run), Ir::Soacs(program)) => Ir::Segs(run(program, context)?),
            (Self::Segs(run), Ir::Segs(program)) => Ir::Segs(run(program, context)?),
            (Self::ToMems(run), Ir::Segs(program)) => Ir::Mems(run(program, context)?),
            (Self::Mems(run), Ir::Mems(program)) => Ir::Mems(run(program, context)?),
            (Self::ToImp(run), Ir::Mems(program)) => Ir::Imp(run(program, context)?),
            (Self::Imp(run), Ir::Imp(program)) => Ir::Imp(run(program, context)?),
            (_, ir) => ir,
        })
    }
}
