//! The typed tree: the checker's output, for the crate `lower` and the interpreter.
//!
//! It has no modules: every definition that the program can reach is one [`Def`] in a flat list,
//! for any module and for each application of a parametric module. Each definition comes after all
//! that it mentions (except itself, for recursion). Every value, global or local, parameter or
//! size, has its own [`VarId`]; names are kept only for printing.
//!
//! Guarantees of a [`Program`] without errors:
//! - types contain no abbreviations and no abstract types (both are replaced by their definitions),
//!   except for built-in accumulators; a [`Ty::Var`] is bound by the `ty_params` of an enclosing
//!   definition;
//! - overloading is resolved: every literal has its value and every built-in operator its scalar
//!   type;
//! - sizes in types are *claims*, not proofs: the checker rejects sizes that plainly differ and
//!   accepts undecided ones, so evaluators compare actual shapes where they must agree. A size that
//!   only the value determines is a variable in the [`Exp::ext`] of the expression that makes the
//!   value, or [`Dim::Any`].

pub use crate::external_name::{ExternalName, ExternalParts};
use crate::intrinsics::Intrinsic;
use prim::{BinOp, Scalar, ScalarType};
use std::sync::Arc;
use syntax::span::Span;

/// The text of a name, a record label or a constructor.
pub type Name = Arc<str>;

prim::dense_ids! {
    /// A value: global, local, parameter or size.
    pub struct VarId;

    /// A type variable: a parameter of a polymorphic definition.
    pub struct TyVarId;

    /// An abstract type made by ascription to a module type.
    pub struct AbstractTypeId;
}

/// A size in a type.
#[derive(Clone, PartialEq, Debug)]
pub enum Dim {
    /// Not known statically and not named: it is read off the value.
    Any,
    /// A literal size.
    Const(i64),
    /// The value of a variable of type `i64`: a size parameter, a parameter, a bound variable, or
    /// an unknown size bound by some [`Exp::ext`].
    Var(VarId),
    /// Arithmetic on sizes, in `i64`.
    Op(BinOp, Arc<(Dim, Dim)>),
    /// Any other expression of type `i64`.
    Exp(Arc<Exp>),
}

/// A type. Cheap to clone.
#[derive(Clone, PartialEq, Debug)]
pub enum Ty {
    /// A scalar type.
    Scalar(ScalarType),
    /// A one-dimensional array of elements, which may be arrays.
    Array(Arc<ArrayTy>),
    /// A tuple; `()` is the empty one. There is none with one component.
    Tuple(Arc<[Ty]>),
    /// A record with its fields sorted by label (a record with labels 0..n is a tuple).
    Record(Arc<[(Name, Ty)]>),
    /// A sum type with its constructors sorted by name, each with its payload types.
    Sum(Arc<[(Name, Arc<[Ty]>)]>),
    /// A function of one parameter.
    Arrow(Arc<ArrowTy>),
    /// A type variable; in a finished program always a type parameter.
    Var(TyVarId),
    /// An abstract type with its type and size arguments. In a finished program only the built-in
    /// accumulators (`intrinsics.acc`); others are replaced by their representation.
    Abstract(AbstractTypeId, Arc<TypeArgs>),
}

/// The arguments of an abstract type.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TypeArgs {
    /// Type arguments, in order of declaration.
    pub types: Vec<Ty>,
    /// Size arguments, in order of declaration.
    pub dims: Vec<Dim>,
}

/// `[dim]elem`.
#[derive(Clone, PartialEq, Debug)]
pub struct ArrayTy {
    /// The number of elements.
    pub dim: Dim,
    /// The type of the elements.
    pub elem: Ty,
}

/// `(name: param) -> ret`.
#[derive(Clone, PartialEq, Debug)]
pub struct ArrowTy {
    /// The variable by which sizes in the result refer to the argument, if they do.
    pub name: Option<VarId>,
    /// The type of the parameter.
    pub param: Ty,
    /// The parts of the argument that are consumed (`*` in the parameter's type).
    pub consumes: Uniq,
    /// The result.
    pub ret: RetType,
}

