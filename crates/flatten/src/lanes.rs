//! Reductions and scans inside a segop, shared by the lanes of one worker.
//!
//! ```text
//! segmap (i < n) {               if m >= lanes_share_0
//!   let row = xss[i]             then segmap (i < n) { let row = xss[i]
//!   in reduce op ne row     =>                         in segred level 0 (j < m) (op) { row[j] } }
//! }                              else segmap (i < n) { .. a loop over row .. }
//! ```
//!
//! A segred at level 0 keeps partial accumulators as its decomposition says, as one at
//! level 1 does, but all of it is one worker's; so does a segscan with its blocks, and
//! with what is reduced beside it. That pays for long rows that lie in order in memory
//! and belong to one point of the segop; other reductions and scans stay loops, so that
//! lanes may take a dimension around them: rows that all points share are then read once
//! for all lanes, and rows that lie across come in vectors. A scan by one cheap step writes
//! its row in order, whatever it reads: lanes around it would store each number by itself.
//! If reductions alone read that row, nobody writes it: both are one loop later (the pass
//! `join`), which applies the scan's operator once a number.
//! Lanes that share a scan apply its operator twice as often: a scan for each point of a map
//! that is a loop already leaves the lanes to that map. A map needs no segop of its own: as
//! a loop its iterations are seen to be independent.
//!
//! How long a row is shows at run time, so both forms are made, guarded by a
//! comparison of the row's size with a tuning parameter: around the whole segop if
//! the size is known there, else in place. The segop is made twice then, and told which
//! way its folds go ([`Arm`]): all are shared if one of them asks for that, as points do
//! not go to lanes then, so that what would be a loop would be one in no lanes. Only where
//! several sizes decide, each fold is behind its own; so it is where rows are folded each of
//! whose numbers takes a loop: lanes share the rows, or where these are few, the numbers of
//! each. A size that is known at compile time is compared with the parameter's default at
//! once, and there is no parameter.

use crate::context::{Arm, Ctx, Guard};
use crate::decomp;
use crate::manifest;
use crate::nest::Nest;
use crate::position::Position;
use crate::sequential::{bound, screma_loop};
use ir::decision::{Operation, Runs};
use ir::exact::scalar_operator;
use ir::folds::Folds;
use ir::seg::{Decomp, Seg, SegKind, SegOp};
use ir::soac::{Operator, Screma, Soac};
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, Param, Stm};
use ir::tunable::Rule;
use ir::types::{Dim, Type};
use ir::{Name, PassError, Segs, Soacs};
use prim::{BinOp, PrimType, Scalar};
use target::levels::{ROUNDS_OF_ACCUMULATORS, ROUNDS_OF_BLOCKS, ROUNDS_OF_CHOICES, ROUNDS_OF_LOOPS};

/// So many points of a map fill the lanes by themselves.
const LEAST_ROWS: i64 = 8;

