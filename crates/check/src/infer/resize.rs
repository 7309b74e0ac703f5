//! Types with other sizes: open ones, unknown ones, sizes of one's own.

use crate::dims::{Cmp, compare};
use crate::infer::{Infer, Mentions, Sizes};
use crate::subst::{Subst, TyMap, map_ty};
use crate::tast::{Dim, Ty, TyVarId, VarId};
use crate::witness::carried_sizes;
use std::sync::Arc;
use syntax::span::Span;

impl Infer<'_> {
    /// The type with an open size for every size that is not open already.
    pub(crate) fn freshen_known(&mut self, ty: &Ty) -> Ty {
        replace_dims(ty, &mut |dim| match dim {
            Dim::Var(var) if self.tables.is_open(*var) => dim.clone(),
            _ => self.fresh_dim("d"),
        })
    }

    /// The type with an open size for every size.
    pub(crate) fn freshen(&mut self, ty: &Ty) -> Ty {
        replace_dims(ty, &mut |_| self.fresh_dim("d"))
    }

    /// One type for two that differ in sizes at most; `seen` has pairs of sizes
    /// that differ with the unknown size for both.
    pub(crate) fn merge(
        &mut self,
        a: &Ty,
        b: &Ty,
        span: Span,
        seen: &mut Vec<(Dim, Dim, Dim)>,
    ) -> Ty {
        match (a, b) {
            (Ty::Array(x), Ty::Array(y)) => {
                let equal = compare(&x.dim, &y.dim) == Cmp::Equal;
                // Sizes that only the values tell may all be different.
                let told = x.dim == Dim::Any || y.dim == Dim::Any;
                let known = seen.iter().find(|(p, q, _)| *p == x.dim && *q == y.dim);
                let known = known.filter(|_| !told);
                let dim = match known {
                    _ if equal => x.dim.clone(),
                    Some((_, _, dim)) => dim.clone(),
                    None => {
                        let dim = self.unknown(Arc::from("k"), span);
                        seen.push((x.dim.clone(), y.dim.clone(), dim.clone()));
                        dim
                    }
                };
                Ty::array(dim, self.merge(&x.elem, &y.elem, span, seen))
            }
            (Ty::Tuple(x), Ty::Tuple(y)) if x.len() == y.len() => Ty::Tuple(
                x.iter()
                    .zip(y.iter())
                    .map(|(x, y)| self.merge(x, y, span, seen))
                    .collect(),
            ),
            (Ty::Record(x), Ty::Record(y)) if x.len() == y.len() => Ty::Record(
                x.iter()
                    .zip(y.iter())
                    .map(|(x, y)| (Arc::clone(&x.0), self.merge(&x.1, &y.1, span, seen)))
                    .collect(),
            ),
            (Ty::Sum(x), Ty::Sum(y)) if x.len() == y.len() => Ty::Sum(
                x.iter()
                    .zip(y.iter())
                    .map(|(x, y)| {
                        let payload = x.1.iter().zip(y.1.iter());
                        let payload = payload.map(|(x, y)| self.merge(x, y, span, seen)).collect();
                        (Arc::clone(&x.0), payload)
                    })
                    .collect(),
            ),
            _ => a.clone(),
        }
    }

    /// In `e :> t`, an anonymous size of `t` is that of `e`.
    pub(crate) fn keep_anonymous(&mut self, target: &Ty, source: &Ty, span: Span) {
        let (target, source) = (self.tables.resolve(target), self.tables.resolve(source));
        let (mut wanted, mut found) = (Vec::new(), Vec::new());
        carried_sizes(&target, false, &mut wanted);
        carried_sizes(&source, false, &mut found);
        for (x, y) in wanted.iter().zip(&found) {
            if let Dim::Var(var) = x
                && self.tables.is_open(*var)
            {
                let result = self.unifying(Sizes::Strict, span, |u| u.unify_dims(x, y));
                // An open size that cannot be that of the value stays open.
                drop(result);
            }
        }
    }

    /// The type of the result of an application, in which everything that varies from
    /// use to use has sizes of this use.
    pub(crate) fn result_of_use(&mut self, mut ty: Ty, span: Span) -> Ty {
        let pending = std::mem::take(&mut self.pending);
        if !pending.is_empty() {
            ty = self.separate(&ty, &pending, span);
        }
        self.own_sizes(ty, span)
    }

    /// The type of a result in which what a local function leaves to its uses has
    /// sizes of this use.
    fn own_sizes(&mut self, ty: Ty, span: Span) -> Ty {
        struct Own<'c, 't>(&'c mut Infer<'t>, Span);
        impl TyMap for Own<'_, '_> {
            fn ty_var(&mut self, var: TyVarId) -> Option<Ty> {
                if !self.0.tables.ty_var(var).local {
                    return None;
                }
                let ty = self.0.tables.resolve(&Ty::Var(var));
                Some(self.0.merge(&ty, &ty, self.1, &mut Vec::new()))
            }

            fn dim_var(&mut self, _: VarId) -> Option<Dim> {
                None
            }
        }
        map_ty(&ty, &mut Own(self, span)).unwrap_or(ty)
    }

    /// The type of a result in which every use of a type variable whose values
    /// vary in size (`pending`) has sizes of its own.
    fn separate(&mut self, ty: &Ty, pending: &[VarId], span: Span) -> Ty {
        struct Separate<'c, 't> {
            infer: &'c mut Infer<'t>,
            pending: &'c [VarId],
            seen: Vec<TyVarId>,
            span: Span,
        }
        impl TyMap for Separate<'_, '_> {
            fn ty_var(&mut self, var: TyVarId) -> Option<Ty> {
                if !self.seen.contains(&var) {
                    self.seen.push(var);
                    return None;
                }
                let ty = self.infer.tables.resolve(&Ty::Var(var));
                let mut subst = Subst::default();
                for dim in Mentions::of(&ty).dims {
                    if self.pending.contains(&dim) {
                        let name = Arc::clone(&self.infer.tables.var(dim).name);
                        let unknown = self.infer.unknown(name, self.span);
                        subst.dims.push((dim, unknown));
                    }
                }
                (!subst.dims.is_empty()).then(|| subst.ty(&ty))
            }

            fn dim_var(&mut self, _: VarId) -> Option<Dim> {
                None
            }
        }
        let mut separate = Separate {
            infer: self,
            pending,
            seen: Vec::new(),
            span,
        };
        map_ty(ty, &mut separate).unwrap_or_else(|| ty.clone())
    }
}

