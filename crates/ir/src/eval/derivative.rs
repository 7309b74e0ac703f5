//! Derivatives, in forward mode: the function is applied to arguments with tangents.
//!
//! A reverse derivative is evaluated with a tangent for each element of each argument, so its cost
//! grows with their number. A function with a reverse derivative of its own has no tangent that
//! follows from it, so a reverse derivative of such a function is not supported.

use super::array::Array;
use super::dual::Mask;
use super::jet::Jet;
use super::machine::{Evaluator, Frame, Value};
use super::ops::{delinearise, row, rows_for};
use super::rows::Rows;
use super::{ErrorClass, EvalError};
use crate::soac::Soacs;
use crate::syntax::{Atom, Lambda};
use crate::types::Dim;
use prim::{PrimType, Scalar, f16_from_f64};

type Result<T> = std::result::Result<T, EvalError>;

/// The perturbations of the derivatives that are being evaluated.
#[derive(Clone, Copy, Default)]
pub(super) struct Perturbations {
    pub(super) all: Mask,
    /// Those of reverse derivatives.
    reverse: Mask,
}

/// The operands of a derivative.
#[derive(Clone, Copy)]
pub(super) struct DerivativeOp<'p> {
    pub(super) args: &'p [Atom],
    pub(super) seeds: &'p [Atom],
    pub(super) directions: Option<Dim>,
    pub(super) lambda: &'p Lambda<Soacs>,
}

impl<'p> Evaluator<'p, Soacs> {
    /// Appends the results of a function and their tangents.
    pub(super) fn jvp(
        &mut self,
        frame: &mut Frame<'p>,
        op: DerivativeOp<'p>,
        out: &mut Vec<Value>,
    ) -> Result<()> {
        let DerivativeOp { args, seeds, directions, lambda } = op;
        let (args, seeds) = (frame.atoms(args)?, frame.atoms(seeds)?);
        let Some(n) = directions else {
            let changes = seeds.into_iter().map(Some);
            let results = self.apply_perturbed(frame, lambda, args.into_iter().zip(changes), false)?;
            let mut tangents = Vec::with_capacity(results.len());
            for (result, tangent) in results {
                tangents.push(tangent.map_or_else(|| result.zeros(), Ok)?);
                out.push(result);
            }
            out.append(&mut tangents);
            return Ok(());
        };
        let n = frame.dim(n)?;
        self.apply(frame, lambda, args.clone(), out)?;
        let mut rows = rows_for(lambda.ret.iter(), n.max(0) as usize);
        for i in 0..n {
            self.charge(1)?;
            let changes = seeds.iter().map(|seeds| row(seeds, i).map(Some)).collect::<Result<Vec<_>>>()?;
            let args = args.iter().cloned().zip(changes);
            let results = self.apply_perturbed(frame, lambda, args, false)?;
            for (rows, (result, tangent)) in rows.iter_mut().zip(results) {
                rows.push(&tangent.map_or_else(|| result.zeros(), Ok)?, self.time)?;
            }
        }
        self.finish(frame, rows, &[n], lambda.ret.iter(), out)
    }

    /// Appends the results of a function and the adjoints of its arguments.
    pub(super) fn vjp(
        &mut self,
        frame: &mut Frame<'p>,
        op: DerivativeOp<'p>,
        out: &mut Vec<Value>,
    ) -> Result<()> {
        let DerivativeOp { args, seeds, directions, lambda } = op;
        let (args, seeds) = (frame.atoms(args)?, frame.atoms(seeds)?);
        self.apply(frame, lambda, args.clone(), out)?;
        let directions = directions.map(|n| frame.dim(n)).transpose()?;
        let seeds: Vec<Vec<Value>> = match directions {
            None => vec![seeds],
            Some(n) => {
                (0..n).map(|i| seeds.iter().map(|seed| row(seed, i)).collect()).collect::<Result<_>>()?
            }
        };
        for (at, arg) in args.iter().enumerate() {
            let (elem, shape) = elements(arg)?;
            let count: i64 = shape.iter().product();
            let mut adjoints: Vec<Vec<Value>> = vec![Vec::new(); seeds.len()];
            for position in 0..count {
                self.charge(1)?;
                let unit = unit(elem, &shape, position)?;
                let changes = (0..args.len()).map(|i| (i == at).then(|| unit.clone()));
                let args = args.iter().cloned().zip(changes);
                let mut results = Vec::new();
                if elem != PrimType::Bool {
                    results = self.apply_perturbed(frame, lambda, args, true)?;
                }
                for (seeds, adjoints) in seeds.iter().zip(&mut adjoints) {
                    let mut adjoint = Jet::constant(Scalar::zero(elem));
                    for ((_, tangent), seed) in results.iter().zip(seeds) {
                        if let Some(tangent) = tangent {
                            adjoint = plus_product(adjoint, tangent, seed)?;
                        }
                    }
                    adjoints.push(adjoint.value());
                }
            }
            let mut whole = Rows::new(elem, adjoints.len());
            for adjoints in adjoints {
                let adjoint = self.assembled(elem, &shape, adjoints)?;
                if directions.is_none() {
                    out.push(adjoint);
                } else {
                    whole.push(&adjoint, self.time)?;
                }
            }
            if let Some(n) = directions {
                out.push(whole.finish(&[n], &shape, self.time)?);
            }
        }
        Ok(())
    }

