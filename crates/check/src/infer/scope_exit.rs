//! Types that leave a scope: sizes that mention its local values are replaced.

use crate::infer::{FreeVars, Infer, VarState, has_sizes};
use crate::tast::{ArrowTy, Dim, Ty, TypeArgs, VarId};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use syntax::span::Span;

/// The sizes that local values of type `i64` are bound to, in terms of values of the outer scope.
#[derive(Default)]
pub(crate) struct BoundSizes(FxHashMap<VarId, Dim>);

impl BoundSizes {
    /// Records the size that a variable is bound to, unless it is too large.
    pub(crate) fn insert(&mut self, var: VarId, dim: &Dim) {
        let dim = crate::subst::map_dim(dim, self).unwrap_or_else(|| dim.clone());
        if crate::sizes::is_small(&dim) {
            self.0.insert(var, dim);
        }
    }
}

impl crate::subst::TypeMapper for BoundSizes {
    fn dim_var(&mut self, var: VarId) -> Option<Dim> {
        self.0.get(&var).cloned()
    }
}

impl Infer<'_> {
    /// Moves a type out of the scopes deeper than the current one. Sizes that mention their values
    /// are replaced by the sizes bound to these (`bound`), or else by unknown sizes.
    pub(crate) fn exit_scope(&mut self, ty: &Ty, bound: &mut BoundSizes, span: Span) -> Ty {
        let mut ty = self.tables.resolve(ty);
        if !self.infers_sizes() {
            self.tables.saw_sizes |= has_sizes(&ty);
            self.exit_scope_types(&ty);
            return ty;
        }
        if let Some(known) = crate::subst::map_ty(&ty, bound) {
            ty = self.tables.resolve(&known);
        }
        let mentions = FreeVars::of(&ty);
        let mut hide = false;
        for var in mentions.dims {
            let data = self.tables.var(var);
            if data.depth <= self.depth {
                continue;
            }
            match data.state {
                // An unknown size is independent of names: it remains, as the size of this value.
                VarState::Open(_)
                | VarState::Copy { .. }
                | VarState::Existential { .. }
                | VarState::Unknown => self.tables.var_mut(var).depth = self.depth,
                VarState::Value | VarState::Solved(_) => hide = true,
            }
        }
        if !hide {
            return ty;
        }
        let mut carried = Vec::new();
        crate::carried_sizes::carried_sizes(&ty, &mut carried);
        let mut hide = ReplaceLocalSizes { infer: self, span, done: Vec::new(), bound: Vec::new(), carried };
        hide.ty(&ty)
    }
}

impl Infer<'_> {
    /// Moves the open types in a resolved type out of the scopes deeper than the current one.
    fn exit_scope_types(&mut self, ty: &Ty) {
        for var in FreeVars::of(ty).types {
            if self.tables.ty_var(var).depth > self.depth && self.tables.is_open_ty(var) {
                self.tables.ty_var_mut(var).depth = self.depth;
            }
        }
    }
}

/// Replaces every size that mentions a value of a deeper scope.
struct ReplaceLocalSizes<'c, 't> {
    infer: &'c mut Infer<'t>,
    span: Span,
    done: Vec<(Dim, Dim)>,
    bound: Vec<VarId>,
    /// Sizes that the value itself carries, so that others may mention them.
    carried: Vec<Dim>,
}

impl ReplaceLocalSizes<'_, '_> {
    fn is_local(&self, dim: &Dim) -> bool {
        crate::sizes::variables(dim).iter().any(|v| {
            let data = self.infer.tables.var(*v);
            data.depth > self.infer.depth && !self.bound.contains(v) && matches!(data.state, VarState::Value)
        })
    }

    /// Returns true if all local operands of an operation are sizes that the value carries.
    fn is_carried(&self, dim: &Dim) -> bool {
        match dim {
            Dim::Op(_, args) => self.is_carried(&args.0) && self.is_carried(&args.1),
            dim => {
                let same = |c: &Dim| crate::sizes::compare(c, dim) == crate::sizes::SizeComparison::Equal;
                !self.is_local(dim) || self.carried.iter().any(same)
            }
        }
    }

    fn dim(&mut self, dim: &Dim) -> Dim {
        if !self.is_local(dim) {
            return dim.clone();
        }
        if let Dim::Op(op, args) = dim
            && self.is_carried(dim)
        {
            let (a, b) = (self.dim(&args.0), self.dim(&args.1));
            return crate::sizes::size_op(*op, a, b);
        }
        let known = self
            .done
            .iter()
            .find(|(old, _)| crate::sizes::compare(old, dim) == crate::sizes::SizeComparison::Equal);
        if let Some((_, new)) = known {
            return new.clone();
        }
        let name = match dim {
            Dim::Var(var) => Arc::clone(&self.infer.tables.var(*var).name),
            _ => Arc::from("k"),
        };
        let new = self.infer.unknown(name, self.span);
        self.done.push((dim.clone(), new.clone()));
        new
    }

    fn ty(&mut self, ty: &Ty) -> Ty {
        match ty {
            Ty::Scalar(_) | Ty::Var(_) => ty.clone(),
            Ty::Abstract(id, args) => {
                let types = args.types.iter().map(|ty| self.ty(ty)).collect();
                let dims = args.dims.iter().map(|dim| self.dim(dim)).collect();
                Ty::Abstract(*id, Arc::new(TypeArgs { types, dims }))
            }
            Ty::Array(array) => {
                let dim = self.dim(&array.dim);
                Ty::array(dim, self.ty(&array.elem))
            }
            Ty::Tuple(parts) => Ty::Tuple(parts.iter().map(|t| self.ty(t)).collect()),
            Ty::Record(fields) => {
                Ty::Record(fields.iter().map(|(l, t)| (Arc::clone(l), self.ty(t))).collect())
            }
            Ty::Sum(constrs) => Ty::Sum(
                constrs
                    .iter()
                    .map(|(l, p)| (Arc::clone(l), p.iter().map(|t| self.ty(t)).collect()))
                    .collect(),
            ),
            Ty::Arrow(arrow) => {
                let mut arrow = ArrowTy::clone(arrow);
                arrow.param = self.ty(&arrow.param);
                let outer = self.bound.len();
                self.bound.extend(arrow.name);
                self.bound.extend(&arrow.ret.existential_sizes);
                arrow.ret.ty = self.ty(&arrow.ret.ty);
                self.bound.truncate(outer);
                Ty::Arrow(Arc::new(arrow))
            }
        }
    }
}
