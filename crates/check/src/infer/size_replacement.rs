//! Replacement of sizes in types: at joins, in coercions, in results of applications.
//!
//! **Joins.** Where control flow joins, two values may have types that differ in sizes.
//! [`Infer::join`] alone decides about these sizes, and all constructs use it:
//!
//! | construct | what is unified | what becomes existential | where the size is bound |
//! |---|---|---|---|
//! | `if`, `match` | the branches, in pairs; open sizes are solved if their scope sees the other size, except for anonymous ones from before | sizes that differ then; the same pair of sizes gives the same new one | the `ext` of the expression |
//! | `loop` | each size of the parameter, made open, with that of the body | sizes that the body does not reproduce (`define/loops.rs`) | the loop's `sizes`, inside; the `ext` of the loop, outside |
//! | body of a function | the declared result, its anonymous and existential sizes made open | sizes that the body leaves unknown | the result's `ext` |
//! | application | parameter and argument; existential sizes of the result are new unknown ones | instantiated sizes that met a bound one, in the innermost result that can bind them | the `ext` of the application, or of a function's result |
//! | scope (`let`, case) | nothing | sizes that mention a local value, unless it was bound to an `i64` expression | the `ext` of the expression |
//! | record update of a field | the new value with the field, its sizes made open | nothing: the new value's sizes are kept | |
//! | `e :> t` | named sizes ignored, anonymous ones of `t` with those of `e` | nothing | |
//! | constructor | the given payload; the sizes of the other payloads are open and taken from the context | | |
//!
//! Array sizes occur in all types of a value: in payloads of sums, and in the size and type
//! arguments of abstract types, as well as in tuples, records and arrays.

use crate::infer::{FreeVars, Infer, InferTables, Origin, Sizes, VarState};
use crate::sizes::{SizeComparison, compare};
use crate::subst::{Subst, TypeMapper, map_ty};
use crate::tast::{ArrowTy, Dim, RetType, Ty, TypeArgs, VarId};
use std::sync::Arc;
use syntax::span::Span;

/// Pairs of sizes that differ at a join, each with the unknown size that replaces them.
type Differing = Vec<(Dim, Dim, Dim)>;

