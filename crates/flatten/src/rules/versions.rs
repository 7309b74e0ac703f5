//! Rules G1 to G3: a nest as a segop, and the versions of a nest with inner parallelism.
//!
//! ```text
//! G2  Σ ⊢ map (\x -> e) xs   =>  segmap (Σ, x ∈ xs) e          if e has no combinators
//!
//! G3  Σ ⊢ map (\x -> e) xs   =>  if   Par(Σ') >= suff_outer_par    then segmap Σ' e
//!                                elif Par(middle) >= suff_intra_par then middle
//!                                else flat
//!     where Σ' = Σ, x ∈ xs       middle = segmap Σ' e at the level below
//!                                flat   = e flattened in Σ'
//! ```
//!
//! Rule G1 is the same at the lowest level, where there are no versions: nests are flattened as far
//! as possible. On a machine whose tasks contain tasks, the level below is the same one, and there
//! is no flat version: the middle version contains its own middle version. Where the middle version
//! would have too little work, the first is taken.
//!
//! On a device both sizes count threads that have work ([`par`]): one block per iteration pays
//! where the block's segops fill it, and one thread per iteration needs less parallelism where they
//! would not.

use super::distribute::{bind, computes_elements, distribute, pays};
use super::par::Threads;
use super::{array_ops, distribute_irregular, par, parallelism};
use crate::context::{Ctx, atoms};
use crate::manifest::{self, SegopBody};
use crate::nest::Nest;
use crate::position::Position;
use ir::attrs::Versions;
use ir::seg::{SegOp, outermost_segops};
use ir::syntax::{Atom, Attr, Aux, BasicOp, Body, Exp, Param, Stm};
use ir::tunable::{Rule, TunableId};
use ir::types::Type;
use ir::{Flatten, Name, PassError, Segs, Soacs};
use prim::{PrimType, Scalar};
use target::chunks::NEST_WORK;
use target::levels::{BLOCK_THREADS, ENOUGH_SCANS};

/// The position of the body of a segop without inner parallelism.
pub(super) fn inside(at: Position) -> Result<Position, PassError> {
    let level = at.level.ok_or_else(|| PassError::bug("a segop has no level"))?;
    Ok(Position::sequential_in(level))
}

/// Appends the segop of a nest, with a sequential body.
pub(super) fn g2(
    ctx: &mut Ctx<'_>,
    nest: &Nest<'_>,
    at: Position,
    pat: Vec<Param<Soacs>>,
    aux: Aux,
    segop_body: SegopBody,
    out: &mut Vec<Stm<Segs>>,
) -> Result<(), PassError> {
    let inside = inside(at)?;
    manifest::segop(ctx, nest, inside, segop_body, pat, aux, out)
}

/// The versions to be made.
#[derive(Clone, Copy)]
struct VersionSet {
    outer: bool,
    middle: bool,
    flat: bool,
}

impl VersionSet {
    const OUTER: Self = Self { outer: true, middle: false, flat: false };
    const FLAT: Self = Self { outer: false, middle: false, flat: true };
}

