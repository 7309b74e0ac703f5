//! Rule G9: reductions and scans of maps that have parallelism in them, and what
//! segops cannot express of others.
//!
//! ```text
//! Σ ⊢ redomap op f ds xs   =>   if Par(Σ, x ∈ xs) >= suff_outer_par
//!                               then segred (Σ, x ∈ xs) op ds (f x)
//!                               else Σ ⊢ let ys = map f xs in reduce op ds ys
//! ```
//!
//! Scans likewise. Where nothing in `f` is parallel there is one version. A segscan
//! keeps what it scanned until carries are known, but no arrays beside it, and computes
//! its points twice: what follows on arrays becomes a map of its own, and a map that
//! updates accumulators with an operator goes first.

use super::distribute::distribute;
use super::{par, regular, versions};
use crate::context::Ctx;
use crate::manifest::{Kind, Point};
use crate::nest::Nest;
use crate::position::Position;
use ir::attrs::Versions;
use ir::folds::Folds;
use ir::soac::{Screma, Soac};
use ir::syntax::{Atom, Attr, Aux, Body, Exp, Lambda, Param, Stm};
use ir::tunable::Rule;
use ir::types::Type;
use ir::{Flatten, Name, PassError, Segs, Soacs};

/// Appends what stands for a screma that folds scalars.
pub(super) fn folds(
    ctx: &mut Ctx<'_>,
    nest: &Nest<'_>,
    at: Position,
    pat: Vec<Param<Soacs>>,
    aux: Aux,
    mut s: Screma,
    out: &mut Vec<Stm<Segs>>,
) -> Result<(), PassError> {
    let nests = versions::nests(ctx, at);
    let arrays_after = |ctx: &Ctx<'_>, post: &Lambda<Soacs>| {
        let arrays = post.params.iter().any(|p| p.ty.is_array());
        arrays && nests || ctx.combines(&post.ret)
    };
    let both = !s.folds.scans.is_empty() && !s.folds.reduces.is_empty();
    if both && !nests {
        let stms = scan_and_reduce(ctx, &aux, s);
        return distribute(ctx, nest, at, stms, pat, &aux, out);
    }
    let after = s.folds.post.take_if(|post| arrays_after(ctx, post));
    let stms = if let Some(post) = after {
        map_after(ctx, &aux, s, post)
    } else if !s.folds.scans.is_empty() && ctx.combines(&s.map.ret) {
        map_before(ctx, &aux, s)
    } else {
        return g9(ctx, nest, at, pat, aux, s, out);
    };
    distribute(ctx, nest, at, stms, pat, &aux, out)
}

/// Appends the versions of a fold.
pub(super) fn g9(
    ctx: &mut Ctx<'_>,
    nest: &Nest<'_>,
    at: Position,
    pat: Vec<Param<Soacs>>,
    aux: Aux,
    s: Screma,
    out: &mut Vec<Stm<Segs>>,
) -> Result<(), PassError> {
    let has = |kind| aux.attrs.has(&Attr::Flattening(kind)) && !versions::nests(ctx, at);
    let parallel = regular::has_parallelism(&s.map.body)
        || (s.folds.post.as_ref()).is_some_and(|post| regular::has_parallelism(&post.body));
    let inner = parallel && !aux.attrs.has(&Attr::SequentialInner);
    let (outer, flat) = match ctx.mode {
        Flatten::None | Flatten::Moderate => (true, false),
        Flatten::Full => (!inner, inner),
        Flatten::Incremental => {
            let below = at
                .level
                .and_then(|level| Position::within(ctx.stack, level));
            let outer = !has(Versions::NoOuter) && !has(Versions::OnlyInner) && below.is_some();
            (outer || !inner, inner)
        }
    };
    let level = at
        .level
        .ok_or_else(|| PassError::bug("a segop at no level"))?;
    let top = |ctx: &mut Ctx<'_>, s: Screma, pat, out: &mut Vec<Stm<Segs>>| {
        let over = nest.with_map(ctx, s.width, &s.map.params, &s.inputs)?;
        let point = Point {
            body: s.map.body,
            ret: s.map.ret,
            kind: Kind::Folds(s.folds),
        };
        versions::g2(ctx, &over, at, pat, aux.clone(), point, out)
    };
    if !flat {
        return top(ctx, s, pat, out);
    }
    if !outer {
        let body = apart(ctx, &aux, s);
        return distribute(ctx, nest, at, body, pat, &aux, out);
    }
    let mut before = Vec::new();
    let over = nest.with_map(ctx, s.width, &[], &[])?;
    let size = par::of_nest(ctx, &over, &aux, &mut before);
    let tunable = versions::threshold(ctx, Rule::OuterParallelism, level);
    let mut arms = Vec::with_capacity(2);
    let own = ctx.fresh_like(&pat);
    let mut stms = Vec::new();
    let copy = Screma {
        width: s.width,
        inputs: s.inputs.clone(),
        map: ctx.copy_lambda(&s.map),
        folds: ctx.copy_folds(&s.folds),
    };
    top(ctx, copy, own.clone(), &mut stms)?;
    arms.push(versions::Arm {
        guard: Some(versions::Guard {
            before,
            enough: (size, tunable),
            little: None,
        }),
        stms,
        pat: own,
    });
    let own = ctx.fresh_like(&pat);
    let mut stms = Vec::new();
    let body = apart(ctx, &aux, s);
    distribute(ctx, nest, at, body, own.clone(), &aux, &mut stms)?;
    arms.push(versions::Arm {
        guard: None,
        stms,
        pat: own,
    });
    versions::choose(ctx, arms, pat, &aux, out)
}

