//! The rules of a map, in the order in which they are tried.
//!
//! ```text
//! G2  Σ ⊢ map (\x -> e) xs   =>  segmap (Σ, x ∈ xs) e          if e has no combinators
//!
//! G3  Σ ⊢ map (\x -> e) xs   =>  if   Par(Σ') >= suff_outer_par    then outer
//!                                elif Par(middle) >= suff_intra_par then middle
//!                                else flat
//!     where Σ' = Σ, x ∈ xs       outer  = segmap Σ' e
//!                                middle = segmap Σ' e at the level below
//!                                flat   = e flattened in Σ'
//!
//!     flatmap f xs           =>  segflatmap (x ∈ xs) f x
//! ```
//!
//! Rule G1 is G2 at the lowest level, where there are no versions: nests are flattened as far as
//! possible. On a machine whose tasks contain tasks, the level below is the same one, and there is
//! no flat version: the middle version contains its own middle version. Where the middle version
//! would have too little work, the outer one is taken.
//!
//! On a device both sizes count threads that have work ([`par`]): one block per iteration pays
//! where the block's segops fill it, and one thread per iteration needs less parallelism where they
//! would not.

use super::distribute::{distribute, pays};
use super::par::Threads;
use super::parallelism::NestBindings;
use super::versions::{Candidate, Guard, choose, may_choose, note_limit, threshold};
use super::{array_ops, par, parallelism};
use crate::context::{Ctx, Let};
use crate::manifest::{self, SegopBody, SegopKind};
use crate::reuse;
use crate::scope::{Position, Scope};
use crate::{Mapped, Result};
use ir::attrs::Versions;
use ir::seg::{SegOp, outermost_segops};
use ir::soac::Screma;
use ir::syntax::{Attr, Aux, Body};
use ir::tunable::Rule;
use ir::{Flatten, Soacs};
use target::chunks::NEST_WORK;
use target::levels::{BLOCK_THREADS, ENOUGH_SCANS, LevelId};

/// Appends the statements that replace a map.
pub(super) fn map(ctx: &mut Ctx<'_>, scope: Scope<'_>, to: Let, s: Screma) -> Result {
    let nest = scope.nest.with_map(&mut ctx.names, s.width, &s.map.params, &s.inputs)?;
    over_body(ctx, scope.over(&nest), to, SegopBody::map(s.map.body, s.map.ret))
}

/// Appends the statements that replace a nest over a body, by the first rule that applies.
pub(super) fn over_body(ctx: &mut Ctx<'_>, scope: Scope<'_>, to: Let, body: SegopBody) -> Result {
    let body = match versions(ctx, scope, &to.aux, &body.body) {
        VersionSet::OUTER => ctx.body_of(&to, |ctx, to| g2(ctx, scope, to, body))?,
        VersionSet::FLAT => ctx.body_of(&to, |ctx, to| flat(ctx, scope, to, body.body))?,
        several => return g3(ctx, scope, to, body, several),
    };
    choose(ctx, vec![Candidate { guard: None, body }], to)
}

/// The versions to be made of a nest over a body.
#[derive(Clone, Copy, PartialEq, Eq)]
struct VersionSet {
    outer: bool,
    middle: bool,
    flat: bool,
}

impl VersionSet {
    /// Rule G2 alone.
    const OUTER: Self = Self { outer: true, middle: false, flat: false };
    /// The nest is distributed (G6) alone.
    const FLAT: Self = Self { outer: false, middle: false, flat: true };

    /// One version: flat, or outer.
    fn one(flat: bool) -> Self {
        if flat { Self::FLAT } else { Self::OUTER }
    }
}

