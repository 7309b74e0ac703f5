//! The value of an expression over all lanes of a group of iterations.
//!
//! - *uniform*: the same in all lanes, computed once as a scalar;
//! - *affine*: an integer `base + lane * stride`, `base` a scalar (the value in lane 0), which
//!   makes addresses cheap; sums and products wrap, so this holds for all values;
//! - *varying*: a vector.
//!
//! Affine variables are scalar variables that hold lane 0's value.

use imp::walk::type_of;
use imp::{Access, Expr, Var, VarInfo};
use prim::{BinOp, ConvOp, PrimType, Scalar, ScalarOp};
use rustc_hash::{FxHashMap, FxHashSet};

/// The difference between neighbouring lanes; never the constant 0.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Stride {
    /// A number; for narrow types, modulo their range.
    Const(i64),
    /// An `i64` expression.
    Of(Expr),
}

/// The shape of a variable over all lanes.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Shape {
    /// The same in all lanes.
    Uniform,
    /// An integer with this difference from lane to lane; the expression names nothing that the
    /// loop sets.
    Affine(Stride),
    /// Any values.
    Varying,
}

/// An expression over all lanes.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum LaneValue {
    /// A scalar expression.
    Uniform(Expr),
    /// An integer: its type, the value in lane 0, the stride.
    Affine(PrimType, Expr, Stride),
    /// A vector expression.
    Vector(Expr),
}

/// An array of the loop's body that is private to each lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Private {
    /// The variable of the frame buffer, or of the allocated block.
    pub(super) root: Var,
}

/// The facts about the variables in a loop's body.
pub(super) struct Shapes<'a> {
    pub(super) vars: &'a [VarInfo],
    /// The number of lanes.
    pub(super) lanes: u32,
    /// Variables that the loop sets, itself or in its body.
    pub(super) own: FxHashSet<Var>,
    /// Shapes of the variables that are not uniform.
    pub(super) known: FxHashMap<Var, Shape>,
    /// Buffers that are interleaved by lane.
    pub(super) private: FxHashMap<Var, Private>,
    /// The size of one lane's private arrays in the frame, in bytes.
    pub(super) bytes: u64,
    /// The sizes in bytes of the other private arrays, each in a block of its own, and extents of
    /// copies of private arrays: both have to be uniform.
    pub(super) extents: Vec<Expr>,
    /// The narrow expressions that variables are extended from; see [`indices`](super::indices).
    pub(super) extended: FxHashMap<Var, (PrimType, Expr)>,
}

