//! Substitution in types and sizes.
//!
//! [`map_ty`] rebuilds a type with a mapping for its variables, sizes and abstract types, and
//! shares unchanged parts. [`Subst`] is the mapping from parameters to arguments.

use crate::infer::Extent;
use crate::tast::{
    AbstractTypeId, ArrayTy, ArrowTy, Dim, Exp, ExpKind, RetType, Ty, TyVarId, TypeArgs, VarId,
};
use crate::visit::children_mut;
use prim::{Scalar, ScalarType};
use std::sync::Arc;
use syntax::span::Span;

/// A mapping of the leaves of a type. `None` means unchanged.
pub(crate) trait TypeMapper {
    /// Maps a type variable.
    fn ty_var(&mut self, _var: TyVarId) -> Option<Ty> {
        None
    }
    /// Maps a size variable.
    fn dim_var(&mut self, _var: VarId) -> Option<Dim> {
        None
    }
    /// Maps a node of a size expression, before its children; returns true if it changed.
    fn node(&mut self, _exp: &mut Exp) -> bool {
        false
    }
    /// Returns true if the parts of this size expression are to be mapped.
    fn size_exp(&mut self, _exp: &Exp) -> bool {
        true
    }
    /// The extent walked so far and the maximum number of parts, for mappings whose results could
    /// grow without bound: compound types beyond the limit are unchanged, operations on sizes
    /// become unknown.
    fn extent(&mut self) -> Option<(&mut Extent, u32)> {
        None
    }
    /// Maps an abstract type, whose arguments have been mapped.
    fn abstract_ty(&mut self, _id: AbstractTypeId, _args: &TypeArgs) -> Option<Ty> {
        None
    }
}

/// The type with its leaves mapped; `None` if nothing changed.
pub(crate) fn map_ty(ty: &Ty, map: &mut dyn TypeMapper) -> Option<Ty> {
    let parts = match ty {
        Ty::Scalar(_) => return None,
        Ty::Var(var) => return map.ty_var(*var),
        Ty::Array(_) => 1,
        Ty::Tuple(parts) => parts.len(),
        Ty::Record(fields) => fields.len(),
        Ty::Sum(constrs) => constrs.len(),
        Ty::Arrow(_) => 2,
        Ty::Abstract(_, args) => args.types.len(),
    };
    if let Some((extent, limit)) = map.extent()
        && !extent.enter(parts, limit)
    {
        return None;
    }
    let new = stacker::maybe_grow(crate::STACK_RED_ZONE, crate::STACK_GROWTH, || map_parts(ty, map));
    if let Some((extent, _)) = map.extent() {
        extent.leave();
    }
    new
}

fn map_parts(ty: &Ty, map: &mut dyn TypeMapper) -> Option<Ty> {
    match ty {
        Ty::Scalar(_) | Ty::Var(_) => None,
        Ty::Array(array) => {
            let dim = map_dim(&array.dim, map);
            let elem = map_ty(&array.elem, map);
            if dim.is_none() && elem.is_none() {
                return None;
            }
            Some(Ty::Array(Arc::new(ArrayTy {
                dim: dim.unwrap_or_else(|| array.dim.clone()),
                elem: elem.unwrap_or_else(|| array.elem.clone()),
            })))
        }
        Ty::Tuple(parts) => map_slice(parts, |part| map_ty(part, map)).map(Ty::Tuple),
        Ty::Record(fields) => {
            map_slice(fields, |(label, ty)| Some((Arc::clone(label), map_ty(ty, map)?))).map(Ty::Record)
        }
        Ty::Sum(constrs) => map_slice(constrs, |(label, payload)| {
            let payload = map_slice(payload, |ty| map_ty(ty, map))?;
            Some((Arc::clone(label), payload))
        })
        .map(Ty::Sum),
        Ty::Arrow(arrow) => {
            let param = map_ty(&arrow.param, map);
            let ret = map_ret(&arrow.ret, map);
            if param.is_none() && ret.is_none() {
                return None;
            }
            Some(Ty::Arrow(Arc::new(ArrowTy {
                name: arrow.name,
                param: param.unwrap_or_else(|| arrow.param.clone()),
                consumes: arrow.consumes.clone(),
                ret: ret.unwrap_or_else(|| arrow.ret.clone()),
            })))
        }
        Ty::Abstract(id, args) => {
            let types = map_slice(&args.types, |ty| map_ty(ty, map));
            let dims = map_slice(&args.dims, |dim| map_dim(dim, map));
            let changed = types.is_some() || dims.is_some();
            let args = if changed {
                Arc::new(TypeArgs {
                    types: types.map_or_else(|| args.types.clone(), |t| t.to_vec()),
                    dims: dims.map_or_else(|| args.dims.clone(), |d| d.to_vec()),
                })
            } else {
                Arc::clone(args)
            };
            map.abstract_ty(*id, &args).or_else(|| changed.then_some(Ty::Abstract(*id, args)))
        }
    }
}

fn map_slice<T: Clone>(items: &[T], mut f: impl FnMut(&T) -> Option<T>) -> Option<Arc<[T]>> {
    let first = items.iter().enumerate().find_map(|(i, item)| Some((i, f(item)?)));
    let (at, changed) = first?;
    let rest = items.iter().enumerate().skip(at + 1);
    let mut out: Vec<T> = items.iter().take(at).cloned().collect();
    out.push(changed);
    for (_, item) in rest {
        out.push(f(item).unwrap_or_else(|| item.clone()));
    }
    Some(Arc::from(out))
}