/// The versions that the body, attributes and mode call for.
fn versions(ctx: &mut Ctx<'_>, scope: Scope<'_>, aux: &Aux, body: &Body<Soacs>) -> VersionSet {
    if aux.attrs.has(&Attr::SequentialInner) {
        return VersionSet::OUTER;
    }
    if !parallelism::has_parallelism(body) {
        // Arrays that cannot be allocated inside a segop, and views, which need no segop.
        let bound = NestBindings::of(ctx, scope, &|_| false);
        let needs_none = || bound.exploits(body) || array_ops::returns_views(scope.nest, body);
        let flat = bound.irregular && (needs_none() || array_ops::returns_elements(bound, body));
        return VersionSet::one(flat);
    }
    let below = scope.at.level.and_then(|level| Position::inside(ctx.stack, level));
    let nests = scope.level_nests(ctx.stack);
    // If the constant number of iterations is large enough, there is nothing to choose.
    let enough = || {
        let iterations = scope.nest.iterations();
        nests && iterations.is_some_and(|n| n >= scope.at.level.map_or(1, |level| level.threshold))
    };
    match ctx.mode {
        Flatten::Incremental if below.is_some() && !may_choose(ctx, scope) => {
            if !enough() {
                note_limit(ctx, aux.prov);
            }
            VersionSet::one(!nests && pays(ctx, scope, body))
        }
        Flatten::None => VersionSet::OUTER,
        Flatten::Moderate if parallelism::only_redomaps(body) => VersionSet::OUTER,
        // Tasks in tasks have the parallelism of further flattening, and no arrays between them.
        Flatten::Incremental if nests => VersionSet { middle: !enough(), ..VersionSet::OUTER },
        Flatten::Incremental if below.is_some() => {
            let has = |versions| aux.attrs.has(&Attr::Flattening(versions));
            let (all, no_flat) = (!has(Versions::OnlyInner), has(Versions::OnlyIntra));
            let middle = all && !has(Versions::NoIntra);
            let flat = !no_flat && pays(ctx, scope, body);
            let outer = all && !no_flat && !has(Versions::NoOuter);
            VersionSet { outer: outer || !(middle || flat), middle, flat }
        }
        Flatten::Moderate | Flatten::Full | Flatten::Incremental => VersionSet::one(pays(ctx, scope, body)),
    }
}

/// Rules G1 and G2: the nest is a segop with a sequential body.
pub(super) fn g2(ctx: &mut Ctx<'_>, scope: Scope<'_>, to: Let, segop_body: SegopBody) -> Result {
    manifest::segop(ctx, scope.in_segop()?, to, segop_body)
}

/// Rule G3: the first version whose guard holds.
fn g3(ctx: &mut Ctx<'_>, scope: Scope<'_>, to: Let, segop_body: SegopBody, versions: VersionSet) -> Result {
    let mut candidates: Vec<Candidate> = Vec::new();
    if versions.outer {
        candidates.push(outer(ctx, scope, &to, segop_body.clone())?);
    }
    if versions.middle {
        if let Some((mut candidate, threads)) = middle(ctx, scope.in_choice(), &to, segop_body.clone())? {
            let outer = candidates.last_mut().and_then(|outer| outer.guard.as_mut());
            if let (Some(outer), Some(inner), Some(threads)) = (outer, &mut candidate.guard, threads) {
                let sizes = (outer.enough.0, threads);
                let (size, more) = ctx.collect(|ctx| par::weighted(ctx, sizes, to.aux.prov));
                outer.before.extend(inner.before.drain(..).chain(more));
                outer.enough.0 = size;
            }
            candidates.push(candidate);
        }
        if scope.level_nests(ctx.stack) {
            set_default_threshold(ctx, &candidates, scope.level()?);
        }
        if !versions.flat {
            drop_last_guard(&mut candidates);
        }
    }
    if versions.flat {
        let in_choice = if candidates.is_empty() { scope } else { scope.in_choice() };
        let body = ctx.body_of(&to, |ctx, to| flat(ctx, in_choice, to, segop_body.body))?;
        candidates.push(Candidate { guard: None, body });
    } else if candidates.is_empty() {
        // None of the requested versions exists.
        return g2(ctx, scope, to, segop_body);
    }
    choose(ctx, candidates, to)
}

/// The version with the nest's parallelism only, and with that of columns that its tasks may divide.
fn outer(ctx: &mut Ctx<'_>, scope: Scope<'_>, to: &Let, segop_body: SegopBody) -> Result<Candidate> {
    let divides = scope.level_nests(ctx.stack);
    let columns = divides.then(|| reuse::columns(scope.nest, &segop_body.body)).flatten();
    let (size, before) = ctx.collect(|ctx| par::of_blocks(ctx, scope, columns));
    let enough = (size, threshold(ctx, Rule::OuterParallelism, scope.level()?));
    let body = ctx.body_of(to, |ctx, to| g2(ctx, scope, to, segop_body))?;
    Ok(Candidate { guard: Some(Guard { before, enough, little: None }), body })
}