/// A screma as a map, a fold of what it gives, and a map of what the post lambda does.
pub(super) fn apart(ctx: &mut Ctx<'_>, aux: &Aux, s: Screma) -> Body<Soacs> {
    let Screma {
        width,
        inputs,
        map,
        mut folds,
    } = s;
    let types = map.ret.clone();
    let arrays = rows(ctx, "xs", &types, Some(width));
    let mut stms = vec![screma(
        arrays.clone(),
        aux,
        Screma {
            width,
            inputs,
            map,
            folds: Folds::default(),
        },
    )];
    let post = folds.post.take();
    let identity = identity(ctx, &types);
    let fold = Screma {
        width,
        inputs: arrays.iter().map(|param| param.name).collect(),
        map: identity,
        folds,
    };
    let pat = results(ctx, &fold);
    let mut result: Vec<_> = pat.iter().map(|param| param.name.into()).collect();
    let reduced = fold.folds.n_reduced();
    stms.push(screma(pat.clone(), aux, fold));
    if let Some(post) = post {
        let elements = rows(ctx, "ys", &post.ret, Some(width));
        result.truncate(reduced);
        result.extend(elements.iter().map(|param| Atom::Var(param.name)));
        let map = Screma {
            width,
            inputs: pat.iter().skip(reduced).map(|param| param.name).collect(),
            map: post,
            folds: Folds::default(),
        };
        stms.push(screma(elements, aux, map));
    }
    Body { stms, result }
}

/// A screma that scans and reduces, for machines that do not in one: a map, and a scan and
/// a reduction of what it gives.
fn scan_and_reduce(ctx: &mut Ctx<'_>, aux: &Aux, s: Screma) -> Body<Soacs> {
    let Screma {
        width,
        inputs,
        map,
        folds,
    } = s;
    let types = map.ret.clone();
    let arrays = rows(ctx, "xs", &types, Some(width));
    // What is an element of an input is there already.
    let inputs_of = map.body.result.iter().zip(&arrays).map(|(result, array)| {
        let param = map
            .params
            .iter()
            .position(|param| Atom::Var(param.name) == *result);
        param.map_or(array.name, |at| inputs[at])
    });
    let all: Vec<Name> = inputs_of.collect();
    let given = all.iter().all(|name| inputs.contains(name));
    let groups = folds.values(&all);
    let reduced = groups.reduced.to_vec();
    let scanned = [groups.scanned, groups.mapped].concat();
    let kept: Vec<Type> = {
        let groups = folds.values(&types);
        [groups.scanned, groups.mapped].concat()
    };
    let own: Vec<Type> = folds.values(&types).reduced.to_vec();
    let reduce = Screma {
        width,
        inputs: reduced,
        map: identity(ctx, &own),
        folds: Folds::reduce(folds.reduces),
    };
    let scan = Screma {
        width,
        inputs: scanned,
        map: identity(ctx, &kept),
        folds: Folds {
            scans: folds.scans,
            reduces: Vec::new(),
            post: folds.post,
        },
    };
    let map = Screma {
        width,
        inputs,
        map,
        folds: Folds::default(),
    };
    let (totals, elements) = (results(ctx, &reduce), results(ctx, &scan));
    let result = totals.iter().chain(&elements);
    let result = result.map(|param| param.name.into()).collect();
    let mut stms = vec![screma(totals, aux, reduce), screma(elements, aux, scan)];
    if !given {
        stms.insert(0, screma(arrays, aux, map));
    }
    Body { stms, result }
}