fn wanted(ctx: &mut Ctx<'_>, nest: &Nest<'_>, at: Position, aux: &Aux, body: &Body<Soacs>) -> VersionSet {
    if aux.attrs.has(&Attr::SequentialInner) {
        return VersionSet::OUTER;
    }
    if !parallelism::has_parallelism(body) {
        // Arrays that cannot be allocated inside a segop, and views, which need no segop.
        let goes = distribute_irregular::is_allowed_at(ctx, at);
        let flat = goes
            && (pays(ctx, nest, body, goes)
                || array_ops::returns_views(nest, body)
                || computes_elements(ctx, nest, body));
        return if flat { VersionSet::FLAT } else { VersionSet::OUTER };
    }
    let below = at.level.and_then(|level| Position::inside(ctx.stack, level));
    if ctx.mode == Flatten::Incremental && below.is_some() && !may_choose(ctx) {
        let known =
            level_nests(ctx, at) && nest.iterations().is_some_and(|n| n >= default_threshold(ctx, at));
        if !known {
            note_limit(ctx, aux);
        }
        return if !level_nests(ctx, at) && pays(ctx, nest, body, distribute_irregular::is_allowed_at(ctx, at))
        {
            VersionSet::FLAT
        } else {
            VersionSet::OUTER
        };
    }
    match ctx.mode {
        Flatten::None => VersionSet::OUTER,
        Flatten::Moderate if parallelism::only_redomaps(body) => VersionSet::OUTER,
        Flatten::Incremental if level_nests(ctx, at) => {
            // Tasks in tasks have the parallelism of further flattening, and no arrays between
            // them. If the constant number of iterations is large enough, there is nothing to
            // choose.
            let known = nest.iterations();
            let known = known.is_some_and(|n| n >= default_threshold(ctx, at));
            VersionSet { middle: !known, ..VersionSet::OUTER }
        }
        Flatten::Incremental if below.is_some() => {
            let flat = pays(ctx, nest, body, distribute_irregular::is_allowed_at(ctx, at));
            let has = |versions| aux.attrs.has(&Attr::Flattening(versions));
            let (all, no_flat) = (!has(Versions::OnlyInner), has(Versions::OnlyIntra));
            let outer = all && !no_flat && !has(Versions::NoOuter);
            let middle = all && !has(Versions::NoIntra);
            let flat = flat && !no_flat;
            VersionSet { outer: outer || !(middle || flat), middle, flat }
        }
        Flatten::Moderate | Flatten::Full | Flatten::Incremental => {
            if pays(ctx, nest, body, distribute_irregular::is_allowed_at(ctx, at)) {
                VersionSet::FLAT
            } else {
                VersionSet::OUTER
            }
        }
    }
}

/// Returns true if another choice between versions may be nested in those around.
pub(super) fn may_choose(ctx: &Ctx<'_>) -> bool {
    ctx.choice_depth < ctx.stack.max_nested_choices()
}

/// Runs `make` inside one more choice between versions.
pub(super) fn inside_choice<T>(
    ctx: &mut Ctx<'_>,
    make: impl FnOnce(&mut Ctx<'_>) -> Result<T, PassError>,
) -> Result<T, PassError> {
    ctx.choice_depth += 1;
    let made = make(ctx);
    ctx.choice_depth -= 1;
    made
}

/// Records that a nest has no versions, as the limit of nested choices is reached.
pub(super) fn note_limit(ctx: &mut Ctx<'_>, aux: &Aux) {
    let most = ctx.stack.max_nested_choices();
    ctx.add_remark(aux, |_| ir::remark::RemarkKind::ChoicesTooDeep { most });
}

/// Returns true if segops at the position's level may contain segops of that level.
pub(super) fn level_nests(ctx: &Ctx<'_>, at: Position) -> bool {
    at.level.is_some_and(|level| ctx.stack.for_maps(level) == Some(level))
}

/// A version and its guard.
pub(super) struct VersionWithGuard {
    /// `None` for the version that is taken if no other is.
    pub(super) guard: Option<Guard>,
    pub(super) body: Body<Segs>,
}

/// The default number of iterations that suffices at a position.
fn default_threshold(ctx: &Ctx<'_>, at: Position) -> i64 {
    let level = at.level.and_then(|level| ctx.stack.level(level));
    level.map_or(1, |level| level.threshold)
}

/// The condition for taking a version.
pub(super) struct Guard {
    /// The statements that compute the sizes.
    pub(super) before: Vec<Stm<Segs>>,
    /// `Par` and the parameter that it has to reach.
    pub(super) enough: (Atom, TunableId),
    /// The version is also taken if this size is below its parameter: then the next version has too
    /// little work.
    pub(super) little: Option<(Atom, TunableId)>,
}

/// Appends the versions of a nest over a body with results of these types.
pub(super) fn g3(
    ctx: &mut Ctx<'_>,
    nest: &Nest<'_>,
    at: Position,
    pat: Vec<Param<Soacs>>,
    aux: Aux,
    (body, ret): (Body<Soacs>, Vec<Type>),
    out: &mut Vec<Stm<Segs>>,
) -> Result<(), PassError> {
    let chosen = wanted(ctx, nest, at, &aux, &body);
    let level = at.level.ok_or_else(|| PassError::bug("a segop has no level"))?;
    let mut candidates: Vec<VersionWithGuard> = Vec::new();
    if chosen.outer {
        let guard = (chosen.middle || chosen.flat).then(|| {
            let mut before = Vec::new();
            let size = par::of_nest(ctx, nest, &aux, &mut before);
            Guard { before, enough: (size, threshold(ctx, Rule::OuterParallelism, level)), little: None }
        });
        let segop_body = SegopBody::map(body.clone(), ret.clone());
        let body =
            ctx.body_of(&pat, |ctx, own, stms| g2(ctx, nest, at, own, aux.clone(), segop_body, stms))?;
        candidates.push(VersionWithGuard { guard, body });
    }
    if let Some(below) = Position::inside(ctx.stack, level).filter(|_| chosen.middle) {
        let made = inside_choice(ctx, |ctx| intra_version(ctx, nest, below, &pat, &aux, (&body, &ret)))?;
        if let Some((mut candidate, threads)) = made {
            let outer = candidates.last_mut().and_then(|outer| outer.guard.as_mut());
            if let (Some(outer), Some(inner), Some(threads)) = (outer, &mut candidate.guard, threads) {
                outer.before.append(&mut inner.before);
                let sizes = (outer.enough.0, threads);
                outer.enough.0 = par::weighted_by_blocks(ctx, sizes, &aux, &mut outer.before);
            }
            candidates.push(candidate);
        }
        if level_nests(ctx, at) {
            set_default_threshold(ctx, &candidates, level);
        }
        if !chosen.flat {
            drop_last_guard(&mut candidates);
        }
    }
    if candidates.is_empty() && !chosen.flat {
        // None of the requested versions exists.
        let segop_body = SegopBody::map(body, ret);
        return g2(ctx, nest, at, pat, aux, segop_body, out);
    }
    if chosen.flat {
        let body = inherit_attributes(ctx, &aux, body);
        let flat = |ctx: &mut Ctx<'_>| {
            ctx.body_of(&pat, |ctx, own, stms| distribute(ctx, nest, at, body, own, &aux, stms))
        };
        let body = if candidates.is_empty() { flat(ctx)? } else { inside_choice(ctx, flat)? };
        candidates.push(VersionWithGuard { guard: None, body });
    }
    choose(ctx, candidates, pat, &aux, out)
}

