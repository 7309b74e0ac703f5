//! Evaluation of expressions, vectors lane by lane.

use super::frame::Variables;
use super::memory::Pointer;
use super::{Result, bug};
use crate::{Expr, TunableId, Var};
use ir::tunable::Listener;
use prim::{BinOp, PrimType, Scalar, UnOp, eval};
use std::borrow::Cow;

/// A lane's value. There is none where a variable or an element was not set before or a division is
/// by zero: this may occur in inactive lanes, and nothing may depend on their values.
pub(super) type Lane = Option<Scalar>;

/// The contents of a variable.
#[derive(Clone, Debug)]
pub(super) enum Slot {
    /// No value.
    Unset,
    /// The value read at this position of a block that was not written there. It may be stored
    /// elsewhere, as copies of whole arrays do; nothing may depend on it.
    Unwritten(i64),
    /// A scalar.
    Scalar(Scalar),
    /// A vector.
    Vector(Vec<Lane>),
    /// A buffer; null, if it is an owned variable without a block.
    Buffer(Option<Pointer>),
}

fn known<T>(value: Option<T>, what: &str) -> Result<T> {
    match value {
        Some(value) => Ok(value),
        None => bug(format!("{what} has no value")),
    }
}

/// The tuning parameters of an evaluation.
#[derive(Debug)]
pub(super) struct Tunables {
    pub(super) values: Vec<i64>,
    /// The listener for comparisons.
    pub(super) listener: Option<Listener>,
}

/// The values of expressions, given those of variables and tuning parameters.
#[derive(Clone, Copy)]
pub(super) struct Values<'s> {
    pub(super) variables: &'s Variables,
    pub(super) tunables: &'s Tunables,
}