/// Appends a screma inside a segop: as a segred at level 0 where that may pay,
/// else as a loop.
pub(crate) fn screma(
    ctx: &mut Ctx<'_>,
    at: Position,
    pat: Vec<Param<Soacs>>,
    aux: Aux,
    mut s: Screma,
    out: &mut Vec<Stm<Segs>>,
) -> Result<(), PassError> {
    for operator in &mut s.folds.reduces {
        operator.comm |= decomp::commutes(&operator.op);
    }
    let level = at.around.and_then(|around| ctx.stack.for_folds(around));
    let allowed = ctx.lanes.here && level.is_some() && (s.folds.scans.is_empty() || !ctx.rows);
    let (level, decomp) = match (level, shared(&s)) {
        (Some(level), Some(decomp)) if allowed && along_rows(ctx, &pat, &s) && ctx.fuel.take() => {
            (level, decomp)
        }
        _ => return in_order(ctx, at, pat, &aux, s, out),
    };
    let least = least(decomp, &s);
    let size = match s.width {
        Dim::Const(n) if n < least => return in_order(ctx, at, pat, &aux, s, out),
        Dim::Const(_) => {
            decide(ctx, &aux, &s, false);
            return seg(ctx, level, pat, aux, s, decomp, out);
        }
        Dim::Var(size) => size,
        Dim::Ext(_) => return Err(PassError::bug("a width is existential")),
    };
    if ctx.is_outside(size) && ctx.arm == Arm::Loops {
        return in_order(ctx, at, pat, &aux, s, out);
    }
    decide(ctx, &aux, &s, true);
    let cond = ctx.guard(size, Rule::LanesShare, least, &aux, out);
    // What folds each row may be shared instead of what folds the rows.
    let alone = ctx.arm == Arm::Long || ctx.arm == Arm::Shared && !shares_within(ctx, &s);
    if ctx.is_outside(size) && alone {
        return seg(ctx, level, pat, aux, s, decomp, out);
    }
    ctx.both |= ctx.is_outside(size);
    let copy = ctx.copy_screma(&s);
    let arm = |ctx: &mut Ctx<'_>| -> Vec<Param<Soacs>> {
        pat.iter().map(|param| ctx.fresh("acc", param.ty.clone())).collect()
    };
    let (long, short) = (arm(ctx), arm(ctx));
    let body = |stms, pat: &[Param<Soacs>]| Body {
        stms,
        result: pat.iter().map(|param| param.name.into()).collect(),
    };
    let (mut then_stms, mut else_stms) = (Vec::new(), Vec::new());
    seg(ctx, level, long.clone(), aux.clone(), s, decomp, &mut then_stms)?;
    in_order(ctx, at, short.clone(), &aux, copy, &mut else_stms)?;
    let exp = Exp::If { cond, then_body: body(then_stms, &long), else_body: body(else_stms, &short) };
    let pat = ctx.params(pat);
    out.push(Stm { pat, aux, exp });
    Ok(())
}

/// Appends a screma as a loop.
fn in_order(
    ctx: &mut Ctx<'_>,
    at: Position,
    pat: Vec<Param<Soacs>>,
    aux: &Aux,
    s: Screma,
    out: &mut Vec<Stm<Segs>>,
) -> Result<(), PassError> {
    ctx.decide_loop(aux, Operation::of_folds(&s.folds), at);
    let short = matches!(s.width, Dim::Const(n) if n < LEAST_ROWS);
    let rows = ctx.rows || s.folds.is_map() && !short;
    let mut stms = Vec::new();
    let bound = bound(s.width)?;
    screma_loop(ctx, pat, aux, (s, bound), &mut stms)?;
    let around = std::mem::replace(&mut ctx.rows, rows);
    ctx.stms(at, stms, out)?;
    ctx.rows = around;
    Ok(())
}

/// Notes that the lanes of one worker share a screma.
fn decide(ctx: &mut Ctx<'_>, aux: &Aux, s: &Screma, guarded: bool) {
    let what = Operation::of_folds(&s.folds);
    ctx.decide(aux, what, |ctx| Runs::Shared { guarded, around: ctx.around() });
}

/// How a screma that reduces or scans, and maps scalars beside, falls apart if lanes share
/// it.
fn shared(s: &Screma) -> Option<Decomp> {
    let Folds { scans, reduces, post } = &s.folds;
    if scans.is_empty() {
        let mapped = s.folds.values(&s.map.ret).mapped;
        let only = post.is_none() && mapped.iter().all(Type::is_prim);
        only.then(|| decomp::inside(&s.map.body, reduces))?
    } else {
        let only = s.map.ret.iter().all(Type::is_prim);
        only.then(|| decomp::scan_inside(&s.map.body, &s.folds))?
    }
}

/// Whether there is a fold at each point of another one that lanes may share where a size of
/// its own suffices, which is known before the segop that is being made.
fn shares_within(ctx: &Ctx<'_>, around: &Screma) -> bool {
    let body = &around.map.body;
    let summed = decomp::summed(body);
    body.stms.iter().any(|stm| {
        let Exp::Op(Soac::Screma(s)) = &stm.exp else {
            return false;
        };
        let own = matches!(s.width, Dim::Var(size) if ctx.is_outside(size));
        own && s.width != around.width
            && !is_summed(|name| summed.contains(&name), &stm.pat, s)
            && !s.folds.is_map()
            && shared(s).is_some()
    })
}