/// Sets the default number of iterations that suffices for tasks alone, now that the versions with
/// inner tasks are known.
fn set_default_threshold(ctx: &mut Ctx<'_>, candidates: &[VersionWithGuard], level: u8) {
    let [outer, inner @ ..] = candidates else { return };
    if inner.iter().any(|candidate| par::scans(&candidate.body, level))
        && let Some(guard) = &outer.guard
        && let Some(tunable) = ctx.tunables.get_mut(guard.enough.1)
    {
        tunable.default = ENOUGH_SCANS;
    }
}

/// Copies the attributes that select versions from the nest to the statements of its body that have
/// none of their own. On machines whose tasks contain tasks these attributes do not apply.
fn inherit_attributes(ctx: &Ctx<'_>, aux: &Aux, mut body: Body<Soacs>) -> Body<Soacs> {
    let versions = |attr: &&Attr| matches!(attr, Attr::Flattening(_));
    if !ctx.stack.nests() {
        for stm in &mut body.stms {
            if !stm.aux.attrs.iter().any(|attr| versions(&attr)) {
                for attr in aux.attrs.iter().filter(versions) {
                    stm.aux.attrs.add(attr.clone());
                }
            }
        }
    }
    body
}

/// With two versions left, the first is also taken where the guard of the second fails.
fn drop_last_guard(candidates: &mut [VersionWithGuard]) {
    let [first, second] = candidates else {
        if let [only] = candidates {
            only.guard = None;
        }
        return;
    };
    if let (Some(first), Some(second)) = (&mut first.guard, second.guard.take()) {
        first.before.extend(second.before);
        first.little = Some(second.enough);
    }
}