impl<'s> Values<'s> {
    fn slot(self, var: Var) -> Result<&'s Slot> {
        match self.variables.get(var) {
            Some(slot) => Ok(slot),
            None => bug(format!("variable {} does not exist", var.0)),
        }
    }

    /// A tuning parameter's value.
    pub(super) fn tunable(self, id: TunableId) -> Result<i64> {
        match self.tunables.values.get(id.0 as usize) {
            Some(value) => Ok(*value),
            None => bug(format!("tunable#{} does not exist", id.0)),
        }
    }

    /// A buffer's block.
    pub(super) fn pointer(self, var: Var) -> Result<Pointer> {
        match self.slot(var)? {
            Slot::Buffer(Some(at)) => Ok(*at),
            Slot::Buffer(None) => bug(format!("buffer variable {} has no block", var.0)),
            Slot::Unset => bug(format!("variable {} is not set", var.0)),
            Slot::Scalar(_) | Slot::Unwritten(_) | Slot::Vector(_) => bug("a buffer is needed"),
        }
    }

    /// Evaluates an `i64`.
    pub(super) fn i64(self, expr: &Expr) -> Result<i64> {
        if let Scalar::I64(x) = self.scalar(expr)? { Ok(x) } else { bug("an i64 is needed") }
    }

    /// Evaluates a `bool`.
    pub(super) fn bool(self, expr: &Expr) -> Result<bool> {
        if let Scalar::Bool(x) = self.scalar(expr)? { Ok(x) } else { bug("a bool is needed") }
    }

    /// The position of the unwritten element that was read, if an expression is a variable with
    /// such a value.
    pub(super) fn unwritten(self, expr: &Expr) -> Option<i64> {
        if let Expr::Var(var) = expr
            && let Ok(Slot::Unwritten(position)) = self.slot(*var)
        {
            return Some(*position);
        }
        None
    }

    /// The value of a scalar variable.
    pub(super) fn scalar_var(self, var: Var) -> Result<Scalar> {
        match self.slot(var)? {
            Slot::Scalar(value) => Ok(*value),
            Slot::Unset => bug(format!("variable {} is not set", var.0)),
            Slot::Unwritten(position) => bug(format!("element {position} is used and was never written")),
            Slot::Vector(_) | Slot::Buffer(_) => bug("a scalar is needed"),
        }
    }

    /// Evaluates a scalar.
    pub(super) fn scalar(self, expr: &Expr) -> Result<Scalar> {
        match expr {
            Expr::Const(value) => Ok(*value),
            Expr::Var(var) => self.scalar_var(*var),
            Expr::Tunable(_)
            | Expr::LogsComparisons
            | Expr::Unary(..)
            | Expr::Binary(..)
            | Expr::Compare(..)
            | Expr::Convert(..)
            | Expr::Select(..)
            | Expr::SplitSqrt(_)
            | Expr::NewtonQuotient(..)
            | Expr::Fma(..)
            | Expr::Math(..)
            | Expr::Splat(..)
            | Expr::LaneIds(..)
            | Expr::Any(_)
            | Expr::All(_)
            | Expr::FirstLane(_)
            | Expr::Count(_)
            | Expr::Pack(..)
            | Expr::Extract(..)
            | Expr::Insert(..)
            | Expr::Shift(..) => stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || self.operator(expr)),
        }
    }

    fn operator(self, expr: &Expr) -> Result<Scalar> {
        match expr {
            Expr::Const(value) => Ok(*value),
            Expr::Var(var) => self.scalar_var(*var),
            Expr::Tunable(id) => Ok(Scalar::I64(self.tunable(*id)?)),
            Expr::LogsComparisons => Ok(Scalar::Bool(self.tunables.listener.is_some())),
            Expr::Unary(op, _, x) => known(eval::unary(*op, self.scalar(x)?), op.name()),
            Expr::Binary(op, _, x, y) => binary(*op, self.scalar(x)?, self.scalar(y)?),
            Expr::Compare(op, _, x, y) => {
                let holds = eval::compare(*op, self.scalar(x)?, self.scalar(y)?);
                known(holds.map(Scalar::Bool), op.name())
            }
            Expr::Convert(op, _, to, x) => known(eval::convert(*op, self.scalar(x)?, *to), op.name()),
            Expr::Select(_, c, x, y) => {
                let (c, x, y) = (self.bool(c)?, self.scalar(x)?, self.scalar(y)?);
                Ok(if c { x } else { y })
            }
            Expr::Fma(_, x, y, z) => {
                let value = eval::fma(self.scalar(x)?, self.scalar(y)?, self.scalar(z)?);
                known(value, "fma")
            }
            Expr::Math(fun, _, args) => {
                let args: Result<Vec<Scalar>> = args.iter().map(|x| self.scalar(x)).collect();
                known(eval::math(*fun, &args?), fun.name())
            }
            Expr::Any(mask) => Ok(Scalar::Bool(self.first_lane(mask)?.is_some())),
            Expr::All(mask) => {
                let mask = self.vector(mask)?;
                for lane in mask.iter() {
                    if !is_on(*lane)? {
                        return Ok(Scalar::Bool(false));
                    }
                }
                Ok(Scalar::Bool(true))
            }
            Expr::FirstLane(mask) => {
                let lanes = self.vector(mask)?.len();
                let first = self.first_lane(mask)?.unwrap_or(lanes);
                Ok(Scalar::I64(first as i64))
            }
            Expr::Count(mask) => {
                let mask = self.vector(mask)?;
                let mut count = 0;
                for lane in mask.iter() {
                    count += i64::from(is_on(*lane)?);
                }
                Ok(Scalar::I64(count))
            }
            Expr::Extract(x, lane) => {
                let x = self.vector(x)?;
                known(x[self.lane(lane, x.len())?], "the lane")
            }
            Expr::SplitSqrt(_)
            | Expr::NewtonQuotient(..)
            | Expr::Splat(..)
            | Expr::LaneIds(..)
            | Expr::Pack(..)
            | Expr::Insert(..)
            | Expr::Shift(..) => bug("a scalar is needed"),
        }
    }

    fn first_lane(self, mask: &Expr) -> Result<Option<usize>> {
        let mask = self.vector(mask)?;
        for (i, lane) in mask.iter().enumerate() {
            if is_on(*lane)? {
                return Ok(Some(i));
            }
        }
        Ok(None)
    }

    fn lane(self, expr: &Expr, lanes: usize) -> Result<usize> {
        let lane = self.i64(expr)?;
        match usize::try_from(lane) {
            Ok(lane) if lane < lanes => Ok(lane),
            _ => bug(format!("lane {lane} of {lanes}")),
        }
    }

    /// Evaluates a vector.
    pub(super) fn vector(self, expr: &Expr) -> Result<Cow<'s, [Lane]>> {
        if let Expr::Var(var) = expr {
            return match self.slot(*var)? {
                Slot::Vector(values) => Ok(Cow::Borrowed(values)),
                Slot::Unset => bug(format!("variable {} is not set", var.0)),
                Slot::Scalar(_) | Slot::Unwritten(_) | Slot::Buffer(_) => bug("a vector is needed"),
            };
        }
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || self.vector_operator(expr).map(Cow::Owned))
    }

    fn vector_operator(self, expr: &Expr) -> Result<Vec<Lane>> {
        match expr {
            Expr::Splat(lanes, x) => Ok(vec![Some(self.scalar(x)?); *lanes as usize]),
            Expr::LaneIds(ty, lanes) => {
                Ok((0..i64::from(*lanes)).map(|lane| Some(Scalar::int(*ty, lane))).collect())
            }
            Expr::Insert(x, lane, value) => {
                let mut x = self.vector(x)?.into_owned();
                let lane = self.lane(lane, x.len())?;
                x[lane] = Some(self.scalar(value)?);
                Ok(x)
            }
            Expr::Pack(x, mask) => {
                let (x, mask) = (self.vector(x)?, self.vector(mask)?);
                let zero = |ty| Some(Scalar::from_bits(ty, 0));
                let ty = x.iter().flatten().next().map(|lane| lane.ty());
                let mut packed = Vec::with_capacity(x.len());
                for (value, lane) in x.iter().zip(mask.iter()) {
                    if is_on(*lane)? {
                        packed.push(*value);
                    }
                }
                packed.resize(x.len(), ty.and_then(zero));
                Ok(packed)
            }
            Expr::Shift(x, by, value) => {
                let mut x = self.vector(x)?.into_owned();
                let by = (*by as usize).min(x.len());
                x.rotate_right(by);
                x[..by].fill(Some(self.scalar(value)?));
                Ok(x)
            }
            Expr::Unary(op, _, x) => self.lanes([x], |[x]| eval::unary(*op, x)),
            Expr::SplitSqrt(x) => self.lanes([x], |[x]| eval::unary(UnOp::FSqrt, x)),
            Expr::NewtonQuotient(x, y) => self.lane_pairs(x, y, |x, y| eval::binary(BinOp::FDiv, x?, y?)),
            Expr::Binary(op @ (BinOp::And | BinOp::Or), PrimType::Bool, x, y) => {
                // One operand may determine the result, whatever the other is.
                let deciding = Some(Scalar::Bool(*op == BinOp::Or));
                self.lane_pairs(x, y, |x, y| {
                    if x == deciding || y == deciding {
                        return deciding;
                    }
                    eval::binary(*op, x?, y?)
                })
            }
            Expr::Binary(op, _, x, y) => self.lane_pairs(x, y, |x, y| eval::binary(*op, x?, y?)),
            Expr::Compare(op, _, x, y) => {
                self.lanes([x, y], |[x, y]| eval::compare(*op, x, y).map(Scalar::Bool))
            }
            Expr::Convert(op, _, to, x) => self.lanes([x], |[x]| eval::convert(*op, x, *to)),
            Expr::Select(_, c, x, y) => {
                let (c, x, y) = (self.vector(c)?, self.vector(x)?, self.vector(y)?);
                if x.len() != c.len() || y.len() != c.len() {
                    return bug("vectors with different numbers of lanes");
                }
                let pick = |(c, (x, y)): (&Lane, (&Lane, &Lane))| match c {
                    Some(Scalar::Bool(true)) => *x,
                    Some(_) => *y,
                    None => None,
                };
                Ok(c.iter().zip(x.iter().zip(y.iter())).map(pick).collect())
            }
            Expr::Fma(_, x, y, z) => self.lanes([x, y, z], |[x, y, z]| eval::fma(x, y, z)),
            Expr::Math(fun, _, args) => match args.as_slice() {
                [x] => self.lanes([x], |args| eval::math(*fun, &args)),
                [x, y] => self.lanes([x, y], |args| eval::math(*fun, &args)),
                _ => bug("a mathematical function of other than one or two arguments"),
            },
            Expr::Const(_)
            | Expr::Var(_)
            | Expr::Tunable(_)
            | Expr::LogsComparisons
            | Expr::Any(_)
            | Expr::All(_)
            | Expr::FirstLane(_)
            | Expr::Count(_)
            | Expr::Extract(..) => bug("a vector is needed"),
        }
    }

    fn lane_pairs(self, x: &Expr, y: &Expr, f: impl Fn(Lane, Lane) -> Lane) -> Result<Vec<Lane>> {
        let (x, y) = (self.vector(x)?, self.vector(y)?);
        if x.len() != y.len() {
            return bug("vectors with different numbers of lanes");
        }
        Ok(x.iter().zip(y.iter()).map(|(x, y)| f(*x, *y)).collect())
    }

    /// Applies an operator to the lanes of its operands.
    fn lanes<const N: usize>(
        self,
        operands: [&Expr; N],
        f: impl Fn([Scalar; N]) -> Option<Scalar>,
    ) -> Result<Vec<Lane>> {
        let mut vectors = Vec::with_capacity(N);
        for operand in operands {
            vectors.push(self.vector(operand)?);
        }
        let lanes = vectors.first().map_or(0, |x| x.len());
        if vectors.iter().any(|x| x.len() != lanes) {
            return bug("vectors with different numbers of lanes");
        }
        let lane = |lane: usize| {
            let mut values = [Scalar::Bool(false); N];
            for (value, vector) in values.iter_mut().zip(&vectors) {
                *value = vector[lane]?;
            }
            f(values)
        };
        Ok((0..lanes).map(lane).collect())
    }
}