impl Shapes<'_> {
    /// The shape of a variable.
    pub(super) fn shape(&self, var: Var) -> Shape {
        self.known.get(&var).cloned().unwrap_or(Shape::Uniform)
    }

    /// Returns true if an expression names nothing that the loop sets.
    pub(super) fn invariant(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Const(_) | Expr::Tunable(_) | Expr::LogsComparisons => true,
            Expr::Var(v) => !self.own.contains(v),
            Expr::Scalar(ScalarOp::Binary(_, _, x, y)) => self.invariant(x) && self.invariant(y),
            Expr::Scalar(_) | imp::vector_expr!() => false,
        }
    }

    /// The type of an expression in the body.
    pub(super) fn type_of(&self, expr: &Expr) -> PrimType {
        type_of(self.vars, expr).unwrap_or(PrimType::I64)
    }

    /// An expression of the body over all lanes.
    pub(super) fn value(&self, expr: &Expr) -> LaneValue {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || self.value_here(expr))
    }

    fn value_here(&self, expr: &Expr) -> LaneValue {
        match expr {
            Expr::Const(_) | Expr::Tunable(_) | Expr::LogsComparisons => LaneValue::Uniform(expr.clone()),
            Expr::Var(v) => match self.shape(*v) {
                Shape::Uniform => LaneValue::Uniform(expr.clone()),
                Shape::Affine(stride) => LaneValue::Affine(self.type_of(expr), expr.clone(), stride),
                Shape::Varying => LaneValue::Vector(expr.clone()),
            },
            Expr::Scalar(ScalarOp::Binary(op, ty, x, y)) => {
                self.binary(*op, *ty, self.value(x), self.value(y))
            }
            Expr::Scalar(op) => {
                if let ScalarOp::Convert { op: by @ (ConvOp::SExt | ConvOp::ZExt), from, to, arg } = op
                    && to.size() <= from.size()
                    && let LaneValue::Affine(_, base, stride @ Stride::Const(_)) = self.value(arg)
                {
                    return LaneValue::Affine(*to, Expr::convert(*by, *from, *to, base), stride);
                }
                self.combine(op.as_ref().map(|x| self.value(x)))
            }
            // Loops that are still scalar have no vector expressions.
            imp::vector_expr!() => LaneValue::Vector(expr.clone()),
        }
    }

    /// An operation: a scalar if all operands are uniform, else lane by lane.
    fn combine(&self, op: ScalarOp<LaneValue>) -> LaneValue {
        if !op.operands().iter().all(|x| matches!(x, LaneValue::Uniform(_))) {
            return LaneValue::Vector(Expr::Scalar(op.map(|x| Box::new(self.vector(x)))));
        }
        LaneValue::Uniform(Expr::Scalar(op.map(|x| match x {
            LaneValue::Uniform(e) | LaneValue::Affine(_, e, _) | LaneValue::Vector(e) => Box::new(e),
        })))
    }

    pub(super) fn binary(&self, op: BinOp, ty: PrimType, x: LaneValue, y: LaneValue) -> LaneValue {
        let scalars = |x: &Expr, y: &Expr| Expr::binary(op, ty, x.clone(), y.clone());
        let affine = |base, stride: Option<Stride>| match stride {
            Some(Stride::Const(0)) => Some(LaneValue::Uniform(base)),
            Some(stride) => Some(LaneValue::Affine(ty, base, stride)),
            None => None,
        };
        let result = match (op, &x, &y) {
            (BinOp::Add, LaneValue::Uniform(a), LaneValue::Affine(_, b, s))
            | (BinOp::Add | BinOp::Sub, LaneValue::Affine(_, a, s), LaneValue::Uniform(b)) => {
                affine(scalars(a, b), Some(s.clone()))
            }
            (BinOp::Sub, LaneValue::Uniform(a), LaneValue::Affine(_, b, s)) => {
                affine(scalars(a, b), Some(s.negated()))
            }
            (BinOp::Add, LaneValue::Affine(_, a, s), LaneValue::Affine(_, b, t)) => {
                affine(scalars(a, b), Some(s.plus(t)))
            }
            (BinOp::Sub, LaneValue::Affine(_, a, s), LaneValue::Affine(_, b, t)) => {
                affine(scalars(a, b), Some(s.plus(&t.negated())))
            }
            (BinOp::Mul, LaneValue::Affine(_, a, s), LaneValue::Uniform(b)) => {
                affine(scalars(a, b), s.times(b, ty))
            }
            (BinOp::Mul, LaneValue::Uniform(a), LaneValue::Affine(_, b, s)) => {
                affine(scalars(a, b), s.times(a, ty))
            }
            (BinOp::Shl, LaneValue::Affine(_, a, s), LaneValue::Uniform(Expr::Const(by))) => {
                let bits = 8 * ty.size() as i64;
                match by.as_i64() {
                    Some(by) if (0..bits.min(63)).contains(&by) => affine(
                        scalars(a, &Expr::Const(Scalar::from_bits(ty, by as u64))),
                        s.times(&Expr::i64(1 << by), ty),
                    ),
                    _ => None,
                }
            }
            _ => None,
        };
        result.unwrap_or_else(|| self.combine(ScalarOp::Binary(op, ty, x, y)))
    }

    /// A value as a vector.
    pub(super) fn vector(&self, value: LaneValue) -> Expr {
        let splat = |e| Expr::Splat(self.lanes, Box::new(e));
        match value {
            LaneValue::Vector(e) => e,
            LaneValue::Uniform(e) => splat(e),
            LaneValue::Affine(ty, base, stride) => {
                let ramp = Expr::LaneIds(ty, self.lanes);
                let ramp = match stride {
                    Stride::Const(1) => ramp,
                    Stride::Const(n) => {
                        let n = splat(Expr::Const(Scalar::from_bits(ty, n as u64)));
                        Expr::binary(BinOp::Mul, ty, ramp, n)
                    }
                    Stride::Of(e) => Expr::binary(BinOp::Mul, ty, ramp, splat(e)),
                };
                Expr::binary(BinOp::Add, ty, splat(base), ramp)
            }
        }
    }

    /// The position of an element in its buffer. In a private array, element `e` of lane `l` is at
    /// `e * lanes + l`.
    pub(super) fn position(&self, access: &Access) -> LaneValue {
        let mut position = self.value(&access.offset);
        for (index, stride) in &access.dims {
            let mut step = self.index(index);
            if *stride != Expr::i64(1) {
                step = tidy(self.binary(BinOp::Mul, PrimType::I64, step, self.value(stride)));
            }
            position = match (position, step) {
                (LaneValue::Uniform(zero), step) if zero == Expr::i64(0) => step,
                (position, step) => tidy(self.binary(BinOp::Add, PrimType::I64, position, step)),
            };
        }
        if !self.private.contains_key(&access.buffer) {
            return position;
        }
        let lanes = LaneValue::Uniform(Expr::i64(i64::from(self.lanes)));
        let lane = LaneValue::Affine(PrimType::I64, Expr::i64(0), Stride::Const(1));
        let row = tidy(self.binary(BinOp::Mul, PrimType::I64, position, lanes));
        tidy(self.binary(BinOp::Add, PrimType::I64, row, lane))
    }
}

