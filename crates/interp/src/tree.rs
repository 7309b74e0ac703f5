//! The resolved form of a program: what the machine walks.
//!
//! Made from the typed tree by [`crate::resolve`], one definition at a time, when
//! it is used first. Variables are slots of the function's frame, type and size
//! parameters too; fields and constructors are numbers; operators applied to all
//! of their arguments are nodes of their own. Nothing else is changed.

use crate::value::{RTy, Val};
use crate::watch::Seen;
use check::intrinsics::{ArrayFun, Intrinsic};
use check::tast::{Name, RangeKind, Ty, VarId};
use prim::{BinOp, CmpOp, ConvOp, MathFun, PrimType, Scalar, ScalarType, UnOp};
use std::rc::Rc;
use std::sync::Arc;
use syntax::span::Span;

/// A variable: its place in the frame of the function.
pub type Slot = u32;

/// A function: a definition, a local one, or a lambda.
#[derive(Debug)]
pub struct Func {
    /// How many slots a frame has. The first are the type parameters, then come
    /// the size parameters.
    pub n_slots: usize,
    /// How many of them are type and size parameters.
    pub n_types: usize,
    /// How many are size parameters.
    pub n_sizes: usize,
    /// The size parameters, if sizes are checked.
    pub size_params: Vec<VarId>,
    /// Whether sizes are checked.
    pub check_sizes: bool,
    /// Where the captured values go.
    pub captures: Vec<Slot>,
    /// The parameters.
    pub params: Vec<Param>,
    /// The sizes that the result brings.
    pub ext: Vec<Slot>,
    /// What has to be true of the shape of the result.
    pub ret: Option<CTy>,
    /// The result's type, if sizes are checked.
    pub check: Option<Box<SizeCheck>>,
    /// The body.
    pub body: Node,
    /// Where it stands.
    pub span: Span,
    /// What the parts of the body see, if the program is watched.
    pub scope: Option<Rc<[Seen]>>,
}

/// A parameter, bound variable or case: a pattern with its type.
#[derive(Debug)]
pub struct Param {
    /// What is bound.
    pub pat: Pat,
    /// What has to be true of the shape; nothing where the type has no sizes.
    pub ty: Option<CTy>,
    /// The pattern's type, if sizes are checked.
    pub check: Option<Box<SizeCheck>>,
    /// The sizes in the type that payloads of sums have. Those that nothing else has are
    /// 0 where the payload is absent.
    pub payload: Vec<Slot>,
    /// Where it stands.
    pub span: Span,
}

/// A pattern.
#[derive(Debug)]
pub enum Pat {
    /// A variable.
    Var(Slot),
    /// Anything.
    Wild,
    /// Components of a tuple or record, by their number.
    Parts(Vec<(u32, Pat)>),
    /// A literal.
    Lit(Scalar),
    /// A constructor, by its number, with its payload.
    Constr(u32, Vec<Pat>),
    /// A part of a pattern whose own type is checked.
    Checked(Box<Self>, Box<SizeCheck>),
}

/// A type that a value is checked against ([`crate::size_check`]).
#[derive(Debug)]
pub struct SizeCheck {
    /// The type.
    pub ty: CTy,
    /// The type as the checker has it.
    pub source: Ty,
    /// Size variables that the value binds if they have no value.
    pub binds: Vec<Slot>,
    /// The variables in the type's sizes.
    pub vars: Vec<(VarId, Slot)>,
    /// What the value is to the type.
    pub subject: Subject,
    /// Whether the checker could compare the type's sizes with those of the
    /// values that come here.
    pub comparable: bool,
    /// Where the type belongs.
    pub span: Span,
}

/// What is checked.
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
pub enum CTy {
    /// A type that does not depend on the frame.
    Static(Rc<RTy>),
    /// An array.
    Array(CDim, Box<Self>),
    /// A tuple.
    Tuple(Vec<Self>),
    /// A record, fields sorted by label.
    Record(Rc<[Name]>, Vec<Self>),
    /// A sum type, constructors sorted by name.
    Sum(Rc<[Name]>, Vec<Vec<Self>>),
    /// A type parameter.
    Var(Slot),
}

/// A size.
#[derive(Debug)]
pub enum CDim {
    /// Not known.
    Any,
    /// A number.
    Const(i64),
    /// The value of a variable, which may be unbound.
    Slot(Slot),
    /// An expression, which may mention what is unbound.
    Exp(Box<Node>),
}

/// What an instance of a polymorphic definition is given.
#[derive(Debug, Default)]
pub struct Inst {
    /// Type arguments.
    pub types: Vec<CTy>,
    /// Size arguments.
    pub sizes: Vec<CDim>,
    /// Whether the checker could compare the sizes of the arguments' types.
    pub comparable: bool,
}