/// Returns true if a mask's lane is set.
pub(super) fn is_on(lane: Lane) -> Result<bool> {
    match lane {
        Some(value) => Ok(value == Scalar::Bool(true)),
        None => bug("a lane of a mask has no value"),
    }
}

pub(super) fn binary(op: BinOp, x: Scalar, y: Scalar) -> Result<Scalar> {
    // A fast path for index arithmetic.
    if let (Scalar::I64(x), Scalar::I64(y)) = (x, y) {
        match op {
            BinOp::Add => return Ok(Scalar::I64(x.wrapping_add(y))),
            BinOp::Sub => return Ok(Scalar::I64(x.wrapping_sub(y))),
            BinOp::Mul => return Ok(Scalar::I64(x.wrapping_mul(y))),
            BinOp::SDiv
            | BinOp::UDiv
            | BinOp::SMod
            | BinOp::UMod
            | BinOp::SQuot
            | BinOp::SRem
            | BinOp::SMin
            | BinOp::UMin
            | BinOp::SMax
            | BinOp::UMax
            | BinOp::Shl
            | BinOp::LShr
            | BinOp::AShr
            | BinOp::And
            | BinOp::Or
            | BinOp::Xor
            | BinOp::Pow
            | BinOp::FAdd
            | BinOp::FSub
            | BinOp::FMul
            | BinOp::FDiv
            | BinOp::FMod
            | BinOp::FMin
            | BinOp::FMax => {}
        }
    }
    known(eval::binary(op, x, y), op.name())
}

/// The size of `count` elements in bytes.
pub(super) fn bytes_of(elem: PrimType, count: u64) -> i64 {
    i64::try_from(u128::from(elem.size()) * u128::from(count)).unwrap_or(i64::MAX)
}
