//! The syntax shared by all levels: programs, functions, bodies, statements. Operations without
//! bodies are in [`basic`](crate::basic).
//!
//! **Telescopes.** The results of an `if`, a loop, a call or an operation may include sizes that
//! the types of later results mention: an element of a pattern may use the names bound by earlier
//! elements of the same pattern (`let (n, xs: [n]i32) = ...`), likewise loop parameters; a
//! function's return types use [`Dim::Ext`] with the position of the result.
//!
//! **Certificates.** [`BasicOp::Assert`] yields a certificate. A statement that may run only if a
//! check holds lists its certificate in its [`Aux`]. Checks are not ordered in any other way.
//!
//! **Consumption.** [`BasicOp::Update`] consumes the updated array, a call the arguments of its
//! consumed parameters, a loop the initial values of its consumed parameters, `withacc` its arrays,
//! a histogram its destinations. After consumption neither the array nor any alias of it may be
//! used.

pub use crate::attrs::{Attr, Attrs};
pub use crate::basic::{BasicOp, DimIndex, ENTRY_SIZES_MESSAGE, MsgPart, ReshapeKind};
use crate::facts::Facts;
use crate::math::MathDefinitions;
use crate::name::{FunId, FunName, Name, NameTable, Prov, ProvTable};
use crate::tunable::Tunable;
use crate::types::Type;
use crate::version::Version;
use crate::walk::{Annotation, LevelOp};
use prim::{PrimType, Scalar};
use smallvec::SmallVec;
use std::fmt::Debug;
use std::sync::Arc;
use target::levels::Stack;
pub use value::interface::{EntryType, EntryValue, OpaqueTypes, Signature};

/// A level of the IR: its operations in addition to the basic ones, and its annotations of bound
/// names in addition to types. Text, verification and evaluation are traits of their own
/// ([`TextLevel`](crate::text::TextLevel), [`VerifyLevel`](crate::verify::VerifyLevel),
/// [`EvalLevel`](crate::eval::EvalLevel)).
pub trait Level: Sized + Clone + Debug + PartialEq + Send + Sync + 'static {
    /// The level's operations.
    type Op: LevelOp<Self> + Clone + Debug + PartialEq + Send + Sync;
    /// The annotation of each bound name, parameter and result.
    type Ann: Annotation<Self> + Clone + Debug + PartialEq + Send + Sync + Default;
}

/// An operand: a variable or a constant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Atom {
    /// A variable.
    Var(Name),
    /// A scalar constant.
    Const(Scalar),
}

impl Atom {
    /// The `i64` constant `x`.
    pub const fn i64(x: i64) -> Self {
        Self::Const(Scalar::I64(x))
    }

    /// The variable, if it is one.
    pub const fn var(self) -> Option<Name> {
        match self {
            Self::Var(name) => Some(name),
            Self::Const(_) => None,
        }
    }

    /// The constant, if it is one.
    pub const fn constant(self) -> Option<Scalar> {
        match self {
            Self::Var(_) => None,
            Self::Const(value) => Some(value),
        }
    }
}

impl From<Name> for Atom {
    fn from(name: Name) -> Self {
        Self::Var(name)
    }
}

/// A bound name with its type and the level's annotation: lambda and function
/// parameters and the elements of patterns.
#[derive(Clone, PartialEq, Debug)]
pub struct Param<L: Level> {
    /// The name.
    pub name: Name,
    /// Its type.
    pub ty: Type,
    /// The level's annotation.
    pub ann: L::Ann,
}

/// A statement's certificates, attributes, provenance and facts.
#[derive(Clone, PartialEq, Debug)]
pub struct Aux {
    /// Certificates that must hold before the expression is evaluated.
    pub certs: SmallVec<[Name; 2]>,
    /// Attributes from the source.
    pub attrs: Attrs,
    /// Source provenance.
    pub prov: Prov,
    /// Facts: at the level of segops only preferred orders of results, at the level with memory all
    /// others.
    pub facts: Facts,
}

impl Aux {
    /// No certificates, attributes and facts; the given provenance.
    pub fn at(prov: Prov) -> Self {
        Self { certs: SmallVec::new(), attrs: Attrs::default(), prov, facts: Facts::default() }
    }
}

/// A statement: `let pat = exp`.
#[derive(Clone, PartialEq, Debug)]
pub struct Stm<L: Level> {
    /// The names bound, a telescope.
    pub pat: Vec<Param<L>>,
    /// Certificates, attributes, provenance and facts.
    pub aux: Aux,
    /// The expression that is bound.
    pub exp: Exp<L>,
}

/// Statements followed by results.
#[derive(Clone, PartialEq, Debug)]
pub struct Body<L: Level> {
    /// The statements, in execution order.
    pub stms: Vec<Stm<L>>,
    /// The results.
    pub result: Vec<Atom>,
}

/// An anonymous function. Its return types may mention names in scope around it and its own
/// parameters, but no names bound in its body.
#[derive(Clone, PartialEq, Debug)]
pub struct Lambda<L: Level> {
    /// Parameters.
    pub params: Vec<Param<L>>,
    /// Body.
    pub body: Body<L>,
    /// Types of the results.
    pub ret: Vec<Type>,
}

