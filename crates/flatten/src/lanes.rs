//! Reductions and scans inside a segop, shared by the lanes of one worker.
//!
//! ```text
//! segmap (i < n) {               if m >= inner_lanes_0
//!   let row = xss[i]             then segmap (i < n) { let row = xss[i]
//!   in reduce op ne row     =>                         in segred lanes (j < m) (op) { row[j] } }
//! }                              else segmap (i < n) { .. a loop over row .. }
//! ```
//!
//! A segred in lanes keeps partial accumulators according to its decomposition, as one of tasks
//! does, but all of it runs on one worker; so does a segscan with its blocks and the reductions in
//! the same segop. That pays for long rows that are contiguous in memory and belong to one
//! iteration of the segop. Other reductions and scans stay loops, so that an enclosing dimension
//! may be vectorised: rows that all iterations share are then read once for all lanes, and strided
//! rows are read in vectors. A scan by one cheap operation writes its row sequentially, whatever it
//! reads: with the lanes around it, each number would be stored by itself. If only reductions read
//! that row, it is never written: scan and reduction become one loop later (the pass `join`), which
//! applies the scan's operator once for each number. Lanes that share a scan apply its operator
//! twice as often: a scan in each iteration of a map that is a loop already leaves the lanes to
//! that map. Segops with folds that [share what they read](crate::reuse) leave them to the
//! iterations, too. A map needs no segop of its own: as a loop its iterations are known to be independent.
//!
//! The length of a row is known at run time, so both versions are made, behind a comparison of the
//! row's size with a tuning parameter: around the whole segop if the size is known there, else in
//! place. The segop is then made twice, with the versions of its scans and reductions given by
//! [`LaneVersions`]. In the version for long rows all of them are shared: the segop's iterations
//! are not vectorised there, so a loop would run in no lanes. Only where several sizes are
//! compared, each scan or reduction is behind its own comparison; likewise where each number of a
//! row is computed by a reduction over another size: lanes share the rows, or, where these are few,
//! the inner reduction. A size that is known at compile time is compared with the parameter's
//! default at once, and there is no parameter.

use crate::context::{Ctx, Let};
use crate::scope::{LaneVersions, Position, Scope};
use crate::{Result, decomp, manifest};
use analysis::exact::scalar_operator;
use ir::remark::{Execution, OperationKind};
use ir::scan_reduce::ScanReduce;
use ir::seg::{Decomp, Seg, SegKind, SegOp};
use ir::soac::{Operator, Screma, Soac};
use ir::syntax::{Atom, BasicOp, DimIndex, Exp, Param};
use ir::tunable::Rule;
use ir::types::{Dim, Type};
use ir::{Name, PassError, Soacs, sequential};
use prim::{BinOp, ScalarOp};
use target::levels::{LevelId, ROUNDS_OF_ACCUMULATORS, ROUNDS_OF_BLOCKS, ROUNDS_OF_CHOICES, ROUNDS_OF_LOOPS};

/// A map of this many iterations fills the lanes by itself.
const LANES_FILLED: i64 = 8;

