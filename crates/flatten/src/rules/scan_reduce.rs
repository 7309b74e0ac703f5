//! Rule G9: reductions and scans of maps with inner parallelism; and scremas that segops cannot
//! express, which are split.
//!
//! ```text
//! Σ ⊢ redomap op f ds xs   =>   if Par(Σ, x ∈ xs) >= suff_outer_par
//!                               then segred (Σ, x ∈ xs) op ds (f x)
//!                               else Σ ⊢ let ys = map f xs in reduce op ds ys
//! ```
//!
//! Scans likewise. If nothing in `f` is parallel, there is one version. A segscan stores what it
//! scans until carries are known, but no mapped arrays, and in tasks it computes its map twice. So
//! operations on arrays after the scan become a map of their own, and a map is computed before the
//! scan if it updates accumulators with an operator, or if recomputing it costs more than storing
//! its results.

use super::distribute::distribute;
use super::{par, parallelism, versions};
use crate::context::{Ctx, atoms};
use crate::manifest::{SegopBody, SegopKind};
use crate::nest::Nest;
use crate::position::Position;
use analysis::{cost, thresholds};
use ir::attrs::Versions;
use ir::scan_reduce::ScanReduce;
use ir::soac::{Screma, Soac};
use ir::syntax::{Atom, Attr, Aux, Body, Exp, Lambda, Param, Stm};
use ir::tunable::Rule;
use ir::types::{Dim, Type};
use ir::{Flatten, Name, PassError, Prov, Segs, Soacs};

/// Appends the statements that replace a screma that scans or reduces scalars.
pub(super) fn scan_reduce(
    ctx: &mut Ctx<'_>,
    nest: &Nest<'_>,
    at: Position,
    pat: Vec<Param<Soacs>>,
    aux: Aux,
    mut s: Screma,
    out: &mut Vec<Stm<Segs>>,
) -> Result<(), PassError> {
    let nests = versions::level_nests(ctx, at);
    let arrays_after = |ctx: &Ctx<'_>, post: &Lambda<Soacs>| {
        let arrays = post.params.iter().any(|p| p.ty.is_array());
        arrays && nests || ctx.has_acc_with_operator(&post.ret)
    };
    let both = !s.scan_reduce.scans.is_empty() && !s.scan_reduce.reduces.is_empty();
    if both && !nests {
        let stms = scan_and_reduce(ctx, &aux, s);
        return distribute(ctx, nest, at, stms, pat, &aux, out);
    }
    let after = s.scan_reduce.post.take_if(|post| arrays_after(ctx, post));
    let stms = if let Some(post) = after {
        map_after(ctx, &aux, s, post)
    } else if !s.scan_reduce.scans.is_empty()
        && (ctx.has_acc_with_operator(&s.map.ret) || nests && is_stored(&s))
    {
        map_before(ctx, &aux, s)
    } else {
        return g9(ctx, nest, at, pat, aux, s, out);
    };
    distribute(ctx, nest, at, stms, pat, &aux, out)
}

/// Returns true if the mapped values of a scan are stored rather than recomputed.
fn is_stored(s: &Screma) -> bool {
    let passes_on = s.scan_reduce.post.is_some() && s.map.ret.iter().any(is_acc);
    let cost = cost::body(&s.map.body);
    !passes_on && (!cost.is_bounded() || cost.total() > thresholds::RECOMPUTED_IN_SCAN)
}

fn is_acc(ty: &Type) -> bool {
    matches!(ty, Type::Acc { .. })
}