/// `?[k]...ty`: a type with sizes that the result determines.
#[derive(Clone, PartialEq, Debug)]
pub struct RetType {
    /// Existential sizes bound in `ty`.
    pub existential_sizes: Vec<VarId>,
    /// The type.
    pub ty: Ty,
    /// The parts that are free of aliases.
    pub unique: Uniq,
}

/// The parts of a value that are unique (`*`).
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
    /// The name, or a number in decimal.
    pub name: Name,
    /// The attributes in parentheses.
    pub args: Vec<Attr>,
}

/// An expression with its type.
#[derive(Clone, PartialEq, Debug)]
pub struct Exp {
    /// The form.
    pub kind: ExpKind,
    /// The type, without the uniqueness.
    pub ty: Ty,
    /// The sizes in `ty` that are created inside this expression and are unknown until it has its
    /// value: they are read off the value's shape. An enclosing expression whose type has the same
    /// size lists it again, for the same number.
    pub existential_sizes: Vec<VarId>,
    /// The source span.
    pub span: Span,
}

/// The forms of an expression.
#[derive(Clone, PartialEq, Debug)]
pub enum ExpKind {
    /// A scalar literal of the given source type (the signedness is in the type only).
    Lit(Scalar, ScalarType),
    /// A string: an array of `u8`.
    String(Arc<[u8]>),
    /// A definition, a parameter or a bound variable. For a polymorphic one, also the instances of
    /// its type and size parameters, in their order.
    Var {
        /// The variable.
        id: VarId,
        /// The instances of its type parameters.
        ty_args: Vec<(TyVarId, Ty)>,
        /// The instances of its size parameters. [`Dim::Any`] if only the arguments' shapes
        /// determine it.
        size_args: Vec<(VarId, Dim)>,
    },
    /// A built-in function, as a value of function type (curried).
    Intrinsic {
        /// The function.
        fun: Intrinsic,
        /// Its type arguments, in order of declaration.
        ty_args: Vec<Ty>,
        /// Its size arguments, in order of declaration.
        size_args: Vec<Dim>,
    },
    /// A built-in operator whose type is not inferred yet. It occurs only inside the checker: a
    /// finished program has [`ExpKind::Intrinsic`] in its place.
    Operator(OverloadedOp),
    /// A tuple, including `()`.
    Tuple(Vec<Exp>),
    /// A record, its fields in source order.
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
    /// An array of these elements. The element type is in the node's type.
    Array(Vec<Exp>),
    /// `start..second...end` and its other forms; integers of one type.
    Range {
        /// The first element.
        start: Box<Exp>,
        /// The second element, which determines the stride; if absent, that is 1 (-1 for downward
        /// ranges).
        second: Option<Box<Exp>>,
        /// The bound.
        end: Box<Exp>,
        /// The form of the bound.
        kind: RangeKind,
    },
    /// `array[i, j:k]`: an index or slice for each of the outer dimensions.
    Index {
        /// The array.
        array: Box<Exp>,
        /// At least one, at most as many as the rank.
        indices: Vec<Index>,
    },
    /// `array with [i, j:k] = value`.
    Update {
        /// The array, consumed.
        array: Box<Exp>,
        /// At least one, at most as many as the rank.
        indices: Vec<Index>,
        /// The new value.
        value: Box<Exp>,
    },
    /// Application to one or more arguments; may be partial, and `fun` may be any expression.
    /// Arguments are evaluated before the function, from the last to the first, so that one may
    /// have sizes that a later one computes. The operands of a binary operator are evaluated from
    /// left to right.
    Apply {
        /// The function.
        fun: Box<Exp>,
        /// The arguments, at least one.
        args: Vec<Exp>,
        /// True if it is a binary operator between its operands.
        infix: bool,
    },
    /// `\params: ret -> body`; also operator, projection and index sections.
    Lambda(Arc<Lambda>),
    /// A sequence of local bindings, each in scope of those after it.
    Let {
        /// At least one binding.
        binds: Vec<Bind>,
        /// The result.
        body: Box<Exp>,
    },
    /// A conditional.
    If {
        /// The condition, of type `bool`.
        cond: Box<Exp>,
        /// The value if the condition is true.
        then: Box<Exp>,
        /// The value if the condition is false.
        otherwise: Box<Exp>,
    },
    /// A loop.
    Loop {
        /// The sizes that vary between iterations, bound by the pattern's type.
        sizes: Vec<VarId>,
        /// The loop parameters.
        pat: Box<Pat>,
        /// Their initial values.
        init: Box<Exp>,
        /// The form: `for` or `while`.
        form: LoopForm,
        /// The next values.
        body: Box<Exp>,
    },
    /// A `match`; its cases are exhaustive.
    Match {
        /// The value that is matched.
        scrutinee: Box<Exp>,
        /// The cases; the first that matches is taken.
        cases: Vec<Case>,
    },
    /// `#label args`.
    Constr(Name, Vec<Exp>),
    /// `a && b`, short-circuiting.
    And(Box<Exp>, Box<Exp>),
    /// `a || b`, short-circuiting.
    Or(Box<Exp>, Box<Exp>),
    /// `exp :> ty`: checks at run time that the shape is that of this node's type.
    Coerce(Box<Exp>),
    /// `assert cond exp`.
    Assert {
        /// The condition.
        cond: Box<Exp>,
        /// The condition as written, for the message.
        source_text: Arc<str>,
        /// The result.
        exp: Box<Exp>,
    },
    /// `#[attrs] exp`.
    Attr(Vec<Attr>, Box<Exp>),
    /// `???`: fails when evaluated.
    Hole,
}

