//! Values with tangents: dual numbers and arrays of them.
//!
//! Each derivative that is being evaluated has a *perturbation*, a bit. A value is a sum of
//! components, one for each set of perturbations (a mask); that of the empty set is the value
//! itself. Absent components are zero. The product of a perturbation with itself is zero, so
//! derivatives nest without mixing.
//!
//! Operations that only move elements ([`moved_operands`]) are evaluated once for each component, as
//! ordinary operations; arithmetic is in [`super::jet`]. Everything else that reads a value reads
//! the value itself.

use super::array::{Array, Buffer, checked_count};
use super::machine::{Evaluator, Frame, Value};
use super::{EvalError, EvalLevel};
use crate::name::Name;
use crate::syntax::{Atom, BasicOp};
use prim::Scalar;
use smallvec::SmallVec;
use std::rc::Rc;

type Result<T> = std::result::Result<T, EvalError>;

/// A set of perturbations.
pub(super) type Mask = u32;

/// A value and its components of one or more perturbations.
#[derive(Clone, Debug)]
pub struct Dual {
    pub(super) primal: Value,
    pub(super) tangents: Vec<(Mask, Value)>,
}

impl Value {
    /// The value with these components.
    pub(super) fn with_tangents(self, tangents: Vec<(Mask, Self)>) -> Self {
        if tangents.is_empty() { self } else { Self::Dual(Rc::new(Dual { primal: self, tangents })) }
    }

    /// The value without its components, and these.
    pub(super) fn into_components(self) -> (Self, Vec<(Mask, Self)>) {
        let Self::Dual(dual) = self else {
            return (self, Vec::new());
        };
        let Dual { primal, tangents } = Rc::unwrap_or_clone(dual);
        (primal, tangents)
    }

    /// The value without its components.
    pub(super) fn primal(&self) -> &Self {
        if let Self::Dual(dual) = self { &dual.primal } else { self }
    }

    /// The array, without its components.
    pub(super) fn as_array(&self) -> Option<&Array> {
        if let Self::Array(array) = self.primal() { Some(array) } else { None }
    }

    /// The scalar, without its components.
    pub(super) fn as_scalar(&self) -> Option<Scalar> {
        if let Self::Scalar(x) = self.primal() { Some(*x) } else { None }
    }

    /// Its components.
    pub(super) fn tangents(&self) -> &[(Mask, Self)] {
        if let Self::Dual(dual) = self { &dual.tangents } else { &[] }
    }

    /// The value whose components are the results of `f` for the components of this one.
    pub(super) fn each_component(&self, mut f: impl FnMut(&Self) -> Result<Self>) -> Result<Self> {
        let primal = f(self.primal())?;
        let tangents = self.tangents().iter().map(|(mask, value)| Ok((*mask, f(value)?)));
        Ok(primal.with_tangents(tangents.collect::<Result<_>>()?))
    }

    /// Zeros of the value's type and shape.
    pub(super) fn zeros(&self) -> Result<Self> {
        if let Some(array) = self.as_array() {
            let count = checked_count(array.shape(), array.elem())?;
            let data = Buffer::filled(Scalar::zero(array.elem()), count);
            return super::rows::fresh(array.shape(), data.into());
        }
        match self.as_scalar() {
            Some(x) => Ok(Self::Scalar(Scalar::zero(x.ty()))),
            None => Err(EvalError::bug("a value without a derivative")),
        }
    }

    /// The value plus a perturbation times `change`.
    pub(super) fn perturbed(self, change: Self, perturbation: Mask) -> Self {
        let (primal, mut tangents) = self.into_components();
        let (change, more) = change.into_components();
        tangents.push((perturbation, change));
        tangents.extend(more.into_iter().map(|(mask, value)| (mask | perturbation, value)));
        primal.with_tangents(tangents)
    }

    /// The part of the value without a perturbation, and the factor of the perturbation unless it
    /// is zero.
    pub(super) fn split(self, perturbation: Mask) -> Result<(Self, Option<Self>)> {
        let (primal, tangents) = self.into_components();
        let (with, without): (Vec<_>, Vec<_>) =
            tangents.into_iter().partition(|(mask, _)| mask & perturbation != 0);
        if with.is_empty() {
            return Ok((primal.with_tangents(without), None));
        }
        let mut change = None;
        let mut more = Vec::new();
        for (mask, value) in with {
            match mask & !perturbation {
                0 => change = Some(value),
                mask => more.push((mask, value)),
            }
        }
        let change = change.map_or_else(|| primal.zeros(), Ok)?;
        Ok((primal.with_tangents(without), Some(change.with_tangents(more))))
    }

    /// Writes to an array with components: `write` writes a value to an array.
    pub(super) fn write(
        &mut self,
        value: Self,
        mut write: impl FnMut(&mut Array, &Self) -> Result<bool>,
    ) -> Result<bool> {
        if let (Self::Array(array), Self::Scalar(_) | Self::Array(_)) = (&mut *self, &value) {
            return write(array, &value);
        }
        let mut operands = Components::of([std::mem::take(self), value]);
        let masks = operands.masks();
        let mut tangents = Vec::with_capacity(masks.len());
        let mut fits = true;
        let mut written = |operands: &mut Components, mask| {
            let part = operands.take(1, mask)?;
            let mut target = operands.take(0, mask)?;
            if let Self::Array(array) = &mut target {
                fits &= write(array, &part)?;
            } else {
                fits = false;
            }
            Ok(target)
        };
        for mask in masks {
            tangents.push((mask, written(&mut operands, mask)?));
        }
        *self = written(&mut operands, 0)?.with_tangents(tangents);
        Ok(fits)
    }
}

