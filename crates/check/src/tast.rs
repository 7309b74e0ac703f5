//! The typed tree: what the checker hands to `lower` and to the interpreter.
//!
//! Modules are gone: every definition that the program can reach, whatever
//! module it stood in and however many times a parametric module was applied,
//! is one [`Def`] in a flat list, in an order in which each definition comes
//! after everything it mentions (except itself, for recursion). Every value,
//! global or local, parameter or size, has its own [`VarId`]; names are kept
//! only to be printed.
//!
//! Guarantees of a [`Program`] that came without errors:
//! - types are free of abbreviations and of abstract types (both are replaced
//!   by what they stand for); a [`Ty::Var`] is bound by the `ty_params` of an
//!   enclosing definition;
//! - overloading is resolved: every literal has its value and every built-in
//!   operator its scalar type;
//! - sizes in types are *claims*, not proofs: the checker rejects sizes that
//!   are plainly different, and lets pass what it cannot decide, so whoever
//!   evaluates compares actual shapes where they meet. A size that only the
//!   value itself can tell is a variable in the [`Exp::ext`] of the expression
//!   that makes the value, or [`Dim::Any`].

use crate::intrinsics::Intrinsic;
pub use crate::spelling::{Spelled, SpelledParts};
use prim::{BinOp, Scalar, ScalarType};
use std::sync::Arc;
use syntax::span::Span;

/// Text of a name, a record label or a constructor.
pub type Name = Arc<str>;

/// A value: global, local, parameter or size.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct VarId(pub u32);

/// A type variable: parameter of a polymorphic definition.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct TyVarId(pub u32);

/// An abstract type made by ascription to a module type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct TypeId(pub u32);

/// A size as it stands in a type.
#[derive(Clone, PartialEq, Debug)]
pub enum Dim {
    /// Not known statically and not named: take it from the value.
    Any,
    /// A literal size.
    Const(i64),
    /// The value of a variable of type `i64`: a size parameter, a parameter, a
    /// bound variable, or an unknown size bound by some [`Exp::ext`].
    Var(VarId),
    /// Arithmetic on sizes, on `i64`.
    Op(BinOp, Arc<(Dim, Dim)>),
    /// Any other expression of type `i64`.
    Exp(Arc<Exp>),
}

/// A type. Cheap to clone.
#[derive(Clone, PartialEq, Debug)]
pub enum Ty {
    /// A scalar type.
    Scalar(ScalarType),
    /// An array of one dimension of elements, which may be arrays again.
    Array(Arc<ArrayTy>),
    /// A tuple; `()` is the empty one, there is none of one component.
    Tuple(Arc<[Ty]>),
    /// A record, fields sorted by label (a record whose labels are 0..n is a tuple).
    Record(Arc<[(Name, Ty)]>),
    /// A sum type, constructors sorted by name, each with its payload types.
    Sum(Arc<[(Name, Arc<[Ty]>)]>),
    /// A function of one parameter.
    Arrow(Arc<ArrowTy>),
    /// A type variable. In a finished program always a type parameter.
    Var(TyVarId),
    /// An abstract type with its type and size arguments. In a finished program
    /// only the built-in accumulators (`intrinsics.acc`); others are replaced by
    /// their representation.
    Abstract(TypeId, Arc<TypeArgs>),
}

/// The arguments of an abstract type.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TypeArgs {
    /// Type arguments in order of declaration.
    pub types: Vec<Ty>,
    /// Size arguments in order of declaration.
    pub dims: Vec<Dim>,
}

/// `[dim]elem`.
#[derive(Clone, PartialEq, Debug)]
pub struct ArrayTy {
    /// Number of elements.
    pub dim: Dim,
    /// Their type.
    pub elem: Ty,
}

/// `(name: param) -> ret`.
#[derive(Clone, PartialEq, Debug)]
pub struct ArrowTy {
    /// The parameter as sizes in the result name it, if they do.
    pub name: Option<VarId>,
    /// The parameter's type.
    pub param: Ty,
    /// Which parts of the argument are consumed (`*` in the parameter's type).
    pub consumes: Uniq,
    /// The result.
    pub ret: RetType,
}

/// `?[k]...ty`: a type with sizes that the result determines.
#[derive(Clone, PartialEq, Debug)]
pub struct RetType {
    /// Existential sizes bound in `ty`.
    pub ext: Vec<VarId>,
    /// The type.
    pub ty: Ty,
    /// Which parts are free of aliases.
    pub unique: Uniq,
}

/// Which parts of a value are unique (`*`).
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Uniq {
    /// No part.
    #[default]
    None,
    /// The whole value.
    All,
    /// Component by component, for tuples and records in the type's order.
    Parts(Arc<[Uniq]>),
}