/// The version with inner parallelism at the level below, if any, and the threads of its blocks.
fn middle(
    ctx: &mut Ctx<'_>,
    scope: Scope<'_>,
    to: &Let,
    segop_body: SegopBody,
) -> Result<Option<(Candidate, Option<Threads>)>> {
    let Some(below) = Position::inside(ctx.stack, scope.level()?) else {
        return Ok(None);
    };
    let scope = scope.at(below);
    let (inner, nests) = (scope.level()?, scope.level_nests(ctx.stack));
    let body = ctx.body_of(to, |ctx, to| {
        let mut scope = scope;
        if nests {
            scope.outer_parallelism = Some(par::of_nest(ctx, scope));
        }
        manifest::segop(ctx, scope, to, segop_body)
    })?;
    let Some(SegOp::Seg(seg)) = outermost_segops(&body).first() else {
        return Ok(None);
    };
    let seg = &seg.body;
    // Where no level is below that, the segops that share the level need the same sizes in all
    // iterations.
    let last = ctx.stack.for_maps(inner).is_none();
    if !par::has(seg, inner) || last && par::is_irregular(seg, inner) {
        return Ok(None);
    }
    let (size, before) = ctx.collect(|ctx| par::of_body(ctx, scope, seg, inner));
    let threads = size.as_ref().and_then(|size| size.threads);
    let guard = size.map(|size| {
        let tunable = if nests {
            // A number of iterations that takes long enough to be worth tasks.
            let cost = par::cost(seg, inner).max(1);
            ctx.guards.threshold(Rule::InnerParallelism, (NEST_WORK / cost).max(1))
        } else {
            match threads {
                Some(_) => ctx.guards.threshold(Rule::InnerParallelism, BLOCK_THREADS),
                None => threshold(ctx, Rule::InnerParallelism, inner),
            }
        };
        Guard { before, enough: (size.all, tunable), little: None }
    });
    Ok(Some((Candidate { guard, body }, threads)))
}

/// The version whose inner parallelism is flattened further: the nest is distributed (rule G6).
/// Statements of the body inherit the attributes that select versions, except on machines whose
/// tasks contain tasks, where these do not apply.
fn flat(ctx: &mut Ctx<'_>, scope: Scope<'_>, to: Let, mut body: Body<Soacs>) -> Result {
    let is_selection = |attr: &&Attr| matches!(attr, Attr::Flattening(_));
    if !ctx.stack.nests() {
        for stm in &mut body.stms {
            if !stm.aux.attrs.iter().any(|attr| is_selection(&attr)) {
                for attr in to.aux.attrs.iter().filter(is_selection) {
                    stm.aux.attrs.add(attr.clone());
                }
            }
        }
    }
    distribute(ctx, scope, body, to)
}

/// Sets the default threshold of tasks alone, once the versions with inner tasks are known.
fn set_default_threshold(ctx: &mut Ctx<'_>, candidates: &[Candidate], level: LevelId) {
    if let [outer, inner @ ..] = candidates
        && inner.iter().any(|candidate| par::scans(&candidate.body, level))
        && let Some(guard) = &outer.guard
        && let Some(tunable) = ctx.guards.tunables.get_mut(guard.enough.1)
    {
        tunable.default = ENOUGH_SCANS;
    }
}

/// With two versions left, the first is also taken where the guard of the second fails.
fn drop_last_guard(candidates: &mut [Candidate]) {
    match candidates {
        [only] => only.guard = None,
        [first, second] => {
            if let (Some(first), Some(second)) = (&mut first.guard, second.guard.take()) {
                first.before.extend(second.before);
                first.little = Some(second.enough);
            }
        }
        _ => {}
    }
}

/// Appends the segop of a flat map, whose iterations return arrays of varying sizes. Where a level
/// may contain itself, iterations are tasks in tasks: it is not known before which of them have
/// much work, and recursive functions contain further flat maps.
pub(super) fn flat_map(
    ctx: &mut Ctx<'_>,
    scope: Scope<'_>,
    to: Let,
    (width, inputs, lambda): Mapped<'_>,
) -> Result {
    let plain = to.aux.attrs.has(&Attr::SequentialInner) || !scope.level_nests(ctx.stack);
    let below = scope.at.level.filter(|_| !plain).and_then(|level| Position::inside(ctx.stack, level));
    let inside = below.map_or_else(|| scope.in_segop(), |below| Ok(scope.at(below)))?;
    let nest = scope.nest.with_map(&mut ctx.names, width, &lambda.params, inputs)?;
    manifest::segop(ctx, inside.over(&nest), to, SegopBody::of(lambda, SegopKind::FlatMap))
}
