//! The resolved form of a program, which the machine evaluates.
//!
//! [`crate::resolve`] makes it from the typed tree, one definition at a time, when it is used
//! first. Variables, including type and size parameters, are slots of the function's frame; fields
//! and constructors are numbers; operators applied to all of their arguments are nodes of their
//! own. Nothing else is changed.

use crate::debug::ScopedVar;
use crate::value::{RunType, RunValue};
use check::intrinsics::{ArrayFun, Intrinsic};
use check::tast::{Name, RangeKind, Ty, VarId};
use prim::{BinOp, CmpOp, ConvOp, MathFun, PrimType, Scalar, ScalarType, UnOp};
use std::rc::Rc;
use std::sync::Arc;
use syntax::span::Span;

/// A variable: its index in the frame of the function.
pub type Slot = u32;

/// A function: a definition, a local one, or a lambda.
#[derive(Debug)]
pub struct Function {
    /// The number of slots of a frame. The first ones are the type parameters, followed by the size
    /// parameters.
    pub n_slots: usize,
    /// The number of type parameters.
    pub n_types: usize,
    /// The number of size parameters.
    pub n_sizes: usize,
    /// The size parameters, if sizes are checked.
    pub size_params: Vec<VarId>,
    /// True if sizes are checked.
    pub check_sizes: bool,
    /// The slots of the captured values.
    pub captures: Vec<Slot>,
    /// The parameters.
    pub params: Vec<Param>,
    /// The existential sizes of the result.
    pub ext: Vec<Slot>,
    /// The expected shape of the result.
    pub ret: Option<SizedType>,
    /// The result's type, if sizes are checked.
    pub check: Option<Box<SizeCheck>>,
    /// The body.
    pub body: Node,
    /// Its source span.
    pub span: Span,
    /// The mathematical function that it defines.
    pub math: Option<(MathFun, PrimType)>,
    /// The variables in scope in parts of the body, if the program is watched.
    pub scope: Option<Rc<[ScopedVar]>>,
}

/// A parameter, bound variable or case: a pattern with its type.
#[derive(Debug)]
pub struct Param {
    /// The pattern.
    pub pat: Pat,
    /// The expected shape; `None` if the type has no sizes.
    pub ty: Option<SizedType>,
    /// The pattern's type, if sizes are checked.
    pub check: Option<Box<SizeCheck>>,
    /// The sizes of the type that occur in payloads of sums. If they occur nowhere else, they are 0
    /// when the payload is absent.
    pub payload_sizes: Vec<Slot>,
    /// Its source span.
    pub span: Span,
}

/// A pattern.
#[derive(Debug)]
pub enum Pat {
    /// A variable.
    Var(Slot),
    /// A wildcard.
    Wild,
    /// Components of a tuple or record, by number.
    Parts(Vec<(u32, Pat)>),
    /// A literal.
    Lit(Scalar),
    /// A constructor, by number, with its payload.
    Constr(u32, Vec<Pat>),
    /// A part of a pattern whose own type is checked.
    Checked(Box<Self>, Box<SizeCheck>),
}

/// A type that a value is checked against ([`crate::size_check`]).
#[derive(Debug)]
pub struct SizeCheck {
    /// The resolved type.
    pub ty: SizedType,
    /// The type as inferred by the checker.
    pub source: Ty,
    /// Size variables that the value binds if they have no value.
    pub binds: Vec<Slot>,
    /// The variables in the type's sizes.
    pub vars: Vec<(VarId, Slot)>,
    /// The role of the value.
    pub subject: Subject,
    /// True if the checker could compare the type's sizes with the sizes of the values that occur
    /// here.
    pub comparable: bool,
    /// The source span of the typed item.
    pub span: Span,
}

/// The role of a checked value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// The value of an expression.
    Expression,
    /// A value that a pattern binds.
    Pattern,
    /// A function's result.
    Result,
}

