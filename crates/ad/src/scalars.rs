//! Changes of scalar operations, forwards and backwards, by the table [`prim::derivative`].

use crate::state::{Ad, Result, zero};
use ir::syntax::{Atom, BasicOp};
use prim::derivative::{Derivative, Factor, derivatives};
use prim::{BinOp, ConvOp, PrimType, ScalarOp, UnOp};
use smallvec::SmallVec;

/// The directions in which changes are passed on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// From operands to results.
    Forward,
    /// From results to operands.
    Reverse,
}

impl Ad<'_> {
    /// For each operand, the derivative.
    pub fn derivatives(&self, op: &ScalarOp<Atom>) -> Result<SmallVec<[Derivative; 3]>> {
        derivatives(op).ok_or_else(|| self.unsupported(&format!("`{}`", op.name())))
    }

    /// The change of the result by that of an operand, or that of an operand by that of the result;
    /// `None` if it is zero. `at` is the operand's position.
    pub fn passed_on(
        &mut self,
        op: &ScalarOp<Atom>,
        result: Atom,
        (at, derivative): (usize, &Derivative),
        change: Atom,
        mode: Mode,
    ) -> Option<Atom> {
        let ty = op.result_type();
        let (operand, mul, neg) = if ty.is_float() {
            (op.operand_types()[at], BinOp::FMul, UnOp::FNeg)
        } else {
            (op.operand_types()[at], BinOp::Mul, UnOp::Neg)
        };
        Some(match derivative {
            Derivative::Zero => return None,
            Derivative::Same => change,
            Derivative::Negated => self.b.unary(neg, ty, change).into(),
            Derivative::Times(factor) => {
                let factor = self.factor(op, result, factor);
                self.b.binary(mul, ty, change, factor).into()
            }
            Derivative::If(cond) => {
                let cond = self.factor(op, result, cond);
                self.b.select(ty, cond, change, zero(ty)).into()
            }
            Derivative::Unless(cond) => {
                let cond = self.factor(op, result, cond);
                self.b.select(ty, cond, zero(ty), change).into()
            }
            Derivative::Converted { forward, backward } => {
                let (conv, from, to): (ConvOp, PrimType, PrimType) = match mode {
                    Mode::Forward => (*forward, operand, ty),
                    Mode::Reverse => (*backward, ty, operand),
                };
                self.b.convert(conv, from, to, change)
            }
        })
    }

    /// The value of a factor.
    fn factor(&mut self, op: &ScalarOp<Atom>, result: Atom, factor: &Factor) -> Atom {
        match factor {
            Factor::Operand(at) => *op.operands()[*at],
            Factor::Result => result,
            Factor::Const(value) => Atom::Const(*value),
            Factor::Op(inner) => {
                let inner = inner.as_ref().as_ref().map(|x| self.factor(op, result, x));
                self.b.let_basic(inner.name(), BasicOp::Scalar(inner)).into()
            }
        }
    }
}
