//! Derivatives of functions: forward mode with pairs of scalars and their changes, reverse mode
//! with a tape.
//!
//! The scalars in the argument become [`Active`]; operations on them ([`rules`]) yield active
//! scalars. Each derivative has a level, so that derivatives nest, and a value's dependence on the
//! variables of one is not mistaken for that on another's. Where only the value of a scalar matters
//! (branches, indices, sizes), it is read with [`RunValue::as_scalar`]. A derivative removes its
//! active scalars from its result; only `f'` of `with_vjp f f' x` can see them later, if it has
//! captured some, and treats them as constants.

pub mod active;
mod leaves;
mod rules;
mod tape;

use crate::build::Rows;
use crate::failure::{Class, Failure, Res};
use crate::indexed::Arguments;
use crate::machine::Machine;
use crate::value::{RunType, RunValue};
use active::{Change, Level};
use leaves::{Alike, Structure};
use std::rc::Rc;
use syntax::span::Span;
use tape::Tape;

pub use active::Active;

/// The maximum number of derivatives around an expression.
const MAX_DEPTH: usize = 100;

/// A derivative that is being computed.
#[derive(Debug)]
pub struct Running {
    level: Level,
    /// The tape, in reverse mode.
    tape: Option<Tape>,
}

/// The mode of a derivative.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// From a change of the argument to that of the result.
    Forward,
    /// From an adjoint of the result to that of the argument.
    Reverse,
}

/// A function and its argument.
struct Applied {
    fun: RunValue,
    arg: RunValue,
    arg_ty: Rc<RunType>,
    result_ty: Rc<RunType>,
    span: Span,
}

impl Applied {
    fn new(given: &mut Arguments, types: &[Rc<RunType>], span: Span) -> Res<Self> {
        let ty = |at: usize| types.get(at).map_or_else(|| Rc::new(RunType::Unknown), Rc::clone);
        Ok(Self { fun: given.next()?, arg: given.next()?, arg_ty: ty(0), result_ty: ty(1), span })
    }
}

/// The value without derivatives.
pub fn plain(value: &RunValue) -> RunValue {
    leaves::below(value, 1).unwrap_or_default()
}

