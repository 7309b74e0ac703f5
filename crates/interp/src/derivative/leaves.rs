//! The scalars in a value, in order, and values of the same structure.

use crate::array::out_of_memory;
use crate::build::{RowError, Rows};
use crate::derivative::active::Level;
use crate::failure::{Failure, Res};
use crate::shape::shapes_differ;
use crate::value::{Array, Data, Parts, RunType, RunValue};
use prim::Scalar;
use smallvec::SmallVec;
use std::rc::Rc;
use syntax::span::Span;

/// Values of the structure of another value.
pub type Alike = SmallVec<[RunValue; 1]>;

/// A function on a scalar and the scalars at the same position in values of the same structure.
type OnLeaf<'f> = &'f mut dyn FnMut(&RunValue, Alike) -> Res<RunValue>;

/// A value's structure, and where it is required.
#[derive(Clone, Copy)]
pub struct Structure<'t> {
    /// The value's type, for messages.
    pub ty: &'t RunType,
    /// The source span that requires the structure.
    pub span: Span,
}

impl Structure<'_> {
    /// The value with each scalar replaced by a function's result. The function also gets the
    /// scalars of other values at the same position.
    ///
    /// # Errors
    ///
    /// A failure if a value has another shape or constructor, and those of the function.
    pub fn zip(self, value: &RunValue, others: &[RunValue], f: OnLeaf<'_>) -> Res<RunValue> {
        stacker::maybe_grow(crate::RED_ZONE, crate::STACK_STEP, || match value {
            RunValue::Scalar(_) | RunValue::Active(_) => f(value, others.iter().cloned().collect()),
            RunValue::Tuple(parts) => {
                let others: Option<SmallVec<[&Parts; 1]>> = others.iter().map(components).collect();
                let others = others.ok_or_else(different)?;
                let types = match self.ty {
                    RunType::Tuple(types) | RunType::Record(_, types) => types.as_slice(),
                    _ => &[],
                };
                Ok(RunValue::Tuple(Rc::new(self.zip_parts(parts, &others, types, f)?)))
            }
            RunValue::Sum(sum) => {
                let payloads = others.iter().map(|other| self.payload(sum.0, other));
                let payloads = payloads.collect::<Res<SmallVec<[&Parts; 1]>>>()?;
                let types = match self.ty {
                    RunType::Sum(_, types) => types.get(sum.0 as usize).map_or(&[][..], Vec::as_slice),
                    _ => &[],
                };
                Ok(RunValue::Sum(Rc::new((sum.0, self.zip_parts(&sum.1, &payloads, types, f)?))))
            }
            RunValue::Array(array) => self.zip_array(array, others, f),
            RunValue::Unbound | RunValue::Fun(_) | RunValue::Acc(_) | RunValue::Type(_) => Ok(value.clone()),
        })
    }

    fn zip_parts(self, parts: &Parts, others: &[&Parts], types: &[Rc<RunType>], f: OnLeaf<'_>) -> Res<Parts> {
        let zipped = parts.iter().enumerate().map(|(i, part)| {
            let others: Option<Alike> = others.iter().map(|other| other.get(i).cloned()).collect();
            let ty = types.get(i).map_or(&RunType::Unknown, |ty| ty);
            Structure { ty, ..self }.zip(part, &others.ok_or_else(different)?, f)
        });
        zipped.collect()
    }

    /// The payload of a value, which must have the constructor of this number.
    fn payload(self, number: u32, value: &RunValue) -> Res<&Parts> {
        let RunValue::Sum(sum) = value else {
            return Err(different());
        };
        if sum.0 != number {
            let name = |number: u32| match self.ty {
                RunType::Sum(names, _) => names.get(number as usize).map_or("?", |name| &**name),
                _ => "?",
            };
            let text = format!(
                "Value with constructor #{} cannot match constructor #{}.",
                name(sum.0),
                name(number)
            );
            return Err(Failure::at(self.span, text));
        }
        Ok(&sum.1)
    }

    fn zip_array(self, array: &Rc<Array>, others: &[RunValue], f: OnLeaf<'_>) -> Res<RunValue> {
        let mut elem = self.ty;
        for _ in &array.shape {
            if let RunType::Array(_, inner) = elem {
                elem = inner;
            }
        }
        let mut arrays: SmallVec<[&Array; 1]> = SmallVec::new();
        for other in others {
            let RunValue::Array(other) = other else {
                return Err(different());
            };
            if !same_shape(array, other) {
                let elem = match elem {
                    RunType::Unknown => array.data.elem(),
                    elem => Rc::new(elem.clone()),
                };
                let dims = array.shape.iter().rev();
                let ty = dims.fold(elem, |ty, dim| Rc::new(RunType::Array(*dim, ty)));
                return Err(shapes_differ(&other.shape, &ty, self.span));
            }
            arrays.push(other);
        }
        let mut rows = Rows::new(array.data.len());
        for i in 0..array.data.len() {
            let others: Alike = arrays.iter().map(|other| other.data.get(i)).collect();
            let value = Structure { ty: elem, ..self }.zip(&array.data.get(i), &others, f)?;
            rows.push(value).map_err(|error| match error {
                RowError::Memory => out_of_memory(self.span),
                RowError::Shape(..) | RowError::Type => different(),
            })?;
        }
        match rows.finish(|| array.data.elem()) {
            RunValue::Array(vector) if !array.data.is_empty() => {
                let data =
                    Rc::try_unwrap(vector).map_or_else(|vector| vector.data.clone(), |vector| vector.data);
                Ok(RunValue::array(array.shape.clone(), data))
            }
            _ => Ok(RunValue::Array(Rc::clone(array))),
        }
    }
}

/// The value with each scalar replaced by a function's result.
pub fn map(value: &RunValue, f: &mut dyn FnMut(&RunValue) -> RunValue) -> Res<RunValue> {
    let structure = Structure { ty: &RunType::Unknown, span: crate::machine::NO_SPAN };
    structure.zip(value, &[], &mut |leaf, _| Ok(f(leaf)))
}

/// The value without derivatives of this level or a higher one.
pub fn below(value: &RunValue, level: Level) -> Res<RunValue> {
    match value {
        RunValue::Array(array) if !matches!(array.data, Data::Other(..)) => Ok(value.clone()),
        _ => map(value, &mut |leaf| leaf.below(level)),
    }
}

/// The zero of a scalar's type.
pub fn zero(leaf: &RunValue) -> RunValue {
    leaf.as_scalar().map_or(RunValue::Unbound, |x| RunValue::Scalar(Scalar::zero(x.ty())))
}

fn components(value: &RunValue) -> Option<&Parts> {
    match value {
        RunValue::Tuple(parts) => Some(parts),
        _ => None,
    }
}

/// Returns true if two arrays have the same shape. Rows of an empty array count as equal, as it may
/// not record their sizes.
fn same_shape(x: &Array, y: &Array) -> bool {
    let known = x.shape.iter().position(|n| *n == 0).map_or(x.shape.len(), |at| at + 1);
    x.shape.len() == y.shape.len() && x.shape[..known] == y.shape[..known]
}

fn different() -> Box<Failure> {
    Failure::bug("values of different types where a derivative requires one")
}