impl<L: Level> Lambda<L> {
    /// Returns true if the results are the parameters in order, of their types, and there are no
    /// statements.
    pub fn is_identity(&self) -> bool {
        self.body.stms.is_empty()
            && self.params.len() == self.body.result.len()
            && self.params.len() == self.ret.len()
            && self.params.iter().zip(&self.ret).all(|(param, ty)| param.ty == *ty)
            && self
                .params
                .iter()
                .zip(&self.body.result)
                .all(|(param, result)| *result == Atom::Var(param.name))
    }
}

/// An expression.
#[derive(Clone, PartialEq, Debug)]
pub enum Exp<L: Level> {
    /// An operation without bodies, the same at every level.
    Basic(BasicOp),
    /// A conditional; both branches have the pattern's number of results.
    If {
        /// The condition, a `bool`.
        cond: Atom,
        /// Evaluated if it is true.
        then_body: Body<L>,
        /// Evaluated if it is false.
        else_body: Body<L>,
    },
    /// A sequential loop; its results are the parameters' final values.
    Loop {
        /// Loop parameters (a telescope) with their initial values.
        params: Vec<LoopParam<L>>,
        /// Kind of loop: counted or conditional.
        form: LoopForm,
        /// One iteration; its results are the parameters' next values.
        body: Body<L>,
    },
    /// A call of a function of the program. A call of a [`FunKind::Constant`] reads values that are
    /// computed once.
    Apply {
        /// The function.
        fun: FunId,
        /// Arguments, one per parameter.
        args: Vec<Atom>,
    },
    /// An operation of the level.
    Op(L::Op),
}

/// A loop parameter.
#[derive(Clone, PartialEq, Debug)]
pub struct LoopParam<L: Level> {
    /// Name, type, annotation; the type may mention earlier loop parameters.
    pub param: Param<L>,
    /// Value in the first iteration.
    pub init: Atom,
    /// True if the loop consumes the initial value (and each iteration the previous value), so that
    /// the body may update it in place.
    pub consumed: bool,
}

/// Counted or conditional loop.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum LoopForm {
    /// `for var < bound`, from 0. The variable has type `ty`; a negative bound means no iterations.
    For {
        /// The counter.
        var: Name,
        /// Its integer type.
        ty: PrimType,
        /// The exclusive upper bound, of type `ty`, signed.
        bound: Atom,
    },
    /// Iterates as long as the loop parameter of this name is true.
    While {
        /// A `bool` loop parameter.
        cond: Name,
    },
}

/// The kinds of functions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FunKind {
    /// An ordinary function.
    Function,
    /// A constant: no parameters, computed once when a context is created.
    Constant,
}

/// A function parameter.
#[derive(Clone, PartialEq, Debug)]
pub struct FunParam<L: Level> {
    /// Name, type, annotation; the type may mention earlier parameters.
    pub param: Param<L>,
    /// True if a call consumes the argument.
    pub consumed: bool,
}

/// A function result.
#[derive(Clone, PartialEq, Debug)]
pub struct FunResult<L: Level> {
    /// The type; its dimensions may be parameters or earlier results ([`Dim::Ext`]).
    pub ty: Type,
    /// Positions of the parameters that the result may alias; empty for a fresh result.
    pub aliases: Vec<u32>,
    /// The level's annotation.
    pub ann: L::Ann,
}

/// A function.
#[derive(Clone, PartialEq, Debug)]
pub struct Function<L: Level> {
    /// Its name.
    pub name: FunName,
    /// Function or constant.
    pub kind: FunKind,
    /// The function of which it is a version, and the position; if it is a version.
    pub version: Option<Version>,
    /// Attributes from the source.
    pub attrs: Attrs,
    /// Parameters, a telescope.
    pub params: Vec<FunParam<L>>,
    /// Results, a telescope.
    pub ret: Vec<FunResult<L>>,
    /// The body.
    pub body: Body<L>,
    /// Tuning parameters that the body refers to.
    pub tunables: Vec<Tunable>,
    /// All names in the function.
    pub names: NameTable,
    /// All provenance stacks in the function.
    pub provs: ProvTable,
}

/// An entry point: a function whose parameters and results represent those of the entry point, by
/// the leaves of the values in order ([`value::interface`]), each array after its sizes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EntryPoint {
    /// The function that implements it.
    pub fun: FunId,
    /// Its name and types for callers.
    pub signature: Signature,
}

/// A program.
#[derive(Clone, PartialEq, Debug)]
pub struct Program<L: Level> {
    /// The target machine's levels of parallelism.
    pub levels: Stack,
    /// Source file names, for provenance.
    pub files: Vec<Arc<str>>,
    /// The types of entry points' parameters and results other than scalars and arrays of scalars.
    pub opaques: OpaqueTypes,
    /// Entry points.
    pub entries: Vec<EntryPoint>,
    /// Functions and constants. Functions may be called before they are listed; each constant uses
    /// only earlier constants.
    pub functions: Vec<Function<L>>,
    /// The definitions of the mathematical functions that operations stand for.
    pub math: MathDefinitions,
}