/// Appends the versions of a reduction or scan.
pub(super) fn g9(
    ctx: &mut Ctx<'_>,
    nest: &Nest<'_>,
    at: Position,
    pat: Vec<Param<Soacs>>,
    aux: Aux,
    s: Screma,
    out: &mut Vec<Stm<Segs>>,
) -> Result<(), PassError> {
    let nests = versions::level_nests(ctx, at);
    let has = |kind| aux.attrs.has(&Attr::Flattening(kind)) && !nests;
    let parallel = parallelism::has_parallelism(&s.map.body)
        || (s.scan_reduce.post.as_ref()).is_some_and(|post| parallelism::has_parallelism(&post.body));
    let mut inner = parallel && !aux.attrs.has(&Attr::SequentialInner);
    if let Some(post) = s.scan_reduce.post.as_ref().filter(|_| inner && at.enclosing.is_some() && !nests)
        && !parallelism::has_parallelism(&s.map.body)
    {
        // Where no level is below, statements that a nest is not distributed into are sequential
        // anyway.
        let own = |name: Name| post.params.iter().any(|param| param.name == name);
        let over = nest.with_map(ctx, s.width, &s.map.params, &s.inputs)?;
        let bound = parallelism::NestBindings {
            nest: &over,
            more: &own,
            irregular: false,
            lifts: &ctx.lifted_functions,
        };
        inner = bound.exploits(&post.body);
    }
    let (outer, flat) = match ctx.mode {
        Flatten::None | Flatten::Moderate => (true, false),
        Flatten::Full => (!inner, inner),
        Flatten::Incremental if !versions::may_choose(ctx) => {
            if inner {
                versions::note_limit(ctx, &aux);
            }
            (nests || !inner, inner && !nests)
        }
        Flatten::Incremental => {
            let below = at.level.and_then(|level| Position::inside(ctx.stack, level));
            let outer = !has(Versions::NoOuter) && !has(Versions::OnlyInner) && below.is_some();
            (outer || !inner, inner)
        }
    };
    let level = at.level.ok_or_else(|| PassError::bug("a segop has no level"))?;
    let top = |ctx: &mut Ctx<'_>, s: Screma, pat, out: &mut Vec<Stm<Segs>>| {
        let over = nest.with_map(ctx, s.width, &s.map.params, &s.inputs)?;
        let segop_body =
            SegopBody { body: s.map.body, ret: s.map.ret, kind: SegopKind::ScanReduce(s.scan_reduce) };
        versions::g2(ctx, &over, at, pat, aux.clone(), segop_body, out)
    };
    if !flat {
        return top(ctx, s, pat, out);
    }
    if !outer {
        let body = split(ctx, &aux, s);
        return distribute(ctx, nest, at, body, pat, &aux, out);
    }
    let mut before = Vec::new();
    let over = nest.with_map(ctx, s.width, &[], &[])?;
    let size = par::of_nest(ctx, &over, &aux, &mut before);
    let guard = versions::Guard {
        before,
        enough: (size, versions::threshold(ctx, Rule::OuterParallelism, level)),
        little: None,
    };
    let copy = Screma { scan_reduce: ctx.copy_scan_reduce(&s.scan_reduce), ..s.clone() };
    let whole = ctx.body_of(&pat, |ctx, own, stms| top(ctx, copy, own, stms))?;
    let body = split(ctx, &aux, s);
    let rest = versions::inside_choice(ctx, |ctx| {
        ctx.body_of(&pat, |ctx, own, stms| distribute(ctx, nest, at, body, own, &aux, stms))
    })?;
    let candidates = [(Some(guard), whole), (None, rest)];
    let candidates = candidates.map(|(guard, body)| versions::VersionWithGuard { guard, body });
    versions::choose(ctx, candidates.into(), pat, &aux, out)
}

/// Splits a screma into a map, a scan or reduction of its results, and a map with the post lambda.
pub(super) fn split(ctx: &mut Ctx<'_>, aux: &Aux, s: Screma) -> Body<Soacs> {
    let forwarded: Vec<Option<Name>> = s.forwarded_inputs().collect();
    let Screma { width, inputs, map, mut scan_reduce } = s;
    let types = map.ret.clone();
    let post = scan_reduce.post.take();
    if let (Some(post), true) = (&post, forwarded.iter().all(Option::is_some)) {
        // The mapped values are arrays already.
        let names = forwarded.into_iter().flatten().collect();
        let combined = identity_screma(ctx, width, names, &types, scan_reduce);
        return map_after(ctx, aux, combined, post.clone());
    }
    let arrays = rows(ctx, "xs", &types, Some(width));
    let names = arrays.iter().map(|param| param.name).collect();
    let map = screma(arrays, aux, Screma::map(width, inputs, map));
    let combined = identity_screma(ctx, width, names, &types, scan_reduce);
    let mut rest = match post {
        Some(post) => map_after(ctx, aux, combined, post),
        None => {
            let pat = results(ctx, &combined);
            let result = atoms(&pat);
            let stms = vec![screma(pat, aux, combined)];
            Body { stms, result }
        }
    };
    rest.stms.insert(0, map);
    rest
}

/// The scan or reduction of arrays with elements of these types.
pub(super) fn identity_screma(
    ctx: &mut Ctx<'_>,
    width: Dim,
    inputs: Vec<Name>,
    types: &[Type],
    scan_reduce: ScanReduce<Soacs>,
) -> Screma {
    Screma { width, inputs, map: ctx.builder(&Aux::at(Prov::NONE)).identity_lambda(types), scan_reduce }
}

/// Splits a screma that scans and reduces, for machines without such segops: into a map, and a scan
/// and a reduction of its results.
pub(super) fn scan_and_reduce(ctx: &mut Ctx<'_>, aux: &Aux, s: Screma) -> Body<Soacs> {
    // Elements of an input are in an array already.
    let forwarded: Vec<Option<Name>> = s.forwarded_inputs().collect();
    let Screma { width, inputs, map, scan_reduce } = s;
    let types = map.ret.clone();
    let arrays = rows(ctx, "xs", &types, Some(width));
    let all = forwarded.iter().zip(&arrays);
    let all: Vec<Name> = all.map(|(name, array)| name.unwrap_or(array.name)).collect();
    let value_types = scan_reduce.values(&types);
    let (reduced, other) = (value_types.reduced.to_vec(), [value_types.scanned, value_types.mapped].concat());
    let names = scan_reduce.values(&all);
    let (totalled, scanned) = (names.reduced.to_vec(), [names.scanned, names.mapped].concat());
    let ScanReduce { scans, reduces, post } = scan_reduce;
    let reduce = identity_screma(ctx, width, totalled, &reduced, ScanReduce::reduce(reduces));
    let scan_reduce = ScanReduce { scans, reduces: Vec::new(), post };
    let scan = identity_screma(ctx, width, scanned, &other, scan_reduce);
    let (totals, elements) = (results(ctx, &reduce), results(ctx, &scan));
    let result = [atoms(&totals), atoms(&elements)].concat();
    let mut stms = vec![screma(totals, aux, reduce), screma(elements, aux, scan)];
    if forwarded.contains(&None) {
        let (arrays, map) = restrict(map, arrays, |i| forwarded[i].is_none());
        stms.insert(0, screma(arrays, aux, Screma::map(width, inputs, map)));
    }
    Body { stms, result }
}