/// A type whose sizes are looked up or computed in a frame.
#[derive(Debug)]
pub enum SizedType {
    /// A type that does not depend on the frame.
    Static(Rc<RunType>),
    /// An array.
    Array(SizeExpr, Box<Self>),
    /// A tuple.
    Tuple(Vec<Self>),
    /// A record, fields sorted by label.
    Record(Rc<[Name]>, Vec<Self>),
    /// A sum type, constructors sorted by name.
    Sum(Rc<[Name]>, Vec<Vec<Self>>),
    /// A type parameter.
    Var(Slot),
}

/// A size in a type.
#[derive(Debug)]
pub enum SizeExpr {
    /// Unknown.
    Any,
    /// A number.
    Const(i64),
    /// The value of a variable, which may be unbound.
    Slot(Slot),
    /// An expression, which may mention unbound variables.
    Exp(Box<Node>),
}

/// The arguments of an instance of a polymorphic definition.
#[derive(Debug, Default)]
pub struct Instance {
    /// Type arguments.
    pub types: Vec<SizedType>,
    /// Size arguments.
    pub sizes: Vec<SizeExpr>,
    /// True if the checker could compare the sizes of the arguments' types.
    pub comparable: bool,
}

/// An expression.
#[derive(Debug)]
pub enum Node {
    /// A constant.
    Const(RunValue),
    /// The value of a variable.
    Slot(Slot),
    /// The value of a variable at its last use, moved out of its slot.
    Move(Slot),
    /// A definition: a constant, or a function without type or size parameters.
    Global(u32),
    /// An instance of a polymorphic definition.
    GlobalInst(u32, Box<Instance>),
    /// An instance of a polymorphic local function.
    LocalInst(Box<Node>, Box<Instance>, Span),
    /// A built-in function as a value.
    Intrinsic(Intrinsic, Vec<SizedType>),
    /// A tuple or record: the expressions in the order of evaluation, each with the number of its
    /// component.
    Parts(Vec<(u32, Node)>),
    /// A component, by number.
    Field(Box<Node>, u32),
    /// A record with the component at the end of a path replaced.
    WithField(Box<(Node, Node)>, Vec<u32>),
    /// An array literal; the type is that of the elements.
    Array(Vec<Node>, Box<SizedType>, Span),
    /// A range.
    Range(Box<Range>),
    /// Indexing and slicing.
    Index(Box<Node>, Vec<Index>, Span),
    /// In-place update: array and value.
    Update(Box<(Node, Node)>, Vec<Index>, Span),
    /// A binary scalar operator.
    Binary(BinOp, ScalarType, Box<(Node, Node)>, Span),
    /// A comparison.
    Compare(Comparison, Box<(Node, Node)>),
    /// A unary scalar operator.
    Unary(UnOp, Box<Node>),
    /// A conversion.
    Convert(ConvOp, PrimType, Box<Node>),
    /// A mathematical function.
    Math(MathFun, Vec<Node>),
    /// A fused multiply-add.
    Fma(Box<[Node; 3]>),
    /// Structural equality, negated or not.
    Equal(bool, Box<(Node, Node)>),
    /// A built-in function on arrays with all arguments, which are evaluated from the last to the
    /// first.
    ArrayFun(ArrayFun, Vec<SizedType>, Vec<Node>, Span),
    /// A definition applied to as many arguments as it takes, which are evaluated from the last to
    /// the first.
    Call(u32, Box<Instance>, Vec<Node>, Span),
    /// A computed function applied to arguments. The flag is true if the checker could compare the
    /// sizes of their types.
    Apply(Box<Node>, Vec<Node>, Span, bool),
    /// A lambda or local function with the values that it captures.
    Closure(Rc<Function>, Vec<Node>),
    /// Local bindings.
    Let(Vec<Bind>, Box<Node>),
    /// A conditional.
    If(Box<(Node, Node, Node)>),
    /// A loop.
    Loop(Box<Loop>),
    /// A `match`.
    Match(Box<Node>, Vec<(Param, Node)>, Span),
    /// A constructor, by number, with its payload.
    Constr(u32, Vec<Node>),
    /// `&&`
    And(Box<(Node, Node)>),
    /// `||`
    Or(Box<(Node, Node)>),
    /// A shape check, which binds the sizes.
    Coerce(Box<Node>, Vec<Slot>, Box<SizedType>, Span),
    /// The value of the second if the first holds; the text is for the message.
    Assert(Box<(Node, Node)>, Arc<str>, Span),
    /// The value, which is printed, with an optional tag.
    Trace(Option<Arc<str>>, Box<Node>, Box<SizedType>, Span),
    /// A breakpoint: a watched evaluation stops before the value.
    Break(Box<Node>, Span),
    /// An operator at which a watched evaluation stops if it yields a new NaN.
    Watched(Box<Node>, Span),
    /// A don't-care value.
    DontCare(Box<Node>, Box<SizedType>, Span),
    /// The value, whose shape binds sizes.
    BindSizes(Box<Node>, Vec<Slot>, Box<SizedType>),
    /// The value, whose sizes are checked.
    Checked(Box<Node>, Box<SizeCheck>),
    /// `???`
    Hole(Box<str>, Span),
    /// An expression that cannot be evaluated, with the reason.
    Refused(Arc<str>, Span),
}