/// The version whose inner parallelism is at the level below, if there is one, and the threads of
/// its blocks.
fn intra_version(
    ctx: &mut Ctx<'_>,
    nest: &Nest<'_>,
    below: Position,
    pat: &[Param<Soacs>],
    aux: &Aux,
    (body, ret): (&Body<Soacs>, &[Type]),
) -> Result<Option<(VersionWithGuard, Option<Threads>)>, PassError> {
    let (Some(_), Some(inner)) = (below.enclosing, below.level) else {
        return Ok(None);
    };
    let segop_body = SegopBody::map(body.clone(), ret.to_vec());
    let body = ctx.body_of(pat, |ctx, own, stms| {
        let around = ctx.outer_parallelism;
        if level_nests(ctx, below) {
            ctx.outer_parallelism = Some(par::of_nest(ctx, nest, aux, stms));
        }
        manifest::segop(ctx, nest, below, segop_body, own, aux.clone(), stms)?;
        ctx.outer_parallelism = around;
        Ok(())
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
    let mut before = Vec::new();
    let size = par::of_body(ctx, (nest, seg, inner), aux, &mut before);
    let threads = size.as_ref().and_then(|size| size.threads);
    let guard = size.map(|size| {
        let tunable = if level_nests(ctx, below) {
            // A number of iterations that takes long enough to be worth tasks.
            let cost = par::cost(seg, inner).max(1);
            ctx.threshold(Rule::InnerParallelism, (NEST_WORK / cost).max(1))
        } else {
            match threads {
                Some(_) => ctx.threshold(Rule::InnerParallelism, BLOCK_THREADS),
                None => threshold(ctx, Rule::InnerParallelism, inner),
            }
        };
        Guard { before, enough: (size.all, tunable), little: None }
    });
    Ok(Some((VersionWithGuard { guard, body }, threads)))
}

impl Guard {
    /// The statements that compute the condition, and its name.
    fn condition(self, ctx: &mut Ctx<'_>, aux: &Aux) -> (Vec<Stm<Segs>>, Name) {
        let mut builder = ctx.builder(aux);
        builder.extend(self.before);
        let (size, tunable) = self.enough;
        let enough = builder.let_basic("enough", BasicOp::SizeAtLeast { size, tunable });
        let Some((size, tunable)) = self.little else {
            return (builder.take_stms(), enough);
        };
        let much = builder.let_basic("much", BasicOp::SizeAtLeast { size, tunable });
        let either = BasicOp::select(PrimType::Bool, much, enough, Atom::Const(Scalar::Bool(true)));
        let either = builder.let_basic("outer", either);
        (builder.take_stms(), either)
    }
}

/// Appends the choice between versions: the first whose guard holds, or the last.
pub(super) fn choose(
    ctx: &mut Ctx<'_>,
    mut candidates: Vec<VersionWithGuard>,
    pat: Vec<Param<Soacs>>,
    aux: &Aux,
    out: &mut Vec<Stm<Segs>>,
) -> Result<(), PassError> {
    let Some(last) = candidates.pop() else {
        return Err(PassError::bug("a nest has no versions"));
    };
    let mut candidates = candidates.into_iter();
    let Some(first) = candidates.next() else {
        let Body { stms, result } = last.body;
        out.extend(stms);
        for (param, result) in pat.into_iter().zip(result) {
            bind(ctx, param, BasicOp::Atom(result), aux, out);
        }
        return Ok(());
    };
    let mut rest = last.body;
    for candidate in candidates.rev() {
        let own = ctx.fresh_like(&pat);
        let result = atoms(&own);
        let mut stms = Vec::new();
        choice(ctx, own, aux, (candidate, rest), &mut stms)?;
        rest = Body { stms, result };
    }
    let pat = ctx.params(pat);
    choice(ctx, pat, aux, (first, rest), out)
}

/// Appends the choice between a version and the rest.
fn choice(
    ctx: &mut Ctx<'_>,
    pat: Vec<Param<Segs>>,
    aux: &Aux,
    (candidate, else_body): (VersionWithGuard, Body<Segs>),
    out: &mut Vec<Stm<Segs>>,
) -> Result<(), PassError> {
    let Some(guard) = candidate.guard else {
        return Err(PassError::bug("a version other than the last has no guard"));
    };
    let (stms, name) = guard.condition(ctx, aux);
    out.extend(stms);
    let exp = Exp::If { cond: name.into(), then_body: candidate.body, else_body };
    let aux = Aux::at(aux.prov);
    out.push(Stm { pat, aux, exp });
    Ok(())
}

/// A new parameter of a rule for a version at a level.
pub(super) fn threshold(ctx: &mut Ctx<'_>, rule: Rule, level: u8) -> TunableId {
    let default = ctx.stack.level(level).map_or(1, |level| level.threshold);
    ctx.threshold(rule, default)
}