/// Folds additions and multiplications of constants.
fn tidy(value: LaneValue) -> LaneValue {
    fn fold(e: Expr) -> Expr {
        if let Expr::Scalar(ScalarOp::Binary(op @ (BinOp::Add | BinOp::Mul), PrimType::I64, x, y)) = e {
            if op == BinOp::Add { *x + *y } else { *x * *y }
        } else {
            e
        }
    }
    match value {
        LaneValue::Uniform(e) => LaneValue::Uniform(fold(e)),
        LaneValue::Affine(ty, base, stride) => LaneValue::Affine(ty, fold(base), stride),
        LaneValue::Vector(e) => LaneValue::Vector(e),
    }
}

impl Stride {
    fn expr(&self) -> Expr {
        match self {
            Self::Const(n) => Expr::i64(*n),
            Self::Of(e) => e.clone(),
        }
    }

    fn from_expr(e: Expr) -> Self {
        if let Expr::Const(Scalar::I64(n)) = e { Self::Const(n) } else { Self::Of(e) }
    }

    fn negated(&self) -> Self {
        match self {
            Self::Const(n) => Self::Const(n.wrapping_neg()),
            Self::Of(e) => Self::Of(0 - e.clone()),
        }
    }

    fn plus(&self, other: &Self) -> Self {
        Self::from_expr(self.expr() + other.expr())
    }

    /// The stride times a uniform factor of a type, if it can be expressed.
    fn times(&self, factor: &Expr, ty: PrimType) -> Option<Self> {
        match (self, factor) {
            (Self::Const(n), Expr::Const(factor)) => Some(Self::Const(n.wrapping_mul(factor.as_i64()?))),
            _ if ty == PrimType::I64 => Some(Self::from_expr(factor.clone() * self.expr())),
            _ => None,
        }
    }
}

impl LaneValue {
    /// The shape of a variable that gets this value.
    pub(super) fn shape(&self, shapes: &Shapes<'_>) -> Shape {
        match self {
            Self::Uniform(_) => Shape::Uniform,
            Self::Affine(_, _, Stride::Of(e)) if !shapes.invariant(e) => Shape::Varying,
            Self::Affine(_, _, stride) => Shape::Affine(stride.clone()),
            Self::Vector(_) => Shape::Varying,
        }
    }

    pub(super) const fn is_uniform(&self) -> bool {
        matches!(self, Self::Uniform(_))
    }
}

impl Shapes<'_> {
    /// The variables that vary, in any order.
    pub(super) fn varying(&self) -> Vec<Var> {
        let varying = |(var, shape): (&Var, &Shape)| (*shape == Shape::Varying).then_some(*var);
        self.known.iter().filter_map(varying).collect()
    }
}