/// The type with each size of its arrays, in order, replaced.
pub(crate) fn replace_dims(ty: &Ty, f: &mut dyn FnMut(&Dim) -> Dim) -> Ty {
    match ty {
        Ty::Scalar(_) | Ty::Var(_) | Ty::Abstract(..) | Ty::Arrow(_) => ty.clone(),
        Ty::Array(array) => {
            let dim = f(&array.dim);
            Ty::array(dim, replace_dims(&array.elem, f))
        }
        Ty::Tuple(parts) => Ty::Tuple(parts.iter().map(|t| replace_dims(t, f)).collect()),
        Ty::Record(fields) => Ty::Record(
            fields
                .iter()
                .map(|(l, t)| (Arc::clone(l), replace_dims(t, f)))
                .collect(),
        ),
        Ty::Sum(constrs) => Ty::Sum(
            constrs
                .iter()
                .map(|(l, p)| {
                    (
                        Arc::clone(l),
                        p.iter().map(|t| replace_dims(t, f)).collect(),
                    )
                })
                .collect(),
        ),
    }
}

/// The positions of array sizes of `a` that are not those of `b`.
pub(crate) fn compare_sizes(a: &Ty, b: &Ty, position: &mut usize, out: &mut Vec<usize>) {
    match (a, b) {
        (Ty::Array(x), Ty::Array(y)) => {
            let here = *position;
            *position += 1;
            if x.dim != Dim::Any && compare(&x.dim, &y.dim) == Cmp::Different {
                out.push(here);
            }
            compare_sizes(&x.elem, &y.elem, position, out);
        }
        (Ty::Tuple(x), Ty::Tuple(y)) => {
            for (x, y) in x.iter().zip(y.iter()) {
                compare_sizes(x, y, position, out);
            }
        }
        (Ty::Record(x), Ty::Record(y)) => {
            for (x, y) in x.iter().zip(y.iter()) {
                compare_sizes(&x.1, &y.1, position, out);
            }
        }
        (Ty::Sum(x), Ty::Sum(y)) => {
            for (x, y) in x
                .iter()
                .flat_map(|c| c.1.iter())
                .zip(y.iter().flat_map(|c| c.1.iter()))
            {
                compare_sizes(x, y, position, out);
            }
        }
        _ => {}
    }
}