impl Infer<'_> {
    /// The type of a value that is one of two whose types were unified with [`Sizes::Join`]: sizes
    /// that differ become unknown.
    pub(crate) fn join(&mut self, a: &Ty, b: &Ty, span: Span) -> Ty {
        let (a, b) = (self.tables.resolve(a), self.tables.resolve(b));
        self.merge(&a, &b, span, &mut Vec::new())
    }

    fn merge(&mut self, a: &Ty, b: &Ty, span: Span, seen: &mut Differing) -> Ty {
        let mut all = |a: &[Ty], b: &[Ty]| -> Vec<Ty> {
            let pairs = a.iter().zip(b);
            pairs.map(|(a, b)| self.merge(a, b, span, seen)).collect()
        };
        match (a, b) {
            (Ty::Array(x), Ty::Array(y)) => {
                let dim = self.merge_dim(&x.dim, &y.dim, span, seen);
                Ty::array(dim, self.merge(&x.elem, &y.elem, span, seen))
            }
            (Ty::Tuple(x), Ty::Tuple(y)) if x.len() == y.len() => Ty::Tuple(Arc::from(all(x, y))),
            (Ty::Record(x), Ty::Record(y)) if x.len() == y.len() => {
                let pairs = x.iter().zip(y.iter());
                let merged = pairs.map(|(x, y)| {
                    let ty = self.merge(&x.1, &y.1, span, seen);
                    (Arc::clone(&x.0), ty)
                });
                Ty::Record(merged.collect())
            }
            (Ty::Sum(x), Ty::Sum(y)) if x.len() == y.len() => {
                let pairs = x.iter().zip(y.iter());
                let merged = pairs.map(|(x, y)| (Arc::clone(&x.0), Arc::from(all(&x.1, &y.1))));
                Ty::Sum(merged.collect())
            }
            (Ty::Abstract(id, x), Ty::Abstract(other, y)) if id == other => {
                let types = all(&x.types, &y.types);
                let dims = x.dims.iter().zip(&y.dims);
                let dims = dims.map(|(x, y)| self.merge_dim(x, y, span, seen)).collect();
                Ty::Abstract(*id, Arc::new(TypeArgs { types, dims }))
            }
            _ => a.clone(),
        }
    }

    fn merge_dim(&mut self, a: &Dim, b: &Dim, span: Span, seen: &mut Differing) -> Dim {
        if compare(a, b) == SizeComparison::Equal {
            return a.clone();
        }
        // Sizes that only the values determine may all differ.
        let is_any = *a == Dim::Any || *b == Dim::Any;
        let known = seen.iter().find(|(x, y, _)| x == a && y == b);
        if let Some((.., dim)) = known.filter(|_| !is_any) {
            return dim.clone();
        }
        let dim = self.unknown(Arc::from("k"), span);
        seen.push((a.clone(), b.clone(), dim.clone()));
        dim
    }

    /// Infers the sizes of `e :> target`: its anonymous sizes, which are open, are those of the
    /// expression. Returns open sizes in place of the named ones, which the expression must
    /// determine.
    pub(crate) fn coerce(&mut self, target: &Ty, source: &Ty, span: Span) -> Vec<VarId> {
        let mut sizes = Vec::new();
        let target = self.tables.resolve(target);
        let shape = replace_dims(&target, &mut |dim| match dim {
            Dim::Var(var) if self.tables.is_open(*var) => dim.clone(),
            _ => {
                let name = Arc::from("coerce");
                let var = self.tables.new_open(name, Origin::Plain, self.depth);
                sizes.push(var);
                Dim::Var(var)
            }
        });
        // The types agreed in the first walk; an anonymous size that cannot be that of the value
        // stays open.
        drop(self.unifying(Sizes::Strict, span, |u| u.unify(&shape, source)));
        sizes
    }

    /// The result type of an application in which existential sizes of instantiated types are
    /// bound: by the innermost function type in whose result they occur, else as unknown sizes of
    /// this application.
    pub(crate) fn bind_existential(&mut self, ty: &Ty, span: Span) -> Ty {
        let resolved = self.tables.resolve(ty);
        let mut mentions = FreeVars::default();
        map_ty(&resolved, &mut mentions);
        if !mentions.dims.iter().any(|v| self.tables.is_existential(*v)) {
            return resolved;
        }
        let mut bind = BindExistential { infer: self, span, done: Vec::new(), copies: Vec::new() };
        bind.ty(&resolved)
    }
}

/// Replaces every size that mentions an existential size of an instantiated type.
struct BindExistential<'c, 't> {
    infer: &'c mut Infer<'t>,
    span: Span,
    done: Vec<(Dim, VarId)>,
    /// Copies, by occurrence and source.
    copies: Vec<(u32, VarId, VarId)>,
}

impl BindExistential<'_, '_> {
    fn dim(&mut self, dim: &Dim) -> Dim {
        let dim = &self.identify_copies(dim);
        let mut mentions = FreeVars::default();
        crate::subst::map_dim(dim, &mut mentions);
        let tables = &*self.infer.tables;
        let Some(var) = mentions.dims.iter().find(|v| tables.is_existential(**v)) else {
            return dim.clone();
        };
        let known = self.done.iter().find(|(old, _)| compare(old, dim) == SizeComparison::Equal);
        if let Some((_, new)) = known {
            return Dim::Var(*new);
        }
        let name = match dim {
            Dim::Var(_) => Arc::clone(&tables.var(*var).name),
            _ => Arc::from("k"),
        };
        let new = self.infer.unknown(name, self.span);
        if let Dim::Var(var) = new {
            self.done.push((dim.clone(), var));
        }
        new
    }

