//! Rules G1 to G3: a nest as a segop, and the versions of a nest with parallelism in it.
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
//! Rule G1 is the same at the lowest level, where there are no versions: nests are
//! flattened as far as that goes. On a machine whose tasks contain tasks, the level
//! below is the same one, and there is no flat version: that is the middle of the
//! middle. Where the middle one would have too little to do, the first is taken.
//!
//! On a device both sizes are threads that have something to do ([`par`]): a block a point
//! pays where its segops fill it, and less parallelism is enough for a thread a point where
//! they would not.

use super::distribute::{bind, distribute, exploits, gives_elements};
use super::par::Threads;
use super::{book, irregular, par, regular};
use crate::context::{Ctx, atoms};
use crate::manifest::{self, Point};
use crate::nest::Nest;
use crate::position::Position;
use ir::attrs::Versions;
use ir::seg::{SegOp, outermost};
use ir::syntax::{Atom, Attr, Aux, BasicOp, Body, Exp, Param, Stm};
use ir::tunable::{Rule, TunableId};
use ir::types::Type;
use ir::{Flatten, Name, PassError, Segs, Soacs};
use prim::{PrimType, Scalar};
use target::levels::{BLOCK_THREADS, ENOUGH_SCANS};
use target::tasks::NEST_WORK;

/// Where the point of a segop runs that has nothing parallel in it.
pub(super) fn inside(at: Position) -> Result<Position, PassError> {
    let level = at.level.ok_or_else(|| PassError::bug("a segop at no level"))?;
    Ok(Position::alone(level))
}

/// Appends the segop of a nest, all in it in order.
pub(super) fn g2(
    ctx: &mut Ctx<'_>,
    nest: &Nest<'_>,
    at: Position,
    pat: Vec<Param<Soacs>>,
    aux: Aux,
    point: Point,
    out: &mut Vec<Stm<Segs>>,
) -> Result<(), PassError> {
    let inside = inside(at)?;
    manifest::segop(ctx, nest, inside, point, pat, aux, out)
}

/// Which versions are to be made.
#[derive(Clone, Copy)]
struct Wanted {
    outer: bool,
    middle: bool,
    flat: bool,
}

impl Wanted {
    const OUTER: Self = Self { outer: true, middle: false, flat: false };
    const FLAT: Self = Self { outer: false, middle: false, flat: true };
}

fn wanted(ctx: &mut Ctx<'_>, nest: &Nest<'_>, at: Position, aux: &Aux, body: &Body<Soacs>) -> Wanted {
    if aux.attrs.has(&Attr::SequentialInner) {
        return Wanted::OUTER;
    }
    if !regular::has_parallelism(body) {
        // What there is no room for inside, and what needs no segop.
        let goes = irregular::goes(ctx, at);
        let flat = goes
            && (exploits(ctx, nest, body, goes)
                || book::gives_views(nest, body)
                || gives_elements(ctx, nest, body));
        return if flat { Wanted::FLAT } else { Wanted::OUTER };
    }
    let below = at.level.and_then(|level| Position::within(ctx.stack, level));
    if ctx.mode == Flatten::Incremental && below.is_some() && !may_choose(ctx) {
        let known = nests(ctx, at) && nest.points().is_some_and(|n| n >= enough(ctx, at));
        if !known {
            note_limit(ctx, aux);
        }
        return if !nests(ctx, at) && exploits(ctx, nest, body, irregular::goes(ctx, at)) {
            Wanted::FLAT
        } else {
            Wanted::OUTER
        };
    }
    match ctx.mode {
        Flatten::None => Wanted::OUTER,
        Flatten::Moderate if regular::only_redomaps(body) => Wanted::OUTER,
        Flatten::Incremental if nests(ctx, at) => {
            // Tasks in tasks have the parallelism of flattening further, and no arrays
            // between. Where it is known that the points are enough, there is nothing to
            // choose.
            let known = nest.points();
            let known = known.is_some_and(|points| points >= enough(ctx, at));
            Wanted { middle: !known, ..Wanted::OUTER }
        }
        Flatten::Incremental if below.is_some() => {
            let flat = exploits(ctx, nest, body, irregular::goes(ctx, at));
            let has = |versions| aux.attrs.has(&Attr::Flattening(versions));
            let (all, no_flat) = (!has(Versions::OnlyInner), has(Versions::OnlyIntra));
            let outer = all && !no_flat && !has(Versions::NoOuter);
            let middle = all && !has(Versions::NoIntra);
            let flat = flat && !no_flat;
            Wanted { outer: outer || !(middle || flat), middle, flat }
        }
        Flatten::Moderate | Flatten::Full | Flatten::Incremental => {
            if exploits(ctx, nest, body, irregular::goes(ctx, at)) { Wanted::FLAT } else { Wanted::OUTER }
        }
    }
}