/// A comparison: `op x y`, or `op y x` if `swap`, negated if `negate`.
#[derive(Clone, Copy, Debug)]
pub struct Comparison {
    /// The operator.
    pub op: CmpOp,
    /// True if the operands are swapped.
    pub swap: bool,
    /// True if the result is negated.
    pub negate: bool,
}

/// A range.
#[derive(Debug)]
pub struct Range {
    /// The first element.
    pub start: Node,
    /// The second, if given.
    pub second: Option<Node>,
    /// The bound.
    pub end: Node,
    /// The kind of the bound.
    pub kind: RangeKind,
    /// The type of the elements.
    pub ty: ScalarType,
    /// Its source span.
    pub span: Span,
}

/// One position of an index.
#[derive(Debug)]
pub enum Index {
    /// An element; the flag is true if its type is signed.
    At(Node, bool),
    /// Start, end, step.
    Slice(Option<Node>, Option<Node>, Option<Node>),
}

/// A local binding.
#[derive(Debug)]
pub enum Bind {
    /// A pattern and its value, which binds the sizes. The last component is the type of the value,
    /// if payloads determine some of them.
    Pat(Vec<Slot>, Param, Node, Option<Box<SizedType>>),
    /// A local function.
    Fun(Slot, Node),
}

/// A loop.
#[derive(Debug)]
pub struct Loop {
    /// Sizes of the parameters that vary between iterations.
    pub sizes: Vec<Slot>,
    /// These sizes and the ones bound in the body, which are reset before each iteration.
    pub reset_sizes: Vec<Slot>,
    /// The parameters.
    pub param: Param,
    /// Their initial values.
    pub init: Node,
    /// The loop form.
    pub form: Form,
    /// The next values of the parameters.
    pub body: Node,
    /// The first slot that belongs to the body, in the order of resolution.
    pub first_body_slot: Slot,
}

/// The form of a loop.
#[derive(Debug)]
pub enum Form {
    /// A counter of this type, up to a bound.
    For(Slot, ScalarType, Node),
    /// The elements of an array.
    ForIn(Param, Node),
    /// A condition.
    While(Node),
}

impl Drop for Node {
    /// Chains of operators nest as deeply as they are long, so dropping grows the stack if little
    /// is left.
    fn drop(&mut self) {
        if matches!(self, Self::Const(_) | Self::Slot(_) | Self::Move(_) | Self::Global(_) | Self::Hole(..)) {
            return;
        }
        if stacker::remaining_stack().is_none_or(|left| left < crate::RED_ZONE) {
            let nowhere = crate::machine::NO_SPAN;
            let node = std::mem::replace(self, Self::Hole(Box::default(), nowhere));
            stacker::grow(crate::STACK_STEP, move || drop(node));
        }
    }
}