/// The built-in overloaded operators of the source language, before their type is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OverloadedOp {
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

/// The forms of a range's bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RangeKind {
    /// `...`: inclusive.
    Inclusive,
    /// `..<`: upwards, exclusive.
    UpTo,
    /// `..>`: downwards, exclusive.
    DownTo,
}

/// The index of one dimension.
#[derive(Clone, PartialEq, Debug)]
#[allow(clippy::large_enum_variant, reason = "few values, each created once")]
pub enum Index {
    /// `[i]`: an integer of any type.
    At(Exp),
    /// `[from:to:step]`, all `i64`.
    Slice {
        /// The start, if written.
        from: Option<Exp>,
        /// The end, if written.
        to: Option<Exp>,
        /// The step, if written.
        step: Option<Exp>,
    },
}

/// One local binding.
#[derive(Clone, PartialEq, Debug)]
#[allow(clippy::large_enum_variant, reason = "nearly all are of the large form")]
pub enum Bind {
    /// `let [sizes] pat = rhs`.
    Pat {
        /// The sizes bound by the pattern's type, as far as they were written.
        sizes: Vec<VarId>,
        /// The pattern, irrefutable.
        pat: Pat,
        /// The bound expression.
        rhs: Exp,
    },
    /// `let f [n] 't params = ...`: a local function, possibly polymorphic. It may mention values
    /// of outer scopes, but not itself.
    Fun(Arc<Def>),
}

/// The forms of a loop.
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
    /// The pattern, possibly refutable.
    pub pat: Pat,
    /// The result.
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
    /// The form.
    pub kind: PatKind,
    /// The type of the values that it matches.
    pub ty: Ty,
    /// The parts of the value that are consumed by (parameters) or owned in (bindings) its scope:
    /// `*` in the type as written.
    pub consumes: Uniq,
    /// The source span.
    pub span: Span,
}

/// The forms of a pattern.
#[derive(Clone, PartialEq, Debug)]
pub enum PatKind {
    /// Any value, bound to a variable.
    Var(VarId),
    /// Any value.
    Wildcard,
    /// A tuple, including `()`.
    Tuple(Vec<Pat>),
    /// A record: every field of the type, in source order.
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
    /// The span of its name.
    pub span: Span,
    /// Its attributes.
    pub attrs: Vec<Attr>,
    /// Type parameters, written and inferred.
    pub ty_params: Vec<TyVarId>,
    /// Size parameters, written and inferred; values of type `i64` in the body.
    pub size_params: Vec<VarId>,
    /// Parameters; none for a constant. (The body may still be a function.)
    pub params: Vec<Pat>,
    /// The type of the body.
    pub ret: RetType,
    /// The body.
    pub body: Exp,
    /// True for an entry point.
    pub entry: bool,
    /// True for a definition of the prelude.
    pub is_prelude: bool,
}

