//! The syntax shared by all levels: programs, functions, bodies, statements, basic operations.
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
use crate::eval::{Evaluate, MemLocation};
use crate::facts::Facts;
use crate::math::MathDefinitions;
use crate::name::{FunName, Name, NameTable, Prov, ProvTable};
use crate::text::TextForm;
use crate::tunable::{Tunable, TunableId};
use crate::types::{Dim, Shape, Type};
use crate::verify::{AnnotationRules, Rules};
use crate::version::Version;
use crate::walk::{Annotation, LevelOp};
use prim::{BinOp, CmpOp, ConvOp, MathFun, PrimType, Scalar, ScalarType, UnOp};
use smallvec::SmallVec;
use std::fmt::Debug;
use std::sync::Arc;
use target::levels::Stack;
pub use value::interface::{EntryType, EntryValue, OpaqueTypes, Signature};

/// A level of the IR: its operations in addition to the basic ones, and its annotations of bound
/// names in addition to types.
pub trait Level: Sized + Clone + Debug + PartialEq + Send + Sync + 'static {
    /// The level's operations.
    type Op: LevelOp<Self> + TextForm + Rules<Self> + Evaluate<Self> + Clone + Debug + PartialEq + Send + Sync;
    /// The annotation of each bound name, parameter and result.
    type Ann: Annotation<Self>
        + MemLocation
        + TextForm
        + AnnotationRules
        + Clone
        + Debug
        + PartialEq
        + Send
        + Sync
        + Default;
    /// The level's name in IR text and on the command line.
    const NAME: &'static str;
    /// True if statements may carry facts. No pass rewrites them afterwards.
    const FACTS: bool = false;
    /// True if statements may carry preferred dimension orders of their results.
    const LAYOUTS: bool = false;
    /// True if an operation that computes the sizes of its results also returns their blocks.
    const RETURNS_BLOCKS: bool = false;
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
        fun: FunName,
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

/// One dimension of an index or slice.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DimIndex {
    /// One index, `i64`; the dimension disappears.
    Fix(Atom),
    /// The indices `start + k * stride` for `k < count`.
    Slice {
        /// First index.
        start: Atom,
        /// Number of indices; the size of the new dimension.
        count: Dim,
        /// Distance between indices, of any sign.
        stride: Atom,
    },
}

impl DimIndex {
    /// Returns true if these are all indices of a dimension, in order.
    pub fn is_full(&self, dim: Dim) -> bool {
        matches!(self, Self::Slice { start, count, stride }
            if *start == Atom::i64(0) && *count == dim && *stride == Atom::i64(1))
    }
}

/// The guarantee of a reshape.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ReshapeKind {
    /// The same dimensions under other names; certificates prove them equal.
    Coerce,
    /// Other dimensions with the same product; row-major order is kept.
    Arbitrary,
}

/// A part of an error message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MsgPart {
    /// Fixed text.
    Text(Arc<str>),
    /// A value, formatted as a value of this source type.
    Value(ScalarType, Atom),
}

/// Prefix of the messages of failed checks of an entry point's argument sizes.
pub const ENTRY_SIZES_MESSAGE: &str = "entry point arguments have invalid sizes";

