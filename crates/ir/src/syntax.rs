//! What all levels share: programs, functions, bodies, statements, basic operations.
//!
//! **Telescopes.** The results of an `if`, a loop, a call or an operation may
//! include sizes, and the types of later results then mention them: a pattern's
//! element may use the names bound by earlier elements of the same pattern
//! (`let (n, xs: [n]i32) = ...`), loop parameters likewise, and a function's
//! return types say [`Dim::Ext`] with the position of the result.
//!
//! **Certificates.** [`BasicOp::Assert`] yields a certificate; a statement that
//! may only run once a check has held lists it in its [`Aux`]. Nothing else
//! orders checks.
//!
//! **Consumption.** [`BasicOp::Update`] consumes the array that it updates, a
//! call consumes what its consumed parameters get, a loop what its consumed
//! parameters start from, `withacc` its arrays, a histogram its destinations.
//! After consumption neither the array nor any alias of it may be used.

pub use crate::attrs::{Attr, Attrs};
pub use crate::entry::{EntryPoint, EntryType, EntryValue, OpaqueTypes};
use crate::eval::{Evaluate, Place};
use crate::facts::Facts;
use crate::name::{FunName, Name, NameTable, Prov, ProvTable};
use crate::text::TextForm;
use crate::tunable::{Tunable, TunableId};
use crate::types::{Dim, Shape, Type};
use crate::verify::{AnnotationRules, Rules};
use crate::version::Version;
use crate::walk::{Annotation, Operation};
use prim::{BinOp, CmpOp, ConvOp, MathFun, PrimType, Scalar, ScalarType, UnOp};
use smallvec::SmallVec;
use std::fmt::Debug;
use std::sync::Arc;
use target::levels::Stack;

/// A level of the IR: which operations there are beside the basic ones, and
/// what is known about each bound name beside its type.
pub trait Level: Sized + Clone + Debug + PartialEq + Send + Sync + 'static {
    /// The level's operations.
    type Op: Operation<Self>
        + TextForm
        + Rules<Self>
        + Evaluate<Self>
        + Clone
        + Debug
        + PartialEq
        + Send
        + Sync;
    /// What each bound name, parameter and result carries.
    type Ann: Annotation<Self>
        + Place
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
    /// Whether statements may carry facts: nothing rewrites them after.
    const FACTS: bool = false;
    /// Whether statements may say in which order results had better lie.
    const ORDERS: bool = false;
    /// Whether an operation whose arrays' sizes it finds out itself gives their blocks, too.
    const BLOCKS: bool = false;
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
    /// What the level knows about it.
    pub ann: L::Ann,
}

/// A statement's certificates, attributes, provenance and facts.
#[derive(Clone, PartialEq, Debug)]
pub struct Aux {
    /// Certificates that must hold before the expression is evaluated.
    pub certs: SmallVec<[Name; 2]>,
    /// Attributes from the source.
    pub attrs: Attrs,
    /// Where it came from.
    pub prov: Prov,
    /// What is known about it: at the level of segops only how results had better lie, all
    /// else at the level with memory.
    pub facts: Facts,
}

impl Aux {
    /// No certificates, no attributes, no facts, this provenance.
    pub fn at(prov: Prov) -> Self {
        Self { certs: SmallVec::new(), attrs: Attrs::default(), prov, facts: Facts::default() }
    }
}

/// A statement: `let pat = exp`.
#[derive(Clone, PartialEq, Debug)]
pub struct Stm<L: Level> {
    /// The names bound, a telescope.
    pub pat: Vec<Param<L>>,
    /// Certificates, attributes, provenance.
    pub aux: Aux,
    /// What is computed.
    pub exp: Exp<L>,
}

/// Statements, then results.
#[derive(Clone, PartialEq, Debug)]
pub struct Body<L: Level> {
    /// The statements, in order.
    pub stms: Vec<Stm<L>>,
    /// The results.
    pub result: Vec<Atom>,
}