/// An attribute, `#[name(args)]`; numbers are kept as text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attr {
    /// Its name, or a decimal.
    pub name: Name,
    /// The attributes in parentheses.
    pub args: Vec<Attr>,
}

/// An expression with its type.
#[derive(Clone, PartialEq, Debug)]
pub struct Exp {
    /// What it is.
    pub kind: ExpKind,
    /// Its type, without the uniqueness.
    pub ty: Ty,
    /// The sizes in `ty` that came into being inside this expression and are
    /// unknown until it has its value: read them off the value's shape. An
    /// expression around it whose type has the same size lists it again, and
    /// means the same number.
    pub ext: Vec<VarId>,
    /// Where it stands.
    pub span: Span,
}

/// The forms of an expression.
#[derive(Clone, PartialEq, Debug)]
pub enum ExpKind {
    /// A scalar literal of the source type given (its sign is in the type only).
    Lit(Scalar, ScalarType),
    /// A string: an array of `u8`.
    String(Arc<[u8]>),
    /// A definition, a parameter or a bound variable. For a polymorphic one the
    /// instantiation of its type and size parameters, in their order.
    Var {
        /// Which.
        id: VarId,
        /// What its type parameters stand for here.
        ty_args: Vec<(TyVarId, Ty)>,
        /// What its size parameters stand for here. [`Dim::Any`] where only the
        /// arguments' shapes tell.
        size_args: Vec<(VarId, Dim)>,
    },
    /// A built-in function, as a value of function type (curried).
    Intrinsic {
        /// Its meaning.
        fun: Intrinsic,
        /// Its type arguments in order of declaration.
        ty_args: Vec<Ty>,
        /// Its size arguments in order of declaration.
        size_args: Vec<Dim>,
    },
    /// A built-in operator whose type is not inferred yet. Only inside the
    /// checker: a finished program has [`ExpKind::Intrinsic`] in its place.
    Operator(SourceOp),
    /// A tuple; `()` too.
    Tuple(Vec<Exp>),
    /// A record, fields as written.
    Record(Vec<(Name, Exp)>),
    /// `exp.label`; the components of tuples are labelled `0`, `1`, ...
    Project(Box<Exp>, Name),
    /// `record with a.b = value`.
    RecordUpdate {
        /// The record.
        record: Box<Exp>,
        /// The path of labels.
        path: Vec<Name>,
        /// The new value of the field.
        value: Box<Exp>,
    },
    /// An array of these elements. Its element type stands in the type.
    Array(Vec<Exp>),
    /// `start..second...end` and its kin; integers of one type.
    Range {
        /// The first element.
        start: Box<Exp>,
        /// The second, which gives the stride; else 1 (-1 for downwards).
        second: Option<Box<Exp>>,
        /// The bound.
        end: Box<Exp>,
        /// How the bound is meant.
        kind: RangeKind,
    },
    /// `array[i, j:k]`: an index or slice for each of the outer dimensions.
    Index {
        /// The array.
        array: Box<Exp>,
        /// At least one, at most the rank.
        indices: Vec<Index>,
    },
    /// `array with [i, j:k] = value`.
    Update {
        /// The array, consumed.
        array: Box<Exp>,
        /// At least one, at most the rank.
        indices: Vec<Index>,
        /// What to write.
        value: Box<Exp>,
    },
    /// Application to one or more arguments; may be partial, `fun` may be any expression.
    /// The arguments are evaluated before the function: from the last to the first, so that
    /// one may have sizes that a later one computes; operands from left to right.
    Apply {
        /// The function.
        fun: Box<Exp>,
        /// The arguments, at least one.
        args: Vec<Exp>,
        /// Whether it is a binary operator between its operands.
        infix: bool,
    },
    /// `\params: ret -> body`. Operator, projection and index sections too.
    Lambda(Arc<Lambda>),
    /// A sequence of local bindings, each in scope of those after it.
    Let {
        /// At least one.
        binds: Vec<Bind>,
        /// The value.
        body: Box<Exp>,
    },
    /// A conditional.
    If {
        /// The condition, `bool`.
        cond: Box<Exp>,
        /// The value if it holds.
        then: Box<Exp>,
        /// The value if not.
        otherwise: Box<Exp>,
    },
    /// A loop.
    Loop {
        /// Sizes that vary from iteration to iteration, bound by the pattern's type.
        sizes: Vec<VarId>,
        /// The loop parameters.
        pat: Box<Pat>,
        /// Their initial values.
        init: Box<Exp>,
        /// What drives it.
        form: LoopForm,
        /// The next values.
        body: Box<Exp>,
    },
    /// A `match`; exhaustive.
    Match {
        /// The value looked at.
        scrutinee: Box<Exp>,
        /// The cases; the first that fits is taken.
        cases: Vec<Case>,
    },
    /// `#label args`.
    Constr(Name, Vec<Exp>),
    /// `a && b`, control flow.
    And(Box<Exp>, Box<Exp>),
    /// `a || b`, control flow.
    Or(Box<Exp>, Box<Exp>),
    /// `exp :> ty`: check at run time that the shape is that of this node's type.
    Coerce(Box<Exp>),
    /// `assert cond exp`.
    Assert {
        /// What must hold.
        cond: Box<Exp>,
        /// The condition as written, for the message.
        text: Arc<str>,
        /// The value.
        exp: Box<Exp>,
    },
    /// `#[attrs] exp`.
    Attr(Vec<Attr>, Box<Exp>),
    /// `???`: fails when evaluated.
    Hole,
}