/// An expression.
#[derive(Debug)]
pub enum Node {
    /// A value that is known.
    Const(Val),
    /// The value of a variable.
    Slot(Slot),
    /// The value of a variable that is not used afterwards.
    Take(Slot),
    /// A definition: a constant or a function without type or size parameters.
    Global(u32),
    /// An instance of a polymorphic definition.
    GlobalInst(u32, Box<Inst>),
    /// An instance of a polymorphic local function.
    LocalInst(Box<Node>, Box<Inst>, Span),
    /// A built-in function as a value.
    Intrinsic(Intrinsic, Vec<CTy>),
    /// A tuple or record: the number of the component that each expression
    /// gives, in the order of evaluation.
    Parts(Vec<(u32, Node)>),
    /// A component.
    Field(Box<Node>, u32),
    /// The same with another component at the end of a path.
    WithField(Box<(Node, Node)>, Vec<u32>),
    /// An array of these elements; the type is the elements'.
    Array(Vec<Node>, Box<CTy>, Span),
    /// A range.
    Range(Box<Range>),
    /// Indexing and slicing.
    Index(Box<Node>, Vec<Index>, Span),
    /// In-place update: array and value.
    Update(Box<(Node, Node)>, Vec<Index>, Span),
    /// A scalar operator.
    Binary(BinOp, ScalarType, Box<(Node, Node)>, Span),
    /// A comparison.
    Compare(Comparison, Box<(Node, Node)>),
    /// A scalar operator.
    Unary(UnOp, Box<Node>),
    /// A conversion.
    Convert(ConvOp, PrimType, Box<Node>),
    /// A mathematical function.
    Math(MathFun, Vec<Node>),
    /// A fused multiply-add.
    Fma(Box<[Node; 3]>),
    /// Structural equality, negated or not.
    Equal(bool, Box<(Node, Node)>),
    /// A built-in function on arrays, with all arguments. These are evaluated from the
    /// last to the first.
    ArrayFun(ArrayFun, Vec<CTy>, Vec<Node>, Span),
    /// A definition applied to arguments, as many as it takes. These are evaluated
    /// from the last to the first.
    Call(u32, Box<Inst>, Vec<Node>, Span),
    /// A function that is computed, applied to arguments; whether the checker could
    /// compare the sizes of their types.
    Apply(Box<Node>, Vec<Node>, Span, bool),
    /// A lambda or local function with the values that it captures.
    Closure(Rc<Func>, Vec<Node>),
    /// Local bindings.
    Let(Vec<Bind>, Box<Node>),
    /// A conditional.
    If(Box<(Node, Node, Node)>),
    /// A loop.
    Loop(Box<Loop>),
    /// A `match`.
    Match(Box<Node>, Vec<(Param, Node)>, Span),
    /// A constructor, by its number, with its payload.
    Constr(u32, Vec<Node>),
    /// `&&`
    And(Box<(Node, Node)>),
    /// `||`
    Or(Box<(Node, Node)>),
    /// A check of the shape. The sizes come into being here.
    Coerce(Box<Node>, Vec<Slot>, Box<CTy>, Span),
    /// The value of the second if the first holds; the text is for the message.
    Assert(Box<(Node, Node)>, Arc<str>, Span),
    /// The value, which is printed, perhaps after a tag.
    Trace(Option<Arc<str>>, Box<Node>, Box<CTy>, Span),
    /// The value, before which an evaluation that is watched stops.
    Break(Box<Node>, Span),
    /// An operator whose new NaNs stop an evaluation that is watched.
    Watched(Box<Node>, Span),
    /// A value that does not matter.
    Blank(Box<Node>, Box<CTy>, Span),
    /// The value, whose shape determines sizes.
    Ext(Box<Node>, Vec<Slot>, Box<CTy>),
    /// The value, whose shape is checked.
    Checked(Box<Node>, Box<SizeCheck>),
    /// `???`
    Hole(Box<str>, Span),
    /// An expression that cannot be evaluated: why.
    Refused(Arc<str>, Span),
}

/// A comparison: `op x y`, of `op y x` if `swap`, negated if `negate`.
#[derive(Clone, Copy, Debug)]
pub struct Comparison {
    /// The operator.
    pub op: CmpOp,
    /// Whether the operands change places.
    pub swap: bool,
    /// Whether the result is negated.
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
    /// How the bound is meant.
    pub kind: RangeKind,
    /// The type of the elements.
    pub ty: ScalarType,
    /// Where it stands.
    pub span: Span,
}

/// One position of an index.
#[derive(Debug)]
pub enum Index {
    /// An element; whether its type is signed.
    At(Node, bool),
    /// Start, end, step.
    Slice(Option<Node>, Option<Node>, Option<Node>),
}

/// A local binding.
#[derive(Debug)]
pub enum Bind {
    /// A pattern and its value; the sizes come into being here. The type of the value, if
    /// payloads have some of them.
    Pat(Vec<Slot>, Param, Node, Option<Box<CTy>>),
    /// A local function.
    Fun(Slot, Node),
}

/// A loop.
#[derive(Debug)]
pub struct Loop {
    /// Sizes that vary.
    pub sizes: Vec<Slot>,
    /// These and the sizes that come into being in the body: no iteration knows those
    /// of the one before.
    pub inner_sizes: Vec<Slot>,
    /// The parameters.
    pub param: Param,
    /// Their first values.
    pub init: Node,
    /// What drives it.
    pub form: Form,
    /// The next values.
    pub body: Node,
    /// The first slot that belongs to the body, in the order of resolution.
    pub mark: Slot,
}

/// What drives a loop.
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
    /// Chains of operators nest as deeply as they are long, so dropping grows the
    /// stack where little is left.
    fn drop(&mut self) {
        if matches!(self, Self::Const(_) | Self::Slot(_) | Self::Take(_) | Self::Global(_) | Self::Hole(..)) {
            return;
        }
        if stacker::remaining_stack().is_none_or(|left| left < crate::RED_ZONE) {
            let nowhere = crate::machine::NOWHERE;
            let node = std::mem::replace(self, Self::Hole(Box::default(), nowhere));
            stacker::grow(crate::STACK_STEP, move || drop(node));
        }
    }
}
