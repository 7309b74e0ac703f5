//! Arithmetic on scalars with components of several perturbations ([`super::dual`]), by the
//! derivatives of [`prim::derivative`].

use super::dual::Mask;
use super::machine::{Evaluator, Frame, Value};
use super::scalars::undefined;
use super::{ErrorClass, EvalError, EvalLevel};
use crate::syntax::Atom;
use prim::derivative::{Derivative, Factor, derivatives};
use prim::{BinOp, ConvOp, PrimType, Scalar, ScalarOp, UnOp, eval};
use smallvec::SmallVec;

type Result<T> = std::result::Result<T, EvalError>;

/// A scalar and its components. Absent ones are zero.
#[derive(Clone, Debug)]
pub(super) struct Jet {
    pub(super) primal: Scalar,
    parts: SmallVec<[(Mask, Scalar); 3]>,
}

impl Jet {
    pub(super) fn constant(primal: Scalar) -> Self {
        Self { primal, parts: SmallVec::new() }
    }

    pub(super) fn of(value: &Value) -> Result<Self> {
        let scalar =
            |value: &Value| value.as_scalar().ok_or_else(|| EvalError::bug("an operand is not a scalar"));
        let parts = value.tangents().iter().map(|(mask, part)| Ok((*mask, scalar(part)?)));
        Ok(Self { primal: scalar(value)?, parts: parts.collect::<Result<_>>()? })
    }

    pub(super) fn value(self) -> Value {
        let parts = self.parts.into_iter().map(|(mask, part)| (mask, Value::Scalar(part)));
        Value::Scalar(self.primal).with_tangents(parts.collect())
    }

    /// The part without a perturbation, and the factor of the perturbation unless it is zero.
    fn split(&self, perturbation: Mask) -> (Self, Option<Self>) {
        let mut without = Self::constant(self.primal);
        let mut factor: Option<Self> = None;
        for (mask, part) in &self.parts {
            if mask & perturbation == 0 {
                without.parts.push((*mask, *part));
                continue;
            }
            let factor = factor.get_or_insert_with(|| Self::constant(Scalar::zero(self.primal.ty())));
            match mask & !perturbation {
                0 => factor.primal = *part,
                mask => factor.parts.push((mask, *part)),
            }
        }
        (without, factor)
    }

    fn components(&self) -> impl Iterator<Item = (Mask, Scalar)> + '_ {
        std::iter::once((0, self.primal)).chain(self.parts.iter().copied())
    }

    /// The components of a linear function's result.
    fn linear(&self, f: impl Fn(Scalar) -> ScalarOp<Scalar>) -> Result<Self> {
        let mut parts = SmallVec::new();
        for (mask, part) in &self.parts {
            parts.push((*mask, plain(&f(*part))?));
        }
        Ok(Self { primal: plain(&f(self.primal))?, parts })
    }

    /// Adds to the component of a mask.
    fn add_part(&mut self, mask: Mask, x: Scalar) -> Result<()> {
        if mask == 0 {
            self.primal = sum(self.primal, x)?;
            return Ok(());
        }
        match self.parts.iter_mut().find(|(own, _)| *own == mask) {
            Some((_, part)) => *part = sum(*part, x)?,
            None => self.parts.push((mask, x)),
        }
        Ok(())
    }

    pub(super) fn plus(mut self, other: &Self) -> Result<Self> {
        for (mask, part) in other.components() {
            self.add_part(mask, part)?;
        }
        Ok(self)
    }

    pub(super) fn times(&self, other: &Self) -> Result<Self> {
        let ty = self.primal.ty();
        let op = if ty.is_float() { BinOp::FMul } else { BinOp::Mul };
        let mut product: Option<Self> = None;
        for (own, x) in self.components() {
            for (mask, y) in other.components().filter(|(mask, _)| own & mask == 0) {
                let part = plain(&ScalarOp::Binary(op, ty, x, y))?;
                match &mut product {
                    None => product = Some(Self::constant(part)),
                    Some(product) => product.add_part(own | mask, part)?,
                }
            }
        }
        Ok(product.unwrap_or_else(|| Self::constant(Scalar::zero(ty))))
    }

    /// The nearest jet of another type.
    pub(super) fn converted(&self, to: PrimType) -> Result<Self> {
        let from = self.primal.ty();
        let op = match (from.is_float(), to.is_float()) {
            _ if from == to => return Ok(self.clone()),
            (true, true) => ConvOp::FConv,
            (true, false) => ConvOp::FToS,
            (false, true) => ConvOp::SToF,
            (false, false) => ConvOp::SExt,
        };
        self.linear(|arg| ScalarOp::Convert { op, from, to, arg })
    }
}