/// Splits a scan into its map and a scan of the results. Mapped results are those of the first map,
/// unless the scan has a post lambda that takes them. Elements of the map's inputs are read from
/// these by the scan.
fn map_before(ctx: &mut Ctx<'_>, aux: &Aux, s: Screma) -> Body<Soacs> {
    let forwarded: Vec<Option<Name>> = s.forwarded_inputs().collect();
    let Screma { width, inputs, map, scan_reduce } = s;
    let types = map.ret.clone();
    let mapped = rows(ctx, "xs", &types, Some(width));
    let n_folded = scan_reduce.n_accumulated();
    let post_takes_mapped = scan_reduce.post.is_some();
    let goes_on = |i: &usize| *i < n_folded || post_takes_mapped && !is_acc(&types[*i]);
    let left: Vec<usize> = (0..types.len()).filter(goes_on).collect();
    let own: Vec<Type> = left.iter().map(|&i| types[i].clone()).collect();
    let names = left.iter().map(|&i| forwarded[i].unwrap_or(mapped[i].name));
    let names = names.collect();
    let scan = identity_screma(ctx, width, names, &own, scan_reduce);
    let pat = results(ctx, &scan);
    let rest = (n_folded..types.len()).filter(|i| !goes_on(i));
    let mut result = atoms(&pat);
    result.extend(rest.map(|i| Atom::Var(mapped[i].name)));
    let (mapped, map) = restrict(map, mapped, |i| forwarded[i].is_none() || !goes_on(&i));
    let map = Screma::map(width, inputs, map);
    let stms = vec![screma(mapped, aux, map), screma(pat, aux, scan)];
    Body { stms, result }
}

/// A map and its result arrays, restricted to these results.
fn restrict(
    mut map: Lambda<Soacs>,
    arrays: Vec<Param<Soacs>>,
    selected: impl Fn(usize) -> bool,
) -> (Vec<Param<Soacs>>, Lambda<Soacs>) {
    let results = map.ret.into_iter().zip(map.body.result).zip(arrays);
    let selected = results.enumerate().filter(|(i, _)| selected(*i));
    let (types, arrays): (Vec<_>, Vec<_>) = selected.map(|(_, result)| result).unzip();
    (map.ret, map.body.result) = types.into_iter().unzip();
    (arrays, map)
}

/// Splits a scan from its post lambda, which becomes a map over the scan's elements.
fn map_after(ctx: &mut Ctx<'_>, aux: &Aux, scan: Screma, post: Lambda<Soacs>) -> Body<Soacs> {
    let width = scan.width;
    let pat = results(ctx, &scan);
    let (reduced, elements) = scan.scan_reduce.results(&pat);
    let last = rows(ctx, "ys", &post.ret, Some(width));
    let inputs = elements.iter().map(|param| param.name).collect();
    let map = Screma::map(width, inputs, post);
    let result = [atoms(reduced), atoms(&last)].concat();
    let stms = vec![screma(pat.clone(), aux, scan), screma(last, aux, map)];
    Body { stms, result }
}

/// A statement of a screma.
pub(super) fn screma(pat: Vec<Param<Soacs>>, aux: &Aux, s: Screma) -> Stm<Soacs> {
    Stm { pat, aux: aux.clone(), exp: Exp::Op(Soac::Screma(s)) }
}

/// Fresh names for a screma's results.
pub(super) fn results(ctx: &mut Ctx<'_>, s: &Screma) -> Vec<Param<Soacs>> {
    let width = s.width;
    let reduced: Vec<Type> = s.scan_reduce.reduced_types().cloned().collect();
    let elements = s.scan_reduce.element_types(&s.map.ret);
    let reduced = rows(ctx, "total", &reduced, None);
    let elements = rows(ctx, "ys", &elements, Some(width));
    reduced.into_iter().chain(elements).collect()
}

/// Fresh names for values of these types, or for arrays of them.
pub(super) fn rows(ctx: &mut Ctx<'_>, hint: &str, types: &[Type], width: Option<Dim>) -> Vec<Param<Soacs>> {
    let types = types.iter();
    let of = |ty: &Type| match (ty, width) {
        (Type::Acc { .. }, _) | (_, None) => ty.clone(),
        (_, Some(width)) => ty.array_of(width),
    };
    types.map(|ty| ctx.fresh(hint, of(ty))).collect()
}