    /// The size with the copies of one occurrence and one source identified.
    fn identify_copies(&mut self, dim: &Dim) -> Dim {
        struct Represent<'r>(&'r InferTables, &'r mut Vec<(u32, VarId, VarId)>);
        impl TypeMapper for Represent<'_> {
            fn dim_var(&mut self, var: VarId) -> Option<Dim> {
                let VarState::Copy { of, occurrence } = self.0.var(var).state else {
                    return None;
                };
                let source = match self.0.var(of).state {
                    VarState::Existential { source, .. } => source?,
                    _ => return None,
                };
                let same = |(o, s, _): &&(u32, VarId, VarId)| *o == occurrence && *s == source;
                if let Some((.., first)) = self.1.iter().find(same) {
                    return Some(Dim::Var(*first));
                }
                self.1.push((occurrence, source, var));
                None
            }
        }
        let mut represent = Represent(self.infer.tables, &mut self.copies);
        crate::subst::map_dim(dim, &mut represent).unwrap_or_else(|| dim.clone())
    }

    fn ty(&mut self, ty: &Ty) -> Ty {
        match ty {
            Ty::Scalar(_) | Ty::Var(_) => ty.clone(),
            Ty::Array(array) => {
                let dim = self.dim(&array.dim);
                Ty::array(dim, self.ty(&array.elem))
            }
            Ty::Tuple(parts) => Ty::Tuple(parts.iter().map(|ty| self.ty(ty)).collect()),
            Ty::Record(fields) => {
                let field = |(label, ty): &(_, Ty)| (Arc::clone(label), self.ty(ty));
                Ty::Record(fields.iter().map(field).collect())
            }
            Ty::Sum(constrs) => Ty::Sum(
                constrs
                    .iter()
                    .map(|(l, p)| (Arc::clone(l), p.iter().map(|ty| self.ty(ty)).collect()))
                    .collect(),
            ),
            Ty::Abstract(id, args) => {
                let types = args.types.iter().map(|ty| self.ty(ty)).collect();
                let dims = args.dims.iter().map(|dim| self.dim(dim)).collect();
                Ty::Abstract(*id, Arc::new(TypeArgs { types, dims }))
            }
            Ty::Arrow(arrow) => {
                let param = self.ty(&arrow.param);
                let before = self.done.len();
                let ty = self.ty(&arrow.ret.ty);
                let new = self.done.split_off(before);
                let mut ext = arrow.ret.existential_sizes.clone();
                ext.extend(new.into_iter().map(|(_, var)| var));
                Ty::Arrow(Arc::new(ArrowTy {
                    name: arrow.name,
                    param,
                    consumes: arrow.consumes.clone(),
                    ret: RetType { existential_sizes: ext, ty, unique: arrow.ret.unique.clone() },
                }))
            }
        }
    }
}

/// Returns true if a type has sizes, or parameter names to which sizes may be linked; also if it is
/// too large to be visited.
pub(crate) fn has_sizes(ty: &Ty) -> bool {
    fn walk(ty: &Ty, budget: &mut u32) -> bool {
        let Some(left) = budget.checked_sub(1) else {
            return true;
        };
        *budget = left;
        match ty {
            Ty::Scalar(_) | Ty::Var(_) => false,
            Ty::Array(_) => true,
            Ty::Tuple(parts) => parts.iter().any(|ty| walk(ty, budget)),
            Ty::Record(fields) => fields.iter().any(|(_, ty)| walk(ty, budget)),
            Ty::Sum(constrs) => {
                let mut parts = constrs.iter().flat_map(|(_, payload)| payload.iter());
                parts.any(|ty| walk(ty, budget))
            }
            Ty::Arrow(arrow) => {
                arrow.name.is_some() || walk(&arrow.param, budget) || walk(&arrow.ret.ty, budget)
            }
            Ty::Abstract(_, args) => !args.dims.is_empty() || args.types.iter().any(|ty| walk(ty, budget)),
        }
    }
    let mut budget = MAX_VISITS;
    walk(ty, &mut budget)
}

/// The number of parts of a type after which it is assumed to have sizes.
const MAX_VISITS: u32 = 1000;

