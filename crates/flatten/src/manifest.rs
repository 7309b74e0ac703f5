//! Nests made manifest: segops at a level.
//!
//! ```text
//! Σ, map f xs               segmap     (Σ, i < w) { let x = xs[i] in <f x> }
//! Σ, redomap op f xs        segred     (Σ, i < w) (op) { ... }
//! Σ, scanomap op f xs       segscan    (Σ, i < w) (op) { ... }
//! Σ, screma opS opR f xs    segscanred (Σ, i < w) (opS, opR) { ... }
//! Σ, reduce_by_index d f    seghist    (Σ, i < w) (op, d) { ... }
//!    flatmap f xs           segflatmap (i < w) { let x = xs[i] in <f x> }
//! ```

use crate::context::{Ctx, Let};
use crate::guards::Guard;
use crate::names::{Names, atoms};
use crate::reuse::{self, Tiled};
use crate::scope::{LaneVersions, Scope};
use crate::{Result, bug, decomp, empty_checks, rules};
use analysis::statements;
use ir::remark::{Execution, OperationKind};
use ir::scan_reduce::ScanReduce;
use ir::seg::{Seg, SegKind, SegOp, SegSpace};
use ir::soac::{HistOp, Operator};
use ir::syntax::{Aux, Body, Exp, Lambda, Stm};
use ir::types::Type;
use ir::{Segs, Soacs};
use target::levels::LevelId;

/// The body of one iteration of a segop, and the operators applied to its results.
#[derive(Clone)]
pub(crate) struct SegopBody {
    pub(crate) body: Body<Soacs>,
    /// Types of the body's results.
    pub(crate) ret: Vec<Type>,
    pub(crate) kind: SegopKind,
}

/// The operators that a segop applies to its iterations' results.
#[derive(Clone)]
pub(crate) enum SegopKind {
    ScanReduce(ScanReduce<Soacs>),
    Hist(Vec<HistOp<Soacs>>),
    FlatMap,
}

impl SegopBody {
    /// The function of a combinator, whose results are combined in this way.
    pub(crate) fn of(lambda: Lambda<Soacs>, kind: SegopKind) -> Self {
        Self { body: lambda.body, ret: lambda.ret, kind }
    }

    /// A body whose results are elements of mapped arrays.
    pub(crate) fn map(body: Body<Soacs>, ret: Vec<Type>) -> Self {
        Self { body, ret, kind: SegopKind::ScanReduce(ScanReduce::default()) }
    }

    /// A copy whose operators have fresh names; the body gets them with the nest.
    fn copy(&self, names: &mut Names<'_>) -> Self {
        let kind = match &self.kind {
            SegopKind::ScanReduce(scan_reduce) => SegopKind::ScanReduce(names.copy_scan_reduce(scan_reduce)),
            SegopKind::Hist(ops) => {
                let ops = ops.iter().map(|op| HistOp {
                    op: Operator { op: names.copy_lambda(&op.op.op), ..op.op.clone() },
                    ..op.clone()
                });
                SegopKind::Hist(ops.collect())
            }
            SegopKind::FlatMap => SegopKind::FlatMap,
        };
        Self { body: self.body.clone(), ret: self.ret.clone(), kind }
    }
}

/// Appends a segop over the nest of `scope`, which has the position of the segop's body. If lanes
/// may share scans or reductions in it, a comparison of sizes chooses between two versions.
pub(crate) fn segop(ctx: &mut Ctx<'_>, scope: Scope<'_>, mut to: Let, segop_body: SegopBody) -> Result {
    let level = enclosing(scope)?;
    to.aux.certs.extend(empty_checks::checks(ctx, scope, &segop_body, to.aux.prov)?);
    let mut scope = scope;
    let mut wide = Vec::new();
    if scope.at.level.is_none() {
        match reuse::tiled(scope.nest, &segop_body.body) {
            Tiled::Never => {}
            Tiled::Always => scope.may_share_inside = false,
            Tiled::IfWide(sizes) => wide = sizes,
        }
    }
    let may_share = ctx.stack.for_scans_and_reductions(level).is_some() && scope.may_share_inside;
    let original = may_share.then(|| segop_body.clone());
    let (shared, mut guards) = seg(ctx, scope, segop_body, LaneVersions::Shared, &[])?;
    if guards.is_empty() && !statements::any(&shared.body, &is_in_lanes) {
        wide.clear();
    }
    let Some(segop_body) = original.filter(|_| !guards.is_empty() || !wide.is_empty()) else {
        remark(ctx, &to.aux, &shared, !guards.is_empty());
        ctx.emit(to, Exp::Op(SegOp::Seg(shared)));
        return Ok(());
    };
    // Another version may need further guards.
    let make_copy = |ctx: &mut Ctx<'_>, scope, versions, guards: &mut Vec<Guard>| -> Result<Seg<Segs>> {
        let segop_body = segop_body.copy(&mut ctx.names);
        let (seg, all) = seg(ctx, scope, segop_body, versions, guards)?;
        *guards = all;
        Ok(seg)
    };
    let long = match guards.as_slice() {
        [guard] if guard.has_both_versions => make_copy(ctx, scope, LaneVersions::Long, &mut guards)?,
        [] | [_] => shared,
        _ => make_copy(ctx, scope, LaneVersions::Each, &mut guards)?,
    };
    remark(ctx, &to.aux, &long, true);
    let loops = Scope { may_share_inside: wide.is_empty() && scope.may_share_inside, ..scope };
    let short = make_copy(ctx, loops, LaneVersions::Loops, &mut guards)?;
    let cond = ctx.any_guard(&guards, to.aux.prov);
    let cond = ctx.unless_wide(cond, &wide, to.aux.prov);
    let branch = |ctx: &mut Ctx<'_>, seg| {
        let own = to.fresh(&mut ctx.names, "r");
        let result = atoms(&own.pat);
        Body { stms: vec![own.bind(&mut ctx.names, Exp::Op(SegOp::Seg(seg)))], result }
    };
    let exp = Exp::If { cond, then_body: branch(ctx, long), else_body: branch(ctx, short) };
    ctx.emit(to, exp);
    Ok(())
}

