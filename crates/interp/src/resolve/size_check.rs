//! The types that values are checked against, if sizes are checked.

use super::{Found, Resolver};
use crate::tree::{SizeCheck, Slot, Subject};
use check::tast::{Dim, Exp, ExpKind, Ty, VarId};
use syntax::span::Span;

impl Resolver<'_> {
    /// The check of values against a type; `None` if sizes are not checked or the type has none.
    /// `from` has the types of the values.
    pub(super) fn size_check(
        &mut self,
        ty: &Ty,
        binds: &[Slot],
        subject: Subject,
        from: &[&Ty],
        span: Span,
    ) -> Option<Box<SizeCheck>> {
        // Within size expressions, variables of several scopes may meet.
        if !self.check_sizes || self.in_sizes > 0 || !has_sizes(ty) {
            return None;
        }
        let mut vars = Vec::new();
        all_dims(ty, &mut |dim| self.size_vars(dim, &mut vars));
        Some(Box::new(SizeCheck {
            ty: self.ty(ty),
            source: ty.clone(),
            binds: binds.to_vec(),
            vars,
            subject,
            comparable: subject == Subject::Expression
                || comparable(ty) && from.iter().all(|ty| comparable(ty)),
            span,
        }))
    }

    /// If sizes are checked, removes the slots of existential sizes bound within a size expression,
    /// so that these get slots of their own: the expression is evaluated repeatedly, possibly with
    /// other arguments than where it was written. Returns the former slots.
    pub(super) fn hide_sizes(&mut self, size: &Exp) -> Vec<(VarId, Option<Slot>)> {
        fn existentials(exp: &Exp, out: &mut Vec<VarId>) {
            out.extend(&exp.existential_sizes);
            check::children(exp, &mut |part| existentials(part, out));
        }
        let mut vars = Vec::new();
        if self.check_sizes {
            existentials(size, &mut vars);
        }
        let slots = &mut self.frame().slots;
        let hidden = vars.into_iter().map(|var| (var, slots.remove(&var)));
        hidden.collect()
    }

    /// Restores the slots that [`Resolver::hide_sizes`] returned.
    pub(super) fn restore_sizes(&mut self, hidden: Vec<(VarId, Option<Slot>)>) {
        let slots = &mut self.frame().slots;
        // The first entry of a variable has its slot.
        for (var, slot) in hidden.into_iter().rev() {
            match slot {
                Some(slot) => slots.insert(var, slot),
                None => slots.remove(&var),
            };
        }
    }

    fn size_vars(&mut self, dim: &Dim, out: &mut Vec<(VarId, Slot)>) {
        match dim {
            Dim::Var(var) => {
                if let Found::Slot(slot) = self.lookup(*var) {
                    self.pin(slot);
                    out.push((*var, slot));
                }
            }
            Dim::Op(_, args) => {
                self.size_vars(&args.0, out);
                self.size_vars(&args.1, out);
            }
            Dim::Any | Dim::Const(_) | Dim::Exp(_) => {}
        }
    }
}

/// Returns true if values of the type have sizes that the type may state.
fn has_sizes(ty: &Ty) -> bool {
    match ty {
        Ty::Array(_) | Ty::Var(_) => true,
        Ty::Tuple(parts) => parts.iter().any(has_sizes),
        Ty::Record(fields) => fields.iter().any(|(_, ty)| has_sizes(ty)),
        Ty::Sum(constrs) => constrs.iter().any(|(_, tys)| tys.iter().any(has_sizes)),
        Ty::Scalar(_) | Ty::Arrow(_) | Ty::Abstract(..) => false,
    }
}

/// Calls `f` with each size of the type, except for sizes in function types.
fn all_dims(ty: &Ty, f: &mut dyn FnMut(&Dim)) {
    match ty {
        Ty::Array(array) => {
            f(&array.dim);
            all_dims(&array.elem, f);
        }
        Ty::Tuple(parts) => parts.iter().for_each(|ty| all_dims(ty, f)),
        Ty::Record(fields) => fields.iter().for_each(|(_, ty)| all_dims(ty, f)),
        Ty::Sum(constrs) => {
            let parts = constrs.iter().flat_map(|(_, tys)| tys.iter());
            parts.for_each(|ty| all_dims(ty, f));
        }
        Ty::Scalar(_) | Ty::Arrow(_) | Ty::Var(_) | Ty::Abstract(..) => {}
    }
}

/// Returns true if the checker can compare the type's sizes: they are polynomials in variables.
fn comparable(ty: &Ty) -> bool {
    fn known(dim: &Dim) -> bool {
        match dim {
            Dim::Const(_) | Dim::Var(_) => true,
            Dim::Op(_, args) => known(&args.0) && known(&args.1),
            Dim::Any | Dim::Exp(_) => false,
        }
    }
    let mut all = true;
    all_dims(ty, &mut |dim| all &= known(dim));
    all
}

/// Returns true if the checker could compare the sizes of the function's parameters and of its
/// arguments.
pub(super) fn are_comparable(fun: &Exp, args: &[Exp]) -> bool {
    let instance = match &fun.kind {
        ExpKind::Var { ty_args, size_args, .. } => {
            ty_args.iter().all(|(_, ty)| comparable(ty))
                && size_args.iter().all(|(_, dim)| comparable(&Ty::array(dim.clone(), Ty::BOOL)))
        }
        _ => true,
    };
    let mut taken = &fun.ty;
    let mut all = instance;
    for arg in args {
        all &= comparable(&arg.ty);
        if let Ty::Arrow(arrow) = taken {
            all &= comparable(&arrow.param);
            taken = &arrow.ret.ty;
        }
    }
    all
}
