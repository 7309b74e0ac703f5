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

use super::distribute::{distribute, exploits};
use super::{par, regular};
use crate::context::Ctx;
use crate::manifest::{self, Point};
use crate::nest::Nest;
use crate::position::Position;
use ir::attrs::Versions;
use ir::syntax::{Atom, Attr, Aux, BasicOp, Body, Exp, Param, Stm};
use ir::tunable::{Rule, TunableId};
use ir::types::Type;
use ir::{Flatten, Name, PassError, Segs, Soacs};
use prim::{BinOp, PrimType, UnOp};
use target::tasks::NEST_WORK;

/// Where the point of a segop runs that has nothing parallel in it.
pub(super) fn inside(at: Position) -> Result<Position, PassError> {
    let level = at
        .level
        .ok_or_else(|| PassError::bug("a segop at no level"))?;
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

fn wanted(ctx: &Ctx<'_>, nest: &Nest<'_>, at: Position, aux: &Aux, body: &Body<Soacs>) -> Wanted {
    let has = |versions| aux.attrs.has(&Attr::Flattening(versions));
    let outer = Wanted {
        outer: true,
        middle: false,
        flat: false,
    };
    let flat = Wanted {
        outer: false,
        middle: false,
        flat: true,
    };
    if aux.attrs.has(&Attr::SequentialInner) || !regular::has_parallelism(body) {
        return outer;
    }
    let below = at
        .level
        .and_then(|level| Position::within(ctx.stack, level));
    let exploitable = exploits(nest, body);
    match ctx.mode {
        Flatten::None => outer,
        Flatten::Moderate | Flatten::Full => {
            let folds_of_maps = ctx.mode == Flatten::Moderate && regular::only_redomaps(body);
            if exploitable && !folds_of_maps {
                flat
            } else {
                outer
            }
        }
        Flatten::Incremental if below.is_none() => {
            if exploitable {
                flat
            } else {
                outer
            }
        }
        Flatten::Incremental => {
            let (mut middle, mut flat) = (below.is_some(), exploitable);
            let mut outer = true;
            // These say which of a GPU's versions are worth having. Tasks in tasks have
            // no choice to make that they could speak of.
            let has = |versions| has(versions) && !nests(ctx, at);
            if has(Versions::OnlyIntra) {
                (outer, flat) = (false, false);
            }
            if has(Versions::OnlyInner) {
                (outer, middle) = (false, false);
            }
            outer &= !has(Versions::NoOuter);
            middle &= !has(Versions::NoIntra);
            // Tasks in tasks have the parallelism of flattening further, and no arrays
            // between.
            flat &= !(middle && nests(ctx, at));
            // Where it is known that the points are enough, there is nothing to choose.
            let known = nest
                .points()
                .is_some_and(|points| points >= enough(ctx, at));
            middle &= !(nests(ctx, at) && known);
            Wanted {
                outer: outer || !(middle || flat),
                middle,
                flat,
            }
        }
    }
}

/// Whether what stands at a position may contain its own level.
pub(super) fn nests(ctx: &Ctx<'_>, at: Position) -> bool {
    at.level
        .is_some_and(|level| ctx.stack.for_maps(level) == Some(level))
}

/// A version, and what it takes to be taken.
pub(super) struct Arm {
    /// None for a version that always goes.
    pub(super) guard: Option<Guard>,
    pub(super) stms: Vec<Stm<Segs>>,
    pub(super) pat: Vec<Param<Soacs>>,
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
    let level = at
        .level
        .ok_or_else(|| PassError::bug("a segop at no level"))?;
    let mut arms: Vec<Arm> = Vec::new();
    if want.outer {
        let own = ctx.fresh_like(&pat);
        let guard = (want.middle || want.flat).then(|| {
            let mut before = Vec::new();
            let size = par::of_nest(ctx, nest, &aux, &mut before);
            Guard {
                before,
                enough: (size, threshold(ctx, Rule::OuterParallelism, level)),
                little: None,
            }
        });
        let mut stms = Vec::new();
        let point = Point::map(ctx.copy_body(&body), ret.clone());
        g2(ctx, nest, at, own.clone(), aux.clone(), point, &mut stms)?;
        arms.push(Arm {
            guard,
            stms,
            pat: own,
        });
    }
    if let Some(below) = Position::within(ctx.stack, level).filter(|_| want.middle) {
        arms.extend(middle(ctx, nest, below, &pat, &aux, (&body, &ret))?);
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
        let own = ctx.fresh_like(&pat);
        let mut stms = Vec::new();
        let body = ctx.copy_body(&body);
        distribute(ctx, nest, at, body, own.clone(), &aux, &mut stms)?;
        arms.push(Arm {
            guard: None,
            stms,
            pat: own,
        });
    }
    choose(ctx, arms, pat, &aux, out)
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

/// The version whose inner parallelism goes to the level below, if there is one.
fn middle(
    ctx: &mut Ctx<'_>,
    nest: &Nest<'_>,
    below: Position,
    pat: &[Param<Soacs>],
    aux: &Aux,
    (body, ret): (&Body<Soacs>, &[Type]),
) -> Result<Option<Arm>, PassError> {
    let (Some(_), Some(inner)) = (below.around, below.level) else {
        return Ok(None);
    };
    let own = ctx.fresh_like(pat);
    let mut stms = Vec::new();
    let point = Point::map(ctx.copy_body(body), ret.to_vec());
    manifest::segop(ctx, nest, below, point, own.clone(), aux.clone(), &mut stms)?;
    let made = Body {
        stms,
        result: Vec::new(),
    };
    let mut segs = Vec::new();
    inner_bodies(&made, &mut segs);
    let Some(seg) = segs.first() else {
        return Ok(None);
    };
    // Where nothing is below, those that share the level have to be as many at all points.
    let last = ctx.stack.for_maps(inner).is_none();
    if !par::has(seg, inner) || last && par::is_irregular(seg, inner) {
        return Ok(None);
    }
    let mut before = Vec::new();
    let size = par::of_body(ctx, (nest, seg, inner), aux, &mut before);
    let guard = size.map(|size| {
        let tunable = if nests(ctx, below) {
            // So many points that it takes some time to compute them.
            let cost = par::cost(seg, inner).max(1);
            ctx.threshold(Rule::InnerParallelism, (NEST_WORK / cost).max(1))
        } else {
            threshold(ctx, Rule::InnerParallelism, inner)
        };
        Guard {
            before,
            enough: (size, tunable),
            little: None,
        }
    });
    Ok(Some(Arm {
        guard,
        stms: made.stms,
        pat: own,
    }))
}

/// The bodies of the outermost segops.
fn inner_bodies<'b>(body: &'b Body<Segs>, found: &mut Vec<&'b Body<Segs>>) {
    for stm in &body.stms {
        match &stm.exp {
            Exp::Op(ir::seg::SegOp::Seg(seg)) => found.push(&seg.body),
            Exp::If {
                then_body,
                else_body,
                ..
            } => {
                inner_bodies(then_body, found);
                inner_bodies(else_body, found);
            }
            Exp::Basic(_) | Exp::Apply { .. } | Exp::Loop { .. } | Exp::Op(_) => {}
        }
    }
}

impl Guard {
    /// What computes the condition, and its name.
    fn condition(self, ctx: &mut Ctx<'_>, aux: &Aux) -> (Vec<Stm<Segs>>, Name) {
        let mut stms = self.before;
        let mut bind = |ctx: &mut Ctx<'_>, hint: &str, op: BasicOp| {
            let param = ctx.fresh(hint, Type::BOOL);
            let name = param.name;
            stms.push(Stm {
                pat: vec![param],
                aux: Aux::at(aux.prov),
                exp: Exp::Basic(op),
            });
            name
        };
        let (size, tunable) = self.enough;
        let enough = bind(ctx, "enough", BasicOp::SizeAtLeast { size, tunable });
        let Some((size, tunable)) = self.little else {
            return (stms, enough);
        };
        let much = bind(ctx, "much", BasicOp::SizeAtLeast { size, tunable });
        let little = BasicOp::Unary(UnOp::Not, PrimType::Bool, much.into());
        let little = bind(ctx, "little", little);
        let either = BasicOp::Binary(BinOp::Or, PrimType::Bool, enough.into(), little.into());
        let either = bind(ctx, "outer", either);
        (stms, either)
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
    let result = |pat: &[Param<Soacs>]| pat.iter().map(|param| param.name.into()).collect();
    let mut rest = Body {
        result: result(&last.pat),
        stms: last.stms,
    };
    for arm in arms.into_iter().rev() {
        let Some(guard) = arm.guard else {
            return Err(PassError::bug("a version without a guard before another"));
        };
        let own = ctx.fresh_like(&pat);
        let own = ctx.params(own);
        let (mut stms, name) = guard.condition(ctx, aux);
        let own_result = own.iter().map(|param| param.name.into()).collect();
        stms.push(Stm {
            pat: own,
            aux: Aux::at(aux.prov),
            exp: Exp::If {
                cond: name.into(),
                then_body: Body {
                    result: result(&arm.pat),
                    stms: arm.stms,
                },
                else_body: rest,
            },
        });
        rest = Body {
            stms,
            result: own_result,
        };
    }
    out.append(&mut rest.stms);
    for (param, result) in pat.into_iter().zip(rest.result) {
        let pat = vec![ctx.param(param)];
        out.push(Stm {
            pat,
            aux: Aux::at(aux.prov),
            exp: Exp::Basic(BasicOp::Atom(result)),
        });
    }
    Ok(())
}

/// A new parameter of a rule, that a version at a level is chosen by.
pub(super) fn threshold(ctx: &mut Ctx<'_>, rule: Rule, level: u8) -> TunableId {
    let default = ctx.stack.level(level).map_or(1, |level| level.enough);
    ctx.threshold(rule, default)
}