/// Appends a screma inside a segop: as a segop in lanes where that may pay, else as a loop.
pub(crate) fn screma(ctx: &mut Ctx<'_>, scope: Scope<'_>, to: Let, mut s: Screma) -> Result {
    for operator in &mut s.scan_reduce.reduces {
        operator.comm |= decomp::commutes(&operator.op);
    }
    let level = scope.at.enclosing.and_then(|around| ctx.stack.for_scans_and_reductions(around));
    let allowed = scope.may_share && (s.scan_reduce.scans.is_empty() || !scope.in_map_loop);
    let shared = level.filter(|_| allowed).zip(lane_decomposition(&s));
    let Some(shared) = shared.filter(|_| is_contiguous(ctx, scope, &to.pat, &s) && ctx.fuel.take()) else {
        return sequential_loop(ctx, scope, to, s);
    };
    let least = least_width(shared.1, &s);
    let size = match s.width {
        Dim::Const(n) if n < least => return sequential_loop(ctx, scope, to, s),
        Dim::Const(_) => {
            remark(ctx, scope, &s, false);
            return seg(ctx, scope, to, s, shared);
        }
        Dim::Var(size) => size,
        Dim::Ext(_) => return Err(PassError::bug("a width is existential")),
    };
    let is_known = scope.is_known_before_segop(&ctx.names, size);
    if is_known && scope.lane_versions == LaneVersions::Loops {
        return sequential_loop(ctx, scope, to, s);
    }
    remark(ctx, scope, &s, true);
    let cond = ctx.guard(scope, (size, Rule::InnerLanes, least));
    // The inner reductions may be shared instead of the one over the rows.
    let alone = scope.lane_versions == LaneVersions::Long
        || scope.lane_versions == LaneVersions::Shared && !has_lane_reductions_inside(ctx, scope, &s);
    if is_known && alone {
        return seg(ctx, scope, to, s, shared);
    }
    ctx.note_both_versions(cond);
    let copy = ctx.names.copy_screma(&s);
    let long = to.fresh(&mut ctx.names, "acc");
    let short = to.fresh(&mut ctx.names, "acc");
    let then_body = ctx.body_with(long, |ctx, to| seg(ctx, scope, to, s, shared))?;
    let else_body = ctx.body_with(short, |ctx, to| sequential_loop(ctx, scope, to, copy))?;
    ctx.emit(to, Exp::If { cond, then_body, else_body });
    Ok(())
}

/// Appends a screma as a loop.
fn sequential_loop(ctx: &mut Ctx<'_>, scope: Scope<'_>, to: Let, s: Screma) -> Result {
    ctx.remark_loop(scope, &to.aux, OperationKind::of_scan_reduce(&s.scan_reduce));
    let short = matches!(s.width, Dim::Const(n) if n < LANES_FILLED);
    let in_map_loop = scope.in_map_loop || s.scan_reduce.is_map() && !short;
    let mut stms = Vec::new();
    ctx.names.build(to.aux.prov, &mut stms, |b| sequential::screma(b, (to.pat, to.aux), s, None))?;
    ctx.stms(Scope { in_map_loop, ..scope }, stms)
}

/// Records that the lanes of one worker share a screma.
fn remark(ctx: &mut Ctx<'_>, scope: Scope<'_>, s: &Screma, guarded: bool) {
    let what = OperationKind::of_scan_reduce(&s.scan_reduce);
    ctx.remark(scope.prov, what, |ctx| Execution::InnerLanes { guarded, around: ctx.outermost(scope) });
}

/// The decomposition of a screma that combines and maps only scalars, if lanes can share it.
fn lane_decomposition(s: &Screma) -> Option<Decomp> {
    let ScanReduce { scans, reduces, post } = &s.scan_reduce;
    if scans.is_empty() {
        let mapped = s.scan_reduce.values(&s.map.ret).mapped;
        let only = post.is_none() && mapped.iter().all(Type::is_prim);
        only.then(|| decomp::lane_reduction(&s.map.body, reduces))?
    } else {
        s.map.ret.iter().all(Type::is_prim).then(|| decomp::lane_scan(&s.map.body, &s.scan_reduce))?
    }
}

/// Returns true if the map of a screma contains a scan or reduction that lanes may share, over a
/// width of its own that is known before the segop that is being made.
fn has_lane_reductions_inside(ctx: &Ctx<'_>, scope: Scope<'_>, around: &Screma) -> bool {
    let body = &around.map.body;
    let summed = decomp::summed(body);
    body.stms.iter().any(|stm| {
        let Exp::Op(Soac::Screma(s)) = &stm.exp else {
            return false;
        };
        let own = matches!(s.width, Dim::Var(size) if scope.is_known_before_segop(&ctx.names, size));
        own && s.width != around.width
            && !is_summed(|name| summed.contains(&name), &stm.pat, s)
            && !s.scan_reduce.is_map()
            && lane_decomposition(s).is_some()
    })
}

/// Returns true if a screma is a scan that only reductions read, or one of these reductions.
fn is_summed(summed: impl Fn(Name) -> bool, pat: &[Param<Soacs>], s: &Screma) -> bool {
    pat.iter().any(|param| summed(param.name)) || s.inputs.iter().any(|input| summed(*input))
}