/// Operations without bodies.
#[derive(Clone, PartialEq, Debug)]
pub enum BasicOp {
    /// The operand itself.
    Atom(Atom),
    /// A unary operator at a type.
    Unary(UnOp, PrimType, Atom),
    /// A binary operator at a type.
    Binary(BinOp, PrimType, Atom, Atom),
    /// A comparison at an operand type; yields `bool`.
    Compare(CmpOp, PrimType, Atom, Atom),
    /// Compares a size (`i64`) with a tuning parameter: true if the size is not less; yields
    /// `bool`. Never folded, since the parameter's value is known at run time only.
    SizeAtLeast {
        /// The size.
        size: Atom,
        /// The function's tuning parameter.
        tunable: TunableId,
    },
    /// The value (`i64`) of a user-defined tuning parameter, by its name in the source program, or
    /// the default if it is not set. Never folded.
    Param {
        /// The parameter's name.
        name: Arc<str>,
        /// The default value.
        default: Atom,
    },
    /// A conversion.
    Convert {
        /// The conversion operator.
        op: ConvOp,
        /// The operand's type.
        from: PrimType,
        /// The result's type.
        to: PrimType,
        /// The operand.
        arg: Atom,
    },
    /// One of two scalars, both already evaluated.
    Select {
        /// Type of the scalars.
        ty: PrimType,
        /// The condition, a `bool`.
        cond: Atom,
        /// Result when true.
        if_true: Atom,
        /// Result when false.
        if_false: Atom,
    },
    /// Fused multiply-add `a * b + c` with one rounding.
    Fma(PrimType, Atom, Atom, Atom),
    /// A mathematical function: the program's definition of it at this type, or a library function
    /// where types have no definitions ([`MathFun::has_definition`]).
    Math(MathFun, PrimType, SmallVec<[Atom; 2]>),
    /// A check: a certificate if `cond` holds; otherwise the program fails with the message.
    Assert {
        /// The condition.
        cond: Atom,
        /// The error message.
        msg: Vec<MsgPart>,
    },
    /// An element or slice; aliases the array. Has one entry per dimension of the array. Its
    /// certificates guarantee that it is in bounds.
    Index {
        /// The array.
        array: Name,
        /// One entry per dimension.
        slice: Vec<DimIndex>,
    },
    /// The array with the slice replaced; consumes the array.
    Update {
        /// The array.
        array: Name,
        /// One entry per dimension.
        slice: Vec<DimIndex>,
        /// A scalar, or an array of the slice's shape.
        value: Atom,
    },
    /// A view that replaces the outermost dimension by several: `dims` are the sizes and strides
    /// (in rows) of the new dimensions. Aliases the array. Must not be consumed, as it may contain
    /// an element more than once.
    FlatIndex {
        /// The array.
        array: Name,
        /// The first row.
        offset: Atom,
        /// At least one.
        dims: SmallVec<[(Dim, Atom); 4]>,
    },
    /// The array with the rows of such a view replaced; consumes the array.
    FlatUpdate {
        /// The array.
        array: Name,
        /// The first row.
        offset: Atom,
        /// Strides in rows; the sizes are the value's outer ones.
        strides: SmallVec<[Atom; 4]>,
        /// The new rows, an array.
        value: Name,
    },
    /// Concatenation of arrays along a dimension; a fresh array.
    Concat {
        /// The dimension.
        dim: usize,
        /// At least one.
        arrays: Vec<Name>,
        /// The sum of the arrays' sizes in that dimension.
        width: Dim,
    },
    /// `start + i * stride` for `i < count`; a fresh array. The arithmetic wraps.
    Iota {
        /// Integer type of the elements.
        ty: PrimType,
        /// Number of elements.
        count: Dim,
        /// First element.
        start: Atom,
        /// Difference of consecutive elements.
        stride: Atom,
    },
    /// The value (scalar or array) repeated over new outer dimensions; a fresh array.
    Replicate {
        /// The new dimensions.
        shape: Shape,
        /// The value that is repeated.
        value: Atom,
    },
    /// A fresh array of unspecified contents.
    Scratch {
        /// Element type.
        elem: PrimType,
        /// Shape.
        shape: Shape,
    },
    /// Permuted dimensions: result dimension `i` is dimension `perm[i]` of the array. Aliases.
    Rearrange {
        /// A permutation of `0..rank`.
        perm: SmallVec<[usize; 3]>,
        /// The array.
        array: Name,
    },
    /// The same elements in row-major order under another shape. Aliases.
    Reshape {
        /// Its guarantee.
        kind: ReshapeKind,
        /// The new shape.
        shape: Shape,
        /// The array.
        array: Name,
    },
    /// A fresh copy.
    Copy(Name),
    /// A fresh copy with its dimensions in this order in memory.
    Manifest {
        /// Order of the dimensions, by decreasing stride.
        perm: SmallVec<[usize; 3]>,
        /// The array.
        array: Name,
    },
    /// An array of given elements (scalars, or arrays of one shape); a fresh array.
    ArrayLit {
        /// The type of one element.
        row: Type,
        /// The elements.
        elems: Vec<Atom>,
    },
    /// A constant array, opaque to all passes; row-major, little-endian.
    ConstArray {
        /// Element type.
        elem: PrimType,
        /// Constant dimensions.
        shape: SmallVec<[i64; 3]>,
        /// The elements' bytes.
        bytes: Arc<[u8]>,
    },
    /// The operand, hidden from the optimiser.
    Opaque(Atom),
    /// The accumulator with `values` combined with the element at the index or, without an
    /// operator, written there. Updates at out-of-bounds indices are ignored.
    UpdateAcc {
        /// The accumulator.
        acc: Name,
        /// One `i64` per dimension of the accumulator's shape.
        index: SmallVec<[Atom; 2]>,
        /// One per element type.
        values: Vec<Atom>,
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
pub struct EntryPoint<F = FunName> {
    /// The function that implements it.
    pub fun: F,
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