/// Whether a screma is a scan that reductions alone read ([`decomp::summed`]), or such a reduction.
fn is_summed(summed: impl Fn(Name) -> bool, pat: &[Param<Soacs>], s: &Screma) -> bool {
    pat.iter().any(|param| summed(param.name)) || s.inputs.iter().any(|input| summed(*input))
}

/// Whether a screma reads or writes elements in order that belong to the point around it.
/// Where loops take most of the time, it does not matter what is read: elements that are rows
/// themselves, whose every number takes a loop, are folded side by side. What is scanned is
/// written in order; for operators that lanes apply again and again that does not outweigh
/// their work.
fn along_rows(ctx: &Ctx<'_>, pat: &[Param<Soacs>], s: &Screma) -> bool {
    let scans = &s.folds.scans;
    if is_summed(|name| ctx.summed.contains(&name), pat, s) {
        return false;
    }
    let writes = !scans.is_empty() && scans.iter().all(|scan| scalar_operator(&scan.op).is_some());
    let numbers = s.map.params.iter().all(|param| param.ty.is_prim());
    (numbers || decomp::has_dear_folds(&s.map.body))
        && s.inputs.iter().all(|&input| !ctx.is_strided(input))
        && (writes || decomp::has_loops(&s.map.body) || s.inputs.iter().any(|&input| ctx.is_inside(input)))
}

/// From how many points on partial accumulators pay for being set up and combined,
/// or blocks for what is left over.
fn least(decomp: Decomp, s: &Screma) -> i64 {
    let rounds = if decomp.width == 1 {
        ROUNDS_OF_BLOCKS
    } else if decomp::has_loops(&s.map.body) {
        ROUNDS_OF_LOOPS
    } else if s.folds.reduces.iter().all(is_sum) {
        ROUNDS_OF_ACCUMULATORS
    } else {
        ROUNDS_OF_CHOICES
    };
    rounds * decomp.whole()
}

/// Whether an operator consists of sums and products, which take an instruction each.
fn is_sum(operator: &Operator<Soacs>) -> bool {
    let sum = |op| matches!(op, BinOp::Add | BinOp::Mul | BinOp::FAdd | BinOp::FMul);
    operator.op.body.stms.iter().all(|stm| match stm.exp {
        Exp::Basic(BasicOp::Binary(op, ..)) => sum(op),
        Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => false,
    })
}

fn seg(
    ctx: &mut Ctx<'_>,
    level: u8,
    pat: Vec<Param<Soacs>>,
    aux: Aux,
    s: Screma,
    decomp: Decomp,
    out: &mut Vec<Stm<Segs>>,
) -> Result<(), PassError> {
    let nest = Nest::default();
    let nest = nest.with_map(ctx, s.width, &s.map.params, &s.inputs)?;
    let inside = Position::alone(level);
    let (space, body) = manifest::body(ctx, &nest, inside, s.map.body)?;
    let kind = SegKind::Folds(manifest::folds(ctx, inside, s.folds)?);
    let op = SegOp::Seg(Seg { level, space, kind, body, ret: s.map.ret, decomp, keeps: None });
    let pat = ctx.params(pat);
    let exp = Exp::Op(op);
    out.push(Stm { pat, aux, exp });
    Ok(())
}

/// Appends what the guards compare, and whether any of them holds.
pub(crate) fn any_holds(ctx: &mut Ctx<'_>, guards: &[Guard], aux: &Aux, out: &mut Vec<Stm<Segs>>) -> Atom {
    let mut any = Atom::Const(Scalar::Bool(false));
    for guard in guards {
        guard.compare(ctx, aux, out);
        any = match any {
            Atom::Const(_) => guard.cond.into(),
            Atom::Var(_) => {
                let both = BasicOp::Binary(BinOp::Or, PrimType::Bool, any, guard.cond.into());
                let param = ctx.fresh("long", Type::BOOL);
                let name = param.name;
                out.push(Stm { pat: vec![param], aux: Aux::at(aux.prov), exp: Exp::Basic(both) });
                name.into()
            }
        };
    }
    any
}