/// As [`map_ty`], for the result of a function.
fn map_ret(ret: &RetType, map: &mut dyn TypeMapper) -> Option<RetType> {
    let ty = map_ty(&ret.ty, map)?;
    Some(RetType { existential_sizes: ret.existential_sizes.clone(), ty, unique: ret.unique.clone() })
}

/// As [`map_ty`], for a size.
pub(crate) fn map_dim(dim: &Dim, map: &mut dyn TypeMapper) -> Option<Dim> {
    match dim {
        Dim::Any | Dim::Const(_) => None,
        Dim::Var(var) => map.dim_var(*var),
        Dim::Op(op, args) => {
            if let Some((extent, _)) = map.extent()
                && !extent.enter_size()
            {
                return Some(Dim::Any);
            }
            let a = map_dim(&args.0, map);
            let b = map_dim(&args.1, map);
            if let Some((extent, _)) = map.extent() {
                extent.leave_size();
            }
            if a.is_none() && b.is_none() {
                return None;
            }
            Some(crate::sizes::size_op(
                *op,
                a.unwrap_or_else(|| args.0.clone()),
                b.unwrap_or_else(|| args.1.clone()),
            ))
        }
        Dim::Exp(exp) if !map.size_exp(exp) => None,
        Dim::Exp(exp) => {
            let mut copy = Exp::clone(exp);
            let changed = map_size_exp(&mut copy, map);
            changed.then(|| crate::sizes::simplify(&copy))
        }
    }
}

/// Maps the variables of a size expression; returns true if anything changed.
fn map_size_exp(exp: &mut Exp, map: &mut dyn TypeMapper) -> bool {
    stacker::maybe_grow(crate::STACK_RED_ZONE, crate::STACK_GROWTH, || {
        let mut changed = false;
        if let Some(ty) = map_ty(&exp.ty, map) {
            exp.ty = ty;
            changed = true;
        }
        if let ExpKind::Var { id, ty_args, size_args } = &mut exp.kind {
            if let Some(dim) = map.dim_var(*id) {
                *exp = dim_to_exp(&dim, exp.span);
                return true;
            }
            for (_, ty) in ty_args {
                if let Some(new) = map_ty(ty, map) {
                    *ty = new;
                    changed = true;
                }
            }
            for (_, dim) in size_args {
                if let Some(new) = map_dim(dim, map) {
                    *dim = new;
                    changed = true;
                }
            }
        } else if let ExpKind::Intrinsic { fun: _, ty_args, size_args: _ } = &mut exp.kind {
            for ty in ty_args {
                if let Some(new) = map_ty(ty, map) {
                    *ty = new;
                    changed = true;
                }
            }
        }
        changed |= map.node(exp);
        children_mut(exp, &mut |child| changed |= map_size_exp(child, map));
        changed
    })
}

/// A size as an expression of type `i64`.
pub(crate) fn dim_to_exp(dim: &Dim, span: Span) -> Exp {
    use crate::intrinsics::Intrinsic;
    let i64_exp = |kind| Exp { kind, ty: Ty::I64, existential_sizes: Vec::new(), span };
    match dim {
        Dim::Any => i64_exp(ExpKind::Hole),
        Dim::Const(n) => i64_exp(ExpKind::Lit(Scalar::I64(*n), ScalarType::I64)),
        Dim::Var(id) => i64_exp(ExpKind::Var { id: *id, ty_args: Vec::new(), size_args: Vec::new() }),
        Dim::Op(op, args) => i64_exp(ExpKind::Apply {
            fun: Box::new(Exp {
                kind: ExpKind::Intrinsic {
                    fun: Intrinsic::Binary(*op, ScalarType::I64),
                    ty_args: Vec::new(),
                    size_args: Vec::new(),
                },
                ty: Ty::arrow(Ty::I64, Ty::arrow(Ty::I64, Ty::I64)),
                existential_sizes: Vec::new(),
                span,
            }),
            args: vec![dim_to_exp(&args.0, span), dim_to_exp(&args.1, span)],
            infix: true,
        }),
        Dim::Exp(exp) => Exp::clone(exp),
    }
}

/// A substitution of type and size parameters. They are few, so lookup is linear.
#[derive(Clone, Debug, Default)]
pub(crate) struct Subst {
    /// Types for type variables.
    pub(crate) types: Vec<(TyVarId, Ty)>,
    /// Sizes for size variables.
    pub(crate) dims: Vec<(VarId, Dim)>,
}

impl Subst {
    /// Returns true for the empty substitution.
    pub(crate) fn is_empty(&self) -> bool {
        self.types.is_empty() && self.dims.is_empty()
    }

    /// The type with the substitution applied.
    pub(crate) fn ty(&mut self, ty: &Ty) -> Ty {
        if self.is_empty() {
            return ty.clone();
        }
        map_ty(ty, self).unwrap_or_else(|| ty.clone())
    }

    /// The size with the substitution applied.
    pub(crate) fn size(&mut self, dim: &Dim) -> Dim {
        map_dim(dim, self).unwrap_or_else(|| dim.clone())
    }
}

impl TypeMapper for Subst {
    fn ty_var(&mut self, var: TyVarId) -> Option<Ty> {
        self.types.iter().find(|(v, _)| *v == var).map(|(_, ty)| ty.clone())
    }

    fn dim_var(&mut self, var: VarId) -> Option<Dim> {
        self.dims.iter().find(|(v, _)| *v == var).map(|(_, dim)| dim.clone())
    }
}
