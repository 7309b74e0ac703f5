//! Array operations in nests, by the rules of regular flattening (Futhark book): the views of all
//! iterations are one view (rule G5); arrays with known elements, and copies, are filled element by
//! element (map-iota, map-replicate).
//!
//! ```text
//! G5   Σ, x ∈ xs ⊢ rearrange (k1, .., kn) x    =>   rearrange (0, 1 + k1, .., 1 + kn) xs
//! book Σ ⊢ iota m                              =>   segmap (Σ, j < m) j
//! book Σ ⊢ replicate m v                       =>   segmap (Σ, j < m) v
//!      Σ, x ∈ xs ⊢ replicate m x               =>   rearrange (1, 0, ..) (replicate m xs)
//! book Σ ⊢ concat a b                          =>   segmap (Σ, j < m) (concat a b)[j]
//!      Σ, x ∈ xs ⊢ flatupdate x from by steps  =>   flatupdate xs from by steps,
//!                                                   with a further stride for each dimension of Σ
//! ```

use super::parallelism::{NestBindings, is_recomputed};
use super::updates::array_of;
use super::{distribute_irregular, map};
use crate::context::{Ctx, Let};
use crate::manifest::SegopBody;
use crate::names::{basic, reshape};
use crate::nest::Nest;
use crate::scope::Scope;
use crate::{Result, bug};
use ir::syntax::{Atom, Aux, BasicOp, Body, DimIndex, Exp, Param, Stm};
use ir::types::{Dim, Shape, Type};
use ir::{Builder, Name, PassError, Segs, Soacs};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Returns true if one of these rules applies, provided that the whole result is needed (`wanted`).
pub(super) fn is_parallel(bound: NestBindings<'_>, stm: &Stm<Soacs>, wanted: bool) -> bool {
    let [param] = stm.pat.as_slice() else {
        return false;
    };
    let Exp::Basic(op) = &stm.exp else {
        return false;
    };
    if !wanted || !bound.is_regular(&param.ty) {
        return false;
    }
    if let BasicOp::Rearrange { array, .. } | BasicOp::Reshape { array, .. } = op {
        // A nest-variant check says nothing outside its iteration.
        let mut own = stm.aux.certs.iter().filter(|cert| bound.is_variant(**cert));
        let checked = bound.nest.certs().is_empty() && own.next().is_none();
        let reshapes = matches!(op, BasicOp::Rearrange { .. }) || bound.irregular;
        checked && reshapes && bound.nest.array_of(*array).is_some()
    } else {
        is_elementwise(op)
    }
}

/// Returns true if a statement updates the same indices in all iterations, with values of one shape.
pub(super) fn is_lmad_update(
    bound: NestBindings<'_>,
    stm: &Stm<Soacs>,
    type_of: impl Fn(Name) -> Option<Type>,
) -> bool {
    let Exp::Basic(BasicOp::FlatUpdate { offset, strides, value, .. }) = &stm.exp else {
        return false;
    };
    let mut operands = std::iter::once(offset).chain(strides);
    let mut checks = stm.aux.certs.iter();
    bound.irregular
        && !operands.any(|at| bound.atom_varies(*at))
        && !checks.any(|cert| bound.is_variant(*cert))
        && bound.nest.certs().is_empty()
        && stm.pat.iter().all(|param| bound.is_regular(&param.ty))
        && type_of(*value).is_none_or(|ty| bound.is_regular(&ty))
}

/// Returns true if a body returns an array that is concatenated from others, or updated at known
/// indices, and computes no other arrays sequentially: then each element can be an iteration of its
/// own.
pub(super) fn returns_elements(bound: NestBindings<'_>, body: &Body<Soacs>) -> bool {
    let mut own: FxHashMap<Name, Type> = FxHashMap::default();
    let mut found = false;
    for stm in &body.stms {
        let more = |name: Name| own.contains_key(&name) || (bound.more)(name);
        let inner = NestBindings { more: &more, ..bound };
        let updates = is_lmad_update(inner, stm, |name| own.get(&name).cloned());
        let known = is_parallel(inner, stm, true) || distribute_irregular::is_operation(inner, stm, true);
        let Exp::Basic(op) = &stm.exp else {
            return false;
        };
        let few = matches!(op, BasicOp::ArrayLit { row, .. } if row.is_prim());
        if !(updates || known || few || is_recomputed(stm)) {
            return false;
        }
        let result = |param: &Param<Soacs>| body.result.contains(&Atom::Var(param.name));
        let put = updates || known && matches!(op, BasicOp::Concat { .. });
        found |= put && stm.pat.iter().all(result);
        own.extend(stm.pat.iter().map(|param| (param.name, param.ty.clone())));
    }
    found
}