/// Returns true if a screma reads or writes contiguous elements that belong to the enclosing
/// iteration. Where loops take most of the time, the layout of the inputs does not matter: elements
/// that are rows, each number of which is computed by a loop, are reduced in lanes. A scan writes
/// its results contiguously; for operators that are not one cheap operation, which lanes apply
/// repeatedly, that does not outweigh their work.
fn is_contiguous(ctx: &Ctx<'_>, scope: Scope<'_>, pat: &[Param<Soacs>], s: &Screma) -> bool {
    let names = &ctx.names;
    let scans = &s.scan_reduce.scans;
    if is_summed(|name| names.summed.contains(&name), pat, s) {
        return false;
    }
    let writes = !scans.is_empty() && scans.iter().all(|scan| scalar_operator(&scan.op).is_some());
    let numbers = s.map.params.iter().all(|param| param.ty.is_prim());
    (numbers || decomp::reductions_have_loops(&s.map.body))
        && s.inputs.iter().all(|&input| !names.is_strided(input))
        && (writes
            || decomp::has_loops(&s.map.body)
            || s.inputs.iter().any(|&input| scope.is_inside(names, input))
            || indexes_row(ctx, scope, s))
}

/// Returns true if a screma over consecutive numbers reads a row by them that belongs to one iteration of the segop.
fn indexes_row(ctx: &Ctx<'_>, scope: Scope<'_>, s: &Screma) -> bool {
    let counters: Vec<Name> = s
        .inputs
        .iter()
        .zip(&s.map.params)
        .filter(|(input, _)| ctx.names.is_iota(**input))
        .map(|(_, param)| param.name)
        .collect();
    s.map.body.stms.iter().any(|stm| {
        let Exp::Basic(BasicOp::Index { array, slice }) = &stm.exp else {
            return false;
        };
        let Some((DimIndex::Fix(Atom::Var(last)), others)) = slice.split_last() else {
            return false;
        };
        let varies = |index: &DimIndex| {
            matches!(index, DimIndex::Fix(Atom::Var(name)) if scope.is_inside(&ctx.names, *name))
        };
        counters.contains(last)
            && !ctx.names.is_strided(*array)
            && (scope.is_inside(&ctx.names, *array) || others.iter().any(varies))
    })
}

/// The least width for which partial accumulators, or blocks, pay for what they add.
fn least_width(decomp: Decomp, s: &Screma) -> i64 {
    let rounds = if decomp.width == 1 {
        ROUNDS_OF_BLOCKS
    } else if decomp::has_loops(&s.map.body) {
        ROUNDS_OF_LOOPS
    } else if s.scan_reduce.reduces.iter().all(is_sum) {
        ROUNDS_OF_ACCUMULATORS
    } else {
        ROUNDS_OF_CHOICES
    };
    rounds * decomp.full_group()
}

/// Returns true if an operator consists of sums and products, which take an instruction each.
fn is_sum(operator: &Operator<Soacs>) -> bool {
    let sum = |op| matches!(op, BinOp::Add | BinOp::Mul | BinOp::FAdd | BinOp::FMul);
    operator.op.body.stms.iter().all(|stm| match stm.exp {
        Exp::Basic(BasicOp::Scalar(ScalarOp::Binary(op, ..))) => sum(op),
        Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => false,
    })
}

/// Appends a screma as a segop at a level, with this decomposition.
fn seg(
    ctx: &mut Ctx<'_>,
    scope: Scope<'_>,
    to: Let,
    s: Screma,
    (level, decomp): (LevelId, Decomp),
) -> Result {
    let nest = scope.nest.with_map(&mut ctx.names, s.width, &s.map.params, &s.inputs)?;
    let scope = scope.over(&nest).at(Position::sequential_in(level));
    let (space, body) = manifest::body(ctx, scope, s.map.body)?;
    let kind = SegKind::ScanReduce(manifest::converted_scan_reduce(ctx, scope, s.scan_reduce)?);
    let op = SegOp::Seg(Seg { level, space, kind, body, ret: s.map.ret, decomp, identity_predicate: None });
    ctx.emit(to, Exp::Op(op));
    Ok(())
}