/// An anonymous function. Its return types mention names in scope around it,
/// or its own parameters, never its body.
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
    /// Whether it gives its parameters back, in order, and does nothing else.
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
        /// A truth value.
        cond: Atom,
        /// Results when it is true.
        then_body: Body<L>,
        /// Results when it is false.
        else_body: Body<L>,
    },
    /// A sequential loop; its results are the parameters' final values.
    Loop {
        /// Loop parameters (a telescope) with their initial values.
        params: Vec<LoopParam<L>>,
        /// How it iterates.
        form: LoopForm,
        /// One iteration: results are the parameters' next values.
        body: Body<L>,
    },
    /// A call of a function of the program. Calling a
    /// [`FunKind::Constant`] reads values computed once.
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
    /// Whether the loop consumes the initial value (and each iteration the
    /// previous one), so that the body may update it in place.
    pub consumed: bool,
}

/// How a loop iterates.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum LoopForm {
    /// `for var < bound`, from 0; the variable has type `ty`; a negative bound runs no iteration.
    For {
        /// The counter.
        var: Name,
        /// Its integer type.
        ty: PrimType,
        /// The exclusive upper bound, of type `ty`, signed.
        bound: Atom,
    },
    /// While the loop parameter of this name is true.
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
        /// How many; the new dimension.
        count: Dim,
        /// Distance, any sign.
        stride: Atom,
    },
}

impl DimIndex {
    /// Whether these are all indices of a dimension, in order.
    pub fn is_all_of(&self, dim: Dim) -> bool {
        matches!(self, Self::Slice { start, count, stride }
            if *start == Atom::i64(0) && *count == dim && *stride == Atom::i64(1))
    }
}

/// What a reshape promises.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ReshapeKind {
    /// The same dimensions under other names; certificates prove them equal.
    Coerce,
    /// Other dimensions with the same product; row-major order is kept.
    Arbitrary,
}

/// A piece of an error message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MsgPart {
    /// Fixed text.
    Text(Arc<str>),
    /// A value, shown as a value of this source type.
    Value(ScalarType, Atom),
}

/// How messages begin that say that the sizes of an entry point's arguments do not go
/// together.
pub const ENTRY_SIZES: &str = "entry point arguments have invalid sizes";

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
    /// Whether a size (`i64`) is no less than a parameter; yields `bool`. The value
    /// is known when the program runs, so it is never folded.
    SizeAtLeast {
        /// What is compared.
        size: Atom,
        /// The function's parameter.
        tunable: TunableId,
    },
    /// The value (`i64`) that the tuning parameter of a name is given, by which the source
    /// program knows it; the operand, if it is given none. It is never folded.
    Param {
        /// The name.
        name: Arc<str>,
        /// The value otherwise.
        default: Atom,
    },
    /// A conversion.
    Convert {
        /// Which one.
        op: ConvOp,
        /// The operand's type.
        from: PrimType,
        /// The result's type.
        to: PrimType,
        /// The operand.
        arg: Atom,
    },
    /// One of two scalars; both are evaluated already.
    Select {
        /// Type of the scalars.
        ty: PrimType,
        /// A truth value.
        cond: Atom,
        /// Result when true.
        if_true: Atom,
        /// Result when false.
        if_false: Atom,
    },
    /// Fused multiply-add `a * b + c` with one rounding.
    Fma(PrimType, Atom, Atom, Atom),
    /// A library function.
    Math(MathFun, PrimType, SmallVec<[Atom; 2]>),
    /// A check: a certificate if `cond` holds, else the program fails with the message.
    Assert {
        /// What must hold.
        cond: Atom,
        /// What is said if it does not.
        msg: Vec<MsgPart>,
    },
    /// An element or slice; the result aliases the array. As many entries as
    /// the array has dimensions. In bounds by its certificates.
    Index {
        /// The array.
        array: Name,
        /// Per dimension.
        slice: Vec<DimIndex>,
    },
    /// The array with the slice replaced; consumes the array.
    Update {
        /// The array.
        array: Name,
        /// Per dimension.
        slice: Vec<DimIndex>,
        /// A scalar, or an array of the slice's shape.
        value: Atom,
    },
    /// A view that divides the outermost dimension: `dims` are the sizes of the
    /// new dimensions and the distances between neighbours in them. Aliases. An
    /// element may be in it more than once, so it is not to be consumed.
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
        /// Distances; the sizes are the value's outer ones.
        strides: SmallVec<[Atom; 4]>,
        /// An array.
        value: Name,
    },
    /// Arrays one after another along a dimension; a fresh array.
    Concat {
        /// Which dimension.
        dim: usize,
        /// At least one.
        arrays: Vec<Name>,
        /// The sum of the arrays' sizes in that dimension.
        width: Dim,
    },
    /// `start + i * stride` for `i < count`; a fresh array. Wraps.
    Iota {
        /// Integer type of the elements.
        ty: PrimType,
        /// Number of elements.
        count: Dim,
        /// First element.
        start: Atom,
        /// Distance.
        stride: Atom,
    },
    /// The value (scalar or array) repeated over new outer dimensions; a fresh array.
    Replicate {
        /// The new dimensions.
        shape: Shape,
        /// What is repeated.
        value: Atom,
    },
    /// A fresh array of unspecified contents.
    Scratch {
        /// Element type.
        elem: PrimType,
        /// Shape.
        shape: Shape,
    },
    /// Dimensions permuted: result dimension `i` is dimension `perm[i]` of the array. Aliases.
    Rearrange {
        /// A permutation of `0..rank`.
        perm: SmallVec<[usize; 3]>,
        /// The array.
        array: Name,
    },
    /// The same elements in row-major order under another shape. Aliases.
    Reshape {
        /// What it promises.
        kind: ReshapeKind,
        /// The new shape.
        shape: Shape,
        /// The array.
        array: Name,
    },
    /// A fresh copy.
    Copy(Name),
    /// A fresh copy laid out in memory with the dimensions in this order.
    Manifest {
        /// Order of the dimensions, slowest first.
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
    /// A constant array that no pass walks; row-major, little-endian.
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
    /// The accumulator with `values` combined into (or, without an operator,
    /// written at) the index. Out-of-bounds indices are ignored.
    UpdateAcc {
        /// The accumulator.
        acc: Name,
        /// One `i64` per dimension of the accumulator's shape.
        index: SmallVec<[Atom; 2]>,
        /// One per element type.
        values: Vec<Atom>,
    },
}

