//! Scalar and vector expressions.

use crate::syntax::{TunableId, Var};
use prim::{BinOp, CmpOp, ConvOp, PrimType, Scalar, ScalarOp, UnOp};

/// A scalar or vector expression, free of side effects and failure: division is guarded by checks
/// before it.
///
/// Operators on vectors work lane by lane; all their operands have the same number of lanes, a
/// `Select`'s condition too. Inactive lanes may hold anything, also 0 as a divisor: back ends make
/// sure that no operator traps on them.
#[derive(Clone, PartialEq, Hash, Debug)]
pub enum Expr {
    /// A constant.
    Const(Scalar),
    /// A scalar or vector variable.
    Var(Var),
    /// The value of a tuning parameter (`i64`).
    Tunable(TunableId),
    /// True if the context logs comparisons with tuning parameters.
    LogsComparisons,
    /// An operation on scalars, or on vectors lane by lane.
    Scalar(ScalarOp<Box<Expr>>),
    /// The square roots of [`ROOT_LANES`](crate::ROOT_LANES) doubles: the divider computes the first half, the
    /// multipliers the other one (see `impopt::divider`). The bits equal those of the
    /// operator.
    SplitSqrt(Box<Expr>),
    /// The quotients of vectors of singles, whose lanes are a multiple of [`ROOT_LANES`](crate::ROOT_LANES), computed
    /// without the divider. The bits equal those of the operator.
    NewtonQuotient(Box<Expr>, Box<Expr>),
    /// A scalar broadcast to a vector with the given number of lanes.
    Splat(u32, Box<Expr>),
    /// The vector 0, 1, 2, ... of an integer type, with the given number of lanes.
    LaneIds(PrimType, u32),
    /// True if any lane of a mask is set.
    Any(Box<Expr>),
    /// True if all lanes of a mask are set.
    All(Box<Expr>),
    /// The index of the first lane that is set in a mask (`i64`), the number of lanes if there is
    /// none.
    FirstLane(Box<Expr>),
    /// The number of lanes that are set in a mask (`i64`).
    Count(Box<Expr>),
    /// A vector's values in the lanes that a mask sets, moved to the first lanes in order; 0 in the
    /// remaining lanes.
    Pack(Box<Expr>, Box<Expr>),
    /// A vector's value in a lane (`i64`, within bounds).
    Extract(Box<Expr>, Box<Expr>),
    /// A vector with the lane (`i64`, within bounds) set to a scalar.
    Insert(Box<Expr>, Box<Expr>, Box<Expr>),
    /// A vector whose values are moved up by a number of lanes; a scalar fills the first lanes.
    Shift(Box<Expr>, u32, Box<Expr>),
}

impl Expr {
    /// The `i64` constant.
    pub const fn i64(x: i64) -> Self {
        Self::Const(Scalar::I64(x))
    }

    /// The value of a constant.
    pub const fn as_const(&self) -> Option<Scalar> {
        if let Self::Const(x) = self { Some(*x) } else { None }
    }

    /// A unary operator at a type.
    pub fn unary(op: UnOp, ty: PrimType, x: Self) -> Self {
        Self::Scalar(ScalarOp::Unary(op, ty, Box::new(x)))
    }

    /// A binary operator at a type.
    pub fn binary(op: BinOp, ty: PrimType, x: Self, y: Self) -> Self {
        Self::Scalar(ScalarOp::Binary(op, ty, Box::new(x), Box::new(y)))
    }

    /// A comparison at an operand type.
    pub fn compare(op: CmpOp, ty: PrimType, x: Self, y: Self) -> Self {
        Self::Scalar(ScalarOp::Compare(op, ty, Box::new(x), Box::new(y)))
    }

    /// A conversion.
    pub fn convert(op: ConvOp, from: PrimType, to: PrimType, x: Self) -> Self {
        Self::Scalar(ScalarOp::Convert { op, from, to, arg: Box::new(x) })
    }

    /// The condition chooses one of two values of a type.
    pub fn select(ty: PrimType, cond: Self, if_true: Self, if_false: Self) -> Self {
        let [cond, if_true, if_false] = [cond, if_true, if_false].map(Box::new);
        Self::Scalar(ScalarOp::Select { ty, cond, if_true, if_false })
    }

    /// A fused multiply-add.
    pub fn fma(ty: PrimType, x: Self, y: Self, z: Self) -> Self {
        Self::Scalar(ScalarOp::Fma(ty, Box::new(x), Box::new(y), Box::new(z)))
    }
}
