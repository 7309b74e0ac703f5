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
use super::parallelism::{NestBindings, has_parallelism};
use super::{map, par, versions};
use crate::context::{Ctx, Let};
use crate::manifest::{SegopBody, SegopKind};
use crate::names::{Names, atoms};
use crate::scope::{Position, Scope};
use crate::{Pat, Result};
use analysis::{cost, thresholds};
use ir::attrs::Versions;
use ir::scan_reduce::ScanReduce;
use ir::soac::{Screma, Soac};
use ir::syntax::{Atom, Attr, Aux, Body, Exp, Lambda, Stm};
use ir::tunable::Rule;
use ir::types::{Dim, Type};
use ir::{Flatten, Name, Prov, Soacs};
use rustc_hash::{FxHashMap, FxHashSet};

/// Appends the statements that replace a screma that scans or reduces scalars.
pub(super) fn scan_reduce(ctx: &mut Ctx<'_>, scope: Scope<'_>, to: Let, mut s: Screma) -> Result {
    let nests = scope.level_nests(ctx.stack);
    let names = &mut ctx.names;
    let has_scans = !s.scan_reduce.scans.is_empty();
    let parts = if has_scans && !s.scan_reduce.reduces.is_empty() && !nests {
        scan_and_reduce(names, &to.aux, s)
    } else if let Some(post) = s.scan_reduce.post.take_if(|post| {
        let arrays = post.params.iter().any(|p| p.ty.is_array());
        arrays && nests || names.has_acc_with_operator(&post.ret)
    }) {
        map_after(names, &to.aux, s, Some(post))
    } else if has_scans && (names.has_acc_with_operator(&s.map.ret) || nests && is_stored(&s)) {
        map_before(names, &to.aux, s)
    } else {
        return g9(ctx, scope, to, s);
    };
    distribute(ctx, scope, parts, to)
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
pub(super) fn g9(ctx: &mut Ctx<'_>, scope: Scope<'_>, to: Let, s: Screma) -> Result {
    let nests = scope.level_nests(ctx.stack);
    let inner = has_inner_parallelism(ctx, scope, &to.aux, &s)?;
    let (outer, flat) = match ctx.mode {
        Flatten::None | Flatten::Moderate => (true, false),
        Flatten::Full => (!inner, inner),
        Flatten::Incremental if !versions::may_choose(ctx, scope) => {
            if inner {
                versions::note_limit(ctx, to.aux.prov);
            }
            (nests || !inner, inner && !nests)
        }
        Flatten::Incremental => {
            let has = |kind| to.aux.attrs.has(&Attr::Flattening(kind)) && !nests;
            let below = Position::inside(ctx.stack, scope.level()?);
            let outer = !has(Versions::NoOuter) && !has(Versions::OnlyInner) && below.is_some();
            (outer || !inner, inner)
        }
    };
    if !flat {
        return segop(ctx, scope, to, s);
    }
    if !outer {
        let parts = split(&mut ctx.names, &to.aux, s);
        return distribute(ctx, scope, parts, to);
    }
    let over = scope.nest.with_map(&mut ctx.names, s.width, &[], &[])?;
    let (size, before) = ctx.collect(|ctx| par::of_nest(ctx, scope.over(&over)));
    let enough = (size, versions::threshold(ctx, Rule::OuterParallelism, scope.level()?));
    let copy = Screma { scan_reduce: ctx.names.copy_scan_reduce(&s.scan_reduce), ..s.clone() };
    let whole = ctx.body_of(&to, |ctx, to| segop(ctx, scope, to, copy))?;
    let parts = split(&mut ctx.names, &to.aux, s);
    let rest = ctx.body_of(&to, |ctx, to| distribute(ctx, scope.in_choice(), parts, to))?;
    versions::either(ctx, (versions::Guard { before, enough, little: None }, whole), rest, to)
}

/// Returns true if an iteration has parallelism that can be exploited.
fn has_inner_parallelism(ctx: &mut Ctx<'_>, scope: Scope<'_>, aux: &Aux, s: &Screma) -> Result<bool> {
    if aux.attrs.has(&Attr::SequentialInner) {
        return Ok(false);
    }
    let post = match &s.scan_reduce.post {
        _ if has_parallelism(&s.map.body) => return Ok(true),
        Some(post) if has_parallelism(&post.body) => post,
        Some(_) | None => return Ok(false),
    };
    if scope.at.enclosing.is_none() || scope.level_nests(ctx.stack) {
        return Ok(true);
    }
    // Where no level is below, statements that a nest is not distributed into are sequential
    // anyway.
    let own = |name: Name| post.params.iter().any(|param| param.name == name);
    let over = scope.nest.with_map(&mut ctx.names, s.width, &s.map.params, &s.inputs)?;
    let bound = NestBindings::of(ctx, scope.over(&over), &own);
    Ok(bound.exploits(&post.body))
}

/// Appends a scan or reduction as one segop.
fn segop(ctx: &mut Ctx<'_>, scope: Scope<'_>, to: Let, s: Screma) -> Result {
    let over = scope.nest.with_map(&mut ctx.names, s.width, &s.map.params, &s.inputs)?;
    let segop_body = SegopBody::of(s.map, SegopKind::ScanReduce(s.scan_reduce));
    map::g2(ctx, scope.over(&over), to, segop_body)
}

/// Splits a screma into a map, a scan or reduction of its results, and a map with the post lambda.
pub(super) fn split(names: &mut Names<'_>, aux: &Aux, s: Screma) -> Body<Soacs> {
    let forwarded: Vec<Option<Name>> = s.forwarded_inputs().collect();
    let Screma { width, inputs, map, mut scan_reduce } = s;
    let types = map.ret.clone();
    let post = scan_reduce.post.take();
    let arrays = rows(names, "xs", &types, Some(width));
    let is_read = |i: usize| post.is_some() && !is_acc(&types[i]) || i < scan_reduce.n_accumulated();
    let (mapped, own) = shared_arrays((&map, &forwarded), &arrays, 0..types.len(), is_read);
    let combined = identity_screma(names, width, mapped, &types, scan_reduce);
    let mut rest = map_after(names, aux, combined, post);
    if own.contains(&true) {
        let (arrays, map) = restrict(map, arrays, |i| own[i]);
        rest.stms.insert(0, screma(arrays, aux, Screma::map(width, inputs, map)));
    }
    rest
}

/// The scan or reduction of arrays with elements of these types.
pub(super) fn identity_screma(
    names: &mut Names<'_>,
    width: Dim,
    inputs: Vec<Name>,
    types: &[Type],
    scan_reduce: ScanReduce<Soacs>,
) -> Screma {
    Screma { width, inputs, map: names.builder(Prov::NONE).identity_lambda(types), scan_reduce }
}

/// Splits a screma that scans and reduces into a map, and a scan and a reduction of its results.
pub(super) fn scan_and_reduce(names: &mut Names<'_>, aux: &Aux, s: Screma) -> Body<Soacs> {
    // Elements of an input are in an array already.
    let forwarded: Vec<Option<Name>> = s.forwarded_inputs().collect();
    let Screma { width, inputs, map, scan_reduce } = s;
    let types = map.ret.clone();
    let arrays = rows(names, "xs", &types, Some(width));
    let all = forwarded.iter().zip(&arrays);
    let all: Vec<Name> = all.map(|(name, array)| name.unwrap_or(array.name)).collect();
    let value_types = scan_reduce.values(&types);
    let (reduced, other) = (value_types.reduced.to_vec(), [value_types.scanned, value_types.mapped].concat());
    let all = scan_reduce.values(&all);
    let (totalled, scanned) = (all.reduced.to_vec(), [all.scanned, all.mapped].concat());
    let ScanReduce { scans, reduces, post } = scan_reduce;
    let reduce = identity_screma(names, width, totalled, &reduced, ScanReduce::reduce(reduces));
    let scan_reduce = ScanReduce { scans, reduces: Vec::new(), post };
    let scan = identity_screma(names, width, scanned, &other, scan_reduce);
    let (totals, elements) = (results(names, &reduce), results(names, &scan));
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
fn map_before(names: &mut Names<'_>, aux: &Aux, s: Screma) -> Body<Soacs> {
    let forwarded: Vec<Option<Name>> = s.forwarded_inputs().collect();
    let Screma { width, inputs, map, scan_reduce } = s;
    let types = map.ret.clone();
    let mapped = rows(names, "xs", &types, Some(width));
    let n_folded = scan_reduce.n_accumulated();
    let post_takes_mapped = scan_reduce.post.is_some();
    let goes_on = |i: &usize| *i < n_folded || post_takes_mapped && !is_acc(&types[*i]);
    let left: Vec<usize> = (0..types.len()).filter(goes_on).collect();
    let left_types: Vec<Type> = left.iter().map(|&i| types[i].clone()).collect();
    let rest: Vec<usize> = (n_folded..types.len()).filter(|i| !goes_on(i)).collect();
    // The scan reads the arrays of equal results.
    let order = rest.iter().chain(&left).copied();
    let (all, own) = shared_arrays((&map, &forwarded), &mapped, order, |i| goes_on(&i));
    let arrays = left.iter().map(|&i| all[i]).collect();
    let scan = identity_screma(names, width, arrays, &left_types, scan_reduce);
    let pat = results(names, &scan);
    let mut result = atoms(&pat);
    result.extend(rest.iter().map(|&i| Atom::Var(mapped[i].name)));
    let (mapped, map) = restrict(map, mapped, |i| own[i]);
    let map = Screma::map(width, inputs, map);
    let stms = vec![screma(mapped, aux, map), screma(pat, aux, scan)];
    Body { stms, result }
}

/// The array of each result of a map, and whether it is the result's own. One that is read only may be an
/// input of the map, or that of an equal result earlier in the order.
fn shared_arrays(
    (map, forwarded): (&Lambda<Soacs>, &[Option<Name>]),
    arrays: &Pat,
    order: impl Iterator<Item = usize>,
    is_read: impl Fn(usize) -> bool,
) -> (Vec<Name>, Vec<bool>) {
    let mut known: FxHashMap<Atom, Name> = FxHashMap::default();
    let mut shared: Vec<Name> = arrays.iter().map(|param| param.name).collect();
    let mut own = vec![true; arrays.len()];
    for i in order {
        let result = map.body.result[i];
        if let Some(other) = forwarded[i].or_else(|| known.get(&result).copied()).filter(|_| is_read(i)) {
            (shared[i], own[i]) = (other, false);
        }
        known.entry(result).or_insert(shared[i]);
    }
    (shared, own)
}

/// A map and its result arrays, restricted to these results.
fn restrict(mut map: Lambda<Soacs>, arrays: Pat, selected: impl Fn(usize) -> bool) -> (Pat, Lambda<Soacs>) {
    let results = map.ret.into_iter().zip(map.body.result).zip(arrays);
    let selected = results.enumerate().filter(|(i, _)| selected(*i));
    let (types, arrays): (Vec<_>, Vec<_>) = selected.map(|(_, result)| result).unzip();
    (map.ret, map.body.result) = types.into_iter().unzip();
    (arrays, map)
}

/// Splits a screma from its post lambda, if it has one, which becomes a map over the elements.
fn map_after(names: &mut Names<'_>, aux: &Aux, mut s: Screma, post: Option<Lambda<Soacs>>) -> Body<Soacs> {
    let width = s.width;
    let Some(post) = post else {
        let pat = results(names, &s);
        return Body { result: atoms(&pat), stms: vec![screma(pat, aux, s)] };
    };
    // Elements of inputs are read from these.
    let forwarded: Vec<Option<Name>> = s.forwarded_inputs().collect();
    let n_folded = s.scan_reduce.n_accumulated();
    let types = s.map.ret.clone();
    let goes_on = |i: usize| i < n_folded || forwarded[i].is_none() || is_acc(&types[i]);
    let all = rows(names, "ys", &types, Some(width));
    (_, s.map) = restrict(s.map, all, goes_on);
    let pat = results(names, &s);
    let (reduced, elements) = s.scan_reduce.results(&pat);
    let mut elements = elements.iter().map(|param| param.name);
    let mut inputs: Vec<Name> = elements.by_ref().take(n_folded - reduced.len()).collect();
    let mapped = (n_folded..types.len()).map(|i| if goes_on(i) { elements.next() } else { forwarded[i] });
    inputs.extend(mapped.flatten());
    let mut last = rows(names, "ys", &post.ret, Some(width));
    // A result that is a parameter has its array already, and not of an input; no two results are one
    // array.
    let mut own = vec![true; last.len()];
    let mut passed = FxHashSet::default();
    let mut result = atoms(reduced);
    for (i, atom) in post.body.result.iter().enumerate() {
        let at = post.params.iter().position(|param| *atom == Atom::Var(param.name));
        let array = at.filter(|_| !is_acc(&post.ret[i])).map(|at| inputs[at]);
        let array = array.filter(|array| pat.iter().any(|own| own.name == *array) && passed.insert(*array));
        own[i] = array.is_none();
        result.push(array.unwrap_or(last[i].name).into());
    }
    let mut stms = vec![screma(pat.clone(), aux, s)];
    if own.contains(&true) {
        let map;
        (last, map) = restrict(post, last, |i| own[i]);
        stms.push(screma(last, aux, Screma::map(width, inputs, map)));
    }
    Body { stms, result }
}

/// A statement of a screma.
pub(super) fn screma(pat: Pat, aux: &Aux, s: Screma) -> Stm<Soacs> {
    Stm { pat, aux: aux.clone(), exp: Exp::Op(Soac::Screma(s)) }
}

/// Fresh names for a screma's results.
pub(super) fn results(names: &mut Names<'_>, s: &Screma) -> Pat {
    let width = s.width;
    let reduced: Vec<Type> = s.scan_reduce.reduced_types().cloned().collect();
    let elements = s.scan_reduce.element_types(&s.map.ret);
    let reduced = rows(names, "total", &reduced, None);
    let elements = rows(names, "ys", &elements, Some(width));
    reduced.into_iter().chain(elements).collect()
}

/// Fresh names for values of these types, or for arrays of them.
pub(super) fn rows(names: &mut Names<'_>, hint: &str, types: &[Type], width: Option<Dim>) -> Pat {
    let of = |ty: &Type| width.map_or_else(|| ty.clone(), |width| ty.array_of(width));
    types.iter().map(|ty| names.fresh(hint, of(ty))).collect()
}