/// Returns true if a statement fills an array with one value that is nest-invariant.
pub(super) fn is_invariant(nest: &Nest<'_>, stm: &Stm<Soacs>) -> bool {
    let known = |dim: &Dim| !matches!(dim, Dim::Var(name) if nest.is_variant(*name));
    let certs = stm.aux.certs.iter();
    matches!(&stm.exp, Exp::Basic(BasicOp::Replicate { shape, value })
        if shape.iter().all(known) && !value.var().is_some_and(|name| nest.is_variant(name)))
        && !certs.copied().any(|cert| nest.is_variant(cert))
}

/// Returns true if a body returns only views and replications of the nest's elements, all of one
/// shape: then the results for all iterations are views of existing arrays, without a segop.
pub(super) fn returns_views(nest: &Nest<'_>, body: &Body<Soacs>) -> bool {
    let mut known: Vec<Name> = Vec::new();
    let is_view = |stm: &Stm<Soacs>, known: &[Name]| {
        let own = |name: Name| known.contains(&name) || nest.array_of(name).is_some();
        let regular = stm.pat.iter().all(|param| {
            let dims = param.ty.shape().iter();
            !dims.filter_map(|dim| dim.atom()?.var()).any(|name| nest.is_variant(name))
        });
        regular
            && stm.aux.certs.is_empty()
            && match &stm.exp {
                Exp::Basic(BasicOp::Rearrange { array, .. } | BasicOp::Reshape { array, .. }) => own(*array),
                Exp::Basic(BasicOp::Replicate { value, .. }) => value.var().is_some_and(own),
                Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => false,
            }
    };
    let all = body.stms.iter().all(|stm| {
        let view = is_view(stm, &known);
        known.extend(stm.pat.iter().map(|param| param.name));
        view
    });
    let mut results = body.result.iter();
    all && !body.stms.is_empty() && results.all(|it| it.var().is_some_and(|n| known.contains(&n)))
}

/// Returns true if the elements of an operation's result can be computed one by one.
fn is_elementwise(op: &BasicOp) -> bool {
    matches!(op, BasicOp::Copy(_) | BasicOp::Iota { .. } | BasicOp::Replicate { .. } | BasicOp::Concat { .. })
}

/// Appends an operation for all iterations.
pub(super) fn operation(ctx: &mut Ctx<'_>, scope: Scope<'_>, to: Let, op: BasicOp) -> Result {
    let Let { pat, aux } = to;
    let Ok([param]) = <[Param<Soacs>; 1]>::try_from(pat) else {
        return Err(PassError::bug("a basic operation must bind one name"));
    };
    let (nest, prov) = (scope.nest, aux.prov);
    // Checks are made by iterations, not on arrays of all iterations.
    let checks = !nest.certs().is_empty();
    let irregular = ctx.allows_irregular(scope);
    if let BasicOp::Rearrange { perm, array } = op {
        return g5(ctx, scope, param, (perm, array));
    }
    if let BasicOp::FlatUpdate { array, offset, strides, value } = op {
        return lmad_update(ctx, scope, (param, aux), ([array, value], offset, &strides));
    }
    let result = if let BasicOp::Reshape { kind, array, .. } = op {
        let array = array_of(ctx, scope, array.into())?;
        let shape: Shape = param.ty.shape().iter().copied().collect();
        BasicOp::Copy(ctx.build(prov, |b| {
            // These certify that the sizes fit.
            b.certs = aux.certs;
            b.let_basic("view", BasicOp::Reshape { kind, shape, array })
        }))
    } else if let BasicOp::Copy(array) = op
        && !checks
        && irregular
        && nest.constant(array).is_some()
    {
        BasicOp::Atom(array_of(ctx, scope, array.into())?.into())
    } else if let BasicOp::Copy(array) = op
        && !checks
        && let Some(all) = nest.array_of(array)
    {
        BasicOp::Copy(all)
    } else if let BasicOp::Replicate { shape, value: Atom::Var(value) } = &op
        && let Some(all) = nest.array_of(*value).filter(|_| !checks && irregular)
    {
        // The array of all values is replicated, and the new dimensions are moved inside.
        let (outer, new, rank) = (nest.dims().len(), shape.len(), param.ty.rank());
        BasicOp::Copy(ctx.build(prov, |b| {
            let array = b.replicate("repeated", shape, all.into());
            let perm = (new..new + outer).chain(0..new).chain(new + outer..rank).collect();
            b.let_basic("view", BasicOp::Rearrange { perm, array })
        }))
    } else {
        return elementwise(ctx, scope, Let { pat: vec![param], aux }, op);
    };
    ctx.bind(param, result, prov);
    Ok(())
}