/// A type of an entry point, as callers see it.
#[derive(Clone, PartialEq, Debug)]
pub struct EntryType {
    /// The type, in full.
    pub ty: Ty,
    /// The type as written (the name of an abbreviation, `[n]f32`, ...), without `*`; `None` if it
    /// was inferred.
    pub text: Option<Arc<str>>,
    /// The external spelling, if the type was written.
    pub external_name: Option<Arc<ExternalName>>,
    /// The parts that have a `*` (consumed parameter, alias-free result).
    pub unique: Uniq,
}

/// One parameter of an entry point.
#[derive(Clone, PartialEq, Debug)]
pub struct EntryParam {
    /// The name; empty if the pattern has none.
    pub name: Name,
    /// Its type.
    pub ty: EntryType,
}

/// An entry point.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// The name, as written.
    pub name: Name,
    /// The definition; it may have fewer `params` than the entry point if its body is a function.
    pub var: VarId,
    /// All parameters of the (uncurried) type.
    pub params: Vec<EntryParam>,
    /// The result.
    pub result: EntryType,
    /// The text of its documentation comment, or empty.
    pub doc: Arc<str>,
    /// The span of its name.
    pub span: Span,
}

/// The stored facts about a value.
#[derive(Clone, PartialEq, Debug)]
pub struct VarInfo {
    /// The name as written (without module qualifiers).
    pub name: Name,
}

/// A checked program.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Program {
    /// The definitions, each after all others that it mentions.
    pub defs: Vec<Arc<Def>>,
    /// The entry points of the root file, in source order.
    pub entries: Vec<Entry>,
    /// The table of values, indexed by [`VarId`].
    pub vars: Vec<VarInfo>,
    /// The names of type variables, indexed by [`TyVarId`].
    pub ty_vars: Vec<Name>,
}

impl Program {
    /// The printed name of a value.
    pub fn name(&self, var: VarId) -> &str {
        self.vars.get(var.index()).map_or("?", |info| &info.name)
    }
}

impl Drop for Exp {
    /// Long chains of operators nest as deeply as they are long, so dropping grows the stack when
    /// little of it is left.
    fn drop(&mut self) {
        if matches!(self.kind, ExpKind::Lit(..) | ExpKind::Var { .. } | ExpKind::Hole) {
            return;
        }
        if stacker::remaining_stack().is_none_or(|left| left < crate::STACK_RED_ZONE) {
            let kind = std::mem::replace(&mut self.kind, ExpKind::Hole);
            stacker::grow(crate::STACK_GROWTH, move || drop(kind));
        }
    }
}

impl Ty {
    /// The type `i64`, of sizes and indices.
    pub const I64: Self = Self::Scalar(ScalarType::I64);
    /// The type `bool`.
    pub const BOOL: Self = Self::Scalar(ScalarType::Bool);
    /// The type of what has an error; it unifies with every type. It does not occur in a [`Program`].
    pub const ERROR: Self = Self::Var(TyVarId(0));

    /// Returns true for [`Ty::ERROR`].
    pub const fn is_error(&self) -> bool {
        matches!(self, Self::Var(TyVarId(0)))
    }

    /// `[dim]elem`.
    pub fn array(dim: Dim, elem: Self) -> Self {
        Self::Array(Arc::new(ArrayTy { dim, elem }))
    }

    /// The unit type `()`.
    pub fn unit() -> Self {
        Self::Tuple(Arc::from([]))
    }

    /// `param -> ret`, which consumes nothing.
    pub fn arrow(param: Self, ret: Self) -> Self {
        Self::Arrow(Arc::new(ArrowTy { name: None, param, consumes: Uniq::None, ret: RetType::plain(ret) }))
    }

    /// The number of outer array dimensions, and the element type under them.
    pub fn peel(&self) -> (usize, &Self) {
        let (mut rank, mut ty) = (0, self);
        while let Self::Array(array) = ty {
            rank += 1;
            ty = &array.elem;
        }
        (rank, ty)
    }

    /// The type of a field of a record, or of a component of a tuple.
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
        Self { existential_sizes: Vec::new(), ty, unique: Uniq::None }
    }
}