/// The components of an operation's operands, which are taken one after the other; those of the
/// values themselves last.
struct Components(SmallVec<[(Value, Vec<(Mask, Value)>); 2]>);

impl Components {
    fn of(operands: impl IntoIterator<Item = Value>) -> Self {
        Self(operands.into_iter().map(Value::into_components).collect())
    }

    /// The masks of their components.
    fn masks(&self) -> Vec<Mask> {
        let mut masks: Vec<Mask> =
            self.0.iter().flat_map(|(_, tangents)| tangents.iter().map(|(mask, _)| *mask)).collect();
        masks.sort_unstable();
        masks.dedup();
        masks
    }

    fn take(&mut self, operand: usize, mask: Mask) -> Result<Value> {
        let (primal, tangents) = &mut self.0[operand];
        if mask == 0 {
            return Ok(std::mem::take(primal));
        }
        match tangents.iter_mut().find(|(own, _)| *own == mask) {
            Some((_, value)) => Ok(std::mem::take(value)),
            None => primal.zeros(),
        }
    }
}

impl Frame<'_> {
    /// Returns true if the operand has components.
    pub(super) fn is_dual(&self, atom: Atom) -> bool {
        atom.var().is_some_and(|name| matches!(self.slots[name.index()], Value::Dual(_)))
    }
}

impl<'p, L: EvalLevel> Evaluator<'p, L> {
    /// The value of a basic operation on values with components, if it has any.
    pub(super) fn dual(&mut self, frame: &mut Frame<'p>, op: &BasicOp, name: Name) -> Result<Option<Value>> {
        if let BasicOp::Scalar(op) = op {
            let is_dual = op.operands().iter().any(|x| frame.is_dual(**x));
            return if is_dual { self.dual_scalar(frame, op).map(Some) } else { Ok(None) };
        }
        let mut op = op.clone();
        let mut atoms: SmallVec<[Atom; 2]> = SmallVec::new();
        moved_operands(&mut op, &mut |atom| atoms.push(*atom));
        if !atoms.iter().any(|atom| frame.is_dual(*atom)) {
            return Ok(None);
        }
        // The components are in further slots, since an operand may also be an index.
        let first = frame.slots.len();
        let mut next = first..;
        moved_operands(&mut op, &mut |atom| *atom = Atom::Var(Name::new(next.next().unwrap_or(first))));
        let consumes = matches!(op, BasicOp::Update { .. } | BasicOp::FlatUpdate { .. });
        let mut values: SmallVec<[Value; 2]> = SmallVec::new();
        for (i, atom) in atoms.iter().enumerate() {
            values.push(match atom {
                Atom::Var(name) if consumes && i == 0 => frame.take(*name)?,
                Atom::Var(_) | Atom::Const(_) => frame.atom(*atom)?,
            });
        }
        let n = values.len();
        let mut operands = Components::of(values);
        let masks = operands.masks();
        let mut component = |s: &mut Self, mask| {
            for i in 0..n {
                let value = operands.take(i, mask)?;
                frame.slots.push(value);
            }
            let value = match s.scalar(frame, &op)? {
                Some(x) => Value::Scalar(x),
                None => s.basic(frame, &op, name)?,
            };
            frame.slots.truncate(first);
            Ok(value)
        };
        let tangents = masks.into_iter().map(|mask| Ok((mask, component(self, mask)?)));
        let tangents = tangents.collect::<Result<Vec<_>>>()?;
        Ok(Some(component(self, 0)?.with_tangents(tangents)))
    }
}

/// Visits the operands whose elements become elements of the result: the operation is linear in
/// them. An array that it consumes is the first.
fn moved_operands(op: &mut BasicOp, visit: &mut dyn FnMut(&mut Atom)) {
    let mut array = |name: &mut Name| {
        let mut atom = Atom::Var(*name);
        visit(&mut atom);
        if let Atom::Var(new) = atom {
            *name = new;
        }
    };
    match op {
        BasicOp::Index { array: name, .. }
        | BasicOp::FlatIndex { array: name, .. }
        | BasicOp::Rearrange { array: name, .. }
        | BasicOp::Reshape { array: name, .. }
        | BasicOp::Copy(name)
        | BasicOp::Manifest { array: name, .. } => array(name),
        BasicOp::Update { array: name, slice: _, value } => {
            array(name);
            visit(value);
        }
        BasicOp::FlatUpdate { array: name, offset: _, strides: _, value } => {
            array(name);
            array(value);
        }
        BasicOp::Concat { arrays, .. } => arrays.iter_mut().for_each(array),
        BasicOp::Atom(value) | BasicOp::Opaque(value) | BasicOp::Replicate { value, .. } => visit(value),
        BasicOp::ArrayLit { elems, .. } => elems.iter_mut().for_each(visit),
        BasicOp::Scalar(_)
        | crate::parameter_op!()
        | BasicOp::Assert { .. }
        | BasicOp::Iota { .. }
        | BasicOp::Scratch { .. }
        | BasicOp::ConstArray { .. }
        | BasicOp::UpdateAcc { .. } => {}
    }
}