    /// Appends the results of a function that has a reverse derivative of its own.
    pub(super) fn with_vjp(
        &mut self,
        frame: &mut Frame<'p>,
        args: &'p [Atom],
        lambda: &'p Lambda<Soacs>,
        out: &mut Vec<Value>,
    ) -> Result<()> {
        let args = frame.atoms(args)?;
        let reverse = self.perturbations.reverse;
        let masks = args.iter().flat_map(Value::tangents);
        if masks.fold(0, |all, (mask, _)| all | mask) & reverse != 0 {
            let message = "reverse derivatives of with_vjp in the evaluator";
            return Err(EvalError::new(ErrorClass::Unsupported, message));
        }
        let mut results = Vec::with_capacity(lambda.ret.len());
        self.apply(frame, lambda, args, &mut results)?;
        // Names from around the function have no derivative.
        for result in results {
            let (primal, mut tangents) = result.into_components();
            tangents.retain(|(mask, _)| mask & reverse == 0);
            out.push(primal.with_tangents(tangents));
        }
        Ok(())
    }

    /// Applies a lambda to arguments of which some change; returns its results and their changes
    /// that are not zero.
    fn apply_perturbed(
        &mut self,
        frame: &mut Frame<'p>,
        lambda: &'p Lambda<Soacs>,
        args: impl Iterator<Item = (Value, Option<Value>)>,
        reverse: bool,
    ) -> Result<Vec<(Value, Option<Value>)>> {
        let before = self.perturbations;
        // The bits of derivatives around this one are the lowest.
        let Some(perturbation) = before.all.checked_add(1) else {
            return Err(EvalError::new(ErrorClass::Limit, "derivatives are nested too deep"));
        };
        self.perturbations.all |= perturbation;
        self.perturbations.reverse |= if reverse { perturbation } else { 0 };
        let args = args.map(|(arg, change)| match change {
            Some(change) => arg.perturbed(change, perturbation),
            None => arg,
        });
        let mut results = Vec::with_capacity(lambda.ret.len());
        self.apply(frame, lambda, args, &mut results)?;
        self.perturbations = before;
        results.into_iter().map(|result| result.split(perturbation)).collect()
    }

    /// A scalar, or an array of these elements.
    fn assembled(&self, elem: PrimType, shape: &[i64], mut values: Vec<Value>) -> Result<Value> {
        if shape.is_empty() {
            return values.pop().ok_or_else(super::ops::too_few);
        }
        let mut rows = Rows::new(elem, values.len());
        for value in values {
            rows.push(&value, self.time)?;
        }
        rows.finish(shape, &[], self.time)
    }
}

impl Frame<'_> {
    fn atoms(&self, atoms: &[Atom]) -> Result<Vec<Value>> {
        atoms.iter().map(|atom| self.atom(*atom)).collect()
    }
}

/// The type of a value's elements, and its shape.
fn elements(value: &Value) -> Result<(PrimType, Vec<i64>)> {
    if let Some(array) = value.as_array() {
        return Ok((array.elem(), array.shape().to_vec()));
    }
    match value.as_scalar() {
        Some(x) => Ok((x.ty(), Vec::new())),
        None => Err(EvalError::bug("an argument of a derivative is neither a scalar nor an array")),
    }
}

/// The value that is one at a position and otherwise zero.
fn unit(elem: PrimType, shape: &[i64], position: i64) -> Result<Value> {
    let one = match elem {
        PrimType::F16 => Scalar::F16(f16_from_f64(1.0)),
        PrimType::F32 => Scalar::F32(1.0),
        PrimType::F64 => Scalar::F64(1.0),
        PrimType::I8 | PrimType::I16 | PrimType::I32 | PrimType::I64 | PrimType::Bool => Scalar::int(elem, 1),
    };
    if shape.is_empty() {
        return Ok(Value::Scalar(one));
    }
    let count: i64 = shape.iter().product();
    let mut values = vec![Scalar::zero(elem); count as usize];
    values[position as usize] = one;
    let array = Array::from_scalars(elem, shape, &values);
    array.map(Value::Array).ok_or_else(|| EvalError::bug("elements do not match their type"))
}

/// `sum` plus the products of the elements of two values of one shape.
fn plus_product(mut sum: Jet, x: &Value, y: &Value) -> Result<Jet> {
    let (elem, shape) = elements(x)?;
    if elem == PrimType::Bool {
        return Ok(sum);
    }
    let element = |value: &Value, index: &[i64]| {
        Jet::of(&value.each_component(|part| {
            let Some(array) = part.as_array() else {
                return Ok(part.clone());
            };
            let element = array.element(index)?;
            element.map(Value::Scalar).ok_or_else(|| EvalError::bug("a seed is of another shape"))
        })?)
    };
    for position in 0..shape.iter().product() {
        let index = delinearise(position, &shape);
        let product = element(x, &index)?.times(&element(y, &index)?)?;
        let product = product.converted(sum.primal.ty())?;
        sum = sum.plus(&product)?;
    }
    Ok(sum)
}