/// The value of an operation that is not a mathematical function.
fn plain(op: &ScalarOp<Scalar>) -> Result<Scalar> {
    op.value(|_, _, _| None).ok_or_else(|| undefined(op))
}

/// Truth values: at most one operand is true.
fn sum(x: Scalar, y: Scalar) -> Result<Scalar> {
    let ty = x.ty();
    let op = match ty {
        PrimType::Bool => BinOp::Or,
        PrimType::F16 | PrimType::F32 | PrimType::F64 => BinOp::FAdd,
        PrimType::I8 | PrimType::I16 | PrimType::I32 | PrimType::I64 => BinOp::Add,
    };
    plain(&ScalarOp::Binary(op, ty, x, y))
}

impl Frame<'_> {
    fn jet(&self, atom: Atom) -> Result<Jet> {
        match atom {
            Atom::Var(name) => Jet::of(&self.slots[name.index()]),
            Atom::Const(x) => Ok(Jet::constant(x)),
        }
    }
}

impl<L: EvalLevel> Evaluator<'_, L> {
    /// The value of a scalar operation on values with components.
    pub(super) fn dual_scalar(&self, frame: &Frame<'_>, op: &ScalarOp<Atom>) -> Result<Value> {
        let op = op.as_ref().try_map(|atom| frame.jet(*atom))?;
        Ok(self.jet(op)?.value())
    }

    fn jet(&self, op: ScalarOp<Jet>) -> Result<Jet> {
        let masks = op.operands().iter().flat_map(|x| &x.parts).fold(0, |all, (mask, _)| all | mask);
        if masks == 0 {
            let op = op.map(|x| x.primal);
            // The program lacks definitions of functions that only derivatives use.
            let math = |fun, ty, args: &[Scalar]| {
                self.program.math.evaluate(fun, ty, args).or_else(|| eval::math(fun, args))
            };
            let value = op.value(math);
            return value.map(Jet::constant).ok_or_else(|| undefined(&op));
        }
        // `f (x + e * dx) = f x + e * f' x * dx`, for the last perturbation.
        let perturbation = 1 << masks.ilog2();
        let Some(rules) = derivatives(&op) else {
            let message = format!("the derivative of {}", op.name());
            return Err(EvalError::new(ErrorClass::Unsupported, message));
        };
        let mut changes: SmallVec<[Option<Jet>; 3]> = SmallVec::new();
        let op = op.map(|x| {
            let (without, change) = x.split(perturbation);
            changes.push(change);
            without
        });
        let operands: SmallVec<[Jet; 3]> = op.operands().into_iter().cloned().collect();
        let to = op.result_type();
        let mut result = self.jet(op)?;
        let mut total: Option<Jet> = None;
        for (rule, change) in rules.iter().zip(changes) {
            let Some(change) = change else { continue };
            let ty = change.primal.ty();
            let factor = |factor: &Factor| self.factor(factor, &operands, &result);
            let holds = |cond: &Factor| Ok(factor(cond)?.primal == Scalar::Bool(true));
            let term = match rule {
                Derivative::Zero => continue,
                Derivative::Same => change,
                Derivative::Negated => {
                    let op = if ty.is_float() { UnOp::FNeg } else { UnOp::Neg };
                    change.linear(|x| ScalarOp::Unary(op, ty, x))?
                }
                Derivative::Times(by) => factor(by)?.times(&change)?,
                Derivative::If(cond) if holds(cond)? => change,
                Derivative::Unless(cond) if !holds(cond)? => change,
                Derivative::If(_) | Derivative::Unless(_) => continue,
                Derivative::Converted { forward, backward: _ } => {
                    change.linear(|arg| ScalarOp::Convert { op: *forward, from: ty, to, arg })?
                }
            };
            total = Some(match total {
                None => term,
                Some(total) => total.plus(&term)?,
            });
        }
        for (mask, part) in total.iter().flat_map(Jet::components) {
            result.parts.push((mask | perturbation, part));
        }
        Ok(result)
    }

    fn factor(&self, factor: &Factor, operands: &[Jet], result: &Jet) -> Result<Jet> {
        match factor {
            Factor::Operand(at) => {
                operands.get(*at).cloned().ok_or_else(|| EvalError::bug("a derivative of a missing operand"))
            }
            Factor::Result => Ok(result.clone()),
            Factor::Const(x) => Ok(Jet::constant(*x)),
            Factor::Op(op) => {
                self.jet((**op).as_ref().try_map(|factor| self.factor(factor, operands, result))?)
            }
        }
    }
}
