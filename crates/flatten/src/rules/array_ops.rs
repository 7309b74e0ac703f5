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

use super::distribute::bind;
use super::parallelism::{NestBindings, is_recomputed};
use super::segments::reshape;
use super::updates::array_of;
use super::{distribute_irregular, versions};
use crate::context::Ctx;
use crate::manifest::SegopBody;
use crate::nest::Nest;
use crate::position::Position;
use ir::syntax::{Atom, Aux, BasicOp, Body, DimIndex, Exp, Param, Stm};
use ir::types::{Dim, Shape, Type};
use ir::{Builder, Name, PassError, Segs, Soacs};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Returns true if one of these rules applies to a statement whose result is needed as an array
/// over all iterations (`wanted`).
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

/// Returns true if a statement updates an array at the same indices in all iterations, with values
/// of one shape.
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
pub(super) fn operation(
    ctx: &mut Ctx<'_>,
    nest: &Nest<'_>,
    at: Position,
    pat: Vec<Param<Soacs>>,
    aux: Aux,
    op: BasicOp,
    out: &mut Vec<Stm<Segs>>,
) -> Result<(), PassError> {
    let Ok([param]) = <[Param<Soacs>; 1]>::try_from(pat) else {
        return Err(PassError::bug("a basic operation must bind one name"));
    };
    if let BasicOp::Rearrange { perm, array } = op {
        return g5(ctx, nest, at, param, &aux, (perm, array), out);
    }
    if let BasicOp::FlatUpdate { array, offset, strides, value } = op {
        let arrays = [array, value];
        return lmad_update(ctx, nest, at, param, &aux, (arrays, offset, &strides), out);
    }
    if let BasicOp::Reshape { kind, array, .. } = op {
        let all = array_of(ctx, nest, at, array.into(), &aux, out)?;
        let shape: Shape = param.ty.shape().iter().copied().collect();
        let mut builder = ctx.builder::<Segs>(&aux);
        // These certify that the sizes fit.
        builder.certs.clone_from(&aux.certs);
        let view = builder.let_basic("view", BasicOp::Reshape { kind, shape, array: all });
        out.extend(builder.take_stms());
        bind(ctx, param, BasicOp::Copy(view), &aux, out);
        return Ok(());
    }
    if !nest.certs().is_empty() {
        // Checks are made by iterations, not on arrays of all iterations.
        return elementwise(ctx, nest, at, param, aux, op, out);
    }
    if let BasicOp::Copy(array) = op
        && distribute_irregular::is_allowed_at(ctx, at)
        && nest.constant(array).is_some()
    {
        let all = array_of(ctx, nest, at, array.into(), &aux, out)?;
        bind(ctx, param, BasicOp::Atom(all.into()), &aux, out);
        return Ok(());
    }
    if let BasicOp::Copy(array) = op
        && nest.array_of(array).is_some()
    {
        let all = array_of(ctx, nest, at, array.into(), &aux, out)?;
        bind(ctx, param, BasicOp::Copy(all), &aux, out);
        return Ok(());
    }
    if let BasicOp::Replicate { shape, value } = &op
        && let Some(all) = value.var().and_then(|name| nest.array_of(name))
        && distribute_irregular::is_allowed_at(ctx, at)
    {
        replicate_all(ctx, nest, param, &aux, (shape.clone(), all), out);
        return Ok(());
    }
    elementwise(ctx, nest, at, param, aux, op, out)
}

/// Replicates a value that varies across iterations: replicates the array of all values, and moves
/// the new dimensions inside.
fn replicate_all(
    ctx: &mut Ctx<'_>,
    nest: &Nest<'_>,
    param: Param<Soacs>,
    aux: &Aux,
    (shape, all): (Shape, Name),
    out: &mut Vec<Stm<Segs>>,
) {
    let (outer, new, rank) = (nest.widths().count(), shape.len(), param.ty.rank());
    let mut builder = ctx.builder::<Segs>(aux);
    let op = BasicOp::Replicate { shape, value: all.into() };
    let array = builder.let_basic("repeated", op);
    let perm = (new..new + outer).chain(0..new).chain(new + outer..rank);
    let perm = perm.collect();
    let view = builder.let_basic("view", BasicOp::Rearrange { perm, array });
    out.extend(builder.take_stms());
    bind(ctx, param, BasicOp::Copy(view), aux, out);
}