/// Whether there may be one more choice between versions inside of those around.
pub(super) fn may_choose(ctx: &Ctx<'_>) -> bool {
    ctx.choices < ctx.stack.most_choices()
}

/// Makes what there is a choice around.
pub(super) fn inside_choice<T>(
    ctx: &mut Ctx<'_>,
    make: impl FnOnce(&mut Ctx<'_>) -> Result<T, PassError>,
) -> Result<T, PassError> {
    ctx.choices += 1;
    let made = make(ctx);
    ctx.choices -= 1;
    made
}

/// Notes that there are no versions of a nest, as there are enough of those around.
pub(super) fn note_limit(ctx: &mut Ctx<'_>, aux: &Aux) {
    let most = ctx.stack.most_choices();
    ctx.note_decision(aux, |_| ir::decision::Kind::NoVersions { most });
}

/// Whether what stands at a position may contain its own level.
pub(super) fn nests(ctx: &Ctx<'_>, at: Position) -> bool {
    at.level.is_some_and(|level| ctx.stack.for_maps(level) == Some(level))
}

/// A version, and what it takes to be taken.
pub(super) struct Arm {
    /// None for a version that always goes.
    pub(super) guard: Option<Guard>,
    pub(super) body: Body<Segs>,
}

/// How many points are enough at a position by default.
fn enough(ctx: &Ctx<'_>, at: Position) -> i64 {
    let level = at.level.and_then(|level| ctx.stack.level(level));
    level.map_or(1, |level| level.enough)
}

/// When a version is taken.
pub(super) struct Guard {
    /// What computes the sizes.
    pub(super) before: Vec<Stm<Segs>>,
    /// From here on: `Par`, and the parameter.
    pub(super) enough: (Atom, TunableId),
    /// Below here, too, as what comes next has too little to do.
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
    let want = wanted(ctx, nest, at, &aux, &body);
    let level = at.level.ok_or_else(|| PassError::bug("a segop at no level"))?;
    let mut arms: Vec<Arm> = Vec::new();
    if want.outer {
        let guard = (want.middle || want.flat).then(|| {
            let mut before = Vec::new();
            let size = par::of_nest(ctx, nest, &aux, &mut before);
            Guard { before, enough: (size, threshold(ctx, Rule::OuterParallelism, level)), little: None }
        });
        let point = Point::map(body.clone(), ret.clone());
        let body = ctx.made(&pat, |ctx, own, stms| g2(ctx, nest, at, own, aux.clone(), point, stms))?;
        arms.push(Arm { guard, body });
    }
    if let Some(below) = Position::within(ctx.stack, level).filter(|_| want.middle) {
        let made = inside_choice(ctx, |ctx| middle(ctx, nest, below, &pat, &aux, (&body, &ret)))?;
        if let Some((mut arm, threads)) = made {
            let outer = arms.last_mut().and_then(|outer| outer.guard.as_mut());
            if let (Some(outer), Some(inner), Some(threads)) = (outer, &mut arm.guard, threads) {
                outer.before.append(&mut inner.before);
                let sizes = (outer.enough.0, threads);
                outer.enough.0 = par::beside_blocks(ctx, sizes, &aux, &mut outer.before);
            }
            arms.push(arm);
        }
        if nests(ctx, at) {
            set_enough(ctx, &arms, level);
        }
        if !want.flat {
            last_two(&mut arms);
        }
    }
    if arms.is_empty() && !want.flat {
        // What was asked for there is not.
        let point = Point::map(body, ret);
        return g2(ctx, nest, at, pat, aux, point, out);
    }
    if want.flat {
        let body = inherited(ctx, &aux, body);
        let flat = |ctx: &mut Ctx<'_>| {
            ctx.made(&pat, |ctx, own, stms| distribute(ctx, nest, at, body, own, &aux, stms))
        };
        let body = if arms.is_empty() { flat(ctx)? } else { inside_choice(ctx, flat)? };
        arms.push(Arm { guard: None, body });
    }
    choose(ctx, arms, pat, &aux, out)
}

/// How many points are enough by default for tasks alone, now that it is known what the
/// versions with tasks inside are.
fn set_enough(ctx: &mut Ctx<'_>, arms: &[Arm], level: u8) {
    let [outer, inner @ ..] = arms else { return };
    if inner.iter().any(|arm| par::scans(&arm.body, level))
        && let Some(guard) = &outer.guard
        && let Some(tunable) = ctx.tunables.get_mut(guard.enough.1)
    {
        tunable.default = ENOUGH_SCANS;
    }
}