/// The type with each size of its values replaced, in order: sizes of arrays and size arguments of
/// abstract types, but not sizes in function types.
pub(crate) fn replace_dims(ty: &Ty, f: &mut dyn FnMut(&Dim) -> Dim) -> Ty {
    match ty {
        Ty::Scalar(_) | Ty::Var(_) | Ty::Arrow(_) => ty.clone(),
        Ty::Abstract(id, args) => {
            let types = args.types.iter().map(|ty| replace_dims(ty, f)).collect();
            let dims = args.dims.iter().map(&mut *f).collect();
            Ty::Abstract(*id, Arc::new(TypeArgs { types, dims }))
        }
        Ty::Array(array) => {
            let dim = f(&array.dim);
            Ty::array(dim, replace_dims(&array.elem, f))
        }
        Ty::Tuple(parts) => Ty::Tuple(parts.iter().map(|t| replace_dims(t, f)).collect()),
        Ty::Record(fields) => {
            Ty::Record(fields.iter().map(|(l, t)| (Arc::clone(l), replace_dims(t, f))).collect())
        }
        Ty::Sum(constrs) => Ty::Sum(
            constrs
                .iter()
                .map(|(l, p)| (Arc::clone(l), p.iter().map(|t| replace_dims(t, f)).collect()))
                .collect(),
        ),
    }
}

impl Infer<'_> {
    /// The resolved type with each open size of its values replaced by an existential size, which
    /// is added to `ext`.
    pub(crate) fn abstract_open_sizes(&mut self, ty: &Ty, ext: &mut Vec<VarId>) -> Ty {
        let mut done: Vec<(VarId, VarId)> = Vec::new();
        replace_dims(ty, &mut |dim| match dim {
            Dim::Var(var) if self.tables.is_open(*var) => {
                if let Some((_, new)) = done.iter().find(|(old, _)| old == var) {
                    return Dim::Var(*new);
                }
                let name = Arc::clone(&self.tables.var(*var).name);
                let new = self.tables.new_var(name, VarState::Value, self.depth);
                ext.push(new);
                done.push((*var, new));
                Dim::Var(new)
            }
            dim => dim.clone(),
        })
    }

    /// The result of a function of inferred type that depends on its argument in an unknown way:
    /// sizes that may be linked to the parameter's name later become unknown.
    pub(crate) fn close_dependent_result(&mut self, ty: &Ty, span: Span) -> Ty {
        let ty = self.tables.resolve(ty);
        replace_dims(&ty, &mut |dim| match dim {
            Dim::Var(var) if self.tables.is_open(*var) => self.unknown(Arc::from("k"), span),
            dim => dim.clone(),
        })
    }

    /// The type with each size of its values replaced by a size parameter, which is added to
    /// `params`.
    pub(crate) fn abstract_sizes(&mut self, ty: &Ty, params: &mut Vec<VarId>) -> Ty {
        let ty = self.tables.resolve(ty);
        replace_dims(&ty, &mut |dim| {
            let name = match dim {
                Dim::Var(var) => Arc::clone(&self.tables.var(*var).name),
                _ => Arc::from("k"),
            };
            let var = self.tables.new_var(name, VarState::Value, self.depth);
            params.push(var);
            Dim::Var(var)
        })
    }

    /// The type with sizes beyond the limits of [`crate::sizes`] replaced by unknown ones.
    pub(crate) fn limit_sizes(&mut self, ty: &Ty, span: Span) -> Ty {
        let compound = |dim: &Dim| matches!(dim, Dim::Op(..) | Dim::Exp(_));
        let mut large = false;
        let resolved = self.tables.resolve(ty);
        let checked = replace_dims(&resolved, &mut |dim| {
            if compound(dim) && !crate::sizes::is_small(dim) {
                large = true;
                return self.unknown(Arc::from("k"), span);
            }
            dim.clone()
        });
        if large { checked } else { resolved }
    }

    /// The resolved type with each size of its values replaced by an open one.
    pub(crate) fn with_open_sizes(&mut self, ty: &Ty) -> Ty {
        replace_dims(ty, &mut |_| self.fresh_dim("d"))
    }
}

/// The sizes of values of a resolved type, in the order of [`replace_dims`].
pub(crate) fn sizes_of_values(ty: &Ty) -> Vec<Dim> {
    let mut found = Vec::new();
    replace_dims(ty, &mut |dim| {
        found.push(dim.clone());
        dim.clone()
    });
    found
}

/// The type with some size variables replaced.
pub(crate) fn replace_vars(ty: &Ty, dims: Vec<(VarId, Dim)>) -> Ty {
    let types = Vec::new();
    Subst { types, dims }.ty(ty)
}