/// A scan whose map updates accumulators with an operator: the map, and a scan over
/// what it maps out.
fn map_before(ctx: &mut Ctx<'_>, aux: &Aux, s: Screma) -> Body<Soacs> {
    let Screma {
        width,
        inputs,
        map,
        folds,
    } = s;
    let types = map.ret.clone();
    let mapped = rows(ctx, "xs", &types, Some(width));
    let (n_scanned, n_reduced) = (folds.n_scanned(), folds.n_reduced());
    // Accumulators are done; the others go on.
    let is_acc = |ty: &Type| matches!(ty, Type::Acc { .. });
    let left: Vec<usize> = (0..types.len())
        .filter(|&i| i < folds.n_folded() || !is_acc(&types[i]))
        .collect();
    let own: Vec<Type> = left.iter().map(|&i| types[i].clone()).collect();
    let identity = identity(ctx, &own);
    let scan = Screma {
        width,
        inputs: left.iter().map(|&i| mapped[i].name).collect(),
        map: identity,
        folds,
    };
    let pat = results(ctx, &scan);
    // Reduced, scanned, mapped: the accumulators are among the last.
    let (folded, mut rest) = pat.split_at(n_reduced + n_scanned);
    let mut result: Vec<Atom> = folded.iter().map(|param| param.name.into()).collect();
    for i in n_scanned + n_reduced..types.len() {
        if is_acc(&types[i]) {
            result.push(mapped[i].name.into());
        } else if let Some((first, more)) = rest.split_first() {
            result.push(first.name.into());
            rest = more;
        }
    }
    let map = Screma {
        width,
        inputs,
        map,
        folds: Folds::default(),
    };
    let stms = vec![screma(mapped, aux, map), screma(pat, aux, scan)];
    Body { stms, result }
}

/// A scan, and its post lambda as a map over what the scan maps out.
fn map_after(ctx: &mut Ctx<'_>, aux: &Aux, scan: Screma, post: Lambda<Soacs>) -> Body<Soacs> {
    let width = scan.width;
    let pat = results(ctx, &scan);
    let (reduced, elements) = scan.folds.results(&pat);
    let last = rows(ctx, "ys", &post.ret, Some(width));
    let map = Screma {
        width,
        inputs: elements.iter().map(|param| param.name).collect(),
        map: post,
        folds: Folds::default(),
    };
    let result = reduced.iter().chain(&last);
    let result = result.map(|param| param.name.into()).collect();
    let stms = vec![screma(pat.clone(), aux, scan), screma(last, aux, map)];
    Body { stms, result }
}

/// A statement of a screma.
pub(super) fn screma(pat: Vec<Param<Soacs>>, aux: &Aux, s: Screma) -> Stm<Soacs> {
    Stm {
        pat,
        aux: aux.clone(),
        exp: Exp::Op(Soac::Screma(s)),
    }
}

/// Names for a screma's results.
pub(super) fn results(ctx: &mut Ctx<'_>, s: &Screma) -> Vec<Param<Soacs>> {
    let width = s.width;
    let reduced: Vec<Type> = s.folds.reduced_types().cloned().collect();
    let elements = s.folds.element_types(&s.map.ret);
    let reduced = rows(ctx, "total", &reduced, None);
    let elements = rows(ctx, "ys", &elements, Some(width));
    reduced.into_iter().chain(elements).collect()
}

/// Names for values of these types, or for arrays of them.
pub(super) fn rows(
    ctx: &mut Ctx<'_>,
    hint: &str,
    types: &[Type],
    width: Option<ir::Dim>,
) -> Vec<Param<Soacs>> {
    let types = types.iter();
    let of = |ty: &Type| match (ty, width) {
        (Type::Acc { .. }, _) | (_, None) => ty.clone(),
        (_, Some(width)) => ty.array_of(width),
    };
    types.map(|ty| ctx.fresh(hint, of(ty))).collect()
}

/// A lambda that gives its parameters back.
pub(super) fn identity(ctx: &mut Ctx<'_>, types: &[Type]) -> Lambda<Soacs> {
    let params = rows(ctx, "x", types, None);
    Lambda {
        body: Body {
            stms: Vec::new(),
            result: params.iter().map(|param| param.name.into()).collect(),
        },
        params,
        ret: types.to_vec(),
    }
}
