//! The sizes that values carry.
//!
//! A size parameter gets its value from the shape of an argument: it must be the whole size of an
//! array, or a size argument of an abstract type, somewhere in the argument. A size that occurs
//! only in an arithmetic expression, only in a function type, or only in a type argument of an
//! abstract type, cannot be read off the value.

use crate::subst::TypeMapper;
use crate::tast::{Dim, Ty, VarId};

/// The sizes in a type.
#[derive(Default)]
pub(crate) struct CarriedSizes {
    /// The sizes that values of the type carry.
    pub(crate) carried: Vec<VarId>,
    /// The sizes that are mentioned in other ways.
    pub(crate) other: Vec<VarId>,
}

impl CarriedSizes {
    /// The sizes of a resolved type.
    pub(crate) fn of(ty: &Ty) -> Self {
        let mut found = Self::default();
        found.ty(ty, true);
        found
    }

    /// Adds the sizes of a resolved type.
    pub(crate) fn add(&mut self, ty: &Ty) {
        self.ty(ty, true);
    }

    /// Returns true if the size is mentioned, but values of the type do not carry it.
    pub(crate) fn mentions_only(&self, var: VarId) -> bool {
        self.other.contains(&var) && !self.carried.contains(&var)
    }

    fn dim(&mut self, dim: &Dim, carried: bool) {
        match dim {
            Dim::Var(var) if carried => self.carried.push(*var),
            dim => {
                crate::subst::map_dim(dim, &mut Mentioned(&mut self.other));
            }
        }
    }

    fn ty(&mut self, ty: &Ty, carried: bool) {
        match ty {
            Ty::Scalar(_) | Ty::Var(_) => {}
            Ty::Array(array) => {
                self.dim(&array.dim, carried);
                self.ty(&array.elem, carried);
            }
            Ty::Tuple(parts) => parts.iter().for_each(|ty| self.ty(ty, carried)),
            Ty::Record(fields) => fields.iter().for_each(|(_, ty)| self.ty(ty, carried)),
            Ty::Sum(constrs) => {
                constrs.iter().flat_map(|(_, payload)| payload.iter()).for_each(|ty| self.ty(ty, carried));
            }
            Ty::Arrow(arrow) => {
                self.ty(&arrow.param, false);
                self.ty(&arrow.ret.ty, false);
            }
            Ty::Abstract(_, args) => {
                args.dims.iter().for_each(|dim| self.dim(dim, carried));
                args.types.iter().for_each(|ty| self.ty(ty, false));
            }
        }
    }
}

/// Collects the variables of sizes.
struct Mentioned<'v>(&'v mut Vec<VarId>);

impl TypeMapper for Mentioned<'_> {
    fn dim_var(&mut self, var: VarId) -> Option<Dim> {
        self.0.push(var);
        None
    }
}

/// Collects the sizes, of any form, that a value of a resolved type carries. Those of payloads are
/// included, although only some values have them.
pub(crate) fn carried_sizes(ty: &Ty, found: &mut Vec<Dim>) {
    let mut part = |ty: &Ty| carried_sizes(ty, found);
    match ty {
        Ty::Scalar(_) | Ty::Var(_) | Ty::Arrow(_) => {}
        Ty::Abstract(_, args) => found.extend(args.dims.iter().cloned()),
        Ty::Array(array) => {
            found.push(array.dim.clone());
            carried_sizes(&array.elem, found);
        }
        Ty::Tuple(parts) => parts.iter().for_each(part),
        Ty::Record(fields) => fields.iter().for_each(|(_, ty)| part(ty)),
        Ty::Sum(constrs) => {
            let payloads = constrs.iter().flat_map(|(_, payload)| payload.iter());
            payloads.for_each(part);
        }
    }
}

/// The sizes of a resolved type that occur only as sizes of payloads.
pub(crate) fn only_in_payloads(ty: &Ty) -> Vec<VarId> {
    fn walk(ty: &Ty, in_sum: bool, payloads: &mut Vec<VarId>, others: &mut Vec<VarId>) {
        let mut part = |ty: &Ty| walk(ty, in_sum, payloads, others);
        match ty {
            Ty::Array(array) => {
                match &array.dim {
                    Dim::Var(var) if in_sum => payloads.push(*var),
                    dim => others.extend(crate::sizes::variables(dim)),
                }
                walk(&array.elem, in_sum, payloads, others);
            }
            Ty::Tuple(parts) => parts.iter().for_each(part),
            Ty::Record(fields) => fields.iter().for_each(|(_, ty)| part(ty)),
            Ty::Sum(constrs) => {
                let parts = constrs.iter().flat_map(|(_, payload)| payload.iter());
                parts.for_each(|ty| walk(ty, true, payloads, others));
            }
            Ty::Scalar(_) | Ty::Var(_) | Ty::Abstract(..) | Ty::Arrow(_) => {
                let found = CarriedSizes::of(ty);
                others.extend(found.carried);
                others.extend(found.other);
            }
        }
    }
    let (mut payloads, mut others) = (Vec::new(), Vec::new());
    walk(ty, false, &mut payloads, &mut others);
    payloads.retain(|var| !others.contains(var));
    payloads.dedup();
    payloads
}

/// The sizes in the parameter types of functions inside a type, except the sizes that the function
/// itself carries: a caller must know them to apply it.
pub(crate) fn in_parameters(ty: &Ty) -> Vec<VarId> {
    fn walk(ty: &Ty, found: &mut Vec<VarId>) {
        match ty {
            Ty::Scalar(_) | Ty::Var(_) | Ty::Abstract(..) => {}
            Ty::Array(array) => walk(&array.elem, found),
            Ty::Tuple(parts) => parts.iter().for_each(|ty| walk(ty, found)),
            Ty::Record(fields) => fields.iter().for_each(|(_, ty)| walk(ty, found)),
            Ty::Sum(constrs) => {
                constrs.iter().flat_map(|(_, payload)| payload.iter()).for_each(|ty| walk(ty, found));
            }
            Ty::Arrow(arrow) => {
                let sizes = CarriedSizes::of(&arrow.param);
                found.extend(sizes.carried);
                found.extend(sizes.other);
                let from = found.len();
                walk(&arrow.ret.ty, found);
                let carried = CarriedSizes::of(&arrow.ret.ty).carried;
                let later = found.split_off(from);
                found.extend(later.into_iter().filter(|var| !carried.contains(var)));
            }
        }
    }
    let mut found = Vec::new();
    walk(ty, &mut found);
    found
}