/// The built-in overloaded operators of the source language, before their type
/// is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SourceOp {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `%`
    Mod,
    /// `//`
    Quot,
    /// `%%`
    Rem,
    /// `**`
    Pow,
    /// `&`
    And,
    /// `|`
    Or,
    /// `^`
    Xor,
    /// `<<`
    Shl,
    /// `>>`
    Shr,
    /// `>>>`
    LShr,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// Prefix `-`
    Neg,
    /// Prefix `!`
    Not,
}

/// How the bound of a range is meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RangeKind {
    /// `...`: including the bound.
    Inclusive,
    /// `..<`: upwards, without the bound.
    UpTo,
    /// `..>`: downwards, without the bound.
    DownTo,
}

/// One position of an index path.
#[derive(Clone, PartialEq, Debug)]
#[allow(clippy::large_enum_variant, reason = "few, and made once")]
pub enum Index {
    /// `[i]`: integers of any type.
    At(Exp),
    /// `[from:to:step]`, all `i64`.
    Slice {
        /// Start, if written.
        from: Option<Exp>,
        /// End, if written.
        to: Option<Exp>,
        /// Step, if written.
        step: Option<Exp>,
    },
}

/// One local binding.
#[derive(Clone, PartialEq, Debug)]
#[allow(clippy::large_enum_variant, reason = "nearly all are of the large form")]
pub enum Bind {
    /// `let [sizes] pat = rhs`.
    Pat {
        /// Sizes that the pattern's type binds, as far as they were written.
        sizes: Vec<VarId>,
        /// The pattern, irrefutable.
        pat: Pat,
        /// The bound expression.
        rhs: Exp,
    },
    /// `let f [n] 't params = ...`: a local function, possibly polymorphic. It
    /// may mention values of the scope around it, not itself.
    Fun(Arc<Def>),
}

/// What drives a loop.
#[derive(Clone, PartialEq, Debug)]
pub enum LoopForm {
    /// `for i < bound`: `i` counts from 0 in the bound's type.
    For(VarId, Box<Exp>),
    /// `for pat in array`.
    ForIn(Box<Pat>, Box<Exp>),
    /// `while cond`, in the scope of the parameters.
    While(Box<Exp>),
}

/// One case of a `match`.
#[derive(Clone, PartialEq, Debug)]
pub struct Case {
    /// The pattern, may fail.
    pub pat: Pat,
    /// Its value.
    pub body: Exp,
}

/// An anonymous function.
#[derive(Clone, PartialEq, Debug)]
pub struct Lambda {
    /// At least one parameter.
    pub params: Vec<Pat>,
    /// The type of the result.
    pub ret: RetType,
    /// The body.
    pub body: Exp,
}

/// A pattern with its type.
#[derive(Clone, PartialEq, Debug)]
pub struct Pat {
    /// What it is.
    pub kind: PatKind,
    /// The type of what it matches.
    pub ty: Ty,
    /// Which parts of the value are consumed by (parameters) or owned in
    /// (bindings) its scope: `*` in the type as written.
    pub consumes: Uniq,
    /// Where it stands.
    pub span: Span,
}

/// The forms of a pattern.
#[derive(Clone, PartialEq, Debug)]
pub enum PatKind {
    /// Anything, bound to a name.
    Var(VarId),
    /// Anything.
    Wildcard,
    /// A tuple; `()` too.
    Tuple(Vec<Pat>),
    /// A record: every field of the type, as written.
    Record(Vec<(Name, Pat)>),
    /// Exactly this value.
    Lit(Scalar, ScalarType),
    /// A constructor with its payload.
    Constr(Name, Vec<Pat>),
    /// A pattern with attributes.
    Attr(Vec<Attr>, Box<Pat>),
}