/// Rule G5: rearranges the array of all iterations' arrays.
pub(super) fn g5(
    ctx: &mut Ctx<'_>,
    nest: &Nest<'_>,
    at: Position,
    param: Param<Soacs>,
    aux: &Aux,
    (perm, array): (SmallVec<[usize; 3]>, Name),
    out: &mut Vec<Stm<Segs>>,
) -> Result<(), PassError> {
    let outer = nest.widths().count();
    let all = array_of(ctx, nest, at, array.into(), aux, out)?;
    let perm = (0..outer).chain(perm.iter().map(|k| k + outer)).collect();
    let view: Param<Soacs> = ctx.fresh("view", param.ty.clone());
    let name = view.name;
    bind(ctx, view, BasicOp::Rearrange { perm, array: all }, aux, out);
    bind(ctx, param, BasicOp::Copy(name), aux, out);
    Ok(())
}

/// An LMAD update of the arrays of all iterations, by one update with an additional stride for each
/// dimension of the nest.
fn lmad_update(
    ctx: &mut Ctx<'_>,
    nest: &Nest<'_>,
    at: Position,
    param: Param<Soacs>,
    aux: &Aux,
    ([array, value], offset, steps): ([Name; 2], Atom, &[Atom]),
    out: &mut Vec<Stm<Segs>>,
) -> Result<(), PassError> {
    let outer = nest.widths().count();
    let all = array_of(ctx, nest, at, array.into(), aux, out)?;
    let value = array_of(ctx, nest, at, value.into(), aux, out)?;
    let dims: Vec<Dim> = param.ty.shape().to_vec();
    let mut builder = ctx.builder::<Segs>(aux);
    let own = builder.let_basic("copy", BasicOp::Copy(all));
    let rows = Builder::<Segs>::dim(builder.product(&dims[..=outer]));
    let rest = dims[outer + 1..].iter().copied();
    let shape: Vec<Dim> = std::iter::once(rows).chain(rest).collect();
    let flat = builder.let_basic("flat", reshape(&shape, own));
    let mut strides: SmallVec<[Atom; 4]> = (1..=outer).map(|k| builder.product(&dims[k..=outer])).collect();
    strides.extend(steps.iter().copied());
    builder.certs.clone_from(&aux.certs);
    let op = BasicOp::FlatUpdate { array: flat, offset, strides, value };
    let updated = builder.let_basic("updated", op);
    let view = builder.let_basic("view", reshape(&dims, updated));
    out.extend(builder.take_stms());
    bind(ctx, param, BasicOp::Copy(view), aux, out);
    Ok(())
}

/// A segop over the nest and the dimensions of the result.
fn elementwise(
    ctx: &mut Ctx<'_>,
    nest: &Nest<'_>,
    at: Position,
    param: Param<Soacs>,
    aux: Aux,
    op: BasicOp,
    out: &mut Vec<Stm<Segs>>,
) -> Result<(), PassError> {
    let outer = nest.widths().count();
    let dims: Vec<Dim> = param.ty.shape().iter().skip(outer).copied().collect();
    let elem = param.ty.elem().ok_or_else(|| PassError::bug("expected an array"))?;
    let frames = nest.child(Vec::new());
    let inner = frames.with_dims(ctx, &dims);
    let indices: Vec<Atom> = inner.indices().skip(outer).collect();
    let result: Param<Soacs> = ctx.fresh("x", Type::Prim(elem));
    let name = result.name;
    // A reader of one element of such an array computes only that element.
    let (array, mut stms) = if let BasicOp::Copy(array) = op {
        (array, Vec::new())
    } else {
        let ty = (0..outer).fold(param.ty.clone(), |ty, _| ty.row().unwrap_or(ty));
        let array: Param<Soacs> = ctx.fresh("xs", ty);
        let name = array.name;
        let stm = Stm { pat: vec![array], aux: Aux::at(aux.prov), exp: Exp::Basic(op) };
        (name, vec![stm])
    };
    stms.push(Stm {
        pat: vec![result],
        aux: Aux::at(aux.prov),
        exp: Exp::Basic(BasicOp::Index { array, slice: indices.into_iter().map(DimIndex::Fix).collect() }),
    });
    let body = Body { stms, result: vec![name.into()] };
    let segop_body = SegopBody::map(body, vec![Type::Prim(elem)]);
    versions::g2(ctx, &inner, at, vec![param], aux, segop_body, out)
}