/// Rule G5: rearranges the array of all iterations' arrays.
pub(super) fn g5(
    ctx: &mut Ctx<'_>,
    scope: Scope<'_>,
    param: Param<Soacs>,
    (perm, array): (SmallVec<[usize; 3]>, Name),
) -> Result {
    let outer = scope.nest.dims().len();
    let all = array_of(ctx, scope, array.into())?;
    let perm = (0..outer).chain(perm.iter().map(|k| k + outer)).collect();
    let op = BasicOp::Rearrange { perm, array: all };
    let view = ctx.bind_fresh(("view", param.ty.clone()), op, scope.prov);
    ctx.bind(param, BasicOp::Copy(view), scope.prov);
    Ok(())
}

/// An LMAD update of all iterations' arrays, with one more stride for each dimension of the nest.
fn lmad_update(
    ctx: &mut Ctx<'_>,
    scope: Scope<'_>,
    (param, aux): (Param<Soacs>, Aux),
    ([array, value], offset, steps): ([Name; 2], Atom, &[Atom]),
) -> Result {
    let (outer, prov, dims) = (scope.nest.widths().count(), aux.prov, param.ty.shape());
    let all = array_of(ctx, scope, array.into())?;
    let value = array_of(ctx, scope, value.into())?;
    let view = ctx.build(prov, |b| {
        let own = b.let_basic("copy", BasicOp::Copy(all));
        let rows = Builder::<Segs>::dim(b.product(&dims[..=outer]));
        let shape: Vec<Dim> = std::iter::once(rows).chain(dims[outer + 1..].iter().copied()).collect();
        let array = b.let_basic("flat", reshape(&shape, own));
        let mut strides: SmallVec<[Atom; 4]> = (1..=outer).map(|k| b.product(&dims[k..=outer])).collect();
        strides.extend(steps.iter().copied());
        b.certs = aux.certs;
        let updated = b.let_basic("updated", BasicOp::FlatUpdate { array, offset, strides, value });
        b.let_basic("view", reshape(dims, updated))
    });
    ctx.bind(param, BasicOp::Copy(view), prov);
    Ok(())
}

/// A segop over the nest and the dimensions of the result.
fn elementwise(ctx: &mut Ctx<'_>, scope: Scope<'_>, to: Let, op: BasicOp) -> Result {
    let ty = &to.pat[0].ty;
    let outer = scope.nest.widths().count();
    let elem = ty.elem().ok_or_else(bug("expected an array"))?;
    let inner = scope.nest.with_dims(&mut ctx.names, &ty.shape()[outer..]);
    let slice = inner.indices().skip(outer).map(DimIndex::Fix).collect();
    let result = ctx.names.fresh("x", Type::Prim(elem));
    let name = result.name;
    let mut stms = Vec::new();
    // A reader of one element of such an array computes only that element.
    let array = if let BasicOp::Copy(array) = op {
        array
    } else {
        let array = ctx.names.fresh("xs", scope.nest.element_type(ty));
        let name = array.name;
        stms.push(basic(array, op, to.aux.prov));
        name
    };
    stms.push(basic(result, BasicOp::Index { array, slice }, to.aux.prov));
    let segop_body = SegopBody::map(Body { stms, result: vec![name.into()] }, vec![Type::Prim(elem)]);
    map::g2(ctx, scope.over(&inner), to, segop_body)
}