impl Machine<'_> {
    /// A derivative with one seed: the function's result and the derivative.
    pub fn derivative(
        &mut self,
        mode: Mode,
        given: &mut Arguments,
        types: &[Rc<RunType>],
        span: Span,
    ) -> Res<RunValue> {
        let applied = Applied::new(given, types, span)?;
        let (result, mut derivatives) = self.derivatives(mode, &applied, &[given.next()?])?;
        let derivative = derivatives.pop().ok_or_else(|| Failure::bug("a seed without a derivative"))?;
        Ok(RunValue::pair(result, derivative))
    }

    /// A derivative with an array of seeds: the function's result and an array of derivatives.
    pub fn derivative_of_seeds(
        &mut self,
        mode: Mode,
        given: &mut Arguments,
        types: &[Rc<RunType>],
        span: Span,
    ) -> Res<RunValue> {
        let applied = Applied::new(given, types, span)?;
        let seeds = given.array()?;
        let seeds: Vec<RunValue> = (0..seeds.len()).map(|i| seeds.row(i)).collect();
        let (result, derivatives) = self.derivatives(mode, &applied, &seeds)?;
        let (alike, ty) = match mode {
            Mode::Forward => (&result, &applied.result_ty),
            Mode::Reverse => (&applied.arg, &applied.arg_ty),
        };
        let mut rows = Rows::new(derivatives.len());
        for derivative in derivatives {
            let pushed = rows.push(derivative);
            self.row_result(pushed, None, span)?;
        }
        let rows = rows.finish(|| match alike {
            RunValue::Array(_) => alike.rty(),
            _ => Rc::clone(ty),
        });
        Ok(RunValue::pair(result, rows))
    }

    fn derivatives(
        &mut self,
        mode: Mode,
        applied: &Applied,
        seeds: &[RunValue],
    ) -> Res<(RunValue, Vec<RunValue>)> {
        match mode {
            Mode::Forward => self.forward_mode(applied, seeds),
            Mode::Reverse => self.reverse_mode(applied, seeds),
        }
    }

    fn forward_mode(&mut self, applied: &Applied, seeds: &[RunValue]) -> Res<(RunValue, Vec<RunValue>)> {
        let level = self.new_level(applied.span)?;
        let structure = Structure { ty: &applied.arg_ty, span: applied.span };
        let arg = structure.zip(&applied.arg, seeds, &mut |leaf, tangents| {
            Ok(RunValue::active(level, leaf.clone(), Change::Tangents(tangents)))
        })?;
        let (result, _) = self.with_derivative(level, None, &applied.fun, arg)?;
        let mut tangents = Vec::with_capacity(seeds.len());
        for lane in 0..seeds.len() {
            tangents.push(leaves::map(&result, &mut |leaf| match leaf.change(level) {
                Some(Change::Tangents(tangents)) => tangents.get(lane).cloned().unwrap_or_default(),
                Some(Change::Node(_)) | None => leaves::zero(leaf),
            })?);
        }
        Ok((leaves::below(&result, level)?, tangents))
    }

    fn reverse_mode(&mut self, applied: &Applied, seeds: &[RunValue]) -> Res<(RunValue, Vec<RunValue>)> {
        let level = self.new_level(applied.span)?;
        let mut variables = 0;
        let arg = leaves::map(&applied.arg, &mut |leaf| {
            variables += 1;
            RunValue::active(level, leaf.clone(), Change::Node(variables - 1))
        })?;
        let tape = Some(Tape::new(variables));
        let (result, tape) = self.with_derivative(level, tape, &applied.fun, arg)?;
        let tape = tape.ok_or_else(|| Failure::bug("reverse mode without a tape"))?;
        let mut outputs: Vec<(usize, Alike)> = Vec::new();
        let structure = Structure { ty: &applied.result_ty, span: applied.span };
        let result = structure.zip(&result, seeds, &mut |leaf, adjoints| {
            if let Some(Change::Node(node)) = leaf.change(level) {
                outputs.push((*node, adjoints));
            }
            Ok(leaf.below(level))
        })?;
        let mut derivatives = Vec::with_capacity(seeds.len());
        for lane in 0..seeds.len() {
            let of_result =
                outputs.iter().filter_map(|(node, seeds)| Some((*node, seeds.get(lane)?.clone())));
            let mut adjoints = self.adjoints(&tape, level, of_result)?.into_iter();
            derivatives.push(leaves::map(&applied.arg, &mut |leaf| {
                adjoints.next().flatten().unwrap_or_else(|| leaves::zero(leaf))
            })?);
        }
        Ok((result, derivatives))
    }

    /// `with_vjp f f' x`: in reverse mode, the adjoint of `x` is computed by `f'`, and the free
    /// variables of `f` have none.
    pub fn with_vjp(&mut self, given: &mut Arguments, types: &[Rc<RunType>], span: Span) -> Res<RunValue> {
        let (f, adjoint, x) = (given.next()?, given.next()?, given.next()?);
        let level = match self.running.last() {
            Some(Running { level, tape: Some(_) }) => *level,
            Some(Running { level: _, tape: None }) | None => return self.apply1(&f, x),
        };
        let mut depends = false;
        let arg = leaves::map(&x, &mut |leaf| {
            depends |= leaf.change(level).is_some();
            leaf.below(level)
        })?;
        let result = self.apply1(&f, arg)?;
        let result = leaves::below(&result, level)?;
        let ty = types.first().map_or_else(|| Rc::new(RunType::Unknown), Rc::clone);
        let Some(tape) = self.tape(level).filter(|_| depends) else {
            return Ok(result);
        };
        tape.push_call(x, result.clone(), adjoint, ty, span);
        leaves::map(&result, &mut |leaf| RunValue::active(level, leaf.clone(), Change::Node(tape.push([]))))
    }

    fn new_level(&mut self, span: Span) -> Res<Level> {
        if self.running.len() >= MAX_DEPTH {
            let text = format!("not supported: derivatives nested more than {MAX_DEPTH} times");
            return Err(Failure::new(Class::Unsupported, text).with_caller(span));
        }
        self.last_level += 1;
        Ok(self.last_level)
    }

    /// Applies a function to an argument with a derivative; returns the tape too.
    fn with_derivative(
        &mut self,
        level: Level,
        tape: Option<Tape>,
        fun: &RunValue,
        arg: RunValue,
    ) -> Res<(RunValue, Option<Tape>)> {
        self.running.push(Running { level, tape });
        let result = self.apply1(fun, arg);
        let running = self.running.pop();
        Ok((result?, running.and_then(|running| running.tape)))
    }

    /// The tape of a derivative in reverse mode; `None` if it has ended.
    fn tape(&mut self, level: Level) -> Option<&mut Tape> {
        let running = self.running.iter_mut().rev().find(|running| running.level == level);
        running?.tape.as_mut()
    }
}
