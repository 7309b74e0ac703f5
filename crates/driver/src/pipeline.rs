//! The passes from the core IR to the imperative IR, in order, as data.
//!
//! To see the whole compiler at a glance, read [`passes`]. `bindrune dev
//! --stage NAME` stops after the pass of that name.

use imp::lanes::Mode;
use ir::{Mems, PassError, Segs, Soacs};

/// A program at any level below the typed tree.
#[derive(Clone, Debug)]
pub enum Ir {
    /// Second-order array combinators.
    Soacs(ir::Program<Soacs>),
    /// Segmented operations.
    Segs(ir::Program<Segs>),
    /// Segmented operations with memory.
    Mems(ir::Program<Mems>),
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

    /// The source files that places refer to.
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
        fn level<L: ir::Level>(program: &ir::Program<L>) -> Result<(), String> {
            ir::verify::verify(program).map_err(|errors| ir::verify::listing(program, &errors))
        }
        match self {
            Self::Soacs(program) => level(program),
            Self::Segs(program) => level(program),
            Self::Mems(program) => level(program),
            Self::Imp(program) => imp::verify(program).map_err(|errors| {
                let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
                format!("{}\n{}", errors.join("\n"), imp::print(program))
            }),
        }
    }
}

/// A point of the compiler at which it can stop and print.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// The syntax tree.
    Ast,
    /// The typed tree.
    Typed,
    /// The core IR as `lower` makes it.
    Lower,
    /// After the pass at this position of [`passes`].
    Pass(usize),
    /// LLVM's IR, optimised.
    Llvm,
    /// Assembly.
    Asm,
}

impl Stage {
    /// The stage of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "ast" => Some(Self::Ast),
            "typed" => Some(Self::Typed),
            "lower" => Some(Self::Lower),
            "llvm" => Some(Self::Llvm),
            "asm" => Some(Self::Asm),
            // The last pass of a level leaves what the level's name stands for.
            "soacs" => passes()
                .iter()
                .position(|p| p.name == "flatten")?
                .checked_sub(1)
                .map(Self::Pass),
            "segs" => passes()
                .iter()
                .position(|p| p.name == "mem")?
                .checked_sub(1)
                .map(Self::Pass),
            "mems" => Self::from_name("mem"),
            _ => passes()
                .iter()
                .position(|pass| pass.name == name)
                .map(Self::Pass),
        }
    }

    /// The names of all stages, in order.
    pub fn names() -> Vec<String> {
        let before = ["ast", "typed", "lower"].map(str::to_owned);
        let passes = passes().into_iter().map(|pass| pass.name);
        let mut names: Vec<String> = before.into_iter().chain(passes).collect();
        names.extend(["soacs", "segs", "mems", "llvm", "asm"].map(str::to_owned));
        names
    }
}

/// A pass, as lists show it.
#[derive(Clone, Debug)]
pub struct PassInfo {
    /// Its name, unique: a pass that runs again has its level and number behind it.
    pub name: String,
    /// What it does, in a line.
    pub description: &'static str,
    pub(crate) run: Run,
}

/// How a pass runs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Run {
    /// A pass of the level of combinators.
    Soacs(&'static opt::Pass<Soacs>),
    /// A pass of the level of segops.
    Segs(&'static opt::Pass<Segs>),
    /// Combinators without accumulators that have an operator.
    Accumulators,
    /// From combinators to segops.
    Flatten,
    /// From segops to memory.
    Mem,
    /// From memory to the imperative IR.
    Imp,
    /// Functions that call themselves last become loops.
    Tail,
    /// Loops of the imperative IR to vector code.
    Lanes,
    /// Long loops whose iterations overlap.
    Pipeline,
    /// Very large functions become several.
    Split,
}

/// What passes below the level of segops are told, and what they tell.
#[derive(Debug)]
pub(crate) struct Target<'s> {
    /// The main source file.
    pub(crate) source_name: &'s str,
    /// Vectors.
    pub(crate) lanes: imp::lanes::Options,
    /// What was decided for independent loops.
    pub(crate) decisions: Vec<imp::lanes::Decision>,
}

