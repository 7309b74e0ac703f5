//! Operations on scalars with derivatives, by the table of [`prim::derivative`].
//!
//! An operation is evaluated at its operands without their highest level; the change of that level
//! follows from the operation's derivatives, which are scalars of lower levels.

use crate::derivative::active::{Change, Tangents};
use crate::derivative::tape::Edge;
use crate::failure::{Class, Failure, Res};
use crate::machine::Machine;
use crate::operation::number;
use crate::value::RunValue;
use prim::derivative::{Derivative, Factor, derivatives};
use prim::{BinOp, ConvOp, PrimType, Scalar, ScalarOp, UnOp};
use smallvec::SmallVec;

/// The derivative of an operation at its operands.
#[derive(Debug)]
pub enum Linear {
    /// The same change.
    Same,
    /// The negated change.
    Negated,
    /// The change times a scalar.
    Times(RunValue),
    /// The converted change.
    Converted {
        /// From a change of the operand.
        forward: ConvOp,
        /// From an adjoint of the result.
        backward: ConvOp,
        /// The type of the operand.
        from: PrimType,
        /// The type of the result.
        to: PrimType,
    },
}

impl Machine<'_> {
    /// The value of an operation, with its derivatives.
    pub fn derived(&mut self, op: &ScalarOp<RunValue>) -> Res<RunValue> {
        let mut level = 0;
        op.each_operand(|x| level = level.max(x.level()));
        if level == 0 {
            return self.plain(op);
        }
        let lower = op.as_ref().map(|x| x.below(level));
        let result = self.derived(&lower)?;
        let rules = derivatives(op).ok_or_else(|| {
            let text = format!("not supported yet: the derivative of `{}`", op.name());
            Failure::new(Class::Unsupported, text)
        })?;
        let operands = lower.operands();
        let mut parts: SmallVec<[(&Change, Linear); 2]> = SmallVec::new();
        for (operand, rule) in op.operands().into_iter().zip(&rules) {
            if let Some(change) = operand.change(level)
                && let Some(linear) = self.linear(rule, &lower, &operands, &result)?
            {
                parts.push((change, linear));
            }
        }
        let change = match parts.first() {
            None => return Ok(result),
            Some((Change::Tangents(first), _)) => {
                let mut tangents = Tangents::with_capacity(first.len());
                for lane in 0..first.len() {
                    tangents.push(self.tangent(&parts, lane)?);
                }
                Change::Tangents(tangents)
            }
            Some((Change::Node(_), _)) => match self.tape(level) {
                Some(tape) => {
                    let edges = parts.into_iter().filter_map(|(change, linear)| match change {
                        Change::Node(from) => Some(Edge { from: *from, linear }),
                        Change::Tangents(_) => None,
                    });
                    Change::Node(tape.push(edges))
                }
                // The derivative has ended.
                None => return Ok(result),
            },
        };
        Ok(RunValue::active(level, result, change))
    }

    /// The sum of the operands' changes in one direction.
    fn tangent(&mut self, parts: &[(&Change, Linear)], lane: usize) -> Res<RunValue> {
        let mut sum = None;
        for (change, linear) in parts {
            let Change::Tangents(tangents) = change else { continue };
            let Some(tangent) = tangents.get(lane) else { continue };
            let tangent = self.forward(linear, tangent)?;
            sum = Some(match sum {
                Some(sum) => self.sum(&sum, &tangent)?,
                None => tangent,
            });
        }
        sum.ok_or_else(|| Failure::bug("a direction without a tangent"))
    }

    /// A derivative at an operation's operands; `None` if it is 0.
    fn linear(
        &mut self,
        rule: &Derivative,
        op: &ScalarOp<RunValue>,
        operands: &[&RunValue],
        result: &RunValue,
    ) -> Res<Option<Linear>> {
        let mut holds = |cond: &Factor| -> Res<bool> {
            let cond = self.factor(cond, operands, result)?;
            Ok(cond.as_scalar() == Some(Scalar::Bool(true)))
        };
        Ok(match rule {
            Derivative::Zero => None,
            Derivative::Same => Some(Linear::Same),
            Derivative::Negated => Some(Linear::Negated),
            Derivative::Times(factor) => Some(Linear::Times(self.factor(factor, operands, result)?)),
            Derivative::If(cond) => holds(cond)?.then_some(Linear::Same),
            Derivative::Unless(cond) => (!holds(cond)?).then_some(Linear::Same),
            Derivative::Converted { forward, backward } => {
                let from = op.operand_types().first().copied().unwrap_or(op.result_type());
                let (forward, backward) = (*forward, *backward);
                Some(Linear::Converted { forward, backward, from, to: op.result_type() })
            }
        })
    }

    fn factor(&mut self, factor: &Factor, operands: &[&RunValue], result: &RunValue) -> Res<RunValue> {
        match factor {
            Factor::Operand(at) => {
                let operand = operands.get(*at).copied().cloned();
                operand.ok_or_else(|| Failure::bug("a derivative with too many operands"))
            }
            Factor::Result => Ok(result.clone()),
            Factor::Const(x) => Ok(RunValue::Scalar(*x)),
            Factor::Op(op) => {
                let op = (**op).as_ref().try_map(|x| self.factor(x, operands, result))?;
                self.derived(&op)
            }
        }
    }

    /// The change of a result from that of an operand.
    fn forward(&mut self, linear: &Linear, tangent: &RunValue) -> Res<RunValue> {
        match linear {
            Linear::Converted { forward, to, .. } => self.convert(*forward, tangent, *to),
            Linear::Same | Linear::Negated | Linear::Times(_) => self.scaled(linear, tangent),
        }
    }

    /// The adjoint of an operand from that of a result.
    pub fn backward(&mut self, linear: &Linear, adjoint: &RunValue) -> Res<RunValue> {
        match linear {
            Linear::Converted { backward, from, .. } => self.convert(*backward, adjoint, *from),
            Linear::Same | Linear::Negated | Linear::Times(_) => self.scaled(linear, adjoint),
        }
    }

    fn scaled(&mut self, linear: &Linear, change: &RunValue) -> Res<RunValue> {
        match linear {
            Linear::Same | Linear::Converted { .. } => Ok(change.clone()),
            Linear::Negated => {
                let ty = number(change)?.ty();
                self.unary(if ty.is_float() { UnOp::FNeg } else { UnOp::Neg }, change)
            }
            Linear::Times(factor) => self.combined(BinOp::Mul, BinOp::FMul, BinOp::And, change, factor),
        }
    }

    /// The sum of two changes of one scalar; that of truth values is their disjunction.
    pub fn sum(&mut self, x: &RunValue, y: &RunValue) -> Res<RunValue> {
        self.combined(BinOp::Add, BinOp::FAdd, BinOp::Or, x, y)
    }

    /// Applies the operator for integers, floats or truth values.
    fn combined(
        &mut self,
        int: BinOp,
        float: BinOp,
        truth: BinOp,
        x: &RunValue,
        y: &RunValue,
    ) -> Res<RunValue> {
        let ty = number(x)?.ty();
        let op = match ty {
            PrimType::Bool => truth,
            ty if ty.is_float() => float,
            _ => int,
        };
        self.derived(&ScalarOp::Binary(op, ty, x.clone(), y.clone()))
    }

    /// The value of an operation on scalars without derivatives.
    fn plain(&mut self, op: &ScalarOp<RunValue>) -> Res<RunValue> {
        if let ScalarOp::Math(fun, ty, args) = op
            && let Some(definition) = self.interp.math_definition(*fun, *ty)
        {
            return self.call_global(definition, &[], args.iter().cloned().collect());
        }
        let scalars = op.as_ref().try_map(number)?;
        let value = scalars.value(|fun, _, args| prim::eval::math(fun, args));
        let value = value.ok_or_else(|| Failure::bug(format_args!("`{}` has no value", op.spelling())))?;
        Ok(RunValue::Scalar(value))
    }
}