/// Returns true for a segop that lanes share.
fn is_in_lanes(stm: &Stm<Segs>) -> bool {
    matches!(&stm.exp, Exp::Op(SegOp::Seg(seg)) if seg.level == LevelId::Lanes)
}

/// The level of a segop with a body in this scope.
fn enclosing(scope: Scope<'_>) -> Result<LevelId> {
    scope.at.enclosing.ok_or_else(bug("a segop has no level"))
}

/// A segop with these versions of scans and reductions, and its guards, which include the known ones.
fn seg(
    ctx: &mut Ctx<'_>,
    scope: Scope<'_>,
    SegopBody { body, ret, kind }: SegopBody,
    versions: LaneVersions,
    known: &[Guard],
) -> Result<(Seg<Segs>, Vec<Guard>)> {
    let level = enclosing(scope)?;
    let first_guard = ctx.guards.of_segops.len();
    ctx.guards.of_segops.extend_from_slice(known);
    let scope = scope.in_body(&ctx.names, first_guard, versions);
    let (space, body) = self::body(ctx, scope, body)?;
    let (kind, combines) = match kind {
        SegopKind::ScanReduce(mut scan_reduce) => {
            let post = scan_reduce.post.take();
            scan_reduce.post = post.map(|post| scope.nest.manifest_lambda(&mut ctx.names, &space, post));
            let kind = SegKind::ScanReduce(converted_scan_reduce(ctx, scope, scan_reduce)?);
            (kind, ctx.names.has_acc_with_operator(&ret))
        }
        SegopKind::Hist(ops) => (SegKind::Hist(histograms(ctx, scope, ops)?), false),
        SegopKind::FlatMap => (SegKind::FlatMap, false),
    };
    let decomp = decomp::decompose(&body, &kind, combines);
    let guards = ctx.guards.of_segops.split_off(first_guard);
    Ok((Seg { level, space, kind, body, ret, decomp, identity_predicate: None }, guards))
}

/// The index space and body of a segop.
pub(crate) fn body(
    ctx: &mut Ctx<'_>,
    scope: Scope<'_>,
    mut body: Body<Soacs>,
) -> Result<(SegSpace, Body<Segs>)> {
    rules::copy_consumed(ctx, scope.nest, &mut body)?;
    let (space, body) = scope.nest.manifest(&mut ctx.names, body)?;
    Ok((space, ctx.body(scope.without_nest(), body)?))
}

/// The scans and reductions of a segop, marked as commutative where known to commute.
pub(crate) fn converted_scan_reduce(
    ctx: &mut Ctx<'_>,
    scope: Scope<'_>,
    scan_reduce: ScanReduce<Soacs>,
) -> Result<ScanReduce<Segs>> {
    let operators = |ctx: &mut Ctx<'_>, operators: Vec<Operator<Soacs>>| {
        let converted = operators.into_iter().map(|mut operator| {
            operator.comm |= decomp::commutes(&operator.op);
            ctx.operator(scope, operator)
        });
        converted.collect::<Result<_>>()
    };
    Ok(ScanReduce {
        scans: operators(ctx, scan_reduce.scans)?,
        reduces: operators(ctx, scan_reduce.reduces)?,
        post: scan_reduce.post.map(|post| ctx.lambda(scope, post)).transpose()?,
    })
}

fn histograms(ctx: &mut Ctx<'_>, scope: Scope<'_>, ops: Vec<HistOp<Soacs>>) -> Result<Vec<HistOp<Segs>>> {
    let converted = ops.into_iter().map(|HistOp { shape, destinations, op }| {
        let op = ctx.operator(scope, Operator { comm: true, ..op })?;
        Ok(HistOp { shape, destinations, op })
    });
    converted.collect()
}

/// Records how a segop runs.
fn remark(ctx: &mut Ctx<'_>, aux: &Aux, seg: &Seg<Segs>, versions: bool) {
    let what = match &seg.kind {
        SegKind::ScanReduce(scan_reduce) => OperationKind::of_scan_reduce(scan_reduce),
        SegKind::Hist(_) => OperationKind::Histogram,
        SegKind::FlatMap => OperationKind::FlatMap,
    };
    ctx.remark(aux.prov, what, |ctx| {
        if ctx.stack.has_device() {
            Execution::Kernels { in_block: seg.level == LevelId::Block, versions }
        } else {
            Execution::Tasks { decomp: seg.decomp, versions }
        }
    });
}