/// The passes, in order.
pub fn passes() -> Vec<PassInfo> {
    let mut list: Vec<PassInfo> = Vec::new();
    let mut add = |name: &str, description, run| {
        let again = list
            .iter()
            .filter(|pass| pass.name == name || pass.name.starts_with(&format!("{name}-")))
            .count();
        let name = if again == 0 {
            name.to_owned()
        } else {
            format!("{name}-{}", again + 1)
        };
        list.push(PassInfo {
            name,
            description,
            run,
        });
    };
    for pass in opt::SOACS {
        add(pass.name, pass.description, Run::Soacs(pass));
    }
    add(
        "accumulators",
        "accumulators with an operator become arrays that are updated in place",
        Run::Accumulators,
    );
    add(
        "flatten",
        "nested combinators become segmented operations",
        Run::Flatten,
    );
    for pass in opt::SEGS {
        add(pass.name, pass.description, Run::Segs(pass));
    }
    add(
        "mem",
        "arrays get memory blocks and index functions",
        Run::Mem,
    );
    add(
        "imp",
        "segmented operations become loops and tasks",
        Run::Imp,
    );
    add(
        "tail-calls",
        "functions that call themselves last become loops",
        Run::Tail,
    );
    add(
        "lanes",
        "loops run several iterations at once, in vector lanes",
        Run::Lanes,
    );
    add(
        "pipeline",
        "parts of the next iteration run beside this one in long loops",
        Run::Pipeline,
    );
    add(
        "split",
        "functions too large for a back end become several",
        Run::Split,
    );
    list
}

impl Run {
    /// Whether the pass takes programs of this level.
    pub(crate) fn accepts(self, ir: &Ir) -> bool {
        matches!(
            (self, ir),
            (
                Self::Soacs(_) | Self::Accumulators | Self::Flatten,
                Ir::Soacs(_)
            ) | (Self::Segs(_) | Self::Mem, Ir::Segs(_))
                | (Self::Imp, Ir::Mems(_))
                | (
                    Self::Tail | Self::Lanes | Self::Pipeline | Self::Split,
                    Ir::Imp(_)
                )
        )
    }

    /// Runs the pass; a program of another level is left as it is.
    pub(crate) fn apply(
        self,
        ir: Ir,
        context: &mut ir::Context,
        target: &mut Target<'_>,
    ) -> Result<Ir, PassError> {
        Ok(match (self, ir) {
            (Self::Soacs(pass), Ir::Soacs(program)) => Ir::Soacs((pass.run)(program, context)?),
            (Self::Segs(pass), Ir::Segs(program)) => Ir::Segs((pass.run)(program, context)?),
            (Self::Accumulators, Ir::Soacs(program)) => {
                Ir::Soacs(flatten::accumulators(program, context)?)
            }
            (Self::Flatten, Ir::Soacs(program)) => Ir::Segs(flatten::flatten(program, context)?),
            (Self::Mem, Ir::Segs(program)) => Ir::Mems(mem::allocate(program, context)?),
            (Self::Imp, Ir::Mems(program)) => Ir::Imp(imp::generate::generate(
                &program,
                target.source_name,
                context,
            )?),
            (Self::Lanes, Ir::Imp(program)) => {
                let (program, decisions) = imp::lanes::vectorise(program, target.lanes, context);
                target.decisions = decisions;
                Ir::Imp(program)
            }
            (Self::Pipeline, Ir::Imp(program)) if target.lanes.mode != Mode::Off => Ir::Imp(
                imp::pipeline::pipeline(program, target.lanes.machine, context),
            ),
            (Self::Tail, Ir::Imp(program)) => Ir::Imp(imp::tail::tail_calls(program, context)),
            (Self::Split, Ir::Imp(program)) => Ir::Imp(imp::split::split(
                program,
                imp::split::Sizes::default(),
                context,
            )),
            (_, ir) => ir,
        })
    }
}