/// A definition, of a function or (without parameters) of a constant.
#[derive(Clone, PartialEq, Debug)]
pub struct Def {
    /// The value it defines.
    pub var: VarId,
    /// Where its name stands.
    pub span: Span,
    /// Its attributes.
    pub attrs: Vec<Attr>,
    /// Type parameters, written and inferred.
    pub ty_params: Vec<TyVarId>,
    /// Size parameters, written and inferred; values of type `i64` in the body.
    pub size_params: Vec<VarId>,
    /// Parameters; none for a constant. (The body may be a function all the same.)
    pub params: Vec<Pat>,
    /// The type of the body.
    pub ret: RetType,
    /// The body.
    pub body: Exp,
    /// Whether it is an entry point.
    pub entry: bool,
    /// Whether it stands in the prelude.
    pub is_prelude: bool,
}

/// A type as an entry point shows it to the outside.
#[derive(Clone, PartialEq, Debug)]
pub struct EntryType {
    /// The type, in full.
    pub ty: Ty,
    /// The type as written (the name of an abbreviation, `[n]f32`, ...), without
    /// `*`; `None` where it was inferred.
    pub text: Option<Arc<str>>,
    /// How users know the type and its parts, where it was written.
    pub spelled: Option<Arc<Spelled>>,
    /// Whether it carries `*` as a whole (consumed parameter, alias-free result).
    pub unique: bool,
}

/// One parameter of an entry point.
#[derive(Clone, PartialEq, Debug)]
pub struct EntryParam {
    /// Its name; empty where the pattern has none.
    pub name: Name,
    /// Its type.
    pub ty: EntryType,
}

/// An entry point.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// The name, as written.
    pub name: Name,
    /// The definition; it may have fewer `params` than the entry point when its
    /// body is a function.
    pub var: VarId,
    /// All parameters of the (uncurried) type.
    pub params: Vec<EntryParam>,
    /// The result. A tuple result is one component per output.
    pub results: Vec<EntryType>,
    /// Where its name stands.
    pub span: Span,
}

/// What is known of a value apart from its use.
#[derive(Clone, PartialEq, Debug)]
pub struct VarInfo {
    /// The name as written (without module qualifiers).
    pub name: Name,
}

/// A checked program.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Program {
    /// Definitions, each after those it mentions.
    pub defs: Vec<Arc<Def>>,
    /// Entry points of the root file, in source order.
    pub entries: Vec<Entry>,
    /// The table of values, indexed by [`VarId`].
    pub vars: Vec<VarInfo>,
    /// The names of type variables, indexed by [`TyVarId`].
    pub ty_vars: Vec<Name>,
}

impl Program {
    /// The printed name of a value.
    pub fn name(&self, var: VarId) -> &str {
        self.vars.get(var.0 as usize).map_or("?", |info| &info.name)
    }
}

impl Drop for Exp {
    /// Long chains of operators nest as deeply as they are long, so dropping
    /// grows the stack where little is left.
    fn drop(&mut self) {
        if matches!(self.kind, ExpKind::Lit(..) | ExpKind::Var { .. } | ExpKind::Hole) {
            return;
        }
        if stacker::remaining_stack().is_none_or(|left| left < crate::RED_ZONE) {
            let kind = std::mem::replace(&mut self.kind, ExpKind::Hole);
            stacker::grow(crate::STACK_STEP, move || drop(kind));
        }
    }
}

impl Ty {
    /// The type `i64`, that of sizes and indices.
    pub const I64: Self = Self::Scalar(ScalarType::I64);
    /// The type `bool`.
    pub const BOOL: Self = Self::Scalar(ScalarType::Bool);

    /// `[dim]elem`.
    pub fn array(dim: Dim, elem: Self) -> Self {
        Self::Array(Arc::new(ArrayTy { dim, elem }))
    }

    /// The unit type `()`.
    pub fn unit() -> Self {
        Self::Tuple(Arc::from([]))
    }

    /// `param -> ret`, consuming nothing.
    pub fn arrow(param: Self, ret: Self) -> Self {
        Self::Arrow(Arc::new(ArrowTy { name: None, param, consumes: Uniq::None, ret: RetType::plain(ret) }))
    }

    /// The number of outer array dimensions and the type under them.
    pub fn peel(&self) -> (usize, &Self) {
        let (mut rank, mut ty) = (0, self);
        while let Self::Array(array) = ty {
            rank += 1;
            ty = &array.elem;
        }
        (rank, ty)
    }

    /// The type of a field of a record or component of a tuple.
    pub fn field(&self, label: &str) -> Option<&Self> {
        match self {
            Self::Tuple(parts) => parts.get(label.parse::<usize>().ok()?),
            Self::Record(fields) => fields.iter().find(|(l, _)| &**l == label).map(|(_, t)| t),
            Self::Scalar(_)
            | Self::Array(_)
            | Self::Sum(_)
            | Self::Arrow(_)
            | Self::Var(_)
            | Self::Abstract(..) => None,
        }
    }
}

impl RetType {
    /// A result without existential sizes or uniqueness.
    pub const fn plain(ty: Ty) -> Self {
        Self { ext: Vec::new(), ty, unique: Uniq::None }
    }
}