/// A body whose statements have the attributes that say which versions the nest has,
/// unless they have some of their own; on machines of which these attributes speak.
fn inherited(ctx: &Ctx<'_>, aux: &Aux, mut body: Body<Soacs>) -> Body<Soacs> {
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

/// Of two versions the first is taken also where the second one's guard says no.
fn last_two(arms: &mut [Arm]) {
    let [first, second] = arms else {
        if let [only] = arms {
            only.guard = None;
        }
        return;
    };
    if let (Some(first), Some(second)) = (&mut first.guard, second.guard.take()) {
        first.before.extend(second.before);
        first.little = Some(second.enough);
    }
}

/// The version whose inner parallelism goes to the level below, if there is one, and what is
/// known of the threads of its blocks.
fn middle(
    ctx: &mut Ctx<'_>,
    nest: &Nest<'_>,
    below: Position,
    pat: &[Param<Soacs>],
    aux: &Aux,
    (body, ret): (&Body<Soacs>, &[Type]),
) -> Result<Option<(Arm, Option<Threads>)>, PassError> {
    let (Some(_), Some(inner)) = (below.around, below.level) else {
        return Ok(None);
    };
    let point = Point::map(body.clone(), ret.to_vec());
    let body = ctx.made(pat, |ctx, own, stms| {
        let around = ctx.beside;
        if nests(ctx, below) {
            ctx.beside = Some(par::of_nest(ctx, nest, aux, stms));
        }
        manifest::segop(ctx, nest, below, point, own, aux.clone(), stms)?;
        ctx.beside = around;
        Ok(())
    })?;
    let Some(SegOp::Seg(seg)) = outermost(&body).first() else {
        return Ok(None);
    };
    let seg = &seg.body;
    // Where nothing is below, those that share the level have to be as many at all points.
    let last = ctx.stack.for_maps(inner).is_none();
    if !par::has(seg, inner) || last && par::is_irregular(seg, inner) {
        return Ok(None);
    }
    let mut before = Vec::new();
    let size = par::of_body(ctx, (nest, seg, inner), aux, &mut before);
    let threads = size.as_ref().and_then(|size| size.threads);
    let guard = size.map(|size| {
        let tunable = if nests(ctx, below) {
            // So many points that it takes some time to compute them.
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
    Ok(Some((Arm { guard, body }, threads)))
}

impl Guard {
    /// What computes the condition, and its name.
    fn condition(self, ctx: &mut Ctx<'_>, aux: &Aux) -> (Vec<Stm<Segs>>, Name) {
        let mut builder = ctx.builder(aux);
        builder.extend(self.before);
        let (size, tunable) = self.enough;
        let enough = builder.let_basic("enough", BasicOp::SizeAtLeast { size, tunable });
        let Some((size, tunable)) = self.little else {
            return (builder.take_stms(), enough);
        };
        let much = builder.let_basic("much", BasicOp::SizeAtLeast { size, tunable });
        let either = BasicOp::Select {
            ty: PrimType::Bool,
            cond: much.into(),
            if_true: enough.into(),
            if_false: Atom::Const(Scalar::Bool(true)),
        };
        let either = builder.let_basic("outer", either);
        (builder.take_stms(), either)
    }
}

/// Appends the choice between versions: the first that sizes suffice for, or the last.
pub(super) fn choose(
    ctx: &mut Ctx<'_>,
    mut arms: Vec<Arm>,
    pat: Vec<Param<Soacs>>,
    aux: &Aux,
    out: &mut Vec<Stm<Segs>>,
) -> Result<(), PassError> {
    let Some(last) = arms.pop() else {
        return Err(PassError::bug("a nest without versions"));
    };
    let mut arms = arms.into_iter();
    let Some(first) = arms.next() else {
        let Body { stms, result } = last.body;
        out.extend(stms);
        for (param, result) in pat.into_iter().zip(result) {
            bind(ctx, param, BasicOp::Atom(result), aux, out);
        }
        return Ok(());
    };
    let mut rest = last.body;
    for arm in arms.rev() {
        let own = ctx.fresh_like(&pat);
        let result = atoms(&own);
        let mut stms = Vec::new();
        choice(ctx, own, aux, (arm, rest), &mut stms)?;
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
    (arm, else_body): (Arm, Body<Segs>),
    out: &mut Vec<Stm<Segs>>,
) -> Result<(), PassError> {
    let Some(guard) = arm.guard else {
        return Err(PassError::bug("a version without a guard before another"));
    };
    let (stms, name) = guard.condition(ctx, aux);
    out.extend(stms);
    let exp = Exp::If { cond: name.into(), then_body: arm.body, else_body };
    let aux = Aux::at(aux.prov);
    out.push(Stm { pat, aux, exp });
    Ok(())
}

/// A new parameter of a rule, that a version at a level is chosen by.
pub(super) fn threshold(ctx: &mut Ctx<'_>, rule: Rule, level: u8) -> TunableId {
    let default = ctx.stack.level(level).map_or(1, |level| level.enough);
    ctx.threshold(rule, default)
}