/// What a function is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FunKind {
    /// An ordinary function.
    Function,
    /// A constant: no parameters, computed once when a context is made.
    Constant,
}

/// A function parameter.
#[derive(Clone, PartialEq, Debug)]
pub struct FunParam<L: Level> {
    /// Name, type, annotation; the type may mention earlier parameters.
    pub param: Param<L>,
    /// Whether a call consumes the argument.
    pub consumed: bool,
}

/// A function result.
#[derive(Clone, PartialEq, Debug)]
pub struct FunResult<L: Level> {
    /// The type; dimensions may be parameters or earlier results ([`Dim::Ext`]).
    pub ty: Type,
    /// Positions of the parameters that the result may alias; empty means fresh.
    pub aliases: Vec<u32>,
    /// What the level knows about it.
    pub ann: L::Ann,
}

/// A function.
#[derive(Clone, PartialEq, Debug)]
pub struct Function<L: Level> {
    /// Its name.
    pub name: FunName,
    /// Function or constant.
    pub kind: FunKind,
    /// What it is a version of, if it is one.
    pub version: Option<Version>,
    /// Attributes from the source.
    pub attrs: Attrs,
    /// Parameters, a telescope.
    pub params: Vec<FunParam<L>>,
    /// Results, a telescope.
    pub ret: Vec<FunResult<L>>,
    /// The body.
    pub body: Body<L>,
    /// Tuning parameters that comparisons in the body name.
    pub tunables: Vec<Tunable>,
    /// All names in the function.
    pub names: NameTable,
    /// All provenance stacks in the function.
    pub provs: ProvTable,
}

/// A program.
#[derive(Clone, PartialEq, Debug)]
pub struct Program<L: Level> {
    /// The machine whose levels segops stand at.
    pub stack: Stack,
    /// Source files, for provenance.
    pub files: Vec<Arc<str>>,
    /// The types of entry points that are neither scalars nor arrays of these.
    pub opaques: OpaqueTypes,
    /// Entry points.
    pub entries: Vec<EntryPoint>,
    /// Functions and constants, callees anywhere, constants in an order in
    /// which each uses only earlier ones.
    pub functions: Vec<Function<L>>,
}
